/*
 * The store: one SQLite file with rows, models and receipts.
 *
 * Invariants; tests cite them by number.
 *
 *  1. A request is one transaction over rows, models and its receipt. When the call returns OK, the
 *     transaction is on the disk (synchronous = FULL). When it returns anything else, or the
 *     process or the machine dies before, the file is as it was before the request; but for a disk
 *     that fails again and again from the last sync on: then the message says that it was done.
 *  2. After an acknowledged request the journal is empty (journal_mode = TRUNCATE), and the bytes
 *     of rows that were forgotten are in no file: freed cells and pages are overwritten with zeros
 *     (secure_delete), and so is what lies between cells (page_slack.c); no tree keeps the key of a
 *     row that left (rows have no rowid: a tree of rowids does); temporary data stays in memory
 *     (temp_store).
 *  3. Each model's state is that of a fit to the rows that are there, with its parameters, seed and
 *     columns; `digest` is the digest of that state.
 *  4. Each model's `counts` are those of the rows that are there; the fact n_rows is their number;
 *     next_id is larger than every id there ever was.
 *  5. Receipts are numbered from 1 without gaps. They are only appended.
 *  6. The seed of a model, the key that ids in receipts are hashed with, and the key of texts are
 *     in the file, and leave it only through functions that say so.
 *
 * Tables:
 *
 *     facts     name, value                     n_rows, next_id, n_columns; keys as blobs
 *     columns   number, name                    if columns have names
 *     rows      id, owner, weight, label, vals  vals: float32, little-endian, side by side
 *     models    name, params, columns, counts, state, digest
 *     receipts  number, body                    a line of JSON
 *
 * Ids and owners are unsigned in the library and signed in SQLite: the same 64 bits.
 */
#include "store/store.h"

#include "base/checked.h"
#include "base/status.h"
#include "data/text_id.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID 1162233409 /* "EFFA" */
#define STORE_VERSION 1           /* as EF_STORE_SET_VERSION has it */
#define WAIT_MILLISECONDS 5000

static const char schema[] =
    "CREATE TABLE facts(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE columns(number INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE rows(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, weight INTEGER NOT NULL,"
    " label INTEGER NOT NULL, vals BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE models(name TEXT NOT NULL UNIQUE, params BLOB NOT NULL, columns BLOB NOT NULL,"
    " counts BLOB NOT NULL, digest BLOB NOT NULL, state BLOB NOT NULL);"
    "CREATE TABLE receipts(number INTEGER PRIMARY KEY, body TEXT NOT NULL);"
    "PRAGMA application_id = 1162233409;" EF_STORE_SET_VERSION;

/* ---------------------------------------------------------------- open and close */

void efface_store_close(efface_store *store) {
    if (store == NULL)
        return;
    (void)sqlite3_close(store->db);
    for (uint32_t j = 0; store->names != NULL && j < store->n_columns; j++)
        ef_free(store->names[j]);
    ef_free(store->names);
    sodium_memzero(store, sizeof *store);
    ef_free(store);
}

/* The path as SQLite has to see it: to SQLite "" and ":memory:" are no files, and "file:" may begin
 * an address. In a folder they are names like others. NULL if memory is short. */
static char *name_of_file(const char *path) {
    const char *const folder = path[0] == '/' ? "" : "./";
    const size_t n_folder = strlen(folder), n = strlen(path) + 1;
    char *const name = ef_alloc(n_folder + n, 1);
    if (name != NULL) {
        memcpy(name, folder, n_folder);
        memcpy(name + n_folder, path, n);
    }
    return name;
}

