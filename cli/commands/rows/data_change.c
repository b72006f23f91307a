/* What learn and update do with rows of DATA. */
#include "commands/rows/data_change.h"

#include "input/asking.h"
#include "input/secrets.h"
#include "output/output.h"

#include <inttypes.h>
#include <string.h>

/* New ids are numbers, where the others may be texts. */
typedef struct new_ids {
    const uint64_t *items;
    bool among_texts;
} new_ids;

static void write_id(FILE *out, const void *list, uint64_t number) {
    const new_ids *const ids = list;
    char text[32];
    cli_format_token(text, &(cli_token){.number = ids->items[number], .of_text = ids->among_texts});
    fputs(text, out);
}

/* The new ids and the list of the receipt go to files that were begun before the change. */
static int write_files(efface_store_report *report, bool among_texts, cli_fresh *ids,
                       cli_fresh *list) {
    const uint64_t n_ids = report->new_ids != NULL ? report->n_learned : 0;
    const new_ids made = {report->new_ids, among_texts};
    const int code = cli_fresh_finish(ids, write_id, &made, n_ids);
    const int listed = cli_write_hashes(list, report);
    return code != CLI_DONE ? code : listed;
}

static bool has_text_ids(const efface_store *store) {
    efface_load_options options;
    efface_store_load_options(store, &options);
    const bool texts = options.ids == EFFACE_IDS_TEXT;
    cli_wipe(&options, sizeof options);
    return texts;
}

static int send_rows(const cli_data_change *c, efface_store *store, const efface_data *data,
                     const efface_texts *texts) {
    const bool learns = c->kind == CLI_LEARNED;
    const cli_change change = {
        .kind = c->kind, .json = c->json, .among_texts = has_text_ids(store)};
    efface_store_report report;
    efface_error error;
    cli_fresh ids, list;
    memset(&report, 0, sizeof report);
    int code = cli_fresh_open(&ids, c->ids_out);
    if (code != CLI_DONE)
        return code;
    code = cli_fresh_open(&list, c->change.list);
    if (code == CLI_DONE) {
        cli_progress_begin(learns ? "learning" : "updating");
        const efface_status status = (learns ? efface_store_learn : efface_store_update)(
            store, data, texts, &report, &error);
        cli_progress_end();
        if (status == EFFACE_OK) {
            cli_print_change(&change, &report);
            code = write_files(&report, change.among_texts, &ids, &list);
            efface_store_report_free(&report);
        } else {
            code = cli_report_named(&error, texts);
        }
    }
    cli_fresh_abandon(&list);
    cli_fresh_abandon(&ids);
    return code;
}

static int load_and_send(const cli_data_change *c, efface_store *store) {
    efface_data *data = NULL;
    efface_texts *texts = NULL;
    int code = cli_load_rows(store, c->data_path, &c->data, &data, &texts);
    const size_t n = data != NULL ? efface_data_n_rows(data) : 0; /* rank 0 asks */
    if (code == CLI_DONE && c->ask &&
        !cli_ask("Replace %zu row%s of %s, in every model? The old values will be gone.", n,
                 n == 1 ? "" : "s", c->store_path))
        code = CLI_FAILED;
    CLI_THEN(code, send_rows(c, store, data, texts));
    efface_texts_free(texts);
    efface_data_free(data);
    return code;
}

int cli_change_by_data(const cli_data_change *c) {
    efface_store *store = NULL;
    int code = cli_open_store(c->store_path, &c->change.open, &store);
    CLI_THEN(code, load_and_send(c, store));
    efface_store_close(store);
    return code;
}
