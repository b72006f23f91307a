/* Cholesky factors and what is computed from them, against plain loops: with the same operations
 * for the bits, and in long double for what they mean. */
#include "base/memory/memory.h"
#include "base/numbers/matrix.h"
#include "base/random/tape.h"
#include "fault/failing_memory.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Around the sizes of blocks and tiles. */
static const uint32_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  9,  15, 16, 17, 30,  31,  32,
                                 33, 34, 35, 36, 37, 47, 63, 64, 65, 66, 67, 100, 127, 130};

static uint64_t n_drawn;

static double draw(void) {
    return ef_tape_unit(ef_tape(UINT64_C(0x5EED), (ef_purpose)201, 0, n_drawn++, 0)) - 0.5;
}

/* The products of n columns, given as rows. */
static double *multiply(const double *columns, uint32_t n, uint32_t n_rows) {
    double *const a = malloc((size_t)n * n * sizeof *a);
    assert_non_null(a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = ef_dot(columns + i * n_rows, columns + j * n_rows, n_rows);
    return a;
}

/* The products of random columns of different sizes. */
static double *make_products(uint32_t n, uint32_t n_rows) {
    double *const columns = malloc((size_t)n * n_rows * sizeof *columns);
    assert_non_null(columns);
    for (size_t j = 0; j < n; j++) {
        const double size = ldexp(1.0, (int)(40.0 * draw()));
        for (size_t i = 0; i < n_rows; i++)
            columns[j * n_rows + i] = size * draw();
    }
    double *const a = multiply(columns, n, n_rows);
    free(columns);
    return a;
}

/* The factor of a, of which only the lower triangle is shown. */
static ef_cholesky factor_of(const double *a, uint32_t n) {
    ef_cholesky factor;
    assert_true(ef_cholesky_init(&factor, n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            factor.lower[i * n + j] = j <= i ? a[i * n + j] : NAN;
    uint32_t n_dropped = 0;
    const uint32_t got = ef_cholesky_factor(&factor);
    for (size_t i = 0; i < n; i++)
        n_dropped += factor.dropped[i];
    assert_int_equal(got, n_dropped);
    assert_int_equal(factor.n_dropped, n_dropped);
    return factor;
}

/* ------------------------------------------------------------------ sums of products */

static void dot_has_eight_lanes(void **state) {
    (void)state;
    double a[70], b[70];
    for (size_t n = 0; n <= 70; n++) {
        double lanes[8] = {0};
        for (size_t i = 0; i < n; i++) {
            a[i] = draw();
            b[i] = draw();
            lanes[i % 8] += a[i] * b[i];
        }
        const double want = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                            ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
        const double got = ef_dot(a, b, n);
        assert_memory_equal(&got, &want, sizeof got);
        double y[70], z[70];
        for (size_t i = 0; i < 70; i++)
            y[i] = z[i] = draw();
        ef_axpy(b[0], a, y, n);
        for (size_t i = 0; i < n; i++)
            z[i] += b[0] * a[i];
        assert_memory_equal(y, z, sizeof y);
    }
}

/* ------------------------------------------------------------------ the factor */

static void small_factor_is_known(void **state) {
    (void)state;
    const double a[9] = {4, 0, 0, 12, 37, 0, -16, -43, 98};
    ef_cholesky factor = factor_of(a, 3);
    const double l[9] = {2, 0, 0, 6, 1, 0, -8, 5, 3};
    assert_int_equal(factor.n_dropped, 0);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            assert_true(factor.lower[i * 3 + j] == factor.scales[i] * l[i * 3 + j]);
    const double b[3] = {-20, -43, 192}; /* a times (1, 2, 3) */
    double x[3], y[3];
    ef_cholesky_solve(&factor, b, x);
    assert_true(x[0] == 1.0 && x[1] == 2.0 && x[2] == 3.0);
    ef_cholesky_forward(&factor, b, y);
    assert_true(y[0] == -10.0 && y[1] == 17.0 && y[2] == 9.0);
    assert_true(fabs(ef_cholesky_log_determinant(&factor) - 2.0 * log(6.0)) < 1e-14);
    ef_cholesky_free(&factor);
}

/* Element by element, as the text at the top of matrix.c says; `scales` as chosen by the library.
 */
static void factor_plainly(const double *a, uint32_t n, const double *scales, double *l) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double rest = a[i * n + j] * scales[i] * scales[j];
            for (size_t k = 0; k < j; k++)
                rest -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = j > i ? 0.0 : j == i ? sqrt(rest) : rest / l[j * n + j];
        }
}

static void factor_has_the_bits_of_plain_loops(void **state) {
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        const uint32_t n = sizes[s];
        double *const a = make_products(n, 2 * n + 3);
        double *const l = malloc((size_t)n * n * sizeof *l);
        ef_cholesky factor = factor_of(a, n);
        assert_int_equal(factor.n_dropped, 0);
        for (size_t i = 0; i < n; i++) {
            const double scaled = a[i * n + i] * factor.scales[i] * factor.scales[i];
            int exponent;
            assert_true(scaled >= 0.5 && scaled < 2.0);
            assert_true(frexp(factor.scales[i], &exponent) == 0.5);
        }
        factor_plainly(a, n, factor.scales, l);
        if (memcmp(l, factor.lower, (size_t)n * n * sizeof *l) != 0)
            fail_msg("the factor of %u columns has other bits", n);
        ef_cholesky_free(&factor);
        free(a);
        free(l);
    }
}

