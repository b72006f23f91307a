/*
 * Forests of which a request reads only the branches that it changes (opened_states.c): they come
 * out as fresh fits, little of them is read, and damage to their index is found.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/forest/forest.h"
#include "store/models/state_parts.h"
#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"

#define N 2500
#define MANY 14000 /* rows of which branches have more bytes than a part */
#define RARE 777   /* the only row of its class, which is neither the first nor the last */
#define TARGET 3

/* Parts after the first are read one by one, or all together. */
static unsigned n_read, n_whole;

efface_status __real_ef_part_read(efface_store *store, sqlite3_stmt **statement, int64_t number,
                                  const ef_state_part *part, unsigned char **bytes,
                                  efface_error *error);
efface_status __wrap_ef_part_read(efface_store *store, sqlite3_stmt **statement, int64_t number,
                                  const ef_state_part *part, unsigned char **bytes,
                                  efface_error *error);
efface_status __wrap_ef_part_read(efface_store *store, sqlite3_stmt **statement, int64_t number,
                                  const ef_state_part *part, unsigned char **bytes,
                                  efface_error *error) {
    n_read++;
    return __real_ef_part_read(store, statement, number, part, bytes, error);
}

efface_status __real_ef_state_read(efface_store *store, int64_t number, ef_decoder first,
                                   const unsigned char sum[EF_PARTS_BYTES], ef_state *state,
                                   efface_error *error);
efface_status __wrap_ef_state_read(efface_store *store, int64_t number, ef_decoder first,
                                   const unsigned char sum[EF_PARTS_BYTES], ef_state *state,
                                   efface_error *error);
efface_status __wrap_ef_state_read(efface_store *store, int64_t number, ef_decoder first,
                                   const unsigned char sum[EF_PARTS_BYTES], ef_state *state,
                                   efface_error *error) {
    n_whole++;
    return __real_ef_state_read(store, number, first, sum, state, error);
}

/* The format of the forests that are written, if not 0. */
static unsigned char written_format;

void __real_ef_forest_write(ef_writer *w, const void *state);
void __wrap_ef_forest_write(ef_writer *w, const void *state);
void __wrap_ef_forest_write(ef_writer *w, const void *state) {
    __real_ef_forest_write(w, state);
    if (written_format != 0 && !w->failed)
        w->bytes[8] = written_format;
}

/* ---------------------------------------------------------------- a store of forests */

static float number_of(uint64_t row, uint32_t column) {
    return value_of(row, column) + 3.0F * value_of(row + 5000, column);
}

/* Classes that columns do not tell: branches have many nodes. */
static int64_t label_of(uint64_t row) {
    const float chance = value_of(row, 9) - (float)(row % 3) * 10.0F;
    return row == RARE ? 5 : number_of(row, 0) / 100.0F + chance > 0.8F ? 9 : 2;
}

static efface_data *many_rows(uint64_t first, size_t n) {
    static float values[MANY * N_COLUMNS];
    static uint64_t ids[MANY];
    static int64_t labels[MANY];
    for (size_t i = 0; i < n; i++) {
        ids[i] = first + i;
        labels[i] = label_of(first + i);
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = number_of(first + i, j);
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids, .labels = labels};
    return make_data(N_COLUMNS, &rows);
}

static const char *const names[] = {"classes", "target", "some", "poisson"};
#define N_FORESTS (sizeof names / sizeof names[0])

static uint32_t n_trees = 6, n_threads = 1;

static efface_forest_params forest_params(size_t i) {
    efface_forest_params params;
    efface_forest_params_init(&params);
    params.common.seed = 7 + i;
    params.common.n_threads = n_threads;
    params.n_trees = n_trees;
    params.target = i == 1 || i == 3 ? TARGET : EFFACE_NO_COLUMN;
    params.bound = params.target == TARGET ? 1000.0 : 0.0;
    params.rows = i == 2 ? EFFACE_FOREST_SOME : i == 3 ? EFFACE_FOREST_POISSON : EFFACE_FOREST_ALL;
    params.trees_of_row = i == 2 ? 2 : params.trees_of_row;
    return params;
}

static efface_store *make_forests(size_t n_rows, size_t first, size_t n_forests) {
    efface_store *store = NULL;
    efface_data *const data = many_rows(0, n_rows);
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    for (size_t i = first; i < first + n_forests; i++) {
        const efface_forest_params params = forest_params(i);
        const efface_new_model asked = {.name = names[i], .params = &params.common};
        REQUIRE_OK(efface_store_fit(store, &asked, NULL, error));
    }
    return store;
}

