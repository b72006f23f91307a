/*
 * Small cases that can be worked out by hand, against numbers that forest_golden.py computed from
 * docs/definition/forest.md: the library and the oracle have to come to the same. And the three
 * points on which the forests of DaRE keep a threshold that no fit would have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forest/forest_scene.h"

#define SEED UINT64_C(20191105)

/* Of forest_golden.py. */
static const uint64_t golden_keys[3] = {UINT64_C(0x5f5269a8026ba5c7), UINT64_C(0x31483724a27a66ee),
                                        UINT64_C(0x3541e9cfb3f58302)};

static const struct {
    uint32_t lo, hi;    /* as bits */
    double left, right; /* their box */
    uint32_t threshold;
} golden_pairs[] = {
    {0x3f800000, 0x40000000, 0x0.0p+0, 0x1.0000000000000p+2, 0x3fcdbb46},
    {0x40400000, 0x447a0000, 0x0.0p+0, 0x1.0000000000000p+10, 0x441b768d},
    {0x00000000, 0x3f800000, 0x0.0p+0, 0x1.0000000000000p+1, 0x3f1b768d},
    {0x00000000, 0x0d800000, 0x0.0p+0, 0x1.0000000000000p-99, 0x00000000},
    {0x40a00000, 0x40a80000, 0x1.4000000000000p+2, 0x1.6000000000000p+2, 0x40a4dbb4},
    {0x3f800000, 0x3f800001, 0x1.0000000000000p+0, 0x1.0000040000000p+0, 0x3f800000},
    {0xc0000000, 0xbf800000, -0x1.0000000000000p+2, -0x0.0p+0, 0xbfc912e5},
    {0xc47a0000, 0xc0400000, -0x1.0000000000000p+10, -0x0.0p+0, 0xc3c912e5},
    {0xc0a80000, 0xc0a00000, -0x1.6000000000000p+2, -0x1.4000000000000p+2, 0xc0a64898},
    {0xbf800000, 0x00000000, -0x1.0000000000000p+0, 0x1.0000000000000p+0, 0xbf4912e5},
    {0xbf800000, 0x3f800000, -0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x3e5bb46e},
    {0xba83126f, 0x459c4000, -0x1.0000000000000p+13, 0x1.0000000000000p+13, 0x44dbb46e},
    {0xc59c4000, 0x3a83126f, -0x1.0000000000000p+13, 0x1.0000000000000p+13, 0xc4d9c118},
    {0x8d800000, 0x00000000, -0x1.0000000000000p-100, 0x1.0000000000000p-100, 0x8d800000},
    {0x8d800000, 0x0d800000, -0x1.0000000000000p-100, 0x1.0000000000000p-100, 0x00000000},
    {0x0d800000, 0x0e000000, 0x0.0p+0, 0x1.0000000000000p-98, 0x0dcdbb46},
    {0x7e000000, 0x7e800000, 0x0.0p+0, 0x1.0000000000000p+127, 0x7e4dbb46},
    {0xfe800000, 0x7e800000, -0x1.0000000000000p+126, 0x1.0000000000000p+126, 0x7d5bb46e},
    {0x3dcccccd, 0x3dccccce, 0x1.9999980000000p-4, 0x1.9999a00000000p-4, 0x3dcccccd},
    {0x44800000, 0x44802000, 0x1.0000000000000p+10, 0x1.0080000000000p+10, 0x4480136e},
    {0x7e7fffff, 0x7e800000, 0x0.0p+0, 0x1.0000000000000p+127, 0x7e7fffff},
    {0xfe800000, 0xfe7fffff, -0x1.0000000000000p+127, -0x0.0p+0, 0xfe800000},
    {0x45800000, 0x45fffc00, 0x1.0000000000000p+12, 0x1.0000000000000p+13, 0x45cdbb46},
};

static const uint32_t golden_order[7] = {5, 6, 2, 1, 3, 4, 0};
static const uint64_t golden_numbers[4] = {
    UINT64_C(0xe5cee5d8c5fec329), UINT64_C(0xe6f2d6ec1e1b2a72), UINT64_C(0x8bc434d3d64fc53f),
    UINT64_C(0xb42b1624a523e050)};

