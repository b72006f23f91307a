/* The rows of a store: in, out, and all of them to a set. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/shards.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_ROWS 1024

/* ---------------------------------------------------------------- batches of rows to a set */

void ef_found_free(ef_found *found) {
    for (size_t i = 0; i < found->n_texts; i++)
        ef_free(found->texts[i]);
    ef_free(found->texts);
    efface_data_free(found->data);
    *found = (ef_found){NULL, NULL, 0};
}

efface_status ef_batch_begin(ef_row_batch *b, const efface_store *store, const uint32_t *columns,
                             uint32_t n_columns, bool keeps_texts, efface_error *error) {
    *b = (ef_row_batch){.columns = columns,
                        .n_columns = columns != NULL ? n_columns : store->head.n_columns,
                        .keeps_texts = keeps_texts && store->head.keeps_texts};
    b->values = ef_alloc((size_t)BATCH_ROWS * b->n_columns, sizeof *b->values);
    b->ids = ef_alloc(BATCH_ROWS, sizeof *b->ids);
    b->owners = ef_alloc(BATCH_ROWS, sizeof *b->owners);
    b->weights = ef_alloc(BATCH_ROWS, sizeof *b->weights);
    b->labels = ef_alloc(BATCH_ROWS, sizeof *b->labels);
    if (b->values == NULL || b->ids == NULL || b->owners == NULL || b->weights == NULL ||
        b->labels == NULL)
        return ef_fail_memory(error);
    const efface_status status = efface_data_create(b->n_columns, &b->found.data, error);
    if (status != EFFACE_OK)
        return status;
    efface_data_allow_missing(b->found.data);
    return ef_store_give_offsets(store, columns, b->found.data, error);
}

/* A field that no row of a batch has is left out, so that a set without owners has no memory for
 * them. */
static efface_status flush(ef_row_batch *b, efface_error *error) {
    bool owned = false, labelled = false;
    for (size_t i = 0; i < b->n; i++) {
        owned |= b->owners[i] != EFFACE_NO_OWNER;
        labelled |= b->labels[i] != EFFACE_NO_LABEL;
    }
    const efface_rows rows = {.n_rows = b->n,
                              .values = b->values,
                              .ids = b->ids,
                              .weights = b->weights,
                              .owners = owned ? b->owners : NULL,
                              .labels = labelled ? b->labels : NULL};
    efface_status status = efface_data_add(b->found.data, &rows, error);
    if (status != EFFACE_OK && status != EFFACE_E_MEMORY)
        status = ef_store_corrupt(error, "a row has invalid values");
    b->n = 0;
    return status;
}

static efface_status keep_text(ef_row_batch *b, const char *text, efface_error *error) {
    ef_found *const found = &b->found;
    if ((found->n_texts & (found->n_texts - 1)) == 0) {
        char **const more =
            ef_realloc(found->texts, found->n_texts != 0 ? 2 * found->n_texts : 1, sizeof *more);
        if (more == NULL)
            return ef_fail_memory(error);
        found->texts = more;
    }
    char *copy = NULL;
    if (text != NULL) {
        copy = ef_alloc(strlen(text) + 1, 1);
        if (copy == NULL)
            return ef_fail_memory(error);
        memcpy(copy, text, strlen(text) + 1);
    }
    found->texts[found->n_texts++] = copy;
    return EFFACE_OK;
}

efface_status ef_batch_add(ef_row_batch *b, const ef_stored_row *row, efface_error *error) {
    float *const values = b->values + b->n * b->n_columns;
    for (uint32_t j = 0; j < b->n_columns; j++) {
        const unsigned char *const bytes =
            row->values + 4 * (size_t)(b->columns != NULL ? b->columns[j] : j);
        ef_decoder reader = {.bytes = bytes, .n_bytes = 4};
        values[j] = ef_read_f32(&reader);
        /* A row that leaves is taken out of sums by the bytes that a set has of it. */
        ef_decoder again = {.bytes = bytes, .n_bytes = 4};
        if (values[j] != values[j] && ef_read_u32(&again) != EF_MISSING_BITS)
            return ef_store_corrupt(error, "a row has invalid values");
    }
    b->ids[b->n] = row->row.id;
    b->owners[b->n] = row->row.owner;
    b->weights[b->n] = row->row.weight;
    b->labels[b->n] = row->row.label;
    const efface_status status = b->keeps_texts ? keep_text(b, row->text, error) : EFFACE_OK;
    if (status != EFFACE_OK)
        return status;
    b->n++;
    return b->n == BATCH_ROWS ? flush(b, error) : EFFACE_OK;
}

