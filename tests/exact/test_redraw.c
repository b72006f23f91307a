/*
 * The paper's own way, fresh randomness on a retrain, is biased; ours, the same randomness, is not.
 *
 * One cluster, one column, one iteration: the next centroid is the lattice point of the mean, with
 * one of `EPS` equally likely phases. Rows 0, 3, 3; the row 0 is forgotten, so that the mean goes
 * from 2 to 3. What the phases give is enumerated here, and what many seeds give is counted.
 * docs/why/shortcuts.md works the same example out by hand. Seeds that make row 0 the seed are left out
 * (then everything is drawn again, and rightly), so the distance is 3/16; it is 1/8 with them. What is
 * looked at is the centroid of the last level, before the stopping rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/kmeans/kmeans.h"
#include "model/report_scene.h"

#define EPS 4
#define SEEDS 40000
#define CELLS 16 /* centroids -4 to 11 */

static const float values[3] = {0.0F, 3.0F, 3.0F};

/* theta + eps round((mean - theta) / eps), halves away from zero, for the whole number `mean`. */
static int lattice_point(int mean, int theta) {
    const double x = (double)(mean - theta) / EPS;
    const int cell = x >= 0 ? (int)(x + 0.5) : -(int)(-x + 0.5);
    return theta + EPS * cell;
}

/* The probabilities of each centroid after forgetting, times EPS * EPS: for a fresh fit, and for
 * one that is kept while the lattice point stays and is drawn anew otherwise. */
static void enumerate(unsigned fit[CELLS], unsigned fresh[CELLS]) {
    for (int theta = 0; theta < EPS; theta++) {
        const int before = lattice_point(2, theta), after = lattice_point(3, theta);
        fit[after + 4] += EPS;
        if (before == after)
            fresh[after + 4] += EPS;
        else
            for (int other = 0; other < EPS; other++)
                fresh[lattice_point(3, other) + 4]++;
    }
}

/* The centroid of level 1 after row 0 was forgotten; false if row 0 was the seed. */
static bool forget_row_0(uint64_t seed, efface_redraw redraw, int *centroid) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = EFFACE_METHOD_QUANTIZED;
    params.n_clusters = 1;
    params.iterations = 1;
    params.common.seed = seed;
    params.bound = EF_GRID_MAX; /* values are grid points */
    params.epsilon = (double)EPS / EF_GRID_MAX;
    params.quantized.gamma = 0.0;
    params.redraw = redraw;
    params.common.n_threads = 1;
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &(efface_rows){.n_rows = 3, .values = values}, NULL),
                     EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(data, &params, &model, NULL), EFFACE_OK);
    const uint64_t id = 0;
    const bool counts = inside(model)->seeds[0].id != id;
    efface_difference difference;
    assert_int_equal(
        efface_model_forget(model, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    assert_int_equal(efface_model_verify(model, data, &difference, NULL), EFFACE_OK);
    assert_true(difference.identical); /* fresh: to the current draw */
    *centroid = inside(model)->levels[inside(model)->n_levels - 1].centers[0];
    efface_model_free(model);
    efface_data_free(data);
    return counts;
}

/* Counts centroids over many seeds and returns chi-square against weights out of EPS * EPS. */
static double chi_square(efface_redraw redraw, const unsigned expected[CELLS]) {
    unsigned long seen[CELLS] = {0}, total = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int centroid;
        if (!forget_row_0(seed, redraw, &centroid))
            continue;
        assert_in_range(centroid + 4, 0, CELLS - 1);
        seen[centroid + 4]++;
        total++;
    }
    double sum = 0.0;
    for (int c = 0; c < CELLS; c++) {
        const double mean = (double)total * expected[c] / (EPS * EPS);
        if (expected[c] == 0)
            assert_int_equal(seen[c], 0);
        else
            sum += ((double)seen[c] - mean) * ((double)seen[c] - mean) / mean;
    }
    return sum;
}

/* With 3 degrees of freedom chi-square exceeds 30.7 with probability 1e-6. */
#define CRITICAL 30.7

static void same_randomness_is_exact_and_fresh_is_not(void **state) {
    (void)state;
    unsigned fit[CELLS] = {0}, fresh[CELLS] = {0};
    enumerate(fit, fresh);
    unsigned distance = 0;
    for (int c = 0; c < CELLS; c++)
        distance += fit[c] > fresh[c] ? fit[c] - fresh[c] : 0;
    assert_int_equal(distance, 3); /* of 16: p (1 - p) with p = 1 / 4 */
    assert_true(chi_square(EFFACE_REDRAW_SAME, fit) < CRITICAL);
    assert_true(chi_square(EFFACE_REDRAW_FRESH, fresh) < CRITICAL);
    assert_true(chi_square(EFFACE_REDRAW_FRESH, fit) > 10 * CRITICAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_randomness_is_exact_and_fresh_is_not),
    };
    return cmocka_run_group_tests_name("redraw", tests, NULL, NULL);
}
