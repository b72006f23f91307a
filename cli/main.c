/* efface: the command table. */
#include "cli.h"

static const cli_command *const commands[] = {
    &cli_look,    &cli_fit,     &cli_forget, &cli_learn,   &cli_update, &cli_show,   &cli_owners,
    &cli_predict, &cli_export,  &cli_info,   &cli_digest,  &cli_verify, &cli_check,  &cli_compact,
    &cli_rekey,   &cli_publish, &cli_drop,   &cli_receipt, &cli_serve,  &cli_tokens, NULL,
};

static const cli_program efface = {
    .name = "efface",
    .about = "usage: efface COMMAND [OPTIONS]\n"
             "Fits models to rows, and lets them forget rows again, exactly.\n",
    .more = "Run efface COMMAND --help for more. Every command takes --json. Exit codes:\n"
            "0 done, 1 failed, 2 usage, 3 different, 4 not found, 5 busy, 6 damaged.\n",

    .commands = commands,
};

int main(int n_arguments, char **arguments) {
    return cli_run_program(&efface, n_arguments, arguments);
}
