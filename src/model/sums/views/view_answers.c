/* What views say of rows. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/elementary.h"
#include "base/numbers/matrix.h"
#include "model/sums/views/views.h"

#include <string.h>

/* Room for the work on one row. */
typedef struct room {
    const ef_view *by;
    double *terms;
    double *away;    /* from a center */
    double *turned;  /* the same, as weights have it */
    double *outputs; /* n_outputs */
    int32_t *points; /* Fourier features on their grid */
    void *block;
} room;

static bool take_room(room *r, const ef_view *v) {
    const size_t n = v->n_terms;
    *r = (room){.by = v};
    double *const block = ef_alloc(3 * n + v->n_outputs, sizeof *block);
    r->points = ef_alloc(v->fourier.n_features, sizeof *r->points);
    if (block == NULL || r->points == NULL) {
        ef_free(block);
        ef_free(r->points);
        return false;
    }
    r->block = r->terms = block;
    r->away = block + n;
    r->turned = block + 2 * n;
    r->outputs = block + 3 * n;
    return true;
}

static void free_room(room *r) {
    ef_free(r->block);
    ef_free(r->points);
}

static void find_terms(const room *r, const float *row) {
    const ef_view *const v = r->by;
    if (v->fourier.n_features == 0) {
        for (uint32_t j = 0; j < v->n_terms; j++)
            r->terms[j] = (double)row[v->inputs[j]];
        return;
    }
    const double unit = ef_fourier_unit(&v->fourier);
    ef_fourier_row(&v->fourier, row, 1, v->inputs, r->points);
    for (uint32_t j = 0; j < v->n_terms; j++)
        r->terms[j] = (double)r->points[j] * unit;
}

/* The square of a row's distance from a class, as the class measures it. */
static double square_away(const room *r, uint32_t k) {
    const ef_view *const v = r->by;
    const uint32_t n = v->n_terms;
    for (uint32_t j = 0; j < n; j++)
        r->away[j] = r->terms[j] - v->centers[(size_t)k * n + j];
    if (!v->is_quadratic) {
        for (uint32_t j = 0; j < n; j++)
            r->turned[j] = r->away[j] * v->weights[(size_t)k * n + j];
    } else {
        const double *row = v->weights + (size_t)k * ((size_t)n * (n + 1) / 2);
        for (uint32_t j = 0; j < n; row += ++j)
            r->turned[j] = ef_dot(row, r->away, (size_t)j + 1);
    }
    return ef_dot(r->turned, r->turned, n);
}

/* The outputs for a row. */
static void answer(const room *r, const float *row, double *outputs) {
    const ef_view *const v = r->by;
    if (v->view == EFFACE_VIEW_MEANS) {
        memcpy(outputs, v->centers, v->n_columns * sizeof *outputs);
        return;
    }
    find_terms(r, row);
    for (uint32_t k = 0; k < v->n_outputs; k++)
        outputs[k] = v->is_quadratic || v->view == EFFACE_VIEW_BAYES
                         ? v->constants[k] - 0.5 * square_away(r, k)
                         : v->constants[k] +
                               ef_dot(v->weights + (size_t)k * v->n_terms, r->terms, v->n_terms);
    for (uint32_t k = 0; v->view == EFFACE_VIEW_COMPONENTS && k < v->n_outputs; k++)
        outputs[k] *= v->scales[k];
}

/* The number of the largest; the first of several. */
static uint32_t largest(const double *numbers, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t k = 1; k < n; k++)
        if (numbers[k] > numbers[best])
            best = k;
    return best;
}

/* Logarithms of probabilities become probabilities. */
static void normalize(double *numbers, uint32_t n) {
    const double most = numbers[largest(numbers, n)];
    const bool is_finite = most - most == 0.0;
    double sum = 0.0;
    for (uint32_t k = 0; k < n; k++) {
        numbers[k] = is_finite ? ef_exp(numbers[k] - most) : 1.0;
        sum += numbers[k];
    }
    for (uint32_t k = 0; k < n; k++)
        numbers[k] /= sum;
}

efface_status ef_view_values(const ef_view *v, size_t n_rows, const float *values, size_t stride,
                             efface_number *numbers, efface_error *error) {
    room r;
    if (!take_room(&r, v))
        return ef_fail_memory(error);
    for (size_t i = 0; i < n_rows; i++) {
        answer(&r, values + i * stride, r.outputs);
        for (uint32_t k = 0; k < v->n_outputs; k++)
            numbers[i * v->n_outputs + k].real = r.outputs[k];
    }
    free_room(&r);
    return EFFACE_OK;
}

efface_status ef_view_classes(const ef_view *v, size_t n_rows, const float *values, size_t stride,
                              efface_number *numbers, efface_error *error) {
    room r;
    if (!take_room(&r, v))
        return ef_fail_memory(error);
    for (size_t i = 0; i < n_rows; i++) {
        answer(&r, values + i * stride, r.outputs);
        numbers[i].whole = v->ids[largest(r.outputs, v->n_outputs)];
    }
    free_room(&r);
    return EFFACE_OK;
}

efface_status ef_view_scores(const ef_view *v, efface_scores scores, size_t n_rows,
                             const float *values, size_t stride, double *numbers,
                             efface_error *error) {
    room r;
    if (scores == EFFACE_SCORES_PROBABILITIES && v->view == EFFACE_VIEW_RIDGE)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a ridge classifier has decisions, and no probabilities");
    if (!take_room(&r, v))
        return ef_fail_memory(error);
    for (size_t i = 0; i < n_rows; i++) {
        double *const to = numbers + i * v->n_outputs;
        answer(&r, values + i * stride, to);
        if (scores == EFFACE_SCORES_PROBABILITIES)
            normalize(to, v->n_outputs);
    }
    free_room(&r);
    return EFFACE_OK;
}
