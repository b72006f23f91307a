/* The models of a store, as users ask for them. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "store/file/transactions.h"
#include "store/parts.h"
#include "store/rows/store_columns.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- what there is */

static efface_stored_model info_of(const ef_record *record) {
    efface_stored_model info = {.family = record->family->number, .n_columns = record->n_columns};
    memcpy(info.name, record->name, sizeof info.name);
    (void)snprintf(info.kind, sizeof info.kind, "%s", record->kind);
    memcpy(info.digest, record->digest, sizeof info.digest);
    ef_record_commit(record, info.commitment);
    return info;
}

/* A list of all models, as bytes. */
static efface_status encode_list(efface_store *store, const void *context, unsigned char **bytes,
                                 size_t *n_bytes, efface_error *error) {
    (void)context;
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    ef_u128 sum = 0;
    efface_status status = ef_models_list(store, &names, &n, error);
    if (status != EFFACE_OK)
        return status;
    efface_stored_model *const list = ef_alloc(n, sizeof *list);
    if (list == NULL)
        status = ef_fail_memory(error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++) {
        ef_record record;
        status = ef_record_read(store, names[i], false, &record, error);
        if (status != EFFACE_OK)
            break;
        list[i] = info_of(&record);
        sum += record.seal;
        ef_record_free(&record);
    }
    EF_THEN(status, ef_models_verify(store, n, sum, error));
    ef_free(names);
    if (status != EFFACE_OK) {
        ef_free(list);
        return status;
    }
    *bytes = (unsigned char *)list;
    *n_bytes = n * sizeof *list;
    return EFFACE_OK;
}

/* A record in a transaction of its own. */
static efface_status read_alone(efface_store *store, const char *name, bool with_state,
                                ef_record *record, efface_error *error) {
    const efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    return ef_store_end(store, store->parts->read_model(store, name, with_state, record, error),
                        error);
}

