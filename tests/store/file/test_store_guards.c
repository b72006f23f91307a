/*
 * What keeps a store from being written to: a schema that is not ours (store.c, invariant 8), a
 * SQLite that will not do what the store needs (invariant 2), another process after a fork.
 *
 * The linker sends some functions of SQLite through this test (--wrap, tests/CMakeLists.txt), so
 * that a pragma is not taken.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"
#include "store/store.h"

#include <sodium.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- a SQLite that will not */

static const char *refused_pragma, *refused_answer; /* NULL: all are taken */
static bool hides_file, runs_triggers;

int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out,
                              const char **tail);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out,
                              const char **tail);
int __real_sqlite3_file_control(sqlite3 *db, const char *name, int what, void *argument);
int __wrap_sqlite3_file_control(sqlite3 *db, const char *name, int what, void *argument);
int __wrap_sqlite3_db_config(sqlite3 *db, int what, ...);
int __real_sqlite3_db_config(sqlite3 *db, int what, ...);

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **out,
                              const char **tail) {
    const bool refuses = refused_pragma != NULL && strstr(sql, refused_pragma) != NULL;
    return __real_sqlite3_prepare_v2(db, refuses ? refused_answer : sql, refuses ? -1 : n, out,
                                     tail);
}

int __wrap_sqlite3_file_control(sqlite3 *db, const char *name, int what, void *argument) {
    return hides_file ? SQLITE_NOTFOUND : __real_sqlite3_file_control(db, name, what, argument);
}

int __wrap_sqlite3_db_config(sqlite3 *db, int what, ...) {
    va_list arguments;
    va_start(arguments, what);
    const int value = va_arg(arguments, int);
    int *const answer = va_arg(arguments, int *);
    va_end(arguments);
    if (!runs_triggers || what != SQLITE_DBCONFIG_ENABLE_TRIGGER)
        return __real_sqlite3_db_config(db, what, value, answer);
    *answer = 1;
    return SQLITE_OK;
}

static void check_refused(const char *words) {
    efface_store *store = NULL;
    efface_data *const data = make_rows(3, 0, true);
    REFUSED(EFFACE_E_IO, words, open_plain(in_folder(STORE), EFFACE_ACCESS_WRITE, &store, error));
    efface_error problem = {.message = ""};
    assert_int_equal(create_plain(in_folder("other.efface"), data, &store, &problem), EFFACE_E_IO);
    assert_non_null(strstr(problem.message, words));
    assert_null(store);
    assert_int_equal(access(in_folder("other.efface"), F_OK), -1);
    assert_int_equal(access(in_folder("other.efface-new"), F_OK), -1);
    efface_data_free(data);
}

static void a_sqlite_that_will_not(void **state) {
    (void)state;
    static const struct {
        const char *pragma, *answer, *words;
    } pragmas[] = {
        {"journal_mode =", "SELECT 'delete'", "empty its journal"},
        {"journal_mode =", "SELECT 'truncate' WHERE 0", "empty its journal"},
        {"PRAGMA synchronous", "SELECT 1", "wait for the disk"},
        {"secure_delete =", "SELECT 0", "overwrite what is deleted"},
        {"secure_delete =", "SELECT 2", "overwrite what is deleted"}, /* "fast" */
        {"secure_delete =", "SELECT 1 WHERE 0", "overwrite what is deleted"},
        {"PRAGMA temp_store", "SELECT 0", "temporary data in memory"},
    };
    efface_store_close(make_store());
    for (size_t i = 0; i < sizeof pragmas / sizeof pragmas[0]; i++) {
        refused_pragma = pragmas[i].pragma;
        refused_answer = pragmas[i].answer;
        check_refused(pragmas[i].words);
        refused_pragma = NULL;
    }
    hides_file = true;
    check_refused("clean the pages");
    hides_file = false;
    runs_triggers = true;
    check_refused("run triggers");
    runs_triggers = false;
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    forget(store, 3);
    check_whole(store);
    efface_store_close(store);
}

