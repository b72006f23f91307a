/* Sets of rows for tests of the views of sums, and reading their tables. Values are multiples of
 * 2^-12 below 16, so that the grid holds all of them as they are, and what a view gives can be
 * computed from the rows. For tests, which include this file after cmocka.h. */
#ifndef EF_SUMS_SCENE_H
#define EF_SUMS_SCENE_H

#include "efface/efface.h"
#include "law/draws.h"
#include "sums/plain_algebra.h"

#include <stdbool.h>

#define MOST_ROWS 400
#define MOST_COLUMNS PLAIN_MOST

/* A set, and the same in long double. */
typedef struct sums_set {
    size_t n;
    uint32_t d;
    float values[MOST_ROWS * MOST_COLUMNS];
    int64_t weights[MOST_ROWS], labels[MOST_ROWS];
    real x[MOST_ROWS * MOST_COLUMNS], y[MOST_ROWS], w[MOST_ROWS];
    int classes[MOST_ROWS];
    efface_data *data;
} sums_set;

static inline float on_lattice(float x) {
    return roundf(x * 0x1p12f) * 0x1p-12f;
}

/* Independent columns of different spreads and means. */
static inline void draw_set(sums_set *s, size_t n, uint32_t d, uint64_t seed) {
    assert_true(n <= MOST_ROWS && d <= MOST_COLUMNS);
    *s = (sums_set){.n = n, .d = d};
    rng_state = seed;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < d; j++) {
            float sum = -2.0f;
            for (int k = 0; k < 4; k++)
                sum += unit();
            s->values[i * d + j] =
                on_lattice(sum * (1.0f + 0.5f * (float)(j % 3)) + (float)(j % 5) - 1.5f);
        }
        s->weights[i] = 1;
        s->labels[i] = EFFACE_NO_LABEL;
    }
}

/* Makes a column follow some others, with noise. */
static inline void make_target(sums_set *s, uint32_t column) {
    for (size_t i = 0; i < s->n; i++) {
        float *const row = s->values + i * s->d;
        float sum = 0.75f + 0.5f * (unit() - 0.5f);
        for (uint32_t j = 0; j < s->d; j++)
            if (j != column)
                sum += row[j] * (0.5f - 0.125f * (float)((j + column) % 8));
        row[column] = on_lattice(sum);
    }
}

static inline void draw_weights(sums_set *s, int64_t most) {
    for (size_t i = 0; i < s->n; i++)
        s->weights[i] = 1 + (int64_t)below((uint64_t)most);
}

/* k classes, each a bit aside in every column, with the labels 10, 7, 4, ...: so that the order of
 * classes is not that of rows. `some`: one in nine rows has none. */
static inline int64_t label_of(int number) {
    return 10 - 3 * (int64_t)number;
}

static inline void draw_classes(sums_set *s, int k, bool some) {
    for (size_t i = 0; i < s->n; i++) {
        const int number = (int)below((uint64_t)k);
        s->labels[i] = some && one_in(9) ? EFFACE_NO_LABEL : label_of(number);
        for (uint32_t j = 0; j < s->d; j++) {
            float *const x = &s->values[i * s->d + j];
            const float widen = 1.0f + 0.25f * (float)((number + (int)j) % 3);
            *x = on_lattice(*x * widen + 0.75f * (float)((number * 3 + (int)j) % 4));
        }
    }
}

static inline void make_data(sums_set *s) {
    const efface_rows rows = {
        .n_rows = s->n, .values = s->values, .weights = s->weights, .labels = s->labels};
    efface_data_free(s->data);
    s->data = NULL;
    assert_int_equal(efface_data_create(s->d, &s->data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(s->data, &rows, NULL), EFFACE_OK);
}

static inline void free_set(sums_set *s) {
    efface_data_free(s->data);
}

static inline bool is_listed(const uint32_t *list, size_t n, uint32_t column) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == column)
            return true;
    return false;
}

/* The rows in long double with columns left out, one of them as the target if it is one, weights in
 * units, and an offset added to each column if offsets are given. Classes are numbered in the order
 * of labels. */
