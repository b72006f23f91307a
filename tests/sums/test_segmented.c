/* Segmented regression: what it predicts, its tables, its parameters, and what it refuses. That it
 * forgets exactly is shown by the tests of the law. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "efface/efface.h"
#include "law/draws.h"

#include <math.h>
#include <string.h>

#define N_ROWS 240
#define N_COLUMNS 4 /* two features at 0 and 2, targets at 1 and 3 */
#define N_GROUPS 3

static efface_error error;

#define REQUIRE_OK(call)                                                                           \
    do {                                                                                           \
        if ((call) != EFFACE_OK)                                                                   \
            fail_msg("%s", error.message);                                                         \
    } while (0)

static const uint32_t targets[] = {3, 1};

/* What the targets of a group are made of: intercept and slopes. */
static double slope_of(unsigned group, unsigned target, unsigned term) {
    return (double)(1 + group * 2 + target) * (term == 0 ? 8.0 : term == 1 ? -0.5 : 0.25);
}

/* Groups far apart, each with targets that are linear in the features. All values are multiples of
 * 2^-6 below 2^9, which every grid holds as they are. */
static void make_row(size_t i, float *row) {
    const unsigned group = (unsigned)(i % N_GROUPS);
    const double x = 40.0 * group + (double)below(128) / 16.0;
    const double z = (group == 1 ? 60.0 : 0.0) + (double)below(128) / 16.0;
    row[0] = (float)x;
    row[2] = (float)z;
    for (unsigned t = 0; t < 2; t++)
        row[targets[t]] =
            (float)(slope_of(group, t, 0) + slope_of(group, t, 1) * x + slope_of(group, t, 2) * z);
}

static efface_data *make_rows(size_t n) {
    efface_data *data = NULL;
    float *const values = make(n * N_COLUMNS, sizeof *values);
    rng_state = 5;
    for (size_t i = 0; i < n; i++)
        make_row(i, values + i * N_COLUMNS);
    const efface_rows rows = {.n_rows = n, .values = values};
    REQUIRE_OK(efface_data_create(N_COLUMNS, &data, &error));
    REQUIRE_OK(efface_data_add(data, &rows, &error));
    free(values);
    return data;
}

static efface_segmented_params make_params(void) {
    efface_segmented_params params;
    efface_segmented_params_init(&params);
    params.common.seed = 3;
    params.common.n_threads = 1;
    params.kmeans.n_clusters = N_GROUPS;
    params.targets = targets;
    params.n_targets = 2;
    return params;
}

static efface_model *fit(const efface_data *data, const efface_segmented_params *params) {
    efface_model *model = NULL;
    REQUIRE_OK(efface_segmented_fit(data, params, &model, &error));
    return model;
}

static void read_table(const efface_model *model, const char *name, uint64_t row, double *values) {
    REQUIRE_OK(efface_predictor_read_table(efface_model_predictor(model), name, row, NULL, values,
                                           &error));
}

/* The group whose features are where a segment's centroid is. */
static unsigned group_of(const efface_model *model, uint64_t segment) {
    double centroid[2];
    read_table(model, "centroids", segment, centroid);
    return (unsigned)(centroid[0] / 40.0);
}

/* ---------------------------------------------------------------- what it is */

static void each_segment_has_its_regression(void **state) {
    (void)state;
    static const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                            EFFACE_METHOD_PYRAMID, EFFACE_METHOD_TREE};
    efface_data *const data = make_rows(N_ROWS);
    for (unsigned m = 0; m < 4; m++) {
        efface_segmented_params params = make_params();
        params.kmeans.method = methods[m];
        efface_model *const model = fit(data, &params);
        unsigned seen = 0;
        for (uint64_t s = 0; s < N_GROUPS; s++) {
            const unsigned group = group_of(model, s);
            double size[2];
            seen |= 1u << group;
            read_table(model, "segments", s, size);
            assert_int_equal((int)size[0], N_ROWS / N_GROUPS);
            assert_int_equal((int)size[1], N_ROWS / N_GROUPS);
            for (unsigned t = 0; t < 2; t++) {
                double row[3];
                read_table(model, "coefficients", 2 * s + t, row);
                for (unsigned j = 0; j < 3; j++)
                    assert_true(fabs(row[j] - slope_of(group, t, j)) < 1e-8);
            }
        }
        assert_int_equal(seen, (1 << N_GROUPS) - 1);
        efface_model_free(model);
    }
    efface_data_free(data);
}

