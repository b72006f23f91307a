/*
 * The predictor of a logistic model: its classes and a linear function for each run. Its bytes have
 * no sum, no row and no id:
 *
 *     u32  loss
 *     u32  number of classes, and their labels, 64 bits each
 *     f64  for each function: the intercept, then a coefficient for each column
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/elementary.h"
#include "model/logistic/logistic.h"
#include "model/logistic/losses.h"

#include <math.h>
#include <string.h>

typedef struct predictor {
    const ef_logistic *of; /* a state, or NULL: it was read, and has its own: */
    double *functions;     /* n_runs times 1 + n_columns */
    int64_t *own_labels;
    efface_loss loss;
    uint32_t n_columns, n_classes, n_runs;
    const int64_t *labels;
} predictor;

_Static_assert(sizeof(predictor) <= sizeof(ef_lent), "there is room for one");

void ef_logistic_lend(const void *state, ef_lent *room) {
    const ef_logistic *const s = state;
    const predictor lent = {.of = s,
                            .loss = s->params->loss,
                            .n_columns = s->coordinates.n_columns,
                            .n_classes = s->counts.n_classes,
                            .n_runs = s->n_runs,
                            .labels = s->counts.labels};
    memcpy(room, &lent, sizeof lent);
}

bool ef_logistic_predicts_hinge(const void *by) {
    return ((const predictor *)by)->loss == EFFACE_LOSS_SQUARED_HINGE;
}

/* The function of a run in the units of the data. */
static void read_function(const predictor *p, uint32_t run, double *function) {
    const size_t n = (size_t)p->n_columns + 1;
    if (p->of != NULL)
        ef_logistic_coefficients(p->of, run, function);
    else
        memcpy(function, p->functions + run * n, n * sizeof *function);
}

/* ---------------------------------------------------------------- bytes */

void ef_logistic_write_predictor(ef_writer *w, const void *by) {
    const predictor *const p = by;
    double *const function = ef_alloc((size_t)p->n_columns + 1, sizeof *function);
    w->failed |= function == NULL;
    ef_write_u32(w, (uint32_t)p->loss);
    ef_write_u32(w, p->n_classes);
    for (uint32_t c = 0; c < p->n_classes; c++)
        ef_write_u64(w, (uint64_t)p->labels[c]);
    for (uint32_t run = 0; function != NULL && run < p->n_runs; run++) {
        read_function(p, run, function);
        for (uint32_t j = 0; j <= p->n_columns; j++)
            ef_write_f64(w, function[j]);
    }
    ef_free(function);
}

static efface_status read_body(ef_decoder *r, predictor *p, efface_error *error) {
    const uint32_t loss = ef_read_u32(r);
    p->n_classes = ef_read_u32(r);
    p->loss = (efface_loss)loss;
    p->n_runs = ef_logistic_n_runs(p->n_classes);
    const size_t n = (size_t)p->n_columns + 1;
    if (r->failed || loss > EFFACE_LOSS_SQUARED_HINGE || !ef_decoder_has(r, p->n_classes, 8) ||
        p->n_runs > r->n_bytes / 8 / n)
        return ef_fail_published(error, "its size");
    p->own_labels = ef_alloc(p->n_classes, sizeof *p->own_labels);
    p->functions = ef_alloc(p->n_runs, n * sizeof *p->functions);
    if (p->own_labels == NULL || p->functions == NULL)
        return ef_fail_memory(error);
    p->labels = p->own_labels;
    for (uint32_t c = 0; c < p->n_classes; c++) {
        p->own_labels[c] = (int64_t)ef_read_u64(r);
        if (p->labels[c] == EFFACE_NO_LABEL || (c != 0 && p->labels[c] <= p->labels[c - 1]))
            return ef_fail_published(error, "a class");
    }
    for (size_t i = 0; i < p->n_runs * n; i++)
        p->functions[i] = ef_read_f64(r);
    return r->failed ? ef_fail_published(error, "it ends too early") : EFFACE_OK;
}

efface_status ef_logistic_read_predictor(ef_decoder *r, uint32_t d, void **out,
                                         efface_error *error) {
    predictor *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    p->n_columns = d;
    const efface_status status = read_body(r, p, error);
    if (status == EFFACE_OK)
        *out = p;
    else
        ef_logistic_free_predictor(p);
    return status;
}

