/*
 * What tests of fitting share: rows to fit, fits that must succeed or fail, a reader of the
 * canonical bytes (docs/definition/format.md) for what the header does not hand out, and the
 * nearest centroid by plain arithmetic.
 */
#ifndef FIT_SCENE_H
#define FIT_SCENE_H

#include "efface/efface.h"
#include "model/report_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state = 20191105;

static uint64_t draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = random_state;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

static efface_data *make_data(size_t n, uint32_t d, const float *values, const int64_t *weights) {
    efface_data *data = NULL;
    const efface_rows rows = {.n_rows = n, .values = values, .weights = weights};
    assert_int_equal(efface_data_create(d, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

/* Rows around four places, so that centroids have something to find. */
static float *draw_rows(size_t n, uint32_t d, float size) {
    float *const values = test_malloc(n * d * sizeof *values);
    for (size_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < d; j++)
            values[i * d + j] =
                size * ((float)((i * 7 + j) % 4) + (float)(draw() >> 40) * 0x1p-25F - 1.0F);
    return values;
}

static efface_kmeans_params params_of(uint32_t n_clusters, uint32_t iterations) {
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    p.method = EFFACE_METHOD_LLOYD;
    p.candidates = 1;
    p.n_clusters = n_clusters;
    p.iterations = iterations;
    p.common.n_threads = 1;
    return p;
}

static efface_model *fit(const efface_data *data, const efface_kmeans_params *p) {
    efface_model *model = NULL;
    efface_error error;
    if (efface_kmeans_fit(data, p, &model, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    return model;
}

/* A fit that must end as it should; if it fails, with a reason and without handing anything out. */
static void check_fit(const efface_data *data, const efface_kmeans_params *p, efface_status right,
                      int line) {
    int untouched;
    efface_model *const before = (efface_model *)(void *)&untouched;
    efface_model *model = before;
    efface_error error;
    memset(&error, 0, sizeof error);
    const efface_status status = efface_kmeans_fit(data, p, &model, &error);
    const bool told = error.status == right && (right == EFFACE_OK || strlen(error.message) > 10);
    if (status != right || !told || (model == before) != (right != EFFACE_OK))
        fail_msg("line %d: status %d, message '%s'", line, status, error.message);
    if (status == EFFACE_OK)
        efface_model_free(model);
    else
        assert_int_equal(efface_kmeans_fit(data, p, &model, NULL), right);
}

/* A fit of `data` with parameters that are fine but for one change to `p`. */
#define TRY(status, change)                                                                        \
    do {                                                                                           \
        efface_kmeans_params p = params_of(2, 3);                                                  \
        change;                                                                                    \
        check_fit(data, &p, status, __LINE__);                                                     \
    } while (0)

/* ---------------------------------------------------------------- canonical bytes */

#define AT_ITERATIONS 24 /* docs/definition/format.md */
#define AT_EXPONENT 36
#define AT_GAMMA 44
#define AT_WEIGHT 68
#define HEADER_BYTES 92

typedef struct state {
    unsigned char *bytes;
    size_t n_bytes;
    uint32_t k, d, n_levels, model_level;
    size_t levels; /* where they begin */
} state;

typedef struct level {
    size_t centers, counts, sums, end;
    bool has_partition;
} level;

static int64_t number_at(const state *s, size_t at, size_t n_bytes) {
    uint64_t value = 0;
    assert_true(at + n_bytes <= s->n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)s->bytes[at + i] << 8 * i;
    return n_bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static state read_state(const efface_model *model) {
    state s = {0};
    assert_int_equal(efface_model_encode(model, &s.bytes, &s.n_bytes, NULL), EFFACE_OK);
    assert_memory_equal(s.bytes, "EFFACEKM", 8);
    s.d = (uint32_t)number_at(&s, 16, 4);
    s.k = (uint32_t)number_at(&s, 48, 4);
    s.n_levels = (uint32_t)number_at(&s, 52, 4);
    s.model_level = (uint32_t)number_at(&s, 56, 4);
    s.levels = HEADER_BYTES + (number_at(&s, 28, 4) == 1 ? 8 * s.d : 0) + 16 * s.k;
    return s;
}

static level read_level(const state *s, uint32_t t) {
    level l = {.end = s->levels};
    for (uint32_t i = 0; i <= t; i++) {
        const size_t n_values = (size_t)s->k * s->d;
        l.centers = l.end;
        l.has_partition = number_at(s, l.centers + 4 * n_values, 4) != 0;
        l.counts = l.centers + 4 * n_values + 4;
        l.sums = l.counts + 8 * s->k;
        l.end = l.counts;
        if (l.has_partition) {
            l.end = l.sums + 8 * n_values + 4;
            l.end += 20 * (size_t)number_at(s, l.end - 4, 4);
        }
    }
    return l;
}

/* ---------------------------------------------------------------- plain arithmetic */

#define MOST_COLUMNS 8

static long double spread(const float *values, size_t n, uint32_t d, uint32_t column) {
    float least = values[column], most = values[column];
    for (size_t i = 0; i < n; i++) {
        least = fminf(least, values[i * d + column]);
        most = fmaxf(most, values[i * d + column]);
    }
    return (long double)most - (long double)least;
}

/* The nearest centroid of a row by long double, and the squared distance in the unit of the loss;
 * `clear` says whether the second best is so far behind that rounding to the grid is no matter. */
static uint32_t nearest(const efface_model *model, const float *row, const long double *unit,
                        long double *square, bool *clear) {
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    uint32_t best = 0;
    long double second = INFINITY;
    *square = INFINITY;
    assert_true(info.n_columns <= MOST_COLUMNS);
    for (uint32_t c = 0; c < info.n_clusters; c++) {
        double centroid[MOST_COLUMNS];
        assert_int_equal(efface_kmeans_centroid(model, c, centroid, NULL), EFFACE_OK);
        long double sum = 0.0L;
        for (uint32_t j = 0; j < info.n_columns; j++) {
            const long double x = ((long double)row[j] - (long double)centroid[j]) / unit[j];
            sum += x * x;
        }
        second = sum < *square ? *square : fminl(second, sum);
        best = sum < *square ? c : best;
        *square = fminl(*square, sum);
    }
    *clear = second - *square > 1e-5L * second;
    return best;
}

/* Squared distances are least at the label of a row, and the loss is the sum of these. */
static void check_squares(const efface_model *model, size_t n, const float *values,
                          const int64_t *weights, const uint32_t *labels, double loss) {
    const uint32_t k = efface_kmeans_get_info(model).n_clusters;
    double *const squares = test_malloc(n * k * sizeof *squares);
    long double sum = 0.0L;
    assert_int_equal(efface_predictor_square_distances(efface_model_predictor(model), n, values, 0,
                                                       squares, NULL),
                     EFFACE_OK);
    for (size_t i = 0; i < n; i++) {
        const double *const own = squares + i * k;
        for (uint32_t c = 0; c < k; c++)
            assert_true(own[c] >= own[labels[i]]);
        sum += (long double)own[labels[i]] * (weights != NULL ? (long double)weights[i] : 1.0L);
    }
    assert_true(fabsl((long double)loss - sum) <= 1e-12L * sum);
    test_free(squares);
}

/* Labels are predictions, and the nearest by plain arithmetic; the loss is the sum of its squares.
 */
static void check_answers(const efface_model *model, size_t n, const float *values,
                          const int64_t *weights, const long double *unit, uint32_t *labels) {
    const uint32_t d = efface_kmeans_get_info(model).n_columns;
    efface_data *const data = make_data(n, d, values, weights);
    uint32_t *const predicted = test_malloc(n * sizeof *predicted);
    double loss;
    assert_int_equal(efface_kmeans_labels(model, data, labels, NULL), EFFACE_OK);
    assert_int_equal(predict_labels(model, n, values, 0, predicted, NULL), EFFACE_OK);
    assert_memory_equal(labels, predicted, n * sizeof *predicted);
    assert_int_equal(efface_kmeans_loss(model, data, &loss, NULL), EFFACE_OK);
    long double right = 0.0L, square;
    size_t n_clear = 0;
    for (size_t i = 0; i < n; i++) {
        bool clear;
        const uint32_t best = nearest(model, values + i * d, unit, &square, &clear);
        n_clear += clear;
        assert_true(!clear || best == labels[i]);
        right += square * (weights != NULL ? (long double)weights[i] : 1.0L);
    }
    assert_true(n_clear > n * 8 / 10);
    assert_true(fabsl((long double)loss - right) <= 1e-6L * right);
    check_squares(model, n, values, weights, labels, loss);
    test_free(predicted);
    efface_data_free(data);
}

#endif
