/* Views that tell classes apart: ridge, naive Bayes, linear and quadratic discriminants. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/matrix.h"
#include "base/random/tape.h"
#include "model/sums/views/regression.h"
#include "model/sums/views/views.h"

#include <math.h>

#define LOG_TWO_PI 0x1.d67f1c864beb5p+0

/* Returns the mean of a term in a class, in the units of the data. */
static double class_mean(const ef_sums *of, uint32_t class_number, uint32_t term) {
    const uint32_t point = of->coordinates.term_points[term];
    const ef_moments *const m = &of->classes[class_number];
    return (double)m->sums[point] / (double)m->weight *
           ef_coordinates_unit(&of->coordinates, point);
}

/* Fills in the probability of each class before a row is looked at, and the weight of its rows. */
static void find_priors(const ef_sums *of, const double *given, ef_view *v) {
    for (uint32_t c = 0; c < v->n_outputs; c++) {
        const double weight = (double)of->classes[c].weight;
        v->priors[2 * c] = given != NULL ? given[c] : weight / (double)of->all.weight;
        v->priors[2 * c + 1] = weight / of->params->weight_unit;
    }
}

/* ---------------------------------------------------------------- ridge */

/* For each class a regression on 1 for its rows and -1 for all others. The right-hand sides are
 * sums of x y, and follow exactly from the sums by class: no pass over rows. */
efface_status ef_view_ridge(const ef_sums *of, const ef_look *look, ef_view *v,
                            efface_error *error) {
    const ef_coordinates *const c = &of->coordinates;
    const ef_moments *const all = &of->all;
    const uint32_t n = v->n_terms;
    const ef_regression regression = {.moments = all,
                                      .coordinates = c,
                                      .params = look->linear,
                                      .weight_unit = of->params->weight_unit};
    for (uint32_t k = 0; k < v->n_outputs; k++)
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t point = c->term_points[j];
            const ef_moments *const m = &of->classes[k];
            /* With y = 1 or -1, N (sum of x y) - (sum of x) (sum of y). */
            const ef_u128 centred = (ef_u128)((ef_i128)all->weight * m->sums[point]) -
                                    (ef_u128)((ef_i128)m->weight * all->sums[point]);
            const ef_i128 plain = 2 * (ef_i128)m->sums[point] - all->sums[point];
            v->weights[(size_t)k * n + j] = look->linear.intercept
                                                ? 2.0 * ef_i128_to_double((ef_i128)centred)
                                                : ef_i128_to_double(plain);
        }
    const efface_status status =
        ef_regress_sides(&regression, v->weights, v->n_outputs, v->dropped, error);
    const double weight = (double)all->weight;
    for (uint32_t k = 0; status == EFFACE_OK && look->linear.intercept && k < v->n_outputs; k++) {
        double constant = (2.0 * (double)of->classes[k].weight - weight) / weight;
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t point = c->term_points[j];
            constant -= v->weights[(size_t)k * n + j] *
                        ((double)all->sums[point] / weight * ef_coordinates_unit(c, point));
        }
        v->constants[k] = constant;
    }
    return status;
}

/* ---------------------------------------------------------------- naive Bayes */

double ef_sums_variance(const ef_sums *of, uint32_t point) {
    ef_moments total = {.n = 1, .summed = EFFACE_SUMMED_DIAGONAL};
    ef_i128 square = 0;
    int64_t sum = of->all.sums[point];
    for (uint32_t c = 0; c < of->n_classes; c++)
        square =
            (ef_i128)((ef_u128)square + (ef_u128)ef_moments_product(&of->classes[c], point, point));
    total.weight = of->all.weight;
    total.sums = &sum;
    total.products = &square;
    const double weight = (double)total.weight;
    return ef_i128_to_double(ef_moments_centred(&total, 0, 0)) / weight / weight;
}

