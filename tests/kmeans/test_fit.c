/*
 * Fitting and what can be asked of a model, as the header documents it: errors, edge cases, and
 * results against plain arithmetic on the rows. That all bits are right is the business of
 * tests/exact; here the canonical bytes are read only for what the header does not hand out.
 */
#include "kmeans/fit_scene.h"
#include "model/report_scene.h"

/* ---------------------------------------------------------------- parameters */

static const float two_columns[] = {1, -5, 2, 3, 4, 0}, wide_min[] = {0, -5}, wide_max[] = {4, 3};

static void bad_parameters_are_refused(void **unused) {
    (void)unused;
    efface_data *const data = make_data(3, 2, two_columns, NULL);
    TRY(EFFACE_E_ARGUMENT, memset(&p, 0, sizeof p));
    TRY(EFFACE_E_ARGUMENT, memset(&p, 0xFF, sizeof p));
    TRY(EFFACE_E_ARGUMENT, p.common.version -= 1);
    TRY(EFFACE_E_ARGUMENT, p.common.version += 1);
    TRY(EFFACE_E_ARGUMENT, p.method = (efface_method)4);
    TRY(EFFACE_E_ARGUMENT, p.pyramid.rate = -0.5);
    TRY(EFFACE_E_ARGUMENT, p.pyramid.rate = 1.5);
    TRY(EFFACE_E_ARGUMENT, p.pyramid.rate = (double)NAN);
    TRY(EFFACE_E_ARGUMENT, p.pyramid.passes = 0);
    TRY(EFFACE_E_ARGUMENT, p.pyramid.passes = 11);
    TRY(EFFACE_E_ARGUMENT, p.pyramid.starts = 0);
    TRY(EFFACE_E_ARGUMENT, p.pyramid.starts = 101);
    TRY(EFFACE_E_ARGUMENT, p.scale = (efface_scale)3);
    TRY(EFFACE_E_ARGUMENT, p.empty = (efface_empty)2);
    TRY(EFFACE_E_ARGUMENT, p.n_clusters = 0);
    TRY(EFFACE_E_ARGUMENT, p.n_clusters = EFFACE_MAX_CLUSTERS + 1);
    TRY(EFFACE_E_ARGUMENT, p.iterations = EFFACE_MAX_ITERATIONS + 1);
    TRY(EFFACE_E_ARGUMENT, p.bound = -1.0);
    TRY(EFFACE_E_ARGUMENT, p.bound = (double)NAN);
    TRY(EFFACE_E_ARGUMENT, p.bound = 0x1.0000000000001p126);
    TRY(EFFACE_E_ARGUMENT, p.epsilon = -0x1p-30);
    TRY(EFFACE_E_ARGUMENT, p.epsilon = (double)NAN);
    TRY(EFFACE_E_ARGUMENT, p.quantized.gamma = -0.01);
    TRY(EFFACE_E_ARGUMENT, p.quantized.gamma = 1.01);
    TRY(EFFACE_E_ARGUMENT, p.quantized.gamma = (double)NAN);
    TRY(EFFACE_E_ARGUMENT, p.column_min = wide_min);
    TRY(EFFACE_E_ARGUMENT, p.column_max = wide_max);
    TRY(EFFACE_OK, p.n_clusters = EFFACE_MAX_CLUSTERS);
    TRY(EFFACE_OK, p.iterations = EFFACE_MAX_ITERATIONS);
    TRY(EFFACE_OK, p.epsilon = 1e300; p.quantized.gamma = 1.0; p.method = EFFACE_METHOD_QUANTIZED);
    TRY(EFFACE_OK, p.quantized.gamma = 0.0; p.method = EFFACE_METHOD_QUANTIZED);
    TRY(EFFACE_OK, p.pyramid.starts = 100; p.pyramid.passes = 10; p.method = EFFACE_METHOD_PYRAMID);

    efface_model *model = NULL;
    const efface_kmeans_params p = params_of(2, 3);
    assert_int_equal(efface_kmeans_fit(NULL, &p, &model, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_kmeans_fit(data, NULL, &model, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_kmeans_fit(data, &p, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_null(model);
    efface_model_free(NULL);
    efface_data_free(data);
}

static void values_outside_bounds_are_refused(void **unused) {
    (void)unused;
    efface_data *const data = make_data(3, 2, two_columns, NULL);
    const float nan_bound[] = {NAN, NAN}, low[] = {1, -4.5F}, high[] = {3.5F, 3};
    const float huge[] = {5, 0x1.8p126F}, tiny[] = {0, -0x1.8p126F}, infinite[] = {INFINITY, 3};
#define BOUNDS(min, max) (p.scale = EFFACE_SCALE_MINMAX, p.column_min = (min), p.column_max = (max))
    TRY(EFFACE_OK, BOUNDS(wide_min, wide_max));
    TRY(EFFACE_E_LIMIT, BOUNDS(low, wide_max));
    TRY(EFFACE_E_LIMIT, BOUNDS(wide_min, high));
    TRY(EFFACE_E_LIMIT, BOUNDS(nan_bound, wide_max));
    TRY(EFFACE_E_LIMIT, BOUNDS(wide_min, nan_bound));
    TRY(EFFACE_E_LIMIT, BOUNDS(wide_min, huge));
    TRY(EFFACE_E_LIMIT, BOUNDS(tiny, wide_max));
    TRY(EFFACE_E_LIMIT, BOUNDS(wide_min, infinite));
    TRY(EFFACE_E_ARGUMENT, BOUNDS(wide_max, wide_min));
    /* Scale none: the largest magnitude is that of -5, and then of 4. */
    TRY(EFFACE_E_LIMIT, p.bound = 4.999);
    TRY(EFFACE_E_LIMIT, p.bound = 1e-300);
    assert_int_equal(efface_data_remove(data, (uint64_t[]){0}, 1, NULL), EFFACE_OK);
    TRY(EFFACE_E_LIMIT, p.bound = 3.999);
    TRY(EFFACE_OK, p.bound = 4.0);
    efface_kmeans_params p = params_of(2, 3);
    static const struct {
        double bound;
        int exponent;
    } bounds[] = {{0.0, 2}, {4.0, 2}, {5.0, 3}, {8.0, 3}, {8.000001, 4}, {0x1p126, 126}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        p.bound = bounds[i].bound;
        efface_model *const model = fit(data, &p);
        const state s = read_state(model);
        assert_int_equal(number_at(&s, AT_EXPONENT, 4), bounds[i].exponent);
        efface_bytes_free(s.bytes);
        efface_model_free(model);
    }
    efface_data_free(data);
}

/* ---------------------------------------------------------------- few rows */

static void no_rows_give_a_model_without_centroids(void **unused) {
    (void)unused;
    efface_data *const none = make_data(0, 3, NULL, NULL);
    const float row[] = {1, 2, 3};
    efface_data *const some = make_data(1, 3, row, NULL);
    for (int method = 0; method < 4; method++) {
        efface_kmeans_params p = params_of(5, 0);
        p.method = method % 2 == 0 ? EFFACE_METHOD_LLOYD : EFFACE_METHOD_QUANTIZED;
        p.scale = method < 2 ? EFFACE_SCALE_NONE : EFFACE_SCALE_MINMAX;
        efface_model *const model = fit(none, &p);
        const efface_kmeans_info info = efface_kmeans_get_info(model);
        assert_true(info.n_clusters == 0 && info.n_rows == 0 && info.n_columns == 3);
        const state s = read_state(model);
        assert_int_equal(s.n_bytes, HEADER_BYTES + (method < 2 ? 0 : 8 * 3));
        assert_int_equal(s.n_levels, 0);
        efface_bytes_free(s.bytes);
        unsigned char digest[EFFACE_DIGEST_BYTES];
        assert_int_equal(efface_model_digest(model, digest, NULL), EFFACE_OK);
        uint32_t label = 77;
        double loss = -1.0, centroid[3];
        efface_error e = {.message = ""};
        assert_int_equal(predict_labels(model, 1, row, 0, &label, &e), EFFACE_E_ARGUMENT);
        assert_true(strlen(e.message) > 10);
        assert_int_equal(efface_kmeans_labels(model, some, &label, NULL), EFFACE_E_ARGUMENT);
        assert_int_equal(efface_kmeans_loss(model, some, &loss, NULL), EFFACE_E_ARGUMENT);
        assert_int_equal(efface_kmeans_centroid(model, 0, centroid, NULL), EFFACE_E_ARGUMENT);
        assert_true(label == 77 && loss == -1.0);
        assert_int_equal(efface_kmeans_loss(model, none, &loss, NULL), EFFACE_OK);
        assert_true(loss == 0.0);
        efface_model_free(model);
    }
    efface_data_free(none);
    efface_data_free(some);
}

/* With as many centroids as rows, or more, every row is a centroid and nothing is lost. */
static void few_rows_give_a_centroid_each(void **unused) {
    (void)unused;
    for (size_t n = 1; n <= 6; n++) {
        float *const values = draw_rows(n, 2, 100.0F);
        efface_data *const data = make_data(n, 2, values, NULL);
        for (uint32_t k = (uint32_t)n; k < 20; k += 5) {
            const efface_kmeans_params p = params_of(k, 0);
            efface_model *const model = fit(data, &p);
            const efface_kmeans_info info = efface_kmeans_get_info(model);
            assert_true(info.n_clusters == n && info.stable && info.iterations == 0);
            uint32_t labels[6], seen = 0;
            double loss = -1.0, centroid[2];
            assert_int_equal(efface_kmeans_labels(model, data, labels, NULL), EFFACE_OK);
            for (size_t i = 0; i < n; i++) {
                seen |= 1u << labels[i];
                assert_int_equal(efface_kmeans_centroid(model, labels[i], centroid, NULL), 0);
                assert_true(fabs(centroid[0] - (double)values[2 * i]) <= 512 * 0x1p-23);
                assert_true(fabs(centroid[1] - (double)values[2 * i + 1]) <= 512 * 0x1p-23);
            }
            assert_int_equal(seen, (1u << n) - 1);
            assert_int_equal(efface_kmeans_loss(model, data, &loss, NULL), EFFACE_OK);
            assert_true(loss == 0.0);
            assert_int_equal(efface_kmeans_centroid(model, (uint32_t)n, centroid, NULL),
                             EFFACE_E_ARGUMENT);
            efface_model_free(model);
        }
        efface_data_free(data);
        test_free(values);
    }
}

/* ---------------------------------------------------------------- results on rows */

enum { N = 300, D = 3, K = 4 };

static void check_results(efface_scale scale, float size, const int64_t *weights) {
    float *const values = draw_rows(N, D, size);
    efface_data *const data = make_data(N, D, values, weights);
    efface_kmeans_params p = params_of(K, 0);
    p.scale = scale;
    efface_model *const model = fit(data, &p);
    assert_true(efface_kmeans_get_info(model).stable);
    long double sums[K][D] = {{0}}, counts[K] = {0}, unit[D];
    for (uint32_t j = 0; j < D; j++)
        unit[j] = scale == EFFACE_SCALE_MINMAX ? spread(values, N, D, j) : 1.0L;
    uint32_t labels[N];
    check_answers(model, N, values, weights, unit, labels);
    /* A stable centroid is the mean of its rows. Rows and mean are rounded to the grid, whose step
     * is at most 2^-23 of twice the largest magnitude, or of the spread. */
    for (size_t i = 0; i < N; i++) {
        const long double weight = weights != NULL ? (long double)weights[i] : 1.0L;
        counts[labels[i]] += weight;
        for (uint32_t j = 0; j < D; j++)
            sums[labels[i]][j] += weight * (long double)values[i * D + j];
    }
    for (uint32_t c = 0; c < K; c++) {
        double centroid[D];
        assert_int_equal(efface_kmeans_centroid(model, c, centroid, NULL), EFFACE_OK);
        for (uint32_t j = 0; j < D; j++) {
            const long double step =
                0x1p-23L * (scale == EFFACE_SCALE_MINMAX ? unit[j] : 5.0L * (long double)size);
            const long double mean = sums[c][j] / counts[c];
            assert_true(fabsl((long double)centroid[j] - mean) <= 1.5L * step);
        }
    }
    /* Rows outside the bounds among others that are inside; a third in one column only. */
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            if (i % 3 == 1 || (i % 3 == 2 && j == i / 3 % D))
                values[i * D + j] = ldexpf(values[i * D + j], (int)(i % 20));
    check_answers(model, N, values, weights, unit, labels);
    efface_model_free(model);
    efface_data_free(data);
    test_free(values);
}

static void results_are_those_of_plain_arithmetic(void **unused) {
    (void)unused;
    int64_t weights[N];
    for (size_t i = 0; i < N; i++)
        weights[i] = 1 + (int64_t)(draw() % 50);
    for (int i = 0; i < 6; i++)
        for (int scale = 0; scale < 2; scale++)
            check_results(scale == 0 ? EFFACE_SCALE_NONE : EFFACE_SCALE_MINMAX,
                          ldexpf(1.25F, 60 * (i % 3 - 1)), i < 3 ? NULL : weights);
}

/* However far away a row is, the centroid on its side is the nearer one; between the two, the lower
 * cluster. */
static void far_rows_are_predicted(void **unused) {
    (void)unused;
    const float values[] = {0, 0, 1, 0};
    efface_data *const data = make_data(2, 2, values, NULL);
    for (int i = 0; i < 8; i++) {
        efface_kmeans_params p = params_of(2, 0);
        p.scale = i % 2 == 0 ? EFFACE_SCALE_NONE : EFFACE_SCALE_MINMAX;
        p.common.seed = (uint64_t)i; /* either may be cluster 0 */
        efface_model *const model = fit(data, &p);
        for (int e = 1; e <= 126; e++) {
            const float far = ldexpf(1.0F, e);
            const float rows[] = {-far, 0, far, 0, 0, 0, 1, 0, 0.5F, far, 0.5F, 0};
            uint32_t labels[6];
            assert_int_equal(predict_labels(model, 6, rows, 0, labels, NULL), EFFACE_OK);
            assert_true(labels[0] == labels[2] && labels[1] == labels[3]);
            assert_true(labels[2] != labels[3] && labels[4] == 0 && labels[5] == 0);
        }
        efface_model_free(model);
    }
    efface_data_free(data);
}

static void bad_rows_have_no_prediction(void **unused) {
    (void)unused;
    static const float bad[] = {NAN, INFINITY, -INFINITY, 0x1.8p126F};
    float *const values = draw_rows(20, 3, 1.0F);
    efface_data *const data = make_data(20, 3, values, NULL);
    efface_data *const narrow = make_data(20, 2, values, NULL);
    const efface_kmeans_params p = params_of(3, 5);
    efface_model *const model = fit(data, &p);
    uint32_t labels[20], all[20];
    double loss = -1.0, squares[60];
    memset(labels, 0xFF, sizeof labels);
    for (size_t i = 0; i < 4; i++) {
        efface_error e = {.message = ""};
        values[59] = bad[i];
        assert_int_equal(predict_labels(model, 20, values, 0, labels, &e), EFFACE_E_LIMIT);
        assert_true(strlen(e.message) > 10 && labels[0] == UINT32_MAX);
        assert_int_equal(efface_predictor_square_distances(efface_model_predictor(model), 20,
                                                           values, 0, squares, NULL),
                         EFFACE_E_LIMIT);
    }
    values[59] = -0x1p126F; /* the largest there is */
    assert_int_equal(predict_labels(model, 20, values, 0, all, NULL), EFFACE_OK);
    /* Every other row, by stride; the rows between are not looked at. */
    values[3] = NAN;
    assert_int_equal(predict_labels(model, 10, values, 6, labels, NULL), EFFACE_OK);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(labels[i], all[2 * i]);
    assert_int_equal(predict_labels(model, 10, values, 2, labels, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(predict_labels(model, 0, NULL, 0, NULL, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_labels(model, narrow, labels, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_kmeans_loss(model, narrow, &loss, NULL), EFFACE_E_ARGUMENT);
    assert_true(loss == -1.0);
    efface_model_free(model);
    efface_data_free(narrow);
    efface_data_free(data);
    test_free(values);
}

static void coarse_columns_are_reported(void **unused) {
    (void)unused;
    enum { COLUMNS = 6 };
    float values[2 * COLUMNS] = {
        /* the bound is 2^10: a step is 2^-13 */
        1000, 7, 5, 5, 0, 1, 900, 7, 5 + 256 * 0x1p-13F, 5 + 255 * 0x1p-13F, 1e-30F, 2};
    efface_data *const data = make_data(2, COLUMNS, values, NULL);
    efface_kmeans_params p = params_of(2, 3);
    efface_model *model = fit(data, &p);
    uint32_t columns[3] = {99, 99, 99};
    assert_int_equal(efface_kmeans_get_info(model).n_coarse_columns, 2);
    efface_kmeans_coarse_columns(model, columns, 1);
    assert_true(columns[0] == 3 && columns[1] == 99);
    efface_kmeans_coarse_columns(model, columns, 3);
    assert_true(columns[0] == 3 && columns[1] == 4 && columns[2] == 99);
    efface_model_free(model);
    p.scale = EFFACE_SCALE_MINMAX; /* mends it, but for a spread below 2^-100 */
    model = fit(data, &p);
    assert_int_equal(efface_kmeans_get_info(model).n_coarse_columns, 0);
    efface_model_free(model);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- levels */

static void iterations_end_when_nothing_changes(void **unused) {
    (void)unused;
    float *const values = draw_rows(500, 2, 1.0F);
    for (size_t i = 0; i < 1000; i++)
        values[i] = (float)(draw() >> 40); /* no clusters: many iterations */
    efface_data *const data = make_data(500, 2, values, NULL);
    efface_kmeans_params p = params_of(7, 0);
    efface_model *const last = fit(data, &p);
    const efface_kmeans_info end = efface_kmeans_get_info(last);
    state stable = read_state(last);
    assert_true(end.stable && end.iterations > 5 && end.iterations < EFFACE_MAX_ITERATIONS);
    assert_true(end.n_rows == 500 && end.n_columns == 2 && end.n_clusters == 7);
    assert_true(end.epsilon == 0.0 && end.method == EFFACE_METHOD_LLOYD);
    assert_true(end.rows_assigned == 500 * ((uint64_t)end.iterations + 1));
    assert_int_equal(number_at(&stable, AT_ITERATIONS, 4), EFFACE_MAX_ITERATIONS);
    assert_true(stable.n_levels == end.iterations + 1 && stable.model_level == end.iterations);
    for (p.iterations = 1; p.iterations < end.iterations + 3; p.iterations++) {
        efface_model *const model = fit(data, &p);
        const efface_kmeans_info info = efface_kmeans_get_info(model);
        state s = read_state(model);
        const uint32_t t = p.iterations < end.iterations ? p.iterations : end.iterations;
        assert_true(info.iterations == t && info.stable == (p.iterations > end.iterations));
        assert_int_equal(number_at(&s, AT_ITERATIONS, 4), p.iterations);
        const level own = read_level(&s, t), full = read_level(&stable, t);
        assert_int_equal(own.end, s.n_bytes);
        assert_int_equal(own.has_partition, info.stable);
        if (info.stable) { /* more iterations change nothing but their own number */
            assert_int_equal(s.n_bytes, stable.n_bytes);
            memcpy(s.bytes + AT_ITERATIONS, stable.bytes + AT_ITERATIONS, 4);
            assert_memory_equal(s.bytes, stable.bytes, s.n_bytes);
        } else { /* fewer are the beginning of more */
            assert_int_equal(own.centers, full.centers);
            assert_memory_equal(s.bytes + s.levels, stable.bytes + s.levels,
                                own.counts - 4 - s.levels);
        }
        efface_bytes_free(s.bytes);
        efface_model_free(model);
    }
    efface_bytes_free(stable.bytes);
    efface_model_free(last);
    efface_data_free(data);
    test_free(values);
}

static void lattice_width_is_reported(void **unused) {
    (void)unused;
    static const struct {
        size_t n;
        uint32_t k, d;
        double asked, used, gamma;
        int64_t q;
    } cases[] = {
        {40, 4, 4, 0.25, 0.25, 0.2, 13107},
        {40, 4, 4, 1e-12, 0x1p-23, 0.0, 0},
        {40, 4, 4, 5.0, 1.0, 1.0, 65536},
        {40, 4, 4, 2.5 * 0x1p-23, 3 * 0x1p-23, 0.5, 32768},
        /* automatic: 2^round(-log10(n / (k d^1.5)) - 3) */
        {40, 4, 4, 0.0, 0x1p-3, 0.2, 13107},
        {5000, 5, 1, 0.0, 0x1p-6, 0.2, 13107},
        {20, 20, 100, 0.0, 1.0, 0.2, 13107},
        {500, 5, 1, 0.0, 0x1p-5, 0.2, 13107},
        {2, 9, 1000, 0.0, 1.0, 0.2, 13107}, /* k is 2 then, and the width would be above 1 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *const values = draw_rows(cases[i].n, cases[i].d, 1.0F);
        efface_data *const data = make_data(cases[i].n, cases[i].d, values, NULL);
        efface_kmeans_params p = params_of(cases[i].k, 2);
        p.epsilon = cases[i].asked;
        p.quantized.gamma = cases[i].gamma;
        for (int quantized = 0; quantized < 2; quantized++) {
            p.method = quantized ? EFFACE_METHOD_QUANTIZED : EFFACE_METHOD_LLOYD;
            efface_model *const model = fit(data, &p);
            const efface_kmeans_info info = efface_kmeans_get_info(model);
            const state s = read_state(model);
            assert_true(info.method == p.method);
            assert_true(info.epsilon == (quantized ? cases[i].used : 0.0));
            assert_int_equal(number_at(&s, AT_GAMMA, 4), quantized ? cases[i].q : 0);
            efface_bytes_free(s.bytes);
            efface_model_free(model);
        }
        efface_data_free(data);
        test_free(values);
    }
}

/* Counts are sums of weights and sums are of weight times grid point; whole numbers below 256 are
 * 2^15 grid steps each. The next centroid is their quotient, halves away from zero. */
static void weights_count_as_rows(void **unused) {
    (void)unused;
    enum { ROWS = 60, CLUSTERS = 3 };
    float values[ROWS];
    int64_t weights[ROWS], total = 0;
    for (size_t i = 0; i < ROWS; i++) {
        values[i] = i == 0 ? -256.0F : (float)(draw() % 512) - 256.0F;
        weights[i] = i % 4 == 0 ? 3 : 1;
        total += weights[i];
    }
    efface_data *const data = make_data(ROWS, 1, values, weights);
    const efface_kmeans_params p = params_of(CLUSTERS, 1);
    efface_model *const model = fit(data, &p);
    const state s = read_state(model);
    const level first = read_level(&s, 0), next = read_level(&s, 1);
    assert_true(first.has_partition && !next.has_partition);
    assert_int_equal(number_at(&s, AT_WEIGHT, 8), total);
    int64_t counts[CLUSTERS] = {0}, sums[CLUSTERS] = {0}, squares = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const int64_t g = (int64_t)values[i] * 32768;
        size_t best = 0;
        for (size_t c = 1; c < CLUSTERS; c++)
            if (llabs(g - number_at(&s, first.centers + 4 * c, 4)) <
                llabs(g - number_at(&s, first.centers + 4 * best, 4)))
                best = c;
        counts[best] += weights[i];
        sums[best] += weights[i] * g;
        squares += weights[i] * g * g;
    }
    assert_int_equal(number_at(&s, 76, 8), squares);
    assert_int_equal(number_at(&s, 84, 8), 0);
    for (size_t c = 0; c < CLUSTERS; c++) {
        assert_int_equal(number_at(&s, first.counts + 8 * c, 8), counts[c]);
        assert_int_equal(number_at(&s, first.sums + 8 * c, 8), sums[c]);
        const int64_t center = number_at(&s, next.centers + 4 * c, 4);
        const int64_t twice_error = 2 * (center * counts[c] - sums[c]);
        assert_true(llabs(twice_error) <= counts[c]);
        assert_true(llabs(twice_error) < counts[c] || llabs(center * counts[c]) > llabs(sums[c]));
    }
    efface_bytes_free(s.bytes);
    efface_model_free(model);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_parameters_are_refused),
        cmocka_unit_test(values_outside_bounds_are_refused),
        cmocka_unit_test(no_rows_give_a_model_without_centroids),
        cmocka_unit_test(few_rows_give_a_centroid_each),
        cmocka_unit_test(results_are_those_of_plain_arithmetic),
        cmocka_unit_test(far_rows_are_predicted),
        cmocka_unit_test(bad_rows_have_no_prediction),
        cmocka_unit_test(coarse_columns_are_reported),
        cmocka_unit_test(iterations_end_when_nothing_changes),
        cmocka_unit_test(lattice_width_is_reported),
        cmocka_unit_test(weights_count_as_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
