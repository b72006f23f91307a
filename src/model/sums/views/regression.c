/*
 * Linear regression from exact sums.
 *
 * The equations come out of whole numbers: each element is one exact 128-bit integer, rounded to
 * double once. From there on everything is doubles in a fixed order, so that all machines get the
 * same bits (matrix.c). The equations stay in units of the grid; results are converted at the end.
 */
#include "model/sums/views/regression.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <math.h>
#include <string.h>

#define ROUNDING 0x1p-45 /* about a hundred units of the last place */

/* Notation: N weight, S sums, Q sums of products, u the unit of a coordinate. With an intercept the
 * equations are about C = N Q - S S, without one about Q; either is N' times the products of rows
 * in units of the grid, N' being N or 1. */

/* ---------------------------------------------------------------- equations */

static double times(const ef_regression *of) {
    return of->params.intercept ? (double)of->moments->weight : 1.0;
}

static double element(const ef_regression *of, uint32_t j, uint32_t l) {
    const uint32_t low = j < l ? j : l, high = j < l ? l : j;
    return ef_i128_to_double(of->params.intercept ? ef_moments_centred(of->moments, low, high)
                                                  : ef_moments_product(of->moments, low, high));
}

void ef_normal_equations_free(ef_normal_equations *e) {
    ef_cholesky_free(&e->factor);
    ef_free(e->penalties);
    ef_free(e->dropped);
    *e = (ef_normal_equations){0};
}

efface_status ef_normal_equations_init(ef_normal_equations *e, const ef_regression *of,
                                       efface_error *error) {
    const ef_coordinates *const c = of->coordinates;
    const uint32_t n = c->n_terms;
    const double alpha = of->params.alpha * of->weight_unit * times(of);
    *e = (ef_normal_equations){.penalties = ef_alloc(n, sizeof *e->penalties),
                               .dropped = ef_alloc_zero(n, 1)};
    if (e->penalties == NULL || e->dropped == NULL || !ef_cholesky_init(&e->factor, n)) {
        ef_normal_equations_free(e);
        return ef_fail_memory(error);
    }
    for (uint32_t j = 0; j < n; j++) {
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        double *const row = e->factor.lower + (size_t)j * n;
        for (uint32_t l = 0; l <= j; l++)
            row[l] = element(of, c->term_points[j], c->term_points[l]);
        /* A constant term: decided before the penalty hides it. */
        e->dropped[j] = row[j] == 0.0;
        /* alpha is per squared unit of the data, or deviation; the equations are in units of the
         * grid, times N'. */
        e->penalties[j] = of->params.scale == EFFACE_SCALE_STANDARD
                              ? alpha * ef_moments_variance(of->moments, c->term_points[j])
                              : alpha / (u * u);
        row[j] += e->penalties[j];
    }
    /* Terms that depend on those before them show up as tiny pivots, and get no coefficient. */
    (void)ef_cholesky_factor(&e->factor);
    for (uint32_t j = 0; j < n; j++)
        e->dropped[j] |= e->factor.dropped[j];
    return EFFACE_OK;
}

