/* Rows for a store that is there. Columns are known by their names where both sides have names, so
 * that a file with the same columns in another order does no harm. */
#include "input/data_files.h"
#include "input/secrets.h"
#include "output/progress.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* For each column of the store, which column of the set it is. */
typedef struct order {
    const efface_store *store;
    const efface_data *data;
    const char *file;
    uint32_t n_store, n_data;
    uint32_t *source; /* of n_store; UINT32_MAX: none yet */
} order;

static bool has_names(const order *o, bool of_store) {
    for (uint32_t i = 0; i < (of_store ? o->n_store : o->n_data); i++)
        if ((of_store ? efface_store_column(o->store, i) : efface_data_column_name(o->data, i)) !=
            NULL)
            return true;
    return false;
}

/* A column without a name, here or there, is known by its place only. */
static bool is_known_by_place(const order *o, uint32_t i) {
    return i < o->n_data && i < o->n_store &&
           (efface_data_column_name(o->data, i) == NULL ||
            efface_store_column(o->store, i) == NULL);
}

/* The place in the store of a column of the set; n_store if it has none. The search goes on where
 * the last one ended: files mostly have the order of the store, or of parts of it. */
static uint32_t place_in_store(const order *o, uint32_t column, uint32_t first) {
    const char *const name = efface_data_column_name(o->data, column);
    if (is_known_by_place(o, column))
        return column;
    for (uint32_t i = 0; i < o->n_store && name != NULL; i++) {
        const uint32_t place = (uint32_t)(((uint64_t)first + i) % o->n_store);
        const char *const there = efface_store_column(o->store, place);
        if (o->source[place] == UINT32_MAX && !is_known_by_place(o, place) && there != NULL &&
            strcmp(name, there) == 0)
            return place;
    }
    return o->n_store;
}

static int match_columns_by_name(order *o) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < o->n_data; i++) {
        const char *const name = efface_data_column_name(o->data, i);
        const uint32_t place = place_in_store(o, i, next);
        if (place < o->n_store) {
            o->source[place] = i;
            next = place + 1;
        } else if (name != NULL) {
            return cli_failed(
                "%s has a column '%s' that the store does not have; " CLI_NAME_COLUMNS, o->file,
                name);
        } else {
            return cli_failed(
                "column %" PRIu32
                " of %s has no name and matches no column of the store; give it a name",
                i + 1, o->file);
        }
    }
    for (uint32_t i = 0; i < o->n_store; i++) {
        const char *const name = efface_store_column(o->store, i);
        if (o->source[i] != UINT32_MAX)
            continue;
        return name != NULL
                   ? cli_failed("%s has no column '%s', which the store has; add the column",
                                o->file, name)
                   : cli_failed("%s has no column for column %" PRIu32
                                " of the store; add the column",
                                o->file, i + 1);
    }
    return CLI_DONE;
}

static int match_columns(order *o) {
    if (has_names(o, false) && has_names(o, true))
        return match_columns_by_name(o);
    if (o->n_data != o->n_store)
        return cli_failed("%s has %" PRIu32 " columns of values, but the store has %" PRIu32 "%s",
                          o->file, o->n_data, o->n_store,
                          o->n_data > o->n_store ? "; " CLI_NAME_COLUMNS : "");
    for (uint32_t i = 0; i < o->n_store; i++)
        o->source[i] = i;
    return CLI_DONE;
}

static int put_in_order(const efface_store *store, uint32_t n_columns, const char *path,
                        efface_data *data) {
    efface_error error;
    order o = {.store = store,
               .data = data,
               .file = cli_data_name(path),
               .n_store = n_columns,
               .n_data = efface_data_n_columns(data)};
    bool same = true;
    o.source = malloc(o.n_store * sizeof *o.source);
    if (o.source == NULL)
        return cli_out_of_memory();
    memset(o.source, 0xFF, o.n_store * sizeof *o.source);
    int code = match_columns(&o);
    for (uint32_t i = 0; code == CLI_DONE && i < o.n_store; i++)
        same = same && o.source[i] == i;
    if (code == CLI_DONE && !same && efface_data_order_columns(data, o.source, &error) != EFFACE_OK)
        code = cli_report_error(&error);
    free(o.source);
    return code;
}

static void say_skipped(const char *path, const cli_skipped *skipped) {
    char list[CLI_SKIPPED_LIST];
    if (skipped->n == 0)
        return;
    cli_list_skipped(skipped, list);
    cli_say("%s: not read, for the store has no such column%s: %s", cli_data_name(path),
            skipped->n == 1 ? "" : "s", list);
}

/* Reads DATA as a store wants it, whose columns are known. */
static int load_for_store(const efface_store_info *info, const char *path,
                          const cli_data_options *options, const cli_columns *columns,
                          efface_load_options *load, efface_data **data) {
    cli_data_options told = *options;
    cli_skipped skipped = {.n = 0};
    efface_category *const known = cli_known_columns(columns, NULL, &load->n_known);
    if (known == NULL)
        return cli_out_of_memory();
    load->known = known;
    load->labels = info->labels;
    cli_note_skipped(load, &skipped);
    if (told.advice == NULL && (!load->missing || load->n_complete != 0))
        told.advice = CLI_NAME_COLUMNS
            "; values may be missing if all models of the store were fitted with --missing";
    cli_progress_begin("reading");
    int code = cli_load_data(path, &told, load, data);
    cli_progress_end();
    if (code == CLI_DONE && skipped.failed)
        code = cli_out_of_memory();
    if (code == CLI_DONE && options->columns.n == 0 && options->ignored.n == 0)
        say_skipped(path, &skipped);
    cli_skipped_free(&skipped);
    free(known);
    return code;
}

int cli_load_rows(efface_store *store, const char *path, const cli_data_options *options,
                  efface_data **data, efface_texts **texts) {
    efface_load_options load;
    efface_store_info info;
    efface_data *loaded = NULL;
    efface_texts *known = NULL;
    efface_error error;
    *data = NULL;
    *texts = NULL;
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    if (!cli_is_first())
        return CLI_DONE;
    if (efface_texts_create(&known, &error) != EFFACE_OK)
        return cli_report_error(&error);
    const cli_columns columns = {.n = info.n_columns, .store = store};
    efface_store_load_options(store, &load);
    load.texts = known;
    int code = load_for_store(&info, path, options, &columns, &load, &loaded);
    cli_wipe(&load, sizeof load);
    CLI_THEN(code, put_in_order(store, info.n_columns, path, loaded));
    if (code == CLI_DONE) {
        *data = loaded;
        *texts = known;
        return CLI_DONE;
    }
    efface_data_free(loaded);
    efface_texts_free(known);
    return code;
}
