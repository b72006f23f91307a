/*
 * Requests: rows leave or come, and every model follows, in one transaction (store.c, invariant 1).
 *
 * A model is tried cold first: its state and what is counted of its rows are enough, unless a level
 * has to be computed again or the range of a column is no longer known. Only then are all rows
 * loaded.
 */
#define _POSIX_C_SOURCE 200809L
#include "base/checked.h"
#include "base/status.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void efface_store_report_free(efface_store_report *report) {
    ef_free(report->models);
    *report = (efface_store_report){0};
}

/* A request under way. */
typedef struct request {
    efface_store *store;
    const efface_data *rows; /* that leave or come; they have ids */
    const uint64_t *ids;     /* of them */
    bool leaves;             /* else they come */
    bool only_look;
} request;

/* ---------------------------------------------------------------- one model */

/* The rows as a change of a model's columns, applied to its counts. */
static efface_status make_change(const request *q, const ef_record *record, efface_data *counts,
                                 ef_change *change, efface_error *error) {
    const size_t n = q->rows->n_rows;
    float *const all = ef_alloc(q->rows->n_columns, sizeof *all);
    float *const values = ef_alloc(record->n_columns, sizeof *values);
    const bool fits = ef_change_init(change, record->n_columns, n);
    for (size_t i = 0; fits && all != NULL && values != NULL && i < n; i++) {
        efface_row row = efface_data_row(q->rows, i);
        row.id = q->ids[i];
        ef_rows_pick(q->rows, i, record->columns, record->n_columns, all, values);
        ef_change_note(change, &row, values, q->leaves);
        ef_counts_change(counts, values, row.weight, q->leaves);
    }
    const efface_status status =
        fits && all != NULL && values != NULL ? EFFACE_OK : ef_fail_memory(error);
    ef_free(all);
    ef_free(values);
    return status;
}

/* Rows that come must leave the weight of all below its limit. */
static efface_status check_weight(const request *q, int64_t there, efface_error *error) {
    return q->rows->total_weight < EFFACE_MAX_WEIGHT - there
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_LIMIT,
                         "all weights together would not stay below 2^40; nothing was learned");
}

/* Without rows. `done` is false if they are needed. */
static efface_status follow_cold(const request *q, ef_record *record, bool *done,
                                 efface_report *report, efface_error *error) {
    efface_kmeans *model = NULL;
    efface_data *counts = NULL;
    ef_change change = {0};
    *done = false;
    efface_status status = ef_record_cold(record, &model, &counts, error);
    if (status != EFFACE_OK)
        return status;
    if (!q->leaves)
        status = check_weight(q, counts->total_weight, error);
    if (status == EFFACE_OK && q->leaves && counts->n_rows < q->rows->n_rows)
        status = ef_store_corrupt(error, "a model has fewer rows than the store");
    if (status == EFFACE_OK)
        status = make_change(q, record, counts, &change, error);
    if (status == EFFACE_OK && !ef_counts_stale(counts))
        status = ef_replay_cold(model, counts, &change, q->only_look, done, report, error);
    if (status == EFFACE_OK && *done && !q->only_look)
        status = ef_record_write(q->store, record, model, counts, false, error);
    ef_change_free(&change);
    efface_kmeans_free(model);
    efface_data_free(counts);
    return status;
}

/* The rows that come, with the columns of a model. */
static efface_status learn_hot(const request *q, const ef_record *record, efface_kmeans *model,
                               efface_data *data, efface_report *report, efface_error *error) {
    const size_t n = q->rows->n_rows, d = record->n_columns;
    size_t n_values;
    float *const all = ef_alloc(q->rows->n_columns, sizeof *all);
    float *const values = ef_mul_size(n, d, &n_values) ? ef_alloc(n_values, sizeof *values) : NULL;
    int64_t *const weights = ef_alloc(n, sizeof *weights);
    efface_status status =
        all != NULL && values != NULL && weights != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        ef_rows_pick(q->rows, i, record->columns, record->n_columns, all, values + i * d);
        weights[i] = ef_data_weight(q->rows, i);
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = q->ids, .weights = weights};
    if (status == EFFACE_OK)
        status = efface_kmeans_learn(model, data, &rows, report, error);
    ef_free(all);
    ef_free(values);
    ef_free(weights);
    return status;
}

