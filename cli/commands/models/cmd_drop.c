/* efface drop: takes a model out of a store. */
#include "input/asking.h"
#include "input/stores.h"
#include "output/json_writer.h"

static int run_drop(int n_arguments, char **arguments) {
    const char *path = NULL, *name = NULL;
    cli_open how = {.access = EFFACE_ACCESS_WRITE, .wait = -1};
    bool yes = false, as_json = false, ask;
    const cli_option options[] = {
        CLI_STORE_OPTIONS(path, how, as_json), {"--model", CLI_TEXT, &name, NULL},
        {"--yes", CLI_FLAG, &yes, NULL},       {"--receipt-key", CLI_TEXT, &how.receipt_key, NULL},
        {"--sign", CLI_TEXT, &how.sign, NULL}, {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    efface_stored_model model;
    efface_error error;
    int code = cli_parse("drop", options, n_arguments, arguments);
    if (code == CLI_DONE && name == NULL)
        return cli_wrong("drop needs --model NAME; efface info lists the models");
    CLI_THEN(code, cli_may_change("drop", yes, &ask));
    CLI_THEN(code, cli_open_store(path, &how, &store));
    CLI_THEN(code, cli_find_model(store, name, &model));
    if (code == CLI_DONE && ask && !cli_ask("Drop the model %s of %s?", name, path))
        code = CLI_FAILED;
    CLI_THEN(code, cli_outcome(efface_store_drop(store, name, &error), &error));
    efface_store_close(store);
    if (code == CLI_DONE && as_json) {
        cli_json json = cli_json_object(stdout);
        cli_json_text(&json, "dropped", name);
        cli_json_close(&json);
    } else if (code == CLI_DONE) {
        printf("model %s dropped\n", name);
    }
    return code;
}

const cli_command cli_drop = {
    "drop",
    "remove a model from a store; the rows stay",
    "usage: efface drop STORE --model NAME [--yes] [OPTIONS]\n"
    "Removes a model from a store. The rows and the other models stay.\n"
    "  --model NAME         the model to remove\n"
    "  --sign FILE          sign the receipt with a secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --yes                do not ask; needed if there is no terminal\n"
    "  --json               as JSON: dropped\n"
    "Exit codes: 0 done, 2 usage or no --yes, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface drop people.store --model coarse --yes\n",
    .run = run_drop,
};
