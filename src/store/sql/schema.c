/*
 * The schema of a store, and whether a file has just that.
 *
 * Tables, views and triggers of somebody else could do things when rows are changed, or keep what
 * should be forgotten. A store with any is not written to.
 */
#include "store/sql/schema.h"

#include "base/errors/status.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define FACTS "CREATE TABLE facts(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
#define COLUMNS "CREATE TABLE columns(number INTEGER PRIMARY KEY, name TEXT)"
#define ROWS                                                                                       \
    "CREATE TABLE rows(bucket INTEGER NOT NULL, id INTEGER NOT NULL, owner INTEGER,"               \
    " weight INTEGER NOT NULL, class INTEGER, text TEXT, vals BLOB NOT NULL,"                      \
    " PRIMARY KEY(bucket, id)) WITHOUT ROWID"
#define BUCKETS                                                                                    \
    "CREATE TABLE buckets(number INTEGER PRIMARY KEY, n_rows INTEGER NOT NULL, sum BLOB NOT NULL)"
#define GROUPS                                                                                     \
    "CREATE TABLE groups(bucket INTEGER NOT NULL, number INTEGER NOT NULL,"                        \
    " n_rows INTEGER NOT NULL, members BLOB NOT NULL, text TEXT, PRIMARY KEY(bucket, number))"     \
    " WITHOUT ROWID"
#define GROUP_BUCKETS                                                                              \
    "CREATE TABLE group_buckets(number INTEGER PRIMARY KEY, n_groups INTEGER NOT NULL,"            \
    " sum BLOB NOT NULL)"
#define MODELS                                                                                     \
    "CREATE TABLE models(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"                   \
    " family TEXT NOT NULL, params BLOB NOT NULL, columns BLOB NOT NULL, counts BLOB NOT NULL,"    \
    " digest BLOB NOT NULL, salt BLOB NOT NULL, parts BLOB NOT NULL, seal BLOB NOT NULL, state "   \
    "BLOB NOT NULL)"
#define STATES "CREATE TABLE states(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)"
#define SECTIONS "CREATE TABLE sections(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)"
#define RECEIPTS "CREATE TABLE receipts(number INTEGER PRIMARY KEY, body TEXT NOT NULL)"
#define ROWS_BY_OWNER "CREATE INDEX rows_by_owner ON rows(owner) WHERE owner IS NOT NULL"

const char ef_schema[] = FACTS ";" COLUMNS ";" ROWS ";" BUCKETS ";" GROUPS ";" GROUP_BUCKETS
                               ";" MODELS ";" STATES ";" SECTIONS ";" RECEIPTS ";"
                               "PRAGMA application_id = 1162233409;" EF_STORE_SET_VERSION;
const char ef_schema_late[] = ROWS_BY_OWNER;

static const struct {
    const char *type, *name, *table, *sql;
} ours[] = {
    {"table", "facts", "facts", FACTS},
    {"table", "columns", "columns", COLUMNS},
    {"table", "rows", "rows", ROWS},
    {"table", "buckets", "buckets", BUCKETS},
    {"table", "groups", "groups", GROUPS},
    {"table", "group_buckets", "group_buckets", GROUP_BUCKETS},
    {"table", "models", "models", MODELS},
    {"index", "sqlite_autoindex_models_1", "models", ""},
    {"table", "states", "states", STATES},
    {"table", "sections", "sections", SECTIONS},
    {"table", "receipts", "receipts", RECEIPTS},
    {"index", "rows_by_owner", "rows", ROWS_BY_OWNER},
};

#define N_OURS (sizeof ours / sizeof ours[0])

static const char *text_of(sqlite3_stmt *statement, int column) {
    const char *const text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

/* The place of an object among ours, or N_OURS. */
static size_t find_item(sqlite3_stmt *statement) {
    size_t i = 0;
    while (i < N_OURS && (strcmp(text_of(statement, 0), ours[i].type) != 0 ||
                          strcmp(text_of(statement, 1), ours[i].name) != 0 ||
                          strcmp(text_of(statement, 2), ours[i].table) != 0 ||
                          strcmp(text_of(statement, 3), ours[i].sql) != 0))
        i++;
    return i;
}

/* Names in a schema may be anything. */
static void name_foreign(char foreign[200], const char *type, const char *name) {
    char plain[64];
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < sizeof plain; n++)
        plain[n] = name[n] > ' ' && name[n] < 127 ? name[n] : '?';
    plain[n] = '\0';
    (void)snprintf(foreign, 200, "the %.20s %s was not made by efface, or was changed",
                   strcmp(type, "table") == 0 || strcmp(type, "index") == 0 ||
                           strcmp(type, "view") == 0 || strcmp(type, "trigger") == 0
                       ? type
                       : "object",
                   plain);
}

static efface_status compare_items(efface_store *store, char foreign[200], efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true, seen[N_OURS] = {false};
    foreign[0] = '\0';
    efface_status status = ef_sql_prepare(
        store, "SELECT type, name, tbl_name, sql FROM sqlite_schema", &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const size_t found = find_item(statement);
        if (sqlite3_errcode(store->db) == SQLITE_NOMEM) {
            status = ef_fail_memory(error);
            break;
        }
        if (found < N_OURS)
            seen[found] = true;
        else if (foreign[0] == '\0')
            name_foreign(foreign, text_of(statement, 0), text_of(statement, 1));
    }
    (void)sqlite3_finalize(statement);
    for (size_t i = 0; status == EFFACE_OK && i < N_OURS; i++)
        if (!seen[i] && foreign[0] == '\0')
            (void)snprintf(foreign, 200, "the %s %s is missing", ours[i].type, ours[i].name);
    return status;
}

efface_status ef_schema_check(efface_store *store, efface_error *error) {
    int64_t version = 0;
    efface_status status = ef_sql_number(store, "PRAGMA schema_version", &version, error);
    if (status == EFFACE_OK && version != store->schema_version) {
        status = compare_items(store, store->foreign, error);
        store->schema_version = version;
    }
    return status == EFFACE_OK && store->foreign[0] != '\0' && store->writes
               ? ef_fail(error, EFFACE_E_CORRUPT,
                         "efface does not write to this store: %s; restore a backup, or create the "
                         "store again from the data",
                         store->foreign)
               : status;
}
