/* Requests: rows leave, come or change, and every model follows, in one transaction (store.c,
 * invariant 1). What a request touches is verified before (invariant 7). */
#include "base/checked.h"
#include "base/status.h"
#include "store/following.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

void efface_store_report_free(efface_store_report *report) {
    ef_free(report->models);
    ef_free(report->new_ids);
    ef_free(report->row_hashes);
    *report = (efface_store_report){0};
}

/* Ends the transaction of a request, and hands its report out or drops it. */
static efface_status finish(efface_store *store, efface_status status, double begin,
                            efface_store_report *done, efface_store_report *report,
                            efface_error *error) {
    status = ef_store_end(store, status, error);
    done->seconds = ef_store_now() - begin;
    if (status == EFFACE_OK && report != NULL)
        *report = *done;
    else
        efface_store_report_free(done);
    return status;
}

/* The ids of a set of rows, in the order of positions. */
static uint64_t *list_ids(const efface_data *rows) {
    uint64_t *const ids = ef_alloc(rows->n_rows, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < rows->n_rows; i++)
        ids[i] = ef_data_id(rows, i);
    return ids;
}

/* ---------------------------------------------------------------- forget */

static efface_status forget(efface_store *store, const efface_request *asked, bool only_look,
                            efface_store_report *report, efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    efface_status status = ef_rows_find(store, asked, &found, &report->n_missing, error);
    if (status != EFFACE_OK)
        return status;
    uint64_t *const ids = list_ids(found.data);
    const ef_store_change change = {
        .leave = found.data, .ids = ids, .n_rows = found.data->n_rows, .only_look = only_look};
    report->n_requested = asked->n_ids + asked->n_owners;
    report->n_forgotten = change.n_rows;
    if (ids == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK && change.n_rows != 0)
        status = ef_models_follow(store, &change, report, error);
    if (status == EFFACE_OK && !change.only_look) {
        status = ef_rows_delete(store, &found, error);
        if (status == EFFACE_OK)
            status = ef_receipt_append(store, "forget", ids, change.n_rows, report, error);
    }
    ef_free(ids);
    ef_found_free(&found);
    return status;
}

