/* efface-mpi spread: the rows of a store in parts, over another number of ranks. */
#include "cluster_commands.h"
#include "input/options.h"
#include "input/secrets.h"
#include "input/stores.h"
#include "output/escape.h"
#include "output/json_writer.h"
#include "ranks.h"

static int spread_store(const char *path, const cli_open *how) {
    efface_store_options options;
    efface_error error;
    cli_keys keys;
    int code = cli_store_options(how, &options, &keys);
    cli_progress_begin("spreading");
    CLI_THEN(code, cli_outcome(efface_store_spread(path, &options, &error), &error));
    cli_progress_end();
    cli_wipe(&keys, sizeof keys);
    return code;
}

static void print_spread(const char *path, bool as_json) {
    cli_json json = {.out = stdout};
    if (!as_json) {
        cli_put_text(stdout, path);
        printf(": %u part%s\n", (unsigned)cli_group()->size, cli_group()->size == 1 ? "" : "s");
        return;
    }
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "store", path);
    cli_json_whole(&json, "parts", cli_group()->size);
    cli_json_close(&json);
}

static int run_spread(int n_arguments, char **arguments) {
    const char *path = NULL;
    cli_open how = {.access = EFFACE_ACCESS_WRITE, .wait = -1};
    bool as_json = false;
    const cli_option options[] = {
        CLI_STORE_OPTIONS(path, how, as_json),
        {"--sign", CLI_TEXT, &how.sign, NULL},
        {"--receipt-key", CLI_TEXT, &how.receipt_key, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    int code = cli_parse("spread", options, n_arguments, arguments);
    CLI_THEN(code, spread_store(path, &how));
    if (code == CLI_DONE)
        print_spread(path, as_json);
    return code;
}

const cli_command mpi_spread = {
    "spread",
    "spread the rows of a store over the present number of ranks",
    "usage: mpirun -n N efface-mpi spread STORE [OPTIONS]\n"
    "Spreads the rows of STORE over N parts, by their ids. A store can be used by as\n"
    "many ranks as it has parts; this gives it another number. Models, digests and\n"
    "receipts stay, and there is a receipt more. Every rank must reach the files of all parts. The "
    "old\n"
    "parts stay until the new ones are complete.\n"
    "  --sign FILE          sign the receipt with a secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --json               as JSON: store and parts\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "example: mpirun -n 8 efface-mpi spread rows.parts\n",
    .run = run_spread,
};
