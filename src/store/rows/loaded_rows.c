/* All rows of a file as a set, and rows from set to set. */
#include "store/rows/stored_rows.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/shards.h"
#include "store/file/transactions.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

/* ---------------------------------------------------------------- all rows */

/* Reads the next bucket, which must be the one with this number. */
static efface_status next_bucket(efface_store *store, sqlite3_stmt *statement, uint64_t number,
                                 ef_bucket *bucket, efface_error *error) {
    bool row = false;
    const efface_status status = ef_sql_step(store, statement, &row, error);
    if (status != EFFACE_OK)
        return status;
    if (!row || !ef_sql_has(statement, "iib") ||
        (uint64_t)sqlite3_column_int64(statement, 0) != number ||
        !ef_sql_read_sum(statement, 2, &bucket->sum))
        return ef_store_corrupt(error, "a bucket of rows is invalid");
    bucket->n_rows = (uint64_t)sqlite3_column_int64(statement, 1);
    return EFFACE_OK;
}

/* Rows and buckets side by side; every bucket must be what its rows are. */
static efface_status load_buckets(efface_store *store, sqlite3_stmt *rows, sqlite3_stmt *buckets,
                                  ef_row_batch *batch, ef_bucket *kept, efface_error *error) {
    const uint64_t n_buckets = ef_buckets(&store->head);
    uint64_t n_rows = 0;
    ef_u128 sum = 0;
    bool row = true;
    ef_stored_row found;
    uint64_t bucket = 0;
    efface_status status = ef_sql_step(store, rows, &row, error);
    if (status == EFFACE_OK && row)
        status = ef_row_read(store, rows, &found, &bucket, error);
    for (uint64_t b = 0; status == EFFACE_OK && b < n_buckets; b++) {
        ef_bucket is = {0}, should = {0};
        while (status == EFFACE_OK && row && bucket == b) {
            is.n_rows++;
            is.sum += ef_seal_row(&store->head, &found);
            status = ef_batch_add(batch, &found, error);
            EF_THEN(status, ef_sql_step(store, rows, &row, error));
            if (status == EFFACE_OK && row)
                status = ef_row_read(store, rows, &found, &bucket, error);
        }
        EF_THEN(status, next_bucket(store, buckets, b, &should, error));
        if (status == EFFACE_OK && (is.n_rows != should.n_rows || is.sum != should.sum))
            status = ef_store_corrupt(error, "rows do not match their checksum");
        n_rows += is.n_rows;
        sum += is.sum;
        if (kept != NULL)
            kept[b] = is;
        if (status == EFFACE_OK && b % 32 == 0)
            status = ef_store_progress(store, EFFACE_PHASE_READING, b, n_buckets, error);
    }
    if (status == EFFACE_OK && (row || n_rows != store->head.n_rows || sum != store->head.rows_sum))
        status = ef_store_corrupt(error, "its rows do not match their checksum");
    return status;
}

/* `kept`, unless it is NULL, has room for all buckets. */
static efface_status load_rows(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                               bool with_texts, ef_found *found, ef_bucket *kept,
                               efface_error *error) {
    sqlite3_stmt *rows = NULL, *sums = NULL;
    ef_row_batch batch;
    efface_status status = ef_batch_begin(&batch, store, columns, n_columns, with_texts, error);
    /* In a damaged store this number may be far too large. */
    if (status == EFFACE_OK)
        (void)ef_data_reserve(batch.found.data, (size_t)store->head.n_rows, NULL);
    EF_THEN(status, ef_sql_prepare(store, "SELECT " EF_ROW_COLUMNS " FROM rows ORDER BY bucket, id",
                                   &rows, error));
    EF_THEN(status, ef_sql_prepare(store, "SELECT number, n_rows, sum FROM buckets ORDER BY number",
                                   &sums, error));
    EF_THEN(status, load_buckets(store, rows, sums, &batch, kept, error));
    (void)sqlite3_finalize(rows);
    (void)sqlite3_finalize(sums);
    return ef_batch_end(&batch, store, status, found, error);
}

efface_status ef_rows_load_texts(efface_store *store, ef_found *found, efface_error *error) {
    return load_rows(store, NULL, 0, true, found, NULL, error);
}

