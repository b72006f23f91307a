/* Commands that look at the models of a store. */
#include "commands/models/on_models.h"

#include "input/stores.h"
#include "output/json_writer.h"

#include <stdlib.h>

int cli_run_on_models(const char *command, int n_arguments, char **arguments,
                      int (*act)(efface_store *store, const char *name, bool as_json)) {
    const char *path = NULL, *name = NULL;
    bool as_json = false;
    cli_open how = {.access = EFFACE_ACCESS_READ, .wait = -1};
    const cli_option options[] = {
        CLI_STORE_OPTIONS(path, how, as_json),
        {"--model", CLI_TEXT, &name, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    int code = cli_parse(command, options, n_arguments, arguments);
    CLI_THEN(code, cli_open_store(path, &how, &store));
    CLI_THEN(code, act(store, name, as_json));
    efface_store_close(store);
    return code;
}

int cli_print_digests(efface_store *store, const char *name, bool as_json) {
    efface_stored_model *models;
    size_t n;
    const int code = cli_list_models(store, name, &models, &n);
    for (size_t i = 0; i < n && !as_json; i++)
        printf("%s  %s\n", models[i].name, cli_hex_of(models[i].digest).text);
    if (code == CLI_DONE && as_json) {
        cli_json json = cli_json_object(stdout);
        cli_json_open(&json, "models", '[');
        for (size_t i = 0; i < n; i++) {
            cli_json_open(&json, NULL, '{');
            cli_json_text(&json, "name", models[i].name);
            cli_json_text(&json, "digest", cli_hex_of(models[i].digest).text);
            cli_json_close(&json);
        }
        cli_json_close_all(&json);
    }
    free(models);
    return code;
}
