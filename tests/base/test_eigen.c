/* Eigenvectors of symmetric matrices: what they do to the matrix, in long double. */
#include "base/memory/memory.h"
#include "base/numbers/matrix.h"
#include "base/random/tape.h"
#include "fault/failing_memory.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint64_t n_drawn;

static double draw(void) {
    return ef_tape_unit(ef_tape(UINT64_C(0x5EED), (ef_purpose)202, 0, n_drawn++, 0)) - 0.5;
}

typedef struct matrix {
    uint32_t n;
    double *a;       /* symmetric */
    double *vectors; /* by rows */
    double *values;
} matrix;

static matrix make_matrix(uint32_t n) {
    matrix m = {.n = n};
    m.a = calloc((size_t)n * n + 1, sizeof *m.a);
    m.vectors = malloc(((size_t)n * n + 1) * sizeof *m.vectors);
    m.values = malloc((n + 1) * sizeof *m.values);
    assert_true(m.a != NULL && m.vectors != NULL && m.values != NULL);
    return m;
}

static void free_matrix(matrix *m) {
    free(m->a);
    free(m->vectors);
    free(m->values);
}

static void set(const matrix *m, size_t i, size_t j, double value) {
    m->a[i * m->n + j] = value;
    m->a[j * m->n + i] = value;
}

static double largest(const matrix *m) {
    double size = 0.0;
    for (size_t i = 0; i < (size_t)m->n * m->n; i++)
        size = fmax(size, fabs(m->a[i]));
    return size;
}

static void compute(const matrix *m) {
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = 0; j < m->n; j++)
            m->vectors[i * m->n + j] = j <= i ? m->a[i * m->n + j] : NAN;
    assert_int_equal(ef_eigen_symmetric(m->vectors, m->n, m->values), EFFACE_OK);
}

/* |A v - l v|, the products of vectors, order and signs. */
static void check(const matrix *m) {
    const size_t n = m->n;
    const long double least = 20.0L * n * 0x1p-53L, size = largest(m);
    for (size_t k = 0; k < n; k++) {
        const double *const v = m->vectors + k * n;
        size_t top = 0;
        for (size_t i = 0; i < n; i++) {
            long double sum = 0.0L, product = 0.0L;
            for (size_t j = 0; j < n; j++) {
                sum += (long double)m->a[i * n + j] * v[j];
                product += (long double)m->vectors[i * n + j] * v[j];
            }
            if (!(fabsl(sum - (long double)m->values[k] * v[i]) <= least * size + 0x1p-1073L))
                fail_msg("vector %zu of %zu is none: %La off %La", k, n,
                         sum - (long double)m->values[k] * v[i], size);
            if (!(fabsl(product - (i == k)) <= least))
                fail_msg("vectors %zu and %zu of %zu: product %La", k, i, n, product);
            top = fabs(v[i]) > fabs(v[top]) ? i : top;
        }
        assert_true(v[top] > 0.0);
        assert_true(k == 0 || m->values[k] <= m->values[k - 1]);
    }
}

static void compute_and_check(matrix *m) {
    compute(m);
    check(m);
    free_matrix(m);
}

/* ------------------------------------------------------------------ known ones */

static void small_ones_are_known(void **state) {
    (void)state;
    matrix m = make_matrix(2);
    const double a[4] = {1, 2, 2, 1};
    memcpy(m.a, a, sizeof a);
    compute(&m);
    check(&m);
    const double root = sqrt(0.5);
    assert_true(fabs(m.values[0] - 3.0) < 1e-15 && fabs(m.values[1] + 1.0) < 1e-15);
    assert_true(fabs(m.vectors[0] - root) < 1e-15 && fabs(m.vectors[1] - root) < 1e-15);
    assert_true(fabs(fabs(m.vectors[2]) - root) < 1e-15 && m.vectors[2] * m.vectors[3] < 0.0);
    free_matrix(&m);

    m = make_matrix(1);
    m.a[0] = -7.0;
    compute(&m);
    assert_true(m.values[0] == -7.0 && m.vectors[0] == 1.0);
    free_matrix(&m);

    m = make_matrix(0);
    compute(&m);
    free_matrix(&m);
}

/* Diagonal matrices, zeros and equal elements among them, come out exactly: nothing is rounded. */
static void diagonal_ones_are_exact(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 40; n += 13)
        for (int kind = 0; kind < 4; kind++) {
            matrix m = make_matrix(n);
            for (size_t i = 0; i < n; i++)
                m.a[i * n + i] = kind == 0   ? 0.0
                                 : kind == 1 ? 3.0
                                 : kind == 2 ? draw()
                                             : ldexp(draw(), (int)(1000.0 * draw()));
            compute(&m);
            for (size_t k = 0; k < n; k++) {
                size_t n_ones = 0, place = 0;
                for (size_t i = 0; i < n; i++)
                    if (m.vectors[k * n + i] != 0.0) {
                        assert_true(m.vectors[k * n + i] == 1.0);
                        n_ones++;
                        place = i;
                    }
                assert_int_equal(n_ones, 1);
                assert_true(m.values[k] == m.a[place * n + place]);
            }
            check(&m);
            free_matrix(&m);
        }
}

/* 2 on the diagonal and -1 beside it: 2 - 2 cos(pi k / (n + 1)). */
static void second_differences_are_known(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 150; n += 37) {
        matrix m = make_matrix(n);
        for (size_t i = 0; i < n; i++) {
            set(&m, i, i, 2.0);
            if (i > 0)
                set(&m, i, i - 1, -1.0);
        }
        compute(&m);
        for (size_t k = 0; k < n; k++)
            assert_true(fabs(m.values[k] - (2.0 - 2.0 * cos(acos(-1.0) * (double)(n - k) /
                                                            (double)(n + 1)))) < 1e-13);
        check(&m);
        free_matrix(&m);
    }
}

