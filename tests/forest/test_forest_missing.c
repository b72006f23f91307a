/*
 * Values that are missing, and columns of categories. Walks of mixed requests in which missing
 * values come and go: columns that are missing everywhere, that are constant where they are not
 * missing, categories that vanish and come back, targets that are missing. After every step the
 * bytes are those of a fresh fit and of the oracle. And who may not have missing values is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forest/forest_scene.h"

#define DEFAULT_CASES 60
#define STEPS 12
#define FIRST_SEED UINT64_C(0x3155)

/* ---------------------------------------------------------------- walks */

static float draw_value(unsigned kind) {
    switch (kind) {
    case 0: return unit();
    case 1: return (float)below(3);
    case 2: return 2.5f;                    /* constant where it is there */
    case 3: return NAN;                     /* never there */
    case 4: return one_in(12) ? 1.0f : NAN; /* hardly ever */
    case 5: return sign(spread_out(1.0f, -90, 180));
    case 6: return one_in(2) ? -0x1p-101f : 0x1p-101f; /* counts as 0 */
    default: return sign(unit());
    }
}

static law_rows draw_rows(uint32_t target) {
    const size_t n = one_in(4) ? below(8) : 10 + below(60);
    const uint32_t d =
        target != EFFACE_NO_COLUMN ? target + 1 + (uint32_t)below(3) : 1 + (uint32_t)below(6);
    law_rows rows = law_make_rows(n, d);
    const unsigned n_classes = 1 + (unsigned)below(4);
    for (uint32_t j = 0; j < d; j++) {
        const unsigned kind = j == target ? (unsigned)below(2) : (unsigned)below(8);
        const uint64_t gap = 2 + below(6);
        const bool gaps = one_in(2);
        for (size_t i = 0; i < n; i++)
            rows.values[i * d + j] = gaps && one_in(gap) ? NAN : draw_value(kind);
    }
    for (size_t i = 0; i < n; i++) {
        rows.ids[i] = mix(i + 1);
        rows.weights[i] = 1 + (int64_t)below(3);
        rows.labels[i] = one_in(9) ? EFFACE_NO_LABEL : (int64_t)below(n_classes);
    }
    return rows;
}

static void draw_params(law_params *params, uint32_t target, uint32_t d) {
    efface_forest_params *const p = begin_params(params, 1 + (uint32_t)below(4), next());
    p->target = target;
    p->missing = 1;
    p->lazy = one_in(2);
    p->rows = (efface_forest_rows)below(3);
    p->trees_of_row = 1 + (uint32_t)below(3);
    p->n_candidates = (uint32_t)below(d + 1);
    if (target == EFFACE_NO_COLUMN && one_in(2))
        p->criterion = EFFACE_CRITERION_ENTROPY;
    if (one_in(3))
        p->min_leaf = 1 + (uint32_t)below(4);
    if (one_in(3))
        p->max_depth = 1 + (uint32_t)below(6);
    for (uint32_t j = 0; j < d; j++)
        if (j != target && one_in(3))
            add_category(params, j);
}

static uint64_t under_way;

static int say_seed(void **state) {
    (void)state;
    if (under_way != 0)
        print_message("failed: EFFACE_TEST_SEED=0x%" PRIx64 "\n", under_way);
    return 0;
}

/* Rows to predict have missing values too, and are in no column what the forest has seen. */
static void check_answers(const grove *g) {
    efface_model *const fresh = fit(g->data, &g->params);
    const efface_forest_params *const p = forest_of(&g->params);
    forest_plain *const forest = nodes_of(g->model);
    const uint32_t d = g->all.d;
    float *const row = make(d, sizeof *row);
    uint64_t *const sums = make(forest->n_classes, sizeof *sums);
    uint32_t *const leaves = make(p->n_trees, sizeof *leaves);
    for (int i = 0; i < 12 && forest_predicts(forest); i++) {
        efface_number is = {.whole = 0}, should_be = {.whole = 0};
        for (uint32_t j = 0; j < d; j++)
            row[j] = one_in(3)                    ? NAN
                     : one_in(2) && g->all.n != 0 ? g->all.values[below(g->all.n) * d + j]
                                                  : draw_value((unsigned)below(8));
        REQUIRE_OK(
            efface_predictor_predict(efface_model_predictor(g->model), 1, row, 0, &is, error));
        REQUIRE_OK(
            efface_predictor_predict(efface_model_predictor(fresh), 1, row, 0, &should_be, error));
        assert_memory_equal(&is, &should_be, sizeof is);
        if (p->target != EFFACE_NO_COLUMN)
            assert_true(is.real == forest_mean(forest, row));
        else
            assert_true(is.whole == forest->labels[forest_vote(forest, row, sums)]);
        REQUIRE_OK(efface_forest_leaves(g->model, 1, row, 0, leaves, error));
        for (uint32_t t = 0; t < p->n_trees; t++)
            assert_int_equal(leaves[t], forest_find_leaf(forest->trees[t], row)->number);
    }
    free(row);
    free(sums);
    free(leaves);
    forest_free(forest);
    efface_model_free(fresh);
}

static void run_walk(uint64_t seed) {
    grove g = {.name = "a walk", .missing = true};
    rng_state = mix(seed);
    under_way = seed;
    const uint32_t target = one_in(2) ? EFFACE_NO_COLUMN : (uint32_t)below(3) + 1;
    law_rows all = draw_rows(target);
    draw_params(&g.params, target, all.d);
    begin_grove(&g, all, 70);
    for (int i = 0; i < STEPS; i++) {
        step_grove(&g, 12);
        check_grove(&g);
        check_grove_plainly(&g);
    }
    check_answers(&g);
    end_grove(&g);
    under_way = 0;
}