static void check_near(double got, long double want, long double size, const char *what,
                       uint32_t n) {
    if (!(fabsl((long double)got - want) <= 1e-9L * size))
        fail_msg("%s of %u columns: %a instead of %La", what, n, got, want);
}

/* Products of the results with A, of columns that are of the same size. */
static void solutions_solve(void **state) {
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        const uint32_t n = sizes[s];
        double *const a = make_products(n, 2 * n + 3);
        double *const b = malloc((size_t)n * sizeof *b), *const x = malloc((size_t)n * sizeof *x);
        double *const inverse = malloc((size_t)n * n * sizeof *inverse);
        ef_cholesky factor = factor_of(a, n);
        for (size_t i = 0; i < n; i++)
            b[i] = draw() / factor.scales[i];
        ef_cholesky_solve(&factor, b, x);
        long double form = 0.0L;
        for (size_t i = 0; i < n; i++) {
            long double sum = 0.0L;
            for (size_t j = 0; j < n; j++)
                sum += (long double)a[i * n + j] * x[j];
            check_near(b[i], sum, 1.0L / factor.scales[i], "solution", n);
            form += (long double)b[i] * x[i];
        }
        ef_cholesky_inverse(&factor, inverse);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                long double sum = 0.0L;
                for (size_t k = 0; k < n; k++)
                    sum += (long double)a[i * n + k] * inverse[k * n + j];
                check_near((double)(sum * factor.scales[i] / factor.scales[j]), i == j, 1.0L,
                           "inverse", n);
                assert_true(inverse[i * n + j] == inverse[j * n + i]);
            }
        long double logs = 0.0L;
        for (size_t i = 0; i < n; i++)
            logs += 2.0L * logl(factor.lower[i * n + i] / (long double)factor.scales[i]);
        check_near(ef_cholesky_log_determinant(&factor), logs, 1.0L + fabsl(logs), "determinant",
                   n);
        ef_cholesky_forward(&factor, b, x);
        check_near(ef_dot(x, x, n), form, form, "quadratic form", n);
        memcpy(x, b, (size_t)n * sizeof *x);
        ef_cholesky_solve(&factor, x, x); /* in place, too */
        ef_cholesky_solve(&factor, b, b);
        assert_memory_equal(x, b, (size_t)n * sizeof *x);
        ef_cholesky_free(&factor);
        free(a);
        free(b);
        free(x);
        free(inverse);
    }
}

/* ------------------------------------------------------------------ dropped columns */

