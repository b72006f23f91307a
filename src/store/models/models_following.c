/*
 * The models of a store follow a change of its rows.
 *
 * A model is tried cold first: its state and what is counted of its rows are enough, unless a level
 * has to be computed again or the range of a column is no longer known. The other models wait until
 * all have been tried; then the rows are loaded once, and those over the same columns change
 * together. A model that was fitted when its method was defined in another way is fitted again
 * then, before it follows. A store may keep rows and models in memory instead (residents.h).
 */
#include "store/models/models_following.h"

#include "base/errors/clock.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/request/missing_values.h"
#include "store/models/residents.h"
#include "store/parts.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

efface_status ef_record_takes(const efface_store *store, const ef_record *record,
                              const ef_row_change *change, efface_error *error) {
    const efface_data *const rows = change->come;
    if (rows == NULL || rows->n_missing == 0 || ef_takes_missing(record->family, record->params))
        return EFFACE_OK;
    for (size_t i = 0; i < rows->n_rows; i++)
        for (uint32_t j = 0; j < record->n_columns; j++) {
            const uint32_t column = record->columns != NULL ? record->columns[j] : j;
            const float x = ef_data_value(rows, i, column);
            if (x != x)
                return ef_fail_missing(record->family, i + 1, column,
                                       efface_store_column(store, column), error);
        }
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- without rows */

/* Notes the rows of a set as leaving or coming, in a model's columns, and counts them. */
static void note_rows(ef_change *to, ef_counts *counts, const ef_record *record,
                      const efface_data *rows, const uint64_t *ids, bool leaves, float *all,
                      float *values) {
    for (size_t i = 0; i < rows->n_rows; i++) {
        efface_row row = efface_data_row(rows, i);
        row.id = ids[i];
        efface_data_values(rows, i, all);
        for (uint32_t j = 0; j < record->n_columns; j++)
            values[j] = all[record->columns != NULL ? record->columns[j] : j];
        ef_change_note(to, &row, values, leaves);
        ef_counts_change(counts, values, row.weight, leaves);
    }
}

static efface_status make_change(const ef_row_change *change, const ef_record *record,
                                 ef_counts *counts, ef_change *to, efface_error *error) {
    const bool both = change->leave != NULL && change->come != NULL;
    const uint32_t d = change->leave != NULL ? change->leave->n_columns : change->come->n_columns;
    size_t n;
    float *const all = ef_alloc(d, sizeof *all);
    float *const values = ef_alloc(record->n_columns, sizeof *values);
    const bool fits = ef_mul_size(change->n_rows, both ? 2 : 1, &n) &&
                      ef_change_init(to, record->n_columns, n) && all != NULL && values != NULL;
    if (fits) {
        to->replaces = both;
        if (change->leave != NULL)
            note_rows(to, counts, record, change->leave, change->ids, true, all, values);
        if (change->come != NULL)
            note_rows(to, counts, record, change->come, change->ids, false, all, values);
    }
    ef_free(all);
    ef_free(values);
    return fits ? EFFACE_OK : ef_fail_memory(error);
}

/* `done` is false if rows are needed; the model is then as it was. */
static efface_status follow_cold(const ef_following *f, ef_record *record, efface_model **model,
                                 bool *done, efface_report *report, efface_error *error) {
    const ef_row_change *const change = f->change;
    ef_counts counts;
    ef_change to = {0};
    *done = false;
    efface_status status = ef_record_cold(record, model, &counts, error);
    if (status != EFFACE_OK)
        return status;
    if (counts.n_rows != f->store->parts->rows(f->store))
        status = ef_store_corrupt(error, "a model and the store have different numbers of rows");
    EF_THEN(status, make_change(change, record, &counts, &to, error));
    if (status == EFFACE_OK && !ef_counts_stale(&counts))
        status = ef_model_follow_cold(*model, &counts, &to, change->only_look, done, report, error);
    if (status == EFFACE_OK && *done && !change->only_look)
        status = ef_record_write(f->store, record, *model, &counts, false, error);
    ef_change_free(&to);
    ef_counts_free(&counts);
    return status;
}

void ef_report_outdated(efface_report *report) {
    report->action = EFFACE_ACTION_REFITTED;
    report->reason = ef_because_redefined;
    report->where[0] = '\0';
}

/* Tries a model cold; if that is not enough, it waits for its rows. */
static efface_status try_model(ef_following *f, const char *name, efface_model_report *report,
                               ef_u128 *seals, efface_error *error) {
    const double begin = ef_clock_seconds();
    ef_record record;
    efface_model *model = NULL;
    bool done = false;
    efface_status status = ef_record_open(f->store, name, &record, error);
    if (status != EFFACE_OK)
        return status;
    ef_store_tell(f->store, EFFACE_PHASE_CHANGING, record.params, &f->telling);
    *seals += record.seal;
    memcpy(report->name, record.name, sizeof report->name);
    report->family = record.family->number;
    report->kind = record.kind;
    ef_record_commit(&record, report->before);
    status = ef_record_takes(f->store, &record, f->change, error);
    if (ef_record_is_outdated(&record))
        ef_report_outdated(&report->report);
    else if (status == EFFACE_OK)
        status = follow_cold(f, &record, &model, &done, &report->report, error);
    done |= f->change->only_look && model == NULL;
    ef_record_commit(&record, report->after);
    report->report.seconds = ef_clock_seconds() - begin;
    if (status == EFFACE_OK && !done) {
        f->waiting[f->n_waiting++] =
            (ef_waiting_model){.record = record, .model = model, .report = report};
        return EFFACE_OK;
    }
    efface_model_free(model);
    ef_record_free(&record);
    return status;
}

/* ---------------------------------------------------------------- with rows */

bool ef_same_columns(const ef_record *a, const ef_record *b) {
    if (a->n_columns != b->n_columns || (a->columns == NULL) != (b->columns == NULL))
        return false;
    return a->columns == NULL ||
           memcmp(a->columns, b->columns, a->n_columns * sizeof *a->columns) == 0;
}

efface_status ef_models_change(efface_model *const *models, size_t n, const ef_record *record,
                               efface_data *data, const ef_row_change *change,
                               efface_report *reports, efface_error *error) {
    const efface_request leave = {.ids = change->ids, .n_ids = change->n_rows};
    if (change->come == NULL)
        return efface_models_forget(models, n, data, &leave, reports, error);
    ef_given given;
    efface_status status =
        change->here != NULL
            ? ef_given_make(&given, change->here, NULL, record->columns, record->n_columns, error)
            : ef_given_make(&given, change->come, change->ids, record->columns, record->n_columns,
                            error);
    if (status != EFFACE_OK)
        return status;
    status = change->leave != NULL
                 ? efface_models_update(models, n, data, &given.rows, reports, error)
                 : efface_models_learn(models, n, data, &given.rows, reports, error);
    ef_given_free(&given);
    return status;
}

/* Models over the same columns, with a set of their own. */
static efface_status follow_together(const ef_following *f, efface_model *const *models, size_t n,
                                     const ef_record *record, efface_data *data,
                                     efface_report *reports, efface_error *error) {
    const ef_row_change *const change = f->change;
    const efface_request leave = {.ids = change->ids, .n_ids = change->n_rows};
    if (!change->only_look)
        return ef_models_change(models, n, record, data, change, reports, error);
    efface_status status = EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++)
        status = efface_model_preview(models[i], data, &leave, &reports[i], error);
    return status;
}

