/* Rows and models that stay in memory (residents.h). */
#include "store/models/residents.h"

#include "base/errors/clock.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/rows/stored_rows.h"
#include "store/store.h"

#include <string.h>

static void free_residents(ef_residents *r) {
    for (uint32_t i = 0; i < r->n_models; i++) {
        efface_model_free(r->models[i].model);
        ef_record_free(&r->models[i].record);
    }
    for (size_t i = 0; i < r->n_sets; i++)
        efface_data_free(r->sets[i].data);
    ef_free(r->models);
    ef_free(r->sets);
    *r = (ef_residents){.n_changes = r->n_changes};
}

void ef_residents_drop(efface_store *store) {
    if (store->residents != NULL)
        free_residents(store->residents);
}

void ef_residents_check(efface_store *store) {
    const ef_residents *const r = store->residents;
    if (r != NULL && r->made && memcmp(r->seal, store->head_seal, sizeof r->seal) != 0)
        ef_residents_drop(store);
}

void ef_residents_keep(efface_store *store) {
    if (store->residents != NULL)
        memcpy(store->residents->seal, store->head_seal, sizeof store->residents->seal);
}

/* ---------------------------------------------------------------- making */

static efface_status read_records(efface_store *store, ef_residents *r, efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    ef_u128 seals = 0;
    efface_status status = ef_models_list(store, &names, &n, error);
    if (status != EFFACE_OK)
        return status;
    r->models = ef_alloc_zero(n, sizeof *r->models);
    r->sets = ef_alloc_zero(n, sizeof *r->sets);
    if (r->models == NULL || r->sets == NULL)
        status = ef_fail_memory(error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++) {
        status = ef_record_read(store, names[i], true, &r->models[i].record, error);
        if (status == EFFACE_OK)
            seals += r->models[r->n_models++].record.seal;
    }
    ef_free(names);
    return status == EFFACE_OK ? ef_models_verify(store, n, seals, error) : status;
}

/* Gives each model a set; those over the same columns share it. */
static void choose_sets(ef_residents *r) {
    for (uint32_t i = 0; i < r->n_models; i++) {
        ef_resident *const m = &r->models[i];
        while (m->set < r->n_sets && !ef_same_columns(r->sets[m->set].of, &m->record))
            m->set++;
        if (m->set == r->n_sets)
            r->sets[r->n_sets++].of = &m->record;
    }
}

/* The rows are read once; if no model is over all columns, that set is only copied from. */
static efface_status load_sets(efface_store *store, ef_residents *r, efface_error *error) {
    efface_data *all = NULL;
    efface_status status =
        r->n_sets != 0 ? ef_rows_load(store, NULL, 0, &all, NULL, error) : EFFACE_OK;
    for (size_t i = 0; status == EFFACE_OK && i < r->n_sets; i++) {
        const ef_record *const of = r->sets[i].of;
        if (of->columns != NULL)
            status = ef_rows_copy(all, of->columns, of->n_columns, &r->sets[i].data, error);
    }
    for (size_t i = 0; status == EFFACE_OK && i < r->n_sets; i++)
        if (r->sets[i].of->columns == NULL) {
            r->sets[i].data = all;
            all = NULL;
        }
    efface_data_free(all);
    return status;
}

efface_status ef_residents_make(efface_store *store, efface_error *error) {
    ef_residents *const r = store->residents;
    if (r->made)
        return EFFACE_OK;
    free_residents(r);
    efface_status status = read_records(store, r, error);
    if (status == EFFACE_OK) {
        choose_sets(r);
        status = load_sets(store, r, error);
    }
    for (uint32_t i = 0; status == EFFACE_OK && i < r->n_models; i++) {
        ef_resident *const m = &r->models[i];
        m->is_new = ef_record_is_outdated(&m->record);
        status = ef_record_hot(&m->record, r->sets[m->set].data, &m->model, error);
    }
    if (status != EFFACE_OK) {
        free_residents(r);
        return status;
    }
    r->made = true;
    memcpy(r->seal, store->head_seal, sizeof r->seal);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- following */

static efface_status look_at_resident(const ef_resident *m, const ef_residents *r,
                                      const ef_row_change *change, efface_report *report,
                                      efface_error *error) {
    const efface_request leave = {.ids = change->ids, .n_ids = change->n_rows};
    return m->is_new ? EFFACE_OK
                     : efface_model_preview(m->model, r->sets[m->set].data, &leave, report, error);
}

/* The models of a set follow together; then they are written. */
static efface_status follow_set(efface_store *store, size_t set, const ef_row_change *change,
                                efface_model **models, efface_report *reports,
                                efface_store_report *report, efface_error *error) {
    ef_residents *const r = store->residents;
    const ef_record *const of = r->sets[set].of;
    efface_data *const data = r->sets[set].data;
    size_t n = 0;
    for (uint32_t i = 0; i < r->n_models; i++)
        if (r->models[i].set == set)
            models[n++] = r->models[i].model;
    efface_status status = ef_models_change(models, n, of, data, change, reports, error);
    r->n_changes += status == EFFACE_OK;
    n = 0;
    for (uint32_t i = 0; status == EFFACE_OK && i < r->n_models; i++) {
        ef_resident *const m = &r->models[i];
        if (m->set != set)
            continue;
        report->models[i].report = reports[n++];
        status = ef_record_write(store, &m->record, m->model, &data->counts, false, error);
        ef_record_commit(&m->record, report->models[i].after);
    }
    return status;
}

efface_status ef_residents_follow(efface_store *store, const ef_row_change *change,
                                  efface_store_report *report, efface_error *error) {
    ef_residents *const r = store->residents;
    const double begin = ef_clock_seconds();
    efface_status status = ef_residents_make(store, error);
    if (status != EFFACE_OK)
        return status;
    efface_model **const models = ef_alloc_zero(r->n_models, sizeof(efface_model *));
    efface_report *const reports = ef_alloc_zero(r->n_models, sizeof *reports);
    report->models = ef_alloc_zero(r->n_models, sizeof *report->models);
    if (models == NULL || reports == NULL || report->models == NULL)
        status = ef_fail_memory(error);
    else
        report->n_models = r->n_models;
    for (uint32_t i = 0; status == EFFACE_OK && i < r->n_models; i++) {
        const ef_record *const record = &r->models[i].record;
        efface_model_report *const to = &report->models[i];
        memcpy(to->name, record->name, sizeof to->name);
        to->family = record->family->number;
        to->kind = record->kind;
        ef_record_commit(record, to->before);
        memcpy(to->after, to->before, sizeof to->after);
        status = ef_record_takes(store, record, change, error);
        if (status == EFFACE_OK && change->only_look)
            status = look_at_resident(&r->models[i], r, change, &to->report, error);
    }
    for (size_t set = 0; status == EFFACE_OK && !change->only_look && set < r->n_sets; set++)
        status = follow_set(store, set, change, models, reports, report, error);
    for (uint32_t i = 0; status == EFFACE_OK && i < r->n_models; i++) {
        efface_report *const to = &report->models[i].report;
        if (r->models[i].is_new)
            ef_report_outdated(to);
        r->models[i].is_new &= change->only_look;
        to->seconds = ef_clock_seconds() - begin;
    }
    ef_free(models);
    ef_free(reports);
    return status;
}