/* A file in the mode of a log, which somebody has open: its journal cannot be emptied. */
static void a_store_in_another_mode(void **state) {
    (void)state;
    efface_store_close(make_store());
    sqlite3 *const other = open_sql(in_folder(STORE));
    assert_int_equal(sqlite3_exec(other,
                                  "PRAGMA journal_mode = WAL; BEGIN; SELECT count(*) FROM rows",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    efface_store *store = NULL;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.wait_seconds = 0.01;
    efface_error error = {.message = ""};
    const efface_status status = efface_store_open(in_folder(STORE), &options, &store, &error);
    assert_true(status == EFFACE_E_BUSY || status == EFFACE_E_IO);
    assert_true(error.message[0] != '\0' && store == NULL);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    forget(store, 3);
    check_whole(store);
    assert_int_equal(access(in_folder(STORE "-wal"), F_OK), -1);
    image file = read_image(in_folder(STORE));
    assert_int_equal(file.bytes[18], 1);
    free(file.bytes);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- a schema that is not ours */

static void keep_problem(void *context, const char *problem) {
    text *const t = context;
    add_text(t, problem, strlen(problem));
    add_text(t, "\n", 1);
}

static const struct {
    const char *sql, *name;
} foreign[] = {
    {"CREATE TABLE extra(x)", "extra"},
    {"CREATE TABLE \"two\nlines\"(x)", "two?lines"},
    {"CREATE VIEW extra AS SELECT * FROM rows", "extra"},
    {"CREATE INDEX extra ON rows(weight)", "extra"},
    {"CREATE TRIGGER extra AFTER DELETE ON rows BEGIN"
     " INSERT INTO receipts SELECT 1000 + old.id, old.vals; END",
     "extra"},
    {"CREATE TRIGGER extra AFTER INSERT ON receipts BEGIN DELETE FROM buckets; END", "extra"},
    {"DROP INDEX rows_by_owner", "rows_by_owner"},
    {"DROP INDEX rows_by_owner; CREATE INDEX rows_by_owner ON rows(owner)", "rows_by_owner"},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'weight INTEGER NOT"
     " NULL', 'weight INTEGER NOT NULL DEFAULT 1') WHERE name = 'rows'",
     "rows"},
    {"ALTER TABLE models ADD COLUMN note TEXT", "models"},
    {"ALTER TABLE columns RENAME TO spalten; CREATE TABLE columns(number INTEGER PRIMARY KEY, name"
     " TEXT)",
     "spalten"},
};

static void what_is_not_ours_is_named(void **state) {
    (void)state;
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    efface_store_close(store);
    image whole = read_image(in_folder(STORE));
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
        run_sql(in_folder(STORE), foreign[i].sql);
        store = NULL;
        REFUSED(EFFACE_E_CORRUPT, foreign[i].name,
                open_plain(in_folder(STORE), EFFACE_ACCESS_WRITE, &store, error));
        assert_null(store);
        store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
        text problems = {NULL, 0, 0};
        REQUIRE_OK(efface_store_check(store, keep_problem, &problems, error));
        add_text(&problems, "", 1);
        if (strstr(problems.bytes, foreign[i].name) == NULL)
            fail_msg("%s: a check says \"%s\"", foreign[i].sql, problems.bytes);
        free(problems.bytes);
        efface_store_close(store);
    }
    write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
    efface_store_close(open_store(in_folder(STORE), EFFACE_ACCESS_WRITE));
    free(whole.bytes);
}

/* A trigger that comes when the store is open already: requests are refused, or done without it. */
static void triggers_never_run(void **state) {
    (void)state;
    efface_store *const store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    run_sql(
        in_folder(STORE),
        "CREATE TABLE copy(id, vals);"
        "CREATE TRIGGER a AFTER DELETE ON rows BEGIN INSERT INTO copy VALUES (old.id, old.vals);"
        " END;"
        "CREATE TRIGGER b AFTER UPDATE ON rows BEGIN INSERT INTO copy VALUES (old.id, old.vals);"
        " END;"
        "CREATE TRIGGER c AFTER INSERT ON rows BEGIN INSERT INTO copy VALUES (new.id, new.vals);"
        " END;"
        "CREATE TRIGGER d AFTER UPDATE ON models BEGIN INSERT INTO copy VALUES (1, old.state);"
        " END;"
        "CREATE TRIGGER e AFTER INSERT ON receipts BEGIN INSERT INTO copy VALUES (2, 0); END;");
    efface_data *const data = make_rows(2, 500, true), *const same_rows = make_rows(2, 10, true);
    const uint64_t id = 3;
    const efface_status statuses[] = {
        forget_ids(store, &id, 1, EFFACE_MISSING_FAIL, NULL, NULL),
        efface_store_learn(store, data, NULL, NULL, NULL),
        efface_store_update(store, same_rows, NULL, NULL, NULL),
        efface_store_rekey(store, "a", 7, NULL),
    };
    for (size_t i = 0; i < 4; i++)
        assert_true(statuses[i] == EFFACE_OK || statuses[i] == EFFACE_E_CORRUPT);
    assert_int_equal(sql_number(in_folder(STORE), "SELECT count(*) FROM copy"), 0);
    efface_data_free(data);
    efface_data_free(same_rows);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- after a fork */

static int use_in_child(efface_store *store) {
    const uint64_t id = 3;
    const efface_request request = {.ids = &id, .n_ids = 1};
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    efface_store_info info;
    efface_data *rows = NULL;
    image bytes = {NULL, 0};
    efface_stored_model model;
    efface_difference difference;
    char *json = NULL;
    unsigned n = 0;
    efface_error error = {.message = ""};
    const efface_status statuses[] = {
        efface_store_forget(store, &request, NULL, &error),
        efface_store_preview(store, &request, NULL, &error),
        efface_store_get_info(store, &info, &error),
        efface_store_find(store, &request, &rows, &error),
        efface_store_load(store, NULL, &rows, NULL, &error),
        efface_store_encode(store, "a", &bytes.bytes, &bytes.n_bytes, &error),
        efface_store_verify(store, "a", &difference, &error),
        efface_store_check(store, say_problem, &n, &error),
        efface_store_compact(store, &error),
        efface_store_drop(store, "a", &error),
        efface_store_rekey(store, NULL, 4, &error),
        efface_store_find_model(store, "a", &model, &error),
        efface_store_receipt(store, 1, &json, &error),
        fit_plain(store, "b", &params, NULL, 0, &error),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i] != EFFACE_E_ARGUMENT)
            return (int)i + 1;
    if (strstr(error.message, "fork") == NULL)
        return 100;
    efface_store_close(store);
    /* One of its own is as good as any. */
    efface_store *own = NULL;
    if (open_plain(in_folder(STORE), EFFACE_ACCESS_READ, &own, NULL) != EFFACE_OK ||
        efface_store_get_info(own, &info, NULL) != EFFACE_OK)
        return 101;
    efface_store_close(own);
    return 0;
}

static void a_store_is_of_its_process(void **state) {
    (void)state;
    efface_store *const store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    for (int round = 0; round < 2; round++) {
        forget(store, 5 + (uint64_t)round);
        /* The second time the parent is in the middle of writing. */
        REQUIRE_OK(ef_store_connect(store, error));
        if (round == 1)
            assert_int_equal(
                sqlite3_exec(store->db, "BEGIN IMMEDIATE; DELETE FROM receipts", NULL, NULL, NULL),
                SQLITE_OK);
        const pid_t pid = fork();
        if (pid == 0)
            _exit(use_in_child(store));
        int how = 0;
        assert_true(pid > 0 && waitpid(pid, &how, 0) == pid && WIFEXITED(how));
        if (WEXITSTATUS(how) != 0)
            fail_msg("call %d in a child is not refused", WEXITSTATUS(how));
        if (round == 1) {
            /* The lock is still there, and what was begun can be taken back. */
            sqlite3 *const other = open_sql(in_folder(STORE));
            assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_BUSY);
            (void)sqlite3_close(other);
            assert_int_equal(sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
        }
        forget(store, 10 + (uint64_t)round);
        check_whole(store);
    }
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sqlite_that_will_not),    cmocka_unit_test(a_store_in_another_mode),
        cmocka_unit_test(what_is_not_ours_is_named), cmocka_unit_test(triggers_never_run),
        cmocka_unit_test(a_store_is_of_its_process),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