/* All that wait over the columns of the first that is not done, and change a set of these. */
static efface_status follow_hot(ef_following *f, ef_waiting_model *first, efface_data *data,
                                efface_error *error) {
    const ef_record *const record = &first->record;
    const double begin = ef_clock_seconds();
    const size_t room = (size_t)(f->waiting + f->n_waiting - first);
    efface_model **const models = ef_alloc_zero(room, sizeof(efface_model *));
    ef_waiting_model **const who = ef_alloc(room, sizeof(ef_waiting_model *));
    efface_report *const reports = ef_alloc_zero(room, sizeof *reports);
    size_t n = 0;
    efface_status status =
        models != NULL && who != NULL && reports != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (ef_waiting_model *w = first; status == EFFACE_OK && w < f->waiting + f->n_waiting; w++)
        if (!w->done && ef_same_columns(&w->record, record)) {
            w->is_new = w->model == NULL;
            status = w->is_new ? ef_model_fit(data, w->record.params, &w->model, error)
                               : ef_record_attach(w->model, data, error);
            models[n] = w->model;
            who[n++] = w;
        }
    /* What a model reads of its state only now may be damaged. */
    EF_THEN(status,
            ef_record_damage(follow_together(f, models, n, record, data, reports, error), error));
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        efface_model_report *const report = who[i]->report;
        who[i]->done = true;
        report->report = reports[i];
        if (who[i]->is_new)
            ef_report_outdated(&report->report);
        report->report.seconds = ef_clock_seconds() - begin;
        if (!f->change->only_look)
            status = f->store->parts->write_model(f->store, &who[i]->record, models[i],
                                                  ef_data_whole(data), false, error);
        ef_record_commit(&who[i]->record, report->after);
    }
    ef_free(reports);
    ef_free(who);
    ef_free(models);
    return status;
}

