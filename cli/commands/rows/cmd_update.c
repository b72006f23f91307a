/* efface update: rows get new values, in the store and in every model. */
#include "commands/rows/change_report.h"
#include "input/asking.h"
#include "input/data_files.h"
#include "output/progress.h"

#include <string.h>

typedef struct choices {
    const char *store_path, *data_path;
    cli_data_options data;
    cli_change_options change;
    bool yes, json;
} choices;

static int send_update(const choices *c, efface_store *store, const efface_data *data,
                       const efface_texts *texts) {
    efface_store_report report;
    efface_error error;
    cli_fresh list;
    int code = CLI_DONE;
    memset(&report, 0, sizeof report);
    if (!cli_fresh_open(&list, c->change.list, &code))
        return code;
    cli_progress_begin("updating", 0, 0);
    const efface_status status = efface_store_update(store, data, texts, &report, &error);
    cli_progress_end();
    if (status != EFFACE_OK) {
        cli_fresh_abandon(&list);
        return cli_report_named(&error, texts);
    }
    const cli_change change = {.kind = CLI_UPDATED, .json = c->json};
    cli_print_change(&change, &report);
    code = cli_write_hashes(&list, &report);
    efface_store_report_free(&report);
    return code;
}

static int update(const choices *c, efface_store *store, bool ask) {
    efface_data *data = NULL;
    efface_texts *texts = NULL;
    int code = cli_load_rows(store, c->data_path, &c->data, &data, &texts);
    if (code != CLI_DONE)
        return code;
    const size_t n = data != NULL ? efface_data_n_rows(data) : 0; /* rank 0 asks */
    if (ask && !cli_ask("Replace %zu row%s of %s, in every model? The old values will be gone.", n,
                        n == 1 ? "" : "s", c->store_path))
        code = CLI_FAILED;
    if (code == CLI_DONE)
        code = send_update(c, store, data, texts);
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
        {"--yes", CLI_FLAG, &c.yes, NULL},
        {"--json", CLI_FLAG, &c.json, NULL},
        CLI_DATA_OPTIONS(c.data),
        CLI_CHANGE_OPTIONS(c.change),
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    bool ask = false;
    if (!cli_parse("update", options, n_arguments, arguments))
        return CLI_USAGE;
    if (c.data.id == NULL)
        return cli_wrong("update needs --id COL, the column of DATA with the ids of the rows");
    int code = cli_may_change("update", c.yes, &ask);
    if (code != CLI_DONE)
        return code;
    if (ask && strcmp(c.data_path, "-") == 0)
        return cli_wrong(
            "the rows come from standard input, so you cannot be asked there: add --yes");
    if (!cli_open_to_change(c.store_path, &c.change, &store, &code))
        return code;
    code = update(&c, store, ask);
    efface_store_close(store);
    return code;
}

const cli_command cli_update = {
    "update",
    "give rows new values, in the store and in every model",
    "usage: efface update STORE DATA --id COL [OPTIONS]\n"
    "Replaces the values of rows by those of DATA (CSV, also gzipped; - is standard\n"
    "input) with the same ids, in the store and in every model. If one row is\n"
    "missing, it replaces none. Columns with names are matched by name.\n"
    "  --id COL         the column of DATA with the ids, by name or number\n"
    "  --owner COL, --weight COL, --label COL\n"
    "                   new owners, weights and labels; without them, the old stay\n"
    "  --header yes|no  whether DATA begins with names, if that is not clear\n"
    "  --ids numbers|text   what ids and owners are, if the first one misleads\n"
    "  --sign FILE      sign the receipt with this secret key (efface receipt keys)\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --list FILE      write the hashes of the updated ids to a new file\n"
    "  --wait SECONDS   how long to wait for a busy store (5)\n"
    "  --yes            do not ask; needed if there is no terminal\n"
    "  --json           the report as JSON: updated, receipt, models\n"
    "Exit codes: 0 done, 1 failed, 2 usage or no --yes, 4 not found, 5 busy,\n"
    "6 damaged.\n"
    "example: efface update people.store moved.csv --id id --yes\n",
    run,
    NULL,
};
