/*
 * Why a model had to change: a small example for each reason that a report gives, with what the
 * change took, and what the preview says of it.
 */
/* What is automatic about the sample takes rows. */
#define MOST_ROWS 1024
#define MOST_COLUMNS 1
#include "model/change_scene.h"
#include "model/report_scene.h"

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

/* Short for EF_REASON_..., EFFACE_ACTION_... and EFFACE_METHOD_... */
enum { NONE, CENTERS, GAMMA, EMPTY, STOP, SEED };
enum { CLUSTERS = EF_REASON_CLUSTERS, RATE = EF_REASON_RATE, SAMPLE = EF_REASON_SAMPLE };
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
    {NONE, UNTOUCHED, 0, PYRAMID, 1, 0, 0, 5, 1, 4, {1, 1, 2, 0}, true, 1, 0, 0},
    {NONE, UNTOUCHED, 0, PYRAMID, 1, 0, 0, 6, 3, 4, {1, 0, 1, 1}, true, 1, 0, 0},
    /* The jury takes another start, which the lattice takes to the same place. */
    {NONE, UNTOUCHED, 0, PYRAMID, 2, 5, 0, 6, 3, 6, {3, 0, 6, 5, 9, 11}, true, 4, 0, 1},
    {CENTERS, REPAIRED, 1, PYRAMID, 1, 0, 0, 2, 1, 4, {6, 5, 4, 0}, true, 2, 1, 0},
    {EMPTY, REPAIRED, 0, PYRAMID, 2, 0, 0, 15, 4, 5, {3, 4, 3, 2, 2}, true, 3, 0, 0},
    {EMPTY, REPAIRED, 1, PYRAMID, 2, 6, 0, 17, 1, 5, {9, 9, 10, 11, 9}, true, 4, 1, 1},
    {STOP, UNTOUCHED, 0, PYRAMID, 1, 0, 0, 2, 2, 4, {0, 0, 1, 1}, false, 1, 0, 0},
    /* A row of the sample: the start ends elsewhere; at the same centers, and nothing else is to be
     * done; at the same centers, but those of level 1 then differ. */
    {SAMPLE, REPAIRED, 0, PYRAMID, 1, 0, 0, 2, 1, 4, {3, 1, 1, 1}, true, 1, 0, 0},
    {SAMPLE, REPAIRED, 0, PYRAMID, 1, 0, 0, 6, 2, 4, {0, 1, 0, 2}, true, 1, 0, 0},
    {SAMPLE, REPAIRED, 0, PYRAMID, 1, 0, 0, 7, 0, 4, {2, 1, 2, 1}, true, 1, 1, 0},
    /* A row of the jury alone: another start is the best. */
    {SAMPLE, REPAIRED, 0, PYRAMID, 2, 0, 0, 1, 1, 5, {7, 13, 11, 12, 1}, true, 3, 0, 2},
    /* A seed of the pilot. */
    {SEED, REFITTED, 0, PYRAMID, 1, 0, 0, 1, 0, 3, {1, 2, 0}, true, 1, 0, 0},
    /* A logarithm moves: of the weight around a seed, of the spread. Then none does, but the shift:
     * the sample would be too small; it is to be smaller. */
    {RATE, REFITTED, 0, PYRAMID, 1, 0, 0, 1, 1, 3, {0, 0, 0}, true, 2, 0, 0},
    {RATE, REFITTED, 0, PYRAMID, 1, 0, 0, 3, 0, 4, {3, 1, 2, 2}, true, 1, 0, 0},
    {RATE, REFITTED, 0, PYRAMID, 1, 0, 0, 2, 0, 4, {3, 0, 3, 4}, true, 1, 0, 0},
    {RATE, REFITTED, 0, PYRAMID, 1, 0, 0, 1, 0, 4, {2, 2, 0, 2}, true, 0, 0, 0},
    {CLUSTERS, REFITTED, 0, PYRAMID, 3, 0, 0, 0, 2, 3, {1, 1, 1}, true, 1, 0, 0},
};

static efface_kmeans_params params_of_example(const example *e) {
    efface_kmeans_params params = params_of((efface_method)e->method, e->n_clusters, e->seed);
    params.bound = 0x1p23;
    params.epsilon = e->width * 0x1p-23;
    params.quantized.gamma = e->gamma;
    params.pyramid.rate = ldexp(1.0, -e->halvings);
    params.pyramid.passes = 1 + e->passes;
    params.pyramid.starts = 1 + e->starts;
    return params;
}