/* Those over some columns first, on copies; those over all columns then change the rows as they
 * were loaded. */
efface_status ef_following_finish(ef_following *f, efface_error *error) {
    efface_data *all = NULL;
    if (f->n_waiting == 0)
        return EFFACE_OK;
    efface_status status = ef_rows_load(f->store, NULL, 0, &all, NULL, error);
    EF_THEN(status, f->store->parts->join(f->store, all, false, error));
    for (size_t i = 0; status == EFFACE_OK && i < f->n_waiting; i++) {
        ef_waiting_model *const w = &f->waiting[i];
        efface_data *some = NULL;
        if (w->done || w->record.columns == NULL)
            continue;
        status = ef_rows_copy(all, w->record.columns, w->record.n_columns, &some, error);
        EF_THEN(status, follow_hot(f, w, some, error));
        efface_data_free(some);
    }
    for (size_t i = 0; status == EFFACE_OK && i < f->n_waiting; i++)
        if (!f->waiting[i].done)
            status = follow_hot(f, &f->waiting[i], all, error);
    efface_data_free(all);
    return status;
}

/* ---------------------------------------------------------------- all */

/* Room for the reports of n models, and for those that wait. */
efface_status ef_following_room(ef_following *f, uint32_t n, efface_store_report *report,
                                efface_error *error) {
    f->waiting = ef_alloc_zero(n, sizeof *f->waiting);
    report->models = ef_alloc_zero(n, sizeof *report->models);
    report->n_models = n;
    return report->models != NULL && f->waiting != NULL ? EFFACE_OK : ef_fail_memory(error);
}

efface_status ef_following_try(ef_following *f, efface_store_report *report, efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    ef_u128 seals = 0;
    const ef_head before = f->store->head;
    efface_status status = ef_models_list(f->store, &names, &n, error);
    EF_THEN(status, ef_following_room(f, n, report, error));
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++)
        status = try_model(f, names[i], &report->models[i], &seals, error);
    if (status == EFFACE_OK && seals != before.models_sum)
        status = ef_store_corrupt(error, "its models do not match their checksum");
    ef_free(names);
    return status;
}

void ef_following_end(ef_following *f) {
    for (size_t i = 0; i < f->n_waiting; i++) {
        efface_model_free(f->waiting[i].model);
        ef_record_free(&f->waiting[i].record);
    }
    ef_free(f->waiting);
}

efface_status ef_follow_in_file(efface_store *store, const ef_row_change *change,
                                efface_store_report *report, efface_error *error) {
    ef_following f = {.store = store, .change = change};
    efface_status status = ef_following_try(&f, report, error);
    EF_THEN(status, ef_following_finish(&f, error));
    ef_following_end(&f);
    return status;
}

efface_status ef_models_follow(efface_store *store, const ef_row_change *change,
                               efface_store_report *report, efface_error *error) {
    const efface_status status = store->residents != NULL
                                     ? ef_residents_follow(store, change, report, error)
                                     : store->parts->follow(store, change, report, error);
    for (uint32_t i = 0; status == EFFACE_OK && i < report->n_models; i++) {
        efface_report *const r = &report->models[i].report;
        r->rows_forgotten = change->leave != NULL ? change->n_rows : 0;
        r->rows_learned = change->come != NULL ? change->n_rows : 0;
    }
    return status;
}