efface_status ef_regress_sides(const ef_regression *of, double *sides, uint32_t n_sides,
                               unsigned char *dropped, efface_error *error) {
    const ef_coordinates *const c = of->coordinates;
    const uint32_t n = c->n_terms;
    ef_normal_equations e;
    const efface_status status = ef_normal_equations_init(&e, of, error);
    if (status != EFFACE_OK)
        return status;
    for (uint32_t i = 0; i < n_sides; i++) {
        double *const side = sides + (size_t)i * n;
        ef_cholesky_solve(&e.factor, side, side);
        for (uint32_t j = 0; j < n; j++)
            side[j] = e.dropped[j] ? 0.0 : side[j] / ef_coordinates_unit(c, c->term_points[j]);
    }
    memcpy(dropped, e.dropped, n);
    ef_normal_equations_free(&e);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- one target */

/* How well a target is explained, in units of the grid and of the equations. */
typedef struct explained {
    double total;   /* squares around the mean */
    double rest;    /* squares of residuals */
    double freedom; /* its degrees */
} explained;

static explained explain(const ef_regression *of, const ef_normal_equations *e, uint32_t target,
                         const double *beta, const double *side) {
    const uint32_t n = of->coordinates->n_terms;
    const double weight = (double)of->moments->weight;
    double penalty = 0.0, n_kept = of->params.intercept ? 1.0 : 0.0;
    for (uint32_t j = 0; j < n; j++) {
        penalty += e->penalties[j] * beta[j] * beta[j];
        n_kept += e->dropped[j] ? 0.0 : 1.0;
    }
    const double around = ef_i128_to_double(ef_moments_centred(of->moments, target, target));
    /* The sum of squared residuals without a pass over rows: y'y - beta'X'y - beta'R beta. */
    const double rest = element(of, target, target) - ef_dot(beta, side, n) - penalty;
    return (explained){.total = of->params.intercept ? around : around / weight,
                       .rest = rest > 0.0 ? rest : 0.0,
                       .freedom = weight / of->weight_unit - n_kept};
}

/* What is left of the spread of a term when its penalties were taken from it; NaN if that is not
 * above the rounding errors. These grow with the spread times the diagonal element: 1 for a term
 * that no other resembles, and much more for one that nearly depends on others. */
static double after_penalties(const ef_regression *of, const ef_normal_equations *e, uint32_t term,
                              const double *row) {
    const uint32_t point = of->coordinates->term_points[term], n = of->coordinates->n_terms;
    const double before = row[term];
    double spread = before;
    for (uint32_t l = 0; l < n; l++)
        spread -= e->penalties[l] * row[l] * row[l];
    const double amplified = before * (element(of, point, point) + e->penalties[term]);
    return spread > before * amplified * ROUNDING ? spread : (double)NAN;
}

/* The standard errors of the intercept and the coefficients, in the units of the data. `inverse` is
 * that of the equations. With penalties R the variances are those of M C M, M being the inverse of
 * C + R: M - M R M. */
static void find_errors(const ef_regression *of, const ef_normal_equations *e,
                        const double *inverse, const explained *by, double target_unit,
                        double *room, double *errors) {
    const ef_coordinates *const c = of->coordinates;
    const uint32_t n = c->n_terms;
    const double weight = (double)of->moments->weight;
    /* The variance of residuals in squared units of the target's grid, for a row of weight 1. */
    const double variance =
        by->freedom > 0.0 ? by->rest / times(of) / of->weight_unit / by->freedom : (double)NAN;
    const double scale = variance * times(of) * of->weight_unit;
    double *const means = room, *const solved = room + n;
    for (uint32_t j = 0; j < n; j++) {
        const double *const row = inverse + (size_t)j * n;
        const double unit = ef_coordinates_unit(c, c->term_points[j]);
        const double spread = e->dropped[j]            ? (double)NAN
                              : of->params.alpha > 0.0 ? after_penalties(of, e, j, row)
                                                       : row[j];
        errors[1 + j] = sqrt(scale * spread) * target_unit / unit;
        /* A constant term would come in by its penalty, and go out again but for rounding. */
        means[j] = e->dropped[j] ? 0.0 : (double)of->moments->sums[c->term_points[j]] / weight;
    }
    /* The intercept is the mean of the target less that of the terms: the errors of both add up. */
    ef_cholesky_solve(&e->factor, means, solved);
    double spread = ef_dot(means, solved, n);
    for (uint32_t j = 0; j < n; j++)
        spread -= e->penalties[j] * solved[j] * solved[j];
    errors[0] =
        of->params.intercept
            ? sqrt(variance * of->weight_unit / weight + scale * (spread > 0.0 ? spread : 0.0)) *
                  target_unit
            : (double)NAN;
}

static void regress_one(const ef_regression *of, const ef_normal_equations *e, uint32_t number,
                        const double *inverse, double *room, const ef_regression_result *to) {
    const ef_coordinates *const c = of->coordinates;
    const uint32_t n = c->n_terms, target = c->target_points[number];
    const double unit = ef_coordinates_unit(c, target), weight = (double)of->moments->weight;
    double *const side = room, *const beta = room + n;
    double *const coefficients = to->coefficients + (size_t)number * n;
    for (uint32_t j = 0; j < n; j++)
        side[j] = element(of, c->term_points[j], target);
    ef_cholesky_solve(&e->factor, side, beta);
    /* The plane goes through the means, and so gives the intercept. */
    double intercept = (double)of->moments->sums[target] / weight * unit;
    for (uint32_t j = 0; j < n; j++) {
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        beta[j] = e->dropped[j] ? 0.0 : beta[j];
        coefficients[j] = beta[j] * unit / u;
        intercept -= coefficients[j] * ((double)of->moments->sums[c->term_points[j]] / weight * u);
    }
    to->intercepts[number] = of->params.intercept ? intercept : 0.0;
    if (to->quality == NULL)
        return;
    const explained by = explain(of, e, target, beta, side);
    double *const quality = to->quality + (size_t)number * 3;
    quality[0] = by.total > 0.0 ? 1.0 - by.rest / by.total : (double)NAN;
    quality[1] = by.freedom > 0.0 ? sqrt(by.rest / times(of) / of->weight_unit / by.freedom) * unit
                                  : (double)NAN;
    quality[2] = by.freedom;
    if (to->errors != NULL)
        find_errors(of, e, inverse, &by, unit, room + 2 * (size_t)n,
                    to->errors + (size_t)number * (n + 1));
}

efface_status ef_regress(const ef_regression *of, const ef_regression_result *to,
                         efface_error *error) {
    const uint32_t n = of->coordinates->n_terms;
    ef_normal_equations e;
    efface_status status = ef_normal_equations_init(&e, of, error);
    if (status != EFFACE_OK)
        return status;
    double *const room = ef_alloc(4 * (size_t)n, sizeof *room);
    double *const inverse = ef_alloc(to->errors != NULL ? (size_t)n * n : 0, sizeof *inverse);
    if (room == NULL || inverse == NULL) {
        status = ef_fail_memory(error);
    } else {
        if (to->errors != NULL)
            ef_cholesky_inverse(&e.factor, inverse);
        for (uint32_t i = 0; i < of->coordinates->n_targets; i++)
            regress_one(of, &e, i, inverse, room, to);
        if (to->dropped != NULL)
            memcpy(to->dropped, e.dropped, n);
    }
    ef_free(room);
    ef_free(inverse);
    ef_normal_equations_free(&e);
    return status;
}
