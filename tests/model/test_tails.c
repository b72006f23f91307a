/* Where the loss of a set comes from: against a plain computation, and at its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "efface/efface.h"

#include <math.h>
#include <stdlib.h>

#define MOST 3000
#define D 3

static float values[MOST * D];
static int64_t weights[MOST];

static double draw(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(*seed >> 33) * 0x1p-31 - 0.5;
}

static void fill(size_t n, uint64_t seed) {
    for (size_t i = 0; i < n * D; i++)
        values[i] = (float)draw(&seed);
    for (size_t i = 0; i < n; i++)
        weights[i] = 1 + (int64_t)(i % 3);
}

static efface_tails tails_of(size_t n, const int64_t *weight, efface_scale scale) {
    efface_data *data = NULL;
    efface_tails tails;
    const efface_rows rows = {.n_rows = n, .values = values, .weights = weight};
    assert_int_equal(efface_data_create(D, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    assert_int_equal(efface_data_tails(data, scale, &tails, NULL), EFFACE_OK);
    efface_data_free(data);
    return tails;
}

/* The loss around the mean, and of columns, as one would write it down. */
static double plain_loss(size_t n, double column_loss[D]) {
    double total = 0.0;
    for (int j = 0; j < D; j++) {
        double sum = 0.0, weight = 0.0;
        for (size_t i = 0; i < n; i++) {
            sum += (double)values[i * D + (size_t)j] * (double)weights[i];
            weight += (double)weights[i];
        }
        column_loss[j] = 0.0;
        for (size_t i = 0; i < n; i++) {
            const double x = (double)values[i * D + (size_t)j] - sum / weight;
            column_loss[j] += x * x * (double)weights[i];
        }
        total += column_loss[j];
    }
    return total;
}

static void shares_are_those_of_the_loss(void **state) {
    (void)state;
    static const size_t sizes[] = {2, 15, 16, 17, 99, 1000, 2999};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double column_loss[D];
        fill(sizes[s], s + 1);
        for (size_t i = 0; i < sizes[s]; i++)
            values[i * D + 1] *= 3.0F;
        const efface_tails tails = tails_of(sizes[s], weights, EFFACE_SCALE_NONE);
        const double loss = plain_loss(sizes[s], column_loss);
        assert_true(fabs(tails.loss - loss) <= 1e-9 * loss);
        assert_true(fabs(tails.column_share - column_loss[tails.column] / loss) < 1e-9);
        for (int j = 0; j < D; j++)
            assert_true(column_loss[j] <= column_loss[tails.column]);
        assert_true(tails.n_rows == (sizes[s] < 1000 ? 1 : sizes[s] / 1000));
        assert_false(tails.rows_carry || tails.column_carries);
    }
}

static void a_few_rows_carry_the_loss(void **state) {
    (void)state;
    for (int scale = EFFACE_SCALE_NONE; scale <= EFFACE_SCALE_STANDARD; scale++) {
        fill(MOST, 3);
        for (int j = 0; j < D; j++)
            values[17 * D + j] = 1e6F;
        efface_tails tails = tails_of(MOST, NULL, (efface_scale)scale);
        assert_true(tails.rows_carry && tails.n_rows == 1 && tails.rows_share > 0.99);
        for (int j = 0; j < D; j++)
            values[2900 * D + j] = -1e6F;
        tails = tails_of(MOST, NULL, (efface_scale)scale);
        assert_true(tails.rows_carry && tails.n_rows == 2);
        /* Four rows are more than one in a thousand. */
        for (int j = 0; j < D; j++)
            values[5 * D + j] = values[6 * D + j] = 1e6F;
        tails = tails_of(MOST, NULL, (efface_scale)scale);
        assert_false(tails.rows_carry);
        assert_int_equal(tails.n_rows, 3);
    }
    /* Of fewer than a hundred rows one is no tail. */
    fill(99, 4);
    values[0] = 1e6F;
    assert_false(tails_of(99, NULL, EFFACE_SCALE_NONE).rows_carry);
    fill(100, 4);
    values[0] = 1e6F;
    assert_true(tails_of(100, NULL, EFFACE_SCALE_NONE).rows_carry);
    /* A row of great weight is many rows at a place. */
    fill(MOST, 5);
    weights[3] = INT64_C(1) << 30;
    const efface_tails tails = tails_of(MOST, weights, EFFACE_SCALE_NONE);
    assert_false(tails.rows_carry);
}

static void one_column_carries_the_loss(void **state) {
    (void)state;
    fill(MOST, 6);
    for (size_t i = 0; i < MOST; i++)
        values[i * D + 2] *= 1000.0F;
    efface_tails tails = tails_of(MOST, NULL, EFFACE_SCALE_NONE);
    assert_true(tails.column_carries && tails.column == 2 && !tails.rows_carry);
    assert_false(tails_of(MOST, NULL, EFFACE_SCALE_MINMAX).column_carries);
    /* The others do not vary: there is nothing that could count. */
    for (size_t i = 0; i < MOST; i++)
        values[i * D] = values[i * D + 1] = 5.0F;
    tails = tails_of(MOST, NULL, EFFACE_SCALE_NONE);
    assert_true(fabs(tails.column_share - 1.0) < 1e-9 && !tails.column_carries);
}

static void limits(void **state) {
    (void)state;
    efface_data *data = NULL;
    efface_tails tails = tails_of(0, NULL, EFFACE_SCALE_MINMAX);
    assert_true(tails.loss == 0.0 && !tails.rows_carry && !tails.column_carries);
    fill(MOST, 7);
    tails = tails_of(1, NULL, EFFACE_SCALE_NONE);
    assert_true(tails.loss == 0.0 && tails.rows_share == 0.0);
    for (size_t i = 0; i < MOST * D; i++) /* equal rows */
        values[i] = 3.0F;
    tails = tails_of(MOST, NULL, EFFACE_SCALE_MINMAX);
    assert_true(tails.loss == 0.0 && !tails.rows_carry && !tails.column_carries);
    for (size_t i = 0; i < MOST * D; i++) /* as large and as small as they can be */
        values[i] = (i % 2 == 0 ? -1.0F : 1.0F) * 0x1p126F;
    tails = tails_of(MOST, NULL, EFFACE_SCALE_NONE);
    assert_true(isfinite(tails.loss) && tails.column_share > 0.3 && tails.column_share < 0.4);
    for (size_t i = 0; i < MOST * D; i++)
        values[i] = (float)(i % 2) * 0x1p-149F;
    tails = tails_of(MOST, NULL, EFFACE_SCALE_NONE);
    assert_true(tails.column_share > 0.3 && tails.column_share < 0.4);
    assert_int_equal(efface_data_create(1, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_tails(data, (efface_scale)7, &tails, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_tails(data, EFFACE_SCALE_NONE, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_tails(NULL, EFFACE_SCALE_NONE, &tails, NULL), EFFACE_E_ARGUMENT);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_the_loss),
        cmocka_unit_test(a_few_rows_carry_the_loss),
        cmocka_unit_test(one_column_carries_the_loss),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