efface_status ef_batch_end(ef_row_batch *b, const efface_store *store, efface_status status,
                           ef_found *out, efface_error *error) {
    if (status == EFFACE_OK && b->n != 0)
        status = flush(b, error);
    for (uint32_t j = 0; status == EFFACE_OK && store->names != NULL && j < b->n_columns; j++)
        status = efface_data_name_column(
            b->found.data, j, store->names[b->columns != NULL ? b->columns[j] : j], error);
    if (status == EFFACE_OK)
        *out = b->found;
    else
        ef_found_free(&b->found);
    ef_free(b->values);
    ef_free(b->ids);
    ef_free(b->owners);
    ef_free(b->weights);
    ef_free(b->labels);
    return status;
}

/* ---------------------------------------------------------------- in and out */

efface_status ef_row_read(efface_store *store, sqlite3_stmt *statement, ef_stored_row *row,
                          uint64_t *bucket, efface_error *error) {
    if (!ef_sql_has(statement, "iininub"))
        return ef_store_corrupt(error, "a row has values of the wrong kind");
    const ef_decoder values = ef_sql_bytes(statement, 6);
    if (values.n_bytes != (size_t)store->head.n_columns * 4)
        return ef_store_corrupt(error, "a row has the wrong number of values");
    *row = (ef_stored_row){
        .row = {.id = (uint64_t)sqlite3_column_int64(statement, 1),
                .owner = EFFACE_NO_OWNER,
                .weight = sqlite3_column_int64(statement, 3),
                .label = EFFACE_NO_LABEL},
        .values = values.bytes,
    };
    const efface_status status = ef_sql_text(store, statement, 5, &row->text, error);
    if (status != EFFACE_OK)
        return status;
    if (sqlite3_column_type(statement, 2) != SQLITE_NULL)
        row->row.owner = (uint64_t)sqlite3_column_int64(statement, 2);
    if (sqlite3_column_type(statement, 4) != SQLITE_NULL)
        row->row.label = sqlite3_column_int64(statement, 4);
    *bucket = (uint64_t)sqlite3_column_int64(statement, 0);
    return *bucket == ef_bucket_of(&store->head, row->row.id)
               ? EFFACE_OK
               : ef_store_corrupt(error, "a row is in the wrong bucket");
}

static void write_values(const float *values, uint32_t n, unsigned char *bytes) {
    for (uint32_t j = 0; j < n; j++) {
        uint32_t bits;
        memcpy(&bits, &values[j], sizeof bits);
        for (int b = 0; b < 4; b++)
            bytes[4 * (size_t)j + (size_t)b] = (unsigned char)(bits >> (8 * b));
    }
}

/* Where a row of a set goes. */
typedef struct place {
    uint64_t bucket, id;
    size_t position;
} place;

