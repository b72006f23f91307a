/*
 * Forget, learn, update: one request changes the set and its models together, or none of them.
 *
 * The set is changed first, for the models follow what is there. Each model works out its new state
 * beside the old one. When all are done, they are committed, which cannot fail. If one model cannot
 * follow, the set is changed back by operations that need no memory and so cannot fail.
 *
 * In a group each rank changes its own rows, all are told of the whole change, and all models of
 * all ranks follow it; what they then commit, they have agreed on.
 */
#define _POSIX_C_SOURCE 200809L
#include "base/arrays.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/family.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_IDS_NAMED 8

const char ef_because_nothing[] = "nothing else changed";
const char ef_because_rekeyed[] = "a new seed was given";
const char ef_because_redefined[] = "the definition of the method changed";

const char *efface_action_name(efface_action action) {
    switch (action) {
    case EFFACE_ACTION_UNTOUCHED: return "untouched";
    case EFFACE_ACTION_REPAIRED: return "repaired";
    case EFFACE_ACTION_REFITTED: return "refitted";
    }
    return "unknown action";
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The stamp of a set tells whether it belongs to the model; its number of rows does not. Another
 * set of the same size, or the same set after other changes, would give a model of rows that are
 * not there. */
static efface_status check_set(const efface_model *model, const efface_data *data,
                               efface_error *error) {
    if (model == NULL || data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model and data must not be NULL");
    if (ef_stamps_equal(data->stamp, model->stamp))
        return EFFACE_OK;
    const ef_totals totals = model->family->totals(model->state);
    if (data->stamp.set != model->stamp.set)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "this set has %zu rows of %" PRIu32
                       " columns and is not the set of the model, which has %" PRIu64
                       " rows of %" PRIu32 " columns; give the set that the model was fitted to or "
                       "decoded with, or fit a model to this set",
                       data->n_rows, data->n_columns, totals.n_rows, model->n_columns);
    return ef_fail(error, EFFACE_E_ARGUMENT,
                   "the set was changed without this model: the set has %zu rows now, and the "
                   "model was made from %" PRIu64
                   " rows, perhaps other ones; fit the model again, and from then on change "
                   "the set only by requests to all of its models",
                   data->n_rows, totals.n_rows);
}

static efface_status check_models(efface_model *const *models, size_t n_models,
                                  const efface_data *data, efface_error *error) {
    if (models == NULL || n_models == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there must be at least one model");
    for (size_t i = 0; i < n_models; i++) {
        const efface_status status = check_set(models[i], data, error);
        if (status != EFFACE_OK)
            return status;
        for (size_t j = 0; j < i; j++)
            if (models[j] == models[i])
                return ef_fail(error, EFFACE_E_ARGUMENT,
                               "models %zu and %zu are the same; name each model once", j + 1,
                               i + 1);
    }
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- which rows */

static int compare_numbers(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static const uint64_t *find_number(const uint64_t *sorted, size_t n, uint64_t number) {
    return n != 0 ? bsearch(&number, sorted, n, sizeof *sorted, compare_numbers) : NULL;
}

/* Where to look whether a row is there: in the set, or, in a group, among ids in order. */
typedef struct known_ids {
    const efface_data *data;
    const uint64_t *ids;
    size_t n_ids;
} known_ids;

static bool is_known(const known_ids *known, uint64_t id) {
    size_t position;
    return known->data != NULL ? efface_data_find(known->data, id, &position) == EFFACE_OK
                               : find_number(known->ids, known->n_ids, id) != NULL;
}

static efface_status fail_missing(const known_ids *known, const uint64_t *ids, size_t n_ids,
                                  size_t n_missing, efface_error *error) {
    char list[MOST_IDS_NAMED * 22] = "";
    size_t used = 0, named = 0;
    for (size_t i = 0; i < n_ids && named < MOST_IDS_NAMED; i++) {
        if (is_known(known, ids[i]))
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64,
                                 named != 0 ? ", " : "", ids[i]);
        named++;
    }
    return ef_fail(error, EFFACE_E_NOT_FOUND,
                   "nothing was forgotten: there is no row with the id%s %s%s (%zu of %zu ids)",
                   n_missing == 1 ? "" : "s", list, n_missing > named ? ", ..." : "", n_missing,
                   n_ids);
}

/* The rows of a request, as ids that are there, each of them once. */
typedef struct wanted {
    uint64_t *ids;
    size_t n_ids;
    size_t n_missing; /* ids and owners that are not there */
} wanted;

/* The ids of the request that are there. */
static efface_status find_ids(const efface_data *data, const efface_request *request, wanted *to,
                              efface_error *error) {
    for (size_t i = 0; i < request->n_ids; i++) {
        size_t position;
        if (efface_data_find(data, request->ids[i], &position) == EFFACE_OK)
            to->ids[to->n_ids++] = request->ids[i];
    }
    to->n_missing = request->n_ids - to->n_ids;
    const known_ids known = {.data = data};
    return to->n_missing == 0 || request->missing == EFFACE_MISSING_SKIP || data->part != NULL
               ? EFFACE_OK
               : fail_missing(&known, request->ids, request->n_ids, to->n_missing, error);
}

static efface_status fail_owner(uint64_t owner, efface_error *error) {
    return ef_fail(error, EFFACE_E_NOT_FOUND,
                   "nothing was forgotten: the owner %" PRIu64 " has no rows", owner);
}

/* Adds the ids of the rows of owners that the request does not name by itself. `owners` and `named`
 * are in order. */
static efface_status add_owned(const efface_data *data, const efface_request *request,
                               const uint64_t *owners, const uint64_t *named, bool *seen,
                               wanted *to, efface_error *error) {
    const size_t n = request->n_owners, n_named = to->n_ids;
    for (size_t i = 0; i < data->n_rows; i++) {
        const efface_row row = efface_data_row(data, i);
        const uint64_t *const owner = find_number(owners, n, row.owner);
        if (owner == NULL)
            continue;
        seen[owner - owners] = true;
        if (find_number(named, n_named, row.id) == NULL)
            to->ids[to->n_ids++] = row.id;
    }
    for (size_t i = 0; i < n; i++) {
        if (!seen[i] && request->missing == EFFACE_MISSING_FAIL && data->part == NULL)
            return fail_owner(owners[i], error);
        to->n_missing += !seen[i];
    }
    return EFFACE_OK;
}

/* Whether a request may name these owners, which are in order. */
static efface_status check_owners(const uint64_t *owners, size_t n, efface_error *error) {
    if (find_number(owners, n, EFFACE_NO_OWNER) != NULL)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "EFFACE_NO_OWNER is not an owner; forget rows without an owner by their ids");
    for (size_t i = 1; i < n; i++)
        if (owners[i] == owners[i - 1])
            return ef_fail(error, EFFACE_E_DUPLICATE,
                           "nothing was forgotten: the owner %" PRIu64 " is named twice",
                           owners[i]);
    return EFFACE_OK;
}

static efface_status find_owned(const efface_data *data, const efface_request *request, wanted *to,
                                efface_error *error) {
    uint64_t *const owners = ef_alloc(request->n_owners, sizeof *owners);
    uint64_t *const named = ef_alloc(to->n_ids, sizeof *named);
    bool *const seen = ef_alloc_zero(request->n_owners, sizeof *seen);
    efface_status status = EFFACE_OK;
    if (owners == NULL || named == NULL || seen == NULL) {
        status = ef_fail_memory(error);
    } else {
        memcpy(owners, request->owners, request->n_owners * sizeof *owners);
        qsort(owners, request->n_owners, sizeof *owners, compare_numbers);
        if (to->n_ids != 0) {
            memcpy(named, to->ids, to->n_ids * sizeof *named);
            qsort(named, to->n_ids, sizeof *named, compare_numbers);
        }
        status = check_owners(owners, request->n_owners, error);
        if (status == EFFACE_OK)
            status = add_owned(data, request, owners, named, seen, to, error);
    }
    ef_free(owners);
    ef_free(named);
    ef_free(seen);
    return status;
}

/* In a group: counts the ids and owners of a request that no rank has, from the rows that left. */
static efface_status count_missing(const ef_change *left, const efface_request *request,
                                   size_t *n_missing, efface_error *error) {
    uint64_t *const ids = ef_alloc(left->n_rows, sizeof *ids);
    uint64_t *const owners = ef_alloc(left->n_rows, sizeof *owners);
    const bool fails = request->missing == EFFACE_MISSING_FAIL;
    efface_status status = ids != NULL && owners != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < left->n_rows; i++) {
        ids[i] = left->rows[i].id;
        owners[i] = left->rows[i].owner;
    }
    const size_t n = status == EFFACE_OK ? left->n_rows : 0;
    if (n != 0) {
        qsort(ids, n, sizeof *ids, compare_numbers);
        qsort(owners, n, sizeof *owners, compare_numbers);
    }
    *n_missing = 0;
    for (size_t i = 0; status == EFFACE_OK && i < request->n_ids; i++)
        *n_missing += find_number(ids, n, request->ids[i]) == NULL;
    const known_ids known = {.ids = ids, .n_ids = n};
    if (status == EFFACE_OK && fails && *n_missing != 0)
        status = fail_missing(&known, request->ids, request->n_ids, *n_missing, error);
    uint64_t least = UINT64_MAX; /* owner that is missing */
    size_t n_owners = 0;
    for (size_t i = 0; status == EFFACE_OK && i < request->n_owners; i++)
        if (find_number(owners, n, request->owners[i]) == NULL) {
            n_owners++;
            least = request->owners[i] < least ? request->owners[i] : least;
        }
    if (fails && n_owners != 0)
        status = fail_owner(least, error);
    *n_missing += n_owners;
    ef_free(ids);
    ef_free(owners);
    return status;
}

/* Tells all ranks of a change that this one has made of its rows. If that fails, the change is
 * undone and released. */
static efface_status share(ef_joint_change *change, efface_data *data, efface_error *error) {
    const efface_status status = ef_joint_share(change, data, error);
    if (status != EFFACE_OK) {
        ef_joint_undo(change, data);
        ef_joint_free(change);
    }
    return status;
}

/* Takes the rows of a request, or those of them that are there, out of the set. On success the
 * caller has the change to release. */
static efface_status take_out(efface_data *data, const efface_request *request,
                              ef_joint_change *change, size_t *n_missing, efface_error *error) {
    if (request == NULL || (request->ids == NULL && request->n_ids != 0) ||
        (request->owners == NULL && request->n_owners != 0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "the request and its lists must not be NULL");
    size_t room = request->n_ids;
    if (request->n_owners != 0 && !ef_add_size(room, data->n_rows, &room))
        return ef_fail_memory(error);
    wanted found = {.ids = ef_alloc(room, sizeof *found.ids)};
    if (found.ids == NULL)
        return ef_fail_memory(error);
    efface_status status = find_ids(data, request, &found, error);
    if (status == EFFACE_OK && request->n_owners != 0)
        status = find_owned(data, request, &found, error);
    *change = (ef_joint_change){0};
    if (status == EFFACE_OK && !ef_change_init(&change->own, data->n_columns, found.n_ids))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        status = ef_change_forget(&change->own, data, found.ids, found.n_ids, error);
        if (status != EFFACE_OK)
            ef_joint_free(change);
    }
    *n_missing = found.n_missing;
    ef_free(found.ids);
    if (status == EFFACE_OK)
        status = share(change, data, error);
    if (status == EFFACE_OK && data->part != NULL) {
        status = count_missing(&change->all, request, n_missing, error);
        if (status == EFFACE_E_NOT_FOUND)
            ef_team_fail(ef_data_team(data));
        if (status != EFFACE_OK) {
            ef_joint_undo(change, data);
            ef_joint_free(change);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- the models follow */

/* A model to be. */
typedef struct promise {
    void *next;
    efface_report report;
} promise;

/* Whether a model had more to do than to correct sums. One that says where has gone into its parts,
 * though none of them was repaired. */
static bool went_deep(const efface_report *report) {
    return report->action != EFFACE_ACTION_UNTOUCHED || report->where[0] != '\0';
}

/* Rows that all ranks have visited, from those that each has. */
static efface_status add_visits(ef_team *team, efface_report *report, efface_error *error) {
    int64_t visits = (int64_t)report->rows_visited;
    const efface_status status = ef_team_sum(team, &visits, 1, error);
    report->rows_visited = (uint64_t)visits;
    return status;
}

/* Lets the models follow a change of their set, or the set go back; and releases the change. `rows`
 * is what all reports have in common. */
static efface_status follow(efface_model *const *models, size_t n_models, efface_data *data,
                            ef_joint_change *joint, const efface_report *rows, double begin,
                            efface_report *reports, efface_error *error) {
    const ef_change *const change = ef_joint_seen(joint, data);
    ef_team *const team = ef_data_team(data);
    /* Without rows there is nothing to follow. One model, the common case, needs no memory here. */
    const size_t n = change->n_rows != 0 ? n_models : 0;
    promise one, *const promises = n > 1 ? ef_alloc(n, sizeof *promises) : &one;
    efface_status status = promises != NULL ? EFFACE_OK : ef_fail_memory(error);
    const ef_news news = {.counts = ef_data_whole(data), .rows = data, .change = change};
    size_t n_made = 0;
    bool deep = false; /* calls went deeper than for models that are untouched */
    while (status == EFFACE_OK && n_made < n) {
        const efface_model *const model = models[n_made];
        promise *const made = &promises[n_made];
        bool done = false;
        assert(ef_stamps_equal(model->stamp, change->before));
        made->report = *rows;
        status =
            model->family->follow(model->state, &news, &made->next, &done, &made->report, error);
        deep |= status != EFFACE_OK || went_deep(&made->report);
        n_made += status == EFFACE_OK;
    }
    for (size_t i = 0; status == EFFACE_OK && deep && i < n; i++)
        status = add_visits(team, &promises[i].report, error);
    status = ef_team_agree(team, status, error);
    for (size_t i = 0; i < n_made; i++) {
        if (status == EFFACE_OK) {
            models[i]->family->commit(models[i]->state, promises[i].next);
            models[i]->stamp = data->stamp;
        } else {
            models[i]->family->drop(promises[i].next);
        }
    }
    const double seconds = now() - begin;
    for (size_t i = 0; status == EFFACE_OK && reports != NULL && i < n_models; i++) {
        reports[i] = i < n ? promises[i].report : *rows;
        reports[i].seconds = seconds;
    }
    if (promises != &one)
        ef_free(promises);
    if (status == EFFACE_OK)
        ef_joint_keep(joint, data);
    else
        ef_joint_undo(joint, data);
    ef_joint_free(joint);
    ef_wipe_stack(deep ? EF_DEEP_STACK : EF_SHALLOW_STACK);
    return status;
}

efface_status ef_model_follow_cold(efface_model *model, const ef_counts *counts,
                                   const ef_change *change, bool only_look, bool *done,
                                   efface_report *report, efface_error *error) {
    assert(model->stamp.set == 0); /* what it keeps by position would not follow */
    const ef_news news = {.counts = counts, .change = change, .only_look = only_look};
    void *next = NULL;
    const efface_status status =
        model->family->follow(model->state, &news, &next, done, report, error);
    if (status == EFFACE_OK && *done && !only_look)
        model->family->commit(model->state, next);
    return status;
}

/* ---------------------------------------------------------------- forget */

static efface_report report_of(size_t n_forgotten, size_t n_learned, size_t n_missing) {
    return (efface_report){.action = EFFACE_ACTION_UNTOUCHED,
                           .reason = ef_because_nothing,
                           .rows_forgotten = n_forgotten,
                           .rows_learned = n_learned,
                           .rows_missing = n_missing};
}

efface_status efface_models_forget(efface_model *const *models, size_t n_models, efface_data *data,
                                   const efface_request *request, efface_report *reports,
                                   efface_error *error) {
    const double begin = now();
    ef_team *const team = ef_team_of_call(data);
    ef_joint_change change;
    size_t n_missing = 0;
    efface_status status = check_models(models, n_models, data, error);
    if (status == EFFACE_OK)
        status = take_out(data, request, &change, &n_missing, error);
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const efface_report rows = report_of(ef_joint_seen(&change, data)->n_rows, 0, n_missing);
    return follow(models, n_models, data, &change, &rows, begin, reports, error);
}

efface_status efface_model_preview(efface_model *model, efface_data *data,
                                   const efface_request *request, efface_report *report,
                                   efface_error *error) {
    const double begin = now();
    ef_team *const team = ef_team_of_call(data);
    ef_joint_change change;
    size_t n_missing = 0;
    efface_status status = check_set(model, data, error);
    if (status == EFFACE_OK)
        status = take_out(data, request, &change, &n_missing, error);
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const ef_change *const seen = ef_joint_seen(&change, data);
    const ef_news news = {
        .counts = ef_data_whole(data), .rows = data, .change = seen, .only_look = true};
    promise would = {.report = report_of(seen->n_rows, 0, n_missing)};
    bool is_done = false;
    if (seen->n_rows != 0)
        status =
            model->family->follow(model->state, &news, &would.next, &is_done, &would.report, error);
    if (status == EFFACE_OK && went_deep(&would.report))
        status = add_visits(team, &would.report, error);
    status = ef_team_agree(team, status, error);
    ef_joint_undo(&change, data);
    ef_joint_free(&change);
    ef_wipe_stack(EF_DEEP_STACK);
    if (status == EFFACE_OK && report != NULL) {
        would.report.seconds = now() - begin;
        *report = would.report;
    }
    return status;
}

/* ---------------------------------------------------------------- learn and update */

/* In a group: rows that come must be on no other rank; what these have sent is known. */
static efface_status check_new(const ef_joint_change *change, const efface_data *data,
                               efface_error *error) {
    for (size_t i = 0; i < change->all.n_rows; i++) {
        size_t position;
        const uint64_t id = change->all.rows[i].id;
        if (change->all.positions[i] == EF_NO_POSITION &&
            efface_data_find(data, id, &position) == EFFACE_OK)
            return ef_fail(error, EFFACE_E_DUPLICATE,
                           "the id %" PRIu64 " comes to one rank and is on another", id);
    }
    return EFFACE_OK;
}

/* Rows come to the set. On success the caller has the change to release. */
static efface_status take_in(efface_data *data, const efface_rows *rows, ef_joint_change *change,
                             efface_error *error) {
    *change = (ef_joint_change){0};
    if (rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "rows must not be NULL");
    if (data->part != NULL && rows->ids == NULL && rows->n_rows != 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "rows that come to a part of a group's set need ids; give each row one");
    if (!ef_change_init(&change->own, data->n_columns, rows->n_rows))
        return ef_fail_memory(error);
    efface_status status = ef_change_learn(&change->own, data, rows, error);
    if (status != EFFACE_OK) {
        ef_joint_free(change);
        return status;
    }
    status = share(change, data, error);
    if (status != EFFACE_OK)
        return status;
    status = check_new(change, data, error);
    if (status != EFFACE_OK) {
        ef_joint_undo(change, data);
        ef_joint_free(change);
    }
    return status;
}

efface_status efface_models_learn(efface_model *const *models, size_t n_models, efface_data *data,
                                  const efface_rows *rows, efface_report *reports,
                                  efface_error *error) {
    const double begin = now();
    ef_team *const team = ef_team_of_call(data);
    ef_joint_change change;
    efface_status status = check_models(models, n_models, data, error);
    if (status == EFFACE_OK)
        status = take_in(data, rows, &change, error);
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const efface_report done = report_of(0, ef_joint_seen(&change, data)->n_rows, 0);
    return follow(models, n_models, data, &change, &done, begin, reports, error);
}

typedef struct own_rows {
    efface_rows rows;
    void *block; /* their arrays */
} own_rows;

/* Those of some rows that this rank has. All ranks check all, so that all of them refuse what is
 * wrong, with its place among the rows that were given. */
static efface_status find_own(const efface_data *data, const efface_rows *given, own_rows *own,
                              efface_error *error) {
    const efface_status status = ef_rows_check(data, given, error);
    if (status != EFFACE_OK)
        return status;
    const size_t n = given->n_rows, d = data->n_columns;
    const size_t stride = given->stride != 0 ? given->stride : d;
    float *values;
    uint64_t *ids, *owners;
    int64_t *weights, *labels, *marks;
    const ef_array arrays[] = {
        {&values, n, d * sizeof *values}, {&ids, n, sizeof *ids},
        {&owners, n, sizeof *owners},     {&weights, n, sizeof *weights},
        {&labels, n, sizeof *labels},     {&marks, n, sizeof *marks},
    };
    own->block = EF_ARRAYS_TAKE(arrays, false);
    if (own->block == NULL)
        return ef_fail_memory(error);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        size_t position;
        if (efface_data_find(data, given->ids[i], &position) != EFFACE_OK)
            continue;
        memcpy(values + m * d, given->values + i * stride, d * sizeof *values);
        ids[m] = given->ids[i];
        owners[m] = given->owners != NULL ? given->owners[i] : 0;
        weights[m] = given->weights != NULL ? given->weights[i] : 0;
        labels[m] = given->labels != NULL ? given->labels[i] : 0;
        marks[m] = given->marks != NULL ? given->marks[i] : 0;
        m++;
    }
    own->rows = (efface_rows){
        .n_rows = m,
        .values = values,
        .ids = ids,
        .owners = given->owners != NULL ? owners : NULL,
        .weights = given->weights != NULL ? weights : NULL,
        .labels = given->labels != NULL ? labels : NULL,
        .marks = given->marks != NULL ? marks : NULL,
    };
    return EFFACE_OK;
}

/* In a group: whether some rank had each row of an update. */
static efface_status check_old(const ef_change *change, const efface_rows *rows, ef_team *team,
                               efface_error *error) {
    const efface_request request = {.ids = rows->ids, .n_ids = rows->n_rows};
    size_t n_missing = 0;
    const efface_status status = count_missing(change, &request, &n_missing, error);
    if (status != EFFACE_E_NOT_FOUND)
        return status;
    ef_team_fail(team);
    return ef_fail(error, EFFACE_E_NOT_FOUND, "nothing was updated: %zu of %zu ids are on no rank",
                   n_missing, rows->n_rows);
}

/* Rows of the set get other values. On success the caller has the change to release. */
static efface_status replace(efface_data *data, const efface_rows *rows, ef_joint_change *change,
                             efface_error *error) {
    size_t n_changes;
    own_rows own = {.block = NULL};
    *change = (ef_joint_change){0};
    if (rows == NULL || (rows->ids == NULL && rows->n_rows != 0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "rows and their ids must not be NULL");
    if (!ef_mul_size(rows->n_rows, 2, &n_changes) ||
        !ef_change_init(&change->own, data->n_columns, n_changes))
        return ef_fail_memory(error);
    efface_status status = data->part != NULL ? find_own(data, rows, &own, error) : EFFACE_OK;
    if (status == EFFACE_OK)
        status = ef_change_update(&change->own, data, data->part != NULL ? &own.rows : rows, error);
    ef_free(own.block);
    if (status != EFFACE_OK) {
        ef_joint_free(change);
        return status;
    }
    status = share(change, data, error);
    if (status != EFFACE_OK || data->part == NULL)
        return status;
    status = check_old(&change->all, rows, ef_data_team(data), error);
    if (status != EFFACE_OK) {
        ef_joint_undo(change, data);
        ef_joint_free(change);
    }
    return status;
}

efface_status efface_models_update(efface_model *const *models, size_t n_models, efface_data *data,
                                   const efface_rows *rows, efface_report *reports,
                                   efface_error *error) {
    const double begin = now();
    ef_team *const team = ef_team_of_call(data);
    ef_joint_change change;
    efface_status status = check_models(models, n_models, data, error);
    if (status == EFFACE_OK)
        status = replace(data, rows, &change, error);
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const efface_report done = report_of(rows->n_rows, rows->n_rows, 0);
    return follow(models, n_models, data, &change, &done, begin, reports, error);
}

/* ---------------------------------------------------------------- one model */

efface_status efface_model_forget(efface_model *model, efface_data *data,
                                  const efface_request *request, efface_report *report,
                                  efface_error *error) {
    return efface_models_forget(&model, 1, data, request, report, error);
}

efface_status efface_model_learn(efface_model *model, efface_data *data, const efface_rows *rows,
                                 efface_report *report, efface_error *error) {
    return efface_models_learn(&model, 1, data, rows, report, error);
}

efface_status efface_model_update(efface_model *model, efface_data *data, const efface_rows *rows,
                                  efface_report *report, efface_error *error) {
    return efface_models_update(&model, 1, data, rows, report, error);
}

/* ---------------------------------------------------------------- rekey */

efface_status efface_model_rekey(efface_model *model, const efface_data *data, uint64_t seed,
                                 efface_report *report, efface_error *error) {
    const double begin = now();
    ef_team *const team = ef_team_of_call(data);
    efface_status status = check_set(model, data, error);
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const ef_family *const family = model->family;
    efface_params *const params =
        family->copy_params(family->params(model->state), data->n_columns);
    void *fresh = NULL;
    if (params == NULL) {
        status = ef_fail_memory(error);
    } else {
        params->seed = seed;
        status = family->fit(data, params, &fresh, error);
    }
    efface_report done = {.action = EFFACE_ACTION_REFITTED, .reason = ef_because_rekeyed};
    if (status == EFFACE_OK) {
        done.rows_visited = family->n_visited(fresh, data);
        status = add_visits(team, &done, error);
    }
    ef_free(params);
    ef_wipe_stack(EF_DEEP_STACK);
    status = ef_team_agree(team, status, error);
    if (status != EFFACE_OK) {
        if (fresh != NULL)
            family->free(fresh);
        return status;
    }
    family->free(model->state);
    model->state = fresh;
    done.seconds = now() - begin;
    if (report != NULL)
        *report = done;
    return EFFACE_OK;
}