static void each_reason_has_an_example(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *const e = &examples[i];
        const efface_kmeans_params params = params_of_example(e);
        pair p = make_pair(&params, e->n, 1, e->values);
        const bool sampled =
            e->method == PYRAMID && efface_kmeans_in_sample(p.model, p.data, e->id);
        const efface_report gone = forget_one(&p, e->id);
        if (!is_because(&gone, (ef_reason)e->reason) || (int)gone.action != e->action ||
            level_of(&gone) != e->level)
            fail_msg("example %zu: %s, action %d, %s", i, gone.reason, (int)gone.action,
                     gone.where);
        const uint64_t n_levels = gone.rows_visited / (e->n - 1);
        assert_int_equal(gone.rows_forgotten, 1);
        assert_int_equal(gone.rows_learned, 0);
        assert_int_equal(gone.rows_missing, 0);
        const bool refitted = e->method == PYRAMID && e->action == REFITTED;
        if (sampled || refitted) { /* the starts, the jury and the pilot look at rows too */
            assert_true(gone.rows_visited >= e->n - 1);
        } else {
            assert_true((n_levels == 0) == (e->action == UNTOUCHED));
            assert_int_equal(gone.rows_visited, n_levels * (e->n - 1));
        }
        const efface_report back = learn_one(&p, e->id, &e->values[e->id]);
        if (e->back && !is_because(&back, (ef_reason)e->reason))
            fail_msg("example %zu: the way back has reason %s", i, back.reason);
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
    const double key = inside(p.model)->seeds[0].key;
    assert_true(inside(p.model)->seeds[0].id == ids[0]);
    assert_string_equal(forget_one(&p, ids[0]).reason, past_of(EF_REASON_SEED));
    assert_true(inside(p.model)->seeds[0].id == ids[1] && inside(p.model)->seeds[0].key == key);
    assert_string_equal(learn_one(&p, ids[0], &values[0]).reason, past_of(EF_REASON_SEED));
    assert_true(inside(p.model)->seeds[0].id == ids[0]);
    assert_string_not_equal(forget_one(&p, ids[1]).reason, past_of(EF_REASON_SEED));
    assert_string_not_equal(learn_one(&p, ids[1], &values[1]).reason, past_of(EF_REASON_SEED));
    assert_true(inside(p.model)->seeds[0].id == ids[0]);
    free_pair(&p);
}

/* What follows from all rows: the bound, the ranges, the automatic width and the sample's size. */
static void what_is_derived_moves(void **state) {
    (void)state;
    const float values[] = {1.0F, 2.0F, 3.0F, 100.0F};
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 1, 5);
    pair p = make_pair(&params, 4, 1, values);
    efface_report report = forget_one(&p, 3);
    assert_string_equal(report.reason, past_of(EF_REASON_BOUND));
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_string_equal(learn_one(&p, 3, &values[3]).reason, past_of(EF_REASON_BOUND));
    free_pair(&p);

    params.scale = EFFACE_SCALE_MINMAX;
    p = make_pair(&params, 4, 1, values);
    report = forget_one(&p, 0);
    assert_string_equal(report.reason, past_of(EF_REASON_SCALE));
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_string_equal(learn_one(&p, 0, &values[0]).reason, past_of(EF_REASON_SCALE));
    free_pair(&p);

    /* One cluster, one column: the width follows the power of ten that n^2 / 10 is above. */
    params = params_of(EFFACE_METHOD_QUANTIZED, 1, 5);
    params.bound = 128.0;
    p = make_pair(&params, 4, 1, values);
    const double width = efface_kmeans_get_info(p.model).epsilon;
    report = forget_one(&p, 1);
    assert_string_equal(report.reason, past_of(EF_REASON_EPSILON));
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_true(efface_kmeans_get_info(p.model).epsilon == 2.0 * width);
    assert_string_equal(learn_one(&p, 1, &values[1]).reason, past_of(EF_REASON_EPSILON));
    free_pair(&p);

    /* From 1,024 rows a cluster on, a sample pays. */
    float many[MOST_ROWS];
    for (size_t i = 0; i < MOST_ROWS; i++)
        many[i] = (float)(i * i % 101);
    params = params_of(EFFACE_METHOD_PYRAMID, 1, 6);
    params.bound = 128.0;
    p = make_pair(&params, MOST_ROWS, 1, many);
    assert_int_equal(efface_kmeans_get_info(p.model).actual, EFFACE_METHOD_PYRAMID);
    report = forget_one(&p, 700);
    assert_string_equal(report.reason, past_of(EF_REASON_RATE));
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_int_equal(efface_kmeans_get_info(p.model).actual, EFFACE_METHOD_LLOYD);
    report = learn_one(&p, 700, &many[700]);
    assert_string_equal(report.reason, past_of(EF_REASON_RATE));
    assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
    assert_int_equal(efface_kmeans_get_info(p.model).actual, EFFACE_METHOD_PYRAMID);
    free_pair(&p);
}

static void reasons_have_names(void **state) {
    (void)state;
    for (int a = EF_REASON_NONE; a <= EF_REASON_WIDTH; a++) {
        const char *const name = ef_reason_name((ef_reason)a);
        assert_true(strlen(name) > 5);
        assert_string_not_equal(ef_reason_told(name, false), name);
        assert_non_null(strstr(ef_reason_told(name, true), "will "));
        assert_null(strstr(ef_reason_told(name, false), "will "));
        assert_string_not_equal(name, ef_reason_name((ef_reason)99));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(name, ef_reason_name((ef_reason)b));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_has_an_example),
        cmocka_unit_test(equal_keys_go_to_the_smaller_id),
        cmocka_unit_test(what_is_derived_moves),
        cmocka_unit_test(reasons_have_names),
    };
    return cmocka_run_group_tests_name("reasons", tests, NULL, NULL);
}