/* Compares all results with those of the matrix without the columns that were dropped. */
static void check_as_without(const double *a, uint32_t n, const ef_cholesky *factor) {
    const uint32_t kept = n - factor->n_dropped;
    double *const smaller = calloc((size_t)kept * kept + 1, sizeof *smaller);
    double *const inverse = malloc(((size_t)n * n + 1) * sizeof *inverse);
    double *const inverse_kept = malloc(((size_t)kept * kept + 1) * sizeof *inverse);
    uint32_t *const places = malloc(n * sizeof *places);
    double *const b = malloc(4 * (size_t)n * sizeof *b), *const x = b + n;
    double *const b_kept = x + n, *const x_kept = b_kept + n;
    uint32_t n_places = 0;
    for (uint32_t i = 0; i < n; i++) {
        b[i] = factor->dropped[i] ? -INFINITY : draw() / factor->scales[i];
        if (!factor->dropped[i])
            places[n_places++] = i;
    }
    for (size_t i = 0; i < kept; i++) {
        b_kept[i] = b[places[i]];
        for (size_t j = 0; j < kept; j++)
            smaller[i * kept + j] = a[places[i] * (size_t)n + places[j]];
    }
    ef_cholesky without = factor_of(smaller, kept);
    assert_int_equal(without.n_dropped, 0);
    for (size_t i = 0; i < kept; i++) /* bit for bit */
        for (size_t j = 0; j <= i; j++)
            assert_true(without.lower[i * kept + j] ==
                        factor->lower[places[i] * (size_t)n + places[j]]);
    ef_cholesky_solve(factor, b, x);
    ef_cholesky_solve(&without, b_kept, x_kept);
    ef_cholesky_inverse(factor, inverse);
    ef_cholesky_inverse(&without, inverse_kept);
    for (size_t i = 0; i < n; i++) {
        if (!factor->dropped[i])
            continue;
        assert_true(x[i] == 0.0 && !signbit(x[i]) && factor->lower[i * n + i] == 1.0);
        for (size_t j = 0; j < n; j++) {
            assert_true(inverse[i * n + j] == 0.0 && inverse[j * n + i] == 0.0);
            assert_true(i == j ||
                        (factor->lower[i * n + j] == 0.0 && factor->lower[j * n + i] == 0.0));
        }
    }
    for (size_t i = 0; i < kept; i++) {
        check_near(x[places[i]] / without.scales[i], x_kept[i] / without.scales[i],
                   1e3L + fabsl(x_kept[i] / (long double)without.scales[i]), "kept solution", n);
        for (size_t j = 0; j < kept; j++)
            assert_true(inverse[places[i] * (size_t)n + places[j]] == inverse_kept[i * kept + j]);
    }
    assert_true(ef_cholesky_log_determinant(factor) == ef_cholesky_log_determinant(&without));
    ef_cholesky_free(&without);
    free(smaller);
    free(inverse);
    free(inverse_kept);
    free(places);
    free(b);
}

/* Makes column j, times `times`, of the products: plus `plus` times column k. */
static void replace_column(double *a, uint32_t n, size_t j, double times, double plus, size_t k) {
    for (size_t i = 0; i < n; i++)
        a[i * n + j] = times * a[i * n + j] + plus * a[i * n + k];
    for (size_t i = 0; i < n; i++)
        a[j * n + i] = times * a[j * n + i] + plus * a[k * n + i];
}

static void dependent_columns_are_dropped(void **state) {
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        const uint32_t n = sizes[s];
        double *const a = make_products(n, 2 * n + 3);
        unsigned char *const want = calloc(n, 1);
        for (size_t j = 0; j < n; j++) {
            const double kind = draw() + 0.5;
            want[j] = kind < 0.3;
            if (kind < 0.1 || (kind < 0.3 && j == 0))
                replace_column(a, n, j, 0.0, 0.0, 0);
            else if (kind < 0.2)
                replace_column(a, n, j, 0.0, 1.0, j / 2);
            else if (kind < 0.3)
                replace_column(a, n, j, 0.0, -3.0, j - 1);
        }
        ef_cholesky factor = factor_of(a, n);
        assert_memory_equal(factor.dropped, want, n);
        check_as_without(a, n, &factor);
        ef_cholesky_free(&factor);
        free(a);
        free(want);
    }
}

/* Fewer rows than columns: as many columns are kept as there are rows, if these are far from
 * dependent. */
static void rank_is_found(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 70; n += 17)
        for (uint32_t n_rows = 1; n_rows < n; n_rows += 5) {
            double *const columns = malloc((size_t)n * n_rows * sizeof *columns);
            assert_non_null(columns);
            for (size_t j = 0; j < n; j++)
                for (size_t i = 0; i < n_rows; i++)
                    columns[j * n_rows + i] = j < n_rows ? (i == j) + 0.1 * draw() : draw();
            double *const a = multiply(columns, n, n_rows);
            free(columns);
            ef_cholesky factor = factor_of(a, n);
            assert_int_equal(factor.n_dropped, n - n_rows);
            for (uint32_t i = 0; i < n; i++)
                assert_int_equal(factor.dropped[i], i >= n_rows);
            check_as_without(a, n, &factor);
            ef_cholesky_free(&factor);
            free(a);
        }
}

