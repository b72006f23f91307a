/*
 * Eigenvectors of a symmetric matrix: reflections bring it to tridiagonal form T = W A W^T
 * (Householder), rotations of neighbouring rows make T diagonal (QL with implicit shifts, after
 * Dubrulle, Martin and Wilkinson). W, which is kept by rows, takes part in the rotations, and its
 * rows are the eigenvectors in the end.
 *
 * The matrix is scaled by a power of two before, so that its largest element is in [1/2, 1): then
 * nothing overflows on the way, and what underflows is far below the rounding errors.
 */
#include "base/memory/memory.h"
#include "base/numbers/grid.h"
#include "base/numbers/matrix.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_STEPS 50
#define STRIP 32    /* columns of W that are rotated together, so that they stay in the cache */
#define BATCH 16384 /* rotations that are collected for that */
#define NEGLIGIBLE 0x1p-900 /* of the largest element */

/* Rows `row` and `row + 1` become c row - s next and s row + c next. */
typedef struct rotation {
    double c, s;
    size_t row;
} rotation;

typedef struct eigen {
    size_t n;
    double *a;        /* n x n: A, then reflections, then W */
    double *diagonal; /* of T */
    double *beside;   /* beside[i] is element (i, i + 1) of T */
    double *halves;   /* of reflection i: |u|^2 / 2, or 0 if there is none */
    double *product;  /* room for n */
    rotation *rotations;
    size_t n_rotations;
} eigen;

/* The largest of n magnitudes and `so_far`; infinity if one is not a number. */
static double largest_of(const double *values, size_t n, double so_far) {
    double largest = so_far;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(values[i]);
        largest = size <= largest ? largest : size == size ? size : HUGE_VAL;
    }
    return largest;
}

/* With this exponent 2^-exponent brings a magnitude to [1/2, 1). */
static int exponent_of(double size) {
    int exponent = 0;
    if (size > 0.0)
        frexp(size, &exponent);
    return exponent;
}

/* ------------------------------------------------------------------ to tridiagonal form */

/* product = A u / half, for the first m rows and columns; only the lower triangle is there. */
static void multiply(const eigen *this, const double *u, size_t m, double half) {
    double *const product = this->product;
    memset(product, 0, m * sizeof *product);
    for (size_t j = 0; j < m; j++) {
        const double *const row = this->a + j * this->n;
        ef_axpy(u[j], row, product, j);
        product[j] += ef_dot(row, u, j + 1);
    }
    for (size_t j = 0; j < m; j++)
        product[j] /= half;
}

/* row[k] -= a x[k] + b y[k], k < n. */
static inline void take_both(double a, const double *restrict x, double b, const double *restrict y,
                             double *restrict row, size_t n) {
    const ef_pair as = ef_pair_of(a), bs = ef_pair_of(b);
    size_t k = 0;
    for (; k + 2 <= n; k += 2)
        ef_pair_store(row + k, ef_pair_load(row + k) -
                                   (as * ef_pair_load(x + k) + bs * ef_pair_load(y + k)));
    for (; k < n; k++)
        row[k] -= a * x[k] + b * y[k];
}

/* A becomes H A H, H = 1 - u u^T / half: with p = A u / half and q = p - (u^T p / 2 half) u, that
 * is A - u q^T - q u^T. */
static void reflect(const eigen *this, const double *u, size_t m, double half) {
    double *const q = this->product;
    multiply(this, u, m, half);
    ef_axpy(-(ef_dot(u, q, m) / (half + half)), u, q, m);
    for (size_t j = 0; j < m; j++)
        take_both(u[j], q, q[j], u, this->a + j * this->n, j + 1);
}

/* From the last row on: the reflection that leaves only the last of the elements before the
 * diagonal. Its vector u stays in their place. */
