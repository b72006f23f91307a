/*
 * The predictor of a segmented regression: the dividers with their grid, and a regression for each
 * segment. Its bytes have no sums, no counts, no row and no id:
 *
 *     u32  number of targets, and their columns, u32 each
 *     u32  number of segments
 *     f64  for each segment and target: the intercept, then a coefficient for each other column
 *     the predictor of k-means (kmeans_predictor.c), with the dividers as centroids
 */
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/numbers/matrix.h"
#include "model/segmented/regressions.h"

#include <string.h>

#define ROWS_AT_A_TIME 4096

typedef struct predictor {
    ef_kmeans_predictor by;
    uint32_t n_inputs, n_targets;
    const uint32_t *inputs, *targets; /* columns */
    const ef_segmented *of;           /* a state, or NULL: it was read, and these are its own */
    ef_regressions *read;
    void *dividers; /* the predictor of k-means */
    void *columns;
} predictor;

_Static_assert(sizeof(predictor) <= sizeof(ef_lent), "there is room for one");

static efface_status find_regressions(const predictor *p, const ef_regressions **out,
                                      efface_error *error) {
    *out = p->read;
    return p->of != NULL ? ef_regressions_get(p->of, out, error) : EFFACE_OK;
}

void ef_segmented_lend(const void *state, ef_lent *room) {
    const ef_segmented *const s = state;
    predictor lent = {.by = {.domain = s->kmeans->domain, .n_threads = s->params->common.n_threads},
                      .n_inputs = s->coordinates.n_inputs,
                      .n_targets = s->coordinates.n_targets,
                      .inputs = s->coordinates.inputs,
                      .targets = s->coordinates.targets,
                      .of = s};
    lent.by.centers = ef_kmeans_dividers(s->kmeans, &lent.by.n_clusters);
    memcpy(room, &lent, sizeof lent);
}

bool ef_segmented_is_input(const void *of, uint32_t column) {
    const predictor *const p = of;
    for (uint32_t i = 0; i < p->n_targets; i++)
        if (p->targets[i] == column)
            return false;
    return true;
}

uint32_t ef_segmented_value_column(const void *of, uint32_t number) {
    const predictor *const p = of;
    return number < p->n_targets ? p->targets[number] : EFFACE_NO_COLUMN;
}

/* ---------------------------------------------------------------- bytes */

void ef_segmented_write_predictor(ef_writer *w, const void *of) {
    const predictor *const p = of;
    const ef_regressions *r = NULL;
    if (find_regressions(p, &r, NULL) != EFFACE_OK) {
        w->failed = true;
        return;
    }
    ef_write_u32(w, p->n_targets);
    for (uint32_t i = 0; i < p->n_targets; i++)
        ef_write_u32(w, p->targets[i]);
    ef_write_u32(w, r->n_segments);
    for (size_t i = 0; i < (size_t)r->n_segments * r->n_targets; i++) {
        ef_write_f64(w, r->intercepts[i]);
        for (uint32_t j = 0; j < r->n_inputs; j++)
            ef_write_f64(w, r->coefficients[i * r->n_inputs + j]);
    }
    ef_kmeans_write_predictor(w, &p->by);
}

static efface_status read_targets(ef_decoder *r, uint32_t d, predictor *p, efface_error *error) {
    uint32_t *inputs = NULL, *targets = NULL;
    const uint32_t n = ef_read_u32(r);
    if (n == 0 || n >= d || !ef_decoder_has(r, n, sizeof *targets))
        return ef_fail_published(error, "its targets");
    const ef_array arrays[] = {{&inputs, d, sizeof *inputs}, {&targets, n, sizeof *targets}};
    p->columns = EF_ARRAYS_TAKE(arrays, true);
    if (p->columns == NULL)
        return ef_fail_memory(error);
    p->inputs = inputs;
    p->targets = targets;
    for (; p->n_targets < n; p->n_targets++) {
        const uint32_t column = ef_read_u32(r);
        if (column >= d || !ef_segmented_is_input(p, column))
            return ef_fail_published(error, "its targets");
        targets[p->n_targets] = column;
    }
    for (uint32_t j = 0; j < d; j++)
        if (ef_segmented_is_input(p, j))
            inputs[p->n_inputs++] = j;
    return EFFACE_OK;
}