/* ------------------------------------------------------------------ all sorts */

static void random_ones_have_eigenvectors(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 130; n += n < 40 ? 1 : 29) {
        matrix m = make_matrix(n);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                set(&m, i, j, draw());
        compute_and_check(&m);
    }
}

/* Few different values: sums of products of less than n vectors, and blocks of ones. */
static void values_may_be_equal(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 100; n += 14) {
        matrix m = make_matrix(n);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                set(&m, i, j, i / 5 == j / 5);
        compute(&m);
        assert_true(fabs(m.values[0] - (n < 5 ? n : 5)) < 1e-13);
        check(&m);
        free_matrix(&m);

        m = make_matrix(n);
        for (int r = 0; r < 3; r++) {
            double v[100];
            for (size_t i = 0; i < n; i++)
                v[i] = draw();
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    m.a[i * n + j] += v[i] * v[j];
        }
        compute(&m);
        for (size_t k = 3; k < n; k++)
            assert_true(fabs(m.values[k]) < 1e-12);
        check(&m);
        free_matrix(&m);
    }
}

/* Elements from 1e-150 to 1e150, growing along the diagonal, falling, or in no order; with zeros
 * between them; and the largest and smallest numbers that there are. */
static void elements_may_be_of_all_sizes(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 60; n += 7)
        for (int kind = 0; kind < 8; kind++) {
            matrix m = make_matrix(n);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j <= i; j++) {
                    const double along = (double)(i + j) / (2.0 * n) - 0.5;
                    const double exponent = kind == 0   ? 996.0 * along
                                            : kind == 1 ? -996.0 * along
                                            : kind == 2 ? 996.0 * draw()
                                            : kind == 3 ? (draw() < 0.0 ? 498.0 : -498.0)
                                            : kind == 4 ? 1000.0
                                            : kind == 5 ? -1070.0
                                            : kind == 6 ? -1000.0 * (double)(i != j)
                                                        : 900.0 * draw();
                    const bool zero = kind == 7 && draw() < 0.2;
                    set(&m, i, j, zero ? 0.0 : ldexp(draw(), (int)exponent));
                }
            compute_and_check(&m);
        }
}

/* Tridiagonal, with pairs of values that differ by less than a rounding error (Wilkinson). */
static void values_may_be_near(void **state) {
    (void)state;
    for (uint32_t n = 3; n <= 101; n += 14) {
        matrix m = make_matrix(n);
        for (size_t i = 0; i < n; i++) {
            set(&m, i, i, fabs((double)i - (double)(n / 2)));
            if (i > 0)
                set(&m, i, i - 1, 1.0);
        }
        compute_and_check(&m);
    }
}

/* The power of two that all elements have in common changes nothing else. */
static void scale_does_not_matter(void **state) {
    (void)state;
    const uint32_t n = 23;
    matrix one = make_matrix(n), other = make_matrix(n);
    for (int exponent = -900; exponent <= 900; exponent += 300) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++) {
                set(&one, i, j, i == 4 ? 0.0 : draw());
                set(&other, i, j, ldexp(one.a[i * n + j], exponent));
            }
        compute(&one);
        compute(&other);
        assert_memory_equal(one.vectors, other.vectors, (size_t)n * n * sizeof(double));
        for (size_t k = 0; k < n; k++)
            assert_true(ldexp(one.values[k], exponent) == other.values[k]);
    }
    free_matrix(&one);
    free_matrix(&other);
}

static void no_numbers_are_refused(void **state) {
    (void)state;
    static const double none[] = {NAN, INFINITY, -INFINITY};
    for (uint32_t n = 2; n <= 30; n += 7)
        for (size_t i = 0; i < COUNT(none); i++) {
            matrix m = make_matrix(n);
            for (size_t k = 0; k < n; k++)
                for (size_t j = 0; j <= k; j++)
                    set(&m, k, j, draw());
            set(&m, n - 1, (size_t)((draw() + 0.5) * n), none[i]);
            memcpy(m.vectors, m.a, (size_t)n * n * sizeof(double));
            assert_int_equal(ef_eigen_symmetric(m.vectors, n, m.values), EFFACE_E_LIMIT);
            assert_memory_equal(m.vectors, m.a, (size_t)n * n * sizeof(double));
            free_matrix(&m);
        }
}

static void short_memory_changes_nothing(void **state) {
    (void)state;
    matrix m = make_matrix(12);
    for (size_t i = 0; i < 12; i++)
        for (size_t j = 0; j <= i; j++)
            set(&m, i, j, draw());
    memcpy(m.vectors, m.a, 144 * sizeof(double));
    const long before = atomic_load(&n_blocks);
    efface_status status = EFFACE_E_MEMORY;
    for (long n = 1; status != EFFACE_OK; n++) {
        arm(n);
        status = ef_eigen_symmetric(m.vectors, 12, m.values);
        assert_true((status == EFFACE_E_MEMORY) == disarm());
        assert_true(atomic_load(&n_blocks) == before);
        if (status != EFFACE_OK)
            assert_memory_equal(m.vectors, m.a, 144 * sizeof(double));
    }
    check(&m);
    free_matrix(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_are_known),
        cmocka_unit_test(diagonal_ones_are_exact),
        cmocka_unit_test(second_differences_are_known),
        cmocka_unit_test(random_ones_have_eigenvectors),
        cmocka_unit_test(values_may_be_equal),
        cmocka_unit_test(elements_may_be_of_all_sizes),
        cmocka_unit_test(values_may_be_near),
        cmocka_unit_test(scale_does_not_matter),
        cmocka_unit_test(no_numbers_are_refused),
        cmocka_unit_test(short_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("eigen", tests, NULL, NULL);
}