/* ---------------------------------------------------------------- cases */

static void requests_make_fresh_forests(void **state) {
    (void)state;
    static const uint64_t batch[] = {5, 6, 7, 8, 9, 10, 2000, 2001, 2002};
    efface_store *const store = make_forests(N, 0, N_FORESTS);
    forget(store, 3);
    check_whole(store);
    forget(store, RARE); /* the classes behind it get other numbers */
    check_whole(store);
    REQUIRE_OK(
        forget_ids(store, batch, sizeof batch / sizeof batch[0], EFFACE_MISSING_FAIL, NULL, error));
    check_whole(store);
    efface_data *const rare = many_rows(RARE, 1); /* and again */
    REQUIRE_OK(efface_store_learn(store, rare, NULL, NULL, error));
    efface_data_free(rare);
    check_whole(store);
    for (uint64_t id = 100; id < 112; id++)
        forget(store, id);
    check_whole(store);
    REQUIRE_OK(efface_store_drop(store, "target", error));
    check_whole(store);
    efface_store_close(store);
    assert_true(sql_number(in_folder(STORE), "SELECT count(*) FROM sections") >= 3);
}

/* With more trees the columns are sorted for their roots. */
static void many_trees_make_fresh_forests(void **state) {
    (void)state;
    static const uint64_t batch[] = {7, 8, 900, 901};
    n_trees = 20;
    efface_store *const store = make_forests(N, 0, N_FORESTS);
    n_trees = 6;
    forget(store, 3);
    check_whole(store);
    forget(store, RARE);
    check_whole(store);
    REQUIRE_OK(
        forget_ids(store, batch, sizeof batch / sizeof batch[0], EFFACE_MISSING_FAIL, NULL, error));
    check_whole(store);
    efface_store_close(store);
}

static void little_is_read(void **state) {
    (void)state;
    efface_store *const store = make_forests(N, 0, 2);
    const int64_t n_parts = sql_number(in_folder(STORE), "SELECT count(*) FROM states");
    assert_true(n_parts > 8);
    n_whole = 0;
    const uint64_t batch[] = {40, 50, 60};
    for (size_t i = 0; i < 3; i++) {
        n_read = 0;
        forget(store, batch[i]);
        assert_true(n_read != 0 && n_read < (uint64_t)n_parts);
    }
    assert_int_equal(n_whole, 0);
    efface_store_close(store);
}

typedef struct listener {
    const char *words;
    unsigned n_right;
} listener;

static void listen(void *context, const char *problem) {
    listener *const l = context;
    l->n_right += strstr(problem, l->words) != NULL;
}

