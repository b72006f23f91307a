/*
 * Forget, learn, update: one request changes the set and its models together, or none of them.
 *
 * The set is changed first, for the models follow what is there. Each model works out its new state
 * beside the old one. When all are done, they are committed, which cannot fail. If one model cannot
 * follow, the set is changed back by operations that need no memory and so cannot fail.
 */
#define _POSIX_C_SOURCE 200809L
#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/following/revision.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOST_IDS_NAMED 8

const char *efface_action_name(efface_action action) {
    switch (action) {
    case EFFACE_ACTION_UNTOUCHED: return "sums corrected";
    case EFFACE_ACTION_REPAIRED: return "repaired";
    case EFFACE_ACTION_REFITTED: return "refitted";
    }
    return "unknown action";
}

const char *efface_reason_name(efface_reason reason) {
    switch (reason) {
    case EFFACE_REASON_NONE: return "nothing else changed";
    case EFFACE_REASON_CENTERS: return "a centroid of a level moved";
    case EFFACE_REASON_GAMMA: return "the balance threshold moved a centroid";
    case EFFACE_REASON_EMPTY: return "a cluster became empty or was reseeded";
    case EFFACE_REASON_STOP: return "the stopping point changed";
    case EFFACE_REASON_SEED: return "a seed changed";
    case EFFACE_REASON_BOUND: return "the bound of the grid moved";
    case EFFACE_REASON_SCALE: return "the range of a column moved";
    case EFFACE_REASON_EPSILON: return "the lattice width moved";
    case EFFACE_REASON_CLUSTERS: return "the number of centroids changed";
    case EFFACE_REASON_REKEY: return "a new seed was given";
    case EFFACE_REASON_RATE: return "the size of the sample moved";
    case EFFACE_REASON_SAMPLE: return "the sample or its jury changed";
    case EFFACE_REASON_WIDTH: return "the width of the tree moved";
    case EFFACE_REASON_METHOD: return "the definition of the method changed";
    case EFFACE_REASON_REDRAW: return "randomness was drawn anew";
    }
    return "unknown reason";
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The stamp of a set tells whether it belongs to the model; its number of rows does not. Another
 * set of the same size, or the same set after other changes, would give a model of rows that are
 * not there. */
static efface_status check_set(const ef_kmeans *model, const efface_data *data,
                               efface_error *error) {
    if (model == NULL || data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model and data must not be NULL");
    if (data->stamp.set != model->stamp.set)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "this set has %zu rows of %" PRIu32
                       " columns and is not the set of the model, which has %" PRIu64
                       " rows of %" PRIu32 " columns; give the set that the model was fitted to or "
                       "decoded with, or fit a model to this set",
                       data->n_rows, data->n_columns, model->n_rows, model->domain.map.n_columns);
    if (data->stamp.generation != model->stamp.generation)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the set was changed without this model: the set has %zu rows now, and the "
                       "model was made from %" PRIu64
                       " rows, perhaps other ones; fit the model again, and from then on change "
                       "the set only by requests to all of its models",
                       data->n_rows, model->n_rows);
    assert(data->n_rows == model->n_rows && data->total_weight == model->total_weight);
    return EFFACE_OK;
}

