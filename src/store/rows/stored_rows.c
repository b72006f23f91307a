/* Rows come to the file, change there, or leave it; buckets, groups and head follow. */
#include "store/rows/stored_rows.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"
#include "store/file/transactions.h"
#include "store/seals/owners_and_labels.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

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
    if (ef_mul_size(n_rows, EF_MEMBER_KINDS, &n_members))
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
        l->members[l->n_members++] =
            (ef_member){.kind = EF_MEMBER_OWNER,
                        .leaves = leaves,
                        .number = r->owner,
                        .id = r->id,
                        .text = efface_texts_find(texts, EFFACE_TEXT_OWNER, r->owner)};
    else
        head->n_unowned += leaves ? UINT64_MAX : 1;
    if (r->label != EFFACE_NO_LABEL)
        l->members[l->n_members++] =
            (ef_member){.kind = EF_MEMBER_LABEL,
                        .leaves = leaves,
                        .number = (uint64_t)r->label,
                        .id = r->id,
                        .text = efface_texts_find(texts, EFFACE_TEXT_LABEL, (uint64_t)r->label)};
    head->total_weight += leaves ? -r->weight : r->weight;
}

static efface_status ledger_apply(ledger *l, efface_store *store, efface_error *error) {
    const efface_status status = ef_buckets_change(store, l->buckets, l->n_buckets, error);
    return status == EFFACE_OK ? ef_member_sets_change(store, l->members, l->n_members, error)
                               : status;
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
    EF_THEN(status, ef_sql_prepare(
                        store, "INSERT INTO rows(" EF_ROW_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)",
                        &statement, error));
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        ef_stored_row row = {.row = efface_data_row(data, places[i].position), .values = bytes};
        char mark[EF_MARK_BYTES];
        row.row.id = places[i].id;
        row.text =
            ef_kept_text(&store->head, efface_texts_find(texts, EFFACE_TEXT_ID, row.row.id), mark);
        efface_data_values(data, places[i].position, values);
        write_values(values, d, bytes);
        ledger_add(&l, store, &row, false, texts);
        status = insert_row(store, statement, places[i].bucket, &row, error);
        if (status == EFFACE_OK && i % EF_BATCH_ROWS == 0)
            status = ef_store_progress(store, EFFACE_PHASE_WRITING, i, n, error);
    }
    EF_THEN(status, ledger_apply(&l, store, error));
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
    EF_THEN(status, ef_sql_prepare(store, "DELETE FROM rows WHERE bucket = ? AND id = ?",
                                   &statement, error));
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
    EF_THEN(status, ledger_apply(&l, store, error));
    (void)sqlite3_finalize(statement);
    ledger_end(&l);
    ef_free(values);
    ef_free(bytes);
    return status;
}

/* The row may have come under another text with the number of this one. */
static efface_status check_text(const efface_store *store, const ef_stored_row *row,
                                const efface_texts *texts, efface_error *error) {
    char mark[EF_MARK_BYTES];
    const char *const comes = efface_texts_find(texts, EFFACE_TEXT_ID, row->row.id);
    return ef_refuse_other_text(row->text, ef_kept_text(&store->head, comes, mark), "an id", error);
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
    EF_THEN(status, ef_sql_prepare(store,
                                   "UPDATE rows SET owner = ?3, weight = ?4, class = ?5, text = ?6,"
                                   " vals = ?7 WHERE bucket = ?1 AND id = ?2",
                                   &statement, error));
    for (size_t i = 0; status == EFFACE_OK && i < data->n_rows; i++) {
        ef_stored_row row = {.row = efface_data_row(old->data, i),
                             .text = old->texts != NULL ? old->texts[i] : NULL,
                             .values = bytes};
        efface_data_values(old->data, i, values);
        write_values(values, d, bytes);
        ledger_add(&l, store, &row, true, NULL);
        row.row = efface_data_row(data, i);
        status = check_text(store, &row, texts, error);
        if (status != EFFACE_OK)
            break;
        efface_data_values(data, i, values);
        write_values(values, d, bytes);
        ledger_add(&l, store, &row, false, texts);
        status = insert_row(store, statement, ef_bucket_of(&store->head, row.row.id), &row, error);
        if (status == EFFACE_OK && sqlite3_changes(store->db) != 1)
            status = ef_store_corrupt(error, "a row cannot be changed");
    }
    EF_THEN(status, ledger_apply(&l, store, error));
    (void)sqlite3_finalize(statement);
    ledger_end(&l);
    ef_free(values);
    ef_free(bytes);
    return status;
}