static const uint64_t golden_bounds[20] = {
    UINT64_C(0x5e2d58d8b3bcdf1a), UINT64_C(0xbc5ab1b16779be35), UINT64_C(0xeb715e1dc1582dc2),
    UINT64_C(0xfb23979734a252f1), UINT64_C(0xff1025f59174dc3d), UINT64_C(0xffd90f3ba4055e19),
    UINT64_C(0xfffa8b71fc72c913), UINT64_C(0xffff540c0914b3c9), UINT64_C(0xffffed1f4aa8f120),
    UINT64_C(0xfffffe216e641462), UINT64_C(0xffffffd4d85d3183), UINT64_C(0xfffffffc6da262b4),
    UINT64_C(0xffffffffba12d178), UINT64_C(0xfffffffffb07c64c), UINT64_C(0xffffffffffab8ea5),
    UINT64_C(0xfffffffffffabe22), UINT64_C(0xffffffffffffb11a), UINT64_C(0xfffffffffffffba1),
    UINT64_C(0xffffffffffffffc5), UINT64_C(0xfffffffffffffffd)};

#define N_IDS 5
static const uint64_t some_ids[N_IDS] = {0, 1, 7, (UINT64_C(1) << 40) + 3, UINT64_MAX};
static const unsigned golden_multiplicities[N_IDS][8] = {
    {0, 1, 3, 1, 0, 1, 1, 1}, {0, 0, 2, 1, 1, 0, 0, 0}, {3, 1, 0, 2, 3, 0, 0, 0},
    {2, 3, 0, 1, 1, 0, 0, 1}, {1, 2, 0, 3, 1, 0, 2, 2},
};
static const unsigned golden_trees[N_IDS] = {0x109, 0x0c1, 0x221, 0x205, 0x111}; /* 3 of 10 */

static const uint32_t golden_salts[2] = {UINT32_C(0x51c4febc), UINT32_C(0x00679a6a)};
static const unsigned golden_missing_sides[8] = {0, 1, 1, 0, 0, 0, 0, 0};

static const struct {
    uint32_t small, large; /* as bits */
    int unit;
    uint32_t threshold;
} golden_tails[] = {
    {0x3f800000, 0x49742400, 2, 0x48f50148},   {0xbf800000, 0x49742400, 2, 0x4709ae3d},
    {0x3f800000, 0xc9742400, 2, 0xc8bb380a},   {0xbf800000, 0xc9742400, 2, 0xc6489722},
    {0x3f400000, 0x7e800000, 2, 0x66dda376},   {0x0d800000, 0x3f800000, -98, 0x34dda376},
    {0x8d800000, 0x7e800000, -98, 0x7bda3764}, {0x3dcccccd, 0x449a5000, -2, 0x42dbb46e},
    {0x40400000, 0x47c35000, 2, 0x44dbb46e},
};

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nodes of a fit. */
static forest_plain *grow_by_library(const law_rows *rows, const law_params *params) {
    efface_data *const data = data_of(rows, forest_of(params)->missing != 0);
    efface_model *const model = fit(data, params);
    forest_plain *const forest = nodes_of(model);
    require_oracle(model, rows, params, "a small case");
    efface_model_free(model);
    efface_data_free(data);
    return forest;
}

/* ---------------------------------------------------------------- DaRE */

static int64_t predict_at(const efface_model *model, float x) {
    efface_number number = {.whole = -1};
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(model), 1, &x, 0, &number, error));
    return number.whole;
}

/* Points 0, 1, 10 with classes 0, 0, 1: the second leaves. A threshold between 0 and 1 that stayed
 * would send 0.5 to the wrong side. */
static void three_points(void **state) {
    static const float values[] = {0.0f, 1.0f, 10.0f};
    static const int64_t labels[] = {0, 0, 1};
    (void)state;
    unsigned n_between = 0;
    for (uint64_t seed = 0; seed < 200; seed++)
        for (int lazy = 0; lazy < 2; lazy++) {
            law_params params;
            const uint64_t id = 1;
            const efface_request request = {.ids = &id, .n_ids = 1};
            efface_forest_params *const p = begin_params(&params, 1 + (uint32_t)(seed % 7), seed);
            p->lazy = lazy;
            law_rows rows = table_of(3, 1, values, labels);
            efface_data *const data = data_of(&rows, false);
            efface_model *const model = fit(data, &params);
            encoding before = encode(model);
            REQUIRE_OK(efface_model_forget(model, data, &request, NULL, error));
            efface_model *const fresh = fit(data, &params);
            for (float x = 0.0f; x <= 10.0f; x += 0.125f)
                assert_int_equal(predict_at(model, x), predict_at(fresh, x));
            require_fresh(model, data, &params, "three points");
            law_rows left = table_of(2, 1, (const float[]){0.0f, 10.0f}, (const int64_t[]){0, 1});
            left.ids[1] = 2;
            require_oracle(model, &left, &params, "three points");
            const efface_rows again = {
                .n_rows = 1, .values = &values[1], .ids = &id, .labels = &labels[1]};
            REQUIRE_OK(efface_model_learn(model, data, &again, NULL, error));
            encoding after = encode(model);
            require_same_bytes(&params, &after, &before, "the forest from before",
                               "there and back");
            forest_plain *const nodes = nodes_of(model);
            n_between += nodes->trees[0]->split.threshold < 1.0f;
            forest_free(nodes);
            efface_bytes_free(before.bytes);
            efface_bytes_free(after.bytes);
            efface_model_free(fresh);
            efface_model_free(model);
            efface_data_free(data);
            law_free_rows(&rows);
            law_free_rows(&left);
        }
    assert_true(n_between != 0); /* some seeds part the first from the second */
}

