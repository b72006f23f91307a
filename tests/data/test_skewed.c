/*
 * The generated sets that are skewed (bench/program/bench_skewed.c): shares, scales, tails, copies
 * and zeros as the definition has them, a few values computed from it again, and frozen bits.
 */
#include "../bench/program/bench_skewed.h"
#include "base/random/tape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static efface_data *make(bench_skew skew, uint32_t k, uint32_t d, size_t n, uint64_t seed) {
    efface_data *data = NULL;
    efface_error error;
    if (bench_make_skewed(skew, k, d, n, seed, &data, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(efface_data_n_rows(data), n);
    assert_int_equal(efface_data_n_columns(data), d);
    return data;
}

/* All values, row by row. */
static float *values_of(const efface_data *data) {
    const size_t n = efface_data_n_rows(data);
    const uint32_t d = efface_data_n_columns(data);
    float *const values = calloc(n * d + 1, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n; i++)
        efface_data_values(data, i, values + i * d);
    return values;
}

static double unit(uint64_t seed, bench_skew skew, uint32_t what, uint64_t index, uint32_t j) {
    return ef_tape_unit(
        ef_tape(seed, EF_TAPE_GAUSSIAN, ((uint32_t)skew + 1) * 65536 + what, index, j));
}

/* ---------------------------------------------------------------- scales */

static void scales_have_their_shares(void **unused) {
    (void)unused;
    static const struct {
        uint32_t k;
        size_t n, groups[4];
    } cases[] = {
        {8, 20000, {18000, 1800, 180, 20}},
        {4, 1000, {900, 90, 9, 1}},
        {7, 1999, {1802, 179, 17, 1}},
        {4, 50, {44, 4, 1, 1}},
        {4, 4, {1, 1, 1, 1}},
        {4, 2, {1, 1, 0, 0}},
        {4, 1, {1, 0, 0, 0}},
        {4, 0, {0, 0, 0, 0}},
        {2, 1000, {910, 90, 0, 0}},
        {1, 1000, {1000, 0, 0, 0}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const uint32_t k = cases[c].k;
        efface_data *const data = make(BENCH_SKEW_SCALES, k, 3, cases[c].n, 5);
        size_t groups[4] = {0}, clusters[8] = {0};
        for (size_t i = 0; i < cases[c].n; i++) {
            const efface_row row = efface_data_row(data, i);
            assert_int_equal(row.id, i);
            assert_int_equal(row.weight, 1);
            assert_true(row.label >= 0 && row.label < k);
            groups[row.label % 4]++;
            clusters[row.label]++;
        }
        assert_memory_equal(groups, cases[c].groups, sizeof groups);
        for (uint32_t a = 0; a + 4 < k; a++) /* clusters of a group differ by one row at most */
            assert_true(clusters[a] - clusters[a + 4] <= 1);
        efface_data_free(data);
    }
}

static void scales_are_a_hundredfold(void **unused) {
    (void)unused;
    enum { K = 8, D = 6, N = 20000 };
    static const double scales[] = {1.0, 1e2, 1e4, 1e6};
    efface_data *const data = make(BENCH_SKEW_SCALES, K, D, N, 9);
    float *const values = values_of(data);
    double low[K][D], high[K][D], largest[4] = {0};
    for (size_t i = 0; i < K * D; i++) {
        low[i / D][i % D] = HUGE_VAL;
        high[i / D][i % D] = -HUGE_VAL;
    }
    for (size_t i = 0; i < N; i++) {
        const uint32_t c = (uint32_t)efface_data_row(data, i).label;
        for (uint32_t j = 0; j < D; j++) {
            const double x = (double)values[i * D + j];
            low[c][j] = fmin(low[c][j], x);
            high[c][j] = fmax(high[c][j], x);
            largest[c % 4] = fmax(largest[c % 4], fabs(x));
            const double m = 2.0 * unit(9, BENCH_SKEW_SCALES, 0, UINT64_MAX - c, j) - 1.0;
            const double s = 2.0 * unit(9, BENCH_SKEW_SCALES, 0, i, j) - 1.0;
            assert_true(values[i * D + j] == (float)(scales[c % 4] * (m + s / 100.0)));
        }
    }
    for (uint32_t c = 0; c < K; c++)
        for (uint32_t j = 0; j < D; j++) {
            const double spread = (high[c][j] - low[c][j]) / scales[c % 4];
            assert_true(spread <= 0.0201 && spread >= (c % 4 == 3 ? 0.01 : 0.018));
        }
    for (int g = 0; g < 4; g++) /* the largest of 12 coordinates of centres */
        assert_true(largest[g] > 0.5 * scales[g] && largest[g] < 1.02 * scales[g]);
    free(values);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- tails */

/* Within six standard errors: half zeros, and of the others one in x above x. */
static void tails_are_heavy(void **unused) {
    (void)unused;
    enum { K = 5, D = 6, N = 40000 };
    efface_data *const data = make(BENCH_SKEW_TAILS, K, D, N, 3);
    float *const values = values_of(data);
    const double limits[] = {1.0, 2.0, 10.0, 100.0, 1000.0};
    for (uint32_t j = 1; j < D; j += 2)
        for (size_t t = 0; t < sizeof limits / sizeof limits[0]; t++) {
            size_t n_zeros = 0, n_above = 0;
            for (size_t i = 0; i < N; i++) {
                const double x = (double)values[i * D + j];
                assert_true(x == 0.0 || x >= 1.0);
                n_zeros += x == 0.0;
                n_above += x > limits[t];
            }
            const double expected = 0.5 * N / limits[t];
            assert_true(fabs((double)n_zeros - 0.5 * N) < 6 * sqrt(0.25 * N));
            assert_true(fabs((double)n_above - expected) < 6 * sqrt(expected));
        }
    for (size_t i = 0; i < N; i++) {
        const uint32_t c = (uint32_t)efface_data_row(data, i).label;
        assert_int_equal(c, i % K);
        for (uint32_t j = 0; j < D; j += 2) {
            const double m = unit(3, BENCH_SKEW_TAILS, 0, UINT64_MAX - c, j);
            assert_true(fabs((double)values[i * D + j] - m) < 0.1001);
        }
    }
    free(values);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- duplicates */

static uint32_t compared_columns;

static int compare_rows(const void *a, const void *b) {
    return memcmp(a, b, compared_columns * sizeof(float)); /* any order will do */
}

static void duplicates_are_few_rows(void **unused) {
    (void)unused;
    enum { K = 8, D = 12, N = 20000, POINTS = 16 * K };
    efface_data *const data = make(BENCH_SKEW_DUPLICATES, K, D, N, 4);
    float *const values = values_of(data);
    static const float zeros[D];
    size_t n_zero_rows = 0, n_zeros = 0, n_different = 0, most = 0;
    for (size_t i = 0; i < N; i++) {
        const bool is_zero = memcmp(values + i * D, zeros, sizeof zeros) == 0;
        n_zero_rows += is_zero;
        assert_true(!is_zero || efface_data_row(data, i).label == 0);
        for (uint32_t j = 0; j < D; j++) {
            const float x = values[i * D + j];
            n_zeros += x == 0.0F;
            assert_true(x == floorf(x) && x >= -1.0F && x <= 100.0F);
        }
    }
    compared_columns = D;
    qsort(values, N, D * sizeof *values, compare_rows);
    for (size_t i = 0, run = 0; i < N; i++) {
        const bool is_new =
            i == 0 || memcmp(values + i * D, values + (i - 1) * D, D * sizeof *values) != 0;
        n_different += is_new;
        run = is_new ? 1 : run + 1;
        most = run > most ? run : most;
    }
    assert_int_equal(n_different, POINTS);
    assert_int_equal(most, n_zero_rows); /* which one row in cbrt(128) is */
    assert_true(fabs((double)n_zero_rows - N / cbrt(POINTS)) < 6 * sqrt(0.16 * N));
    assert_true(n_zeros > N * D / 4 && n_zeros < N * D / 2);
    free(values);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- all of them */

/* FNV-1a over the values' bits, low byte first, row by row. */
static uint64_t checksum(const efface_data *data) {
    float *const values = values_of(data);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < efface_data_n_rows(data) * efface_data_n_columns(data); i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (unsigned shift = 0; shift < 32; shift += 8)
            hash = (hash ^ (bits >> shift & 0xFF)) * UINT64_C(0x100000001B3);
    }
    free(values);
    return hash;
}

static void skewed_sets_have_their_bits(void **unused) {
    (void)unused;
    static const uint64_t hashes[] = {UINT64_C(0x02605F8C246C1F9B), UINT64_C(0x140514655B45B39B),
                                      UINT64_C(0xF19C1C6ABAAFB38D)};
    for (int skew = 0; skew < 3; skew++) {
        efface_data *const data = make((bench_skew)skew, 8, 16, 5000, 1);
        efface_data *const other = make((bench_skew)skew, 8, 16, 5000, 2);
        const uint64_t hash = checksum(data);
        if (hash != hashes[skew])
            fail_msg("skew %d: checksum 0x%016llX", skew, (unsigned long long)hash);
        assert_true(checksum(other) != hash);
        efface_data_free(data);
        efface_data_free(other);
    }
}

static void skewed_sets_refuse_what_they_cannot_be(void **unused) {
    (void)unused;
    efface_data *data = NULL;
    efface_error error;
    const bench_skew tails = BENCH_SKEW_TAILS;
#define TRY(status, ...) assert_int_equal(bench_make_skewed(__VA_ARGS__, 1, &data, &error), status)
    TRY(EFFACE_E_ARGUMENT, tails, 0, 2, 5);
    TRY(EFFACE_E_LIMIT, tails, 2, 0, 5);
    TRY(EFFACE_E_LIMIT, tails, 2, EFFACE_MAX_COLUMNS + 1, 5);
#undef TRY
    assert_null(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_have_their_shares),
        cmocka_unit_test(scales_are_a_hundredfold),
        cmocka_unit_test(tails_are_heavy),
        cmocka_unit_test(duplicates_are_few_rows),
        cmocka_unit_test(skewed_sets_have_their_bits),
        cmocka_unit_test(skewed_sets_refuse_what_they_cannot_be),
    };
    return cmocka_run_group_tests_name("skewed", tests, NULL, NULL);
}
