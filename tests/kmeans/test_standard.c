/*
 * The scale `standard` of k-means: what its units and centres are, what moves them, and what it
 * costs; that units of the rows make no difference; published models and bad bytes. That states are
 * those of the oracle, and of fresh fits, is for the tests of all families.
 */
#define MOST_ROWS 2200
#define MOST_COLUMNS 8
#include "model/change_scene.h"

#include "base/bytes/encode.h"
#include "base/memory/memory.h"
#include "model/report_scene.h"

#include <math.h>

static uint64_t random_state = 20191105;

static double uniform(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) * 0x1p-53;
}

static float normal(void) {
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += uniform();
    return (float)sum;
}

/* Columns whose means and deviations are far apart. */
static void fill_rows(float *values, size_t n, uint32_t d) {
    for (size_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < d; j++)
            values[i * d + j] = (normal() + (float)(i % 3) * 4.0f + 100.0f * (float)(j % 2)) *
                                ldexpf(1.0f, 5 * (int)j - 15);
}

static efface_kmeans_params params_of_standard(efface_method method, uint64_t seed) {
    efface_kmeans_params p = params_of(method, 3, seed);
    p.scale = EFFACE_SCALE_STANDARD;
    p.bound = 0.0;
    return p;
}

static pair make_standard(efface_method method, size_t n, uint32_t d, uint64_t seed) {
    static float values[MOST_ROWS * MOST_COLUMNS];
    const efface_kmeans_params p = params_of_standard(method, seed);
    fill_rows(values, n, d);
    return make_pair(&p, n, d, values);
}

/* Mean and deviation of a column, plainly. */
static void measure_column(const efface_data *data, uint32_t j, double *mean, double *deviation) {
    double sum = 0.0, squares = 0.0, weight = 0.0, row[MOST_COLUMNS];
    float values[MOST_COLUMNS];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < efface_data_n_rows(data); i++) {
            const double w = (double)efface_data_row(data, i).weight;
            efface_data_values(data, i, values);
            row[j] = (double)values[j];
            sum += pass == 0 ? w * row[j] : 0.0;
            weight += pass == 0 ? w : 0.0;
            squares += pass == 1 ? w * (row[j] - *mean) * (row[j] - *mean) : 0.0;
        }
        *mean = sum / weight;
    }
    *deviation = sqrt(squares / weight);
}

/* A unit is off by at most an eighth of an octave, a centre by two units; with the phases of many
 * columns and seeds, by all of it, to either side. */
static void units_are_near_deviations(void **state) {
    (void)state;
    double least = 1.0, most = 1.0, left = 0.0, right = 0.0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        pair p = make_standard(EFFACE_METHOD_LLOYD, 50, 7, seed);
        const ef_domain *const domain = &inside(p.model)->domain;
        for (uint32_t j = 0; j < 7; j++) {
            double mean, deviation;
            measure_column(p.data, j, &mean, &deviation);
            const double unit =
                ef_power_of_two(EF_GRID_BITS - domain->exponent) / (double)domain->step[j];
            const double ratio = unit / deviation, off = ((double)domain->low[j] - mean) / unit;
            assert_true(fabs(log2(ratio)) < 0.1251);
            assert_true(fabs(off) < 2.001);
            least = fmin(least, ratio);
            most = fmax(most, ratio);
            left = fmin(left, off);
            right = fmax(right, off);
        }
        assert_true(domain->exponent >= 0 && domain->exponent <= 4);
        free_pair(&p);
    }
    assert_true(least < 0.93 && most > 1.07 && left < -1.9 && right > 1.9);
}

/* Columns multiplied by powers of two: the same model but for the exponents of columns. */
static void units_of_rows_make_no_difference(void **state) {
    (void)state;
    static float values[300 * 6];
    const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                     EFFACE_METHOD_PYRAMID, EFFACE_METHOD_TREE};
    for (size_t m = 0; m < 4; m++) {
        const efface_kmeans_params params = params_of_standard(methods[m], 5);
        double loss[2];
        uint32_t labels[2][300];
        fill_rows(values, 300, 6);
        for (int other = 0; other < 2; other++) {
            for (size_t i = 0; other && i < 300 * 6; i++)
                values[i] = ldexpf(values[i], 11 * (int)(i % 6) - 23);
            pair p = make_pair(&params, 300, 6, values);
            assert_int_equal(efface_kmeans_labels(p.model, p.data, labels[other], NULL), EFFACE_OK);
            assert_int_equal(efface_kmeans_loss(p.model, p.data, &loss[other], NULL), EFFACE_OK);
            assert_true(loss[other] > 0.0);
            free_pair(&p);
        }
        assert_true(loss[0] == loss[1]);
        assert_memory_equal(labels[0], labels[1], sizeof labels[0]);
    }
}