/* ---------------------------------------------------------------- thresholds */

static void keys_are_golden(void **state) {
    (void)state;
    assert_true(forest_root_key(SEED, 0) == golden_keys[0]);
    assert_true(forest_child_key(golden_keys[0], false) == golden_keys[1]);
    assert_true(forest_child_key(golden_keys[0], true) == golden_keys[2]);
}

/* Two rows on both ends: the root has the one threshold that there is. */
static void boxes_and_thresholds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof golden_pairs / sizeof golden_pairs[0]; i++) {
        const float ends[2] = {float_of(golden_pairs[i].lo), float_of(golden_pairs[i].hi)};
        const float threshold = float_of(golden_pairs[i].threshold);
        double left, right;
        law_params params;
        forest_box(ends[0], ends[1], &left, &right);
        assert_true(left == golden_pairs[i].left && right == golden_pairs[i].right);
        assert_true(forest_threshold(golden_keys[0], 0, FOREST_NO_UNIT, ends[0], ends[1]) ==
                    threshold);
        (void)begin_params(&params, 1, SEED);
        law_rows rows = table_of(2, 1, ends, (const int64_t[]){0, 1});
        forest_plain *const forest = grow_by_library(&rows, &params);
        const forest_split *const split = &forest->trees[0]->split;
        if (split->kind != 1 || memcmp(&split->threshold, &threshold, sizeof threshold) != 0)
            fail_msg("pair %zu: threshold %.9g instead of %.9g", i, (double)split->threshold,
                     (double)threshold);
        assert_true(ends[0] <= threshold && threshold < ends[1]);
        forest_free(forest);
        law_free_rows(&rows);
    }
}

/* Twelve small values and a large one: the threshold is on the scale of the column's unit. */
static void thresholds_of_long_tails(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof golden_tails / sizeof golden_tails[0]; i++) {
        const float small = float_of(golden_tails[i].small),
                    large = float_of(golden_tails[i].large);
        const float threshold = float_of(golden_tails[i].threshold);
        const float lo = small < large ? small : large, hi = small < large ? large : small;
        law_params params;
        (void)begin_params(&params, 1, SEED);
        law_rows rows = law_make_rows(13, 1);
        for (size_t r = 0; r < 13; r++) {
            rows.values[r] = r == 5 ? large : small;
            rows.labels[r] = r == 5;
        }
        assert_int_equal(forest_unit(rows.values, 13, 1), golden_tails[i].unit);
        assert_true(forest_threshold(golden_keys[0], 0, golden_tails[i].unit, lo, hi) == threshold);
        forest_plain *const forest = grow_by_library(&rows, &params);
        assert_int_equal(forest->trees[0]->split.kind, 1);
        assert_true(forest->trees[0]->split.threshold == threshold);
        forest_free(forest);
        law_free_rows(&rows);
    }
}

