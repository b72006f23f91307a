/*
 * What a forest is said to take before it is fitted, and what it takes: the memory that it keeps,
 * and what it adds to the file of a store. Times are not looked at.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/store_scene.h"

#define N 4000
#define COLUMNS 6
#define TARGET 5
#define STORE "cost.efface"

static float chance(uint64_t row, uint32_t column) {
    uint64_t z = (row * 64 + column + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (float)((z ^ (z >> 31)) >> 40) * 0x1p-24F;
}

/* Columns tell the class of most rows, and a part of the target. */
static efface_data *rows_of(void) {
    static float values[N * COLUMNS];
    static int64_t labels[N];
    for (uint64_t i = 0; i < N; i++) {
        float *const row = values + i * COLUMNS;
        for (uint32_t j = 0; j < TARGET; j++)
            row[j] = chance(i, j);
        const float told = row[0] + row[1] * row[2];
        row[TARGET] = told + chance(i, 6) / 4.0F;
        labels[i] = (told + chance(i, 7) / 4.0F > 0.9F) + (row[3] > 0.8F);
    }
    const efface_rows rows = {.n_rows = N, .values = values, .labels = labels};
    return make_data(COLUMNS, &rows);
}

static double file_bytes(void) {
    struct stat about;
    assert_int_equal(stat(in_folder(STORE), &about), 0);
    return (double)about.st_size;
}

static void check_factor(const char *what, const char *of, double said, double taken) {
    if (!(said < 2.0 * taken && taken < 2.0 * said))
        fail_msg("%s of %s: %.0f bytes were said, and %.0f taken", what, of, said, taken);
}

static void check_cost(const char *what, const efface_data *data,
                       const efface_forest_params *params) {
    const efface_forest_cost said = efface_forest_estimate(params, N, COLUMNS);
    const efface_new_model asked = {.name = "forest", .params = &params->common};
    efface_store *store = NULL;
    efface_model *model = NULL;
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    const double without = file_bytes();
    REQUIRE_OK(efface_store_fit(store, &asked, &model, error));
    check_factor("memory", what, said.fit_bytes, (double)efface_model_state_bytes(model));
    check_factor("the store", what, said.store_bytes, file_bytes() - without);
    efface_model_free(model);
    efface_store_close(store);
}

static void sizes_are_as_said(void **state) {
    (void)state;
    efface_data *const data = rows_of();
    for (int with_target = 0; with_target < 2; with_target++) {
        efface_forest_params params;
        efface_forest_params_init(&params);
        params.common.n_threads = 1;
        params.common.seed = 5;
        params.n_trees = 25;
        params.target = with_target ? TARGET : EFFACE_NO_COLUMN;
        check_cost(with_target ? "a target" : "classes", data, &params);
        params.rows = EFFACE_FOREST_POISSON;
        check_cost("rows as in a bootstrap", data, &params);
        params.rows = EFFACE_FOREST_SOME;
        check_cost("some rows", data, &params);
        params.rows = EFFACE_FOREST_ALL;
        params.min_leaf = 8;
        check_cost("larger leaves", data, &params);
        params.min_leaf = 1;
        params.min_split = 30;
        check_cost("larger splits", data, &params);
        params.min_split = 2;
        params.max_depth = 6;
        check_cost("shallow trees", data, &params);
    }
    efface_data_free(data);
}

/* Twice the trees and twice the rows take twice as much of everything. */
static void grows_in_proportion(void **state) {
    (void)state;
    efface_forest_params params;
    efface_forest_params_init(&params);
    const efface_forest_cost one = efface_forest_estimate(&params, 1000000, 8);
    const efface_forest_cost rows = efface_forest_estimate(&params, 2000000, 8);
    params.n_trees *= 2;
    const efface_forest_cost trees = efface_forest_estimate(&params, 1000000, 8);
    assert_true(rows.fit_bytes == 2.0 * one.fit_bytes);
    assert_true(rows.store_bytes > 1.9 * one.store_bytes);
    assert_true(rows.forget_seconds == 2.0 * one.forget_seconds);
    assert_true(trees.store_bytes == 2.0 * one.store_bytes);
    assert_true(trees.fit_bytes > 1.8 * one.fit_bytes);
    const efface_forest_cost none = efface_forest_estimate(&params, 0, 8);
    assert_true(none.store_bytes < 1e6 && none.fit_bytes < 1e5 && none.forget_seconds < 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes_are_as_said, begin_folder, end_folder),
        cmocka_unit_test(grows_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
