/* Small matrices in long double, by the plainest methods there are, and what the views of sums are
 * by their definitions. For tests of views, which include this file after cmocka.h. */
#ifndef EF_TESTS_PLAIN_ALGEBRA_H
#define EF_TESTS_PLAIN_ALGEBRA_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLAIN_MOST 12 /* columns, or columns and a constant */

typedef long double real;
typedef real matrix[PLAIN_MOST][PLAIN_MOST];

/* The inverse of the first n rows and columns, by Gaussian elimination with pivots; returns the
 * logarithm of the determinant's magnitude. */
static inline real invert(size_t n, matrix a, matrix inverse) {
    matrix w;
    real log_det = 0.0L;
    memcpy(w, a, sizeof w);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            inverse[i][j] = i == j ? 1.0L : 0.0L;
    for (size_t c = 0; c < n; c++) {
        size_t pivot = c;
        for (size_t i = c; i < n; i++)
            if (fabsl(w[i][c]) > fabsl(w[pivot][c]))
                pivot = i;
        assert_true(w[pivot][c] != 0.0L);
        for (size_t j = 0; j < n; j++) {
            const real x = w[c][j], y = inverse[c][j];
            w[c][j] = w[pivot][j];
            w[pivot][j] = x;
            inverse[c][j] = inverse[pivot][j];
            inverse[pivot][j] = y;
        }
        log_det += logl(fabsl(w[c][c]));
        const real scale = 1.0L / w[c][c];
        for (size_t j = 0; j < n; j++) {
            w[c][j] *= scale;
            inverse[c][j] *= scale;
        }
        for (size_t i = 0; i < n; i++) {
            const real factor = w[i][c];
            for (size_t j = 0; i != c && j < n; j++) {
                w[i][j] -= factor * w[c][j];
                inverse[i][j] -= factor * inverse[c][j];
            }
        }
    }
    return log_det;
}

/* Eigenvalues, largest first, and eigenvectors as rows, whose entry of largest magnitude is
 * positive, of a symmetric matrix; by Jacobi's rotations. */
static inline void eigen(size_t n, matrix a, real *values, matrix vectors) {
    matrix w;
    memcpy(w, a, sizeof w);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            vectors[i][j] = i == j ? 1.0L : 0.0L;
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (w[p][q] == 0.0L)
                    continue;
                const real theta = (w[q][q] - w[p][p]) / (2.0L * w[p][q]);
                const real t =
                    (theta >= 0.0L ? 1.0L : -1.0L) / (fabsl(theta) + sqrtl(theta * theta + 1.0L));
                const real c = 1.0L / sqrtl(t * t + 1.0L), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    const real x = w[k][p], y = w[k][q];
                    w[k][p] = c * x - s * y;
                    w[k][q] = s * x + c * y;
                }
                for (size_t k = 0; k < n; k++) {
                    const real x = w[p][k], y = w[q][k];
                    w[p][k] = c * x - s * y;
                    w[q][k] = s * x + c * y;
                    const real u = vectors[p][k], v = vectors[q][k];
                    vectors[p][k] = c * u - s * v;
                    vectors[q][k] = s * u + c * v;
                }
            }
    for (size_t i = 0; i < n; i++)
        values[i] = w[i][i];
    for (size_t i = 0; i < n; i++) {
        size_t best = i, top = 0;
        for (size_t k = i; k < n; k++)
            if (values[k] > values[best])
                best = k;
        const real x = values[i];
        values[i] = values[best];
        values[best] = x;
        for (size_t j = 0; j < n; j++) {
            const real y = vectors[i][j];
            vectors[i][j] = vectors[best][j];
            vectors[best][j] = y;
        }
        for (size_t j = 0; j < n; j++)
            if (fabsl(vectors[i][j]) > fabsl(vectors[i][top]))
                top = j;
        const real sign = vectors[i][top] < 0.0L ? -1.0L : 1.0L;
        for (size_t j = 0; j < n; j++)
            vectors[i][j] *= sign;
    }
}

/* ---------------------------------------------------------------- rows */

/* Rows in long double: features, one target, weights, and a class of each from 0 on; a negative one
 * is none. */
typedef struct plain_rows {
    size_t n, p;   /* features */
    const real *x; /* n * p */
    const real *y;
    const real *weights;
    const int *classes;
} plain_rows;

/* ---------------------------------------------------------------- linear regression */