/* Values that count as 0 are equal to each other and to 0. */
static void tiny_values_are_zero(void **state) {
    static const float tiny[] = {0.0f, 0x1p-101f, -0x1p-101f, 0x1p-149f, 0x1.fffffep-101f};
    (void)state;
    law_params params;
    efface_forest_params *const p = begin_params(&params, 2, SEED);
    law_rows rows = table_of(5, 1, tiny, (const int64_t[]){0, 1, 2, 1, 0});
    forest_plain *forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->trees[0]->split.kind, 0);
    forest_free(forest);
    add_category(&params, 0);
    forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->trees[0]->split.kind, 0);
    forest_free(forest);
    p->n_categories = 0;
    rows.values[4] = 0x1p-100f; /* counts */
    forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->trees[0]->split.kind, 1);
    assert_true(forest->trees[0]->split.threshold == 0.0f);
    forest_free(forest);
    rows.values[4] = -0x1p-100f;
    forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->trees[0]->split.kind, 1);
    assert_true(forest->trees[0]->split.threshold == -0x1p-100f);
    forest_free(forest);
    law_free_rows(&rows);
}

/* Targets that are tiny are 0 too: they are all the same. */
static void tiny_targets_are_zero(void **state) {
    static const float values[] = {1.0f, 0x1p-101f, 2.0f, -0x1p-101f, 3.0f, 0.0f};
    (void)state;
    law_params params;
    begin_params(&params, 1, SEED)->target = 1;
    law_rows rows = table_of(3, 2, values, (const int64_t[]){0, 0, 0});
    forest_plain *const forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->exponent, -100);
    assert_int_equal(forest->trees[0]->split.kind, 0);
    assert_int_equal(forest->trees[0]->sum, 0);
    forest_free(forest);
    law_free_rows(&rows);
}

/* ---------------------------------------------------------------- candidates */

/* With one candidate the root divides by the first column of the shuffle that is not constant. */
static void the_shuffle(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_true(forest_number(golden_keys[0], 2, i, 0) == golden_numbers[i]);
    for (unsigned n_constant = 0; n_constant < 7; n_constant++) {
        law_params params;
        float values[14] = {0};
        begin_params(&params, 1, SEED)->n_candidates = 1;
        for (unsigned j = 0; j < 7; j++)
            values[7 + j] = 1.0f + (float)j;
        for (unsigned i = 0; i < n_constant; i++)
            values[7 + golden_order[i]] = 0.0f;
        law_rows rows = table_of(2, 7, values, (const int64_t[]){3, 5});
        forest_plain *const forest = grow_by_library(&rows, &params);
        assert_int_equal(forest->trees[0]->split.column, golden_order[n_constant]);
        forest_free(forest);
        law_free_rows(&rows);
    }
}

/* Columns that are copies of each other have the same score unless thresholds differ in what they
 * divide; two rows are divided in one way only, so the one that was drawn first wins. */
static void the_first_of_equals_wins(void **state) {
    (void)state;
    for (int criterion = 0; criterion < 3; criterion++) {
        law_params params;
        float values[14];
        efface_forest_params *const p = begin_params(&params, 1, SEED);
        for (unsigned j = 0; j < 7; j++) {
            values[j] = 0.0f;
            values[7 + j] = 1.0f;
        }
        p->criterion = criterion == 1 ? EFFACE_CRITERION_ENTROPY : EFFACE_CRITERION_GINI;
        p->target = criterion == 2 ? 0 : EFFACE_NO_COLUMN;
        law_rows rows = table_of(2, 7, values, (const int64_t[]){0, 1});
        forest_plain *const forest = grow_by_library(&rows, &params);
        /* Of six inputs, columns 1 to 6, the shuffle is another one. */
        const uint32_t other = (uint32_t)(((golden_numbers[0] & UINT32_MAX) * 6) >> 32);
        assert_int_equal(forest->trees[0]->split.column,
                         criterion == 2 ? 1 + other : golden_order[0]);
        forest_free(forest);
        law_free_rows(&rows);
    }
}

/* n rows of two classes, or targets -1 and 1: the column that is drawn first divides both in
 * halves, the one that is drawn second has `more` of one, and as many less of the other, on the
 * left. Returns whether the second one wins. */
static bool second_wins(size_t n, size_t more, unsigned criterion, int64_t weight) {
    law_params params;
    efface_forest_params *const p = begin_params(&params, 1, SEED);
    law_rows rows = law_make_rows(n, criterion == 2 ? 8 : 7);
    p->criterion = criterion == 1 ? EFFACE_CRITERION_ENTROPY : EFFACE_CRITERION_GINI;
    p->target = criterion == 2 ? 7 : EFFACE_NO_COLUMN;
    for (size_t i = 0; i < n; i++) {
        float *const row = rows.values + i * rows.d;
        const bool other = i >= n / 2;
        rows.labels[i] = other;
        rows.weights[i] = weight;
        row[golden_order[0]] = (float)(i % 2);
        row[golden_order[1]] = i % (n / 2) >= (other ? n / 4 - more : n / 4 + more);
        if (criterion == 2)
            row[7] = other ? 1.0f : -1.0f;
    }
    forest_plain *const forest = grow_by_library(&rows, &params);
    const uint32_t column = forest->trees[0]->split.column;
    assert_true(column == golden_order[0] || column == golden_order[1]);
    forest_free(forest);
    law_free_rows(&rows);
    return column == golden_order[1];
}

