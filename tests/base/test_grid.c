/* The grid: exponents, steps and snapping, against plain definitions of each. */
#include "base/numbers/grid.h"

#include <fenv.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint64_t random_state = 0x243F6A8885A308D3u;

static uint64_t draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = random_state;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

/* A float of either sign with an exponent from `least` to `most`. */
static float draw_float(int least, int most) {
    const int exponent = least + (int)(draw() % (uint64_t)(most - least + 1));
    const float size = ldexpf(1.0F + (float)(draw() >> 41) * 0x1p-23F, exponent);
    return draw() % 2 == 0 ? size : -size;
}

/* ---------------------------------------------------------------- powers and exponents */

static void powers_of_two(void **state) {
    (void)state;
    for (int e = -126; e <= 127; e++)
        assert_true(ef_power_of_two_float(e) == ldexpf(1.0F, e));
    for (int e = -1022; e <= 1023; e++)
        assert_true(ef_power_of_two(e) == ldexp(1.0, e));
    for (int e = EF_EXPONENT_MIN; e <= EF_EXPONENT_MAX; e++)
        assert_true(ef_step_bound(e) == ldexpf(1.0F, 23 - e));
}

static int naive_exponent(float magnitude) {
    int e = -100;
    while (e < 126 && ldexp(1.0, e) < (double)magnitude)
        e++;
    return e;
}

static void exponent_is_the_smallest_that_bounds(void **state) {
    (void)state;
    for (int e = -100; e <= 126; e++) {
        const float power = ldexpf(1.0F, e);
        const int above = e < 126 ? e + 1 : 126;
        assert_int_equal(ef_exponent(power), e);
        assert_int_equal(ef_exponent(nextafterf(power, INFINITY)), above);
        assert_int_equal(ef_exponent(nextafterf(power, 0.0F)), e);
        assert_int_equal(ef_exponent(1.5F * power), above);
    }
    for (int i = 0; i < 20000; i++) {
        const float x = fabsf(draw_float(-126, 125));
        assert_int_equal(ef_exponent(x), naive_exponent(x));
    }
}

static void exponent_is_clamped(void **state) {
    (void)state;
    assert_int_equal(ef_exponent(0.0F), -100);
    assert_int_equal(ef_exponent(FLT_TRUE_MIN), -100);
    assert_int_equal(ef_exponent(nextafterf(FLT_MIN, 0.0F)), -100);
    assert_int_equal(ef_exponent(FLT_MIN), -100);
    assert_int_equal(ef_exponent(0x1.8p-102F), -100);
    assert_int_equal(ef_exponent(0x1.fffffep-101F), -100);
    assert_int_equal(ef_exponent(0x1p-100F), -100);
    assert_int_equal(ef_exponent(0x1.000002p-100F), -99);
    assert_int_equal(ef_exponent(0x1p126F), 126);
    assert_int_equal(ef_exponent(FLT_MAX), 126);
}

static void counts_give_the_largest_exponent(void **state) {
    (void)state;
    ef_exponent_counts counts;
    memset(&counts, 0, sizeof counts);
    assert_int_equal(ef_exponent_counts_max(&counts), -100);
    for (int e = -100; e <= 126; e++) {
        memset(&counts, 0, sizeof counts);
        counts.rows[e + 100] = UINT64_MAX;
        assert_int_equal(ef_exponent_counts_max(&counts), e);
        counts.rows[0] = 1;
        counts.rows[(e + 100) / 2] = 1;
        assert_int_equal(ef_exponent_counts_max(&counts), e);
    }
}

/* ---------------------------------------------------------------- steps */

static void check_step(float low, float high) {
    const float most = 8388608.0F, spread = high - low;
    const float step = ef_step_minmax(low, high);
    if (spread < 0x1p-100F) {
        assert_true(step == 0.0F);
        assert_int_equal(ef_snap(high, low, step), 0);
        return;
    }
    /* The quotient, or the largest step below it that keeps `high` at 2^23 or less. */
    const float quotient = most / spread;
    assert_true(step > 0.0F && step <= quotient);
    assert_true(spread * step <= most);
    if (step < quotient)
        assert_true(spread * nextafterf(step, INFINITY) > most);
    assert_int_equal(ef_snap(low, low, step), 0);
    assert_true(ef_snap(high, low, step) <= EF_GRID_MAX);
    /* Not too low either: a unit in the last place of the step is 1 part in 2^23. */
    assert_true(ef_snap(high, low, step) >= EF_GRID_MAX - 2);
    for (int i = 0; i < 5; i++) {
        const float part = (float)(draw() >> 40) * 0x1p-24F;
        const float x = low * (1.0F - part) + high * part;
        if (x >= low && x <= high) {
            const int32_t g = ef_snap(x, low, step);
            assert_true(g >= 0 && g <= EF_GRID_MAX);
        }
    }
}

