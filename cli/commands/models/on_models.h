/* Commands that look at the models of a store: their arguments are STORE, --model, --wait, --json.
 */
#ifndef CLI_ON_MODELS_H
#define CLI_ON_MODELS_H

#include "cli.h"

/* Opens the store to read, and lets `act` do its work; `name` is NULL or that of one model. Returns
 * the exit code. */
int cli_run_on_models(const char *command, int n_arguments, char **arguments,
                      int (*act)(efface_store *store, const char *name, bool as_json));

/* Prints the name and the digest of each model, or of one: in text,
 * Returns the exit code. */
int cli_print_digests(efface_store *store, const char *name, bool as_json);

#endif
