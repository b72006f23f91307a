/*
 * The columns of a store: their names, in a table of their own, and their offsets, in the fact
 * "offsets" as float64 numbers, little-endian, if any is not 0. The head has one digest of both.
 * Neither changes after the store was made.
 */
#include "store/rows/store_columns.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

void ef_store_free_columns(efface_store *store) {
    for (uint32_t j = 0; store->names != NULL && j < store->head.n_columns; j++)
        ef_free(store->names[j]);
    ef_free(store->names);
    ef_free(store->offsets);
    ef_free(store->places);
    ef_free(store->categories);
    ef_free(store->complete);
}

/* ---------------------------------------------------------------- writing */

static efface_status write_names(efface_store *store, const efface_data *data,
                                 efface_error *error) {
    sqlite3_stmt *statement = NULL;
    if (data->names == NULL)
        return EFFACE_OK;
    efface_status status =
        ef_sql_prepare(store, "INSERT INTO columns VALUES (?, ?)", &statement, error);
    for (uint32_t j = 0; status == EFFACE_OK && j < data->n_columns; j++) {
        (void)sqlite3_bind_int64(statement, 1, (int64_t)j + 1);
        ef_sql_bind_text(statement, 2, data->names[j]);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status write_offsets(efface_store *store, const efface_data *data,
                                   efface_error *error) {
    sqlite3_stmt *statement = NULL;
    ef_writer w = {0};
    if (data->offsets == NULL)
        return EFFACE_OK;
    for (uint32_t j = 0; j < data->n_columns; j++)
        ef_write_f64(&w, data->offsets[j]);
    efface_status status =
        w.failed
            ? ef_fail_memory(error)
            : ef_sql_prepare(store, "INSERT INTO facts VALUES ('offsets', ?)", &statement, error);
    if (status == EFFACE_OK) {
        ef_sql_bind_bytes(statement, 1, w.bytes, w.n_bytes);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    ef_free(w.bytes);
    return status;
}

efface_status ef_store_write_columns(efface_store *store, const efface_data *data,
                                     efface_error *error) {
    efface_status status = ef_names_digest(data->names, data->offsets, data->n_columns,
                                           store->head.names_digest, error);
    EF_THEN(status, write_names(store, data, error));
    return status == EFFACE_OK ? write_offsets(store, data, error) : status;
}

/* ---------------------------------------------------------------- reading */

static efface_status read_column_names(efface_store *store, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status = ef_sql_prepare(store, "SELECT number, name FROM columns ORDER BY number",
                                          &statement, error);
    for (uint32_t j = 0; status == EFFACE_OK; j++) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        if (j >= store->head.n_columns || !ef_sql_has(statement, "iu") ||
            sqlite3_column_int64(statement, 0) != (int64_t)j + 1) {
            status = ef_store_corrupt(error, "the names of its columns are invalid");
            break;
        }
        if (store->names == NULL)
            store->names = ef_alloc_zero(store->head.n_columns, sizeof *store->names);
        if (store->names == NULL || !ef_sql_copy_text(statement, 1, &store->names[j]))
            status = ef_fail_memory(error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static bool can_be_offset(double value) {
    return value >= -EFFACE_MAX_MAGNITUDE && value <= EFFACE_MAX_MAGNITUDE;
}

static efface_status copy_offsets(efface_store *store, ef_decoder reader, efface_error *error) {
    const uint32_t d = store->head.n_columns;
    if (reader.n_bytes != (size_t)d * 8)
        return ef_store_corrupt(error, "the offsets of its columns are invalid");
    store->offsets = ef_alloc_zero(d, sizeof *store->offsets);
    if (store->offsets == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++) {
        store->offsets[j] = ef_read_f64(&reader);
        if (!can_be_offset(store->offsets[j]))
            return ef_store_corrupt(error, "the offsets of its columns are invalid");
    }
    return EFFACE_OK;
}

static efface_status read_column_offsets(efface_store *store, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status =
        ef_sql_prepare(store, "SELECT value FROM facts WHERE name = 'offsets'", &statement, error);
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK && row)
        status = ef_sql_has(statement, "b")
                     ? copy_offsets(store, ef_sql_bytes(statement, 0), error)
                     : ef_store_corrupt(error, "the offsets of its columns are invalid");
    (void)sqlite3_finalize(statement);
    return status;
}

/* The offsets as those who load rows for the store want them. */
static efface_status make_places(efface_store *store, efface_error *error) {
    if (store->offsets == NULL)
        return EFFACE_OK;
    store->places = ef_alloc_zero(store->head.n_columns, sizeof *store->places);
    if (store->places == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < store->head.n_columns; j++)
        if (store->offsets[j] != 0.0)
            store->places[store->n_places++] =
                (efface_offset){.column = efface_store_column(store, j),
                                .place = j + 1,
                                .value = store->offsets[j]};
    return EFFACE_OK;
}

efface_status ef_store_read_columns(efface_store *store, efface_error *error) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    efface_status status = read_column_names(store, error);
    EF_THEN(status, read_column_offsets(store, error));
    EF_THEN(status,
            ef_names_digest(store->names, store->offsets, store->head.n_columns, digest, error));
    if (status == EFFACE_OK && memcmp(digest, store->head.names_digest, sizeof digest) != 0)
        status =
            ef_store_corrupt(error, "the names or offsets of its columns do not match its head");
    return status == EFFACE_OK ? make_places(store, error) : status;
}

/* ---------------------------------------------------------------- asking */

const char *efface_store_column(const efface_store *store, uint32_t column) {
    return store->names != NULL && column < store->head.n_columns ? store->names[column] : NULL;
}

double efface_store_offset(const efface_store *store, uint32_t column) {
    return store->offsets != NULL && column < store->head.n_columns ? store->offsets[column] : 0.0;
}

efface_status ef_store_give_offsets(const efface_store *store, const uint32_t *columns,
                                    efface_data *data, efface_error *error) {
    if (store->offsets == NULL)
        return EFFACE_OK;
    if (columns == NULL)
        return efface_data_set_offsets(data, store->offsets, error);
    double *const some = ef_alloc(data->n_columns, sizeof *some);
    if (some == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < data->n_columns; j++)
        some[j] = efface_store_offset(store, columns[j]);
    const efface_status status = efface_data_set_offsets(data, some, error);
    ef_free(some);
    return status;
}

efface_status ef_store_new_set(const efface_store *store, efface_data **out, efface_error *error) {
    efface_data *made = NULL;
    efface_status status = efface_data_create(store->head.n_columns, &made, error);
    if (status == EFFACE_OK) {
        efface_data_allow_missing(made);
        status = ef_store_give_offsets(store, NULL, made, error);
    }
    for (uint32_t j = 0; status == EFFACE_OK && store->names != NULL && j < made->n_columns; j++)
        status = efface_data_name_column(made, j, store->names[j], error);
    if (status == EFFACE_OK)
        *out = made;
    else
        efface_data_free(made);
    return status;
}

efface_status ef_store_check_offsets(const efface_store *store, const efface_data *data,
                                     efface_error *error) {
    for (uint32_t j = 0; j < data->n_columns; j++) {
        const double have = efface_store_offset(store, j);
        const double come = data->offsets != NULL ? data->offsets[j] : 0.0;
        if (have != come)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "column %" PRIu32
                           " of the rows has the offset %.17g, but that of the store has %.17g; "
                           "nothing was changed; load the rows with the offsets of the store",
                           j + 1, come, have);
    }
    return EFFACE_OK;
}
