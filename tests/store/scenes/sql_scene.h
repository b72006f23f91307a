/* The file of a store behind its back: SQL through a connection of its own, and all that is in the
 * tables as one text, to be compared. For tests, which include this file after cmocka. */
#ifndef EF_SQL_SCENE_H
#define EF_SQL_SCENE_H

#include "store/scenes/store_scene.h"

#include <sqlite3.h>

static inline sqlite3 *open_sql(const char *path) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return db;
}

static inline void run_sql(const char *path, const char *sql) {
    sqlite3 *const db = open_sql(path);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    (void)sqlite3_close(db);
}

/* The first number of a query. */
static inline int64_t sql_number(const char *path, const char *sql) {
    sqlite3 *const db = open_sql(path);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const int64_t number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return number;
}

/* The first value of a query, as bytes; release with free. */
static inline image sql_bytes(const char *path, const char *sql) {
    sqlite3 *const db = open_sql(path);
    sqlite3_stmt *statement = NULL;
    image found = {NULL, 0};
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const void *const bytes = sqlite3_column_blob(statement, 0);
    found.n_bytes = (size_t)sqlite3_column_bytes(statement, 0);
    found.bytes = malloc(found.n_bytes + 1);
    assert_non_null(found.bytes);
    if (found.n_bytes != 0)
        memcpy(found.bytes, bytes, found.n_bytes);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return found;
}

/* ------------------------------------------------------------------ what is in a store */

typedef struct text {
    char *bytes;
    size_t n_bytes, capacity;
} text;

static inline void add_text(text *t, const void *bytes, size_t n_bytes) {
    if (t->n_bytes + n_bytes > t->capacity) {
        t->capacity = 2 * (t->n_bytes + n_bytes);
        t->bytes = realloc(t->bytes, t->capacity);
        assert_non_null(t->bytes);
    }
    if (n_bytes != 0)
        memcpy(t->bytes + t->n_bytes, bytes, n_bytes);
    t->n_bytes += n_bytes;
}

/* Hexadecimal digits after each mark, as if there were none. */
static inline void hide_hex(char *body, const char *mark) {
    for (char *at = strstr(body, mark); at != NULL; at = strstr(at + 1, mark)) {
        char *const hex = at + strlen(mark);
        memset(hex, 'x', strspn(hex, "0123456789abcdef"));
    }
}

/* All rows of a query, column after column; times of receipts, and what follows from random salts,
 * as if there were none. */
static inline void add_query(text *t, sqlite3 *db, const char *sql) {
    static const char mark[] = "\"time\":\"";
    sqlite3_stmt *statement = NULL;
    int code;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const int type = sqlite3_column_type(statement, i);
            const char *const bytes = sqlite3_column_blob(statement, i);
            const int n = sqlite3_column_bytes(statement, i);
            const size_t begin = t->n_bytes;
            add_text(t, &type, sizeof type);
            add_text(t, &n, sizeof n);
            add_text(t, bytes, (size_t)n);
            add_text(t, "", 1);
            char *const time = strstr(t->bytes + begin + sizeof type + sizeof n, mark);
            if (time != NULL)
                memset(time + sizeof mark - 1, 'x', 20);
            if (time != NULL) {
                hide_hex(time, "\"before\":\"");
                hide_hex(time, "\"after\":\"");
                hide_hex(time, "\"previous\":\"");
            }
        }
    }
    assert_int_equal(code, SQLITE_DONE);
    (void)sqlite3_finalize(statement);
}

/* All models of a store of today, with the parts of their states, but for seals and numbers. */
static inline void add_models(text *t, sqlite3 *db) {
    add_query(t, db,
              "SELECT name, family, params, columns, counts, digest, substr(parts, 1, 8), state "
              "FROM models"
              " ORDER BY name");
    add_query(t, db,
              "SELECT name, states.number & 8796093022207, bytes FROM models JOIN states"
              " ON states.number >> 43 = models.number ORDER BY 1, 2");
}

/* Of a store of today on the real disk; but for seals, sums and the head, whose key is random.
 */
/* Rows and groups, with buckets where these do not depend on the key of the file: those of ids in
 * order, and whether a group is of an owner or a label. */
static inline void add_rows_and_groups(text *t, sqlite3 *db) {
#define IN_ORDER " < (SELECT count(*) / 2 FROM buckets)"
#define OF_LABEL " >= (SELECT count(*) / 2 FROM group_buckets)"
    add_query(t, db,
              "SELECT CASE WHEN bucket" IN_ORDER " THEN bucket END, id, owner, weight, class, text,"
              " vals FROM rows ORDER BY id");
    add_query(t, db,
              "SELECT number, CASE WHEN number" IN_ORDER " THEN n_rows END, length(sum)"
              " FROM buckets ORDER BY number");
    add_query(t, db, "SELECT sum(n_rows) FROM buckets");
    add_query(t, db,
              "SELECT bucket" OF_LABEL ", number, n_rows, length(members), text FROM groups"
              " ORDER BY 1, 2");
    add_query(t, db,
              "SELECT number" OF_LABEL ", sum(n_groups), count(*), min(length(sum))"
              " FROM group_buckets GROUP BY 1 ORDER BY 1");
#undef IN_ORDER
#undef OF_LABEL
}

static inline text describe(const char *path) {
    text t = {NULL, 0, 0};
    sqlite3 *const db = open_sql(path);
    add_query(&t, db, "SELECT * FROM columns ORDER BY number");
    add_rows_and_groups(&t, db);
    add_models(&t, db);
    add_query(&t, db, "SELECT * FROM receipts ORDER BY number");
    (void)sqlite3_close(db);
    return t;
}

static inline bool same(const text *a, const text *b) {
    return a->n_bytes == b->n_bytes &&
           (a->n_bytes == 0 || memcmp(a->bytes, b->bytes, a->n_bytes) == 0);
}

#endif
