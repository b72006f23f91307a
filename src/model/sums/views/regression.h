/*
 * Linear regression from moments (docs/definition/sums.md has the formulas).
 *
 * Everything that cancels is done in integers: N Q - S S is exact and rounded once. The rest is in
 * doubles, in a fixed order (base/matrix.h), so that results have the same bits everywhere.
 */
#ifndef EF_REGRESSION_H
#define EF_REGRESSION_H

#include "base/numbers/matrix.h"
#include "model/exact/moments.h"
#include "model/sums/coordinates/coordinates.h"

/* What is to be solved. */
typedef struct ef_regression {
    const ef_moments *moments; /* FULL, of a row at least */
    const ef_coordinates *coordinates;
    efface_linear_params params;
    uint32_t weight_unit;
} ef_regression;

/* The factor of the terms' matrix, in units of the grid: N times the centred sums of products, or
 * without intercept the sums of products; with the penalties of terms on the diagonal, which
 * `penalties` has. Terms that add nothing are marked as dropped. Errors: MEMORY. */
typedef struct ef_normal_equations {
    ef_cholesky factor;
    double *penalties;
    unsigned char *dropped;
} ef_normal_equations;

efface_status ef_normal_equations_init(ef_normal_equations *equations, const ef_regression *of,
                                       efface_error *error);
void ef_normal_equations_free(ef_normal_equations *equations);

/* Where results go, for t targets and n terms, in the units of the data as the set holds them. */
typedef struct ef_regression_result {
    double *coefficients;   /* t x n */
    double *intercepts;     /* t */
    double *errors;         /* NULL, or t x (n + 1): the standard error of the intercept, then
                               those of coefficients; NaN if not known */
    double *quality;        /* NULL, or t x 3: R^2, deviation of residuals, degrees of freedom */
    unsigned char *dropped; /* NULL, or n */
} ef_regression_result;

/* Explains targets by terms. Errors: MEMORY. */
efface_status ef_regress(const ef_regression *of, const ef_regression_result *to,
                         efface_error *error);

/* Solves for right-hand sides of the caller: `sides` has n_sides x n numbers in units of the grid
 * and of the equations; they become the coefficients in the units of the data, for a target whose
 * unit is 1. */
efface_status ef_regress_sides(const ef_regression *of, double *sides, uint32_t n_sides,
                               unsigned char *dropped, efface_error *error);

#endif
