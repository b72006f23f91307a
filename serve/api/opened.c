/* A model of a store, opened to be looked at (opened.h). */
#include "api/opened.h"

#include "api/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often a model is read again because the store changed meanwhile. Each reading takes
 * milliseconds; who changes a store that often makes it wait for seconds at a time. */
#define MOST_READINGS 20

static efface_status fail_memory(efface_error *error) {
    *error = (efface_error){.status = EFFACE_E_MEMORY};
    return EFFACE_E_MEMORY;
}

static efface_status read_texts(sv_opened *o, efface_error *error) {
    const uint32_t n = o->info.n_classes;
    efface_status status = EFFACE_OK;
    o->classes = calloc(n + (size_t)1, sizeof *o->classes);
    o->class_texts = calloc(n + (size_t)1, sizeof *o->class_texts);
    if (o->classes == NULL || o->class_texts == NULL)
        return fail_memory(error);
    efface_model_classes(o->model, o->classes, n);
    for (uint32_t i = 0; i < n && status == EFFACE_OK; i++)
        status = efface_store_text(o->store, EFFACE_TEXT_LABEL, (uint64_t)o->classes[i],
                                   &o->class_texts[i], error);
    return status;
}

static efface_status read_model(sv_opened *o, const char *name, efface_error *error) {
    efface_status status = efface_store_find_model(o->store, name, &o->about, error);
    if (status == EFFACE_OK)
        status = efface_store_model_columns(o->store, name, &o->columns, error);
    if (status == EFFACE_OK)
        status = efface_store_model(o->store, name, &o->model, error);
    if (status != EFFACE_OK)
        return status;
    o->info = efface_model_get_info(o->model);
    o->offsets = calloc(o->info.n_columns + (size_t)1, sizeof *o->offsets);
    return o->offsets != NULL ? read_texts(o, error) : fail_memory(error);
}

static void let_go(sv_opened *o) {
    for (uint32_t i = 0; o->class_texts != NULL && i < o->info.n_classes; i++)
        efface_text_free(o->class_texts[i]);
    free(o->class_texts);
    free(o->classes);
    free(o->offsets);
    efface_columns_free(o->columns);
    efface_model_free(o->model);
    *o = (sv_opened){.store = o->store};
}

/* Reads the parts of a model, each of which is a transaction of its own, until nothing has changed
 * in between: another process might put a model with other columns in its place. */
static efface_status read_one_state(sv_opened *o, const char *name, efface_error *error) {
    for (int i = 0; i < MOST_READINGS; i++) {
        uint64_t before = 0, after = 0;
        let_go(o);
        efface_status status = efface_store_count_changes(o->store, &before, error);
        if (status == EFFACE_OK)
            status = read_model(o, name, error);
        if (status == EFFACE_OK)
            status = efface_store_count_changes(o->store, &after, error);
        if (status != EFFACE_OK || before == after)
            return status;
    }
    *error = (efface_error){.status = EFFACE_E_BUSY};
    return EFFACE_E_BUSY;
}

efface_status sv_open_model(const sv_room *room, const char *name, sv_opened *out,
                            efface_error *error) {
    *out = (sv_opened){.store = NULL};
    efface_status status = sv_room_open(room, &out->store, error);
    if (status == EFFACE_OK)
        status = read_one_state(out, name, error);
    for (uint32_t j = 0; status == EFFACE_OK && j < out->info.n_columns; j++)
        out->offsets[j] = efface_store_offset(out->store, out->columns[j]);
    return status;
}

void sv_opened_close(sv_opened *opened) {
    let_go(opened);
    efface_store_close(opened->store);
    opened->store = NULL;
}

const char *sv_column_name(const sv_opened *opened, uint32_t column) {
    return efface_store_column(opened->store, opened->columns[column]);
}

json_t *sv_json_column(const sv_opened *opened, uint32_t column) {
    const char *const name = sv_column_name(opened, column);
    char made_up[SV_MADE_UP_BYTES];
    (void)snprintf(made_up, sizeof made_up, "column%" PRIu32, column + 1);
    return sv_json_text(name != NULL ? name : made_up);
}

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

json_t *sv_json_class(const sv_opened *opened, int64_t number) {
    const int64_t *const found =
        bsearch(&number, opened->classes, opened->info.n_classes, sizeof number, compare);
    return sv_json_label(number,
                         found != NULL ? opened->class_texts[found - opened->classes] : NULL);
}

json_t *sv_json_table_column(const sv_opened *opened, const efface_table *table, uint32_t column) {
    char made_up[SV_MADE_UP_BYTES];
    if (column < table->n_named)
        return sv_json_text(table->names[column]);
    const uint32_t place = column - table->n_named;
    if (table->columns != NULL)
        return sv_json_column(opened, table->columns[place]);
    if (table->part_name == NULL)
        return sv_json_column(opened, place);
    (void)snprintf(made_up, sizeof made_up, "%.16s%" PRIu32, table->part_name, place + 1);
    return sv_json_text(made_up);
}

json_t *sv_json_table_row(const sv_opened *opened, const efface_table *table, uint64_t row) {
    switch (table->rows) {
    case EFFACE_TABLE_CLASSES: return sv_json_class(opened, table->row_ids[row]);
    case EFFACE_TABLE_COLUMNS: return sv_json_column(opened, (uint32_t)table->row_ids[row]);
    case EFFACE_TABLE_NUMBERED: break;
    }
    return sv_json_count(row);
}