static efface_status check_models(ef_kmeans *const *models, size_t n_models,
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

static efface_status fail_missing(const efface_data *data, const uint64_t *ids, size_t n_ids,
                                  size_t n_missing, efface_error *error) {
    char list[MOST_IDS_NAMED * 22] = "";
    size_t used = 0, named = 0;
    for (size_t i = 0; i < n_ids && named < MOST_IDS_NAMED; i++) {
        size_t position;
        if (efface_data_find(data, ids[i], &position) == EFFACE_OK)
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

/* Copies the ids that are there to `found`. */
static efface_status find_ids(const efface_data *data, const uint64_t *ids, size_t n_ids,
                              efface_missing missing, uint64_t *found, size_t *n_found,
                              efface_error *error) {
    size_t n = 0;
    for (size_t i = 0; i < n_ids; i++) {
        size_t position;
        if (efface_data_find(data, ids[i], &position) == EFFACE_OK)
            found[n++] = ids[i];
    }
    if (n != n_ids && missing == EFFACE_MISSING_FAIL)
        return fail_missing(data, ids, n_ids, n_ids - n, error);
    *n_found = n;
    return EFFACE_OK;
}

/* Takes the rows with these ids, or those of them that are there, out of the set. On success the
 * caller has the change to release. */
static efface_status take_out(efface_data *data, const uint64_t *ids, size_t n_ids,
                              efface_missing missing, ef_change *change, efface_error *error) {
    if (ids == NULL && n_ids != 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "ids must not be NULL");
    uint64_t *const found = ef_alloc(n_ids, sizeof *found);
    if (found == NULL)
        return ef_fail_memory(error);
    size_t n_found = 0;
    efface_status status = find_ids(data, ids, n_ids, missing, found, &n_found, error);
    if (status == EFFACE_OK && !ef_change_init(change, data->n_columns, n_found))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        status = ef_change_forget(change, data, found, n_found, error);
        if (status != EFFACE_OK)
            ef_change_free(change);
    }
    ef_free(found);
    return status;
}

/* ---------------------------------------------------------------- the models follow */

/* Lets the models follow a change of their set, or the set go back; and releases the change. `done`
 * is what all reports have in common. */
static efface_status follow(ef_kmeans *const *models, size_t n_models, efface_data *data,
                            ef_change *change, const efface_report *done, double begin,
                            efface_report *reports, efface_error *error) {
    /* Without rows there is nothing to follow. One model, the common case, needs no memory here. */
    const size_t n = change->n_rows != 0 ? n_models : 0;
    ef_revision one, *const revisions = n > 1 ? ef_alloc(n, sizeof *revisions) : &one;
    efface_status status = revisions != NULL ? EFFACE_OK : ef_fail_memory(error);
    size_t n_made = 0;
    for (; status == EFFACE_OK && n_made < n; n_made++)
        status = ef_revision_make(&revisions[n_made], models[n_made], data, change, error);
    const bool reported = status == EFFACE_OK && reports != NULL;
    bool deep = status != EFFACE_OK; /* calls went deeper than for models that are untouched */
    for (size_t i = 0; reported && i < n_models; i++)
        reports[i] = *done;
    for (size_t i = 0; i < n_made; i++) {
        deep |= revisions[i].build || revisions[i].resample || revisions[i].refit ||
                revisions[i].ascent != NULL;
        if (reported)
            ef_revision_report(&revisions[i], &reports[i]);
        if (status == EFFACE_OK)
            ef_revision_commit(&revisions[i], models[i]);
        ef_revision_free(&revisions[i]);
    }
    if (revisions != &one)
        ef_free(revisions);
    if (status != EFFACE_OK)
        ef_change_undo(change, data);
    ef_change_free(change);
    ef_wipe_stack(deep ? EF_DEEP_STACK : EF_SHALLOW_STACK);
    const double seconds = now() - begin;
    for (size_t i = 0; reported && i < n_models; i++)
        reports[i].seconds = seconds;
    return status;
}

/* ---------------------------------------------------------------- forget */

efface_status efface_models_forget(ef_kmeans *const *models, size_t n_models, efface_data *data,
                                   const uint64_t *ids, size_t n_ids, efface_missing missing,
                                   efface_report *reports, efface_error *error) {
    const double begin = now();
    ef_change change;
    efface_status status = check_models(models, n_models, data, error);
    if (status == EFFACE_OK)
        status = take_out(data, ids, n_ids, missing, &change, error);
    if (status != EFFACE_OK)
        return status;
    const efface_report done = {.action = EFFACE_ACTION_UNTOUCHED,
                                .rows_forgotten = change.n_rows,
                                .rows_missing = n_ids - change.n_rows};
    return follow(models, n_models, data, &change, &done, begin, reports, error);
}

efface_status efface_models_forget_owner(ef_kmeans *const *models, size_t n_models,
                                         efface_data *data, uint64_t owner, efface_missing missing,
                                         efface_report *reports, efface_error *error) {
    const efface_status status = check_models(models, n_models, data, error);
    if (status != EFFACE_OK)
        return status;
    if (owner == EFFACE_NO_OWNER)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "EFFACE_NO_OWNER is not an owner; forget rows without an owner by their ids");
    size_t n = 0;
    for (size_t i = 0; i < data->n_rows; i++)
        n += efface_data_row(data, i).owner == owner;
    if (n == 0 && missing == EFFACE_MISSING_FAIL)
        return ef_fail(error, EFFACE_E_NOT_FOUND,
                       "nothing was forgotten: the owner %" PRIu64 " has no rows", owner);
    uint64_t *const ids = ef_alloc(n, sizeof *ids);
    if (ids == NULL)
        return ef_fail_memory(error);
    n = 0;
    for (size_t i = 0; i < data->n_rows; i++)
        if (efface_data_row(data, i).owner == owner)
            ids[n++] = ef_data_id(data, i);
    const efface_status done =
        efface_models_forget(models, n_models, data, ids, n, EFFACE_MISSING_FAIL, reports, error);
    ef_free(ids);
    return done;
}

efface_status efface_kmeans_preview(const ef_kmeans *model, efface_data *data, const uint64_t *ids,
                                    size_t n_ids, efface_missing missing, efface_report *report,
                                    efface_error *error) {
    const double begin = now();
    ef_change change;
    efface_status status = check_set(model, data, error);
    if (status == EFFACE_OK)
        status = take_out(data, ids, n_ids, missing, &change, error);
    if (status != EFFACE_OK)
        return status;
    efface_report done = {.action = EFFACE_ACTION_UNTOUCHED,
                          .rows_forgotten = change.n_rows,
                          .rows_missing = n_ids - change.n_rows};
    if (change.n_rows != 0)
        status = ef_kmeans_look(model, data, &change, &done, error);
    ef_change_undo(&change, data);
    ef_change_free(&change);
    ef_wipe_stack(EF_DEEP_STACK);
    if (status == EFFACE_OK && report != NULL) {
        done.seconds = now() - begin;
        *report = done;
    }
    return status;
}

/* ---------------------------------------------------------------- learn and update */

efface_status efface_models_learn(ef_kmeans *const *models, size_t n_models, efface_data *data,
                                  const efface_rows *rows, efface_report *reports,
                                  efface_error *error) {
    const double begin = now();
    ef_change change;
    efface_status status = check_models(models, n_models, data, error);
    if (status != EFFACE_OK)
        return status;
    if (rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "rows must not be NULL");
    if (!ef_change_init(&change, data->n_columns, rows->n_rows))
        return ef_fail_memory(error);
    status = ef_change_learn(&change, data, rows, error);
    if (status != EFFACE_OK) {
        ef_change_free(&change);
        return status;
    }
    const efface_report done = {.action = EFFACE_ACTION_UNTOUCHED, .rows_learned = rows->n_rows};
    return follow(models, n_models, data, &change, &done, begin, reports, error);
}

efface_status efface_models_update(ef_kmeans *const *models, size_t n_models, efface_data *data,
                                   const efface_rows *rows, efface_report *reports,
                                   efface_error *error) {
    const double begin = now();
    ef_change change;
    size_t n_changes;
    efface_status status = check_models(models, n_models, data, error);
    if (status != EFFACE_OK)
        return status;
    if (rows == NULL || (rows->ids == NULL && rows->n_rows != 0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "rows and their ids must not be NULL");
    if (!ef_mul_size(rows->n_rows, 2, &n_changes) ||
        !ef_change_init(&change, data->n_columns, n_changes))
        return ef_fail_memory(error);
    status = ef_change_update(&change, data, rows, error);
    if (status != EFFACE_OK) {
        ef_change_free(&change);
        return status;
    }
    const efface_report done = {.action = EFFACE_ACTION_UNTOUCHED,
                                .rows_forgotten = rows->n_rows,
                                .rows_learned = rows->n_rows};
    return follow(models, n_models, data, &change, &done, begin, reports, error);
}

/* ---------------------------------------------------------------- one model */

efface_status efface_kmeans_forget(ef_kmeans *model, efface_data *data, const uint64_t *ids,
                                   size_t n_ids, efface_missing missing, efface_report *report,
                                   efface_error *error) {
    return efface_models_forget(&model, 1, data, ids, n_ids, missing, report, error);
}

efface_status efface_kmeans_forget_owner(ef_kmeans *model, efface_data *data, uint64_t owner,
                                         efface_missing missing, efface_report *report,
                                         efface_error *error) {
    return efface_models_forget_owner(&model, 1, data, owner, missing, report, error);
}

efface_status efface_kmeans_learn(ef_kmeans *model, efface_data *data, const efface_rows *rows,
                                  efface_report *report, efface_error *error) {
    return efface_models_learn(&model, 1, data, rows, report, error);
}

efface_status efface_kmeans_update(ef_kmeans *model, efface_data *data, const efface_rows *rows,
                                   efface_report *report, efface_error *error) {
    return efface_models_update(&model, 1, data, rows, report, error);
}

/* ---------------------------------------------------------------- rekey */

efface_status efface_kmeans_rekey(ef_kmeans *model, const efface_data *data, uint64_t seed,
                                  efface_report *report, efface_error *error) {
    const double begin = now();
    efface_status status = check_set(model, data, error);
    if (status != EFFACE_OK)
        return status;
    efface_kmeans_params params = model->params;
    params.common.seed = seed;
    ef_kmeans *fresh = NULL;
    status = efface_kmeans_fit(data, &params, &fresh, error);
    if (status != EFFACE_OK)
        return status;
    ef_kmeans_become(model, fresh);
    if (report != NULL)
        *report = (efface_report){
            .action = EFFACE_ACTION_REFITTED,
            .reason = EFFACE_REASON_REKEY,
            .levels_replayed = ef_count_partitions(model, 0),
            .rows_visited = model->work.rows_assigned,
            .seconds = now() - begin,
        };
    return EFFACE_OK;
}
