/* efface rekey: other randomness for models. */
#include "input/asking.h"
#include "input/secrets.h"
#include "input/stores.h"
#include "output/json_writer.h"

#include <inttypes.h>
#include <stdlib.h>

static int rekey_models(efface_store *store, const char *name, uint64_t seed) {
    efface_error error;
    cli_progress_begin("fitting again");
    const efface_status status = efface_store_rekey(store, name, seed, &error);
    cli_progress_end();
    return cli_outcome(status, &error);
}

static int print_rekeyed(efface_store *store, const char *name, bool as_json) {
    efface_stored_model *models = NULL;
    efface_store_info info;
    efface_error error;
    size_t n = 0;
    int code = cli_outcome(efface_store_get_info(store, &info, &error), &error);
    CLI_THEN(code, cli_list_models(store, name, &models, &n));
    for (size_t i = 0; i < n && !as_json; i++)
        printf("%s: new seed; receipt %" PRIu64 "\n", models[i].name, info.n_receipts);
    if (code == CLI_DONE && as_json) {
        cli_json json = cli_json_object(stdout);
        cli_json_whole(&json, "receipt", info.n_receipts);
        cli_json_open(&json, "models", '[');
        for (size_t i = 0; i < n; i++) {
            cli_json_open(&json, NULL, '{');
            cli_json_text(&json, "name", models[i].name);
            cli_json_close(&json);
        }
        cli_json_close_all(&json);
    }
    free(models);
    return code;
}

static int run_rekey(int n_arguments, char **arguments) {
    const char *path = NULL, *name = NULL;
    cli_open how = {.access = EFFACE_ACCESS_WRITE, .wait = -1};
    cli_number seed = {0, false};
    bool yes = false, as_json = false, ask;
    const cli_option options[] = {
        CLI_STORE_OPTIONS(path, how, as_json),
        {"--model", CLI_TEXT, &name, NULL},
        {"--seed", CLI_NUMBER, &seed, NULL},
        {"--yes", CLI_FLAG, &yes, NULL},
        {"--sign", CLI_TEXT, &how.sign, NULL},
        {"--receipt-key", CLI_TEXT, &how.receipt_key, NULL},
        {"--opening", CLI_TEXT, &how.opening, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    efface_stored_model model;
    int code = cli_parse("rekey", options, n_arguments, arguments);
    CLI_THEN(code, cli_may_change("rekey", yes, &ask));
    if (!seed.given)
        CLI_THEN(code, cli_shared_random(&seed.value, sizeof seed.value));
    CLI_THEN(code, cli_open_store(path, &how, &store));
    if (name != NULL)
        CLI_THEN(code, cli_find_model(store, name, &model));
    if (code == CLI_DONE && ask &&
        !cli_ask("Fit %s%s of %s again with other randomness?", name != NULL ? "the model " : "",
                 name != NULL ? name : "all models", path))
        code = CLI_FAILED;
    CLI_THEN(code, rekey_models(store, name, seed.value));
    cli_wipe(&seed, sizeof seed);
    CLI_THEN(code, print_rekeyed(store, name, as_json));
    efface_store_close(store);
    return code;
}

const cli_command cli_rekey = {
    "rekey",
    "fit models again with other randomness",
    "usage: efface rekey STORE [--model NAME] [--seed N] [--yes] [OPTIONS]\n"
    "Gives models another seed and fits them again; nothing of the old randomness\n"
    "remains. Do this if people may have looked at published models before they chose\n"
    "what to forget: the old randomness can then reveal something about the rows that\n"
    "were forgotten.\n"
    "  --model NAME   only this model\n"
    "  --seed N       the new seed; without it, a random seed, never shown. With\n"
    "                 several models, each gets its own seed, derived from this one\n"
    "  --sign FILE          sign the receipt with a secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --opening FILE       write what opens the receipt to a new file\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --yes          do not ask; needed if there is no terminal\n"
    "  --json         as JSON: models with name, and receipt\n"
    "Takes as long as fitting.\n"
    "Exit codes: 0 done, 2 usage or no --yes, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface rekey people.store --yes\n",
    .run = run_rekey,
};