efface_status ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, ef_bucket **buckets, efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    ef_bucket *const kept =
        buckets != NULL ? ef_alloc((size_t)ef_buckets(&store->head), sizeof *kept) : NULL;
    if (buckets != NULL && kept == NULL)
        return ef_fail_memory(error);
    const efface_status status = load_rows(store, columns, n_columns, false, &found, kept, error);
    if (status != EFFACE_OK) {
        ef_free(kept);
        return status;
    }
    *out = found.data;
    if (buckets != NULL)
        *buckets = kept;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- from set to set */

void ef_given_free(ef_given *given) {
    ef_free(given->values);
    ef_free(given->ids);
    ef_free(given->weights);
    ef_free(given->labels);
    *given = (ef_given){.values = NULL};
}

efface_status ef_given_make(ef_given *given, const efface_data *data, const uint64_t *ids,
                            const uint32_t *columns, uint32_t n_columns, efface_error *error) {
    const size_t n = data->n_rows, d = columns != NULL ? n_columns : data->n_columns;
    size_t n_values;
    float *const all = ef_alloc(data->n_columns, sizeof *all);
    *given = (ef_given){.values = NULL};
    given->values = ef_mul_size(n, d, &n_values) ? ef_alloc(n_values, sizeof *given->values) : NULL;
    given->ids = ef_alloc(n, sizeof *given->ids);
    given->weights = ef_alloc(n, sizeof *given->weights);
    given->labels = data->labels != NULL ? ef_alloc(n, sizeof *given->labels) : NULL;
    if (all == NULL || given->values == NULL || given->ids == NULL || given->weights == NULL ||
        (data->labels != NULL && given->labels == NULL)) {
        ef_free(all);
        ef_given_free(given);
        return ef_fail_memory(error);
    }
    for (size_t i = 0; i < n; i++) {
        efface_data_values(data, i, all);
        for (size_t j = 0; j < d; j++)
            given->values[i * d + j] = all[columns != NULL ? columns[j] : j];
        given->ids[i] = ids != NULL ? ids[i] : ef_data_id(data, i);
        given->weights[i] = ef_data_weight(data, i);
        if (data->labels != NULL)
            given->labels[i] = data->labels[i];
    }
    ef_free(all);
    given->rows = (efface_rows){.n_rows = n,
                                .values = given->values,
                                .ids = given->ids,
                                .weights = given->weights,
                                .labels = given->labels};
    return EFFACE_OK;
}

efface_status ef_rows_copy(const efface_data *data, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, efface_error *error) {
    const size_t d = columns != NULL ? n_columns : data->n_columns;
    efface_data *copy = NULL;
    float *const all = ef_alloc(data->n_columns, sizeof *all);
    float *const values = ef_alloc(EF_BATCH_ROWS * d, sizeof *values);
    uint64_t *const ids = ef_alloc(EF_BATCH_ROWS, sizeof *ids);
    int64_t *const weights = ef_alloc(EF_BATCH_ROWS, sizeof *weights);
    efface_status status = all != NULL && values != NULL && ids != NULL && weights != NULL
                               ? efface_data_create((uint32_t)d, &copy, error)
                               : ef_fail_memory(error);
    EF_THEN(status, ef_data_reserve(copy, data->n_rows, error));
    if (status == EFFACE_OK && data->allows_missing)
        efface_data_allow_missing(copy);
    for (size_t first = 0; status == EFFACE_OK && first < data->n_rows; first += EF_BATCH_ROWS) {
        const size_t left = data->n_rows - first, n = left < EF_BATCH_ROWS ? left : EF_BATCH_ROWS;
        for (size_t i = 0; i < n; i++) {
            efface_data_values(data, first + i, all);
            for (size_t j = 0; j < d; j++)
                values[i * d + j] = all[columns != NULL ? columns[j] : j];
            ids[i] = ef_data_id(data, first + i);
            weights[i] = ef_data_weight(data, first + i);
        }
        const efface_rows rows = {.n_rows = n,
                                  .values = values,
                                  .ids = ids,
                                  .weights = weights,
                                  .labels = data->labels != NULL ? data->labels + first : NULL};
        status = efface_data_add(copy, &rows, error);
    }
    for (uint32_t j = 0; status == EFFACE_OK && j < d; j++)
        status = efface_data_name_column(
            copy, j, efface_data_column_name(data, columns != NULL ? columns[j] : j), error);
    if (status == EFFACE_OK && data->part != NULL)
        status = ef_shard_make(copy, data, error);
    ef_free(all);
    ef_free(values);
    ef_free(ids);
    ef_free(weights);
    if (status == EFFACE_OK)
        *out = copy;
    else
        efface_data_free(copy);
    return status;
}
