/* Principal components. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/matrix.h"
#include "model/sums/views/views.h"

#include <math.h>

/* The deviations of terms in the units of the data; 1 for one that is constant. */
static void find_deviations(const ef_sums *of, ef_view *v) {
    const ef_coordinates *const c = &of->coordinates;
    for (uint32_t j = 0; j < v->n_terms; j++) {
        const uint32_t point = c->term_points[j];
        const double variance = ef_moments_variance(&of->all, point);
        v->deviations[j] = variance > 0.0 ? sqrt(variance) * ef_coordinates_unit(c, point) : 1.0;
    }
}

/* The covariance matrix in the units of the data, or of deviations if they are given, by rows up to
 * the diagonal. */
static double fill_covariance(const ef_sums *of, const double *deviations, double *matrix,
                              uint32_t n) {
    const ef_coordinates *const c = &of->coordinates;
    const double weight = (double)of->all.weight, rest = weight - of->params->weight_unit;
    double trace = 0.0;
    for (uint32_t j = 0; j < n; j++) {
        const double u = ef_coordinates_unit(c, c->term_points[j]);
        for (uint32_t l = 0; l <= j; l++) {
            matrix[(size_t)j * n + l] =
                ef_i128_to_double(
                    ef_moments_centred(&of->all, c->term_points[l], c->term_points[j])) /
                weight / rest * u * ef_coordinates_unit(c, c->term_points[l]);
            if (deviations != NULL)
                matrix[(size_t)j * n + l] /= deviations[j] * deviations[l];
        }
        trace += matrix[(size_t)j * n + j];
    }
    return trace;
}

efface_status ef_view_components(const ef_sums *of, const ef_look *look, ef_view *v,
                                 efface_error *error) {
    const ef_coordinates *const c = &of->coordinates;
    const uint32_t n = v->n_terms;
    size_t n_elements;
    double *const matrix =
        ef_mul_size(n, n, &n_elements) ? ef_alloc(n_elements, sizeof *matrix) : NULL;
    double *const values = ef_alloc(n, sizeof *values);
    efface_status status = matrix != NULL && values != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK) {
        if (v->deviations != NULL)
            find_deviations(of, v);
        const double trace = fill_covariance(of, v->deviations, matrix, n);
        status = ef_eigen_symmetric(matrix, n, values);
        if (status == EFFACE_E_MEMORY)
            status = ef_fail_memory(error);
        else if (status != EFFACE_OK)
            status = ef_fail(error, status, "the principal components could not be computed");
        for (uint32_t j = 0; j < n; j++)
            v->centers[j] = (double)of->all.sums[c->term_points[j]] / (double)of->all.weight *
                            ef_coordinates_unit(c, c->term_points[j]);
        for (uint32_t k = 0; status == EFFACE_OK && k < v->n_outputs; k++) {
            const double variance = values[k] > 0.0 ? values[k] : 0.0;
            v->scales[k] = !look->components.whiten ? 1.0
                           : variance > 0.0         ? 1.0 / sqrt(variance)
                                                    : 0.0;
            double *const weights = v->weights + (size_t)k * n;
            v->variances[2 * k] = variance;
            v->variances[2 * k + 1] = trace > 0.0 ? variance / trace : 0.0;
            for (uint32_t j = 0; j < n; j++)
                weights[j] =
                    matrix[(size_t)k * n + j] / (v->deviations != NULL ? v->deviations[j] : 1.0);
            v->constants[k] = -ef_dot(weights, v->centers, n);
            v->ids[k] = k;
        }
    }
    ef_free(matrix);
    ef_free(values);
    return status;
}
