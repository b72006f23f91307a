/* Commands that look at the models of a store. */
#include "commands/models/on_models.h"

#include "input/options.h"
#include "input/stores.h"

int cli_run_on_models(const char *command, int n_arguments, char **arguments,
                      int (*act)(efface_store *store, const char *name, bool as_json)) {
    const char *path = NULL, *name = NULL;
    bool as_json = false;
    cli_open how = {.access = EFFACE_ACCESS_READ, .wait = -1};
    const cli_option options[] = {
        {"STORE", CLI_PLACE, &path, NULL},
        {"--model", CLI_TEXT, &name, NULL},
        {"--wait", CLI_SECONDS, &how.wait, NULL},
        {"--json", CLI_FLAG, &as_json, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    int code;
    if (!cli_parse(command, options, n_arguments, arguments))
        return CLI_USAGE;
    if (!cli_open_store(path, &how, &store, &code))
        return code;
    code = act(store, name, as_json);
    efface_store_close(store);
    return code;
}