static efface_status read_regressions(ef_decoder *r, predictor *p, efface_error *error) {
    const uint32_t n_segments = ef_read_u32(r);
    const size_t n_row = 1 + (size_t)p->n_inputs;
    if (n_segments > r->n_bytes / 8 / n_row / p->n_targets)
        return ef_fail_published(error, "the number of its segments");
    p->read = ef_regressions_make(n_segments, p->n_targets, p->n_inputs);
    if (p->read == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < (size_t)n_segments * p->n_targets; i++) {
        double *const coefficients = p->read->coefficients + i * p->n_inputs;
        p->read->intercepts[i] = ef_read_f64(r);
        for (uint32_t j = 0; j < p->n_inputs; j++)
            coefficients[j] = ef_read_f64(r);
    }
    return EFFACE_OK;
}

efface_status ef_segmented_read_predictor(ef_decoder *r, uint32_t d, void **out,
                                          efface_error *error) {
    predictor *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    efface_status status = read_targets(r, d, p, error);
    EF_THEN(status, read_regressions(r, p, error));
    EF_THEN(status, ef_kmeans_read_predictor(r, d, &p->dividers, error));
    if (status == EFFACE_OK) {
        p->by = *(const ef_kmeans_predictor *)p->dividers;
        if (p->by.n_clusters != p->read->n_segments)
            status = ef_fail_published(error, "the number of its segments");
    }
    if (status == EFFACE_OK)
        *out = p;
    else
        ef_segmented_free_predictor(p);
    return status;
}

void ef_segmented_free_predictor(void *of) {
    predictor *const p = of;
    if (p->dividers != NULL)
        ef_kmeans_free_predictor(p->dividers);
    ef_regressions_free(p->read);
    ef_free(p->columns);
    ef_free(p);
}

/* ---------------------------------------------------------------- rows */

efface_predicts ef_segmented_predicts(const void *of, uint32_t *n_numbers) {
    const predictor *const p = of;
    *n_numbers = p->by.n_clusters != 0 ? p->n_targets : 0;
    return EFFACE_PREDICTS_VALUES;
}

/* Room for some rows. */
typedef struct room {
    float *rows; /* with targets of 0, as k-means has them */
    uint32_t *segments;
    double *inputs; /* of one row */
    void *block;
} room;

static efface_status find_some(const predictor *p, float *rows, size_t n, const float *values,
                               size_t stride, uint32_t *segments, efface_error *error) {
    const uint32_t d = p->by.domain.map.n_columns;
    for (size_t i = 0; i < n; i++) {
        memcpy(rows + i * d, values + i * stride, d * sizeof *rows);
        for (uint32_t k = 0; k < p->n_targets; k++)
            rows[i * d + p->targets[k]] = 0.0F;
    }
    return ef_kmeans_predict_labels(&p->by, n, rows, segments, error);
}

static efface_status fail_no_segments(efface_error *error) {
    return ef_fail(error, EFFACE_E_ARGUMENT,
                   "the model has no rows, so it has no segments; learn rows first");
}

efface_status ef_segmented_find(const void *of, size_t n_rows, const float *values, size_t stride,
                                uint32_t *segments, efface_error *error) {
    const predictor *const p = of;
    const size_t most = n_rows < ROWS_AT_A_TIME ? n_rows : ROWS_AT_A_TIME;
    if (p->by.n_clusters == 0)
        return fail_no_segments(error);
    if (n_rows == 0)
        return EFFACE_OK;
    size_t n_floats;
    float *const rows = ef_mul_size(most, p->by.domain.map.n_columns, &n_floats)
                            ? ef_alloc(n_floats, sizeof *rows)
                            : NULL;
    efface_status status = rows != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = 0; i < n_rows && status == EFFACE_OK; i += most) {
        const size_t n = n_rows - i < most ? n_rows - i : most;
        status = find_some(p, rows, n, values + i * stride, stride, segments + i, error);
    }
    ef_free(rows);
    return status;
}

static efface_status predict_some(const predictor *p, const ef_regressions *r, const room *at,
                                  size_t n, const float *values, size_t stride,
                                  efface_number *numbers, efface_error *error) {
    const uint32_t d = p->by.domain.map.n_columns;
    const efface_status status = find_some(p, at->rows, n, values, stride, at->segments, error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        for (uint32_t j = 0; j < p->n_inputs; j++)
            at->inputs[j] = (double)at->rows[i * d + p->inputs[j]];
        for (uint32_t k = 0; k < p->n_targets; k++) {
            const size_t row = (size_t)at->segments[i] * p->n_targets + k;
            numbers[i * p->n_targets + k].real =
                r->intercepts[row] +
                ef_dot(r->coefficients + row * p->n_inputs, at->inputs, p->n_inputs);
        }
    }
    return status;
}

