/* efface: the command table. */
#include "cli.h"

#include <errno.h>
#include <string.h>

static const cli_command *const commands[] = {
    &cli_fit,     &cli_forget,  &cli_learn, &cli_update,  &cli_show,  &cli_owners,
    &cli_predict, &cli_export,  &cli_info,  &cli_verify,  &cli_check, &cli_compact,
    &cli_rekey,   &cli_publish, &cli_drop,  &cli_receipt, &cli_serve, &cli_tokens,
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(FILE *out) {
    fputs("usage: efface COMMAND [OPTIONS]\n"
          "Fits models to rows, and lets them forget rows again, exactly.\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("Run efface COMMAND --help for more. Every command takes --json. Exit codes:\n"
          "0 done, 1 failed, 2 usage, 3 different, 4 not found, 5 busy, 6 damaged.\n"
          "  efface fit people.csv --id id -k 8 -o people.store\n"
          "  efface forget people.store --id 17 --yes\n",
          out);
}

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static bool has(int n_arguments, char **arguments, const char *word) {
    for (int i = 0; i < n_arguments && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], word) == 0)
            return true;
    return false;
}

static int run(int n_arguments, char **arguments) {
    if (n_arguments < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *name = arguments[1];
    bool help =
        has(n_arguments - 2, arguments + 2, "--help") || has(n_arguments - 2, arguments + 2, "-h");
    if (strcmp(name, "--version") == 0) {
        printf("efface %s\n", efface_version());
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
    const cli_command *const command = find_command(name);
    if (command == NULL)
        return cli_wrong("there is no command '%s'; efface --help lists the commands", name);
    if (help) {
        const char *const text = command->help_on != NULL
                                     ? command->help_on(n_arguments - 2, arguments + 2)
                                     : command->help;
        fputs(text != NULL ? text : "", stdout);
        return text != NULL ? CLI_DONE : CLI_USAGE;
    }
    return command->run(n_arguments - 2, arguments + 2);
}

int main(int n_arguments, char **arguments) {
    /* Whole lines: what several processes say, or somebody types, does not get in between. */
    (void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    /* Before anything else: what is wrong with the other arguments is said as JSON, too. */
    if (has(n_arguments, arguments, "--json"))
        cli_messages_as_json();
    const int code = run(n_arguments, arguments);
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