static void walks_with_missing_values(void **state) {
    (void)state;
    (void)run_cases(FIRST_SEED, DEFAULT_CASES, run_walk);
}

/* ---------------------------------------------------------------- columns that change their kind
 */

/* All rows whose value in a column is x leave, then come back. */
static void vanish_and_return(grove *g, uint32_t column, float x) {
    size_t *const which = make(g->all.n, sizeof *which), n = 0;
    for (size_t i = 0; i < g->all.n; i++) {
        const float value = g->all.values[i * g->all.d + column];
        if (g->inside[i] && (isnan(x) ? isnan(value) : value == x))
            which[n++] = i;
    }
    encoding before = encode(g->model);
    const bool one_by_one = one_in(2);
    for (size_t i = 0; one_by_one && i < n; i++)
        forget_these(g, &which[i], 1);
    if (!one_by_one)
        forget_these(g, which, n);
    check_grove(g);
    check_grove_plainly(g);
    for (size_t i = 0; !one_by_one && i < n; i++)
        learn_these(g, &which[i], 1);
    if (one_by_one)
        learn_these(g, which, n);
    encoding after = encode(g->model);
    require_same_bytes(&g->params, &after, &before, "the forest from before", g->name);
    efface_bytes_free(before.bytes);
    efface_bytes_free(after.bytes);
    free(which);
}

/* Column 0 is of categories, 1 is constant or missing, 2 is missing everywhere but in one row, 3 is
 * numbers of which some are missing. */
static void columns_change_their_kind(void **state) {
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++)
        for (int target = 0; target < 2; target++) {
            grove g = {.name = "columns that change", .missing = true};
            rng_state = 99 + (uint64_t)lazy * 2 + (uint64_t)target;
            efface_forest_params *const p = begin_params(&g.params, 4, 8);
            p->missing = 1;
            p->lazy = lazy;
            p->target = target ? 4 : EFFACE_NO_COLUMN;
            add_category(&g.params, 0);
            law_rows all = law_make_rows(120, 5);
            for (size_t i = 0; i < all.n; i++) {
                float *const row = all.values + i * 5;
                row[0] = one_in(8) ? NAN : (float)below(4);
                row[1] = one_in(4) ? NAN : 7.25f;
                row[2] = i == 50 ? 1.0f : NAN;
                row[3] = one_in(4) ? NAN : unit();
                row[4] = unit() + (isnan(row[0]) ? 3.0f : row[0]);
                all.labels[i] = (int64_t)below(2) + (row[0] == 2.0f);
            }
            begin_grove(&g, all, 100);
            check_grove_plainly(&g);
            for (int x = 0; x < 4; x++)
                vanish_and_return(&g, 0, (float)x);
            for (uint32_t j = 0; j < 4; j++)
                vanish_and_return(&g, j, NAN);
            vanish_and_return(&g, 1, 7.25f);
            vanish_and_return(&g, 2, 1.0f);
            end_grove(&g);
        }
}

/* ---------------------------------------------------------------- who may not */

static void missing_values_are_refused(void **state) {
    static const float values[] = {1.0f, NAN, 2.0f, 3.0f};
    (void)state;
    law_params params;
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error why = {.message = ""};
    efface_forest_params *const p = begin_params(&params, 2, 1);
    law_rows rows = table_of(2, 2, values, (const int64_t[]){0, 1});
    const efface_rows batch = batch_of(&rows);
    REQUIRE_OK(efface_data_create(2, &data, error));
    assert_int_equal(efface_data_add(data, &batch, &why), EFFACE_E_LIMIT);
    assert_true(why.message[0] != '\0' && efface_data_n_rows(data) == 0);
    efface_data_free(data);

    data = data_of(&rows, true);
    why = (efface_error){.message = ""};
    assert_int_equal(efface_forest_fit(data, p, &model, &why), EFFACE_E_LIMIT);
    assert_true(model == NULL && why.message[0] != '\0');
    p->missing = 1;
    model = fit(data, &params);
    require_oracle(model, &rows, &params, "two rows");
    efface_model_free(model);
    efface_data_free(data);

    /* A forest without missing values: neither a row that comes nor one to predict has them. */
    p->missing = 0;
    rows.values[1] = 5.0f;
    data = data_of(&rows, true);
    model = fit(data, &params);
    encoding before = encode(model);
    const uint64_t id = 77;
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
    efface_number number = {.whole = 123};
    assert_int_equal(efface_model_learn(model, data, &row, NULL, &why), EFFACE_E_LIMIT);
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, values, 0, &number, &why),
        EFFACE_E_LIMIT);
    assert_int_equal(number.whole, 123);
    assert_int_equal(efface_data_n_rows(data), 2);
    encoding after = encode(model);
    require_same_bytes(&params, &after, &before, "the forest from before", "refused rows");
    require_fresh(model, data, &params, "refused rows");
    efface_bytes_free(before.bytes);
    efface_bytes_free(after.bytes);
    efface_model_free(model);
    efface_data_free(data);
    law_free_rows(&rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_values_are_refused),
        cmocka_unit_test(columns_change_their_kind),
        cmocka_unit_test_teardown(walks_with_missing_values, say_seed),
    };
    return cmocka_run_group_tests_name("missing values", tests, NULL, NULL);
}