/* By gini, and for the target alike, `more` gains more^2 / 64 for 512 rows, and the margin is 1: it
 * is not enough to reach it. By entropy it is nearly the same. Smaller nodes have no margin. */
static void a_later_candidate_needs_a_margin(void **state) {
    (void)state;
    for (unsigned criterion = 0; criterion < 3; criterion++) {
        const size_t not_enough = criterion == 1 ? 7 : 8;
        assert_false(second_wins(256, 0, criterion, 1));
        assert_true(second_wins(256, 1, criterion, 1));
        for (int64_t weight = 1; weight < 10; weight += 8) {
            assert_false(second_wins(512, not_enough, criterion, weight));
            assert_true(second_wins(512, 9, criterion, weight));
        }
    }
}

static void categories(void **state) {
    (void)state;
    law_params params;
    efface_forest_params *const p = begin_params(&params, 1, SEED);
    add_category(&params, 0);
    assert_true(
        forest_mixed_left(golden_salts[0], 0.0f) && !forest_mixed_left(golden_salts[0], 1.0f) &&
        forest_mixed_left(golden_salts[0], 2.0f) && !forest_mixed_left(golden_salts[0], NAN));
    law_rows rows = table_of(2, 1, (const float[]){1.0f, 2.0f}, (const int64_t[]){0, 1});
    for (int missing = 0; missing < 2; missing++) {
        p->missing = missing;
        rows.values[1] = missing ? NAN : 2.0f;
        forest_plain *const forest = grow_by_library(&rows, &params);
        const forest_node *const root = forest->trees[0];
        assert_int_equal(root->split.kind, 2);
        assert_true(root->split.s == golden_salts[missing]);
        const bool left = forest_mixed_left(golden_salts[missing], 1.0f);
        assert_int_equal(root->left->classes[0], left ? 0 : 1);
        assert_int_equal(root->right->classes[0], left ? 1 : 0);
        forest_free(forest);
    }
    law_free_rows(&rows);
}

/* Bit 2 of a threshold is there if values may be missing, whether or not they are. */
static void sides_of_missing_values(void **state) {
    (void)state;
    for (uint32_t column = 0; column < 8; column++) {
        law_params params;
        float values[16] = {0};
        begin_params(&params, 1, SEED)->missing = 1;
        values[8 + column] = 1.0f;
        law_rows rows = table_of(2, 8, values, (const int64_t[]){0, 1});
        forest_plain *const forest = grow_by_library(&rows, &params);
        assert_int_equal(forest->trees[0]->split.column, column);
        assert_int_equal(forest->trees[0]->split.missing_left, golden_missing_sides[column]);
        forest_free(forest);
        law_free_rows(&rows);
    }
    /* Rows with a value go left, the others right. */
    law_params params;
    begin_params(&params, 1, SEED)->missing = 1;
    law_rows rows = table_of(3, 1, (const float[]){4.0f, NAN, 4.0f}, (const int64_t[]){0, 1, 0});
    forest_plain *const forest = grow_by_library(&rows, &params);
    assert_true(isinf(forest->trees[0]->split.threshold));
    assert_false(forest->trees[0]->split.missing_left);
    assert_int_equal(forest->trees[0]->left->classes[0], 0);
    assert_int_equal(forest->trees[0]->right->classes[0], 1);
    forest_free(forest);
    law_free_rows(&rows);
}

/* ---------------------------------------------------------------- rows of trees */

