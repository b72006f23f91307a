/* The rows of a store: in, out, and found. */
#include "base/checked.h"
#include "base/status.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BATCH_ROWS 1024
#define MOST_NAMED 8

/* ---------------------------------------------------------------- values as bytes */

static void write_values(const float *values, uint32_t n, unsigned char *bytes) {
    for (uint32_t j = 0; j < n; j++) {
        uint32_t bits;
        memcpy(&bits, &values[j], sizeof bits);
        for (int b = 0; b < 4; b++)
            bytes[4 * (size_t)j + (size_t)b] = (unsigned char)(bits >> (8 * b));
    }
}

/* The values of a row that a statement is at. False if they are not n numbers. */
static bool read_values(sqlite3_stmt *statement, int column, uint32_t n, float *values) {
    ef_reader reader = ef_sql_bytes(statement, column);
    if (reader.n_bytes != (size_t)n * 4)
        return false;
    for (uint32_t j = 0; j < n; j++)
        values[j] = ef_read_f32(&reader);
    return true;
}

void ef_rows_pick(const efface_data *data, size_t position, const uint32_t *columns,
                  uint32_t n_columns, float *all, float *picked) {
    efface_data_values(data, position, all);
    for (uint32_t j = 0; j < n_columns; j++)
        picked[j] = all[columns != NULL ? columns[j] : j];
}

/* ---------------------------------------------------------------- in and out */

efface_status ef_rows_insert(efface_store *store, const efface_data *data, uint64_t first_id,
                             efface_error *error) {
    const uint32_t d = data->n_columns;
    sqlite3_stmt *statement = NULL;
    float *const values = ef_alloc(d, sizeof *values);
    unsigned char *const bytes = ef_alloc(d, 4);
    efface_status status = values != NULL && bytes != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status =
            ef_sql_prepare(store, "INSERT INTO rows VALUES (?, ?, ?, ?, ?)", &statement, error);
    for (size_t i = 0; status == EFFACE_OK && i < data->n_rows; i++) {
        const efface_row row = efface_data_row(data, i);
        const uint64_t id = first_id + row.id;
        efface_data_values(data, i, values);
        write_values(values, d, bytes);
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)row.owner);
        (void)sqlite3_bind_int64(statement, 3, row.weight);
        (void)sqlite3_bind_int64(statement, 4, row.label);
        ef_sql_bind_bytes(statement, 5, bytes, (size_t)d * 4);
        status = ef_sql_do(store, statement, error);
        if (status == EFFACE_E_DUPLICATE)
            status = ef_fail(error, status, "a row with the id %" PRIu64 " is there already", id);
    }
    (void)sqlite3_finalize(statement);
    ef_free(values);
    ef_free(bytes);
    return status;
}

efface_status ef_rows_delete(efface_store *store, const efface_data *rows, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "DELETE FROM rows WHERE id = ?", &statement, error);
    for (size_t i = 0; status == EFFACE_OK && i < rows->n_rows; i++) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)ef_data_id(rows, i));
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_rows_weight(efface_store *store, int64_t *weight, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status =
        ef_sql_prepare(store, "SELECT ifnull(sum(weight), 0) FROM rows", &statement, error);
    if (status == EFFACE_OK)
        status = ef_sql_step(store, statement, &row, error);
    if (status == EFFACE_OK)
        *weight = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return status;
}

/* ---------------------------------------------------------------- batches of rows to a set */

typedef struct batch {
    efface_data *data;
    const uint32_t *columns; /* or NULL */
    uint32_t n_columns;
    float *all; /* values of one row */
    size_t n;
    float *values;
    uint64_t *ids, *owners;
    int64_t *weights;
    int32_t *labels;
} batch;

static efface_status batch_begin(batch *b, const efface_store *store, const uint32_t *columns,
                                 uint32_t n_columns, efface_error *error) {
    *b = (batch){.columns = columns, .n_columns = columns != NULL ? n_columns : store->n_columns};
    b->all = ef_alloc(store->n_columns, sizeof *b->all);
    b->values = ef_alloc((size_t)BATCH_ROWS * b->n_columns, sizeof *b->values);
    b->ids = ef_alloc(BATCH_ROWS, sizeof *b->ids);
    b->owners = ef_alloc(BATCH_ROWS, sizeof *b->owners);
    b->weights = ef_alloc(BATCH_ROWS, sizeof *b->weights);
    b->labels = ef_alloc(BATCH_ROWS, sizeof *b->labels);
    if (b->all == NULL || b->values == NULL || b->ids == NULL || b->owners == NULL ||
        b->weights == NULL || b->labels == NULL)
        return ef_fail_memory(error);
    return efface_data_create(b->n_columns, &b->data, error);
}

static efface_status batch_flush(batch *b, efface_error *error) {
    const efface_rows rows = {.n_rows = b->n,
                              .values = b->values,
                              .ids = b->ids,
                              .weights = b->weights,
                              .owners = b->owners,
                              .labels = b->labels};
    efface_status status = efface_data_add(b->data, &rows, error);
    if (status != EFFACE_OK && status != EFFACE_E_MEMORY)
        status = ef_store_corrupt(error, "a row has values that no row can have");
    b->n = 0;
    return status;
}

