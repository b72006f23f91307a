/*
 * Adding a model to a store that others use meanwhile.
 *
 * The rows are copied, the store is let go, the model is fitted, and only then is the store locked
 * to write. What changed in between is found by buckets: one whose sum of seals is the same has the
 * same rows. The model follows the rows that left, came or changed in the others, and is written.
 */
#include "store/models/model_adding.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/request/missing_values.h"
#include "store/file/transactions.h"
#include "store/parts.h"
#include "store/rows/store_columns.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/* Whether the model takes its rows: the error names a column of the store. */
static efface_status check_missing(const efface_store *store, const ef_record *record,
                                   const efface_params *params, const efface_data *rows,
                                   efface_error *error) {
    const ef_family *family = NULL;
    const efface_status status = ef_family_check(params, &family, error);
    if (status != EFFACE_OK || rows->n_missing == 0 || ef_takes_missing(family, params))
        return status;
    const uint32_t own = ef_find_missing(rows);
    const uint32_t column = record->columns != NULL ? record->columns[own] : own;
    return ef_fail_missing(family, 0, column, efface_store_column(store, column), error);
}

/* Fits a model and looks for tails, if that is wanted, while the rows are at hand. */
efface_status ef_model_fit_asked(const efface_store *store, const ef_record *record,
                                 const efface_new_model *asked, const efface_data *rows,
                                 efface_model **model, efface_error *error) {
    efface_status status = check_missing(store, record, asked->params, rows, error);
    EF_THEN(status, ef_model_fit(rows, asked->params, model, error));
    return status == EFFACE_OK && asked->tails != NULL
               ? efface_data_tails(rows, asked->tails_scale, asked->tails, error)
               : status;
}

efface_status ef_model_add(efface_store *store, const efface_new_model *asked,
                           const efface_data *data, efface_error *error) {
    ef_record record;
    efface_data *some = NULL;
    efface_model *model = NULL;
    efface_status status = ef_record_new(store, asked, &record, error);
    if (status == EFFACE_OK && record.columns != NULL)
        status = ef_rows_copy(data, record.columns, record.n_columns, &some, error);
    const efface_data *const rows = some != NULL ? some : data;
    EF_THEN(status, ef_model_fit_asked(store, &record, asked, rows, &model, error));
    /* The user may have removed rows, and with them the ends of columns. */
    ef_counts counts = {0};
    if (status == EFFACE_OK && rows->part == NULL && !ef_data_count(rows, &counts))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = store->parts->write_model(
            store, &record, model, rows->part == NULL ? &counts : ef_data_whole(rows), true, error);
    ef_counts_free(&counts);
    if (asked->fitted != NULL)
        *asked->fitted = model;
    else
        efface_model_free(model);
    efface_data_free(some);
    ef_record_free(&record);
    return status;
}

/* ---------------------------------------------------------------- what changed meanwhile */

/* The rows as they were copied, and the model that was fitted to them. */
typedef struct adding {
    efface_store *store;
    ef_record record;
    efface_data *data;
    ef_bucket *buckets; /* as they were */
    ef_head head;       /* as it was */
    efface_model *model;
} adding;

/* Rows that came, or changed, and ids that left. */
typedef struct news {
    ef_row_batch came, changed;
    ef_found all_came, all_changed;
    bool *stays; /* by position in the copy: the row is there still */
    bool *moved; /* by bucket: it is not what it was */
} news;

static bool same_row(const adding *a, size_t position, const ef_stored_row *row) {
    if (ef_data_weight(a->data, position) != row->row.weight)
        return false;
    for (uint32_t j = 0; j < a->data->n_columns; j++) {
        const uint32_t column = a->record.columns != NULL ? a->record.columns[j] : j;
        ef_decoder reader = {.bytes = row->values + 4 * (size_t)column, .n_bytes = 4};
        const float is = ef_read_f32(&reader), was = ef_data_value(a->data, position, j);
        if (is != was && (is == is || was == was)) /* two missing values are the same */
            return false;
    }
    return true;
}

static efface_status compare_row(const adding *a, news *n, const ef_stored_row *row,
                                 efface_error *error) {
    size_t position;
    if (efface_data_find(a->data, row->row.id, &position) != EFFACE_OK)
        return ef_batch_add(&n->came, row, error);
    n->stays[position] = true;
    return same_row(a, position, row) ? EFFACE_OK : ef_batch_add(&n->changed, row, error);
}

