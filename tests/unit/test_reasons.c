/*
 * Why a model had to change: a small example for each reason that a report gives, with what the
 * change took, and what the preview says of it.
 */
#include "unit/change_ways.h"

#include <math.h>

/* ---------------------------------------------------------------- reasons */

/* Rows of one column on a grid of step 1, parameters, and a row whose leaving takes an action for a
 * reason. `width` is the lattice in grid steps. */
typedef struct example {
    int reason, action;
    uint32_t level;
    int method;
    uint32_t n_clusters;
    double width, gamma;
    uint64_t seed, id;
    size_t n;
    float values[8];
    bool back; /* learning the row again has the same reason */
    /* For pyramid: the rate is 2^-halvings, and there is one pass and one start more than these. */
    int halvings;
    uint32_t passes, starts;
} example;

/* Short for EFFACE_REASON_..., EFFACE_ACTION_... and EFFACE_METHOD_... */
enum { NONE, CENTERS, GAMMA, EMPTY, STOP, SEED };
enum { CLUSTERS = EFFACE_REASON_CLUSTERS, SAMPLE = EFFACE_REASON_SAMPLE };
enum { UNTOUCHED, REPAIRED, REFITTED };
enum { LLOYD, QUANTIZED, PYRAMID };

static const example examples[] = {
    {NONE, UNTOUCHED, 0, LLOYD, 2, 0, 0, 6, 2, 3, {6, 1, 5}, true, 0, 0, 0},
    {NONE, UNTOUCHED, 0, QUANTIZED, 2, 3, 0, 2, 1, 3, {0, 0, 4}, true, 0, 0, 0},
    {CENTERS, REPAIRED, 1, LLOYD, 2, 0, 0, 4, 0, 4, {1, 4, 2, 13}, false, 0, 0, 0},
    {CENTERS, REPAIRED, 1, QUANTIZED, 2, 3, 1, 3, 1, 3, {10, 3, 0}, true, 0, 0, 0},
    {GAMMA, REPAIRED, 2, QUANTIZED, 2, 3, 1, 6, 0, 5, {0, 1, 5, 2, 0}, false, 0, 0, 0},
    {EMPTY, REPAIRED, 1, QUANTIZED, 3, 3, 0, 0, 4, 5, {17, 2, 7, 15, 1}, false, 0, 0, 0},
    /* Not the winner of a reseeding leaves, as above, but the last row of a cluster. */
    {EMPTY, REPAIRED, 1, QUANTIZED, 4, 2, 1, 5, 5, 7, {8, 14, 13, 6, 13, 15, 3}, true, 0, 0, 0},
    {STOP, UNTOUCHED, 0, LLOYD, 2, 0, 0, 0, 1, 3, {6, 3, 1}, false, 0, 0, 0},
    {STOP, REPAIRED, 1, QUANTIZED, 2, 4, 0, 2, 1, 4, {1, 6, 10, 4}, false, 0, 0, 0},
    /* The loss of a level becomes just that of the one before. */
    {STOP, UNTOUCHED, 0, QUANTIZED, 1, 5, 1, 19, 0, 3, {3, 9, 0}, false, 0, 0, 0},
    {SEED, REFITTED, 0, LLOYD, 2, 0, 0, 0, 0, 3, {6, 3, 1}, true, 0, 0, 0},
    {SEED, REFITTED, 0, QUANTIZED, 2, 3, 0, 2, 0, 3, {0, 0, 4}, true, 0, 0, 0},
    {CLUSTERS, REFITTED, 0, LLOYD, 4, 0, 0, 1, 2, 4, {6, 3, 1, 2}, true, 0, 0, 0},

    /* A row that is not in the sample: of nobody's, and of the jury. */
    {NONE, UNTOUCHED, 0, PYRAMID, 1, 0, 0, 11, 1, 3, {5, 5, 7}, true, 3, 0, 0},
    {NONE, UNTOUCHED, 0, PYRAMID, 1, 0, 0, 8, 2, 3, {0, 2, 0}, true, 1, 0, 0},
    /* The jury takes another start, which the lattice takes to the same place. */
    {NONE, UNTOUCHED, 0, PYRAMID, 2, 5, 0, 7, 1, 4, {14, 11, 7, 10}, true, 1, 1, 1},
    {CENTERS, REPAIRED, 1, PYRAMID, 2, 5, 0, 2, 3, 4, {9, 6, 12, 10}, true, 1, 1, 2},
    {EMPTY, REPAIRED, 0, PYRAMID, 2, 0, 0, 5, 1, 3, {5, 4, 5}, true, 1, 0, 0},
    {EMPTY, REPAIRED, 1, PYRAMID, 2, 4, 0, 19, 0, 3, {5, 4, 4}, true, 1, 1, 0},
    {STOP, UNTOUCHED, 0, PYRAMID, 1, 0, 0, 14, 0, 3, {1, 3, 0}, false, 1, 0, 0},
    /* A row of the sample: the start ends elsewhere; at the same centers, and nothing else is to be
     * done; at the same centers, but those of level 1 then differ. */
    {SAMPLE, REPAIRED, 0, PYRAMID, 2, 0, 0, 12, 1, 3, {3, 5, 4}, true, 1, 0, 0},
    {SAMPLE, REPAIRED, 0, PYRAMID, 1, 0, 0, 11, 2, 3, {2, 3, 3}, true, 0, 0, 0},
    {SAMPLE, REPAIRED, 0, PYRAMID, 1, 0, 0, 14, 1, 3, {4, 11, 11}, true, 1, 1, 0},
    /* A row of the jury alone: another start is the best. */
    {SAMPLE, REPAIRED, 0, PYRAMID, 2, 0, 0, 7, 1, 4, {6, 3, 4, 2}, true, 1, 0, 1},
};