static int compare_places(const void *a, const void *b) {
    const place *const x = a, *const y = b;
    if (x->bucket != y->bucket)
        return x->bucket > y->bucket ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* What changes with rows that come or leave. */
typedef struct ledger {
    ef_bucket_change *buckets;
    size_t n_buckets;
    ef_member *members;
    size_t n_members;
} ledger;

static bool ledger_begin(ledger *l, size_t n_rows) {
    *l = (ledger){.buckets = ef_alloc(n_rows, sizeof *l->buckets)};
    size_t n_members;
    if (ef_mul_size(n_rows, EF_GROUP_KINDS, &n_members))
        l->members = ef_alloc(n_members, sizeof *l->members);
    return l->buckets != NULL && l->members != NULL;
}

static void ledger_end(ledger *l) {
    ef_free(l->buckets);
    ef_free(l->members);
}

static void ledger_add(ledger *l, efface_store *store, const ef_stored_row *row, bool leaves,
                       const efface_texts *texts) {
    ef_head *const head = &store->head;
    const efface_row *const r = &row->row;
    const ef_u128 seal = ef_seal_row(head, row);
    l->buckets[l->n_buckets++] = (ef_bucket_change){.bucket = ef_bucket_of(head, r->id),
                                                    .n_rows = leaves ? -1 : 1,
                                                    .sum = leaves ? -seal : seal};
    if (r->owner != EFFACE_NO_OWNER)
        l->members[l->n_members++] = (ef_member){
            .kind = EF_GROUP_OWNER,
            .leaves = leaves,
            .number = r->owner,
            .id = r->id,
            .text =
                head->keeps_texts ? efface_texts_find(texts, EFFACE_TEXT_OWNER, r->owner) : NULL};
    else
        head->n_unowned += leaves ? UINT64_MAX : 1;
    if (r->label != EFFACE_NO_LABEL)
        l->members[l->n_members++] =
            (ef_member){.kind = EF_GROUP_LABEL,
                        .leaves = leaves,
                        .number = (uint64_t)r->label,
                        .id = r->id,
                        .text = efface_texts_find(texts, EFFACE_TEXT_LABEL, (uint64_t)r->label)};
    head->total_weight += leaves ? -r->weight : r->weight;
}

static efface_status ledger_apply(ledger *l, efface_store *store, efface_error *error) {
    const efface_status status = ef_buckets_change(store, l->buckets, l->n_buckets, error);
    return status == EFFACE_OK ? ef_groups_change(store, l->members, l->n_members, error) : status;
}

static efface_status insert_row(efface_store *store, sqlite3_stmt *statement, uint64_t bucket,
                                const ef_stored_row *row, efface_error *error) {
    const efface_row *const r = &row->row;
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)bucket);
    (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)r->id);
    if (r->owner != EFFACE_NO_OWNER)
        (void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)r->owner);
    else
        (void)sqlite3_bind_null(statement, 3);
    (void)sqlite3_bind_int64(statement, 4, r->weight);
    if (r->label != EFFACE_NO_LABEL)
        (void)sqlite3_bind_int64(statement, 5, r->label);
    else
        (void)sqlite3_bind_null(statement, 5);
    ef_sql_bind_text(statement, 6, row->text);
    ef_sql_bind_bytes(statement, 7, row->values, (size_t)store->head.n_columns * 4);
    const efface_status status = ef_sql_do(store, statement, error);
    return status == EFFACE_E_DUPLICATE
               ? ef_fail(error, status, "a row with the id %" PRIu64 " exists already", r->id)
               : status;
}

efface_status ef_rows_insert(efface_store *store, const efface_data *data, const uint64_t *ids,
                             const efface_texts *texts, efface_error *error) {
    const uint32_t d = data->n_columns;
    const size_t n = data->n_rows;
    sqlite3_stmt *statement = NULL;
    ledger l;
    float *const values = ef_alloc(d, sizeof *values);
    unsigned char *const bytes = ef_alloc(d, 4);
    place *const places = ef_alloc(n, sizeof *places);
    efface_status status = ledger_begin(&l, n) && values != NULL && bytes != NULL && places != NULL
                               ? EFFACE_OK
                               : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        const uint64_t id = ids != NULL ? ids[i] : ef_data_id(data, i);
        places[i] = (place){ef_bucket_of(&store->head, id), id, i};
    }
    /* In the order of the tree, which is faster and leaves pages full. */
    if (status == EFFACE_OK && n != 0)
        qsort(places, n, sizeof *places, compare_places);
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store,
                                "INSERT INTO rows(" EF_ROW_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)",
                                &statement, error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        ef_stored_row row = {.row = efface_data_row(data, places[i].position), .values = bytes};
        row.row.id = places[i].id;
        if (store->head.keeps_texts)
            row.text = efface_texts_find(texts, EFFACE_TEXT_ID, row.row.id);
        efface_data_values(data, places[i].position, values);
        write_values(values, d, bytes);
        ledger_add(&l, store, &row, false, texts);
        status = insert_row(store, statement, places[i].bucket, &row, error);
        if (status == EFFACE_OK && i % BATCH_ROWS == 0)
            status = ef_store_progress(store, i, n, error);
    }
    if (status == EFFACE_OK)
        status = ledger_apply(&l, store, error);
    (void)sqlite3_finalize(statement);
    ledger_end(&l);
    ef_free(values);
    ef_free(bytes);
    ef_free(places);
    return status;
}

