/*
 * The Cholesky factor of a positive semidefinite matrix, and what is computed from it.
 *
 * The columns of L are computed in blocks of 32. Once a block is known, its part is taken from all
 * elements to the right of it, four rows by four columns at a time, which is where nearly all of
 * the time goes. Whatever the blocks, element (i, j) of L is
 *
 *     ((a_ij - l_i0 l_j0) - l_i1 l_j1) - ...    up to l_i,j-1 l_j,j-1, divided by l_jj
 *
 * and its bits do not depend on them.
 */
#include "base/numbers/matrix.h"

#include "base/memory/memory.h"
#include "base/numbers/grid.h"
#include "base/random/tape.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BLOCK 32 /* columns of L that are computed together */
#define TILE 4   /* rows and columns of the remaining matrix that are kept in registers */

bool ef_cholesky_init(ef_cholesky *factor, uint32_t n) {
    *factor = (ef_cholesky){.n = n};
    size_t n_elements, n_work;
    if (!ef_mul_size(n, n, &n_elements) || !ef_mul_size((size_t)n + BLOCK + TILE, BLOCK, &n_work) ||
        !ef_add_size(n_work, n, &n_work))
        return false;
    factor->lower = ef_alloc_aligned(n_elements, sizeof *factor->lower);
    if (factor->lower == NULL)
        return false; /* nothing else is tried if the matrix itself is too large */
    factor->scales = ef_alloc(n, sizeof *factor->scales);
    factor->dropped = ef_alloc(n, 1);
    factor->work = ef_alloc_aligned(n_work, sizeof *factor->work);
    if (factor->scales != NULL && factor->dropped != NULL && factor->work != NULL)
        return true;
    ef_cholesky_free(factor);
    return false;
}

void ef_cholesky_free(ef_cholesky *factor) {
    ef_free(factor->lower);
    ef_free(factor->scales);
    ef_free(factor->dropped);
    ef_free(factor->work);
    *factor = (ef_cholesky){0};
}

static double *row_of(const ef_cholesky *factor, size_t i) {
    return factor->lower + i * factor->n;
}

/* The power of two that brings a diagonal element to [1/2, 2). */
static double scale_of(double diagonal) {
    int exponent;
    frexp(diagonal, &exponent);
    return ef_power_of_two(-((exponent - (exponent & 1)) / 2));
}

/* S A S in place, and the least pivot for each column. What is subnormal counts as 0, for it has
 * not the precision that the test of pivots assumes. */
static void scale_matrix(ef_cholesky *factor, double *least) {
    for (size_t i = 0; i < factor->n; i++) {
        double *const row = row_of(factor, i);
        const bool usable = row[i] >= DBL_MIN && row[i] <= DBL_MAX;
        factor->dropped[i] = !usable;
        factor->scales[i] = usable ? scale_of(row[i]) : 0.0;
        for (size_t j = 0; j <= i; j++)
            row[j] = usable && !factor->dropped[j] ? row[j] * factor->scales[i] * factor->scales[j]
                                                   : 0.0;
        memset(row + i + 1, 0, (factor->n - i - 1) * sizeof *row);
        least[i] = EF_PIVOT_MIN * row[i];
    }
}

/* The first n elements of a row in a block of columns, from the part of L in the block that is
 * above them: across[k][j] is its element (j, k). */
static void solve_row(double *restrict row, const double *restrict across,
                      const unsigned char *dropped, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const double *const column = across + k * BLOCK;
        const double part = dropped[k] ? 0.0 : row[k] / column[k];
        row[k] = part;
        for (size_t j = k + 1; j < n; j++)
            row[j] -= part * column[j];
    }
}