static efface_kmeans_params params_of_example(const example *e) {
    efface_kmeans_params params = params_of((efface_method)e->method, e->n_clusters, e->seed);
    params.bound = 0x1p23;
    params.epsilon = e->width * 0x1p-23;
    params.gamma = e->gamma;
    params.rate = ldexp(1.0, -e->halvings);
    params.passes = 1 + e->passes;
    params.starts = 1 + e->starts;
    return params;
}

static void each_reason_has_an_example(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *const e = &examples[i];
        const efface_kmeans_params params = params_of_example(e);
        pair p = make_pair(&params, e->n, 1, e->values);
        const bool sampled = e->method == PYRAMID && efface_kmeans_in_sample(p.model, p.data, e->id);
        const efface_report gone = forget_one(&p, e->id);
        if ((int)gone.reason != e->reason || (int)gone.action != e->action ||
            gone.level != e->level)
            fail_msg("example %zu: reason %d, action %d, level %u", i, (int)gone.reason,
                     (int)gone.action, gone.level);
        const uint64_t n_levels = gone.levels_replayed;
        assert_int_equal(gone.rows_forgotten, 1);
        assert_int_equal(gone.rows_learned, 0);
        assert_int_equal(gone.rows_missing, 0);
        if (sampled) { /* the starts look at rows too */
            assert_true(gone.rows_visited > n_levels * (e->n - 1));
        } else {
            assert_true((n_levels == 0) == (e->action == UNTOUCHED));
            assert_int_equal(gone.rows_visited, n_levels * (e->n - 1));
        }
        const efface_report back = learn_one(&p, e->id, &e->values[e->id]);
        if (e->back && (int)back.reason != e->reason)
            fail_msg("example %zu: the way back has reason %d", i, (int)back.reason);
        free_pair(&p);
    }
}

/* Two ids whose numbers for the first seed have the same 52 bits under seed 1 (a search found
 * them): equal keys go to the smaller id, whoever was there first. */
