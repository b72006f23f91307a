/*
 * Node for node equal after mixed operations: on each of eight sets, forests of 20 trees follow
 * many requests, one row or a batch at a time. Now and then, and in the end, their bytes are
 * compared with those of a fresh fit; in the end with those of the oracle as well. Classes and
 * targets, eager and lazy, one thread and three take turns.
 *
 * EFFACE_TEST_CASES is the number of requests for each set (default 500). If there are many, and
 * EFFACE_TEST_DATA names a folder with celltype, covtype and mnist (docs/measured/data.md), these
 * are used; otherwise there are stand-ins of some hundred rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../bench/program/bench_skewed.h"
#include "forest/forest_scene.h"

#define N_TREES 20
#define DEFAULT_CASES 1000
#define N_LOOKS 8 /* comparisons with fresh fits in a walk */
#define STAND_IN_ROWS 300
#define MANY_CASES 10000

static size_t n_cases(void) {
    const char *const given = getenv("EFFACE_TEST_CASES");
    return given != NULL ? strtoul(given, NULL, 0) : DEFAULT_CASES;
}

/* The folder of real sets, or NULL. */
static const char *folder_of_sets(void) {
    return n_cases() >= MANY_CASES ? getenv("EFFACE_TEST_DATA") : NULL;
}

/* ---------------------------------------------------------------- sets */

/* A real set, or no rows if there is none. `most`: so many rows, evenly spaced. */
static law_rows load(const char *name, size_t most) {
    const char *const data_folder = folder_of_sets();
    char path[1000];
    efface_data *data = NULL;
    if (data_folder == NULL)
        return (law_rows){.n = 0};
    (void)snprintf(path, sizeof path, "%s/%s/x.npy.gz", data_folder, name);
    REQUIRE_OK(efface_data_load(path, NULL, &data, error));
    (void)snprintf(path, sizeof path, "%s/%s/y.npy.gz", data_folder, name);
    REQUIRE_OK(efface_data_load_labels(data, path, error));
    law_rows all = rows_of_set(data);
    if (all.n <= most)
        return all;
    law_rows part = law_make_rows(most, all.d);
    for (size_t i = 0; i < most; i++) {
        const size_t from = i * all.n / most;
        memcpy(part.values + i * all.d, all.values + from * all.d, all.d * sizeof *all.values);
        part.ids[i] = all.ids[from];
        part.labels[i] = all.labels[from];
    }
    law_free_rows(&all);
    return part;
}

/* Numbers of different scales, and classes of which one is rare. */
static law_rows make_celltype(void) {
    law_rows rows = load("celltype", 20000);
    if (rows.n != 0)
        return rows;
    rows = law_make_rows(STAND_IN_ROWS, 10);
    for (size_t i = 0; i < rows.n; i++) {
        rows.labels[i] = i % 20 == 0 ? 3 : (int64_t)below(3);
        for (uint32_t j = 0; j < rows.d; j++)
            rows.values[i * rows.d + j] =
                scaled(unit() + unit() + (float)rows.labels[i] * (float)(j % 3) * 0.4f, (int)j - 3);
    }
    return rows;
}

/* Whole numbers, and columns that are 0 or 1. */
static law_rows make_covtype(void) {
    law_rows rows = load("covtype", 20000);
    if (rows.n != 0)
        return rows;
    rows = law_make_rows(STAND_IN_ROWS, 52);
    for (size_t i = 0; i < rows.n; i++) {
        float *const row = rows.values + i * rows.d;
        rows.labels[i] = 1 + (int64_t)below(7);
        for (uint32_t j = 0; j < 10; j++)
            row[j] = (float)(below(200) + (uint64_t)rows.labels[i] * 20 * (j % 3));
        row[10 + below(4)] = 1.0f;
        row[14 + (below(19) + (uint64_t)rows.labels[i] * 2) % 38] = 1.0f;
    }
    return rows;
}

/* Pictures: most columns are 0 almost everywhere, those at the edges always. */
static law_rows make_mnist(void) {
    law_rows rows = load("mnist", 2000);
    if (rows.n != 0)
        return rows;
    rows = law_make_rows(STAND_IN_ROWS, 100);
    for (size_t i = 0; i < rows.n; i++) {
        rows.labels[i] = (int64_t)below(10);
        for (uint32_t j = 0; j < rows.d; j++) {
            const uint32_t y = j / 10, x = j % 10;
            const bool edge = y == 0 || x == 0 || y == 9 || x == 9;
            const bool drawn = mix((uint64_t)rows.labels[i] * 100 + j) % 3 == 0 && !one_in(5);
            rows.values[i * rows.d + j] = edge || !drawn ? 0.0f : (float)below(256);
        }
    }
    return rows;
}

static law_rows make_gaussian(void) {
    efface_data *data = NULL;
    const size_t rows_per_cluster = n_cases() >= MANY_CASES ? 500 : 30;
    REQUIRE_OK(efface_data_make_gaussian(10, 8, rows_per_cluster, 5, &data, error));
    return rows_of_set(data);
}

static law_rows make_ties(void) {
    law_rows rows = law_make_rows(STAND_IN_ROWS, 6);
    for (size_t i = 0; i < rows.n; i++) {
        for (uint32_t j = 0; j < rows.d; j++)
            rows.values[i * rows.d + j] = (float)below(4) - 1.0f;
        rows.labels[i] = one_in(4) ? (int64_t)below(3) : rows.values[i * rows.d] > 0.0f;
        rows.weights[i] = 1 + (int64_t)below(3);
    }
    return rows;
}

