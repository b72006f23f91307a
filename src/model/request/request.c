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
#include "base/errors/clock.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/request/changing_rows.h"
#include "model/request/missing_values.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

const char *efface_action_name(efface_action action) {
    switch (action) {
    case EFFACE_ACTION_ADJUSTED: return "adjusted";
    case EFFACE_ACTION_REPAIRED: return "repaired";
    case EFFACE_ACTION_REFITTED: return "refitted";
    }
    return "unknown action";
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

/* ---------------------------------------------------------------- the models follow */

/* A model to be. */
typedef struct promise {
    void *next;
    efface_report report;
} promise;

/* Whether a model had more to do than to correct sums. One that says where has gone into its parts,
 * though none of them was repaired. */
static bool went_deep(const efface_report *report) {
    return report->action != EFFACE_ACTION_ADJUSTED || report->where[0] != '\0';
}

/* A family says only that it needed no more than the rows that change; what becomes of their part is
 * said here. */
static const char *shared(const ef_change *change) {
    if (change->n_rows == 0)
        return ef_because_nothing;
    if (change->replaces)
        return ef_because_replaced;
    return change->leaves[0] ? ef_because_taken_out : ef_because_added;
}

static efface_status follow_one(const ef_family *family, void *state, const ef_news *news,
                                void **next, bool *done, efface_report *report,
                                efface_error *error) {
    const efface_status status = family->follow(state, news, next, done, report, error);
    if (report->reason == ef_because_nothing)
        report->reason = shared(news->change);
    return status;
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
    bool deep = false; /* calls went deeper than where sums are corrected */
    while (status == EFFACE_OK && n_made < n) {
        const efface_model *const model = models[n_made];
        promise *const made = &promises[n_made];
        bool done = false;
        assert(ef_stamps_equal(model->stamp, change->before));
        made->report = *rows;
        status = follow_one(model->family, model->state, &news, &made->next, &done, &made->report,
                            error);
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
    const double seconds = ef_clock_seconds() - begin;
    for (size_t i = 0; status == EFFACE_OK && reports != NULL && i < n_models; i++) {
        reports[i] = i < n ? promises[i].report : *rows;
        reports[i].reason = ef_reason_told(reports[i].reason, false);
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
    report->reason = ef_because_nothing;
    const efface_status status =
        follow_one(model->family, model->state, &news, &next, done, report, error);
    if (status == EFFACE_OK && *done && !only_look)
        model->family->commit(model->state, next);
    if (status == EFFACE_OK)
        report->reason = ef_reason_told(report->reason, only_look);
    return status;
}

/* ---------------------------------------------------------------- forget */

static efface_report report_of(size_t n_forgotten, size_t n_learned, size_t n_missing) {
    return (efface_report){.action = EFFACE_ACTION_ADJUSTED,
                           .reason = ef_because_nothing,
                           .rows_forgotten = n_forgotten,
                           .rows_learned = n_learned,
                           .rows_missing = n_missing};
}

efface_status efface_models_forget(efface_model *const *models, size_t n_models, efface_data *data,
                                   const efface_request *request, efface_report *reports,
                                   efface_error *error) {
    const double begin = ef_clock_seconds();
    ef_team *const team = ef_team_of_call(data);
    ef_joint_change change;
    size_t n_missing = 0;
    efface_status status = check_models(models, n_models, data, error);
    EF_THEN(status, ef_take_out(data, request, &change, &n_missing, error));
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const efface_report rows = report_of(ef_joint_seen(&change, data)->n_rows, 0, n_missing);
    return follow(models, n_models, data, &change, &rows, begin, reports, error);
}

efface_status efface_model_preview(efface_model *model, efface_data *data,
                                   const efface_request *request, efface_report *report,
                                   efface_error *error) {
    const double begin = ef_clock_seconds();
    ef_team *const team = ef_team_of_call(data);
    ef_joint_change change;
    size_t n_missing = 0;
    efface_status status = check_set(model, data, error);
    EF_THEN(status, ef_take_out(data, request, &change, &n_missing, error));
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const ef_change *const seen = ef_joint_seen(&change, data);
    const ef_news news = {
        .counts = ef_data_whole(data), .rows = data, .change = seen, .only_look = true};
    promise would = {.report = report_of(seen->n_rows, 0, n_missing)};
    bool is_done = false;
    if (seen->n_rows != 0)
        status = follow_one(model->family, model->state, &news, &would.next, &is_done,
                            &would.report, error);
    if (status == EFFACE_OK && went_deep(&would.report))
        status = add_visits(team, &would.report, error);
    status = ef_team_agree(team, status, error);
    ef_joint_undo(&change, data);
    ef_joint_free(&change);
    ef_wipe_stack(EF_DEEP_STACK);
    if (status == EFFACE_OK && report != NULL) {
        would.report.seconds = ef_clock_seconds() - begin;
        *report = would.report;
        report->reason = ef_reason_told(report->reason, true);
    }
    return status;
}

/* ---------------------------------------------------------------- learn and update */

/* Whether all models take the rows that come. */
static efface_status check_rows(efface_model *const *models, size_t n_models,
                                const efface_data *data, const efface_rows *rows,
                                efface_error *error) {
    efface_status status = check_models(models, n_models, data, error);
    for (size_t i = 0; status == EFFACE_OK && i < n_models; i++) {
        const ef_family *const family = models[i]->family;
        status = ef_check_missing_rows(family, family->params(models[i]->state), data, rows, error);
    }
    return status;
}

/* What becomes of the set: rows are added to it, or take the place of those with their ids. */
typedef efface_status set_change(efface_data *data, const efface_rows *rows,
                                 ef_joint_change *change, efface_error *error);

static efface_status change_rows(efface_model *const *models, size_t n_models, efface_data *data,
                                 const efface_rows *rows, set_change *make, efface_report *reports,
                                 efface_error *error) {
    const double begin = ef_clock_seconds();
    ef_team *const team = ef_team_of_call(data);
    ef_joint_change change;
    efface_status status = check_rows(models, n_models, data, rows, error);
    EF_THEN(status, make(data, rows, &change, error));
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const efface_report done = make == ef_replace_rows
                                   ? report_of(rows->n_rows, rows->n_rows, 0)
                                   : report_of(0, ef_joint_seen(&change, data)->n_rows, 0);
    return follow(models, n_models, data, &change, &done, begin, reports, error);
}

efface_status efface_models_learn(efface_model *const *models, size_t n_models, efface_data *data,
                                  const efface_rows *rows, efface_report *reports,
                                  efface_error *error) {
    return change_rows(models, n_models, data, rows, ef_take_in_rows, reports, error);
}

efface_status efface_models_update(efface_model *const *models, size_t n_models, efface_data *data,
                                   const efface_rows *rows, efface_report *reports,
                                   efface_error *error) {
    return change_rows(models, n_models, data, rows, ef_replace_rows, reports, error);
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
    const double begin = ef_clock_seconds();
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
    done.seconds = ef_clock_seconds() - begin;
    if (report != NULL)
        *report = done;
    return EFFACE_OK;
}
