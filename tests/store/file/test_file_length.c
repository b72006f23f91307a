/*
 * A store's file ends with its last page (file_length.c): what stands behind it is said by a check,
 * and cut off when the store is opened to write and by every request that writes; but not where
 * pages that are in use would be cut off. test_leftovers.c has compacts that were cut short.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"

static const char needle[] = "a row that was forgotten long ago";

/* Some pages and a half, with rows in them. */
static void add_excess(const char *name) {
    unsigned char page[4096] = {13};
    FILE *const file = fopen(in_folder(name), "ab");
    assert_non_null(file);
    memcpy(page + 1000, needle, sizeof needle);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fwrite(page, 1, sizeof page, file), sizeof page);
    assert_int_equal(fwrite(page, 1, 1500, file), 1500);
    assert_int_equal(fclose(file), 0);
}

static bool has_excess(void) {
    image file = read_image(in_folder(STORE));
    bool found = false;
    for (size_t i = 0; i + sizeof needle <= file.n_bytes; i++)
        found |= memcmp(file.bytes + i, needle, sizeof needle) == 0;
    const int64_t pages = sql_number(in_folder(STORE), "PRAGMA page_count");
    assert_int_equal(found, file.n_bytes != (size_t)pages * 4096);
    free(file.bytes);
    return found;
}

static void hear(void *context, const char *problem) {
    text *const t = context;
    add_text(t, problem, strlen(problem) + 1);
}

static void opening_to_write_cuts(void **state) {
    (void)state;
    text said = {NULL, 0, 0};
    efface_store_close(make_store());
    add_excess(STORE);
    efface_store *store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    REQUIRE_OK(efface_store_check(store, hear, &said, error));
    assert_non_null(strstr(said.bytes, "13788 bytes stand behind its last page"));
    assert_int_equal(strlen(said.bytes) + 1, said.n_bytes); /* and nothing else */
    free(said.bytes);
    efface_store_close(store);
    assert_true(has_excess());
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_false(has_excess());
    check_whole(store);
    forget(store, 3);
    check_whole(store);
    efface_store_close(store);
}

/* Another process was killed, while this one has the store. */
static void requests_cut(void **state) {
    (void)state;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    for (int resident = 0; resident < 2; resident++) {
        efface_store *store = make_store();
        efface_store_close(store);
        options.resident = resident;
        REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
        for (uint64_t id = 0; id < 3; id++) {
            add_excess(STORE);
            assert_true(has_excess());
            forget(store, id);
            assert_false(has_excess());
        }
        efface_data *const more = make_rows(20, 1000, true); /* the file gets longer */
        add_excess(STORE);
        REQUIRE_OK(efface_store_learn(store, more, NULL, NULL, error));
        efface_data_free(more);
        assert_false(has_excess());
        add_excess(STORE);
        REQUIRE_OK(efface_store_compact(store, error));
        assert_false(has_excess());
        check_whole(store);
        efface_store_close(store);
    }
}

/* What was left in the journal of a transaction is rolled back first, and is not behind the end. */
static void rolled_back_before_it_is_cut(void **state) {
    (void)state;
    efface_store_close(make_store());
    sqlite3 *const db = open_sql(in_folder(STORE));
    /* Pages that do not fit into memory are written before the commit. */
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA journal_mode = TRUNCATE; PRAGMA cache_size = 5; BEGIN;"
                                  "UPDATE rows SET vals = zeroblob(4000);"
                                  "UPDATE models SET state = zeroblob(4000)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    image file = read_image(in_folder(STORE)), journal = read_image(in_folder(STORE "-journal"));
    assert_true(journal.n_bytes != 0);
    (void)sqlite3_close(db);
    write_image(in_folder(STORE), file.bytes, file.n_bytes);
    write_image(in_folder(STORE "-journal"), journal.bytes, journal.n_bytes);
    add_excess(STORE);
    free(file.bytes);
    free(journal.bytes);
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_false(has_excess());
    check_whole(store);
    efface_store_close(store);
}

/* A number of pages that is damaged must not cost pages that are in use. */
static void pages_in_use_are_not_cut(void **state) {
    (void)state;
    efface_store_close(make_store());
    image file = read_image(in_folder(STORE));
    efface_store *const open = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    assert_true(file.n_bytes / 4096 < 256);
    for (size_t fewer = 1; fewer < 5; fewer++) {
        efface_store *store = NULL;
        const unsigned char n_pages = file.bytes[31];
        file.bytes[31] = (unsigned char)(n_pages - fewer);
        write_image(in_folder(STORE), file.bytes, file.n_bytes);
        file.bytes[31] = n_pages;
        REFUSED(EFFACE_E_CORRUPT, "damaged",
                open_plain(in_folder(STORE), EFFACE_ACCESS_WRITE, &store, error));
        assert_null(store);
        const uint64_t id = 3;
        REFUSED(EFFACE_E_CORRUPT, "damaged",
                forget_ids(open, &id, 1, EFFACE_MISSING_FAIL, NULL, error));
    }
    write_image(in_folder(STORE), file.bytes, file.n_bytes);
    check_whole(open);
    efface_store_close(open);
    free(file.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_to_write_cuts),
        cmocka_unit_test(requests_cut),
        cmocka_unit_test(rolled_back_before_it_is_cut),
        cmocka_unit_test(pages_in_use_are_not_cut),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