/* Reads the buckets that moved and verifies them. */
static efface_status read_moved(const adding *a, news *n, efface_error *error) {
    efface_store *const store = a->store;
    sqlite3_stmt *rows = NULL, *sums = NULL;
    const bool respread = store->head.dense != a->head.dense;
    efface_status status =
        ef_sql_prepare(store, "SELECT " EF_ROW_COLUMNS " FROM rows WHERE bucket = ?", &rows, error);
    EF_THEN(status, ef_sql_prepare(store, "SELECT n_rows, sum FROM buckets WHERE number = ?", &sums,
                                   error));
    for (uint64_t b = 0; status == EFFACE_OK && b < ef_buckets(&store->head); b++) {
        ef_bucket is = {0}, should = {0};
        bool row = false;
        (void)sqlite3_bind_int64(sums, 1, (sqlite3_int64)b);
        status = ef_sql_step(store, sums, &row, error);
        if (status == EFFACE_OK &&
            (!row || !ef_sql_has(sums, "ib") || !ef_sql_read_sum(sums, 1, &should.sum)))
            status = ef_store_corrupt(error, "a bucket of rows is invalid");
        if (status == EFFACE_OK)
            should.n_rows = (uint64_t)sqlite3_column_int64(sums, 0);
        (void)sqlite3_reset(sums);
        n->moved[b] =
            respread || should.n_rows != a->buckets[b].n_rows || should.sum != a->buckets[b].sum;
        if (status != EFFACE_OK || !n->moved[b])
            continue;
        (void)sqlite3_bind_int64(rows, 1, (sqlite3_int64)b);
        for (row = true; status == EFFACE_OK;) {
            ef_stored_row found;
            uint64_t bucket;
            status = ef_sql_step(store, rows, &row, error);
            if (status != EFFACE_OK || !row)
                break;
            status = ef_row_read(store, rows, &found, &bucket, error);
            if (status != EFFACE_OK)
                break;
            is.n_rows++;
            is.sum += ef_seal_row(&store->head, &found);
            status = compare_row(a, n, &found, error);
        }
        (void)sqlite3_reset(rows);
        if (status == EFFACE_OK && (is.n_rows != should.n_rows || is.sum != should.sum))
            status = ef_store_corrupt(error, "rows do not match their checksum");
    }
    (void)sqlite3_finalize(rows);
    (void)sqlite3_finalize(sums);
    return status;
}

static efface_status follow_rows(adding *a, const efface_data *data, bool came,
                                 efface_error *error) {
    ef_given given;
    if (data->n_rows == 0)
        return EFFACE_OK;
    efface_status status = ef_given_make(&given, data, NULL, NULL, 0, error);
    if (status != EFFACE_OK)
        return status;
    status = came ? efface_model_learn(a->model, a->data, &given.rows, NULL, error)
                  : efface_model_update(a->model, a->data, &given.rows, NULL, error);
    ef_given_free(&given);
    return status;
}

static efface_status follow_departures(adding *a, const news *n, efface_error *error) {
    const size_t n_rows = a->data->n_rows;
    uint64_t *const gone = ef_alloc(n_rows, sizeof *gone);
    if (gone == NULL)
        return ef_fail_memory(error);
    size_t n_gone = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t id = ef_data_id(a->data, i);
        if (n->moved[ef_bucket_of(&a->store->head, id)] && !n->stays[i])
            gone[n_gone++] = id;
    }
    const efface_request request = {.ids = gone, .n_ids = n_gone};
    const efface_status status =
        n_gone != 0 ? efface_model_forget(a->model, a->data, &request, NULL, error) : EFFACE_OK;
    ef_free(gone);
    return status;
}