static efface_status request_forget(efface_store *store, const efface_request *asked,
                                    bool only_look, efface_store_report *report,
                                    efface_error *error) {
    if (store == NULL || asked == NULL || (asked->n_ids != 0 && asked->ids == NULL) ||
        (asked->n_owners != 0 && asked->owners == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, request and its lists must not be NULL");
    const double begin = ef_store_now();
    efface_store_report done = {0};
    efface_status status = only_look ? EFFACE_OK : ef_store_may_write(store, error);
    if (status == EFFACE_OK)
        status = ef_store_begin(store, !only_look, error);
    if (status == EFFACE_OK)
        status = finish(store, forget(store, asked, only_look, &done, error), begin, &done, report,
                        error);
    return status;
}

efface_status efface_store_forget(efface_store *store, const efface_request *asked,
                                  efface_store_report *report, efface_error *error) {
    return request_forget(store, asked, false, report, error);
}

efface_status efface_store_preview(efface_store *store, const efface_request *asked,
                                   efface_store_report *report, efface_error *error) {
    return request_forget(store, asked, true, report, error);
}

/* ---------------------------------------------------------------- learn */

static efface_status check_rows(const efface_store *store, const efface_data *data,
                                efface_error *error) {
    const efface_status status = ef_store_may_write(store, error);
    if (status != EFFACE_OK)
        return status;
    if (data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data must not be NULL");
    return data->n_columns == store->head.n_columns
               ? ef_store_check_offsets(store, data, error)
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the rows have %" PRIu32 " columns, but the store has %" PRIu32,
                         data->n_columns, store->head.n_columns);
}

/* The number 77 and the text "77" would be two people, and a request would find only one. */
static efface_status check_kind(efface_store *store, efface_ids *have, efface_ids come,
                                const char *what, efface_error *error) {
    if (come == EFFACE_IDS_DETECT || come == *have)
        return EFFACE_OK;
    if (*have != EFFACE_IDS_DETECT)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the %s of the store are %s, but those of the rows are %s; nothing was "
                       "changed; read them as %s",
                       what, *have == EFFACE_IDS_TEXT ? "texts" : "whole numbers",
                       come == EFFACE_IDS_TEXT ? "texts" : "whole numbers",
                       *have == EFFACE_IDS_TEXT ? "texts" : "whole numbers");
    *have = come;
    store->head_changed = true;
    return EFFACE_OK;
}

static efface_status check_kinds(efface_store *store, const efface_data *data,
                                 efface_error *error) {
    const bool named = data->named || !ef_data_ids_are_positions(data);
    efface_status status = EFFACE_OK;
    if (named && data->n_rows != 0)
        status = check_kind(store, &store->head.id_kind, data->id_kind, "ids", error);
    if (status == EFFACE_OK && data->owners != NULL)
        status = check_kind(store, &store->head.owner_kind, data->owner_kind, "owners", error);
    return status;
}

/* The weight of all rows must stay below its limit when rows come. */
static efface_status check_weight(int64_t there, int64_t comes, efface_error *error) {
    return comes < EFFACE_MAX_WEIGHT - there
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_LIMIT,
                         "the sum of all weights would not be below 2^40; nothing was changed; use "
                         "smaller weights");
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Whether one of these ids comes twice. */
static efface_status find_twins(const uint64_t *ids, size_t n, bool *twins, efface_error *error) {
    uint64_t *const sorted = ef_alloc(n, sizeof *sorted);
    if (sorted == NULL)
        return ef_fail_memory(error);
    if (n != 0) {
        memcpy(sorted, ids, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, compare_ids);
    }
    *twins = false;
    for (size_t i = 1; i < n; i++)
        *twins |= sorted[i] == sorted[i - 1];
    ef_free(sorted);
    return EFFACE_OK;
}

/* Ids that no row has. They have 63 bits, which every language can hold, and are random: one that
 * follows from others would be given to somebody else after it was forgotten. */
static efface_status draw_ids(efface_store *store, uint64_t *ids, size_t n, efface_error *error) {
    bool *const there = ef_alloc(n, sizeof *there);
    bool again = true;
    efface_status status = there != NULL ? EFFACE_OK : ef_fail_memory(error);
    while (status == EFFACE_OK && again) {
        randombytes_buf(ids, n * sizeof *ids);
        for (size_t i = 0; i < n; i++)
            ids[i] &= INT64_MAX;
        status = find_twins(ids, n, &again, error);
        if (status == EFFACE_OK && !again)
            status = ef_rows_look_up(store, ids, n, there, NULL, error);
        for (size_t i = 0; status == EFFACE_OK && i < n; i++)
            again |= there[i];
    }
    ef_free(there);
    return status;
}

static efface_status check_new(efface_store *store, const uint64_t *ids, size_t n,
                               efface_error *error) {
    bool *const there = ef_alloc(n, sizeof *there);
    efface_status status =
        there != NULL ? ef_rows_look_up(store, ids, n, there, NULL, error) : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        if (there[i])
            status = ef_fail(error, EFFACE_E_DUPLICATE,
                             "a row with the id %" PRIu64 " exists already; nothing was learned",
                             ids[i]);
    ef_free(there);
    return status;
}

static efface_status learn(efface_store *store, const efface_data *data, const efface_texts *texts,
                           efface_store_report *report, efface_error *error) {
    const size_t n = data->n_rows;
    const bool named = !ef_data_ids_are_positions(data) || data->named;
    uint64_t *const ids = list_ids(data);
    efface_status status = ids != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = check_kinds(store, data, error);
    if (status == EFFACE_OK)
        status = check_weight(store->head.total_weight, data->total_weight, error);
    if (status == EFFACE_OK)
        status = ef_buckets_fit(store, store->head.n_rows + n, error);
    if (status == EFFACE_OK)
        status = named ? check_new(store, ids, n, error) : draw_ids(store, ids, n, error);
    const ef_store_change change = {.come = data, .ids = ids, .n_rows = n};
    report->n_requested = n;
    report->n_learned = n;
    /* Models first: a model that loads all rows must not see the new ones yet. */
    if (status == EFFACE_OK && n != 0)
        status = ef_models_follow(store, &change, report, error);
    if (status == EFFACE_OK)
        status = ef_rows_insert(store, data, ids, texts, error);
    if (status == EFFACE_OK)
        status = ef_receipt_append(store, "learn", ids, n, report, error);
    if (status == EFFACE_OK && !named)
        report->new_ids = ids;
    else
        ef_free(ids);
    return status;
}

efface_status efface_store_learn(efface_store *store, const efface_data *data,
                                 const efface_texts *texts, efface_store_report *report,
                                 efface_error *error) {
    const double begin = ef_store_now();
    efface_store_report done = {0};
    efface_status status = check_rows(store, data, error);
    if (status == EFFACE_OK)
        status = ef_store_begin(store, true, error);
    return status == EFFACE_OK
               ? finish(store, learn(store, data, texts, &done, error), begin, &done, report, error)
               : status;
}

/* ---------------------------------------------------------------- update */

/* The rows as they will be, in the order in which they were found: what the set does not have of
 * its own stays. */
static efface_status make_updated(const efface_data *old, const efface_data *data,
                                  efface_data **out, efface_error *error) {
    const uint32_t d = data->n_columns;
    efface_data *made = NULL;
    float *const values = ef_alloc(d, sizeof *values);
    efface_status status =
        values != NULL ? efface_data_create(d, &made, error) : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < old->n_rows; i++) {
        size_t position = 0;
        const efface_row was = efface_data_row(old, i);
        status = efface_data_find(data, was.id, &position);
        const efface_row given = efface_data_row(data, position);
        const int64_t weight = data->weighed ? given.weight : was.weight;
        const uint64_t owner = given.owner != EFFACE_NO_OWNER ? given.owner : was.owner;
        const int64_t label = given.label != EFFACE_NO_LABEL ? given.label : was.label;
        efface_data_values(data, position, values);
        const efface_rows row = {.n_rows = 1,
                                 .values = values,
                                 .ids = &was.id,
                                 .weights = &weight,
                                 .owners = &owner,
                                 .labels = &label};
        if (status == EFFACE_OK)
            status = efface_data_add(made, &row, error);
    }
    ef_free(values);
    if (status == EFFACE_OK)
        *out = made;
    else
        efface_data_free(made);
    return status;
}

