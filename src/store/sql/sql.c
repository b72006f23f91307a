/* Statements, values, and what SQLite's errors mean here. */
#include "store/sql/sql.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>

efface_status ef_store_corrupt(efface_error *error, const char *what) {
    return ef_fail(
        error, EFFACE_E_CORRUPT,
        "the store is damaged: %s; restore a backup, or create the store again from the data",
        what);
}

efface_status ef_sql_fail(efface_store *store, efface_error *error) {
    const char *const message = sqlite3_errmsg(store->db);
    switch (sqlite3_errcode(store->db)) {
    case SQLITE_NOMEM: return ef_fail_memory(error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ef_fail(error, EFFACE_E_BUSY,
                       "the store is busy: another process is writing to it; efface waited %g "
                       "seconds; try again, or wait longer",
                       store->wait_seconds);
    case SQLITE_CORRUPT: return ef_store_corrupt(error, message);
    case SQLITE_NOTADB: return ef_fail(error, EFFACE_E_FORMAT, "the file is not a store");
    case SQLITE_FULL:
        (void)ef_fail(error, EFFACE_E_IO, "the disk is full; nothing was changed");
        ef_note_system(error, ENOSPC);
        return EFFACE_E_IO;
    case SQLITE_READONLY:
        (void)ef_fail(error, EFFACE_E_IO, "the store cannot be written to: %s", message);
        ef_note_system(error, EROFS);
        return EFFACE_E_IO;
    case SQLITE_TOOBIG:
        return ef_fail(error, EFFACE_E_LIMIT, "a value is larger than the limit of %d bytes",
                       sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, -1));
    case SQLITE_CONSTRAINT:
        return ef_fail(error, EFFACE_E_DUPLICATE, "a row or a model exists already: %s", message);
    default:
        (void)ef_fail(error, EFFACE_E_IO, "the store cannot be read or written: %s", message);
        ef_note_system(error, sqlite3_system_errno(store->db));
        return EFFACE_E_IO;
    }
}

efface_status ef_sql_run(efface_store *store, const char *sql, efface_error *error) {
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? EFFACE_OK
                                                                       : ef_sql_fail(store, error);
}

efface_status ef_sql_prepare(efface_store *store, const char *sql, sqlite3_stmt **out,
                             efface_error *error) {
    return sqlite3_prepare_v2(store->db, sql, -1, out, NULL) == SQLITE_OK
               ? EFFACE_OK
               : ef_sql_fail(store, error);
}

efface_status ef_sql_step(efface_store *store, sqlite3_stmt *statement, bool *row,
                          efface_error *error) {
    const int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? EFFACE_OK : ef_sql_fail(store, error);
}

efface_status ef_sql_do(efface_store *store, sqlite3_stmt *statement, efface_error *error) {
    bool row;
    efface_status status = ef_sql_step(store, statement, &row, error);
    (void)sqlite3_reset(statement);
    return status;
}

static bool is_clean(sqlite3_stmt *statement, int column) {
    const char *const text = (const char *)sqlite3_column_text(statement, column);
    return text == NULL || strlen(text) == (size_t)sqlite3_column_bytes(statement, column);
}

bool ef_sql_has(sqlite3_stmt *statement, const char *kinds) {
    for (int i = 0; kinds[i] != '\0'; i++) {
        const int type = sqlite3_column_type(statement, i);
        const bool optional = kinds[i] == 'n' || kinds[i] == 'u';
        const int wanted = kinds[i] == 'i' || kinds[i] == 'n'   ? SQLITE_INTEGER
                           : kinds[i] == 't' || kinds[i] == 'u' ? SQLITE_TEXT
                                                                : SQLITE_BLOB;
        if (!(type == wanted || (optional && type == SQLITE_NULL)) ||
            (type == SQLITE_TEXT && !is_clean(statement, i)))
            return false;
    }
    return true;
}

ef_decoder ef_sql_bytes(sqlite3_stmt *statement, int column) {
    const void *const bytes = sqlite3_column_blob(statement, column);
    const int n = sqlite3_column_bytes(statement, column);
    if (bytes == NULL || n <= 0)
        return (ef_decoder){.bytes = (const unsigned char *)""};
    return (ef_decoder){.bytes = bytes, .n_bytes = (size_t)n};
}

void ef_sql_bind_bytes(sqlite3_stmt *statement, int parameter, const void *bytes, size_t n_bytes) {
    (void)sqlite3_bind_blob64(statement, parameter, bytes, n_bytes, SQLITE_STATIC);
}

void ef_sql_bind_text(sqlite3_stmt *statement, int parameter, const char *text) {
    if (text != NULL)
        (void)sqlite3_bind_text(statement, parameter, text, -1, SQLITE_STATIC);
    else
        (void)sqlite3_bind_null(statement, parameter);
}

efface_status ef_sql_text(efface_store *store, sqlite3_stmt *statement, int column,
                          const char **text, efface_error *error) {
    *text = (const char *)sqlite3_column_text(statement, column);
    return *text == NULL && sqlite3_errcode(store->db) == SQLITE_NOMEM ? ef_fail_memory(error)
                                                                       : EFFACE_OK;
}

bool ef_sql_copy_text(sqlite3_stmt *statement, int column, char **text) {
    const char *const found = (const char *)sqlite3_column_text(statement, column);
    *text = NULL;
    if (found == NULL)
        return sqlite3_column_type(statement, column) == SQLITE_NULL;
    const size_t n_bytes = strlen(found) + 1;
    *text = ef_alloc(n_bytes, 1);
    if (*text == NULL)
        return false;
    memcpy(*text, found, n_bytes);
    return true;
}

void ef_sql_bind_sum(sqlite3_stmt *statement, int parameter, ef_u128 sum, unsigned char bytes[16]) {
    for (int i = 0; i < 16; i++)
        bytes[i] = (unsigned char)(sum >> (8 * i));
    ef_sql_bind_bytes(statement, parameter, bytes, 16);
}

bool ef_sql_read_sum(sqlite3_stmt *statement, int column, ef_u128 *sum) {
    const ef_decoder reader = ef_sql_bytes(statement, column);
    ef_u128 value = 0;
    if (reader.n_bytes != 16)
        return false;
    for (int i = 15; i >= 0; i--)
        value = value << 8 | reader.bytes[i];
    *sum = value;
    return true;
}

sqlite3_file *ef_sql_file(efface_store *store) {
    sqlite3_file *file = NULL;
    return sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
                   file != NULL && file->pMethods != NULL
               ? file
               : NULL;
}

efface_status ef_sql_number(efface_store *store, const char *sql, int64_t *value,
                            efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status = ef_sql_prepare(store, sql, &statement, error);
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK && row)
        *value = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return status == EFFACE_OK && !row ? ef_store_corrupt(error, "a number is missing") : status;
}