/* Parts of states in which the store and an older one differ. */
static int64_t count_changed(void) {
    sqlite3 *const db = open_sql(in_folder(STORE));
    sqlite3_stmt *statement = NULL;
    char sql[400];
    (void)snprintf(sql, sizeof sql, "ATTACH '%s' AS old", in_folder("old.efface"));
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT count(*) FROM (SELECT * FROM states EXCEPT"
                                        " SELECT * FROM old.states)",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const int64_t n = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return n;
}

/* A branch that gets shorter moves what is behind, but not in other pieces. */
static void long_branches_have_pieces(void **state) {
    (void)state;
    efface_store *store = make_forests(MANY, 1, 1);
    efface_store_close(store);
    assert_true(sql_number(in_folder(STORE), "SELECT count(*) FROM states WHERE number & 8388607"
                                             " > 1") > 2);
    for (uint64_t id = 0; id < 8; id++) {
        image before = read_image(in_folder(STORE));
        write_image(in_folder("old.efface"), before.bytes, before.n_bytes);
        free(before.bytes);
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        forget(store, 1000 * id);
        efface_store_close(store);
        /* A piece of each tree; now and then an end moves, or a tree is grown again in parts. */
        const int64_t n = count_changed();
        if (n > 3 * 6)
            fail_msg("%d parts were written to forget row %d", (int)n, (int)(1000 * id));
    }
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    check_whole(store);
    efface_store_close(store);
}

/* So many bytes are read that several threads verify them: rows that share branches, and ways. */
static void threads_share_branches(void **state) {
    (void)state;
    uint64_t ids[300];
    for (size_t i = 0; i < 300; i++)
        ids[i] = 11 * i;
    n_trees = 20;
    n_threads = 3;
    efface_store *store = make_forests(MANY, 1, 1);
    efface_store_close(store);
    image whole = read_image(in_folder(STORE));
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REQUIRE_OK(forget_ids(store, ids, 300, EFFACE_MISSING_FAIL, NULL, error));
    check_whole(store);
    efface_store_close(store);
    write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
    run_sql(in_folder(STORE),
            "UPDATE states SET bytes = CAST(substr(bytes, 1, 700) || CASE substr(bytes, 701, 1)"
            " WHEN x'18' THEN x'19' ELSE x'18' END || substr(bytes, 702) AS BLOB)"
            " WHERE number & 8388607 > 0 AND length(bytes) > 1000"); /* branches only */
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REFUSED(EFFACE_E_CORRUPT, "does not match its digest",
            forget_ids(store, ids, 300, EFFACE_MISSING_FAIL, NULL, error));
    efface_store_close(store);
    free(whole.bytes);
    n_trees = 6;
    n_threads = 1;
}

static const unsigned char *find_bytes(const image *in, const unsigned char *bytes, size_t n) {
    const unsigned char *at = in->bytes;
    for (size_t left = in->n_bytes; left >= n; left = in->n_bytes - (size_t)(at - in->bytes)) {
        at = memchr(at, bytes[0], left - n + 1);
        if (at == NULL || memcmp(at, bytes, n) == 0)
            return at;
        at++;
    }
    return NULL;
}

/* Stretches of what was in a file that are not in what is there now must not be in the file. */
static void require_gone(const char *what, const image *was, const image *is, const image *file) {
    const size_t n = 24;
    size_t n_gone = 0;
    for (size_t at = 0; at + n <= was->n_bytes; at += 5) {
        if (find_bytes(is, was->bytes + at, n) != NULL)
            continue;
        n_gone++;
        if (find_bytes(file, was->bytes + at, n) != NULL)
            fail_msg("bytes %zu of %s are left in the file", at, what);
    }
    assert_true(n_gone != 0);
}

static const char all_of_index[] = "SELECT bytes FROM sections";

static void nothing_is_left_of_what_changed(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        efface_store *store = make_forests(N, i, 1);
        image state_was = encode_model(store, names[i]);
        efface_store_close(store);
        assert_int_equal(sql_number(in_folder(STORE), "SELECT count(*) FROM sections"), 1);
        image index_was = sql_bytes(in_folder(STORE), all_of_index);
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        forget(store, 1234);
        image state_is = encode_model(store, names[i]);
        efface_store_close(store);
        image index_is = sql_bytes(in_folder(STORE), all_of_index);
        image file = read_image(in_folder(STORE));
        require_gone("the state", &state_was, &state_is, &file);
        require_gone("the index", &index_was, &index_is, &file);
        image *const images[] = {&state_was, &state_is, &index_was, &index_is, &file};
        for (size_t j = 0; j < 5; j++)
            free(images[j]->bytes);
    }
}

