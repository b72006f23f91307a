/* efface learn: rows join the store and every model. */
#include "data_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct choices {
    const char *store_path, *data_path, *sign;
    cli_data_options data;
    bool json;
} choices;

/* The columns of DATA must be those of the store, one for one. */
static int compare_columns(const choices *c, efface_store *store, const efface_data *data) {
    efface_store_info info;
    efface_error error;
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const uint32_t n = efface_data_n_columns(data);
    if (n != info.n_columns)
        return cli_failed("%s has %" PRIu32 " columns of values, the store has %" PRIu32 "%s",
                          c->data_path, n, info.n_columns,
                          n > info.n_columns
                              ? ": say with --id, --owner, --weight or --label which are no values"
                              : "");
    for (uint32_t i = 0; i < n; i++) {
        const char *const here = efface_data_column_name(data, i);
        const char *const there = efface_store_column(store, i);
        if (here != NULL && there != NULL && strcmp(here, there) != 0)
            return cli_failed("column %" PRIu32
                              " of %s is '%s', of the store '%s': they must be in "
                              "the same order",
                              i + 1, c->data_path, here, there);
    }
    return CLI_DONE;
}

static int learn(const choices *c, efface_store *store) {
    efface_load_options load;
    efface_data *data = NULL;
    efface_error error;
    int code = CLI_DONE;
    efface_store_load_options(store, &load);
    cli_progress_begin("reading", 0, 0);
    const bool loaded = cli_load_data(c->data_path, &c->data, &load, &data, &code);
    cli_progress_end();
    cli_wipe(&load, sizeof load);
    if (!loaded)
        return code;
    code = compare_columns(c, store, data);
    if (code == CLI_DONE)
        code = cli_sign_with(store, c->sign);
    if (code == CLI_DONE) {
        efface_store_report report;
        memset(&report, 0, sizeof report);
        cli_progress_begin("learning", 0, 0);
        const efface_status status = efface_store_learn(store, data, &report, &error);
        cli_progress_end();
        if (status == EFFACE_OK) {
            const cli_change change = {.verb = "learned", .learned = true, .json = c->json};
            cli_print_change(&change, &report);
            efface_store_report_free(&report);
        } else {
            code = cli_report_error(&error);
        }
    }
    efface_data_free(data);
    return code;
}

static int run(int n_arguments, char **arguments) {
    choices c;
    memset(&c, 0, sizeof c);
    const cli_option options[] = {
        {"STORE", CLI_PLACE, &c.store_path, NULL},
        {"DATA", CLI_PLACE, &c.data_path, NULL},
        {"--sign", CLI_TEXT, &c.sign, NULL},
        {"--json", CLI_FLAG, &c.json, NULL},
        CLI_DATA_OPTIONS(c.data),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    int code;
    if (!cli_parse("learn", options, n_arguments, arguments))
        return CLI_USAGE;
    if (!cli_open_store(c.store_path, EFFACE_ACCESS_WRITE, &store, &code))
        return code;
    code = learn(&c, store);
    efface_store_close(store);
    return code;
}

const cli_command cli_learn = {
    "learn",
    "add the rows of a data file, to the store and to every model",
    "usage: efface learn STORE DATA [OPTIONS]\n"
    "Adds the rows of DATA (CSV, .npy or IDX, also gzipped), which has the columns of\n"
    "the store in the same order, to the store and to every model: all rows or none.\n"
    "Every model is afterwards what a fit to all rows would have made.\n"
    "  --id COL         the column of DATA that has the ids, by header or number;\n"
    "                   without it, rows are numbered on from the largest id that\n"
    "                   there ever was\n"
    "  --owner COL, --weight COL, --label COL\n"
    "                   other columns of DATA that are no values\n"
    "  --header yes|no  whether DATA begins with names, if it cannot be told\n"
    "  --ids numbers|text   what ids and owners are, if the first one misleads\n"
    "  --sign FILE      sign the receipt with this secret key (efface receipt keys)\n"
    "  --json           the report as JSON: learned, receipt, models\n"
    "Exit codes: 0 done, 1 failed (an id is there already, say), 2 usage, 4 not\n"
    "found, 5 busy, 6 damaged.\n"
    "example: efface learn people.store new.csv --id id --owner user\n",
    run,
};