/* A forest of one row says by its leaves how often the row is in each tree. */
static void multiplicities(void **state) {
    (void)state;
    for (unsigned j = 0; j < 20; j++)
        assert_true(forest_poisson_bound(j) == golden_bounds[j]);
    for (unsigned i = 0; i < N_IDS; i++)
        for (int some = 0; some < 2; some++) {
            law_params params;
            efface_forest_params *const p = begin_params(&params, some ? 10 : 8, SEED);
            p->rows = some ? EFFACE_FOREST_SOME : EFFACE_FOREST_POISSON;
            p->trees_of_row = 3;
            law_rows rows = table_of(1, 1, (const float[]){1.5f}, (const int64_t[]){4});
            rows.ids[0] = some_ids[i];
            rows.weights[0] = 7;
            forest_plain *const forest = grow_by_library(&rows, &params);
            for (uint32_t t = 0; t < p->n_trees; t++)
                assert_int_equal(forest->trees[t]->weight,
                                 some ? 7 * (int64_t)(golden_trees[i] >> t & 1)
                                      : 7 * (int64_t)golden_multiplicities[i][t]);
            forest_free(forest);
            law_free_rows(&rows);
        }
}

/* As many trees as a row is in, whatever their number; with more asked for than there are, all. */
static void every_row_is_in_k_trees(void **state) {
    (void)state;
    for (uint32_t k = 1; k < 9; k++) {
        law_params params;
        efface_forest_params *const p = begin_params(&params, 6, k);
        p->rows = EFFACE_FOREST_SOME;
        p->trees_of_row = k;
        rng_state = k;
        law_rows rows = draw_plain_rows(40, 3, 3);
        forest_plain *const forest = grow_by_library(&rows, &params);
        int64_t total = 0;
        for (size_t i = 0; i < rows.n; i++)
            for (uint32_t t = 0; t < 6; t++)
                total += forest_multiplicity(p, rows.ids[i], t);
        assert_int_equal(total, 40 * (int64_t)(k < 6 ? k : 6));
        forest_free(forest);
        law_free_rows(&rows);
    }
}

/* ---------------------------------------------------------------- leaves */

/* Targets -3, 1, 2 and weights: the grid has e = 2, so that g = 2^21 x. */
static void leaves_of_targets(void **state) {
    static const float values[] = {0.0f, -3.0f, 0.0f, 1.0f, 0.0f, 2.0f};
    (void)state;
    law_params params;
    efface_forest_params *const p = begin_params(&params, 1, SEED);
    p->target = 1;
    law_rows rows = table_of(3, 2, values, (const int64_t[]){0, 0, 0});
    rows.weights[1] = 5;
    forest_plain *forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->exponent, 2);
    assert_int_equal(forest->trees[0]->split.kind, 0); /* no column divides the rows */
    assert_int_equal(forest->trees[0]->weight, 7);
    assert_int_equal(forest->trees[0]->sum, INT64_C(4) << 21); /* -3 + 5 + 2 */
    assert_true(forest_mean(forest, values) == ldexp(nearbyint(ldexp(4.0, 41) / 7.0), -41));
    forest_free(forest);
    p->bound = 100.0;
    forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->exponent, 7);
    assert_int_equal(forest->trees[0]->sum, INT64_C(4) << 16);
    forest_free(forest);
    law_free_rows(&rows);
}

/* Rows without a label count in the set and in no tree. */
static void rows_without_a_label(void **state) {
    static const float values[] = {0.0f, 1.0f, 2.0f, 3.0f};
    (void)state;
    law_params params;
    (void)begin_params(&params, 2, SEED);
    law_rows rows = table_of(4, 1, values, (const int64_t[]){8, EFFACE_NO_LABEL, -8, 8});
    forest_plain *const forest = grow_by_library(&rows, &params);
    assert_int_equal(forest->n_rows, 4);
    assert_int_equal(forest->total_weight, 4);
    assert_int_equal(forest->n_taking_part, 3);
    assert_int_equal(forest->n_classes, 2);
    assert_int_equal(forest->labels[0], -8);
    forest_free(forest);
    law_free_rows(&rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_golden),
        cmocka_unit_test(boxes_and_thresholds),
        cmocka_unit_test(thresholds_of_long_tails),
        cmocka_unit_test(tiny_values_are_zero),
        cmocka_unit_test(tiny_targets_are_zero),
        cmocka_unit_test(the_shuffle),
        cmocka_unit_test(the_first_of_equals_wins),
        cmocka_unit_test(a_later_candidate_needs_a_margin),
        cmocka_unit_test(categories),
        cmocka_unit_test(sides_of_missing_values),
        cmocka_unit_test(multiplicities),
        cmocka_unit_test(every_row_is_in_k_trees),
        cmocka_unit_test(leaves_of_targets),
        cmocka_unit_test(rows_without_a_label),
        cmocka_unit_test(three_points),
    };
    return cmocka_run_group_tests_name("small forests", tests, NULL, NULL);
}