static void it_predicts_targets_from_features(void **state) {
    (void)state;
    efface_data *const data = make_rows(N_ROWS);
    const efface_segmented_params params = make_params();
    efface_model *const model = fit(data, &params);
    const efface_model_info info = efface_model_get_info(model);
    assert_int_equal(info.family, EFFACE_FAMILY_SEGMENTED);
    assert_int_equal(info.predicts, EFFACE_PREDICTS_VALUES);
    assert_int_equal(info.n_numbers, 2);
    for (uint32_t j = 0; j < N_COLUMNS; j++)
        assert_int_equal(efface_predictor_is_input(efface_model_predictor(model), j), j % 2 == 0);
    assert_int_equal(efface_predictor_value_column(efface_model_predictor(model), 0), 3);
    assert_int_equal(efface_predictor_value_column(efface_model_predictor(model), 1), 1);
    assert_int_equal(efface_predictor_value_column(efface_model_predictor(model), 2),
                     EFFACE_NO_COLUMN);
    for (size_t i = 0; i < N_ROWS; i += 7) {
        float row[N_COLUMNS];
        efface_number numbers[2];
        efface_data_values(data, i, row);
        const float known[2] = {row[3], row[1]};
        row[1] = NAN; /* what stands there does not matter */
        row[3] = INFINITY;
        REQUIRE_OK(
            efface_predictor_predict(efface_model_predictor(model), 1, row, 0, numbers, &error));
        assert_true(fabs(numbers[0].real - (double)known[0]) < 1e-7);
        assert_true(fabs(numbers[1].real - (double)known[1]) < 1e-7);
        row[0] = NAN;
        assert_int_equal(
            efface_predictor_predict(efface_model_predictor(model), 1, row, 0, numbers, &error),
            EFFACE_E_LIMIT);
    }
    efface_model_free(model);
    efface_data_free(data);
}

/* In the units of the caller: y + y0 = b' + w (x + x0). */
static void tables_take_offsets(void **state) {
    (void)state;
    static const double offsets[N_COLUMNS] = {1000.0, -30.0, 5.0, 7.0};
    efface_data *const data = make_rows(N_ROWS);
    const efface_segmented_params params = make_params();
    efface_model *const model = fit(data, &params);
    for (uint64_t r = 0; r < 2 * N_GROUPS; r++) {
        double plain[3], moved[3];
        read_table(model, "coefficients", r, plain);
        REQUIRE_OK(efface_predictor_read_table(efface_model_predictor(model), "coefficients", r,
                                               offsets, moved, &error));
        assert_true(plain[1] == moved[1] && plain[2] == moved[2]);
        const double expected =
            plain[0] + offsets[targets[r % 2]] - plain[1] * 1000.0 - plain[2] * 5.0;
        assert_true(fabs(moved[0] - expected) < 1e-9);
    }
    double plain[2], moved[2];
    read_table(model, "centroids", 1, plain);
    REQUIRE_OK(efface_predictor_read_table(efface_model_predictor(model), "centroids", 1, offsets,
                                           moved, &error));
    assert_true(moved[0] == plain[0] + 1000.0 && moved[1] == plain[1] + 5.0);
    efface_table table;
    REQUIRE_OK(
        efface_predictor_find_table(efface_model_predictor(model), "coefficients", &table, &error));
    assert_int_equal(table.n_columns, 3);
    assert_int_equal(table.n_named, 1);
    assert_string_equal(table.names[0], "intercept");
    assert_int_equal(table.columns[0], 0);
    assert_int_equal(table.columns[1], 2);
    efface_model_free(model);
    efface_data_free(data);
}

/* Other values of targets change regressions and nothing else. */
static void targets_play_no_part_in_clustering(void **state) {
    (void)state;
    efface_data *const data = make_rows(N_ROWS), *const other = make_rows(N_ROWS);
    for (size_t i = 0; i < N_ROWS; i++) {
        float row[N_COLUMNS];
        const uint64_t id = i;
        efface_data_values(other, i, row);
        row[1] = i == 0 ? 1e30f : (float)(i * i);
        row[3] = -1e-30f;
        const efface_rows rows = {.n_rows = 1, .values = row, .ids = &id};
        REQUIRE_OK(efface_data_replace(other, &rows, &error));
    }
    for (int scale = 0; scale < 3; scale++) {
        efface_segmented_params params = make_params();
        params.kmeans.scale = (efface_scale)scale;
        params.kmeans.n_clusters = 7;
        efface_model *const a = fit(data, &params), *const b = fit(other, &params);
        for (uint64_t s = 0; s < 7; s++) {
            double x[2], y[2];
            read_table(a, "centroids", s, x);
            read_table(b, "centroids", s, y);
            assert_memory_equal(x, y, sizeof x);
            read_table(a, "segments", s, x);
            read_table(b, "segments", s, y);
            assert_memory_equal(x, y, sizeof x);
        }
        efface_model_free(a);
        efface_model_free(b);
    }
    efface_data_free(data);
    efface_data_free(other);
}

