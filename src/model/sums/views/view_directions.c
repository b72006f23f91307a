/*
 * The directions in which classes differ most, compared to how rows differ within classes: what
 * linear discriminant analysis projects rows to.
 *
 * With S the covariance matrix within classes, p_k the prior of class k and a_k how far its mean is
 * from the mean of all, they are the eigenvectors of S^-1 (sum of p_k a_k a_k^T). These are
 * combinations of the w_k = S^-1 a_k, which the view has as coefficients. So eigenvectors u of the
 * small matrix of sqrt(p_k p_l) a_k w_l, one row for each class, give them: the sum of u_k
 * sqrt(p_k) w_k, divided by the root of the eigenvalue, so that S becomes 1 along it.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/numbers/matrix.h"
#include "model/sums/views/views.h"

#include <math.h>

/* Takes from the numbers of each class their mean over classes, weighted by priors. */
static void centre(const ef_view *v, const double *rows, double *to) {
    const size_t n = v->n_terms;
    for (size_t j = 0; j < n; j++) {
        double mean = 0.0;
        for (size_t k = 0; k < v->n_outputs; k++)
            mean += v->priors[2 * k] * rows[k * n + j];
        for (size_t k = 0; k < v->n_outputs; k++)
            to[k * n + j] = rows[k * n + j] - mean;
    }
}

static void fill(const ef_view *v, const double *away, const double *solved, double *matrix) {
    const size_t n = v->n_terms, n_classes = v->n_outputs;
    for (size_t k = 0; k < n_classes; k++)
        for (size_t l = 0; l <= k; l++)
            matrix[k * n_classes + l] =
                sqrt(v->priors[2 * k] * v->priors[2 * l]) * ef_dot(away + k * n, solved + l * n, n);
}

/* One direction, with its share of the whole before it; 0 if the classes do not differ in it. */
static void find_one(const ef_view *v, const double *vector, double value, double whole,
                     const double *solved, double *to) {
    const size_t n = v->n_terms;
    size_t largest = 0;
    to[0] = value > 0.0 && whole > 0.0 ? value / whole : 0.0;
    if (!(to[0] > EF_PIVOT_MIN))
        return;
    /* Back from the small matrix to the terms. */
    double *const direction = to + 1;
    for (size_t k = 0; k < v->n_outputs; k++)
        ef_axpy(vector[k] * sqrt(v->priors[2 * k]) / sqrt(value), solved + k * n, direction, n);
    for (size_t j = 1; j < n; j++)
        if (fabs(direction[j]) > fabs(direction[largest]))
            largest = j;
    /* An eigenvector has no sign of its own: the entry of largest magnitude is made positive. */
    const double sign = direction[largest] < 0.0 ? -1.0 : 1.0;
    for (size_t j = 0; j < n; j++)
        direction[j] *= sign;
}

efface_status ef_view_find_directions(ef_view *v, efface_error *error) {
    const size_t n_classes = v->n_outputs, n = v->n_terms;
    double *const away = ef_alloc(n_classes, n * sizeof *away);
    double *const solved = ef_alloc(n_classes, n * sizeof *solved);
    double *const matrix = ef_alloc(n_classes, n_classes * sizeof *matrix);
    double *const values = ef_alloc(n_classes, sizeof *values);
    efface_status status = EFFACE_OK;
    if (away == NULL || solved == NULL || matrix == NULL || values == NULL) {
        status = ef_fail_memory(error);
    } else {
        centre(v, v->means, away);
        centre(v, v->weights, solved);
        fill(v, away, solved, matrix);
        status = ef_eigen_symmetric(matrix, v->n_outputs, values);
        if (status == EFFACE_E_MEMORY)
            status = ef_fail_memory(error);
        else if (status != EFFACE_OK)
            status = ef_fail(error, status, "the directions of classes could not be computed");
    }
    double whole = 0.0;
    for (size_t i = 0; status == EFFACE_OK && i < n_classes; i++)
        whole += values[i] > 0.0 ? values[i] : 0.0;
    for (uint32_t i = 0; status == EFFACE_OK && i < ef_view_directions(v->n_outputs, v->n_terms);
         i++)
        find_one(v, matrix + i * n_classes, values[i], whole, solved, v->directions + i * (n + 1));
    ef_free(away);
    ef_free(solved);
    ef_free(matrix);
    ef_free(values);
    return status;
}