/* The diagonal block of L, and its columns as rows in `across`. */
static void factor_diagonal(ef_cholesky *factor, size_t begin, size_t end, const double *least,
                            double *across) {
    for (size_t i = begin; i < end; i++) {
        double *const row = row_of(factor, i);
        const size_t place = i - begin;
        solve_row(row + begin, across, factor->dropped + begin, place);
        double pivot = row[i];
        for (size_t k = begin; k < i; k++)
            pivot -= row[k] * row[k];
        if (!factor->dropped[i] && pivot > least[i]) {
            row[i] = sqrt(pivot);
        } else {
            memset(row, 0, i * sizeof *row);
            row[i] = 1.0;
            factor->dropped[i] = 1;
            factor->scales[i] = 0.0;
        }
        for (size_t k = 0; k <= place; k++)
            across[k * BLOCK + place] = row[begin + k];
    }
}

/* What is left of TILE elements of a row. */
typedef struct rest {
    ef_pair left, right;
} rest;

static inline rest load_rest(const double *at) {
    return (rest){ef_pair_load(at), ef_pair_load(at + 2)};
}

static inline void store_rest(double *at, rest stored) {
    ef_pair_store(at, stored.left);
    ef_pair_store(at + 2, stored.right);
}

static inline rest take_matrix(rest from, double part, rest column) {
    const ef_pair both = ef_pair_of(part);
    return (rest){from.left - both * column.left, from.right - both * column.right};
}

/* Takes the part of a block of columns, which is at `begin` of the rows, from TILE elements of each
 * of TILE rows. `tile` has the same columns of L for the rows with the numbers of these elements,
 * side by side. */
static void take_tile(double *rows, size_t n_columns, size_t begin, size_t column,
                      const double *tile, size_t n_parts) {
    double *const row0 = rows, *const row1 = row0 + n_columns;
    double *const row2 = row1 + n_columns, *const row3 = row2 + n_columns;
    rest rest0 = load_rest(row0 + column), rest1 = load_rest(row1 + column);
    rest rest2 = load_rest(row2 + column), rest3 = load_rest(row3 + column);
    for (size_t k = 0; k < n_parts; k++) {
        const rest other = load_rest(tile + k * TILE);
        rest0 = take_matrix(rest0, row0[begin + k], other);
        rest1 = take_matrix(rest1, row1[begin + k], other);
        rest2 = take_matrix(rest2, row2[begin + k], other);
        rest3 = take_matrix(rest3, row3[begin + k], other);
    }
    store_rest(row0 + column, rest0);
    store_rest(row1 + column, rest1);
    store_rest(row2 + column, rest2);
    store_rest(row3 + column, rest3);
}

/* The same for one row. */
static void take_tile_row(double *row, size_t begin, size_t column, const double *tile,
                          size_t n_parts) {
    rest left = load_rest(row + column);
    for (size_t k = 0; k < n_parts; k++)
        left = take_matrix(left, row[begin + k], load_rest(tile + k * TILE));
    store_rest(row + column, left);
}

/* Takes the part of the columns [begin, end) from the elements to the right of them, on and below
 * the diagonal. Whole tiles on the diagonal reach above it, where nothing is of use. */
static void take_block(ef_cholesky *factor, size_t begin, size_t end, const double *tiles) {
    const size_t n = factor->n, n_parts = end - begin;
    size_t i = end;
    for (; i + TILE <= n; i += TILE)
        for (size_t j = end; j <= i; j += TILE)
            take_tile(row_of(factor, i), n, begin, j, tiles + (j - end) * BLOCK, n_parts);
    for (const size_t corner = i; i < n; i++) {
        double *const row = row_of(factor, i);
        for (size_t j = end; j < corner; j += TILE)
            take_tile_row(row, begin, j, tiles + (j - end) * BLOCK, n_parts);
        for (size_t j = corner; j <= i; j++)
            for (size_t k = begin; k < end; k++)
                row[j] -= row[k] * row_of(factor, j)[k];
    }
}

