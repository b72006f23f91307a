/* The buckets of rows: counts and sums of seals that requests verify rows against (seals.c). */
#include "store/rows/buckets.h"

#include "base/errors/status.h"
#include "store/rows/stored_rows.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <stdlib.h>

#define FULL 4 /* times the rows that buckets were chosen for */

static efface_status insert_bucket(efface_store *store, sqlite3_stmt *statement, uint64_t number,
                                   const ef_bucket *bucket, efface_error *error) {
    unsigned char sum[16];
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)number);
    (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)bucket->n_rows);
    ef_sql_bind_sum(statement, 3, bucket->sum, sum);
    return ef_sql_do(store, statement, error);
}

efface_status ef_buckets_make(efface_store *store, efface_error *error) {
    static const ef_bucket empty = {0};
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "INSERT INTO buckets VALUES (?, ?, ?)", &statement, error);
    for (uint64_t b = 0; status == EFFACE_OK && b < ef_buckets(&store->head); b++)
        status = insert_bucket(store, statement, b, &empty, error);
    (void)sqlite3_finalize(statement);
    return status;
}

static int compare_changes(const void *a, const void *b) {
    const ef_bucket_change *const x = a, *const y = b;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static efface_status change_bucket(efface_store *store, sqlite3_stmt *read, sqlite3_stmt *write,
                                   const ef_bucket_change *change, efface_error *error) {
    ef_bucket bucket = {0};
    bool row = false, whole = false;
    (void)sqlite3_bind_int64(read, 1, (sqlite3_int64)change->bucket);
    efface_status status = ef_sql_step(store, read, &row, error);
    if (status == EFFACE_OK && row && ef_sql_has(read, "ib")) {
        bucket.n_rows = (uint64_t)sqlite3_column_int64(read, 0);
        whole = ef_sql_read_sum(read, 1, &bucket.sum);
    }
    (void)sqlite3_reset(read);
    if (status != EFFACE_OK)
        return status;
    bucket.n_rows += (uint64_t)change->n_rows;
    bucket.sum += change->sum;
    if (!whole || bucket.n_rows > INT64_MAX)
        return ef_store_corrupt(error, "a bucket of rows is invalid");
    return insert_bucket(store, write, change->bucket, &bucket, error);
}

efface_status ef_buckets_change(efface_store *store, ef_bucket_change *changes, size_t n,
                                efface_error *error) {
    sqlite3_stmt *read = NULL, *write = NULL;
    if (n == 0)
        return EFFACE_OK;
    qsort(changes, n, sizeof *changes, compare_changes);
    efface_status status =
        ef_sql_prepare(store, "SELECT n_rows, sum FROM buckets WHERE number = ?", &read, error);
    EF_THEN(status, ef_sql_prepare(store, "INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)", &write,
                                   error));
    for (size_t i = 0; status == EFFACE_OK && i < n;) {
        ef_bucket_change all = {.bucket = changes[i].bucket};
        for (; i < n && changes[i].bucket == all.bucket; i++) {
            all.n_rows += changes[i].n_rows;
            all.sum += changes[i].sum;
        }
        status = change_bucket(store, read, write, &all, error);
        store->head.n_rows += (uint64_t)all.n_rows;
        store->head.rows_sum += all.sum;
    }
    store->head_changed = true;
    (void)sqlite3_finalize(read);
    (void)sqlite3_finalize(write);
    return status;
}

/* ---------------------------------------------------------------- all of them */

/* Makes buckets and the counts of the head from the rows. */
static efface_status count_buckets(efface_store *store, efface_error *error) {
    ef_head *const head = &store->head;
    sqlite3_stmt *read = NULL, *write = NULL;
    bool row = true;
    ef_bucket bucket = {0};
    uint64_t at = 0;
    head->n_rows = head->n_unowned = 0;
    head->rows_sum = 0;
    head->total_weight = 0;
    store->head_changed = true;
    efface_status status = ef_sql_run(store, "DELETE FROM buckets", error);
    EF_THEN(status, ef_sql_prepare(store, "SELECT " EF_ROW_COLUMNS " FROM rows ORDER BY bucket, id",
                                   &read, error));
    EF_THEN(status, ef_sql_prepare(store, "INSERT INTO buckets VALUES (?, ?, ?)", &write, error));
    while (status == EFFACE_OK) {
        ef_stored_row found;
        uint64_t number = ef_buckets(head);
        status = ef_sql_step(store, read, &row, error);
        if (status == EFFACE_OK && row)
            status = ef_row_read(store, read, &found, &number, error);
        for (; status == EFFACE_OK && at < number; at++) {
            status = insert_bucket(store, write, at, &bucket, error);
            bucket = (ef_bucket){0};
        }
        if (status != EFFACE_OK || !row)
            break;
        const ef_u128 seal = ef_seal_row(head, &found);
        bucket.n_rows++;
        bucket.sum += seal;
        head->n_rows++;
        head->rows_sum += seal;
        head->n_unowned += found.row.owner == EFFACE_NO_OWNER;
        if (found.row.weight < 1 || found.row.weight >= EFFACE_MAX_WEIGHT - head->total_weight)
            status = ef_store_corrupt(error, "the weight of a row is invalid");
        head->total_weight += found.row.weight;
    }
    (void)sqlite3_finalize(read);
    (void)sqlite3_finalize(write);
    return status;
}

static void give_bucket(sqlite3_context *context, int n_values, sqlite3_value **values) {
    (void)n_values;
    const ef_head *const head = sqlite3_user_data(context);
    const uint64_t id = (uint64_t)sqlite3_value_int64(values[0]);
    sqlite3_result_int64(context, (sqlite3_int64)ef_bucket_of(head, id));
}

/* Makes the function ef_bucket(id) known to SQL, or unknown again. */
static efface_status make_bucket_known(efface_store *store, bool known, efface_error *error) {
    return sqlite3_create_function(store->db, "ef_bucket", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                   &store->head, known ? give_bucket : NULL, NULL,
                                   NULL) == SQLITE_OK
               ? EFFACE_OK
               : ef_sql_fail(store, error);
}

efface_status ef_buckets_fit(efface_store *store, uint64_t n_rows, efface_error *error) {
    ef_head *const head = &store->head;
    if (n_rows / FULL <= head->dense)
        return EFFACE_OK;
    const ef_head before = *head;
    head->dense = ef_dense_for(n_rows);
    efface_status status = make_bucket_known(store, true, error);
    EF_THEN(status, ef_sql_run(store, "UPDATE rows SET bucket = ef_bucket(id)", error));
    (void)make_bucket_known(store, false, NULL);
    EF_THEN(status, count_buckets(store, error));
    /* The sum over all rows does not depend on their buckets. */
    if (status == EFFACE_OK &&
        (head->rows_sum != before.rows_sum || head->n_rows != before.n_rows ||
         head->n_unowned != before.n_unowned || head->total_weight != before.total_weight))
        status = ef_store_corrupt(error, "its rows do not match their checksum");
    return status;
}