static inline plain_rows plain_of(sums_set *s, const uint32_t *left_out, size_t n_out,
                                  uint32_t target, int64_t unit_weight, const double *offsets) {
    int64_t sorted[MOST_ROWS];
    int n_classes = 0;
    size_t p = 0;
    for (size_t i = 0; i < s->n; i++) {
        int at = 0;
        while (at < n_classes && sorted[at] < s->labels[i])
            at++;
        if (s->labels[i] == EFFACE_NO_LABEL || (at < n_classes && sorted[at] == s->labels[i]))
            continue;
        memmove(sorted + at + 1, sorted + at, (size_t)(n_classes - at) * sizeof *sorted);
        sorted[at] = s->labels[i];
        n_classes++;
    }
    for (size_t i = 0; i < s->n; i++) {
        p = 0;
        for (uint32_t j = 0; j < s->d; j++) {
            const real value =
                (real)s->values[i * s->d + j] + (offsets != NULL ? (real)offsets[j] : 0.0L);
            if (j == target)
                s->y[i] = value;
            else if (!is_listed(left_out, n_out, j))
                s->x[i * MOST_COLUMNS + p++] = value;
        }
        s->w[i] = (real)s->weights[i] / (real)unit_weight;
        s->classes[i] = -1;
        for (int c = 0; c < n_classes; c++)
            if (sorted[c] == s->labels[i])
                s->classes[i] = c;
    }
    for (size_t i = 0; i < s->n; i++)
        memmove(s->x + i * p, s->x + i * MOST_COLUMNS, p * sizeof *s->x);
    return (plain_rows){
        .n = s->n, .p = p, .x = s->x, .y = s->y, .weights = s->w, .classes = s->classes};
}

/* Takes from features their means and divides them by their deviations, over the rows of all classes
 * (-1) or all rows (-2). Gives what they were. */
static inline plain_class standardize(sums_set *s, const plain_rows *r, int which,
                                      real deviations[PLAIN_MOST]) {
    const plain_class all = plain_moments(r, which);
    for (size_t j = 0; j < r->p; j++) {
        const real variance = all.scatter[j][j] / all.weight;
        deviations[j] = variance > 0.0L ? sqrtl(variance) : 1.0L;
        for (size_t i = 0; i < r->n; i++)
            s->x[i * r->p + j] = (s->x[i * r->p + j] - all.mean[j]) / deviations[j];
    }
    return all;
}

/* ---------------------------------------------------------------- models */

static inline efface_sums_params params_of(efface_view view) {
    efface_sums_params p;
    efface_sums_params_init(&p);
    p.view = view;
    p.common.n_threads = 1;
    return p;
}

static inline efface_model *fit_sums(const sums_set *s, const efface_sums_params *params) {
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    if (efface_sums_fit(s->data, params, &model, &error) != EFFACE_OK)
        fail_msg("no fit: %s", error.message);
    return model;
}

/* ---------------------------------------------------------------- tables */

#define MOST_CELLS 64

/* A row of a table: what stands in columns of the model, and in columns with names. */
typedef struct table_row {
    double at[MOST_CELLS]; /* by column of the model, or by part; NaN where there is none */
    double named[8];
    const char *names[8];
    uint32_t n_named, n_parts;
    uint64_t n_rows;
    int64_t id;
} table_row;

static inline table_row read_row(const efface_model *model, const efface_predictor *predictor,
                                 const char *name, uint64_t row, const double *offsets) {
    efface_table t;
    double values[MOST_CELLS];
    table_row out = {.n_named = 0};
    efface_error error = {.message = ""};
    const bool found =
        (model != NULL
             ? efface_predictor_find_table(efface_model_predictor(model), name, &t, &error)
             : efface_predictor_find_table(predictor, name, &t, &error)) == EFFACE_OK;
    if (!found)
        fail_msg("no table %s: %s", name, error.message);
    assert_true(t.n_columns <= MOST_CELLS && t.n_named <= 8);
    if ((model != NULL ? efface_predictor_read_table(efface_model_predictor(model), name, row,
                                                     offsets, values, &error)
                       : efface_predictor_read_table(predictor, name, row, NULL, values, &error)) !=
        EFFACE_OK)
        fail_msg("no row of table %s: %s", name, error.message);
    out.n_rows = t.n_rows;
    out.id = t.row_ids != NULL ? t.row_ids[row] : (int64_t)row;
    out.n_named = t.n_named;
    out.n_parts = t.n_columns - t.n_named;
    for (uint32_t i = 0; i < MOST_CELLS; i++)
        out.at[i] = (double)NAN;
    for (uint32_t i = 0; i < t.n_named; i++) {
        out.named[i] = values[i];
        out.names[i] = t.names[i];
    }
    for (uint32_t i = 0; i < out.n_parts; i++)
        out.at[t.columns != NULL ? t.columns[i] : i] = values[t.n_named + i];
    return out;
}

static inline void check_close(double got, real want, real scale, const char *what, size_t which) {
    if (!(fabsl((real)got - want) <= 1e-9L * (fabsl(want) + scale)))
        fail_msg("%s %zu: %.17g instead of %.17Lg", what, which, got, want);
}

#endif