efface_status efface_store_describe(efface_store *store, const char *name,
                                    void (*each)(void *context, const efface_fact *fact),
                                    void *context, efface_error *error) {
    if (store == NULL || name == NULL || each == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, name and each must not be NULL");
    ef_record record = {.n_columns = 0};
    efface_status status = read_alone(store, name, false, &record, error);
    if (status == EFFACE_OK)
        record.family->describe_params(record.params, (ef_listener){each, context});
    ef_record_free(&record);
    return status;
}

efface_status efface_store_models(efface_store *store, efface_stored_model **models,
                                  size_t *n_models, efface_error *error) {
    if (store == NULL || models == NULL || n_models == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, models and n_models must not be NULL");
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = store->parts->share(store, encode_list, NULL, &bytes, &n_bytes, error);
    status = ef_store_end(store, status, error);
    if (status != EFFACE_OK) {
        ef_free(bytes);
        return status;
    }
    *models = (efface_stored_model *)(void *)bytes;
    *n_models = n_bytes / sizeof **models;
    return EFFACE_OK;
}

void efface_model_list_free(efface_stored_model *models) {
    ef_free(models);
}

efface_status efface_store_find_model(efface_store *store, const char *name,
                                      efface_stored_model *info, efface_error *error) {
    if (store == NULL || info == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and info must not be NULL");
    ef_record record;
    const efface_status status = read_alone(store, name, false, &record, error);
    if (status != EFFACE_OK)
        return status;
    *info = info_of(&record);
    ef_record_free(&record);
    return EFFACE_OK;
}

efface_status efface_store_model_columns(efface_store *store, const char *name, uint32_t **columns,
                                         efface_error *error) {
    if (store == NULL || columns == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and columns must not be NULL");
    ef_record record;
    const efface_status status = read_alone(store, name, false, &record, error);
    if (status != EFFACE_OK)
        return status;
    uint32_t *const list = ef_alloc(record.n_columns, sizeof *list);
    for (uint32_t j = 0; list != NULL && j < record.n_columns; j++)
        list[j] = record.columns != NULL ? record.columns[j] : j;
    ef_record_free(&record);
    if (list == NULL)
        return ef_fail_memory(error);
    *columns = list;
    return EFFACE_OK;
}

void efface_columns_free(uint32_t *columns) {
    ef_free(columns);
}

/* ---------------------------------------------------------------- drop and rekey */

/* `report` has the name of the model, and gets the rest. */
static efface_status drop_model(efface_store *store, void *report, efface_error *error) {
    efface_model_report *const dropped = report;
    ef_record record;
    efface_status status = ef_record_read(store, dropped->name, false, &record, error);
    if (status != EFFACE_OK)
        return status;
    *dropped = ef_record_report(&record, "the model was dropped");
    status = ef_record_drop(store, &record, error);
    ef_record_free(&record);
    return status == EFFACE_OK ? ef_store_read_rules(store, error) : status;
}

efface_status efface_store_drop(efface_store *store, const char *name, efface_error *error) {
    efface_status status = ef_store_may_write(store, error);
    EF_THEN(status, ef_model_name_check(name, error));
    EF_THEN(status, ef_store_begin(store, true, error));
    if (status != EFFACE_OK)
        return status;
    efface_model_report report = {.family = EFFACE_FAMILY_KMEANS};
    ef_model_name_copy(report.name, name);
    status = store->parts->lead(store, drop_model, &report, NULL, 0, error);
    EF_THEN(status, store->parts->note_models(store, "drop", &report, 1, error));
    return ef_store_end(store, status, error);
}

/* Fits a model again with another seed; `all` has all columns of the rows. */
static efface_status rekey_model(efface_store *store, const char *name, uint64_t seed,
                                 const efface_data *all, efface_model_report *report,
                                 efface_error *error) {
    ef_record record;
    efface_model *model = NULL;
    efface_data *data = NULL;
    efface_status status = store->parts->read_model(store, name, false, &record, error);
    if (status != EFFACE_OK)
        return status;
    *report = ef_record_report(&record, ef_because_rekeyed);
    report->report.action = EFFACE_ACTION_REFITTED;
    if (record.columns != NULL)
        status = ef_rows_copy(all, record.columns, record.n_columns, &data, error);
    record.params->seed = seed;
    const efface_data *const rows = record.columns != NULL ? data : all;
    EF_THEN(status, ef_model_fit(rows, record.params, &model, error));
    EF_THEN(status,
            store->parts->write_model(store, &record, model, ef_data_whole(rows), false, error));
    ef_record_commit(&record, report->after);
    efface_model_free(model);
    efface_data_free(data);
    ef_record_free(&record);
    return status;
}

static efface_status rekey_models(efface_store *store, const char *name, uint64_t seed,
                                  efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0, n_reports = 1;
    efface_data *all = NULL;
    efface_model_report *reports = NULL;
    efface_status status = ef_rows_load(store, NULL, 0, &all, NULL, error);
    EF_THEN(status, store->parts->join(store, all, false, error));
    if (status == EFFACE_OK && name == NULL) {
        status = store->parts->list_models(store, &names, &n, error);
        n_reports = n;
    }
    if (status == EFFACE_OK) {
        reports = ef_alloc_zero(n_reports, sizeof *reports);
        status = reports != NULL ? EFFACE_OK : ef_fail_memory(error);
    }
    if (status == EFFACE_OK && name != NULL)
        status = rekey_model(store, name, seed, all, reports, error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++)
        status = rekey_model(store, names[i], ef_tape(seed, EF_TAPE_REKEY, 0, i, 0), all,
                             &reports[i], error);
    EF_THEN(status, store->parts->note_models(store, "rekey", reports, n_reports, error));
    ef_free(reports);
    ef_free(names);
    efface_data_free(all);
    return status;
}

efface_status efface_store_rekey(efface_store *store, const char *name, uint64_t seed,
                                 efface_error *error) {
    efface_status status = ef_store_may_write(store, error);
    EF_THEN(status, ef_store_begin(store, true, error));
    return status == EFFACE_OK ? ef_store_end(store, rekey_models(store, name, seed, error), error)
                               : status;
}

/* ---------------------------------------------------------------- out of the store */

/* `telling`, unless it is NULL, is whom the model tells how much of a fit is done. */
static efface_status load_rows_and_model(efface_store *store, const char *name, ef_telling *telling,
                                         efface_data **data, efface_model **model,
                                         efface_error *error) {
    ef_record record = {.n_columns = 0};
    efface_data *rows = NULL;
    efface_model *found = NULL;
    efface_status status =
        name != NULL ? store->parts->allows(store, EF_DEED_ALL_ROWS, error) : EFFACE_OK;
    EF_THEN(status, ef_store_begin(store, false, error));
    if (status != EFFACE_OK)
        return status;
    if (name != NULL)
        status = store->parts->read_model(store, name, true, &record, error);
    EF_THEN(status, ef_rows_load(store, record.columns, record.n_columns, &rows, NULL, error));
    status = ef_store_end(store, status, error);
    EF_THEN(status, store->parts->join(store, rows, true, error));
    if (status == EFFACE_OK && telling != NULL)
        ef_store_tell(store, EFFACE_PHASE_FITTING, record.params, telling);
    if (status == EFFACE_OK && name != NULL)
        status = ef_record_hot(&record, rows, &found, error);
    ef_record_free(&record);
    if (status != EFFACE_OK) {
        efface_data_free(rows);
        return status;
    }
    *data = rows;
    if (name != NULL)
        *model = found;
    return EFFACE_OK;
}

efface_status efface_store_load(efface_store *store, const char *name, efface_data **data,
                                efface_model **model, efface_error *error) {
    if (store == NULL || data == NULL || (name != NULL && model == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, data and model must not be NULL");
    return load_rows_and_model(store, name, NULL, data, model, error);
}

/* A model as it is when it is read from its own bytes. */
static efface_status make_cold(efface_model **model, efface_error *error) {
    const efface_model *const hot = *model;
    efface_model *cold = NULL;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_status status = efface_model_encode(hot, &bytes, &n_bytes, error);
    ef_decoder decoder = {.bytes = bytes, .n_bytes = n_bytes};
    EF_THEN(status,
            ef_model_read(&decoder, hot->family->params(hot->state), hot->n_columns, &cold, error));
    efface_bytes_free(bytes);
    efface_model_free(*model);
    *model = cold;
    return status;
}

efface_status efface_store_model(efface_store *store, const char *name, efface_model **out,
                                 efface_error *error) {
    if (store == NULL || name == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, name and out must not be NULL");
    ef_record record = {.n_columns = 0};
    efface_data *data = NULL;
    efface_model *model = NULL;
    ef_counts counts;
    efface_status status = read_alone(store, name, true, &record, error);
    if (status == EFFACE_OK && ef_record_is_outdated(&record)) {
        status = efface_store_load(store, name, &data, &model, error);
        efface_data_free(data);
        EF_THEN(status, make_cold(&model, error));
    } else if (status == EFFACE_OK) {
        status = ef_record_cold(&record, &model, &counts, error);
        if (status == EFFACE_OK)
            ef_counts_free(&counts);
    }
    ef_record_free(&record);
    if (status == EFFACE_OK)
        *out = model;
    return status;
}

efface_status efface_store_encode(efface_store *store, const char *name, unsigned char **bytes,
                                  size_t *n_bytes, efface_error *error) {
    if (store == NULL || bytes == NULL || n_bytes == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, bytes and n_bytes must not be NULL");
    ef_record record = {.n_columns = 0};
    efface_status status = read_alone(store, name, true, &record, error);
    if (status == EFFACE_OK) {
        *bytes = record.state.bytes;
        *n_bytes = record.state.n_bytes;
        record.state.bytes = NULL;
    }
    ef_record_free(&record);
    return status;
}

/* Whether the state of a model was made when its method was defined in another way. */
static efface_status look_up_outdated(efface_store *store, const char *name, bool *outdated,
                                      efface_error *error) {
    ef_record record = {.n_columns = 0};
    efface_status status = read_alone(store, name, true, &record, error);
    *outdated = status == EFFACE_OK && ef_record_is_outdated(&record);
    ef_record_free(&record);
    return status;
}

efface_status efface_store_verify(efface_store *store, const char *name,
                                  efface_difference *difference, efface_error *error) {
    if (store == NULL || name == NULL || difference == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, name and difference must not be NULL");
    efface_data *data = NULL;
    efface_model *model = NULL;
    ef_telling telling;
    bool outdated;
    efface_status status = look_up_outdated(store, name, &outdated, error);
    if (status == EFFACE_OK && outdated) {
        *difference = (efface_difference){.what = "method"};
        return EFFACE_OK;
    }
    EF_THEN(status, load_rows_and_model(store, name, &telling, &data, &model, error));
    EF_THEN(status, efface_model_verify(model, data, difference, error));
    efface_model_free(model);
    efface_data_free(data);
    return status;
}