static efface_status update(efface_store *store, const efface_data *data, const efface_texts *texts,
                            efface_store_report *report, efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    efface_data *made = NULL;
    uint64_t *const asked = list_ids(data);
    const efface_request request = {.ids = asked, .n_ids = data->n_rows};
    uint64_t n_missing = 0;
    efface_status status = asked != NULL ? check_kinds(store, data, error) : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = ef_rows_find(store, &request, &found, &n_missing, error);
    ef_free(asked);
    if (status != EFFACE_OK)
        return status;
    uint64_t *const ids = list_ids(found.data);
    if (ids == NULL)
        status = ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = make_updated(found.data, data, &made, error);
    if (status == EFFACE_OK)
        status = check_weight(store->head.total_weight - found.data->total_weight,
                              made->total_weight, error);
    const ef_store_change change = {
        .leave = found.data, .come = made, .ids = ids, .n_rows = data->n_rows};
    report->n_requested = report->n_updated = data->n_rows;
    if (status == EFFACE_OK && change.n_rows != 0)
        status = ef_models_follow(store, &change, report, error);
    if (status == EFFACE_OK)
        status = ef_rows_replace(store, &found, made, texts, error);
    if (status == EFFACE_OK)
        status = ef_receipt_append(store, "update", ids, change.n_rows, report, error);
    ef_free(ids);
    efface_data_free(made);
    ef_found_free(&found);
    return status;
}

efface_status efface_store_update(efface_store *store, const efface_data *data,
                                  const efface_texts *texts, efface_store_report *report,
                                  efface_error *error) {
    const double begin = ef_store_now();
    efface_store_report done = {0};
    efface_status status = check_rows(store, data, error);
    if (status == EFFACE_OK)
        status = ef_store_begin(store, true, error);
    return status == EFFACE_OK ? finish(store, update(store, data, texts, &done, error), begin,
                                        &done, report, error)
                               : status;
}
