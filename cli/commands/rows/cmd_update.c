/* efface update: rows get new values, in the store and in every model. */
#include "commands/rows/data_change.h"
#include "input/asking.h"

#include <string.h>

static int update_rows(cli_data_change *c, bool yes) {
    if (c->data.id == NULL)
        return cli_wrong("update needs --id COL, the column of DATA with the ids of the rows");
    const int code = cli_may_change("update", yes, &c->ask);
    if (code != CLI_DONE)
        return code;
    if (c->ask && strcmp(c->data_path, "-") == 0)
        return cli_wrong(
            "the rows come from standard input, so you cannot be asked there: add --yes");
    return cli_change_by_data(c);
}

static int run_update(int n_arguments, char **arguments) {
    cli_data_change c = {.kind = CLI_UPDATED, .change = CLI_CHANGE_DEFAULTS};
    bool yes = false;
    const cli_option options[] = {
        CLI_DATA_CHANGE_OPTIONS(c),
        {"--yes", CLI_FLAG, &yes, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    int code = cli_parse("update", options, n_arguments, arguments);
    CLI_THEN(code, update_rows(&c, yes));
    cli_data_options_free(&c.data);
    return code;
}

const cli_command cli_update = {
    "update",
    "give rows new values, in the store and in every model",
    "usage: efface update STORE DATA --id COL [OPTIONS]\n"
    "Replaces the values of rows by those of DATA (CSV, also gzipped; - is standard\n"
    "input) with the same ids, in the store and in every model. If one row is\n"
    "missing, it replaces none. Columns with names are matched by name, and others\n"
    "that the store does not have are not read.\n"
    "  --id COL         the column of DATA with the ids, by name or number\n"
    "  --owner COL, --weight COL, --label COL\n"
    "                   new owners, weights and labels; without them, the old "
    "stay\n" CLI_DATA_CHANGE_HELP(
        "updated") "  --yes            do not ask; needed if there is no terminal\n"
                   "  --json           the report as JSON: updated, receipt, models\n"
                   "Exit codes: 0 done, 1 failed, 2 usage or no --yes, 4 not found, 5 busy,\n"
                   "6 damaged.\n"
                   "example: efface update people.store moved.csv --id id --yes\n",
    .run = run_update,
};
