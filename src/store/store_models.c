/* The models of a store: records of parameters, columns, counts and state. */
#include "base/checked.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/tape.h"
#include "store/store.h"

#include <string.h>

/* ---------------------------------------------------------------- names */

static bool is_name(const char *name) {
    const char *const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const size_t n = name != NULL ? strlen(name) : 0;
    return n != 0 && n < EFFACE_MODEL_NAME_BYTES && strspn(name, allowed) == n;
}

static efface_status check_name(const char *name, efface_error *error) {
    return is_name(name)
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the name of a model is 1 to %d letters, digits, '-', '_' or '.'",
                         EFFACE_MODEL_NAME_BYTES - 1);
}

static void copy_name(char to[EFFACE_MODEL_NAME_BYTES], const char *name) {
    memset(to, 0, EFFACE_MODEL_NAME_BYTES);
    memcpy(to, name, strlen(name));
}

efface_status ef_models_list(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                             uint32_t *n_names, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    char(*list)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    bool row = true;
    efface_status status =
        ef_sql_prepare(store, "SELECT name FROM models ORDER BY name", &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const char *const name = (const char *)sqlite3_column_text(statement, 0);
        if (!is_name(name)) {
            status = ef_store_corrupt(error, "the name of a model");
            break;
        }
        char(*const more)[EFFACE_MODEL_NAME_BYTES] = ef_realloc(list, (size_t)n + 1, sizeof *more);
        if (more == NULL) {
            status = ef_fail_memory(error);
            break;
        }
        list = more;
        copy_name(list[n++], name);
    }
    (void)sqlite3_finalize(statement);
    if (status != EFFACE_OK) {
        ef_free(list);
        return status;
    }
    *names = list;
    *n_names = n;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- records */

void ef_record_free(ef_record *record) {
    ef_free(record->bounds);
    ef_free(record->depth_clusters);
    ef_free(record->columns);
    ef_free(record->counts);
    ef_free(record->state);
    *record = (ef_record){.n_columns = 0};
}

static efface_status copy_bytes(ef_reader reader, unsigned char **bytes, size_t *n_bytes,
                                efface_error *error) {
    *bytes = ef_alloc(reader.n_bytes, 1);
    if (*bytes == NULL)
        return ef_fail_memory(error);
    *n_bytes = reader.n_bytes;
    ef_read_bytes(&reader, *bytes, reader.n_bytes);
    return EFFACE_OK;
}

static efface_status read_columns(const efface_store *store, ef_reader reader, ef_record *record,
                                  efface_error *error) {
    record->n_columns = store->n_columns;
    if (reader.n_bytes == 0)
        return EFFACE_OK;
    record->n_columns = (uint32_t)(reader.n_bytes / 4);
    if (reader.n_bytes % 4 != 0 || record->n_columns > store->n_columns)
        return ef_store_corrupt(error, "the columns of a model");
    record->columns = ef_alloc(record->n_columns, sizeof *record->columns);
    if (record->columns == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < record->n_columns; j++) {
        record->columns[j] = ef_read_u32(&reader);
        if (record->columns[j] >= store->n_columns)
            return ef_store_corrupt(error, "the columns of a model");
    }
    return EFFACE_OK;
}

efface_status ef_record_read(efface_store *store, const char *name, ef_record *record,
                             efface_error *error) {
    *record = (ef_record){.n_columns = 0};
    efface_status status = check_name(name, error);
    if (status != EFFACE_OK)
        return status;
    copy_name(record->name, name);
    sqlite3_stmt *statement = NULL;
    bool row = false;
    status = ef_sql_prepare(store,
                            "SELECT params, columns, counts, state, digest FROM models"
                            " WHERE name = ?",
                            &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        status = ef_sql_step(store, statement, &row, error);
    }
    if (status == EFFACE_OK && !row)
        status = ef_fail(error, EFFACE_E_NOT_FOUND, "there is no model with the name %s", name);
    if (status == EFFACE_OK)
        status = read_columns(store, ef_sql_bytes(statement, 1), record, error);
    if (status == EFFACE_OK) {
        ef_reader params = ef_sql_bytes(statement, 0);
        status = ef_params_read(&params, record, error);
    }
    if (status == EFFACE_OK)
        status = copy_bytes(ef_sql_bytes(statement, 2), &record->counts, &record->n_counts, error);
    if (status == EFFACE_OK)
        status = copy_bytes(ef_sql_bytes(statement, 3), &record->state, &record->n_state, error);
    if (status == EFFACE_OK) {
        ef_reader digest = ef_sql_bytes(statement, 4);
        if (digest.n_bytes != sizeof record->digest)
            status = ef_store_corrupt(error, "the digest of a model");
        else
            ef_read_bytes(&digest, record->digest, sizeof record->digest);
    }
    (void)sqlite3_finalize(statement);
    if (status != EFFACE_OK)
        ef_record_free(record);
    return status;
}

static efface_status write_record(efface_store *store, const ef_record *record, const ef_writer *w,
                                  const ef_writer *columns, bool is_new, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status = ef_sql_prepare(
        store,
        is_new ? "INSERT INTO models(counts, digest, state, params, columns, name)"
                 " VALUES (?, ?, ?, ?, ?, ?)"
               : "UPDATE models SET counts = ?, digest = ?, state = ?, params = ?, columns = ?"
                 " WHERE name = ?",
        &statement, error);
    if (status == EFFACE_OK) {
        ef_sql_bind_bytes(statement, 1, record->counts, record->n_counts);
        ef_sql_bind_bytes(statement, 2, record->digest, sizeof record->digest);
        ef_sql_bind_bytes(statement, 3, record->state, record->n_state);
        ef_sql_bind_bytes(statement, 4, w->bytes, w->n_bytes);
        ef_sql_bind_bytes(statement, 5, columns->bytes != NULL ? (void *)columns->bytes : "",
                          columns->n_bytes);
        (void)sqlite3_bind_text(statement, 6, record->name, -1, SQLITE_STATIC);
        status = ef_sql_do(store, statement, error);
        if (status == EFFACE_E_DUPLICATE)
            status =
                ef_fail(error, status, "there is a model with the name %s already", record->name);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_record_write(efface_store *store, ef_record *record, const efface_kmeans *model,
                              const efface_data *counted, bool is_new, efface_error *error) {
    ef_writer counts = {0}, params = {0}, columns = {0};
    unsigned char *state = NULL;
    size_t n_state = 0;
    ef_counts_write(&counts, counted);
    ef_params_write(&params, &model->params, record->n_columns);
    for (uint32_t j = 0; record->columns != NULL && j < record->n_columns; j++)
        ef_write_u32(&columns, record->columns[j]);
    efface_status status = efface_kmeans_encode(model, &state, &n_state, error);
    if (status == EFFACE_OK && (counts.failed || params.failed || columns.failed)) {
        efface_bytes_free(state);
        status = ef_fail_memory(error);
    }
    if (status == EFFACE_OK) {
        ef_free(record->counts);
        ef_free(record->state);
        record->counts = counts.bytes;
        record->n_counts = counts.n_bytes;
        record->state = state;
        record->n_state = n_state;
        counts.bytes = NULL;
        ef_digest(state, n_state, record->digest);
        status = write_record(store, record, &params, &columns, is_new, error);
    }
    ef_free(counts.bytes);
    ef_free(params.bytes);
    ef_free(columns.bytes);
    return status;
}

/* A state that a store wrote and a model refuses is damage of the store. */
static efface_status as_damage(efface_status status, efface_error *error) {
    if (status != EFFACE_E_FORMAT)
        return status;
    if (error == NULL)
        return EFFACE_E_CORRUPT;
    const efface_error cause = *error;
    return ef_store_corrupt(error, cause.message);
}

efface_status ef_record_cold(const ef_record *record, efface_kmeans **model, efface_data **counts,
                             efface_error *error) {
    const efface_kmeans_params used = ef_params_used(&record->params);
    ef_reader state = {.bytes = record->state, .n_bytes = record->n_state};
    ef_reader reader = {.bytes = record->counts, .n_bytes = record->n_counts};
    efface_status status = ef_kmeans_read(&state, &used, record->n_columns, model, error);
    if (status == EFFACE_OK && state.n_bytes != 0) {
        efface_kmeans_free(*model);
        return ef_store_corrupt(error, "the state of a model");
    }
    if (status != EFFACE_OK)
        return as_damage(status, error);
    *counts = ef_counts_read(&reader, record->n_columns);
    if (*counts == NULL || reader.n_bytes != 0 || (*counts)->n_rows != (*model)->n_rows ||
        (*counts)->total_weight != (*model)->total_weight) {
        const bool short_of_memory = *counts == NULL && !reader.failed;
        efface_kmeans_free(*model);
        efface_data_free(*counts);
        return short_of_memory ? ef_fail_memory(error)
                               : ef_store_corrupt(error, "what a model counts of its rows");
    }
    return EFFACE_OK;
}

efface_status ef_record_hot(efface_store *store, const ef_record *record, efface_kmeans **model,
                            efface_data **data, efface_error *error) {
    efface_status status = ef_rows_load(store, record->columns, record->n_columns, data, error);
    if (status != EFFACE_OK)
        return status;
    status = as_damage(
        efface_kmeans_decode(record->state, record->n_state, &record->params, *data, model, error),
        error);
    if (status != EFFACE_OK) {
        efface_data_free(*data);
        *data = NULL;
    }
    return status;
}

/* ---------------------------------------------------------------- what users ask for */

efface_status efface_store_model(efface_store *store, uint32_t index, efface_model_info *info,
                                 efface_error *error) {
    if (store == NULL || info == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and info must not be NULL");
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    ef_record record = {.n_columns = 0};
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_models_list(store, &names, &n, error);
    if (status == EFFACE_OK && index >= n)
        status = ef_fail(error, EFFACE_E_NOT_FOUND, "the store has %u models", (unsigned)n);
    if (status == EFFACE_OK)
        status = ef_record_read(store, names[index], &record, error);
    status = ef_store_end(store, status, error);
    if (status == EFFACE_OK) {
        *info = (efface_model_info){.method = record.params.method,
                                    .n_clusters = record.params.n_clusters,
                                    .n_columns = record.n_columns};
        memcpy(info->name, record.name, sizeof info->name);
        memcpy(info->digest, record.digest, sizeof info->digest);
    }
    ef_record_free(&record);
    ef_free(names);
    return status;
}

static efface_status check_writes(const efface_store *store, efface_error *error) {
    if (store == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store must not be NULL");
    return store->writes ? EFFACE_OK
                         : ef_fail(error, EFFACE_E_ARGUMENT, "the store was opened to read only");
}

/* Fits within a transaction. */
static efface_status fit_new(efface_store *store, ef_record *record,
                             const efface_kmeans_params *params, efface_error *error) {
    efface_data *data = NULL;
    efface_kmeans *model = NULL;
    efface_status status = ef_rows_load(store, record->columns, record->n_columns, &data, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_fit(data, params, &model, error);
    if (status == EFFACE_OK)
        status = ef_record_write(store, record, model, data, true, error);
    efface_kmeans_free(model);
    efface_data_free(data);
    return status;
}

efface_status efface_store_fit(efface_store *store, const char *name,
                               const efface_kmeans_params *params, const uint32_t *columns,
                               uint32_t n_columns, efface_error *error) {
    efface_status status = check_writes(store, error);
    if (status == EFFACE_OK)
        status = check_name(name, error);
    if (status == EFFACE_OK && params == NULL)
        status = ef_fail(error, EFFACE_E_ARGUMENT, "params must not be NULL");
    for (uint32_t j = 0; status == EFFACE_OK && columns != NULL && j < n_columns; j++)
        if (columns[j] >= store->n_columns)
            status = ef_fail(error, EFFACE_E_ARGUMENT, "there is no column %u; the store has %u",
                             (unsigned)columns[j] + 1, (unsigned)store->n_columns);
    if (status == EFFACE_OK && columns != NULL && (n_columns == 0 || n_columns > store->n_columns))
        status = ef_fail(error, EFFACE_E_ARGUMENT, "a model has 1 to %u columns",
                         (unsigned)store->n_columns);
    if (status != EFFACE_OK)
        return status;
    ef_record record = {.n_columns = columns != NULL ? n_columns : store->n_columns};
    copy_name(record.name, name);
    if (columns != NULL) {
        record.columns = ef_alloc(n_columns, sizeof *record.columns);
        if (record.columns == NULL)
            return ef_fail_memory(error);
        memcpy(record.columns, columns, n_columns * sizeof *columns);
    }
    status = ef_store_begin(store, true, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, fit_new(store, &record, params, error), error);
    ef_record_free(&record);
    return status;
}

static efface_status drop(efface_store *store, const char *name, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "DELETE FROM models WHERE name = ?", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    if (status == EFFACE_OK && sqlite3_changes(store->db) == 0)
        status = ef_fail(error, EFFACE_E_NOT_FOUND, "there is no model with the name %s", name);
    return status;
}

efface_status efface_store_drop(efface_store *store, const char *name, efface_error *error) {
    efface_status status = check_writes(store, error);
    if (status == EFFACE_OK)
        status = check_name(name, error);
    if (status == EFFACE_OK)
        status = ef_store_begin(store, true, error);
    return status == EFFACE_OK ? ef_store_end(store, drop(store, name, error), error) : status;
}

static efface_status rekey(efface_store *store, const char *name, uint64_t seed,
                           efface_error *error) {
    ef_record record;
    efface_kmeans *model = NULL;
    efface_data *data = NULL;
    efface_status status = ef_record_read(store, name, &record, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_record_hot(store, &record, &model, &data, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_rekey(model, data, seed, NULL, error);
    if (status == EFFACE_OK)
        status = ef_record_write(store, &record, model, data, false, error);
    efface_kmeans_free(model);
    efface_data_free(data);
    ef_record_free(&record);
    return status;
}

static efface_status rekey_all(efface_store *store, uint64_t seed, efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    efface_status status = ef_models_list(store, &names, &n, error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++)
        status = rekey(store, names[i], ef_tape(seed, EF_TAPE_REDRAW, 0, i, 0), error);
    ef_free(names);
    return status;
}

efface_status efface_store_rekey(efface_store *store, const char *name, uint64_t seed,
                                 efface_error *error) {
    efface_status status = check_writes(store, error);
    if (status == EFFACE_OK)
        status = ef_store_begin(store, true, error);
    if (status != EFFACE_OK)
        return status;
    status = name != NULL ? rekey(store, name, seed, error) : rekey_all(store, seed, error);
    return ef_store_end(store, status, error);
}

efface_status efface_store_load(efface_store *store, const char *name, efface_data **data,
                                efface_kmeans **model, efface_error *error) {
    if (store == NULL || data == NULL || (name != NULL && model == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, data and model must not be NULL");
    ef_record record = {.n_columns = 0};
    efface_data *rows = NULL;
    efface_kmeans *found = NULL;
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    if (name == NULL) {
        status = ef_rows_load(store, NULL, 0, &rows, error);
    } else {
        status = ef_record_read(store, name, &record, error);
        if (status == EFFACE_OK)
            status = ef_record_hot(store, &record, &found, &rows, error);
    }
    status = ef_store_end(store, status, error);
    ef_record_free(&record);
    if (status != EFFACE_OK) {
        efface_kmeans_free(found);
        efface_data_free(rows);
        return status;
    }
    *data = rows;
    if (name != NULL)
        *model = found;
    return EFFACE_OK;
}

efface_status efface_store_encode(efface_store *store, const char *name, unsigned char **bytes,
                                  size_t *n_bytes, efface_error *error) {
    if (store == NULL || bytes == NULL || n_bytes == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store, bytes and n_bytes must not be NULL");
    ef_record record = {.n_columns = 0};
    efface_status status = ef_store_begin(store, false, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, ef_record_read(store, name, &record, error), error);
    if (status == EFFACE_OK) {
        *bytes = record.state;
        *n_bytes = record.n_state;
        record.state = NULL;
    }
    ef_record_free(&record);
    return status;
}

efface_status efface_store_verify(efface_store *store, const char *name,
                                  efface_difference *difference, efface_error *error) {
    efface_data *data = NULL;
    efface_kmeans *model = NULL;
    if (name == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "name must not be NULL");
    efface_status status = efface_store_load(store, name, &data, &model, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_verify(model, data, difference, error);
    efface_kmeans_free(model);
    efface_data_free(data);
    return status;
}