/* Makes the model that of the rows as they are now. */
static efface_status catch_up_model(adding *a, efface_error *error) {
    const ef_head *const now = &a->store->head;
    if (now->rows_sum == a->head.rows_sum && now->n_rows == a->head.n_rows)
        return EFFACE_OK;
    news n = {.stays = ef_alloc_zero(a->data->n_rows, sizeof *n.stays),
              .moved = ef_alloc_zero((size_t)ef_buckets(now), sizeof *n.moved)};
    efface_status status =
        ef_batch_begin(&n.came, a->store, a->record.columns, a->record.n_columns, false, error);
    EF_THEN(status, ef_batch_begin(&n.changed, a->store, a->record.columns, a->record.n_columns,
                                   false, error));
    if (status == EFFACE_OK && (n.stays == NULL || n.moved == NULL))
        status = ef_fail_memory(error);
    EF_THEN(status, read_moved(a, &n, error));
    status = ef_batch_end(&n.came, a->store, status, &n.all_came, error);
    status = ef_batch_end(&n.changed, a->store, status, &n.all_changed, error);
    EF_THEN(status, follow_departures(a, &n, error));
    EF_THEN(status, follow_rows(a, n.all_changed.data, false, error));
    EF_THEN(status, follow_rows(a, n.all_came.data, true, error));
    ef_found_free(&n.all_came);
    ef_found_free(&n.all_changed);
    ef_free(n.stays);
    ef_free(n.moved);
    return status;
}

/* ---------------------------------------------------------------- fit */

efface_status ef_model_note_added(efface_store *store, const ef_record *added,
                                  efface_error *error) {
    efface_model_report report = ef_record_report(added, "the model was added");
    memset(report.before, 0, sizeof report.before);
    ef_record_commit(added, report.after);
    return store->parts->note_models(store, "add", &report, 1, error);
}

/* Whether a name is free, before a long fit; it is looked at again when the model is written. */
efface_status ef_model_check_free(efface_store *store, void *name, efface_error *error) {
    ef_record record;
    const efface_status status = ef_record_read(store, name, false, &record, error);
    if (status == EFFACE_E_NOT_FOUND)
        return EFFACE_OK;
    if (status != EFFACE_OK)
        return status;
    ef_record_free(&record);
    return ef_fail(error, EFFACE_E_DUPLICATE,
                   "a model with the name %s exists already; choose another name",
                   (const char *)name);
}

static efface_status copy_rows(adding *a, efface_error *error) {
    efface_status status = ef_store_begin(a->store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_model_check_free(a->store, a->record.name, error);
    EF_THEN(status, ef_rows_load(a->store, a->record.columns, a->record.n_columns, &a->data,
                                 &a->buckets, error));
    a->head = a->store->head;
    return ef_store_end(a->store, status, error);
}

static efface_status write_new_model(adding *a, efface_error *error) {
    efface_status status = ef_store_begin(a->store, true, error);
    if (status != EFFACE_OK)
        return status;
    status = catch_up_model(a, error);
    EF_THEN(status, ef_record_write(a->store, &a->record, a->model, &a->data->counts, true, error));
    EF_THEN(status, ef_model_note_added(a->store, &a->record, error));
    EF_THEN(status, ef_store_read_rules(a->store, error));
    return ef_store_end(a->store, status, error);
}

efface_status ef_add_in_file(efface_store *store, const efface_new_model *asked,
                             efface_model **model, efface_error *error) {
    adding a = {.store = store};
    efface_status status = ef_record_new(store, asked, &a.record, error);
    EF_THEN(status, copy_rows(&a, error));
    EF_THEN(status, ef_model_fit_asked(store, &a.record, asked, a.data, &a.model, error));
    EF_THEN(status, write_new_model(&a, error));
    if (status == EFFACE_OK) {
        *model = a.model;
        a.model = NULL;
    }
    efface_model_free(a.model);
    efface_data_free(a.data);
    ef_free(a.buckets);
    ef_record_free(&a.record);
    return status;
}

efface_status efface_store_fit(efface_store *store, const efface_new_model *asked,
                               efface_model **model, efface_error *error) {
    efface_status status = ef_store_may_write(store, error);
    if (status == EFFACE_OK && asked == NULL)
        status = ef_fail(error, EFFACE_E_ARGUMENT, "the model must not be NULL");
    if (status != EFFACE_OK)
        return status;
    efface_model *made = NULL;
    status = store->parts->add_model(store, asked, &made, error);
    if (status == EFFACE_OK && model != NULL)
        *model = made;
    else
        efface_model_free(made);
    return status;
}