/* A pivot of just 2^-40 of the diagonal element, and one that is the next larger, whatever the
 * sizes of columns: (1 - 2^-41)^2 is 1 - 2^-40, rounded. */
static void pivots_are_relative(void **state) {
    (void)state;
    for (int exponent = -1000; exponent <= 1000; exponent += 50)
        for (int above = 0; above < 2; above++) {
            const double both = 1.0 - 0x1p-41 - (above ? 0x1p-53 : 0.0);
            const double a[4] = {ldexp(1.0, exponent), 0.0, ldexp(both, exponent / 2), 1.0};
            ef_cholesky factor = factor_of(a, 2);
            assert_true(!factor.dropped[0] && factor.dropped[1] == !above);
            check_as_without(a, 2, &factor);
            ef_cholesky_free(&factor);
        }
}

/* Nothing that is not a number is in a result, whatever is in the matrix. */
static void hopeless_columns_are_dropped(void **state) {
    (void)state;
    static const double hopeless[] = {0.0,       -0.0,   -1.0, 5e-324,   INFINITY,
                                      -INFINITY, -1e300, NAN,  -DBL_MAX, 1e-320};
    for (uint32_t n = 1; n <= 70; n += 23)
        for (size_t h = 0; h < COUNT(hopeless); h++)
            for (uint32_t column = 0; column < n; column += 1 + n / 3) {
                double *const a = make_products(n, 2 * n + 3);
                a[column * (size_t)n + column] = hopeless[h];
                ef_cholesky factor = factor_of(a, n);
                assert_int_equal(factor.n_dropped, 1);
                assert_int_equal(factor.dropped[column], 1);
                check_as_without(a, n, &factor);
                ef_cholesky_free(&factor);
                free(a);
            }
    for (uint32_t n = 2; n <= 70; n += 17) { /* off the diagonal: the later of the two goes */
        double *const a = make_products(n, 2 * n + 3);
        const size_t row = n / 2, column = n / 3;
        static const double beside[] = {INFINITY, NAN, DBL_MAX, -1e300};
        for (size_t h = 0; h < COUNT(beside) && row != column; h++) {
            a[row * n + column] = beside[h];
            ef_cholesky factor = factor_of(a, n);
            assert_int_equal(factor.n_dropped, 1);
            assert_int_equal(factor.dropped[row], 1);
            check_as_without(a, n, &factor);
            ef_cholesky_free(&factor);
        }
        free(a);
    }
}

static void no_columns_are_a_matrix_too(void **state) {
    (void)state;
    ef_cholesky factor;
    double nothing = 7.0;
    assert_true(ef_cholesky_init(&factor, 0));
    assert_int_equal(ef_cholesky_factor(&factor), 0);
    ef_cholesky_solve(&factor, &nothing, &nothing);
    ef_cholesky_inverse(&factor, &nothing);
    assert_true(ef_cholesky_log_determinant(&factor) == 0.0 && nothing == 7.0);
    ef_cholesky_free(&factor);
}

static void short_memory_is_reported(void **state) {
    (void)state;
    const long before = atomic_load(&n_blocks);
    bool made = false;
    for (long n = 1; !made; n++) {
        ef_cholesky factor;
        arm(n);
        made = ef_cholesky_init(&factor, 40);
        assert_true(made != disarm());
        if (!made)
            assert_true(atomic_load(&n_blocks) == before);
        ef_cholesky_free(&factor);
        assert_true(atomic_load(&n_blocks) == before);
    }
    ef_cholesky factor;
    assert_true(SIZE_MAX / 8 >= UINT32_MAX); /* this many elements are more than any memory */
    assert_false(ef_cholesky_init(&factor, UINT32_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_has_eight_lanes),
        cmocka_unit_test(small_factor_is_known),
        cmocka_unit_test(factor_has_the_bits_of_plain_loops),
        cmocka_unit_test(solutions_solve),
        cmocka_unit_test(dependent_columns_are_dropped),
        cmocka_unit_test(rank_is_found),
        cmocka_unit_test(pivots_are_relative),
        cmocka_unit_test(hopeless_columns_are_dropped),
        cmocka_unit_test(no_columns_are_a_matrix_too),
        cmocka_unit_test(short_memory_is_reported),
    };
    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}
