/*
 * Walks of forests of all kinds with large nodes. The walks of all families (tests/exact) have some
 * ten rows; here there are some hundred, so that what is counted of large nodes has to follow: with
 * any parameters, categories, missing values, heavy weights, classes that come and go, columns that
 * begin and cease to be constant, and batches. Every few steps the bytes are those of a fresh fit,
 * in the end those of the oracle; and models that were encoded and decoded on the way go on in the
 * same way.
 *
 * EFFACE_TEST_CASES sets the number of walks, EFFACE_TEST_SEED runs one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forest/forest_scene.h"

#define DEFAULT_CASES 200
#define STEPS 40
#define FIRST_SEED UINT64_C(0x41D5)

static uint64_t under_way;
static char under_way_as[LAW_TEXT_BYTES];

static int say_walk(void **state) {
    (void)state;
    if (under_way != 0)
        print_message("failed: EFFACE_TEST_SEED=0x%" PRIx64 " %s\n", under_way, under_way_as);
    under_way = 0;
    return 0;
}

/* ---------------------------------------------------------------- rows */

typedef enum column_kind {
    PLAIN,
    WHOLE,
    WIDE,
    RARE,       /* constant but for few rows */
    ONE,        /* constant but for one */
    NEIGHBOURS, /* two values, next to each other */
    TINY,       /* on both sides of where values begin to count */
    HUGE_VALUES,
    LONG_TAIL,
    N_COLUMN_KINDS
} column_kind;

static float draw_value(column_kind kind, size_t i, size_t n) {
    switch (kind) {
    case PLAIN: return unit();
    case WHOLE: return (float)below(7) - 2.0f;
    case WIDE: return sign(spread_out(1.0f, -20, 40));
    case RARE: return one_in(60) ? unit() : 0.25f;
    case ONE: return i == n / 3 ? -1.0f : 4.0f;
    case NEIGHBOURS: return one_in(2) ? 1.0f : 0x1.000002p0f;
    case TINY: return sign((float)(1 + below(4)) * 0x1p-101f);
    case HUGE_VALUES: return sign(scaled(unit(), 126));
    default: return one_in(2) ? 0.0f : scaled(unit(), (int)below(30));
    }
}

static law_rows draw_rows(bool missing, uint32_t target) {
    const size_t n = 80 + below(one_in(4) ? 900 : 300);
    const uint32_t d = (target != EFFACE_NO_COLUMN ? target + 1 : 1) + (uint32_t)below(10);
    const uint64_t n_classes = 1 + below(one_in(5) ? 40 : 4), heavy = below(5);
    law_rows rows = law_make_rows(n, d);
    for (uint32_t j = 0; j < d; j++) {
        const column_kind kind = (column_kind)below(N_COLUMN_KINDS);
        const uint64_t gap = 1 + below(20);
        const bool gaps = missing && one_in(2);
        for (size_t i = 0; i < n; i++)
            rows.values[i * d + j] = gaps && one_in(gap) ? NAN : draw_value(kind, i, n);
    }
    for (size_t i = 0; i < n; i++) {
        rows.ids[i] = mix(i + 3);
        rows.weights[i] = heavy == 0   ? 1 + (int64_t)below(INT64_C(1) << 28)
                          : heavy == 1 ? (i % 50 == 0 ? INT64_C(1) << 31 : 1)
                          : heavy == 2 ? 1 + (int64_t)below(5)
                                       : 1;
        rows.labels[i] = one_in(30)  ? EFFACE_NO_LABEL
                         : one_in(3) ? (int64_t)below(n_classes)
                                     : (int64_t)((uint64_t)(rows.values[i * d] > 0.3f) % n_classes);
    }
    if (one_in(3)) /* copies */
        for (size_t i = 1; i < n; i++)
            if (one_in(3))
                memcpy(rows.values + i * d, rows.values + below(i) * d, d * sizeof *rows.values);
    return rows;
}