uint32_t ef_cholesky_factor(ef_cholesky *factor) {
    const size_t n = factor->n;
    double *const least = factor->work;
    double *const across = least + n;
    double *const tiles = across + (size_t)BLOCK * BLOCK;
    scale_matrix(factor, least);
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        const size_t end = n - begin < BLOCK ? n : begin + BLOCK;
        const size_t n_parts = end - begin;
        factor_diagonal(factor, begin, end, least, across);
        for (size_t i = end; i < n; i++) {
            double *const row = row_of(factor, i) + begin;
            solve_row(row, across, factor->dropped + begin, n_parts);
            double *const tile = tiles + (i - end) / TILE * TILE * BLOCK + (i - end) % TILE;
            for (size_t k = 0; k < n_parts; k++)
                tile[k * TILE] = row[k];
        }
        take_block(factor, begin, end, tiles);
    }
    factor->n_dropped = 0;
    for (size_t i = 0; i < n; i++) {
        memset(row_of(factor, i) + i + 1, 0, (n - i - 1) * sizeof *factor->lower);
        factor->n_dropped += factor->dropped[i];
    }
    return factor->n_dropped;
}

void ef_cholesky_forward(const ef_cholesky *factor, const double *b, double *x) {
    for (size_t i = 0; i < factor->n; i++) {
        const double *const row = row_of(factor, i);
        x[i] = factor->dropped[i] ? 0.0 : (b[i] * factor->scales[i] - ef_dot(row, x, i)) / row[i];
    }
}

void ef_cholesky_solve(const ef_cholesky *factor, const double *b, double *x) {
    ef_cholesky_forward(factor, b, x);
    for (size_t i = factor->n; i-- > 0;) {
        const double *const row = row_of(factor, i);
        if (factor->dropped[i])
            continue;
        x[i] = x[i] / row[i];
        ef_axpy(-x[i], row, x, i);
        x[i] *= factor->scales[i];
    }
}

/* out = M = L^-1, by rows: L M = 1 says what a row is, given those above it. */
static void invert_lower(const ef_cholesky *factor, double *out) {
    const size_t n = factor->n;
    for (size_t i = 0; i < n; i++) {
        const double *const row = row_of(factor, i);
        double *const inverse = out + i * n;
        memset(inverse, 0, n * sizeof *inverse);
        if (factor->dropped[i])
            continue;
        for (size_t k = 0; k < i; k++)
            ef_axpy(-row[k], out + k * n, inverse, k + 1);
        for (size_t k = 0; k < i; k++)
            inverse[k] /= row[i];
        inverse[i] = 1.0 / row[i];
    }
}

/* S M^T M S. Row i of M^T M needs rows from i on of M, so that it can take the place of row i. */
void ef_cholesky_inverse(const ef_cholesky *factor, double *out) {
    const size_t n = factor->n;
    invert_lower(factor, out);
    for (size_t i = 0; i < n; i++) {
        double *const row = out + i * n;
        const double diagonal = row[i];
        for (size_t j = 0; j <= i; j++)
            row[j] *= diagonal;
        for (size_t k = i + 1; k < n; k++)
            ef_axpy(out[k * n + i], out + k * n, row, i + 1);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const bool kept = !factor->dropped[i] && !factor->dropped[j];
            const double element =
                kept ? out[i * n + j] * factor->scales[i] * factor->scales[j] : 0.0;
            out[i * n + j] = element;
            out[j * n + i] = element;
        }
}

/* A pivot of A is (l_ii / s_i)^2. The exponents of s are summed up as whole numbers. */
double ef_cholesky_log_determinant(const ef_cholesky *factor) {
    double sum = 0.0;
    int64_t exponents = 0;
    for (size_t i = 0; i < factor->n; i++) {
        if (factor->dropped[i])
            continue;
        int exponent;
        frexp(factor->scales[i], &exponent);
        exponents -= 2 * (int64_t)(exponent - 1);
        sum += 2.0 * ef_log(row_of(factor, i)[i]);
    }
    return sum + (double)exponents * 0x1.62e42fefa39efp-1;
}