efface_status ef_view_bayes(const ef_sums *of, const ef_look *look, ef_view *v,
                            efface_error *error) {
    const ef_coordinates *const c = &of->coordinates;
    const uint32_t n = v->n_terms;
    double largest = 0.0;
    (void)error;
    /* Smoothing is a part of the largest variance of any term, over all rows of all classes. */
    for (uint32_t j = 0; j < n; j++) {
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        const double variance = ef_sums_variance(of, of->coordinates.term_points[j]) * u * u;
        largest = variance > largest ? variance : largest;
    }
    find_priors(of, look->bayes.priors, v);
    for (uint32_t k = 0; k < v->n_outputs; k++) {
        const ef_moments *const m = &of->classes[k];
        const double weight = (double)m->weight;
        double constant = ef_log(v->priors[2 * k]);
        for (uint32_t j = 0; j < n; j++) {
            const size_t at = (size_t)k * n + j;
            const uint32_t point = c->term_points[j];
            const double u = ef_coordinates_unit(c, point);
            const double own =
                ef_i128_to_double(ef_moments_centred(m, point, point)) / weight / weight * u * u;
            /* If no feature varies, none tells anything of the class. */
            const double variance = largest > 0.0 ? own + look->bayes.smoothing * largest : 1.0;
            v->centers[at] = class_mean(of, k, j);
            v->variances[at] = variance;
            v->weights[at] = 1.0 / sqrt(variance);
            constant -= 0.5 * (LOG_TWO_PI + ef_log(variance));
        }
        v->constants[k] = constant;
    }
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- linear discriminants */

/* The sum of products around the means of classes: Q minus the sum of S_c S_c / N_c. Quotients are
 * subtracted as integers, and their fractions in the order of classes. */
static double within(const ef_sums *of, uint32_t j, uint32_t l) {
    ef_u128 whole = (ef_u128)ef_moments_product(&of->all, j < l ? j : l, j < l ? l : j);
    double fractions = 0.0;
    for (uint32_t c = 0; c < of->n_classes; c++) {
        const ef_moments *const m = &of->classes[c];
        const ef_i128 product = (ef_i128)m->sums[j] * m->sums[l];
        ef_i128 quotient = product / m->weight;
        int64_t rest = (int64_t)(product % m->weight);
        if (rest < 0) {
            quotient -= 1;
            rest += m->weight;
        }
        whole -= (ef_u128)quotient;
        fractions += (double)rest / (double)m->weight;
    }
    return ef_i128_to_double((ef_i128)whole) - fractions;
}

/* The covariance matrix within classes, in units of the grid, as what is to be factored. */
static void fill_within(const ef_sums *of, const ef_look *look, double *lower, uint32_t n) {
    const ef_coordinates *const c = &of->coordinates;
    const double shrinkage = look->discriminant.shrinkage;
    const double rows = (double)of->all.weight;
    const bool standard = look->discriminant.scale == EFFACE_SCALE_STANDARD;
    double trace = 0.0;
    for (uint32_t j = 0; j < n; j++) {
        double *const row = lower + (size_t)j * n;
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        const double all = standard ? ef_moments_variance(&of->all, c->term_points[j]) : 0.0;
        for (uint32_t l = 0; l <= j; l++)
            row[l] = within(of, c->term_points[j], c->term_points[l]) / rows;
        trace += !standard ? row[j] * u * u : all > 0.0 ? row[j] / all : 0.0;
    }
    for (uint32_t j = 0; shrinkage > 0.0 && j < n; j++) {
        double *const row = lower + (size_t)j * n;
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        /* Shrinks towards the mean variance, which is one number in the units of the data, or of
         * deviations; the matrix is in units of the grid, which differ from column to column. */
        for (uint32_t l = 0; l <= j; l++)
            row[l] *= 1.0 - shrinkage;
        row[j] += standard
                      ? shrinkage * (trace / n) * ef_moments_variance(&of->all, c->term_points[j])
                      : shrinkage * (trace / n) / (u * u);
    }
}

static efface_status find_linear(const ef_sums *of, const ef_look *look, ef_view *v,
                                 efface_error *error) {
    const ef_coordinates *const c = &of->coordinates;
    const uint32_t n = v->n_terms;
    ef_cholesky factor = {0};
    double *const away = ef_alloc(n, sizeof *away);
    if (away == NULL || !ef_cholesky_init(&factor, n)) {
        ef_free(away);
        return ef_fail_memory(error);
    }
    /* All classes share one covariance matrix, so it is factored once. */
    fill_within(of, look, factor.lower, n);
    (void)ef_cholesky_factor(&factor);
    for (uint32_t k = 0; k < v->n_outputs; k++) {
        const ef_moments *const m = &of->classes[k];
        double *const weights = v->weights + (size_t)k * n;
        /* How far the mean of the class is from that of all rows: exact except for one rounding. To
         * subtract two rounded means would lose what distinguishes classes that lie close. */
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t point = c->term_points[j];
            const ef_u128 difference = (ef_u128)((ef_i128)of->all.weight * m->sums[point]) -
                                       (ef_u128)((ef_i128)m->weight * of->all.sums[point]);
            away[j] =
                ef_i128_to_double((ef_i128)difference) / (double)m->weight / (double)of->all.weight;
        }
        ef_cholesky_solve(&factor, away, weights);
        double constant = ef_log(v->priors[2 * k]) - 0.5 * ef_dot(away, weights, n);
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t point = c->term_points[j];
            constant -= weights[j] * ((double)of->all.sums[point] / (double)of->all.weight);
            v->means[(size_t)k * n + j] = class_mean(of, k, j);
            weights[j] /= ef_coordinates_unit(c, point);
        }
        v->constants[k] = constant;
    }
    for (uint32_t j = 0; j < n; j++)
        v->dropped[j] = factor.dropped[j];
    ef_cholesky_free(&factor);
    ef_free(away);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- quadratic discriminants */

