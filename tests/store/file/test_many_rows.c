/*
 * All rows of a store that has more than a block of them (loaded_rows.c): they come as they are, on
 * one thread or two; damage is found wherever it is; and who is asked in between can stop it.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/errors/status.h"
#include "data/set/rows.h"
#include "store/file/transactions.h"
#include "store/rows/stored_rows.h"
#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"
#include "store/store.h"

#define MANY 20000
#define D 3

static efface_row row_of(uint64_t id) {
    return (efface_row){.id = id,
                        .weight = 1 + (int64_t)(id % 7 == 0),
                        .owner = id % 5 == 0 ? EFFACE_NO_OWNER : id / 3,
                        .label = id % 11 == 0 ? EFFACE_NO_LABEL : (int64_t)(id % 4)};
}

static void make_many(void) {
    static float values[MANY * D];
    static uint64_t ids[MANY], owners[MANY];
    static int64_t weights[MANY], labels[MANY];
    efface_store *store = NULL;
    for (uint64_t i = 0; i < MANY; i++) {
        const efface_row row = row_of(i);
        ids[i] = i;
        owners[i] = row.owner;
        weights[i] = row.weight;
        labels[i] = row.label;
        for (uint32_t j = 0; j < D; j++)
            values[i * D + j] = value_of(i, j);
    }
    const efface_rows rows = {.n_rows = MANY,
                              .values = values,
                              .ids = ids,
                              .weights = weights,
                              .owners = owners,
                              .labels = labels};
    efface_data *const data = make_data(D, &rows);
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    efface_store_close(store);
}

/* Loads all rows; `data` is NULL if that fails. */
static efface_status load(efface_store *store, efface_data **data, efface_error *error) {
    *data = NULL;
    efface_status status = ef_store_begin(store, false, error);
    EF_THEN(status, ef_rows_load(store, NULL, 0, data, NULL, error));
    return ef_store_end(store, status, error);
}

static void rows_come_as_they_are(void **state) {
    (void)state;
    efface_data *data = NULL;
    make_many();
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    REQUIRE_OK(load(store, &data, error));
    assert_int_equal(data->n_rows, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const efface_row row = efface_data_row(data, i), wanted = row_of(row.id);
        assert_int_equal(row.id, i);
        assert_int_equal(row.weight, wanted.weight);
        assert_int_equal(row.owner, wanted.owner);
        assert_int_equal(row.label, wanted.label);
        for (uint32_t j = 0; j < D; j++)
            assert_true(ef_data_value(data, i, j) == value_of(i, j));
    }
    efface_data_free(data);
    efface_store_close(store);
}

static void damage_is_found_anywhere(void **state) {
    (void)state;
    static const char *const damages[] = {
        "UPDATE rows SET vals = zeroblob(12) WHERE id = %d",
        "UPDATE rows SET vals = zeroblob(8) WHERE id = %d",
        "UPDATE rows SET vals = CAST('abcdefghijkl' AS TEXT) WHERE id = %d",
        "UPDATE rows SET weight = 3 WHERE id = %d",
        "UPDATE rows SET owner = 4 WHERE id = %d",
        "UPDATE rows SET class = 77 WHERE id = %d",
        "UPDATE rows SET text = 'one more' WHERE id = %d",
        "UPDATE rows SET bucket = bucket + 1 WHERE id = %d",
        "DELETE FROM rows WHERE id = %d",
        "UPDATE buckets SET n_rows = n_rows + 1 WHERE number = %d / 32",
        "UPDATE buckets SET sum = zeroblob(16) WHERE number = %d / 32",
        "DELETE FROM buckets WHERE number = %d / 32",
    };
    static const int ids[] = {0, 31, 4095, 4096, 9000, MANY - 1};
    make_many();
    image whole = read_image(in_folder(STORE));
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++)
        for (size_t k = 0; k < sizeof ids / sizeof ids[0]; k++) {
            char sql[200];
            efface_data *data = NULL;
            efface_error error = {.message = ""};
            (void)snprintf(sql, sizeof sql, damages[i], ids[k]);
            write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
            run_sql(in_folder(STORE), sql);
            efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
            if (load(store, &data, &error) != EFFACE_E_CORRUPT || data != NULL ||
                strstr(error.message, "the store is damaged") == NULL)
                fail_msg("%s: \"%s\"", sql, error.message);
            efface_store_close(store);
        }
    free(whole.bytes);
}

/* Calls until the one that stops it. */
typedef struct patience {
    unsigned left, n_calls;
    double part;
} patience;

static int count_down(void *context, efface_phase phase, double part) {
    patience *const p = context;
    assert_int_equal(phase, EFFACE_PHASE_READING);
    assert_true(part >= p->part && part <= 1.0);
    p->part = part;
    p->n_calls++;
    return p->left != 0 && p->n_calls == p->left;
}

static void somebody_is_asked_in_between(void **state) {
    (void)state;
    efface_data *data = NULL;
    patience p = {.left = 0};
    make_many();
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    store->progress = count_down;
    store->progress_context = &p;
    REQUIRE_OK(load(store, &data, error));
    efface_data_free(data);
    assert_true(p.n_calls >= 3);
    for (unsigned n = 1; n <= 3; n++) {
        efface_error error;
        p = (patience){.left = n};
        assert_int_equal(load(store, &data, &error), EFFACE_E_INTERRUPTED);
        assert_int_equal(p.n_calls, n);
        assert_null(data);
    }
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_as_they_are),
        cmocka_unit_test(damage_is_found_anywhere),
        cmocka_unit_test(somebody_is_asked_in_between),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
