/* Steps of a transaction: rows leave, come or change in the store, and all models follow. What a
 * step touches is verified before (store.c, invariant 7). A step that fails may leave half of its
 * work behind; requests.c takes that back. */
#include "store/requests/steps.h"

#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/models/models_following.h"
#include "store/rows/row_search.h"
#include "store/store.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

bool ef_fails_all(efface_store *store, efface_status status) {
    return status == EFFACE_E_MEMORY || status == EFFACE_E_IO || status == EFFACE_E_BUSY ||
           status == EFFACE_E_INTERRUPTED || status == EFFACE_E_GROUP ||
           (status != EFFACE_OK && sqlite3_get_autocommit(store->db) != 0);
}

uint64_t *ef_list_ids(const efface_data *rows) {
    uint64_t *const ids = ef_alloc(rows->n_rows, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < rows->n_rows; i++)
        ids[i] = ef_data_id(rows, i);
    return ids;
}

/* ---------------------------------------------------------------- forget */

/* A step to forget rows for several requests: what each has of it. */
static efface_status share_step(ef_task *task, ef_search *search, const efface_store_report *step,
                                efface_error *error) {
    efface_store_report *const report = &task->change->report;
    report->n_requested = search->request->n_ids + search->request->n_owners;
    report->n_missing = search->n_missing;
    report->n_forgotten = search->n_ids;
    task->ids = search->ids;
    task->n_ids = search->n_ids;
    search->ids = NULL;
    if (task->n_ids == 0)
        return EFFACE_OK;
    report->models = ef_alloc(step->n_models, sizeof *report->models);
    if (report->models == NULL)
        return ef_fail_memory(error);
    report->n_models = step->n_models;
    for (uint32_t i = 0; i < step->n_models; i++) {
        report->models[i] = step->models[i];
        report->models[i].report.rows_forgotten = task->n_ids;
    }
    return EFFACE_OK;
}

/* Lets the models follow, and rows leave unless the requests only look. */
static efface_status forget_found(efface_store *store, const ef_found *found, bool only_look,
                                  efface_store_report *step, efface_error *error) {
    uint64_t *const ids = ef_list_ids(found->data);
    const ef_row_change change = {
        .leave = found->data, .ids = ids, .n_rows = found->data->n_rows, .only_look = only_look};
    efface_status status = ids != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK && change.n_rows != 0)
        status = ef_models_follow(store, &change, step, error);
    if (status == EFFACE_OK && !only_look && change.n_rows != 0)
        status = ef_rows_delete(store, found, error);
    ef_free(ids);
    return status;
}

static efface_status step_forget(efface_store *store, ef_task *tasks, size_t n, bool only_look,
                                 efface_error *error) {
    ef_found found = {NULL, NULL, 0};
    efface_store_report step = {0};
    ef_search *const searches = ef_alloc_zero(n, sizeof *searches);
    if (searches == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++)
        searches[i] =
            (ef_search){.request = tasks[i].change->request, .error = &tasks[i].change->error};
    efface_status status = ef_rows_find_all(store, searches, n, &found, error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        tasks[i].change->status = searches[i].status;
        if (ef_fails_all(store, searches[i].status)) {
            status = searches[i].status;
            *error = tasks[i].change->error;
        }
    }
    EF_THEN(status, forget_found(store, &found, only_look, &step, error));
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        if (searches[i].status == EFFACE_OK)
            status = share_step(&tasks[i], &searches[i], &step, error);
    for (size_t i = 0; i < n; i++)
        ef_free(searches[i].ids);
    ef_free(searches);
    efface_store_report_free(&step);
    ef_found_free(&found);
    return status;
}

/* ---------------------------------------------------------------- learn */

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

efface_status ef_check_kinds(efface_store *store, const efface_data *data, efface_error *error) {
    efface_status status = EFFACE_OK;
    if (ef_data_is_named(data) && data->n_rows != 0)
        status = check_kind(store, &store->head.id_kind, data->id_kind, "ids", error);
    if (status == EFFACE_OK && data->owners != NULL)
        status = check_kind(store, &store->head.owner_kind, data->owner_kind, "owners", error);
    return status;
}

efface_status ef_check_weight(int64_t there, int64_t comes, efface_error *error) {
    return comes < EFFACE_MAX_WEIGHT - there
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_LIMIT,
                         "the sum of all weights would not be below 2^40; nothing was changed; use "
                         "smaller weights");
}

/* Whether one of these ids comes twice. */
static efface_status find_twins(const uint64_t *ids, size_t n, bool *twins, efface_error *error) {
    uint64_t *const sorted = ef_alloc(n, sizeof *sorted);
    if (sorted == NULL)
        return ef_fail_memory(error);
    if (n != 0)
        memcpy(sorted, ids, n * sizeof *sorted);
    ef_ids_sort(sorted, n);
    *twins = ef_ids_find_repeat(sorted, n) != NULL;
    ef_free(sorted);
    return EFFACE_OK;
}

efface_status ef_draw_distinct(uint64_t *ids, size_t n, efface_error *error) {
    efface_status status = EFFACE_OK;
    bool twins = true;
    while (status == EFFACE_OK && twins) {
        randombytes_buf(ids, n * sizeof *ids);
        for (size_t i = 0; i < n; i++)
            ids[i] &= INT64_MAX;
        status = find_twins(ids, n, &twins, error);
    }
    return status;
}