static void draw_params(law_params *params, const law_rows *rows, bool missing, uint32_t target) {
    efface_forest_params *const p = begin_params(params, 1 + (uint32_t)below(5), next());
    int64_t weight = 0;
    for (size_t i = 0; i < rows->n; i++)
        weight += rows->weights[i];
    p->common.n_threads = 1 + (uint32_t)below(3);
    p->target = target;
    p->missing = missing;
    p->lazy = one_in(2);
    if (target == EFFACE_NO_COLUMN || weight < INT64_C(1) << 33)
        p->rows = (efface_forest_rows)(one_in(2) ? 0 : below(3));
    p->trees_of_row = 1 + (uint32_t)below(p->n_trees);
    p->n_candidates = one_in(2) ? 0 : 1 + (uint32_t)below(rows->d);
    p->max_depth = one_in(3) ? 1 + (uint32_t)below(12) : 0;
    p->min_leaf = one_in(3) ? 1 + (uint32_t)below(20) : 1;
    p->min_split = one_in(3) ? 2 + (uint32_t)below(60) : 2;
    if (target == EFFACE_NO_COLUMN && one_in(2))
        p->criterion = EFFACE_CRITERION_ENTROPY;
    for (uint32_t j = 0; j < rows->d; j++)
        if (j != target && one_in(4))
            add_category(params, j);
}

/* ---------------------------------------------------------------- walks */

/* The row with the smallest or largest value of a column leaves, or one that is alone in its class:
 * what thresholds and lists of classes hang on. */
static void forget_extreme(grove *g) {
    const uint32_t column = (uint32_t)below(g->all.d);
    const bool largest = one_in(2), by_class = one_in(4);
    size_t found = SIZE_MAX;
    float extreme = 0.0f;
    for (size_t i = 0; i < g->all.n; i++) {
        const float value = g->all.values[i * g->all.d + column];
        const float x = by_class ? (float)g->all.labels[i] : largest ? value : -value;
        if (g->inside[i] && !isnan(x) && (found == SIZE_MAX || x > extreme)) {
            extreme = x;
            found = i;
        }
    }
    if (found != SIZE_MAX)
        forget_these(g, &found, 1);
}

static void decode_again(grove *g) {
    encoding e = encode(g->model);
    efface_model *again = NULL;
    REQUIRE_OK(efface_model_decode(e.bytes, e.n, &g->params.common, g->data, &again, error));
    efface_model_free(g->model);
    g->model = again;
    efface_bytes_free(e.bytes);
}

static void run_walk(uint64_t seed) {
    grove g = {.name = "a walk"};
    rng_state = mix(seed);
    under_way = seed;
    g.missing = one_in(3);
    const uint32_t target = one_in(2) ? EFFACE_NO_COLUMN : (uint32_t)below(3) + 1;
    law_rows all = draw_rows(g.missing, target);
    draw_params(&g.params, &all, g.missing, target);
    (void)snprintf(under_way_as, sizeof under_way_as, "%zu rows, %u columns", all.n,
                   (unsigned)all.d);
    begin_grove(&g, all, 75);
    check_grove_plainly(&g);
    const bool decodes = one_in(3);
    for (int i = 1; i <= STEPS; i++) {
        if (one_in(4) && g.n_inside != 0)
            forget_extreme(&g);
        else
            step_grove(&g, one_in(5) ? 60 : 8);
        if (decodes && one_in(8))
            decode_again(&g);
        if (i % 4 == 0)
            check_grove(&g);
    }
    check_grove_plainly(&g);
    end_grove(&g);
    under_way = 0;
}

static void large_nodes_follow(void **state) {
    (void)state;
    (void)run_cases(FIRST_SEED, DEFAULT_CASES, run_walk);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(large_nodes_follow, say_walk)};
    return cmocka_run_group_tests_name("forests of all kinds", tests, NULL, NULL);
}
