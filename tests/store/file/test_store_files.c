/* Files that are no store, or a damaged one: refused when opened, or found out by a check. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"

#include <sodium.h>
#include <sqlite3.h>

static void check_no_store(const char *path, efface_status expected) {
    for (int access = 0; access < 2; access++) {
        efface_store *store = NULL;
        efface_error error = {.message = ""};
        assert_int_equal(open_plain(path, (efface_access)access, &store, &error), expected);
        assert_null(store);
        assert_true(error.message[0] != '\0');
    }
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const char text[] = "1,2,3\n4,5,6\n";
    efface_store_close(make_store());
    check_no_store(in_folder("missing.efface"), EFFACE_E_IO);
    check_no_store(folder, EFFACE_E_IO);
    write_image(in_folder("empty"), "", 0);
    check_no_store(in_folder("empty"), EFFACE_E_FORMAT);
    write_image(in_folder("text"), text, sizeof text - 1);
    check_no_store(in_folder("text"), EFFACE_E_FORMAT);
    char *const longer = calloc(1, 20000);
    assert_non_null(longer);
    memset(longer, 'x', 20000);
    write_image(in_folder("longer"), longer, 20000);
    check_no_store(in_folder("longer"), EFFACE_E_FORMAT);
    free(longer);
    run_sql(in_folder("other.db"), "CREATE TABLE rows(id INTEGER PRIMARY KEY); PRAGMA user_version "
                                   "= 1;");
    check_no_store(in_folder("other.db"), EFFACE_E_FORMAT);
    run_sql(in_folder(STORE), "DELETE FROM facts WHERE name = 'seal'");
    check_no_store(in_folder(STORE), EFFACE_E_CORRUPT);
    empty_folder();
}

/* The message says which format the store has, which ones can be read, and what to do. */
static void other_formats_are_refused(void **state) {
    (void)state;
    efface_store_close(make_store());
    for (int format = 0; format <= 10; format++) {
        char sql[40], says[120];
        if (format == 7)
            continue;
        (void)snprintf(sql, sizeof sql, "PRAGMA user_version = %d", format);
        (void)snprintf(
            says, sizeof says,
            "the store has format %d, but this program reads formats 7 and 8; %s", format,
            format < 7 ? "make the store again from its data: efface fit" : "use a newer program");
        run_sql(in_folder(STORE), sql);
        image before = read_image(in_folder(STORE));
        for (int access = 0; access < 2; access++) {
            efface_store *store = NULL;
            efface_error why;
            /* Format 8 is that of parts, and this is none. */
            assert_int_equal(open_plain(in_folder(STORE), (efface_access)access, &store, &why),
                             format == 8 ? EFFACE_E_CORRUPT : EFFACE_E_FORMAT);
            if (format != 8)
                assert_string_equal(why.message, says);
        }
        image after = read_image(in_folder(STORE));
        check_same_image(&before, &after);
        free(before.bytes);
        free(after.bytes);
    }
    empty_folder();
}

static void taken_names_are_known(void **state) {
    (void)state;
    const efface_group group = {.size = 1};
    efface_store_close(make_store());
    assert_int_equal(efface_store_exists(in_folder("missing.efface"), NULL), 0);
    assert_int_equal(efface_store_exists(in_folder(STORE), NULL), 1);
    assert_int_equal(efface_store_exists(folder, NULL), 1);
    assert_int_equal(efface_store_exists(folder, &group), 0); /* ranks may make their parts there */
    write_image(in_folder("manifest"), "", 0);
    assert_int_equal(efface_store_exists(folder, &group), 1);
    assert_int_equal(efface_store_exists(NULL, NULL), 0);
    empty_folder();
}

