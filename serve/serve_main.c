/* efface-serve: the service, and its tokens. `efface serve` and `efface token` run it. */
#include "api/json_memory.h"
#include "command/commands.h"
#include "command/saying.h"
#include "efface/efface.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *help;
    int (*run)(int n_arguments, char **arguments);
} commands[] = {{"serve", sv_serve_help, sv_serve_command},
                {"token", sv_token_help, sv_token_command}};

static bool has_word(int n_arguments, char **arguments, const char *word) {
    for (int i = 1; i < n_arguments && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], word) == 0)
            return true;
    return false;
}

static int run_command(int n_arguments, char **arguments) {
    const char *const name = n_arguments > 1 ? arguments[1] : "";
    const bool help =
        has_word(n_arguments, arguments, "--help") || has_word(n_arguments, arguments, "-h");
    if (strcmp(name, "--version") == 0) {
        printf("efface-serve %s\n", efface_version());
        return SV_DONE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0) {
            if (!help)
                return commands[i].run(n_arguments - 2, arguments + 2);
            fputs(commands[i].help, stdout);
            return SV_DONE;
        }
    if (help) {
        fputs("usage: efface-serve serve STORE... [OPTIONS]\n"
              "       efface-serve token new|list|revoke [OPTIONS]\n"
              "The programs efface serve and efface token. Each has --help.\n",
              stdout);
        return SV_DONE;
    }
    return sv_wrong("say what to do: efface-serve serve or efface-serve token; see --help");
}

int main(int n_arguments, char **arguments) {
    if (has_word(n_arguments, arguments, "--json"))
        sv_messages_as_json();
    sv_json_wipes_memory();
    if (sodium_init() < 0)
        return sv_failed("the system has no random numbers");
    const int code = run_command(n_arguments, arguments);
    errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return code;
    (void)sv_failed("cannot write to standard output: %s", strerror(errno));
    return code != SV_DONE ? code : SV_FAILED;
}
