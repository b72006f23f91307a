/* efface learn: rows join the store and every model. */
#include "commands/rows/change_report.h"
#include "input/data_files.h"
#include "output/progress.h"

#include <inttypes.h>
#include <string.h>

typedef struct choices {
    const char *store_path, *data_path, *ids_out;
    cli_data_options data;
    cli_change_options change;
    bool json;
} choices;

static void write_id(FILE *out, const void *list, uint64_t number) {
    const uint64_t *const ids = list;
    fprintf(out, "%" PRIu64, ids[number]);
}

/* Files are begun before the store is changed, and filled afterwards. */
static int learn(const choices *c, efface_store *store) {
    efface_data *data = NULL;
    efface_texts *texts = NULL;
    efface_store_report report;
    efface_error error;
    cli_fresh ids, list;
    int code = cli_load_rows(store, c->data_path, &c->data, &data, &texts);
    if (code != CLI_DONE)
        return code;
    memset(&report, 0, sizeof report);
    const bool good = cli_fresh_open(&ids, c->ids_out, &code);
    if (good && cli_fresh_open(&list, c->change.list, &code)) {
        cli_progress_begin("learning", 0, 0);
        const efface_status status = efface_store_learn(store, data, texts, &report, &error);
        cli_progress_end();
        if (status == EFFACE_OK) {
            const cli_change change = {.kind = CLI_LEARNED, .json = c->json};
            cli_print_change(&change, &report);
            const uint64_t n = report.new_ids != NULL ? report.n_learned : 0;
            code = cli_fresh_finish(&ids, write_id, report.new_ids, n);
            const int listed = cli_write_hashes(&list, &report);
            code = code != CLI_DONE ? code : listed;
            efface_store_report_free(&report);
        } else {
            code = cli_report_named(&error, texts);
            cli_fresh_abandon(&list);
        }
    }
    if (good)
        cli_fresh_abandon(&ids);
    efface_texts_free(texts);
    efface_data_free(data);
    return code;
}

static int run(int n_arguments, char **arguments) {
    choices c;
    memset(&c, 0, sizeof c);
    c.change.wait = -1;
    const cli_option options[] = {
        {"STORE", CLI_PLACE, &c.store_path, NULL},
        {"DATA", CLI_PLACE, &c.data_path, NULL},
        {"--ids-out", CLI_TEXT, &c.ids_out, NULL},
        {"--json", CLI_FLAG, &c.json, NULL},
        CLI_DATA_OPTIONS(c.data),
        CLI_CHANGE_OPTIONS(c.change),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    int code;
    if (!cli_parse("learn", options, n_arguments, arguments))
        return CLI_USAGE;
    if (c.ids_out != NULL && c.data.id != NULL)
        return cli_wrong(
            "--ids-out is for rows that get new ids; with --id, the rows have ids already");
    if (!cli_open_to_change(c.store_path, &c.change, &store, &code))
        return code;
    code = learn(&c, store);
    efface_store_close(store);
    return code;
}

const cli_command cli_learn = {
    "learn",
    "add the rows of a data file, to the store and to every model",
    "usage: efface learn STORE DATA [OPTIONS]\n"
    "Adds the rows of DATA (CSV, .npy or IDX, also gzipped; - is standard input) to\n"
    "the store and to every model: all rows or none. Columns with names may have any\n"
    "order; columns without names have the order of the store.\n"
    "  --id COL         the column of DATA with the ids, by name or number; without\n"
    "                   it, rows get random ids, which are printed\n"
    "  --ids-out FILE   write these ids to a new file, one per line\n"
    "  --owner COL, --weight COL, --label COL\n"
    "                   other columns of DATA that are not values\n"
    "  --header yes|no  whether DATA begins with names, if that is not clear\n"
    "  --ids numbers|text   what ids and owners are, if the first one misleads\n"
    "  --sign FILE      sign the receipt with this secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --list FILE      write the hashes of the learned ids to a new file\n"
    "  --wait SECONDS   how long to wait for a busy store (5)\n"
    "  --json           the report as JSON: learned, ids, receipt, models\n"
    "Exit codes: 0 done, 1 failed (for example, an id exists already), 2 usage,\n"
    "4 not found, 5 busy, 6 damaged.\n"
    "example: efface learn people.store new.csv --id id --owner user\n",
    run,
    NULL,
};