/* The triangle F with F^T F = the inverse of the covariance matrix of a class, in the units of the
 * data; and the constant of the class. */
static void find_triangle(const ef_sums *of, const ef_look *look, uint32_t k, ef_cholesky *factor,
                          double *room, ef_view *v) {
    const ef_coordinates *const c = &of->coordinates;
    const uint32_t n = v->n_terms;
    const ef_moments *const m = &of->classes[k];
    const double weight = (double)m->weight;
    const double own = look->discriminant.shrinkage;
    double *const triangle = v->weights + (size_t)k * ((size_t)n * (n + 1) / 2);
    for (uint32_t j = 0; j < n; j++) {
        double *const row = factor->lower + (size_t)j * n;
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        for (uint32_t l = 0; l <= j; l++)
            row[l] =
                ef_i128_to_double(ef_moments_centred(m, c->term_points[l], c->term_points[j])) /
                weight / weight * (1.0 - own);
        row[j] += look->discriminant.scale == EFFACE_SCALE_STANDARD
                      ? own * ef_sums_variance(of, c->term_points[j])
                      : own / (u * u);
    }
    (void)ef_cholesky_factor(factor);
    /* The determinant is in units of the grid; the logarithms of the units are taken off below. */
    double constant = ef_log(v->priors[2 * k]) - 0.5 * ef_cholesky_log_determinant(factor);
    for (uint32_t j = 0; j < n; j++) {
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        /* Column j of the inverse factor is what a step along term j becomes. */
        for (uint32_t l = 0; l < n; l++)
            room[l] = l == j ? 1.0 : 0.0;
        ef_cholesky_forward(factor, room, room);
        for (uint32_t l = j; l < n; l++)
            triangle[(size_t)l * (l + 1) / 2 + j] =
                factor->dropped[j] || factor->dropped[l] ? 0.0 : room[l] / u;
        if (!factor->dropped[j])
            constant -= ef_log(u);
        v->dropped[j] |= factor->dropped[j];
    }
    v->constants[k] = constant;
}

static efface_status find_quadratic(const ef_sums *of, const ef_look *look, ef_view *v,
                                    efface_error *error) {
    const uint32_t n = v->n_terms;
    ef_cholesky factor = {0};
    double *const room = ef_alloc(n, sizeof *room);
    if (room == NULL || !ef_cholesky_init(&factor, n)) {
        ef_free(room);
        return ef_fail_memory(error);
    }
    for (uint32_t k = 0; k < v->n_outputs; k++) {
        for (uint32_t j = 0; j < n; j++)
            v->centers[(size_t)k * n + j] = class_mean(of, k, j);
        find_triangle(of, look, k, &factor, room, v);
    }
    ef_cholesky_free(&factor);
    ef_free(room);
    return EFFACE_OK;
}

efface_status ef_view_discriminant(const ef_sums *of, const ef_look *look, ef_view *v,
                                   efface_error *error) {
    find_priors(of, look->discriminant.priors, v);
    if (v->is_quadratic)
        return find_quadratic(of, look, v, error);
    const efface_status status = find_linear(of, look, v, error);
    return status == EFFACE_OK && look->more ? ef_view_find_directions(v, error) : status;
}
