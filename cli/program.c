/* What is done with the arguments of a program: a command of its table, or help. */
#include "output/messages.h"
#include "output/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const cli_program *program;

const char *cli_program_name(void) {
    return program->name;
}

static void print_help(FILE *out) {
    fputs(program->about, out);
    for (const cli_command *const *c = program->commands; *c != NULL; c++)
        fprintf(out, "  %-8s %s\n", (*c)->name, (*c)->summary);
    fputs(program->more, out);
}

/* The command whose name a text begins with. */
static const cli_command *find_command(const char *name, size_t n_bytes) {
    for (const cli_command *const *c = program->commands; *c != NULL; c++)
        if (strlen((*c)->name) == n_bytes && memcmp((*c)->name, name, n_bytes) == 0)
            return *c;
    return NULL;
}

char *cli_with_own_name(const char *text) {
    static const char word[] = "efface ", letters[] = "abcdefghijklmnopqrstuvwxyz";
    char *copy = NULL;
    size_t n_bytes;
    if (strncmp(program->name, word, sizeof word - 2) == 0 &&
        program->name[sizeof word - 2] == '\0')
        return NULL;
    FILE *const out = open_memstream(&copy, &n_bytes);
    if (out == NULL)
        return NULL;
    for (const char *found; (found = strstr(text, word)) != NULL;) {
        const char *const rest = found + sizeof word - 1;
        const bool ours = find_command(rest, strspn(rest, letters)) != NULL;
        fprintf(out, "%.*s%s ", (int)(found - text), text, ours ? program->name : "efface");
        text = rest;
    }
    fputs(text, out);
    return fclose(out) == 0 ? copy : NULL;
}

static int print_help_on(const cli_command *command, int n_arguments, char **arguments) {
    char word[] = "--help", *ask[] = {word};
    const char *const text =
        command->help_on != NULL ? command->help_on(n_arguments, arguments) : command->help;
    if (text == NULL && command->help_on == NULL)
        (void)command->run(1, ask);
    if (text == NULL)
        return CLI_USAGE;
    char *const named = cli_with_own_name(text);
    fputs(named != NULL ? named : text, stdout);
    free(named);
    return CLI_DONE;
}

static bool has_word(int n_arguments, char **arguments, const char *word) {
    for (int i = 0; i < n_arguments && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], word) == 0)
            return true;
    return false;
}

static int run_arguments(int n_arguments, char **arguments) {
    if (n_arguments < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *name = arguments[1];
    bool help = has_word(n_arguments - 2, arguments + 2, "--help") ||
                has_word(n_arguments - 2, arguments + 2, "-h");
    if (strcmp(name, "--version") == 0) {
        printf("%s %s\n", program->name, efface_version());
        return CLI_DONE;
    }
    if (strcmp(name, "help") == 0 && n_arguments > 2) {
        name = arguments[2];
        help = true;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return CLI_DONE;
    }
    const cli_command *const command = find_command(name, strlen(name));
    if (command == NULL)
        return cli_wrong("there is no command '%s'; %s --help lists the commands", name,
                         program->name);
    if (help)
        return print_help_on(command, n_arguments - 2, arguments + 2);
    return command->run(n_arguments - 2, arguments + 2);
}

int cli_run_program(const cli_program *of, int n_arguments, char **arguments) {
    program = of;
    /* Whole lines: what several processes say, or somebody types, does not get in between. */
    (void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    /* Before anything else: what is wrong with the other arguments is said as JSON, too. */
    if (has_word(n_arguments, arguments, "--json"))
        cli_messages_as_json();
    const int code = run_arguments(n_arguments, arguments);
    cli_progress_end();
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)cli_failed(code == CLI_DONE
                             ? "the command was done, but its answer cannot be written to standard "
                               "output: %s"
                             : "cannot write to standard output: %s",
                         strerror(errno));
        return code != CLI_DONE ? code : CLI_FAILED;
    }
    return code;
}
