/*
 * All rows of a file as a set, and rows from set to set.
 *
 * Rows are read block by block. While one thread has SQLite read the next block, another adds up the
 * seals of the last one and takes its rows into the set.
 */
#include "store/rows/stored_rows.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/workers/cpu.h"
#include "base/workers/threads.h"
#include "data/set/shards.h"
#include "store/file/transactions.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

/* ---------------------------------------------------------------- blocks of rows */

#define BLOCK_ROWS 4096
#define BLOCK_BYTES ((size_t)256 << 10) /* of values, at most, unless rows are very long */

/* Rows as they stand in the file: one thread reads the next while another verifies these. */
typedef struct block {
    size_t n, room;
    uint64_t *buckets;
    efface_row *rows;
    char **texts;
    unsigned char *values;
} block;

static bool block_begin(block *b, uint32_t n_columns) {
    const size_t row_bytes = 4 * (size_t)n_columns, most = BLOCK_BYTES / row_bytes;
    const size_t room = most > BLOCK_ROWS ? BLOCK_ROWS : most < 16 ? 16 : most;
    *b = (block){.room = room,
                 .buckets = ef_alloc(room, sizeof *b->buckets),
                 .rows = ef_alloc(room, sizeof *b->rows),
                 .texts = ef_alloc_zero(room, sizeof *b->texts),
                 .values = ef_alloc(room, row_bytes)};
    return b->buckets != NULL && b->rows != NULL && b->texts != NULL && b->values != NULL;
}

static void block_empty(block *b) {
    for (size_t i = 0; i < b->n; i++) {
        ef_free(b->texts[i]);
        b->texts[i] = NULL;
    }
    b->n = 0;
}

static void block_end(block *b) {
    block_empty(b);
    ef_free(b->buckets);
    ef_free(b->rows);
    ef_free(b->texts);
    ef_free(b->values);
}

/* All rows on their way into a set. */
typedef struct loading {
    efface_store *store;
    sqlite3_stmt *rows;
    bool more; /* rows to be read */
    block blocks[2];
    unsigned next; /* the block that is verified next; the other one is filled */
    ef_row_batch batch;
    ef_bucket *buckets, now; /* as they should be; and what was found of the one at `bucket` */
    uint64_t bucket, n_buckets, n_rows;
    ef_u128 sum;
    efface_status statuses[2]; /* of verifying, and of reading */
    efface_error errors[2];
} loading;

/* Reads rows into a block, until it is full or none is left. */
static efface_status fill_block(loading *l, block *b, efface_error *error) {
    const size_t row_bytes = 4 * (size_t)l->store->head.n_columns;
    efface_status status = EFFACE_OK;
    while (l->more && b->n < b->room) {
        ef_stored_row found;
        status = ef_sql_step(l->store, l->rows, &l->more, error);
        if (status == EFFACE_OK && l->more)
            status = ef_row_read(l->store, l->rows, &found, &b->buckets[b->n], error);
        if (status != EFFACE_OK || !l->more)
            break;
        b->rows[b->n] = found.row;
        memcpy(b->values + b->n * row_bytes, found.values, row_bytes);
        b->n++;
        if (found.text == NULL)
            continue;
        char *const text = b->texts[b->n - 1] = ef_alloc(strlen(found.text) + 1, 1);
        if (text == NULL)
            return ef_fail_memory(error);
        memcpy(text, found.text, strlen(found.text) + 1);
    }
    return status;
}

/* Goes on to a bucket; those before it must be what their rows are. */
static efface_status go_to_bucket(loading *l, uint64_t bucket, efface_error *error) {
    for (; l->bucket < bucket; l->bucket++) {
        const ef_bucket *const should = &l->buckets[l->bucket];
        if (l->now.n_rows != should->n_rows || l->now.sum != should->sum)
            return ef_store_corrupt(error, "rows do not match their checksum");
        l->n_rows += l->now.n_rows;
        l->sum += l->now.sum;
        l->now = (ef_bucket){0};
    }
    return EFFACE_OK;
}

/* Takes the rows of a block into the set. */
static efface_status take_in_block(loading *l, block *b, efface_error *error) {
    const ef_head *const head = &l->store->head;
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < b->n; i++) {
        const ef_stored_row row = {.row = b->rows[i],
                                   .text = b->texts[i],
                                   .values = b->values + i * 4 * (size_t)head->n_columns};
        if (b->buckets[i] < l->bucket || b->buckets[i] >= l->n_buckets)
            return ef_store_corrupt(error, "a row is in the wrong bucket");
        status = go_to_bucket(l, b->buckets[i], error);
        l->now.n_rows++;
        l->now.sum += ef_seal_row(head, &row);
        EF_THEN(status, ef_batch_add(&l->batch, &row, error));
    }
    block_empty(b);
    return status;
}