static law_rows make_duplicates(void) {
    efface_data *data = NULL;
    REQUIRE_OK(bench_make_skewed(BENCH_SKEW_DUPLICATES, 5, 6, STAND_IN_ROWS, 7, &data, error));
    law_rows rows = rows_of_set(data);
    for (size_t i = 0; i < rows.n; i++)
        if (one_in(6)) /* copies in different classes cannot be parted */
            rows.labels[i] = (int64_t)below(5);
    return rows;
}

/* Columns that are constant, or so but for few rows: they stop and begin to be candidates. */
static law_rows make_constants(void) {
    law_rows rows = law_make_rows(STAND_IN_ROWS, 24);
    for (size_t i = 0; i < rows.n; i++) {
        float *const row = rows.values + i * rows.d;
        for (uint32_t j = 0; j < rows.d; j++)
            row[j] = j % 4 == 0                  ? 3.5f
                     : j % 4 == 1                ? (float)(i % 97 == j)
                     : j % 4 == 2                ? (one_in(40) ? -unit() : 0.0f)
                     : one_in(STAND_IN_ROWS / 8) ? unit()
                                                 : 1.0f;
        rows.labels[i] = (int64_t)below(2) + (row[2] != 0.0f);
    }
    return rows;
}

static law_rows make_tails(void) {
    efface_data *data = NULL;
    REQUIRE_OK(bench_make_skewed(BENCH_SKEW_TAILS, 6, 7, STAND_IN_ROWS, 9, &data, error));
    law_rows rows = rows_of_set(data);
    for (size_t i = 0; i < rows.n; i += 9)
        rows.values[i * rows.d + i % rows.d] = sign(spread_out(1.0f, -60, 120));
    return rows;
}

static const struct {
    const char *name;
    law_rows (*make)(void);
} sets[] = {{"celltype", make_celltype},   {"covtype", make_covtype},
            {"mnist", make_mnist},         {"gaussian", make_gaussian},
            {"ties", make_ties},           {"duplicates", make_duplicates},
            {"constants", make_constants}, {"tails", make_tails}};

#define N_SETS (sizeof sets / sizeof sets[0])

/* ---------------------------------------------------------------- walks */

static struct { uint64_t unsettled, nodes; } seen;

/* Some rows are predicted: a lazy forest then grows what lies on their paths, and no more. */
static void ask(const grove *g) {
    const size_t n = g->all.n < 5 ? g->all.n : 5, first = below(g->all.n - n + 1);
    efface_number numbers[5];
    const efface_forest_info before = efface_forest_get_info(g->model);
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(g->model), n,
                                        g->all.values + first * g->all.d, 0, numbers, error));
    const efface_forest_info after = efface_forest_get_info(g->model);
    assert_true(after.n_nodes >= before.n_nodes);
    assert_true(before.n_unsettled == 0 || forest_of(&g->params)->lazy != 0);
    seen.unsettled += before.n_unsettled;
}

/* Every row of the case is predicted as by a fresh fit. */
static void compare_answers(const grove *g) {
    efface_model *const fresh = fit(g->data, &g->params);
    efface_number *const a = make(g->all.n, sizeof *a), *const b = make(g->all.n, sizeof *b);
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(g->model), g->all.n, g->all.values,
                                        0, a, error));
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(fresh), g->all.n, g->all.values, 0,
                                        b, error));
    assert_memory_equal(a, b, g->all.n * sizeof *a);
    free(a);
    free(b);
    efface_model_free(fresh);
}

static void run_walk(size_t number, bool target, size_t n_steps) {
    grove g = {.name = sets[number].name};
    rng_state = mix(number * 2 + target + 1);
    law_rows all = sets[number].make();
    efface_forest_params *const p = begin_params(&g.params, N_TREES, mix(number) + target);
    p->target = target ? all.d - 1 : EFFACE_NO_COLUMN;
    p->lazy = (number + target) % 2 != 0;
    p->common.n_threads = number / 2 % 2 != 0 ? 3 : 1;
    p->criterion = !target && number % 4 == 3 ? EFFACE_CRITERION_ENTROPY : EFFACE_CRITERION_GINI;
    begin_grove(&g, all, 70);
    const size_t every = n_steps / N_LOOKS + 1;
    for (size_t i = 1; i <= n_steps; i++) {
        step_grove(&g, 20);
        if (i % 11 == 0)
            ask(&g);
        if (i % every == 0) {
            if (i / every % 2 == 0)
                compare_answers(&g);
            check_grove(&g);
        }
    }
    compare_answers(&g);
    check_grove(&g);
    check_grove_plainly(&g);
    seen.nodes += efface_forest_get_info(g.model).n_nodes;
    end_grove(&g);
}

static void node_for_node_equal(void **state) {
    (void)state;
    const size_t n = n_cases();
    for (size_t number = 0; number < N_SETS; number++) {
        run_walk(number, false, n / 2);
        run_walk(number, true, n - n / 2);
    }
    print_message("%zu requests for each of %zu sets; %" PRIu64 " nodes compared in the end; nodes "
                  "left for later %" PRIu64 "\n",
                  n, N_SETS, seen.nodes, seen.unsettled);
    assert_true(seen.unsettled != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(node_for_node_equal)};
    return cmocka_run_group_tests_name("walks of forests", tests, NULL, NULL);
}