typedef struct plain_line {
    real b, w[PLAIN_MOST];
    real b_error, errors[PLAIN_MOST];
    real r2, deviation, freedom;
} plain_line;

static inline plain_line plain_linear(const plain_rows *r, real alpha, int intercept) {
    const size_t k = r->p + (intercept ? 1 : 0);
    plain_line line = {.b = 0.0L};
    matrix a = {{0}}, inverse;
    real right[PLAIN_MOST] = {0}, solution[PLAIN_MOST] = {0}, total = 0.0L, sum_y = 0.0L;
    assert_true(k <= PLAIN_MOST);
    for (size_t i = 0; i < r->n; i++) {
        real row[PLAIN_MOST];
        for (size_t j = 0; j < r->p; j++)
            row[j] = r->x[i * r->p + j];
        if (intercept)
            row[r->p] = 1.0L;
        for (size_t j = 0; j < k; j++) {
            for (size_t l = 0; l < k; l++)
                a[j][l] += r->weights[i] * row[j] * row[l];
            right[j] += r->weights[i] * row[j] * r->y[i];
        }
        total += r->weights[i];
        sum_y += r->weights[i] * r->y[i];
    }
    matrix penalized, spreads = {{0}};
    memcpy(penalized, a, sizeof a);
    for (size_t j = 0; j < r->p; j++)
        penalized[j][j] += alpha;
    (void)invert(k, penalized, inverse);
    for (size_t j = 0; j < k; j++)
        for (size_t l = 0; l < k; l++)
            solution[j] += inverse[j][l] * right[l];
    memcpy(line.w, solution, r->p * sizeof *line.w);
    line.b = intercept ? solution[r->p] : 0.0L;
    real rest = 0.0L, spread = 0.0L;
    for (size_t i = 0; i < r->n; i++) {
        real miss = r->y[i] - line.b;
        for (size_t j = 0; j < r->p; j++)
            miss -= line.w[j] * r->x[i * r->p + j];
        const real off = r->y[i] - sum_y / total;
        rest += r->weights[i] * miss * miss;
        spread += r->weights[i] * off * off;
    }
    line.r2 = 1.0L - rest / spread;
    line.freedom = total - (real)k;
    line.deviation = sqrtl(rest / line.freedom);
    /* What independent errors of the rows do to the coefficients. */
    for (size_t j = 0; j < k; j++)
        for (size_t l = 0; l < k; l++)
            for (size_t m = 0; m < k; m++)
                spreads[j][j] += inverse[j][l] * a[l][m] * inverse[m][j];
    for (size_t j = 0; j < r->p; j++)
        line.errors[j] = line.deviation * sqrtl(spreads[j][j]);
    line.b_error = intercept ? line.deviation * sqrtl(spreads[r->p][r->p]) : (real)NAN;
    return line;
}

/* ---------------------------------------------------------------- moments of a class */

typedef struct plain_class {
    real weight;
    real mean[PLAIN_MOST];
    matrix scatter; /* sum of weight times product of deviations from the mean */
} plain_class;

/* Of one class; of all rows that have one, with -1; of all rows, with -2. */
static inline plain_class plain_moments(const plain_rows *r, int which) {
    plain_class c = {.weight = 0.0L};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < r->n; i++) {
            if (which != -2 && (r->classes[i] < 0 || (which >= 0 && r->classes[i] != which)))
                continue;
            c.weight += pass == 0 ? r->weights[i] : 0.0L;
            for (size_t j = 0; j < r->p; j++) {
                const real x = r->x[i * r->p + j];
                if (pass == 0)
                    c.mean[j] += r->weights[i] * x;
                for (size_t l = 0; pass == 1 && l < r->p; l++)
                    c.scatter[j][l] +=
                        r->weights[i] * (x - c.mean[j]) * (r->x[i * r->p + l] - c.mean[l]);
            }
        }
        for (size_t j = 0; pass == 0 && j < r->p; j++)
            c.mean[j] /= c.weight;
    }
    return c;
}

static inline real plain_square(size_t p, matrix inverse, const real *mean, const real *x) {
    real sum = 0.0L;
    for (size_t j = 0; j < p; j++)
        for (size_t l = 0; l < p; l++)
            sum += (x[j] - mean[j]) * inverse[j][l] * (x[l] - mean[l]);
    return sum;
}

#endif