static void make_tridiagonal(const eigen *this) {
    for (size_t i = this->n - 1; i > 0; i--) {
        double *const u = this->a + i * this->n;
        this->diagonal[i] = u[i];
        this->halves[i] = 0.0;
        bool needed = false;
        for (size_t k = 0; k + 1 < i; k++)
            needed = needed || u[k] != 0.0;
        if (!needed) {
            this->beside[i - 1] = u[i - 1];
            continue;
        }
        const int exponent = exponent_of(largest_of(u, i, 0.0));
        for (size_t k = 0; k < i; k++)
            u[k] = ldexp(u[k], -exponent);
        const double square = ef_dot(u, u, i), last = u[i - 1];
        const double length = last < 0.0 ? sqrt(square) : -sqrt(square);
        this->beside[i - 1] = ldexp(length, exponent);
        this->halves[i] = square - last * length;
        u[i - 1] = last - length;
        reflect(this, u, i, this->halves[i]);
    }
    this->diagonal[0] = this->a[0];
}

/* W = H_1 H_2 ... H_n-1, each of which changes only the first i elements of the first i rows. */
static void make_basis(const eigen *this) {
    const size_t n = this->n;
    this->a[0] = 1.0;
    for (size_t i = 1; i < n; i++) {
        double *const u = this->a + i * n;
        if (this->halves[i] > 0.0) {
            for (size_t j = 0; j < i; j++) {
                double *const row = this->a + j * n;
                ef_axpy(-(ef_dot(row, u, i) / this->halves[i]), u, row, i);
            }
        }
        memset(u, 0, i * sizeof *u);
        u[i] = 1.0;
        for (size_t j = 0; j < i; j++)
            this->a[j * n + i] = 0.0;
    }
}

/* ------------------------------------------------------------------ to diagonal form */

static inline void rotate(double *restrict row, double *restrict next, double c, double s,
                          size_t n) {
    for (size_t k = 0; k < n; k++) {
        const double x = row[k], y = next[k];
        row[k] = c * x - s * y;
        next[k] = s * x + c * y;
    }
}

/* Does to W what was collected. */
static void rotate_rows(eigen *this) {
    for (size_t k = 0; k < this->n; k += STRIP) {
        const size_t width = this->n - k < STRIP ? this->n - k : STRIP;
        for (size_t i = 0; i < this->n_rotations; i++) {
            const rotation *const turn = &this->rotations[i];
            double *const row = this->a + turn->row * this->n + k;
            if (width == STRIP)
                rotate(row, row + this->n, turn->c, turn->s, STRIP);
            else
                rotate(row, row + this->n, turn->c, turn->s, width);
        }
    }
    this->n_rotations = 0;
}

static void collect_eigenvectors(eigen *this, size_t row, double c, double s) {
    if (this->n_rotations == BATCH)
        rotate_rows(this);
    this->rotations[this->n_rotations++] = (rotation){c, s, row};
}

/* sqrt(x^2 + y^2), also where the squares would not be normal. */
static double length_of(double x, double y) {
    const double a = fabs(x), b = fabs(y), larger = a > b ? a : b;
    if (larger == 0.0 || (larger > 0x1p-400 && larger < 0x1p400))
        return sqrt(x * x + y * y);
    int exponent;
    frexp(larger, &exponent);
    const double u = ldexp(x, -exponent), v = ldexp(y, -exponent);
    return ldexp(sqrt(u * u + v * v), exponent);
}

/* One step with T's rows from `first` to `last`: rotations from the end to the begin chase the
 * element that the shifted first of them brings off the three diagonals. The shift is the
 * eigenvalue of the 2 x 2 matrix at `first` that is nearer to its first element. */