void ef_logistic_free_predictor(void *by) {
    predictor *const p = by;
    ef_free(p->own_labels);
    ef_free(p->functions);
    ef_free(p);
}

/* ---------------------------------------------------------------- answers */

efface_predicts ef_logistic_predicts(const void *by, uint32_t *n_numbers) {
    *n_numbers = ((const predictor *)by)->n_classes != 0 ? 1 : 0;
    return EFFACE_PREDICTS_CLASSES;
}

uint32_t ef_logistic_classes(const void *by, int64_t *classes, size_t capacity) {
    const predictor *const p = by;
    for (uint32_t c = 0; c < p->n_classes && c < capacity; c++)
        classes[c] = p->labels[c];
    return p->n_classes;
}

/* Functions to ask rows by. */
typedef struct asking {
    const predictor *p;
    double *functions;
} asking;

static efface_status begin_asking(asking *a, const predictor *p, efface_error *error) {
    const size_t n = (size_t)p->n_columns + 1;
    *a = (asking){.p = p};
    if (p->n_classes == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the model cannot predict: no row that has a class is left");
    a->functions = ef_alloc(p->n_runs, n * sizeof *a->functions);
    if (a->functions == NULL)
        return ef_fail_memory(error);
    for (uint32_t run = 0; run < p->n_runs; run++)
        read_function(p, run, a->functions + run * n);
    return EFFACE_OK;
}

/* The value for each class: that of its function; of two, the one has the other's with a minus. */
static void decide(const asking *a, const float *row, double *values) {
    const predictor *const p = a->p;
    const uint32_t first = p->n_classes - p->n_runs;
    values[0] = 0.0;
    for (uint32_t run = 0; run < p->n_runs; run++) {
        const double *const function = a->functions + run * ((size_t)p->n_columns + 1);
        double z = function[0];
        for (uint32_t j = 0; j < p->n_columns; j++)
            z += function[j + 1] * (double)row[j];
        values[first + run] = z;
    }
    if (p->n_classes == 2)
        values[0] = -values[1];
}

static double chance_of(double z) {
    const double u = ef_exp(z < 0.0 ? z : -z);
    return (z < 0.0 ? u : 1.0) / (1.0 + u);
}

/* Of several classes, each against all others, the chances are made to sum to 1. */
static void find_chances(const predictor *p, double *values) {
    const uint32_t n = p->n_classes;
    double sum = 0.0;
    if (n == 1) {
        values[0] = 1.0;
        return;
    }
    for (uint32_t c = 0; c < n; c++) {
        values[c] = chance_of(values[c]);
        sum += values[c];
    }
    for (uint32_t c = 0; n > 2 && c < n; c++)
        values[c] = sum > 0.0 ? values[c] / sum : 1.0 / (double)n;
    if (n == 2)
        values[0] = 1.0 - values[1];
}

efface_status ef_logistic_predict(const void *by, size_t n_rows, const float *values, size_t stride,
                                  efface_number *numbers, efface_error *error) {
    const predictor *const p = by;
    asking a;
    efface_status status = begin_asking(&a, p, error);
    double *const of_classes = ef_alloc(p->n_classes, sizeof *of_classes);
    if (status == EFFACE_OK && of_classes == NULL)
        status = ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < n_rows; i++) {
        uint32_t best = 0;
        decide(&a, values + i * stride, of_classes);
        for (uint32_t c = 1; c < p->n_classes; c++)
            if (of_classes[c] > of_classes[best])
                best = c;
        numbers[i].whole = p->labels[best];
    }
    ef_free(of_classes);
    ef_free(a.functions);
    return status;
}

efface_status ef_logistic_score(const void *by, efface_scores scores, size_t n_rows,
                                const float *values, size_t stride, double *numbers,
                                efface_error *error) {
    const predictor *const p = by;
    asking a;
    if (scores == EFFACE_SCORES_PROBABILITIES && p->loss == EFFACE_LOSS_SQUARED_HINGE)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a linear support vector machine has no probabilities; ask for decisions");
    const efface_status status = begin_asking(&a, p, error);
    for (size_t i = 0; status == EFFACE_OK && i < n_rows; i++) {
        decide(&a, values + i * stride, numbers + i * p->n_classes);
        if (scores == EFFACE_SCORES_PROBABILITIES)
            find_chances(p, numbers + i * p->n_classes);
    }
    ef_free(a.functions);
    return status;
}