static void step_never_leads_beyond_the_grid(void **state) {
    (void)state;
    for (int i = 0; i < 300000; i++) {
        static const int ranges[][2] = {{-126, 125}, {-8, 8},     {100, 125},
                                        {-110, -90}, {-103, -97}, {0, 0}};
        const int *const range = ranges[(size_t)i % COUNT(ranges)];
        const float a = draw_float(range[0], range[1]);
        const float b = i % 7 == 0 ? 0.0F : draw_float(range[0], range[1]);
        check_step(a < b ? a : b, a < b ? b : a);
    }
    /* Every mantissa there is: for other exponents all numbers are only shifted. */
    for (uint32_t mantissa = 0; mantissa < UINT32_C(1) << 23; mantissa++) {
        const float spread = 1.0F + (float)mantissa * 0x1p-23F;
        const float image = spread * ef_step_minmax(0.0F, spread);
        if (!(image <= 0x1p23F && image > 0x1p23F - 2.0F))
            fail_msg("a column from 0 to %a goes up to %a", (double)spread, (double)image);
    }
}

static void step_at_the_limits(void **state) {
    (void)state;
    assert_true(ef_step_minmax(0.0F, 1.0F) == 0x1p23F);
    assert_true(ef_step_minmax(-1.0F, 1.0F) == 0x1p22F);
    assert_true(ef_step_minmax(-0x1p126F, 0x1p126F) == 0x1p-104F);
    assert_true(ef_step_minmax(0.0F, 0x1p-100F) == 0x1p123F);
    assert_true(ef_step_minmax(0.0F, nextafterf(0x1p-100F, 0.0F)) == 0.0F);
    assert_true(ef_step_minmax(-0x1p-101F, 0x1p-101F) == 0x1p123F);
    assert_true(ef_step_minmax(0.0F, FLT_TRUE_MIN) == 0.0F);
    assert_true(ef_step_minmax(5.0F, 5.0F) == 0.0F);
    assert_true(ef_step_minmax(0.0F, 0.0F) == 0.0F);
    check_step(-0x1p126F, 0x1p126F);
    check_step(-0x1p126F, 0x1.fffffep125F);
    check_step(nextafterf(1.0F, 0.0F), 1.0F);
}

/* ---------------------------------------------------------------- snapping */