efface_status ef_segmented_predict(const void *of, size_t n_rows, const float *values,
                                   size_t stride, efface_number *numbers, efface_error *error) {
    const predictor *const p = of;
    const size_t d = p->by.domain.map.n_columns;
    const size_t most = n_rows < ROWS_AT_A_TIME ? n_rows : ROWS_AT_A_TIME;
    const ef_regressions *r = NULL;
    if (p->by.n_clusters == 0)
        return fail_no_segments(error);
    efface_status status = find_regressions(p, &r, error);
    if (status != EFFACE_OK)
        return status;
    room at = {0};
    const ef_array arrays[] = {{&at.rows, most * d, sizeof *at.rows},
                               {&at.segments, most, sizeof *at.segments},
                               {&at.inputs, p->n_inputs, sizeof *at.inputs}};
    at.block = EF_ARRAYS_TAKE(arrays, false);
    if (at.block == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n_rows && status == EFFACE_OK; i += most) {
        const size_t n = n_rows - i < most ? n_rows - i : most;
        status = predict_some(p, r, &at, n, values + i * stride, stride, numbers + i * p->n_targets,
                              error);
    }
    ef_free(at.block);
    return status;
}

/* ---------------------------------------------------------------- tables */

enum { CENTROIDS, COEFFICIENTS, SEGMENTS, N_TABLES };

bool ef_segmented_table(const void *of, uint32_t number, efface_table *table) {
    static const char *const names[] = {"intercept"}, *const counts[] = {"rows", "weight"};
    const predictor *const p = of;
    const uint64_t k = p->by.n_clusters;
    const efface_table tables[N_TABLES] = {
        {.name = "centroids",
         .row_name = "segment",
         .n_rows = k,
         .n_columns = p->n_inputs,
         .columns = p->inputs},
        {.name = "coefficients",
         .row_name = "row",
         .n_rows = k * p->n_targets,
         .n_columns = p->n_inputs + 1,
         .n_named = 1,
         .names = names,
         .columns = p->inputs},
        {.name = "segments",
         .row_name = "segment",
         .n_rows = k,
         .n_columns = 2,
         .n_named = 2,
         .names = counts},
    };
    if (number >= N_TABLES || (number == SEGMENTS && p->of == NULL))
        return false;
    *table = tables[number];
    return true;
}

static efface_status read_centroid(const predictor *p, uint64_t segment, const double *offsets,
                                   double *values, efface_error *error) {
    const uint32_t d = p->by.domain.map.n_columns;
    double *const coordinates = ef_alloc(d, sizeof *coordinates);
    if (coordinates == NULL)
        return ef_fail_memory(error);
    ef_domain_coordinates(&p->by.domain, p->by.centers + segment * d, coordinates);
    for (uint32_t j = 0; j < p->n_inputs; j++)
        values[j] = coordinates[p->inputs[j]] + (offsets != NULL ? offsets[p->inputs[j]] : 0.0);
    ef_free(coordinates);
    return EFFACE_OK;
}

efface_status ef_segmented_read_table(const void *of, uint32_t number, uint64_t row,
                                      const double *offsets, double *values, efface_error *error) {
    const predictor *const p = of;
    const ef_regressions *r = NULL;
    if (number == CENTROIDS)
        return read_centroid(p, row, offsets, values, error);
    if (number == SEGMENTS) {
        values[0] = (double)p->of->segments[row].n_rows;
        values[1] = (double)p->of->segments[row].weight;
        return EFFACE_OK;
    }
    const efface_status status = find_regressions(p, &r, error);
    if (status != EFFACE_OK)
        return status;
    const double *const coefficients = r->coefficients + row * p->n_inputs;
    memcpy(values + 1, coefficients, p->n_inputs * sizeof *values);
    /* y - y0 = b + w (x - x0), y0 and x0 being offsets. */
    values[0] = r->intercepts[row];
    for (uint32_t j = 0; offsets != NULL && j < p->n_inputs; j++)
        values[0] -= coefficients[j] * offsets[p->inputs[j]];
    if (offsets != NULL)
        values[0] += offsets[p->targets[row % p->n_targets]];
    return EFFACE_OK;
}