/* Rows at one place: all are in the first segment, and the others have none. */
static void a_segment_without_rows_predicts_the_mean(void **state) {
    (void)state;
    static const float values[] = {5.0f, 1.0f, 5.0f, 2.0f, 5.0f, 6.0f};
    static const uint32_t second = 1;
    efface_data *data = NULL;
    const efface_rows rows = {.n_rows = 3, .values = values};
    REQUIRE_OK(efface_data_create(2, &data, &error));
    REQUIRE_OK(efface_data_add(data, &rows, &error));
    for (int intercept = 0; intercept < 2; intercept++) {
        efface_segmented_params params = make_params();
        params.targets = &second;
        params.n_targets = 1;
        params.linear.intercept = intercept;
        params.kmeans.method = EFFACE_METHOD_LLOYD;
        efface_model *const model = fit(data, &params);
        for (uint64_t s = 0; s < 3; s++) {
            double size[2], row[2];
            read_table(model, "segments", s, size);
            read_table(model, "coefficients", s, row);
            assert_true(size[0] == (s == 0 ? 3.0 : 0.0));
            assert_true(row[0] == (intercept ? 3.0 : 0.0));
            assert_true(fabs(row[1] - (intercept || s != 0 ? 0.0 : 0.6)) < 1e-12);
        }
        efface_model_free(model);
    }
    efface_data_free(data);
}

/* ---------------------------------------------------------------- changes */

static void compare_with_fit(const efface_model *model, const efface_data *data) {
    efface_difference difference;
    REQUIRE_OK(efface_model_verify(model, data, &difference, &error));
    if (!difference.identical)
        fail_msg("%s, %s", difference.what, difference.where);
}

/* A model that was decoded has no labels of rows at first, and finds those that move all the same.
 */
static void a_decoded_model_moves_rows(void **state) {
    (void)state;
    efface_data *const data = make_rows(N_ROWS);
    efface_segmented_params params = make_params();
    params.kmeans.method = EFFACE_METHOD_LLOYD;
    params.kmeans.n_clusters = 9; /* within the groups */
    unsigned n_moved = 0;
    efface_model *model = fit(data, &params);
    for (uint64_t id = 0; id < 40; id++) {
        const efface_request request = {.ids = &id, .n_ids = 1};
        efface_report report;
        if (id % 4 == 0) {
            unsigned char *bytes = NULL;
            size_t n_bytes = 0;
            REQUIRE_OK(efface_model_encode(model, &bytes, &n_bytes, &error));
            efface_model_free(model);
            REQUIRE_OK(efface_model_decode(bytes, n_bytes, &params.common, data, &model, &error));
            efface_bytes_free(bytes);
        }
        REQUIRE_OK(efface_model_forget(model, data, &request, &report, &error));
        n_moved += report.action == EFFACE_ACTION_REPAIRED;
        compare_with_fit(model, data);
    }
    assert_true(n_moved > 10);
    efface_model_free(model);
    efface_data_free(data);
}

static void everything_can_be_forgotten_and_learned(void **state) {
    (void)state;
    efface_data *const data = make_rows(12);
    const efface_segmented_params params = make_params();
    efface_model *const model = fit(data, &params);
    efface_table table;
    efface_number numbers[2];
    for (uint64_t id = 0; id < 12; id++) {
        const efface_request request = {.ids = &id, .n_ids = 1};
        REQUIRE_OK(efface_model_forget(model, data, &request, NULL, &error));
        compare_with_fit(model, data);
    }
    assert_int_equal(efface_model_get_info(model).n_numbers, 0);
    REQUIRE_OK(
        efface_predictor_find_table(efface_model_predictor(model), "coefficients", &table, &error));
    assert_int_equal(table.n_rows, 0);
    float row[N_COLUMNS] = {0.0f};
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, row, 0, numbers, &error),
        EFFACE_E_ARGUMENT);
    make_row(1, row);
    const efface_rows rows = {.n_rows = 1, .values = row};
    REQUIRE_OK(efface_model_learn(model, data, &rows, NULL, &error));
    compare_with_fit(model, data);
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(model), 1, row, 0, numbers, &error));
    assert_true(numbers[0].real == (double)row[3] && numbers[1].real == (double)row[1]);
    efface_model_free(model);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- parameters */

static void refuse(const efface_data *data, const efface_segmented_params *params,
                   const char *says) {
    efface_model *model = NULL;
    assert_int_equal(efface_segmented_fit(data, params, &model, &error), EFFACE_E_ARGUMENT);
    assert_null(model);
    if (strstr(error.message, says) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, says);
}

