/*
 * Dense linear algebra for views of sums: factors of positive semidefinite matrices, and
 * eigenvectors of symmetric ones.
 *
 * Results have the same bits with every compiler and on every machine: doubles, each operation
 * rounded to nearest, in a fixed order. Where a compiler works on several numbers at once, it does
 * to each what the text says. Matrices are stored by rows. Inner loops run along rows.
 */
#ifndef EF_MATRIX_H
#define EF_MATRIX_H

#include "base/errors/status.h"
#include "base/numbers/pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of a[i] b[i], i < n. Lane k of eight sums the products of i = k, k + 8, k + 16, ... in
 * this order, and the lanes are added as a tree: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
static inline double ef_dot(const double *a, const double *b, size_t n) {
    ef_pair sum01 = {0}, sum23 = {0}, sum45 = {0}, sum67 = {0};
    const size_t whole = n - n % 8;
    for (size_t i = 0; i < whole; i += 8) {
        sum01 += ef_pair_load(a + i) * ef_pair_load(b + i);
        sum23 += ef_pair_load(a + i + 2) * ef_pair_load(b + i + 2);
        sum45 += ef_pair_load(a + i + 4) * ef_pair_load(b + i + 4);
        sum67 += ef_pair_load(a + i + 6) * ef_pair_load(b + i + 6);
    }
    if (whole < n) { /* with zeros up to eight */
        double products[8] = {0};
        for (size_t i = whole; i < n; i++)
            products[i - whole] = a[i] * b[i];
        sum01 += ef_pair_load(products);
        sum23 += ef_pair_load(products + 2);
        sum45 += ef_pair_load(products + 4);
        sum67 += ef_pair_load(products + 6);
    }
    const ef_pair sum = (sum01 + sum45) + (sum23 + sum67);
    return sum[0] + sum[1];
}

/* y[i] += factor x[i], i < n. The two do not overlap. */
static inline void ef_axpy(double factor, const double *restrict x, double *restrict y, size_t n) {
    const ef_pair factors = ef_pair_of(factor);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        ef_pair_store(y + i, ef_pair_load(y + i) + factors * ef_pair_load(x + i));
        ef_pair_store(y + i + 2, ef_pair_load(y + i + 2) + factors * ef_pair_load(x + i + 2));
    }
    for (; i < n; i++)
        y[i] += factor * x[i];
}

/* ------------------------------------------------------------------ positive semidefinite */

/* A column is dropped if less than this part of its diagonal element is left for its pivot. */
#define EF_PIVOT_MIN 0x1p-40

/*
 * The factor L of S A S = L L^T, A symmetric and positive semidefinite. S is diagonal: powers of
 * two that bring the diagonal of A to [1/2, 2), so that scaling is exact.
 *
 * A column that is 0, or depends on those before it (its pivot is at most EF_PIVOT_MIN of its
 * diagonal element), is dropped. It is then as if its row and column were not there, and solutions
 * have 0 in its place. (Rounding errors may keep a column that depends on columns which are
 * themselves nearly dependent.) So is a column that makes A indefinite, or has elements that are
 * not finite.
 */
typedef struct ef_cholesky {
    uint32_t n;
    uint32_t n_dropped;
    double *lower;  /* n x n. Before ef_cholesky_factor: A, of which only the elements on and
                       below the diagonal are read. After it: L, with zeros above; a dropped
                       column has 1 on the diagonal and 0 elsewhere. */
    double *scales; /* the diagonal of S */
    unsigned char *dropped; /* 1 for a dropped column, else 0 */
    double *work;           /* for ef_cholesky_factor */
} ef_cholesky;

/* Makes room for a matrix, which the caller then writes to `lower`. False if out of memory; then
 * there is nothing to free, though ef_cholesky_free does no harm. */
bool ef_cholesky_init(ef_cholesky *factor, uint32_t n);
void ef_cholesky_free(ef_cholesky *factor);

/* Replaces A by L. Returns how many columns were dropped. Cost n^3 / 6 multiplications. */
uint32_t ef_cholesky_factor(ef_cholesky *factor);

/* x = A^-1 b; x may be b. */
void ef_cholesky_solve(const ef_cholesky *factor, const double *b, double *x);

/* x = L^-1 S b, so that b^T A^-1 b = ef_dot(x, x, n); x may be b. */
void ef_cholesky_forward(const ef_cholesky *factor, const double *b, double *x);

/* out = A^-1, n x n, all of it. Rows and columns of dropped ones are 0. */
void ef_cholesky_inverse(const ef_cholesky *factor, double *out);

/* The logarithm of the determinant of A without its dropped columns. */
double ef_cholesky_log_determinant(const ef_cholesky *factor);

/* ------------------------------------------------------------------ symmetric */

/* Replaces a symmetric matrix A (n x n; only the elements on and below the diagonal are read) by
 * its eigenvectors: row k of `a` is the k-th, of length 1, and values[k] its eigenvalue. Values
 * descend. The entry of largest magnitude of each vector, the first of them, is positive.
 *
 * Errors: MEMORY, and LIMIT if an element is not finite, with `a` as it was; LIMIT if a value is
 * not found in 50 steps, which no matrix of finite numbers is known to do: then `a` and `values`
 * are of no use. Cost about 3 n^3 multiplications. */
efface_status ef_eigen_symmetric(double *a, uint32_t n, double *values);

#endif