/* Item 0 is the block that was read, item 1 the one that comes. */
static void work_on_both(void *context, unsigned worker, size_t first, size_t last) {
    loading *const l = context;
    (void)worker;
    for (size_t i = first; i < last; i++)
        l->statuses[i] = i == 0 ? take_in_block(l, &l->blocks[l->next], &l->errors[0])
                                : fill_block(l, &l->blocks[1 - l->next], &l->errors[1]);
}

/* ---------------------------------------------------------------- all rows */

/* Reads all buckets as they should be. */
static efface_status read_buckets(efface_store *store, ef_bucket *buckets, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status = ef_sql_prepare(
        store, "SELECT number, n_rows, sum FROM buckets ORDER BY number", &statement, error);
    for (uint64_t b = 0; status == EFFACE_OK && b < ef_buckets(&store->head); b++) {
        bool row = false;
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK)
            break;
        if (!row || !ef_sql_has(statement, "iib") ||
            (uint64_t)sqlite3_column_int64(statement, 0) != b ||
            !ef_sql_read_sum(statement, 2, &buckets[b].sum))
            status = ef_store_corrupt(error, "a bucket of rows is invalid");
        else
            buckets[b].n_rows = (uint64_t)sqlite3_column_int64(statement, 1);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* Reads and verifies block after block, on two threads if there are many rows. */
static efface_status load_blocks(loading *l, efface_error *error) {
    const uint64_t n_rows = l->store->head.n_rows;
    ef_pool *const pool = ef_pool_create(n_rows > 2 * BLOCK_ROWS && ef_cpu_count() > 1 ? 2 : 1);
    efface_status status = pool != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, fill_block(l, &l->blocks[0], error));
    while (status == EFFACE_OK && l->blocks[l->next].n != 0) {
        ef_pool_run(pool, 2, 1, work_on_both, l);
        for (unsigned i = 0; status == EFFACE_OK && i < 2; i++) {
            status = l->statuses[i];
            if (status != EFFACE_OK && error != NULL)
                *error = l->errors[i];
        }
        l->next = 1 - l->next;
        EF_THEN(status,
                ef_store_progress(l->store, EFFACE_PHASE_READING, l->n_rows, n_rows, error));
    }
    ef_pool_free(pool);
    EF_THEN(status, go_to_bucket(l, l->n_buckets, error));
    return status == EFFACE_OK && (l->n_rows != n_rows || l->sum != l->store->head.rows_sum)
               ? ef_store_corrupt(error, "its rows do not match their checksum")
               : status;
}

/* `kept`, unless it is NULL, is handed all buckets. */
static efface_status load_rows(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                               bool with_texts, ef_found *found, ef_bucket **kept,
                               efface_error *error) {
    loading *const l = ef_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return ef_fail_memory(error);
    l->store = store;
    l->more = true;
    l->n_buckets = ef_buckets(&store->head);
    l->buckets = ef_alloc((size_t)l->n_buckets, sizeof *l->buckets);
    bool room = block_begin(&l->blocks[0], store->head.n_columns);
    room = block_begin(&l->blocks[1], store->head.n_columns) && room;
    efface_status status = ef_batch_begin(&l->batch, store, columns, n_columns, with_texts, error);
    if (status == EFFACE_OK && (!room || l->buckets == NULL))
        status = ef_fail_memory(error);
    /* In a damaged store this number may be far too large. */
    if (status == EFFACE_OK)
        (void)ef_data_reserve(l->batch.found.data, (size_t)store->head.n_rows, NULL);
    EF_THEN(status, ef_sql_prepare(store, "SELECT " EF_ROW_COLUMNS " FROM rows ORDER BY bucket, id",
                                   &l->rows, error));
    EF_THEN(status, read_buckets(store, l->buckets, error));
    EF_THEN(status, load_blocks(l, error));
    (void)sqlite3_finalize(l->rows);
    status = ef_batch_end(&l->batch, store, status, found, error);
    if (status == EFFACE_OK && kept != NULL) {
        *kept = l->buckets;
        l->buckets = NULL;
    }
    ef_free(l->buckets);
    block_end(&l->blocks[0]);
    block_end(&l->blocks[1]);
    ef_free(l);
    return status;
}

efface_status ef_rows_load_texts(efface_store *store, ef_found *found, efface_error *error) {
    return load_rows(store, NULL, 0, true, found, NULL, error);
}

efface_status ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, ef_bucket **buckets, efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    const efface_status status =
        load_rows(store, columns, n_columns, false, &found, buckets, error);
    if (status == EFFACE_OK)
        *out = found.data;
    return status;
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
