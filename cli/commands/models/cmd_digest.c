/* efface digest: the digests of models, for comparison. */
#include "commands/models/on_models.h"
#include "input/stores.h"
#include "output/json_writer.h"

static int print_digests(efface_store *store, const char *name, bool as_json) {
    return cli_print_digests(store, name, as_json);
}

static int run_digest(int n_arguments, char **arguments) {
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
    .run = run_digest,
};