efface_status ef_rows_delete(efface_store *store, const ef_found *rows, efface_error *error) {
    const efface_data *const data = rows->data;
    sqlite3_stmt *statement = NULL;
    ledger l;
    float *const values = ef_alloc(data->n_columns, sizeof *values);
    unsigned char *const bytes = ef_alloc(data->n_columns, 4);
    efface_status status = ledger_begin(&l, data->n_rows) && values != NULL && bytes != NULL
                               ? EFFACE_OK
                               : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store, "DELETE FROM rows WHERE bucket = ? AND id = ?", &statement,
                                error);
    for (size_t i = 0; status == EFFACE_OK && i < data->n_rows; i++) {
        const ef_stored_row row = {.row = efface_data_row(data, i),
                                   .text = rows->texts != NULL ? rows->texts[i] : NULL,
                                   .values = bytes};
        efface_data_values(data, i, values);
        write_values(values, data->n_columns, bytes);
        ledger_add(&l, store, &row, true, NULL);
        (void)sqlite3_bind_int64(statement, 1,
                                 (sqlite3_int64)ef_bucket_of(&store->head, row.row.id));
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)row.row.id);
        status = ef_sql_do(store, statement, error);
        if (status == EFFACE_OK && sqlite3_changes(store->db) != 1)
            status = ef_store_corrupt(error, "a row cannot be removed");
    }
    if (status == EFFACE_OK)
        status = ledger_apply(&l, store, error);
    (void)sqlite3_finalize(statement);
    ledger_end(&l);
    ef_free(values);
    ef_free(bytes);
    return status;
}

