/*
 * Results in doubles have the same bits with every compiler, every option and on every processor:
 * frozen digests of functions and of linear algebra over inputs from the tape.
 *
 * The digests are part of the definition of the bits, as those of test_invariance.c.
 * EFFACE_PRINT_DIGESTS=1 prints their table anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes/digest.h"
#include "base/bytes/encode.h"
#include "base/memory/memory.h"
#include "base/numbers/elementary.h"
#include "base/numbers/grid.h"
#include "base/numbers/matrix.h"
#include "base/random/tape.h"
#include "efface/efface.h"
#include "model/sums/coordinates/fourier.h"

static const uint32_t sizes[] = {1, 2, 3, 5, 8, 13, 31, 32, 33, 50, 70, 101};

#define N_SIZES (sizeof sizes / sizeof *sizes)
#define MAX_SIZE 101

static double draw(uint32_t stream, uint64_t i) {
    return ef_tape_unit(ef_tape(UINT64_C(0x5EED), (ef_purpose)204, stream, i, 0)) - 0.5;
}

/* ------------------------------------------------------------------ results */

static void write_doubles(ef_writer *out, const double *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        ef_write_f64(out, values[i]);
}

static void write_exponentials(ef_writer *out) {
    for (uint64_t i = 0; i < 5000; i++) {
        ef_write_f64(out, ef_exp(1440.0 * draw(0, i)));
        ef_write_f64(out, ef_exp(draw(1, i)));
        ef_write_f64(out, ef_log(ef_exp(1400.0 * draw(2, i))));
    }
}

static void write_cosines(ef_writer *out) {
    for (uint64_t i = 0; i < 1000; i++) {
        double turns[16], cosines[16];
        for (uint64_t k = 0; k < 16; k++)
            turns[k] = draw(3, 16 * i + k) * (i % 3 == 0 ? 1.0 : i % 3 == 1 ? 1e3 : 0x1p54);
        ef_cos_turns_16(turns, cosines);
        write_doubles(out, cosines, 16);
    }
}

/* The products of n columns of rows; every eighth column depends on the one before it. */
static void make_products(uint32_t n, double *a) {
    const size_t n_rows = 2 * (size_t)n;
    double *const rows = ef_alloc(n * n_rows, sizeof *rows);
    assert_non_null(rows);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n_rows; i++)
            rows[j * n_rows + i] = j % 8 == 7 ? 3.0 * rows[(j - 1) * n_rows + i]
                                              : draw(n, j * n_rows + i) * (double)(j * j + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = ef_dot(rows + i * n_rows, rows + j * n_rows, n_rows);
    ef_free(rows);
}

static void write_factors(ef_writer *out) {
    double *const room = ef_alloc((size_t)MAX_SIZE * MAX_SIZE, sizeof *room);
    double b[MAX_SIZE], x[MAX_SIZE];
    assert_non_null(room);
    for (size_t s = 0; s < N_SIZES; s++) {
        const uint32_t n = sizes[s];
        ef_cholesky factor;
        assert_true(ef_cholesky_init(&factor, n));
        make_products(n, factor.lower);
        assert_int_equal(ef_cholesky_factor(&factor), n / 8);
        write_doubles(out, factor.lower, (size_t)n * n);
        write_doubles(out, factor.scales, n);
        for (uint32_t i = 0; i < n; i++)
            b[i] = draw(200 + n, i);
        ef_cholesky_forward(&factor, b, x);
        write_doubles(out, x, n);
        ef_cholesky_solve(&factor, b, x);
        write_doubles(out, x, n);
        ef_cholesky_inverse(&factor, room);
        write_doubles(out, room, (size_t)n * n);
        ef_write_f64(out, ef_cholesky_log_determinant(&factor));
        ef_cholesky_free(&factor);
    }
    ef_free(room);
}

static void write_eigenvectors(ef_writer *out) {
    double *const room = ef_alloc((size_t)MAX_SIZE * MAX_SIZE, sizeof *room);
    double values[MAX_SIZE];
    assert_non_null(room);
    for (size_t s = 0; s < N_SIZES; s++) {
        const uint32_t n = sizes[s];
        make_products(n, room);
        assert_int_equal(ef_eigen_symmetric(room, n, values), EFFACE_OK);
        write_doubles(out, room, (size_t)n * n);
        write_doubles(out, values, n);
    }
    ef_free(room);
}

static void write_features(ef_writer *out) {
    enum { N_FEATURES = 45, N_INPUTS = 37 };
    ef_fourier fourier;
    uint32_t inputs[N_INPUTS];
    float panel[N_INPUTS * EF_PANEL], features[N_FEATURES * EF_PANEL];
    int32_t of_row[N_FEATURES];
    assert_true(ef_fourier_init(&fourier, 42, 0.125, N_FEATURES, N_INPUTS));
    ef_fourier_write(out, &fourier);
    for (uint32_t j = 0; j < N_INPUTS; j++)
        inputs[j] = N_INPUTS - 1 - j;
    for (uint64_t i = 0; i < N_INPUTS * EF_PANEL; i++)
        panel[i] = (float)(4.0 * draw(4, i));
    ef_fourier_panel(&fourier, panel, inputs, features);
    for (size_t i = 0; i < N_FEATURES * EF_PANEL; i++)
        ef_write_f32(out, features[i]);
    ef_fourier_row(&fourier, panel + 3, EF_PANEL, inputs, of_row);
    for (size_t i = 0; i < N_FEATURES; i++)
        ef_write_f32(out, (float)of_row[i]);
    ef_fourier_free(&fourier);
}

/* ------------------------------------------------------------------ digests */

static const struct {
    const char *name;
    void (*write)(ef_writer *out);
    const char *frozen;
} subjects[] = {
    {"exponentials", write_exponentials,
     "a7bc91a64bfcc18e57fe627d13c34ab6751cc9e84aa78a2bab58ebba53a7ce7e"},
    {"cosines", write_cosines, "55297164b2cbdeedb9db20258623a793add3d789d17f1a92e6e0185a6dae1fd8"},
    {"factors", write_factors, "b64e0484e602e54ac7942f7586914522c1c4ad0523700960d3c9a4c90ba1e396"},
    {"eigenvectors", write_eigenvectors,
     "f03c88cd1c57598721bb56bafaea484138f255721ce47e41c86b9c5c73d830d5"},
    {"features", write_features,
     "aa4c603d772f6aa43dbc03eb2326d2f01eabb1e01c0ee879ad57f53966c2d5f9"},
};

static void digests_are_the_frozen_ones(void **state) {
    (void)state;
    const int print = getenv("EFFACE_PRINT_DIGESTS") != NULL;
    size_t n_wrong = 0;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        ef_writer out = {0};
        subjects[i].write(&out);
        assert_false(out.failed);
        unsigned char digest[EFFACE_DIGEST_BYTES];
        char hex[2 * EFFACE_DIGEST_BYTES + 1];
        ef_digest(out.bytes, out.n_bytes, digest);
        for (size_t k = 0; k < EFFACE_DIGEST_BYTES; k++)
            snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        if (strcmp(hex, subjects[i].frozen) != 0) {
            n_wrong++;
            printf("%s: \"%s\"\n", subjects[i].name, hex);
        } else if (print) {
            printf("%s: \"%s\"\n", subjects[i].name, hex);
        }
        ef_free(out.bytes);
    }
    if (!print)
        assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_the_frozen_ones),
    };
    return cmocka_run_group_tests_name("arithmetic invariance", tests, NULL, NULL);
}