/* With all rows. */
static efface_status follow_hot(const request *q, ef_record *record, efface_report *report,
                                efface_error *error) {
    efface_kmeans *model = NULL;
    efface_data *data = NULL;
    efface_status status = ef_record_hot(q->store, record, &model, &data, error);
    if (status != EFFACE_OK)
        return status;
    if (q->leaves && q->only_look)
        status = efface_kmeans_preview(model, data, q->ids, q->rows->n_rows, EFFACE_MISSING_FAIL,
                                       report, error);
    else if (q->leaves)
        status = efface_kmeans_forget(model, data, q->ids, q->rows->n_rows, EFFACE_MISSING_FAIL,
                                      report, error);
    else
        status = learn_hot(q, record, model, data, report, error);
    if (status == EFFACE_OK && !q->only_look)
        status = ef_record_write(q->store, record, model, data, false, error);
    efface_kmeans_free(model);
    efface_data_free(data);
    return status;
}

static efface_status follow(const request *q, const char *name, efface_model_report *report,
                            efface_error *error) {
    const double begin = now();
    ef_record record;
    bool done = false;
    efface_status status = ef_record_read(q->store, name, &record, error);
    if (status != EFFACE_OK)
        return status;
    memcpy(report->name, record.name, sizeof report->name);
    memcpy(report->before, record.digest, sizeof report->before);
    status = follow_cold(q, &record, &done, &report->report, error);
    /* What a look without rows found out is all that a look with rows would; but not of a tree. */
    const bool knows = done || (q->only_look && record.params.method != EFFACE_METHOD_TREE &&
                                report->report.reason != EFFACE_REASON_NONE);
    if (status == EFFACE_OK && !knows)
        status = follow_hot(q, &record, &report->report, error);
    memcpy(report->after, record.digest, sizeof report->after);
    report->report.seconds = now() - begin;
    report->report.rows_forgotten = q->leaves ? q->rows->n_rows : 0;
    report->report.rows_learned = q->leaves ? 0 : q->rows->n_rows;
    ef_record_free(&record);
    return status;
}

/* All models. */
static efface_status follow_all(const request *q, efface_store_report *report,
                                efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    efface_status status = ef_models_list(q->store, &names, &n, error);
    if (status != EFFACE_OK)
        return status;
    report->models = ef_alloc_zero(n, sizeof *report->models);
    report->n_models = n;
    if (report->models == NULL)
        status = ef_fail_memory(error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++)
        status = follow(q, names[i], &report->models[i], error);
    ef_free(names);
    return status;
}

/* ---------------------------------------------------------------- forget */

static efface_status change_total(efface_store *store, uint64_t n_leave, uint64_t n_come,
                                  efface_error *error) {
    uint64_t n_rows = 0;
    efface_status status = ef_fact_read(store, "n_rows", &n_rows, error);
    if (status == EFFACE_OK && n_leave > n_rows)
        status = ef_store_corrupt(error, "its number of rows");
    return status == EFFACE_OK ? ef_fact_write(store, "n_rows", n_rows - n_leave + n_come, error)
                               : status;
}

/* The ids of a set of rows, in the order of positions. */
static uint64_t *list_ids(const efface_data *rows, uint64_t first_id) {
    uint64_t *const ids = ef_alloc(rows->n_rows, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < rows->n_rows; i++)
        ids[i] = first_id + ef_data_id(rows, i);
    return ids;
}

static efface_status forget(efface_store *store, const efface_request *asked,
                            efface_store_report *report, efface_error *error) {
    efface_data *rows = NULL;
    efface_status status = ef_rows_find(store, asked, &rows, &report->n_missing, error);
    if (status != EFFACE_OK)
        return status;
    uint64_t *const ids = list_ids(rows, 0);
    const request q = {.store = store,
                       .rows = rows,
                       .ids = ids,
                       .leaves = true,
                       .only_look = asked->only_look != 0};
    report->n_requested = asked->n_ids + asked->n_owners;
    report->n_forgotten = rows->n_rows;
    if (ids == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK && rows->n_rows != 0)
        status = follow_all(&q, report, error);
    if (status == EFFACE_OK && !q.only_look) {
        status = ef_rows_delete(store, rows, error);
        if (status == EFFACE_OK)
            status = change_total(store, rows->n_rows, 0, error);
        if (status == EFFACE_OK)
            status = ef_receipt_append(store, "forget", ids, rows->n_rows, report, error);
    }
    ef_free(ids);
    efface_data_free(rows);
    return status;
}