efface_status ef_rows_replace(efface_store *store, const ef_found *old, const efface_data *data,
                              const efface_texts *texts, efface_error *error) {
    const uint32_t d = data->n_columns;
    sqlite3_stmt *statement = NULL;
    ledger l;
    size_t n_changes;
    float *const values = ef_alloc(d, sizeof *values);
    unsigned char *const bytes = ef_alloc(d, 4);
    efface_status status = ef_mul_size(data->n_rows, 2, &n_changes) &&
                                   ledger_begin(&l, n_changes) && values != NULL && bytes != NULL
                               ? EFFACE_OK
                               : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store,
                                "UPDATE rows SET owner = ?3, weight = ?4, class = ?5, text = ?6,"
                                " vals = ?7 WHERE bucket = ?1 AND id = ?2",
                                &statement, error);
    for (size_t i = 0; status == EFFACE_OK && i < data->n_rows; i++) {
        ef_stored_row row = {.row = efface_data_row(old->data, i),
                             .text = old->texts != NULL ? old->texts[i] : NULL,
                             .values = bytes};
        efface_data_values(old->data, i, values);
        write_values(values, d, bytes);
        ledger_add(&l, store, &row, true, NULL);
        row.row = efface_data_row(data, i);
        efface_data_values(data, i, values);
        write_values(values, d, bytes);
        ledger_add(&l, store, &row, false, texts);
        status = insert_row(store, statement, ef_bucket_of(&store->head, row.row.id), &row, error);
        if (status == EFFACE_OK && sqlite3_changes(store->db) != 1)
            status = ef_store_corrupt(error, "a row cannot be changed");
    }
    if (status == EFFACE_OK)
        status = ledger_apply(&l, store, error);
    (void)sqlite3_finalize(statement);
    ledger_end(&l);
    ef_free(values);
    ef_free(bytes);
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
    float *const values = ef_alloc(BATCH_ROWS * d, sizeof *values);
    uint64_t *const ids = ef_alloc(BATCH_ROWS, sizeof *ids);
    int64_t *const weights = ef_alloc(BATCH_ROWS, sizeof *weights);
    efface_status status = all != NULL && values != NULL && ids != NULL && weights != NULL
                               ? efface_data_create((uint32_t)d, &copy, error)
                               : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = ef_data_reserve(copy, data->n_rows, error);
    if (status == EFFACE_OK && data->allows_missing)
        efface_data_allow_missing(copy);
    for (size_t first = 0; status == EFFACE_OK && first < data->n_rows; first += BATCH_ROWS) {
        const size_t left = data->n_rows - first, n = left < BATCH_ROWS ? left : BATCH_ROWS;
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
static efface_status load_all(efface_store *store, sqlite3_stmt *rows, sqlite3_stmt *buckets,
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
            if (status == EFFACE_OK)
                status = ef_sql_step(store, rows, &row, error);
            if (status == EFFACE_OK && row)
                status = ef_row_read(store, rows, &found, &bucket, error);
        }
        if (status == EFFACE_OK)
            status = next_bucket(store, buckets, b, &should, error);
        if (status == EFFACE_OK && (is.n_rows != should.n_rows || is.sum != should.sum))
            status = ef_store_corrupt(error, "rows do not match their checksum");
        n_rows += is.n_rows;
        sum += is.sum;
        if (kept != NULL)
            kept[b] = is;
        if (status == EFFACE_OK && b % 32 == 0)
            status = ef_store_progress(store, b, n_buckets, error);
    }
    if (status == EFFACE_OK && (row || n_rows != store->head.n_rows || sum != store->head.rows_sum))
        status = ef_store_corrupt(error, "its rows do not match their checksum");
    return status;
}

/* `kept`, unless it is NULL, has room for all buckets. */
static efface_status load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                          bool with_texts, ef_found *found, ef_bucket *kept, efface_error *error) {
    sqlite3_stmt *rows = NULL, *sums = NULL;
    ef_row_batch batch;
    efface_status status = ef_batch_begin(&batch, store, columns, n_columns, with_texts, error);
    /* In a damaged store this number may be far too large. */
    if (status == EFFACE_OK)
        (void)ef_data_reserve(batch.found.data, (size_t)store->head.n_rows, NULL);
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store, "SELECT " EF_ROW_COLUMNS " FROM rows ORDER BY bucket, id",
                                &rows, error);
    if (status == EFFACE_OK)
        status = ef_sql_prepare(store, "SELECT number, n_rows, sum FROM buckets ORDER BY number",
                                &sums, error);
    if (status == EFFACE_OK)
        status = load_all(store, rows, sums, &batch, kept, error);
    (void)sqlite3_finalize(rows);
    (void)sqlite3_finalize(sums);
    return ef_batch_end(&batch, store, status, found, error);
}

efface_status ef_rows_load_texts(efface_store *store, ef_found *found, efface_error *error) {
    return load(store, NULL, 0, true, found, NULL, error);
}

efface_status ef_rows_load(efface_store *store, const uint32_t *columns, uint32_t n_columns,
                           efface_data **out, ef_bucket **buckets, efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    ef_bucket *const kept =
        buckets != NULL ? ef_alloc((size_t)ef_buckets(&store->head), sizeof *kept) : NULL;
    if (buckets != NULL && kept == NULL)
        return ef_fail_memory(error);
    const efface_status status = load(store, columns, n_columns, false, &found, kept, error);
    if (status != EFFACE_OK) {
        ef_free(kept);
        return status;
    }
    *out = found.data;
    if (buckets != NULL)
        *buckets = kept;
    return EFFACE_OK;
}