/* Opens the file and sets what invariants 1 and 2 need. */
static efface_status open_file(const char *path, bool writes, efface_store **out,
                               efface_error *error) {
    efface_store *const store = ef_alloc_zero(1, sizeof *store);
    char *const name = name_of_file(path);
    if (store == NULL || name == NULL || sodium_init() < 0) {
        ef_free(store);
        ef_free(name);
        return ef_fail_memory(error);
    }
    store->writes = writes;
    (void)ef_sql_wipe_memory();
    /* A reader may have to roll back what a process that died left behind, so it may write too. */
    const int code =
        sqlite3_open_v2(name, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL);
    ef_free(name);
    efface_status status = EFFACE_OK;
    if (code == SQLITE_CANTOPEN)
        status = ef_fail(error, EFFACE_E_IO, "%s: %s", path, sqlite3_errmsg(store->db));
    else if (code != SQLITE_OK)
        status = store->db != NULL ? ef_sql_fail(store, error) : ef_fail_memory(error);
    if (status == EFFACE_OK) {
        ef_clean_writes(store->db, &store->clean);
        (void)sqlite3_busy_timeout(store->db, WAIT_MILLISECONDS);
        (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        status = ef_sql_run(store,
                            "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;"
                            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                            "PRAGMA max_page_count = " EF_STORE_MOST_PAGES ";",
                            error);
    }
    if (status == EFFACE_OK && writes)
        status = ef_sql_run(store,
                            "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;"
                            "PRAGMA secure_delete = ON;",
                            error);
    if (status == EFFACE_OK && !writes)
        status = ef_sql_run(store, "PRAGMA query_only = ON;", error);
    if (status != EFFACE_OK) {
        efface_store_close(store);
        return status;
    }
    *out = store;
    return EFFACE_OK;
}

static efface_status read_pragma(efface_store *store, const char *sql, int64_t *value,
                                 efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status = ef_sql_prepare(store, sql, &statement, error);
    if (status == EFFACE_OK)
        status = ef_sql_step(store, statement, &row, error);
    if (status == EFFACE_OK)
        *value = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status read_names(efface_store *store, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status = ef_sql_prepare(store, "SELECT number, name FROM columns ORDER BY number",
                                          &statement, error);
    for (uint32_t j = 0; status == EFFACE_OK; j++) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const char *const name = (const char *)sqlite3_column_text(statement, 1);
        if (j >= store->n_columns || sqlite3_column_int64(statement, 0) != (int64_t)j + 1 ||
            name == NULL) {
            status = ef_store_corrupt(error, "the names of its columns");
            break;
        }
        if (store->names == NULL)
            store->names = ef_alloc_zero(store->n_columns, sizeof *store->names);
        const size_t n_bytes = strlen(name) + 1;
        char *const copy = store->names != NULL ? ef_alloc(n_bytes, 1) : NULL;
        if (copy == NULL) {
            status = ef_fail_memory(error);
            break;
        }
        memcpy(copy, name, n_bytes);
        store->names[j] = copy;
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status read_head(efface_store *store, efface_error *error) {
    int64_t id = 0, version = 0;
    uint64_t n_columns = 0;
    efface_status status = read_pragma(store, "PRAGMA application_id", &id, error);
    if (status == EFFACE_OK)
        status = read_pragma(store, "PRAGMA user_version", &version, error);
    if (status == EFFACE_OK && id != APPLICATION_ID)
        status = ef_fail(error, EFFACE_E_FORMAT, "the file is not a store of efface");
    if (status == EFFACE_OK && version != STORE_VERSION)
        status = ef_fail(error, EFFACE_E_FORMAT,
                         "the store has version %lld; this program knows version %d, a newer one "
                         "may be needed",
                         (long long)version, STORE_VERSION);
    if (status == EFFACE_OK)
        status = ef_fact_read(store, "n_columns", &n_columns, error);
    if (status == EFFACE_OK && (n_columns == 0 || n_columns > EFFACE_MAX_COLUMNS))
        status = ef_store_corrupt(error, "its number of columns");
    store->n_columns = (uint32_t)n_columns;
    if (status == EFFACE_OK)
        status =
            ef_fact_read_key(store, "hash_key", store->hash_key, sizeof store->hash_key, error);
    if (status == EFFACE_OK)
        status = ef_fact_read_key(store, "receipt_key", store->receipt_key,
                                  sizeof store->receipt_key, error);
    if (status == EFFACE_OK)
        status = read_names(store, error);
    return status;
}

efface_status efface_store_open(const char *path, efface_access access, efface_store **out,
                                efface_error *error) {
    if (path == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "path and out must not be NULL");
    efface_store *store = NULL;
    efface_status status = open_file(path, access == EFFACE_ACCESS_WRITE, &store, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_store_begin(store, false, error);
    if (status == EFFACE_OK)
        status = ef_store_end(store, read_head(store, error), error);
    if (status != EFFACE_OK)
        efface_store_close(store);
    else
        *out = store;
    return status;
}

/* ---------------------------------------------------------------- create */

static efface_status write_key(efface_store *store, const char *name, const unsigned char *key,
                               size_t n_bytes, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "INSERT INTO facts VALUES (?, ?)", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        ef_sql_bind_bytes(statement, 2, key, n_bytes);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status write_names(efface_store *store, const efface_data *data,
                                 efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "INSERT INTO columns VALUES (?, ?)", &statement, error);
    for (uint32_t j = 0; status == EFFACE_OK && j < data->n_columns; j++) {
        const char *const name = efface_data_column_name(data, j);
        if (name == NULL)
            break;
        (void)sqlite3_bind_int64(statement, 1, (int64_t)j + 1);
        (void)sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static efface_status write_all(efface_store *store, const efface_data *data, efface_error *error) {
    efface_status status = ef_sql_run(store, schema, error);
    if (status == EFFACE_OK)
        status = ef_fact_write(store, "n_columns", data->n_columns, error);
    if (status == EFFACE_OK)
        status = write_key(store, "hash_key", store->hash_key, sizeof store->hash_key, error);
    if (status == EFFACE_OK)
        status =
            write_key(store, "receipt_key", store->receipt_key, sizeof store->receipt_key, error);
    if (status == EFFACE_OK)
        status = ef_fact_write(store, "n_rows", data->n_rows, error);
    if (status == EFFACE_OK)
        status = ef_fact_write(store, "next_id", data->next_id, error);
    if (status == EFFACE_OK)
        status = write_names(store, data, error);
    if (status == EFFACE_OK)
        status = ef_rows_insert(store, data, 0, error);
    /* Made after the rows: that is faster than keeping it up to date meanwhile. */
    return status == EFFACE_OK
               ? ef_sql_run(store, "CREATE INDEX rows_by_owner ON rows(owner)", error)
               : status;
}

/* Of a store that could not be made. */
static void remove_files(const char *path) {
    static const char ending[] = "-journal";
    const size_t n = strlen(path);
    char *const journal = ef_alloc(n + sizeof ending, 1);
    (void)unlink(path);
    if (journal == NULL)
        return;
    memcpy(journal, path, n);
    memcpy(journal + n, ending, sizeof ending);
    (void)unlink(journal);
    ef_free(journal);
}

efface_status efface_store_create(const char *path, const efface_data *data,
                                  const unsigned char hash_key[EFFACE_HASH_KEY_BYTES],
                                  efface_store **out, efface_error *error) {
    if (path == NULL || data == NULL || hash_key == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "path, data, hash_key and out must not be NULL");
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0 && errno == EEXIST)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%s is there already", path);
    if (file < 0 || close(file) != 0)
        return ef_fail(error, EFFACE_E_IO, "%s cannot be made: %s", path, strerror(errno));
    efface_store *store = NULL;
    efface_status status = open_file(path, true, &store, error);
    if (status == EFFACE_OK) {
        store->n_columns = data->n_columns;
        memcpy(store->hash_key, hash_key, sizeof store->hash_key);
        randombytes_buf(store->receipt_key, sizeof store->receipt_key);
        status = ef_store_begin(store, true, error);
    }
    if (status == EFFACE_OK)
        status = ef_store_end(store, write_all(store, data, error), error);
    if (status == EFFACE_OK)
        status = read_names(store, error);
    if (status != EFFACE_OK) {
        efface_store_close(store);
        remove_files(path);
        return status;
    }
    *out = store;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- what is in it */

efface_status efface_store_get_info(efface_store *store, efface_store_info *info,
                                    efface_error *error) {
    if (store == NULL || info == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and info must not be NULL");
    efface_store_info found = {.n_columns = store->n_columns};
    int64_t n_models = 0, n_receipts = 0;
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_fact_read(store, "n_rows", &found.n_rows, error);
    if (status == EFFACE_OK)
        status = read_pragma(store, "SELECT count(*) FROM models", &n_models, error);
    if (status == EFFACE_OK)
        status =
            read_pragma(store, "SELECT ifnull(max(number), 0) FROM receipts", &n_receipts, error);
    status = ef_store_end(store, status, error);
    if (status == EFFACE_OK) {
        found.n_models = (uint32_t)n_models;
        found.n_receipts = (uint64_t)n_receipts;
        *info = found;
    }
    return status;
}

const char *efface_store_column(const efface_store *store, uint32_t column) {
    return store->names != NULL && column < store->n_columns ? store->names[column] : NULL;
}

uint64_t efface_store_text_id(const efface_store *store, const char *text, size_t n_bytes) {
    return efface_text_id(text, n_bytes, store->hash_key);
}

void efface_store_load_options(const efface_store *store, efface_load_options *options) {
    efface_load_options_init(options);
    memcpy(options->hash_key, store->hash_key, sizeof options->hash_key);
}

void efface_text_free(char *text) {
    ef_free(text);
}