/* The first section gets as many bytes as no store can hold, without pieces. */
static void lengthen_first_section(void) {
    static const unsigned char length[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x04, 0};
    image index = sql_bytes(in_folder(STORE), all_of_index);
    unsigned char *const longer = malloc(index.n_bytes + sizeof length);
    sqlite3 *const db = open_sql(in_folder(STORE));
    sqlite3_stmt *statement = NULL;
    size_t count = 0, rest; /* behind the number of sections, and the length of the first */
    assert_non_null(longer);
    while (index.bytes[count++] >= 0x80)
        ;
    for (rest = count; index.bytes[rest++] >= 0x80;)
        ;
    memcpy(longer, index.bytes, count);
    memcpy(longer + count, length, sizeof length);
    memcpy(longer + count + sizeof length, index.bytes + rest, index.n_bytes - rest);
    assert_int_equal(sqlite3_prepare_v2(db, "UPDATE sections SET bytes = ?", -1, &statement, NULL),
                     SQLITE_OK);
    (void)sqlite3_bind_blob64(statement, 1, longer, index.n_bytes - rest + count + sizeof length,
                              SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    free(longer);
    free(index.bytes);
}

/* That is damage, and no limit of what a store can hold. */
static void a_damaged_length_is_damage(void **state) {
    (void)state;
    const uint64_t id = 7;
    efface_store_close(make_forests(N, 0, 1));
    lengthen_first_section();
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REFUSED(EFFACE_E_CORRUPT, "more bytes than its parts",
            forget_ids(store, &id, 1, EFFACE_MISSING_FAIL, NULL, error));
    efface_store_close(store);
}

static void a_damaged_index_is_found(void **state) {
    (void)state;
    static const struct {
        const char *sql, *words; /* of a check */
        bool refused;            /* by a request */
    } damages[] = {
        {"DELETE FROM sections", "the sections of", false},
        {"UPDATE sections SET bytes = zeroblob(length(bytes))", "the sections of", true},
        {"UPDATE sections SET bytes = CAST(bytes || x'00' AS BLOB)", "the sections of", true},
        {"UPDATE sections SET bytes = substr(bytes, 2)", "the sections of", true},
        {"UPDATE sections SET bytes = CAST(bytes AS TEXT)", "the sections of", true},
        {"UPDATE sections SET bytes = CAST(substr(bytes, 1, 40) || x'17' ||"
         " substr(bytes, 42) AS BLOB)",
         "the sections of", true},
        {"UPDATE sections SET bytes = CAST(substr(bytes, 1, 2) || x'17' ||"
         " substr(bytes, 4) AS BLOB)",
         "the sections of", true},
        {"INSERT INTO sections VALUES (99 << 43, x'00')", "pieces of indexes", false},
        {"UPDATE models SET number = 9223372036854775807", "the number of a model", true},
        {"UPDATE states SET bytes = zeroblob(length(bytes))", "model classes: the store is damaged",
         true},
        {"UPDATE states SET bytes = zeroblob(length(bytes) + 1)", "wrong lengths", true},
        {"UPDATE states SET bytes = CAST(bytes AS TEXT)", "wrong kind", true},
        /* Another weight of a leaf. */
        {"UPDATE states SET bytes = CAST(substr(bytes, 1, length(bytes) - 1) || x'05' AS BLOB)",
         "does not match its digest", true},
        {"DELETE FROM states", "a part of the state of a model is missing", true},
    };
    uint64_t ids[200]; /* in most branches */
    for (size_t i = 0; i < 200; i++)
        ids[i] = 1000 + i;
    efface_store_close(make_forests(N, 0, 1));
    image whole = read_image(in_folder(STORE));
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        listener l = {.words = damages[i].words};
        write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
        run_sql(in_folder(STORE), damages[i].sql);
        efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        REQUIRE_OK(efface_store_check(store, listen, &l, error));
        if (l.n_right == 0)
            fail_msg("%s: no problem says \"%s\"", damages[i].sql, damages[i].words);
        if (damages[i].refused)
            REFUSED(EFFACE_E_CORRUPT, "",
                    forget_ids(store, ids, 200, EFFACE_MISSING_FAIL, NULL, error));
        efface_store_close(store);
    }
    free(whole.bytes);
}

/* A forest of a store from before margins is no damage: the first request grows it again. */
static void outdated_forests_are_grown_again(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        efface_difference difference;
        efface_store_report report;
        const uint64_t first = 3;
        written_format = 2;
        efface_store_close(make_forests(N, i, 1));
        written_format = 0;
        efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        REQUIRE_OK(efface_store_verify(store, names[i], &difference, error));
        assert_string_equal(difference.what, "method");
        REQUIRE_OK(forget_ids(store, &first, 1, EFFACE_MISSING_FAIL, &report, error));
        assert_int_equal(report.models[0].report.action, EFFACE_ACTION_REFITTED);
        assert_string_equal(report.models[0].report.where, "");
        efface_store_report_free(&report);
        check_whole(store);
        forget(store, 4);
        check_whole(store);
        efface_store_close(store);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_make_fresh_forests),
        cmocka_unit_test(many_trees_make_fresh_forests),
        cmocka_unit_test(little_is_read),
        cmocka_unit_test(long_branches_have_pieces),
        cmocka_unit_test(threads_share_branches),
        cmocka_unit_test(nothing_is_left_of_what_changed),
        cmocka_unit_test(a_damaged_index_is_found),
        cmocka_unit_test(a_damaged_length_is_damage),
        cmocka_unit_test(outdated_forests_are_grown_again),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