/* Ends the transaction of a request, and hands its report out or drops it. */
static efface_status finish(efface_store *store, efface_status status, double begin,
                            efface_store_report *done, efface_store_report *report,
                            efface_error *error) {
    status = ef_store_end(store, status, error);
    done->seconds = now() - begin;
    if (status == EFFACE_OK && report != NULL)
        *report = *done;
    else
        efface_store_report_free(done);
    return status;
}

efface_status efface_store_forget(efface_store *store, const efface_request *asked,
                                  efface_store_report *report, efface_error *error) {
    if (store == NULL || asked == NULL || (asked->n_ids != 0 && asked->ids == NULL) ||
        (asked->n_owners != 0 && asked->owners == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, request and its lists must not be NULL");
    const bool writes = asked->only_look == 0;
    if (writes && !store->writes)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the store was opened to read only");
    const double begin = now();
    efface_store_report done = {0};
    const efface_status status = ef_store_begin(store, writes, error);
    if (status != EFFACE_OK)
        return status;
    return finish(store, forget(store, asked, &done, error), begin, &done, report, error);
}

/* ---------------------------------------------------------------- learn */

static efface_status learn(efface_store *store, const efface_data *data,
                           efface_store_report *report, efface_error *error) {
    uint64_t next_id = 0;
    efface_status status = ef_fact_read(store, "next_id", &next_id, error);
    if (status != EFFACE_OK)
        return status;
    /* Rows without ids of their own get new ones. */
    const bool named = !ef_data_ids_are_positions(data) || data->named;
    const uint64_t first_id = named ? 0 : next_id;
    if (!named && UINT64_MAX - next_id < data->n_rows)
        return ef_fail(error, EFFACE_E_LIMIT, "there are no ids left; give the rows ids");
    uint64_t *const ids = list_ids(data, first_id);
    if (ids == NULL)
        return ef_fail_memory(error);
    const request q = {.store = store, .rows = data, .ids = ids};
    const uint64_t after = named ? data->next_id : next_id + data->n_rows;
    report->n_requested = data->n_rows;
    report->n_learned = data->n_rows;
    /* Models first: a model that loads all rows must not see the new ones yet. */
    if (data->n_rows != 0)
        status = follow_all(&q, report, error);
    /* Each of them has looked at the weight. */
    if (status == EFFACE_OK && report->n_models == 0) {
        int64_t weight = 0;
        status = ef_rows_weight(store, &weight, error);
        if (status == EFFACE_OK)
            status = check_weight(&q, weight, error);
    }
    if (status == EFFACE_OK)
        status = ef_rows_insert(store, data, first_id, error);
    if (status == EFFACE_OK)
        status = change_total(store, 0, data->n_rows, error);
    if (status == EFFACE_OK && after > next_id)
        status = ef_fact_write(store, "next_id", after, error);
    if (status == EFFACE_OK)
        status = ef_receipt_append(store, "learn", ids, data->n_rows, report, error);
    ef_free(ids);
    return status;
}

efface_status efface_store_learn(efface_store *store, const efface_data *data,
                                 efface_store_report *report, efface_error *error) {
    if (store == NULL || data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and data must not be NULL");
    if (!store->writes)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the store was opened to read only");
    if (data->n_columns != store->n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the rows have %" PRIu32 " columns, but the store has %" PRIu32,
                       data->n_columns, store->n_columns);
    const double begin = now();
    efface_store_report done = {0};
    const efface_status status = ef_store_begin(store, true, error);
    if (status != EFFACE_OK)
        return status;
    return finish(store, learn(store, data, &done, error), begin, &done, report, error);
}