/* Ids that no row has. */
static efface_status draw_ids(efface_store *store, uint64_t *ids, size_t n, efface_error *error) {
    bool *const there = ef_alloc(n, sizeof *there);
    bool again = true;
    efface_status status = there != NULL ? EFFACE_OK : ef_fail_memory(error);
    while (status == EFFACE_OK && again) {
        again = false;
        status = ef_draw_distinct(ids, n, error);
        EF_THEN(status, ef_rows_look_up(store, ids, n, there, NULL, error));
        for (size_t i = 0; status == EFFACE_OK && i < n; i++)
            again |= there[i];
    }
    ef_free(there);
    return status;
}

efface_status ef_fail_known_id(uint64_t id, efface_error *error) {
    return ef_fail(error, EFFACE_E_DUPLICATE,
                   "a row with the id %" PRIu64 " exists already; nothing was learned", id);
}

static efface_status check_new_ids(efface_store *store, const uint64_t *ids, size_t n,
                                   efface_error *error) {
    bool *const there = ef_alloc(n, sizeof *there);
    efface_status status =
        there != NULL ? ef_rows_look_up(store, ids, n, there, NULL, error) : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        if (there[i])
            status = ef_fail_known_id(ids[i], error);
    ef_free(there);
    return status;
}

static efface_status step_learn(efface_store *store, ef_task *task, efface_error *error) {
    const efface_data *const data = task->change->data;
    efface_store_report *const report = &task->change->report;
    const size_t n = data->n_rows;
    const bool named = ef_data_is_named(data);
    uint64_t *const ids = ef_list_ids(data);
    task->ids = ids;
    task->n_ids = n;
    task->draws = !named;
    efface_status status = ids != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, ef_check_kinds(store, data, error));
    EF_THEN(status, ef_check_weight(store->head.total_weight, data->total_weight, error));
    EF_THEN(status, ef_buckets_fit(store, store->head.n_rows + n, error));
    if (status == EFFACE_OK)
        status = named ? check_new_ids(store, ids, n, error) : draw_ids(store, ids, n, error);
    const ef_row_change change = {.come = data, .ids = ids, .n_rows = n};
    report->n_requested = n;
    report->n_learned = n;
    /* Models first: a model that loads all rows must not see the new ones yet. */
    if (status == EFFACE_OK && n != 0)
        status = ef_models_follow(store, &change, report, error);
    EF_THEN(status, ef_rows_insert(store, data, ids, task->change->texts, error));
    return status;
}

/* ---------------------------------------------------------------- update */

efface_status ef_make_updated(const efface_data *old, const efface_data *data, efface_data **out,
                              efface_error *error) {
    const uint32_t d = data->n_columns;
    efface_data *made = NULL;
    float *const values = ef_alloc(d, sizeof *values);
    efface_status status =
        values != NULL ? efface_data_create(d, &made, error) : ef_fail_memory(error);
    if (status == EFFACE_OK)
        efface_data_allow_missing(made);
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
        EF_THEN(status, efface_data_add(made, &row, error));
    }
    ef_free(values);
    if (status == EFFACE_OK)
        *out = made;
    else
        efface_data_free(made);
    return status;
}

static efface_status step_update(efface_store *store, ef_task *task, efface_error *error) {
    const efface_data *const data = task->change->data;
    efface_store_report *const report = &task->change->report;
    ef_found found = {NULL, NULL, 0};
    efface_data *made = NULL;
    uint64_t *const asked = ef_list_ids(data);
    const efface_request request = {.ids = asked, .n_ids = data->n_rows};
    uint64_t n_missing = 0;
    efface_status status =
        asked != NULL ? ef_check_kinds(store, data, error) : ef_fail_memory(error);
    EF_THEN(status, ef_rows_find(store, &request, &found, &n_missing, error));
    ef_free(asked);
    if (status != EFFACE_OK)
        return status;
    task->ids = ef_list_ids(found.data);
    task->n_ids = data->n_rows;
    if (task->ids == NULL)
        status = ef_fail_memory(error);
    EF_THEN(status, ef_make_updated(found.data, data, &made, error));
    EF_THEN(status, ef_check_weight(store->head.total_weight - found.data->total_weight,
                                    made->total_weight, error));
    const ef_row_change change = {
        .leave = found.data, .come = made, .ids = task->ids, .n_rows = data->n_rows};
    report->n_requested = report->n_updated = data->n_rows;
    if (status == EFFACE_OK && change.n_rows != 0)
        status = ef_models_follow(store, &change, report, error);
    EF_THEN(status, ef_rows_replace(store, &found, made, task->change->texts, error));
    efface_data_free(made);
    ef_found_free(&found);
    return status;
}

efface_status ef_step_in_file(efface_store *store, ef_task *tasks, size_t n, bool only_look,
                              efface_error *error) {
    switch (tasks->change->kind) {
    case EFFACE_CHANGE_FORGET: return step_forget(store, tasks, n, only_look, error);
    case EFFACE_CHANGE_LEARN: return step_learn(store, tasks, error);
    case EFFACE_CHANGE_UPDATE: return step_update(store, tasks, error);
    }
    return EFFACE_OK;
}