static void wrong_parameters_are_refused(void **state) {
    (void)state;
    static const uint32_t beyond[] = {4}, twice[] = {1, 1}, all[] = {0, 1, 2, 3};
    efface_data *const data = make_rows(12);
    efface_segmented_params p = make_params();
    p.n_targets = 0;
    refuse(data, &p, "needs a target");
    p = make_params();
    p.targets = beyond;
    p.n_targets = 1;
    refuse(data, &p, "the rows have 4 columns");
    p.targets = twice;
    p.n_targets = 2;
    refuse(data, &p, "named twice");
    p.targets = all;
    p.n_targets = 4;
    refuse(data, &p, "no feature is left");
    p = make_params();
    p.kmeans.n_clusters = 0;
    refuse(data, &p, "the number of clusters");
    p = make_params();
    p.weight_unit = 0;
    refuse(data, &p, "unit of weights");
    p = make_params();
    p.linear.alpha = -1.0;
    refuse(data, &p, "alpha");
    p = make_params();
    p.bound = (double)NAN;
    refuse(data, &p, "bound");
    efface_kmeans_params of_kmeans;
    efface_kmeans_params_init(&of_kmeans);
    p = make_params();
    p.common = of_kmeans.common;
    refuse(data, &p, "efface_segmented_params_init");
    efface_data_free(data);
}

/* The bound of k-means is for features, that of the regressions for all columns. */
static void values_beyond_bounds_are_refused(void **state) {
    (void)state;
    efface_data *const data = make_rows(12);
    efface_segmented_params params = make_params();
    efface_model *model = NULL;
    params.kmeans.bound = 100.0;
    params.bound = 1000.0;
    model = fit(data, &params);
    float row[N_COLUMNS] = {1.0f, 900.0f, 1.0f, -900.0f};
    const efface_rows rows = {.n_rows = 1, .values = row};
    REQUIRE_OK(efface_model_learn(model, data, &rows, NULL, &error));
    row[1] = 1001.0f;
    assert_int_equal(efface_model_learn(model, data, &rows, NULL, &error), EFFACE_E_LIMIT);
    row[1] = 1.0f;
    row[0] = 101.0f;
    assert_int_equal(efface_model_learn(model, data, &rows, NULL, &error), EFFACE_E_LIMIT);
    compare_with_fit(model, data);
    efface_model_free(model);
    efface_data_free(data);
}

static void parameters_come_back(void **state) {
    (void)state;
    efface_data *const data = make_rows(12);
    efface_segmented_params params = make_params();
    params.linear.alpha = 0.5;
    params.kmeans.scale = EFFACE_SCALE_MINMAX;
    efface_model *const model = fit(data, &params);
    const efface_segmented_params back = efface_segmented_get_params(model);
    assert_int_equal(back.common.seed, 0);
    assert_int_equal(back.kmeans.common.seed, 0);
    assert_int_equal(back.n_targets, 2);
    assert_memory_equal(back.targets, targets, sizeof targets);
    assert_true(back.linear.alpha == 0.5 && back.linear.intercept == 1);
    assert_int_equal(back.kmeans.n_clusters, N_GROUPS);
    assert_int_equal(back.kmeans.scale, EFFACE_SCALE_MINMAX);
    efface_model *again = NULL;
    efface_segmented_params same = back;
    same.common.seed = 3;
    unsigned char a[EFFACE_DIGEST_BYTES], b[EFFACE_DIGEST_BYTES];
    REQUIRE_OK(efface_segmented_fit(data, &same, &again, &error));
    REQUIRE_OK(efface_model_digest(model, a, &error));
    REQUIRE_OK(efface_model_digest(again, b, &error));
    assert_memory_equal(a, b, sizeof a);
    /* A call for k-means is not for this family. */
    uint32_t labels[12];
    assert_int_equal(efface_kmeans_labels(model, data, labels, &error), EFFACE_E_ARGUMENT);
    efface_model_free(model);
    efface_model_free(again);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_segment_has_its_regression),
        cmocka_unit_test(it_predicts_targets_from_features),
        cmocka_unit_test(tables_take_offsets),
        cmocka_unit_test(targets_play_no_part_in_clustering),
        cmocka_unit_test(a_segment_without_rows_predicts_the_mean),
        cmocka_unit_test(a_decoded_model_moves_rows),
        cmocka_unit_test(everything_can_be_forgotten_and_learned),
        cmocka_unit_test(wrong_parameters_are_refused),
        cmocka_unit_test(values_beyond_bounds_are_refused),
        cmocka_unit_test(parameters_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