/* ---------------------------------------------------------------- tables */

enum { COEFFICIENTS, QUALITY, ERRORS };

bool ef_logistic_table(const void *by, uint32_t number, efface_table *table) {
    static const char *const names[] = {"coefficients", "quality", "errors"};
    static const char *const intercept[] = {"intercept"};
    static const char *const quality[] = {"loss", "penalty", "steps", "width"};
    const predictor *const p = by;
    const uint32_t n_tables = p->of == NULL ? 1 : p->loss == EFFACE_LOSS_LOGISTIC ? 3 : 2;
    if (number >= n_tables)
        return false;
    *table = (efface_table){.name = names[number],
                            .row_name = "class",
                            .rows = EFFACE_TABLE_CLASSES,
                            .row_ids = ef_logistic_of_runs(p->n_classes, p->labels),
                            .n_rows = p->n_runs,
                            .n_columns = number == QUALITY ? 4 : p->n_columns + 1,
                            .n_named = number == QUALITY ? 4 : 1,
                            .names = number == QUALITY ? quality : intercept};
    return true;
}

static ef_walk_rules rules_of(const ef_logistic *s) {
    return (ef_walk_rules){&s->lattice, s->params->loss, s->params->steps};
}

static void read_quality(const ef_logistic *s, uint32_t run, double *values) {
    const ef_newton_run *const r = &s->runs[run];
    const int bits = ef_loss_bits(s->params->loss);
    const double unit = ef_power_of_two(-bits) / (double)s->params->weight_unit;
    uint32_t steps = 0;
    for (uint32_t i = 1; i < r->n_points; i++)
        steps += r->points[i].is_level;
    values[0] = ef_i128_to_double(r->points[r->last].loss) * unit;
    values[1] = ef_i128_to_double(ef_lattice_penalty(&s->lattice, r->coefficients, bits)) * unit;
    values[2] = (double)steps;
    values[3] = ef_logistic_width(s);
}

/* Standard errors: the square roots of the diagonal of the inverse of the curvature. That of the
 * intercept holds where the columns are 0, which is elsewhere with offsets. */
static efface_status read_errors(const ef_logistic *s, uint32_t run, const double *offsets,
                                 double *values, efface_error *error) {
    const ef_newton_run *const r = &s->runs[run];
    const ef_walk_rules rules = rules_of(s);
    const size_t n = s->n_terms;
    ef_cholesky factor = {0};
    double *const inverse = ef_alloc(n, n * sizeof *inverse);
    const bool ok = inverse != NULL && ef_level_factor(&rules, ef_run_bent(r), &factor);
    if (ok) {
        ef_cholesky_inverse(&factor, inverse);
        for (uint32_t j = 0; j < n; j++) {
            const int exponent = j != 0 ? s->coordinates.exponents[j - 1] : 0;
            values[j] = factor.dropped[j]
                            ? (double)NAN
                            : sqrt(inverse[j * n + j] * (double)s->params->weight_unit) *
                                  ef_power_of_two(-exponent);
        }
        for (uint32_t j = 0; offsets != NULL && j < s->coordinates.n_columns; j++)
            if (offsets[j] != 0.0)
                values[0] = (double)NAN;
    }
    ef_cholesky_free(&factor);
    ef_free(inverse);
    return ok ? EFFACE_OK : ef_fail_memory(error);
}

efface_status ef_logistic_read_table(const void *by, uint32_t number, uint64_t row,
                                     const double *offsets, double *values, efface_error *error) {
    const predictor *const p = by;
    if (number == QUALITY) {
        read_quality(p->of, (uint32_t)row, values);
        return EFFACE_OK;
    }
    if (number == ERRORS)
        return read_errors(p->of, (uint32_t)row, offsets, values, error);
    read_function(p, (uint32_t)row, values);
    for (uint32_t j = 0; offsets != NULL && j < p->n_columns; j++)
        values[0] -= values[j + 1] * offsets[j];
    return EFFACE_OK;
}
