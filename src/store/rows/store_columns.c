/*
 * The columns of a store: their names, in a table of their own; their offsets, in the fact "offsets"
 * as float64 numbers, little-endian, if any is not 0; and their types, in the fact "types" as numbers
 * of 32 bits (efface_column_type), if any is no number. The head has one digest of all. None changes
 * after the store was made.
 */
#include "store/rows/store_columns.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"
#include "data/texts/field_types.h"
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
    ef_free(store->types);
    ef_free(store->typed);
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

/* One fact about all columns, which releases the bytes. */
static efface_status write_fact(efface_store *store, const char *name, ef_writer *w,
                                efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        w->failed ? ef_fail_memory(error)
                  : ef_sql_prepare(store, "INSERT INTO facts VALUES (?, ?)", &statement, error);
    if (status == EFFACE_OK) {
        ef_sql_bind_text(statement, 1, name);
        ef_sql_bind_bytes(statement, 2, w->bytes, w->n_bytes);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    ef_free(w->bytes);
    return status;
}

static efface_status write_offsets(efface_store *store, const efface_data *data,
                                   efface_error *error) {
    ef_writer w = {0};
    if (data->offsets == NULL)
        return EFFACE_OK;
    for (uint32_t j = 0; j < data->n_columns; j++)
        ef_write_f64(&w, data->offsets[j]);
    return write_fact(store, "offsets", &w, error);
}

static efface_status write_types(efface_store *store, const efface_data *data,
                                 efface_error *error) {
    ef_writer w = {0};
    if (data->types == NULL)
        return EFFACE_OK;
    for (uint32_t j = 0; j < data->n_columns; j++)
        ef_write_u32(&w, (uint32_t)data->types[j]);
    return write_fact(store, "types", &w, error);
}

efface_status ef_store_write_columns(efface_store *store, const efface_data *data,
                                     efface_error *error) {
    efface_status status = ef_names_digest(data->names, data->offsets, data->types, data->n_columns,
                                           store->head.names_digest, error);
    EF_THEN(status, write_names(store, data, error));
    EF_THEN(status, write_offsets(store, data, error));
    return status == EFFACE_OK ? write_types(store, data, error) : status;
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

static efface_status copy_types(efface_store *store, ef_decoder reader, efface_error *error) {
    const uint32_t d = store->head.n_columns;
    if (reader.n_bytes != (size_t)d * 4)
        return ef_store_corrupt(error, "the types of its columns are invalid");
    store->types = ef_alloc_zero(d, sizeof *store->types);
    if (store->types == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < d; j++) {
        const uint32_t type = ef_read_u32(&reader);
        if (type > INT32_MAX || !ef_type_is_known((int)type))
            return ef_store_corrupt(error, "the types of its columns are invalid");
        store->types[j] = (efface_column_type)type;
    }
    return EFFACE_OK;
}

/* A fact about all columns, if there is one. */
static efface_status read_fact(efface_store *store, const char *name,
                               efface_status copy(efface_store *, ef_decoder, efface_error *),
                               efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status =
        ef_sql_prepare(store, "SELECT value FROM facts WHERE name = ?", &statement, error);
    if (status == EFFACE_OK)
        ef_sql_bind_text(statement, 1, name);
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK && row)
        status = ef_sql_has(statement, "b")
                     ? copy(store, ef_sql_bytes(statement, 0), error)
                     : ef_store_corrupt(error, "what it says of its columns is invalid");
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

/* And the types. */
static efface_status make_typed(efface_store *store, efface_error *error) {
    if (store->types == NULL)
        return EFFACE_OK;
    store->typed = ef_alloc_zero(store->head.n_columns, sizeof *store->typed);
    if (store->typed == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < store->head.n_columns; j++)
        if (store->types[j] != EFFACE_TYPE_NUMBER)
            store->typed[store->n_typed++] = (efface_typed_column){
                .column = efface_store_column(store, j), .place = j + 1, .type = store->types[j]};
    return EFFACE_OK;
}

efface_status ef_store_read_columns(efface_store *store, efface_error *error) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    efface_status status = read_column_names(store, error);
    EF_THEN(status, read_fact(store, "offsets", copy_offsets, error));
    EF_THEN(status, read_fact(store, "types", copy_types, error));
    EF_THEN(status, ef_names_digest(store->names, store->offsets, store->types,
                                    store->head.n_columns, digest, error));
    if (status == EFFACE_OK && memcmp(digest, store->head.names_digest, sizeof digest) != 0)
        status = ef_store_corrupt(
            error, "the names, offsets or types of its columns do not match its head");
    EF_THEN(status, make_places(store, error));
    return status == EFFACE_OK ? make_typed(store, error) : status;
}

/* ---------------------------------------------------------------- asking */

const char *efface_store_column(const efface_store *store, uint32_t column) {
    return store->names != NULL && column < store->head.n_columns ? store->names[column] : NULL;
}

double efface_store_offset(const efface_store *store, uint32_t column) {
    return store->offsets != NULL && column < store->head.n_columns ? store->offsets[column] : 0.0;
}

efface_column_type efface_store_type(const efface_store *store, uint32_t column) {
    return store->types != NULL && column < store->head.n_columns ? store->types[column]
                                                                  : EFFACE_TYPE_NUMBER;
}

static uint32_t column_of(const uint32_t *columns, uint32_t j) {
    return columns != NULL ? columns[j] : j;
}

static efface_status give_types(const efface_store *store, const uint32_t *columns,
                                efface_data *data, efface_error *error) {
    if (store->types == NULL)
        return EFFACE_OK;
    efface_column_type *const some = ef_alloc(data->n_columns, sizeof *some);
    if (some == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < data->n_columns; j++)
        some[j] = efface_store_type(store, column_of(columns, j));
    const efface_status status = efface_data_set_types(data, some, error);
    ef_free(some);
    return status;
}

static efface_status give_offsets(const efface_store *store, const uint32_t *columns,
                                  efface_data *data, efface_error *error) {
    if (store->offsets == NULL)
        return EFFACE_OK;
    double *const some = ef_alloc(data->n_columns, sizeof *some);
    if (some == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < data->n_columns; j++)
        some[j] = efface_store_offset(store, column_of(columns, j));
    const efface_status status = efface_data_set_offsets(data, some, error);
    ef_free(some);
    return status;
}

efface_status ef_store_give_units(const efface_store *store, const uint32_t *columns,
                                  efface_data *data, efface_error *error) {
    const efface_status status = give_offsets(store, columns, data, error);
    return status == EFFACE_OK ? give_types(store, columns, data, error) : status;
}

efface_status ef_store_new_set(const efface_store *store, efface_data **out, efface_error *error) {
    efface_data *made = NULL;
    efface_status status = efface_data_create(store->head.n_columns, &made, error);
    if (status == EFFACE_OK) {
        efface_data_allow_missing(made);
        status = ef_store_give_units(store, NULL, made, error);
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