/* Most requests move nothing; those that do say so, and all are fresh fits (check_law). */
static void few_requests_move_a_unit(void **state) {
    (void)state;
    pair p = make_standard(EFFACE_METHOD_QUANTIZED, 2000, 5, 9);
    int n_units = 0, n_free = 0;
    for (uint64_t id = 0; id < 400; id++) {
        const efface_report report = forget_one(&p, id * 5);
        n_units += is_because(&report, EF_REASON_SPREAD);
        n_free += report.action == EFFACE_ACTION_ADJUSTED;
        if (is_because(&report, EF_REASON_SPREAD)) {
            assert_int_equal(report.action, EFFACE_ACTION_REFITTED);
            assert_string_equal(report.reason, "the unit of a column changed");
        }
    }
    /* 3 d / n a request, or 3 of them, where a row moves the deviation of a normal column. */
    if (n_units < 1 || n_units > 12)
        fail_msg("%d of 400 requests moved a unit", n_units);
    assert_true(n_free > 200);
    free_pair(&p);
}

/* A row far out needs a coarser grid, or other exponents; when it leaves, all is as before. */
static void far_rows_come_and_leave(void **state) {
    (void)state;
    pair p = make_standard(EFFACE_METHOD_LLOYD, 500, 3, 2);
    unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
    float far[3];
    assert_int_equal(efface_model_digest(p.model, before, NULL), EFFACE_OK);
    efface_data_values(p.data, 0, far);
    const int exponent = inside(p.model)->domain.exponent;
    far[1] += 3.0f * fabsf(far[1]);
    efface_report report = learn_one(&p, 9000, far);
    assert_true(inside(p.model)->domain.exponent > exponent);
    assert_true(is_because(&report, EF_REASON_SCALE) || is_because(&report, EF_REASON_BOUND));
    report = forget_one(&p, 9000);
    assert_true(is_because(&report, EF_REASON_SCALE) || is_because(&report, EF_REASON_BOUND));
    far[0] = 0x1p126f; /* nothing is beyond the grid */
    far[1] = -0x1p126f;
    far[2] = 0x1p-126f;
    (void)learn_one(&p, 9001, far);
    assert_true(inside(p.model)->domain.exponent > 3);
    (void)forget_one(&p, 9001);
    assert_int_equal(efface_model_digest(p.model, after, NULL), EFFACE_OK);
    assert_memory_equal(before, after, sizeof before);
    free_pair(&p);
}

/* Columns without a spread are at one place; a value that differs makes them columns. */
static void constant_columns_have_no_steps(void **state) {
    (void)state;
    static float values[60 * 3];
    for (size_t i = 0; i < 60; i++) {
        values[3 * i] = normal();
        values[3 * i + 1] = 41.5f;
        values[3 * i + 2] = i % 2 == 0 ? 0.0f : 0x1p-110f; /* less than the least unit */
    }
    const efface_kmeans_params params = params_of_standard(EFFACE_METHOD_LLOYD, 1);
    pair p = make_pair(&params, 60, 3, values);
    const ef_domain *const domain = &inside(p.model)->domain;
    double centroid[3];
    assert_true(domain->step[0] > 0.0f);
    assert_true(domain->step[1] == 0.0f && domain->low[1] == 41.5f);
    assert_true(domain->step[2] == 0.0f);
    assert_int_equal(efface_kmeans_centroid(p.model, 0, centroid, NULL), EFFACE_OK);
    assert_true(centroid[1] == 41.5);
    const float other[3] = {0.0f, 42.0f, 0.0f};
    (void)learn_one(&p, 77, other);
    assert_true(inside(p.model)->domain.step[1] > 0.0f);
    (void)forget_one(&p, 77);
    assert_true(inside(p.model)->domain.step[1] == 0.0f);
    free_pair(&p);
}

