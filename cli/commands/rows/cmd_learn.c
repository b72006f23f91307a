/* efface learn: rows join the store and every model. */
#include "commands/rows/data_change.h"

static int learn_rows(const cli_data_change *c) {
    if (c->ids_out != NULL && c->data.id != NULL)
        return cli_wrong(
            "--ids-out is for rows that get new ids; with --id, the rows have ids already");
    return cli_change_by_data(c);
}

static int run_learn(int n_arguments, char **arguments) {
    cli_data_change c = {.kind = CLI_LEARNED, .change = CLI_CHANGE_DEFAULTS};
    const cli_option options[] = {
        CLI_DATA_CHANGE_OPTIONS(c),
        {"--ids-out", CLI_TEXT, &c.ids_out, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    int code = cli_parse("learn", options, n_arguments, arguments);
    CLI_THEN(code, learn_rows(&c));
    cli_data_options_free(&c.data);
    return code;
}

const cli_command cli_learn = {
    "learn",
    "add the rows of a data file, to the store and to every model",
    "usage: efface learn STORE DATA [OPTIONS]\n"
    "Adds the rows of DATA (CSV, .npy or IDX, also gzipped; - is standard input) to\n"
    "the store and to every model: all rows or none. Columns with names may have any\n"
    "order, and others that the store does not have are not read; columns without\n"
    "names have the order of the store.\n"
    "  --id COL         the column of DATA with the ids, by name or number; without\n"
    "                   it, rows get random ids, which are printed\n"
    "  --ids-out FILE   write these ids to a new file, one per line\n"
    "  --owner COL, --weight COL, --label COL\n"
    "                   other columns of DATA that are not values\n" CLI_DATA_CHANGE_HELP(
        "learned") "  --json           the report as JSON: learned, ids, receipt, models\n"
                   "Exit codes: 0 done, 1 failed (for example, an id exists already), 2 usage,\n"
                   "4 not found, 5 busy, 6 damaged.\n"
                   "example: efface learn people.store new.csv --id id --owner user\n",
    .run = run_learn,
};