/* Adds the row that a statement is at: id, owner, weight, label, vals. */
static efface_status batch_add(batch *b, const efface_store *store, sqlite3_stmt *statement,
                               efface_error *error) {
    float *const values = b->values + b->n * b->n_columns;
    if (!read_values(statement, 4, store->n_columns, b->all))
        return ef_store_corrupt(error, "a row has not as many values as there are columns");
    for (uint32_t j = 0; j < b->n_columns; j++)
        values[j] = b->all[b->columns != NULL ? b->columns[j] : j];
    b->ids[b->n] = (uint64_t)sqlite3_column_int64(statement, 0);
    b->owners[b->n] = (uint64_t)sqlite3_column_int64(statement, 1);
    b->weights[b->n] = sqlite3_column_int64(statement, 2);
    b->labels[b->n] = sqlite3_column_int(statement, 3);
    b->n++;
    return b->n == BATCH_ROWS ? batch_flush(b, error) : EFFACE_OK;
}

/* Hands out the set, or releases it. */
static efface_status batch_end(batch *b, efface_status status, efface_data **out,
                               efface_error *error) {
    if (status == EFFACE_OK && b->n != 0)
        status = batch_flush(b, error);
    if (status == EFFACE_OK)
        *out = b->data;
    else
        efface_data_free(b->data);
    ef_free(b->all);
    ef_free(b->values);
    ef_free(b->ids);
    ef_free(b->owners);
    ef_free(b->weights);
    ef_free(b->labels);
    return status;
}

efface_status ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    uint64_t n_rows = 0;
    batch b;
    efface_status status = batch_begin(&b, store, columns, n_columns, error);
    if (status == EFFACE_OK)
        status = ef_fact_read(store, "n_rows", &n_rows, error);
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store, "SELECT id, owner, weight, label, vals FROM rows",
                                &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        status = batch_add(&b, store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    for (uint32_t j = 0; status == EFFACE_OK && store->names != NULL && j < b.n_columns; j++)
        status =
            ef_data_name_column(b.data, j, store->names[columns != NULL ? columns[j] : j], error);
    status = batch_end(&b, status, out, error);
    if (status == EFFACE_OK && (*out)->n_rows != n_rows) {
        efface_data_free(*out);
        *out = NULL;
        status = ef_store_corrupt(error, "it has not as many rows as it counts");
    }
    return status;
}

/* ---------------------------------------------------------------- the rows of a request */

typedef struct search {
    batch found;
    char named[MOST_NAMED * 28];
    size_t n_named;
    uint64_t n_missing;
} search;

static void note_missing(search *s, const char *what, uint64_t id) {
    s->n_missing++;
    if (s->n_named == MOST_NAMED)
        return;
    const size_t used = strlen(s->named);
    (void)snprintf(s->named + used, sizeof s->named - used, "%s%s %" PRIu64,
                   s->n_named != 0 ? ", " : "", what, id);
    s->n_named++;
}

static bool is_found(const search *s, uint64_t id) {
    size_t position;
    for (size_t i = 0; i < s->found.n; i++)
        if (s->found.ids[i] == id)
            return true;
    return efface_data_find(s->found.data, id, &position) == EFFACE_OK;
}

/* Runs a statement for each key, and adds the rows that are not found yet. */
static efface_status search_by(efface_store *store, search *s, const char *sql, const char *what,
                               const uint64_t *keys, size_t n_keys, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status = n_keys != 0 ? ef_sql_prepare(store, sql, &statement, error) : EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < n_keys; i++) {
        bool row = true, any = false;
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)keys[i]);
        for (;;) {
            status = ef_sql_step(store, statement, &row, error);
            if (status != EFFACE_OK || !row)
                break;
            any = true;
            if (!is_found(s, (uint64_t)sqlite3_column_int64(statement, 0)))
                status = batch_add(&s->found, store, statement, error);
            if (status != EFFACE_OK)
                break;
        }
        (void)sqlite3_reset(statement);
        if (status == EFFACE_OK && !any)
            note_missing(s, what, keys[i]);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_rows_find(efface_store *store, const efface_request *request, efface_data **out,
                           uint64_t *n_missing, efface_error *error) {
    search s = {.n_missing = 0};
    efface_status status = batch_begin(&s.found, store, NULL, 0, error);
    if (status == EFFACE_OK)
        status =
            search_by(store, &s, "SELECT id, owner, weight, label, vals FROM rows WHERE id = ?",
                      "id", request->ids, request->n_ids, error);
    /* Where no row has an owner, all have owner 0, which is nobody's name then. */
    if (status == EFFACE_OK)
        status = search_by(store, &s,
                           "SELECT id, owner, weight, label, vals FROM rows WHERE owner = ?1 AND "
                           "(?1 <> 0 OR EXISTS(SELECT 1 FROM rows WHERE owner <> 0))",
                           "owner", request->owners, request->n_owners, error);
    if (status == EFFACE_OK && s.n_missing != 0 && request->missing == EFFACE_MISSING_FAIL)
        status = ef_fail(error, EFFACE_E_NOT_FOUND,
                         "nothing was forgotten: there is no row with %s%s (%" PRIu64 " in all)",
                         s.named, s.n_missing > s.n_named ? ", ..." : "", s.n_missing);
    *n_missing = s.n_missing;
    return batch_end(&s.found, status, out, error);
}