/* ---------------------------------------------------------------- bytes */

/* A published model answers as the model does, inside the grid and outside, and has no sums. */
static void published_models_have_units_alone(void **state) {
    (void)state;
    pair p = make_standard(EFFACE_METHOD_PYRAMID, 400, 4, 3);
    ef_writer w = {0};
    efface_predictor *published = NULL;
    float rows[200 * 4];
    efface_number ours[200], theirs[200];
    ef_predictor_write(&w, p.model, p.data, NULL);
    assert_false(w.failed);
    assert_int_equal(efface_predictor_decode(w.bytes, w.n_bytes, &published, NULL), EFFACE_OK);
    fill_rows(rows, 200, 4);
    for (size_t i = 0; i < 40; i++)
        rows[i * 4 + i % 4] *= i < 20 ? 1e6f : 1e-6f;
    rows[0] = 0x1p126f;
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(p.model), 200, rows, 0, ours, NULL),
        EFFACE_OK);
    assert_int_equal(efface_predictor_predict(published, 200, rows, 0, theirs, NULL), EFFACE_OK);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(ours[i].whole, theirs[i].whole);
    /* No sum of squares is in the file. */
    const ef_spreads *const spreads = inside(p.model)->domain.spreads;
    for (uint32_t j = 0; j < 4; j++) {
        unsigned char wide[16];
        memcpy(wide, &spreads->moments.products[j], sizeof wide);
        for (size_t at = 0; at + 8 <= w.n_bytes; at++)
            assert_true(memcmp(w.bytes + at, wide, 8) != 0);
    }
    efface_predictor_free(published);
    ef_free(w.bytes);
    free_pair(&p);
}

/* Every sum and exponent of a state is checked: bytes in which one differs are refused, or differ
 * from the rows. */
static void damaged_sums_are_found(void **state) {
    (void)state;
    pair p = make_standard(EFFACE_METHOD_LLOYD, 60, 2, 4);
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    assert_int_equal(efface_model_encode(p.model, &bytes, &n_bytes, NULL), EFFACE_OK);
    efface_kmeans_params params = params_of_standard(EFFACE_METHOD_LLOYD, 4);
    const size_t first = 92; /* docs/definition/format.md: what stands before the columns */
    for (size_t at = first; at < first + 2 * 28; at++) {
        efface_model *model = NULL;
        bytes[at] ^= 1;
        const efface_status status =
            efface_model_decode(bytes, n_bytes, &params.common, p.data, &model, NULL);
        if (status != EFFACE_E_FORMAT)
            fail_msg("byte %zu: status %d", at, (int)status);
        assert_null(model);
        bytes[at] ^= 1;
    }
    efface_model *model = NULL;
    assert_int_equal(efface_model_decode(bytes, n_bytes, &params.common, p.data, &model, NULL),
                     EFFACE_OK);
    efface_model_free(model);
    efface_bytes_free(bytes);
    free_pair(&p);
}

/* ---------------------------------------------------------------- arguments */

static void bounds_of_columns_are_for_minmax(void **state) {
    (void)state;
    const float low[2] = {0.0f, 0.0f}, high[2] = {1.0f, 1.0f},
                values[4] = {0.5f, 0.25f, 1.0f, 0.0f};
    const efface_rows rows = {.n_rows = 2, .values = values};
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    efface_kmeans_params params = params_of_standard(EFFACE_METHOD_LLOYD, 1);
    params.column_min = low;
    params.column_max = high;
    assert_int_equal(efface_kmeans_fit(data, &params, &model, &error), EFFACE_E_ARGUMENT);
    assert_non_null(strstr(error.message, "for the scale minmax"));
    params.column_min = params.column_max = NULL;
    params.scale = (efface_scale)3;
    assert_int_equal(efface_kmeans_fit(data, &params, &model, &error), EFFACE_E_ARGUMENT);
    assert_null(model);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_near_deviations),
        cmocka_unit_test(units_of_rows_make_no_difference),
        cmocka_unit_test(few_requests_move_a_unit),
        cmocka_unit_test(far_rows_come_and_leave),
        cmocka_unit_test(constant_columns_have_no_steps),
        cmocka_unit_test(published_models_have_units_alone),
        cmocka_unit_test(damaged_sums_are_found),
        cmocka_unit_test(bounds_of_columns_are_for_minmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