static void equal_keys_go_to_the_smaller_id(void **state) {
    (void)state;
    const uint64_t ids[2] = {115362727, 178151874};
    const float values[2] = {1.0F, 2.0F};
    pair p = {.params = params_of(EFFACE_METHOD_LLOYD, 1, 1)};
    p.params.bound = 4.0;
    const efface_rows rows = {.n_rows = 2, .values = values, .ids = ids};
    assert_int_equal(efface_data_create(1, &p.data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(p.data, &rows, NULL), EFFACE_OK);
    p.model = fit(p.data, &p.params);
    const double key = p.model->seeds[0].key;
    assert_true(p.model->seeds[0].id == ids[0]);
    assert_int_equal(forget_one(&p, ids[0]).reason, EFFACE_REASON_SEED);
    assert_true(p.model->seeds[0].id == ids[1] && p.model->seeds[0].key == key);
    assert_int_equal(learn_one(&p, ids[0], &values[0]).reason, EFFACE_REASON_SEED);
    assert_true(p.model->seeds[0].id == ids[0]);
    assert_int_not_equal(forget_one(&p, ids[1]).reason, EFFACE_REASON_SEED);
    assert_int_not_equal(learn_one(&p, ids[1], &values[1]).reason, EFFACE_REASON_SEED);
    assert_true(p.model->seeds[0].id == ids[0]);
    free_pair(&p);
}

/* What follows from all rows: the bound, the ranges, the automatic width and the sample's size. */
static void what_is_derived_moves(void **state) {
    (void)state;
    const float values[] = {1.0F, 2.0F, 3.0F, 100.0F};
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 1, 5);
    pair p = make_pair(&params, 4, 1, values);
    efface_report report = forget_one(&p, 3);
    assert_int_equal(report.reason, EFFACE_REASON_BOUND);
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_int_equal(learn_one(&p, 3, &values[3]).reason, EFFACE_REASON_BOUND);
    free_pair(&p);

    params.scale = EFFACE_SCALE_MINMAX;
    p = make_pair(&params, 4, 1, values);
    report = forget_one(&p, 0);
    assert_int_equal(report.reason, EFFACE_REASON_SCALE);
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_int_equal(learn_one(&p, 0, &values[0]).reason, EFFACE_REASON_SCALE);
    free_pair(&p);

    /* One cluster, one column: the width follows the power of ten that n^2 / 10 is above. */
    params = params_of(EFFACE_METHOD_QUANTIZED, 1, 5);
    params.bound = 128.0;
    p = make_pair(&params, 4, 1, values);
    const double width = efface_kmeans_get_info(p.model).epsilon;
    report = forget_one(&p, 1);
    assert_int_equal(report.reason, EFFACE_REASON_EPSILON);
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_true(efface_kmeans_get_info(p.model).epsilon == 2.0 * width);
    assert_int_equal(learn_one(&p, 1, &values[1]).reason, EFFACE_REASON_EPSILON);
    free_pair(&p);

    /* The smallest sample with a row for the one cluster: whoever is deepest in it decides. */
    params = params_of(EFFACE_METHOD_PYRAMID, 1, 6);
    params.bound = 128.0;
    params.rate = 1e-9;
    p = make_pair(&params, 4, 1, values);
    uint64_t deepest = 0;
    for (uint64_t id = 1; id < 4; id++)
        if (ef_member_exponent(params.seed, id) > ef_member_exponent(params.seed, deepest))
            deepest = id;
    for (uint64_t id = 0; id < 4; id++)
        assert_true(id == deepest ||
                    ef_member_exponent(params.seed, id) < ef_member_exponent(params.seed, deepest));
    report = forget_one(&p, deepest);
    assert_int_equal(report.reason, EFFACE_REASON_RATE);
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_int_equal(learn_one(&p, deepest, &values[deepest]).reason, EFFACE_REASON_RATE);
    free_pair(&p);
}

/* Where randomness is drawn again, whatever reaches a level starts over; the preview knows. */
static void fresh_draws_are_foreseen(void **state) {
    (void)state;
    const example *const e = &examples[3];
    efface_kmeans_params params = params_of_example(e);
    params.redraw = EFFACE_REDRAW_FRESH;
    pair p = make_pair(&params, e->n, 1, e->values);
    efface_report preview, report;
    const sight before = look(&p);
    assert_int_equal(
        efface_kmeans_preview(p.model, p.data, &e->id, 1, EFFACE_MISSING_FAIL, &preview, NULL),
        EFFACE_OK);
    check_same(&p, &before);
    assert_int_equal(
        efface_kmeans_forget(p.model, p.data, &e->id, 1, EFFACE_MISSING_FAIL, &report, NULL),
        EFFACE_OK);
    assert_int_equal(report.reason, EFFACE_REASON_CENTERS);
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_int_equal(preview.reason, report.reason);
    assert_int_equal(preview.action, report.action);
    assert_int_equal(preview.level, report.level);
    assert_true(preview.rows_visited >= params.iterations * (e->n - 1));
    free_pair(&p);
}

static void reasons_have_names(void **state) {
    (void)state;
    for (int a = EFFACE_REASON_NONE; a <= EFFACE_REASON_WIDTH; a++) {
        const char *const name = efface_reason_name((efface_reason)a);
        assert_true(strlen(name) > 5);
        assert_string_not_equal(name, efface_reason_name((efface_reason)99));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(name, efface_reason_name((efface_reason)b));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_has_an_example),
        cmocka_unit_test(equal_keys_go_to_the_smaller_id),
        cmocka_unit_test(what_is_derived_moves),
        cmocka_unit_test(fresh_draws_are_foreseen),
        cmocka_unit_test(reasons_have_names),
    };
    return cmocka_run_group_tests_name("reasons", tests, NULL, NULL);
}
