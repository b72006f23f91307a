/* Statements, transactions, facts, and what SQLite's errors mean here. */
#include "base/status.h"
#include "store/store.h"

#include <string.h>

efface_status ef_store_corrupt(efface_error *error, const char *what) {
    return ef_fail(error, EFFACE_E_CORRUPT,
                   "the store is damaged: %s; put back a copy, or make it again from the data",
                   what);
}

efface_status ef_sql_fail(efface_store *store, efface_error *error) {
    const char *const message = sqlite3_errmsg(store->db);
    switch (sqlite3_errcode(store->db)) {
    case SQLITE_NOMEM: return ef_fail_memory(error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ef_fail(error, EFFACE_E_BUSY,
                       "the store is busy: another process is writing to it; try again");
    case SQLITE_CORRUPT: return ef_store_corrupt(error, message);
    case SQLITE_NOTADB: return ef_fail(error, EFFACE_E_FORMAT, "the file is not a store");
    case SQLITE_FULL: return ef_fail(error, EFFACE_E_IO, "the disk is full; nothing was changed");
    case SQLITE_READONLY:
        return ef_fail(error, EFFACE_E_IO, "the store cannot be written to: %s", message);
    case SQLITE_CONSTRAINT:
        return ef_fail(error, EFFACE_E_DUPLICATE, "a row or a model is there already: %s", message);
    default: return ef_fail(error, EFFACE_E_IO, "the store cannot be read or written: %s", message);
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

efface_status ef_store_begin(efface_store *store, bool writes, efface_error *error) {
    return ef_sql_run(store, writes ? "BEGIN IMMEDIATE" : "BEGIN", error);
}

/* Some errors have taken the transaction back already. */
static void take_back(efface_store *store) {
    if (sqlite3_get_autocommit(store->db) == 0)
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

/* The file's own count of its changes. */
static bool read_change_counter(efface_store *store, unsigned char counter[4]) {
    sqlite3_file *file = NULL;
    return sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file != NULL && file->pMethods->xRead(file, counter, 4, 24) == SQLITE_OK;
}

/* Whether the count is another by now, as who opens the file would see it. */
static bool has_changed(efface_store *store, const unsigned char before[4]) {
    unsigned char after[4];
    const bool changed = ef_sql_run(store, "BEGIN; SELECT 1 FROM facts", NULL) == EFFACE_OK &&
                         read_change_counter(store, after) && memcmp(before, after, 4) != 0;
    take_back(store);
    return changed;
}

/* A transaction is done when the journal is empty. If that could not be synced the commit is an
 * error, and yet the file has changed. Another one that writes what is there makes it certain. */
static efface_status commit(efface_store *store, efface_error *error) {
    unsigned char before[4];
    const bool counts = sqlite3_txn_state(store->db, "main") == SQLITE_TXN_WRITE &&
                        read_change_counter(store, before);
    efface_status status = ef_sql_run(store, "COMMIT", error);
    /* Pages in memory have slack that those in the file have not (page_slack.c), and would take it
     * into the journal of the next transaction. */
    (void)sqlite3_db_release_memory(store->db);
    if (status == EFFACE_OK)
        return EFFACE_OK;
    take_back(store);
    if (!counts || !has_changed(store, before))
        return status;
    status = ef_sql_run(store, "BEGIN IMMEDIATE;" EF_STORE_SET_VERSION "COMMIT", NULL);
    take_back(store);
    return status == EFFACE_OK
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_IO,
                         "the request was done, but the disk failed when it was to keep it: after "
                         "a power loss it may be undone; look at the disk, then at the store");
}

efface_status ef_store_end(efface_store *store, efface_status status, efface_error *error) {
    if (status == EFFACE_OK)
        return commit(store, error);
    take_back(store);
    return status;
}

ef_reader ef_sql_bytes(sqlite3_stmt *statement, int column) {
    const void *const bytes = sqlite3_column_blob(statement, column);
    const int n = sqlite3_column_bytes(statement, column);
    if (bytes == NULL || n <= 0)
        return (ef_reader){.bytes = (const unsigned char *)""};
    return (ef_reader){.bytes = bytes, .n_bytes = (size_t)n};
}

void ef_sql_bind_bytes(sqlite3_stmt *statement, int parameter, const void *bytes, size_t n_bytes) {
    (void)sqlite3_bind_blob64(statement, parameter, bytes, n_bytes, SQLITE_STATIC);
}

/* A statement that is at the value of a fact. */
static efface_status find_fact(efface_store *store, const char *name, sqlite3_stmt **out,
                               efface_error *error) {
    bool row = false;
    efface_status status =
        ef_sql_prepare(store, "SELECT value FROM facts WHERE name = ?", out, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_text(*out, 1, name, -1, SQLITE_STATIC);
        status = ef_sql_step(store, *out, &row, error);
    }
    return status != EFFACE_OK || row ? status
                                      : ef_store_corrupt(error, "a fact about it is missing");
}

efface_status ef_fact_read(efface_store *store, const char *name, uint64_t *value,
                           efface_error *error) {
    sqlite3_stmt *statement = NULL;
    const efface_status status = find_fact(store, name, &statement, error);
    if (status == EFFACE_OK)
        *value = (uint64_t)sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_fact_read_key(efface_store *store, const char *name, unsigned char *key,
                               size_t n_bytes, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status = find_fact(store, name, &statement, error);
    if (status == EFFACE_OK) {
        ef_reader reader = ef_sql_bytes(statement, 0);
        if (reader.n_bytes == n_bytes)
            ef_read_bytes(&reader, key, n_bytes);
        else
            status = ef_store_corrupt(error, "a key is not whole");
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_fact_write(efface_store *store, const char *name, uint64_t value,
                            efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "INSERT OR REPLACE INTO facts VALUES (?, ?)", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)value);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}