static void step(eigen *this, size_t first, size_t last) {
    double *const d = this->diagonal, *const e = this->beside;
    const double ratio = (d[first + 1] - d[first]) / (2.0 * e[first]);
    const double root = length_of(ratio, 1.0);
    const double shift = d[first] - e[first] / (ratio + (ratio < 0.0 ? -root : root));
    double along = d[last] - shift; /* the element on the diagonal, and that off it: */
    double off = 0.0, s = 1.0, c = 1.0, change = 0.0;
    for (size_t i = last; i-- > first;) {
        off = s * e[i];
        const double next = c * e[i];
        const double length = length_of(off, along);
        e[i + 1] = length;
        if (length == 0.0) { /* T falls apart here */
            d[i + 1] -= change;
            e[last] = 0.0;
            return;
        }
        s = off / length;
        c = along / length;
        const double rest = d[i + 1] - change;
        const double both = (d[i] - rest) * s + 2.0 * c * next;
        change = s * both;
        d[i + 1] = rest + change;
        along = c * both - next;
        collect_eigenvectors(this, i, c, s);
    }
    d[first] -= change;
    e[first] = along;
    e[last] = 0.0;
}

/* Whether element (i, i + 1) of T can be left out. */
static bool is_negligible(const eigen *this, size_t i) {
    const double size = fabs(this->beside[i]);
    const double around = fabs(this->diagonal[i]) + fabs(this->diagonal[i + 1]);
    return size <= 0x1p-53 * around || size <= NEGLIGIBLE;
}

static bool make_diagonal(eigen *this) {
    const size_t n = this->n;
    this->beside[n - 1] = 0.0;
    for (size_t first = 0; first < n; first++) {
        for (int n_steps = 0;; n_steps++) {
            size_t last = first;
            while (last + 1 < n && !is_negligible(this, last))
                last++;
            if (last == first)
                break;
            if (n_steps == MAX_STEPS)
                return false;
            step(this, first, last);
        }
    }
    rotate_rows(this);
    return true;
}

/* ------------------------------------------------------------------ order and signs */

static void swap_rows(double *restrict a, double *restrict b, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const double kept = a[k];
        a[k] = b[k];
        b[k] = kept;
    }
}

static void turn_positive(double *row, size_t n) {
    size_t largest = 0;
    for (size_t k = 1; k < n; k++)
        if (fabs(row[k]) > fabs(row[largest]))
            largest = k;
    if (row[largest] < 0.0)
        for (size_t k = 0; k < n; k++)
            row[k] = -row[k];
}

static void put_in_order(const eigen *this) {
    double *const values = this->diagonal;
    for (size_t i = 0; i < this->n; i++) {
        size_t largest = i;
        for (size_t k = i + 1; k < this->n; k++)
            if (values[k] > values[largest])
                largest = k;
        if (largest != i) {
            const double value = values[i];
            values[i] = values[largest];
            values[largest] = value;
            swap_rows(this->a + i * this->n, this->a + largest * this->n, this->n);
        }
        turn_positive(this->a + i * this->n, this->n);
    }
}

efface_status ef_eigen_symmetric(double *a, uint32_t n, double *values) {
    if (n == 0)
        return EFFACE_OK;
    double largest = 0.0;
    for (size_t i = 0; i < n; i++)
        largest = largest_of(a + i * n, i + 1, largest);
    if (largest > DBL_MAX)
        return EFFACE_E_LIMIT;
    eigen this = {.n = n, .a = a, .diagonal = values};
    double *const room = ef_alloc(n, 3 * sizeof *room);
    this.rotations = ef_alloc(BATCH, sizeof *this.rotations);
    efface_status status = EFFACE_E_MEMORY;
    if (room == NULL || this.rotations == NULL)
        goto out;
    this.beside = room;
    this.halves = room + n;
    this.product = room + 2 * (size_t)n;

    const int exponent = exponent_of(largest);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++)
            a[i * n + k] = ldexp(a[i * n + k], -exponent);
    make_tridiagonal(&this);
    make_basis(&this);
    status = EFFACE_E_LIMIT;
    if (!make_diagonal(&this))
        goto out;
    put_in_order(&this);
    for (size_t i = 0; i < n; i++)
        values[i] = ldexp(values[i], exponent);
    status = EFFACE_OK;

out:
    ef_free(room);
    ef_free(this.rotations);
    return status;
}
