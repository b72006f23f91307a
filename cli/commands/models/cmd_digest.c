/* efface digest: the digests of models, for comparison. */
#include "commands/models/on_models.h"
#include "input/stores.h"
#include "output/json_writer.h"

static void print_one(cli_json *json, bool as_json, const efface_stored_model *model) {
    if (!as_json) {
        printf("%s  %s\n", model->name, cli_hex_of(model->digest).text);
        return;
    }
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "name", model->name);
    cli_json_text(json, "digest", cli_hex_of(model->digest).text);
    cli_json_close(json);
}

static int print_digests(efface_store *store, const char *name, bool as_json) {
    efface_stored_model *models = NULL, one;
    size_t n = 0;
    efface_error error;
    cli_json json = {.out = stdout};
    if (name != NULL) {
        const int code = cli_find_model(store, name, &one);
        if (code != CLI_DONE)
            return code;
        n = 1;
    } else if (efface_store_models(store, &models, &n, &error) != EFFACE_OK) {
        return cli_report_error(&error);
    }
    if (as_json) {
        cli_json_open(&json, NULL, '{');
        cli_json_open(&json, "models", '[');
    }
    for (size_t i = 0; i < n; i++)
        print_one(&json, as_json, name != NULL ? &one : &models[i]);
    if (as_json) {
        cli_json_close(&json);
        cli_json_close(&json);
    }
    efface_models_free(models);
    return CLI_DONE;
}

static int run(int n_arguments, char **arguments) {
    return cli_run_on_models("digest", n_arguments, arguments, print_digests);
}

const cli_command cli_digest = {
    "digest",
    "print the digest of each model",
    "usage: efface digest STORE [--model NAME] [--wait SECONDS] [--json]\n"
    "Prints the name of each model and the digest of its state, 64 hexadecimal\n"
    "digits: equal models have equal digests, wherever they were fitted. The digest\n"
    "is the one that the store has; efface verify fits the model again.\n"
    "  --model NAME   only this model\n"
    "  --wait SECONDS how long to wait for a busy store (5)\n"
    "  --json         as JSON: models with name and digest\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface digest people.store\n",
    run,
    NULL,
};