/* A name that SQLite has a meaning of its own for is the name of a file here. */
static void names_are_files(void **state) {
    (void)state;
    static const char *const names[] = {":memory:", "file:plain?mode=memory"};
    efface_store_close(make_store());
    char *const before = realpath(".", NULL);
    assert_non_null(before);
    assert_int_equal(chdir(folder), 0);
    check_no_store("", EFFACE_E_IO);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_no_store(names[i], EFFACE_E_IO);
        efface_store *store = NULL;
        efface_data *const data = make_rows(N_ROWS, 0, true);
        REQUIRE_OK(create_plain(names[i], data, &store, error));
        fit(store, "a", EFFACE_METHOD_LLOYD);
        efface_store_close(store);
        efface_data_free(data);
        store = open_store(names[i], EFFACE_ACCESS_WRITE);
        const uint64_t id = 3;
        const efface_request request = {.ids = &id, .n_ids = 1};
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
        efface_store_close(store);
        assert_int_equal(access(names[i], R_OK), 0);
    }
    assert_int_equal(chdir(before), 0);
    free(before);
    empty_folder();
}

static void count_problem(void *context, const char *problem) {
    assert_true(problem[0] != '\0');
    ++*(unsigned *)context;
}

/* How many things a check finds after a change behind the store's back. */
static unsigned problems_after(const char *sql) {
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    for (uint64_t id = 3; id < 6; id++) {
        const efface_request request = {.ids = &id, .n_ids = 1};
        REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
    }
    efface_store_close(store);
    run_sql(in_folder(STORE), sql);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    unsigned n = 0;
    REQUIRE_OK(efface_store_check(store, count_problem, &n, error));
    efface_store_close(store);
    return n;
}

static void damage_is_found(void **state) {
    (void)state;
    assert_int_equal(problems_after("SELECT 1"), 0);
    assert_true(problems_after("DELETE FROM rows WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE rows SET weight = 2 WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE rows SET vals = zeroblob(16) WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE rows SET vals = zeroblob(12) WHERE id = 7") != 0);
    assert_true(problems_after("UPDATE rows SET vals = x'0000c07f0000c07f0000c07f0000c07f' WHERE "
                               "id = 7") != 0);
    assert_true(problems_after("UPDATE models SET digest = zeroblob(32)") != 0);
    assert_true(problems_after("UPDATE models SET digest = zeroblob(31)") != 0);
    assert_true(problems_after("UPDATE models SET counts = substr(counts, 1, 100)") != 0);
    assert_true(problems_after("UPDATE models SET state = substr(state, 1, 100)") != 0);
    assert_true(problems_after("UPDATE models SET params = substr(params, 1, 50)") != 0);
    assert_true(problems_after("UPDATE models SET columns = x'09000000'") != 0);
    assert_true(problems_after("UPDATE models SET name = 'a b'") != 0);
    assert_true(problems_after("DELETE FROM receipts WHERE number = 1") != 0);
    assert_true(problems_after("DELETE FROM receipts WHERE number = 2") != 0);
    assert_true(problems_after("UPDATE receipts SET number = 9 WHERE number = 3") != 0);
    assert_true(problems_after("UPDATE receipts SET body = replace(body, '\"missing\":0', "
                               "'\"missing\":1') WHERE number = 2") != 0);
}

/* Wherever a store is cut off, that is said when it is opened, or when it is checked. */
static void a_store_that_was_cut_is_found_out(void **state) {
    (void)state;
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    efface_store_close(store);
    image whole = read_image(in_folder(STORE));
    for (size_t n = 0; n < whole.n_bytes; n += n < 4096 ? 512 : 2048) {
        write_image(in_folder(STORE), whole.bytes, n);
        efface_error error = {.message = ""};
        efface_status status = open_plain(in_folder(STORE), EFFACE_ACCESS_READ, &store, &error);
        if (status == EFFACE_OK) {
            unsigned n_problems = 0;
            status = efface_store_check(store, count_problem, &n_problems, &error);
            assert_true(status == EFFACE_OK && n_problems != 0);
            efface_store_close(store);
        } else if (status != EFFACE_E_FORMAT && status != EFFACE_E_CORRUPT) {
            fail_msg("cut to %zu bytes: status %d, %s", n, (int)status, error.message);
        }
    }
    free(whole.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(other_formats_are_refused),
        cmocka_unit_test(taken_names_are_known),
        cmocka_unit_test(names_are_files),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_store_that_was_cut_is_found_out),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