static void snap_rounds_halves_to_even(void **state) {
    (void)state;
    static const struct {
        float y;
        int32_t g;
    } cases[] = {
        {0.0F, 0},
        {0.5F, 0},
        {1.5F, 2},
        {2.5F, 2},
        {3.5F, 4},
        {0x1.fffffep-2F, 0}, /* just below 1/2 */
        {0x1.000002p-1F, 1},
        {2.4999998F, 2},
        {2.5000002F, 3},
        {0.9F, 1},
        {8388606.5F, 8388606},
        {8388607.5F, 8388608},
        {8388608.0F, 8388608},
        {4194303.25F, 4194303},
        {4194303.75F, 4194304},
        {FLT_TRUE_MIN, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(ef_snap(cases[i].y, 0.0F, 1.0F), cases[i].g);
        assert_int_equal(ef_snap(-cases[i].y, 0.0F, 1.0F), -cases[i].g);
        assert_int_equal(ef_snap_wide(cases[i].y, 0.0F, 1.0F), cases[i].g);
        assert_int_equal(ef_snap_wide(-cases[i].y, 0.0F, 1.0F), -cases[i].g);
    }
    for (int32_t g = -20000; g <= 20000; g++) { /* every quarter */
        const float y = (float)g * 0.25F;
        assert_int_equal(ef_snap((float)g, 0.0F, 0.25F), (int32_t)nearbyintf(y));
    }
}

/* The definition of docs/definition/numerics.md with libm's rounding: each operation rounded to
 * float32. */
static void snap_is_the_definition(void **state) {
    (void)state;
    assert_int_equal(fegetround(), FE_TONEAREST);
    for (int i = 0; i < 300000; i++) {
        const int scale = (int)(draw() % 200) - 100;
        const float a = draw_float(scale, scale + 4), b = draw_float(scale, scale + 4);
        const float low = a < b ? a : b, high = a < b ? b : a;
        const float step = ef_step_minmax(low, high);
        const float part = (float)(draw() >> 40) * 0x1p-24F;
        float x = low + (high - low) * part;
        x = x < low ? low : x > high ? high : x;
        volatile float shifted = x - low;
        volatile float y = shifted * step;
        assert_int_equal(ef_snap(x, low, step), (int32_t)nearbyintf(y));
        assert_int_equal(ef_snap_wide(x, low, step), (int32_t)nearbyintf(y));
        /* Scale none: the product with a power of two is exact. */
        const int e = naive_exponent(fabsf(x));
        const double exact = (double)x * ldexp(1.0, 23 - e);
        assert_int_equal(ef_snap(x, 0.0F, ef_step_bound(e)), (int32_t)nearbyint(exact));
        assert_true(fabs(exact) <= 0x1p23);
    }
}

static void wide_snap_is_clamped(void **state) {
    (void)state;
    const int64_t most = INT64_C(1) << 62;
    const float below = nextafterf(0x1p62F, 0.0F);
    assert_true(ef_snap_wide(0x1p62F, 0.0F, 1.0F) == most);
    assert_true(ef_snap_wide(-0x1p62F, 0.0F, 1.0F) == -most);
    assert_true(ef_snap_wide(below, 0.0F, 1.0F) == most - (INT64_C(1) << 38));
    assert_true(ef_snap_wide(-below, 0.0F, 1.0F) == -most + (INT64_C(1) << 38));
    assert_true(ef_snap_wide(0x1p126F, 0.0F, 1.0F) == most);
    /* The product may overflow to infinity. */
    assert_true(ef_snap_wide(0x1p126F, -0x1p126F, 0x1p123F) == most);
    assert_true(ef_snap_wide(-0x1p126F, 0x1p126F, 0x1p123F) == -most);
    assert_true(ef_snap_wide(0x1p126F, 0.0F, 0.0F) == 0);
    for (int i = 0; i < 50000; i++) {
        const float y = draw_float(-3, 61);
        assert_true(ef_snap_wide(y, 0.0F, 1.0F) == (int64_t)nearbyintf(y));
    }
}

/* ---------------------------------------------------------------- distances */

static void sqdist_at_its_largest(void **state) {
    (void)state;
    enum { MOST_COLUMNS = 32767 };
    int32_t *const a = test_malloc(MOST_COLUMNS * sizeof *a);
    int32_t *const b = test_malloc(MOST_COLUMNS * sizeof *b);
    for (size_t j = 0; j < MOST_COLUMNS; j++) {
        a[j] = j % 2 == 0 ? EF_GRID_MAX : -EF_GRID_MAX;
        b[j] = -a[j];
    }
    const int64_t largest = MOST_COLUMNS * (INT64_C(1) << 48);
    assert_true(ef_grid_sqdist(a, b, MOST_COLUMNS) == largest);
    assert_true(ef_grid_sqdist(a, a, MOST_COLUMNS) == 0);
    assert_true(ef_grid_sqdist(a, b, 1) == INT64_C(1) << 48);
    for (uint32_t d = 1; d < 50; d++) {
        ef_i128 sum = 0;
        for (uint32_t j = 0; j < d; j++) {
            a[j] = (int32_t)(draw() % (2 * EF_GRID_MAX + 1)) - EF_GRID_MAX;
            b[j] = (int32_t)(draw() % (2 * EF_GRID_MAX + 1)) - EF_GRID_MAX;
            sum += ((ef_i128)a[j] - b[j]) * ((ef_i128)a[j] - b[j]);
        }
        assert_true(ef_grid_sqdist(a, b, d) == sum);
    }
    test_free(a);
    test_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(exponent_is_the_smallest_that_bounds),
        cmocka_unit_test(exponent_is_clamped),
        cmocka_unit_test(counts_give_the_largest_exponent),
        cmocka_unit_test(step_never_leads_beyond_the_grid),
        cmocka_unit_test(step_at_the_limits),
        cmocka_unit_test(snap_rounds_halves_to_even),
        cmocka_unit_test(snap_is_the_definition),
        cmocka_unit_test(wide_snap_is_clamped),
        cmocka_unit_test(sqdist_at_its_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
