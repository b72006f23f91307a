/* 128-bit arithmetic: the rounding of centroids and of losses, against its definition. */
#include "base/numbers/wide.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define POWER(n) ((ef_i128)1 << (n))
#define MOST ((ef_i128)((~(ef_u128)0) >> 1)) /* 2^127 - 1 */

static uint64_t random_state = 0x9E3779B97F4A7C15u;

static uint64_t draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = random_state;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

/* A random number of at most `n_bits` bits, of any length below. */
static ef_u128 draw_bits(unsigned n_bits) {
    const ef_u128 all = (ef_u128)draw() << 64 | draw();
    return all >> (128 - n_bits) >> draw() % n_bits;
}

/* ---------------------------------------------------------------- division */

/* The definition, by multiplication: no integer is nearer to num / den than the result, and of two
 * equally near ones it is the one further from zero. |result * den| < 2^127 as |num|, den < 2^126.
 */
static void check_division(ef_i128 num, ef_i128 den) {
    const ef_i128 result = ef_divide_round(num, den);
    const ef_i128 over = result * den - num; /* den times the error */
    const ef_i128 size = over < 0 ? -over : over;
    assert_true(size <= den - size);
    if (size == den - size) /* a half: rounded up if positive, down if negative */
        assert_true((over > 0) == (num > 0));
}

static void division_of_small_numbers(void **state) {
    (void)state;
    for (int num = -1000; num <= 1000; num++)
        for (int den = 1; den <= 60; den++) {
            const int size = num < 0 ? -num : num;
            const int rounded = (2 * size + den) / (2 * den);
            assert_true(ef_divide_round(num, den) == (num < 0 ? -rounded : rounded));
            check_division(num, den);
        }
}

static void division_rounds_halves_away_from_zero(void **state) {
    (void)state;
    assert_true(ef_divide_round(1, 2) == 1);
    assert_true(ef_divide_round(-1, 2) == -1);
    assert_true(ef_divide_round(3, 2) == 2);
    assert_true(ef_divide_round(-3, 2) == -2);
    assert_true(ef_divide_round(5, 10) == 1);
    assert_true(ef_divide_round(4, 10) == 0);
    assert_true(ef_divide_round(-4, 10) == 0);
    assert_true(ef_divide_round(0, 7) == 0);
    /* The half of an odd divisor is no integer: 1/3 and 2/3 are the nearest to it. */
    assert_true(ef_divide_round(4, 3) == 1);
    assert_true(ef_divide_round(5, 3) == 2);
}

static void division_of_large_numbers(void **state) {
    (void)state;
    const ef_i128 most = POWER(126) - 1;
    assert_true(ef_divide_round(most, 1) == most);
    assert_true(ef_divide_round(-most, 1) == -most);
    assert_true(ef_divide_round(most, 2) == POWER(125)); /* 2^125 - 1/2 */
    assert_true(ef_divide_round(-most, 2) == -POWER(125));
    assert_true(ef_divide_round(most, most) == 1);
    assert_true(ef_divide_round(POWER(125), POWER(126)) == 1);
    assert_true(ef_divide_round(POWER(125) - 1, POWER(126)) == 0);
    assert_true(ef_divide_round(-POWER(125), POWER(126)) == -1);
    assert_true(ef_divide_round(most, MOST) == 0); /* just below a half, at the largest divisor */
    /* 64 bits of quotient and 60 of divisor, on both sides of a half. */
    const ef_i128 den = POWER(60), quotient = POWER(63) + 5;
    assert_true(ef_divide_round(quotient * den + den / 2 - 1, den) == quotient);
    assert_true(ef_divide_round(quotient * den + den / 2, den) == quotient + 1);
    assert_true(ef_divide_round(-quotient * den - den / 2 + 1, den) == -quotient);
    assert_true(ef_divide_round(-quotient * den - den / 2, den) == -quotient - 1);
    for (int i = 0; i < 100000; i++) {
        const ef_i128 divisor = (ef_i128)draw_bits(126) | 1;
        const ef_i128 size = (ef_i128)draw_bits(126);
        check_division(i % 2 == 0 ? size : -size, divisor);
        /* Exact halves and their neighbours. */
        const ef_i128 even = (ef_i128)draw_bits(60) * 2 + 2;
        const ef_i128 half = ((ef_i128)draw_bits(60) * 2 + 1) * (even / 2);
        for (int near = -1; near <= 1; near++) {
            check_division(half + near, even);
            check_division(-half + near, even);
        }
    }
}

/* ---------------------------------------------------------------- to double */

/* The nearest double, ties to even, from the bits: 53 leading ones and what is below. */
static double nearest_double(ef_i128 value) {
    const ef_u128 size = value < 0 ? ~(ef_u128)value + 1 : (ef_u128)value;
    int length = 0;
    while (length < 128 && size >> length != 0)
        length++;
    if (length <= 53)
        return value < 0 ? -(double)(uint64_t)size : (double)(uint64_t)size;
    const int cut = length - 53;
    uint64_t kept = (uint64_t)(size >> cut);
    const ef_u128 rest = size - ((ef_u128)kept << cut), half = (ef_u128)1 << (cut - 1);
    if (rest > half || (rest == half && kept % 2 == 1))
        kept++;
    const double result = ldexp((double)kept, cut);
    return value < 0 ? -result : result;
}

static void check_double(ef_i128 value) {
    const double made = ef_i128_to_double(value), right = nearest_double(value);
    if (made != right)
        fail_msg("%016" PRIx64 "%016" PRIx64 " became %a instead of %a",
                 (uint64_t)((ef_u128)value >> 64), (uint64_t)value, made, right);
}

static void double_of_known_numbers(void **state) {
    (void)state;
    assert_true(ef_i128_to_double(0) == 0.0);
    assert_false(signbit(ef_i128_to_double(0)));
    assert_true(ef_i128_to_double(-1) == -1.0);
    assert_true(ef_i128_to_double(POWER(53) + 1) == 0x1p53); /* ties go to even */
    assert_true(ef_i128_to_double(POWER(53) + 3) == 0x1.0000000000002p53);
    assert_true(ef_i128_to_double(POWER(63)) == 0x1p63);
    assert_true(ef_i128_to_double(POWER(64) - 1) == 0x1p64);
    assert_true(ef_i128_to_double(POWER(64)) == 0x1p64);
    assert_true(ef_i128_to_double(POWER(64) + 2048) == 0x1p64); /* a tie, even below */
    assert_true(ef_i128_to_double(POWER(64) + 2049) == 0x1.0000000000001p64);
    assert_true(ef_i128_to_double(POWER(64) + 6144) == 0x1.0000000000002p64); /* even above */
    /* A tie but for the last of all bits, which does not reach the upper 64. */
    assert_true(ef_i128_to_double(POWER(126) + POWER(73)) == 0x1p126);
    assert_true(ef_i128_to_double(POWER(126) + POWER(73) + 1) == 0x1.0000000000001p126);
    assert_true(ef_i128_to_double(-POWER(126) - POWER(73) - 1) == -0x1.0000000000001p126);
    assert_true(ef_i128_to_double(POWER(126) + 3 * POWER(73) - 1) == 0x1.0000000000001p126);
    assert_true(ef_i128_to_double(MOST) == 0x1p127);
    assert_true(ef_i128_to_double(-MOST) == -0x1p127);
    assert_true(ef_i128_to_double(-MOST - 1) == -0x1p127);
    assert_true(ef_i128_to_double(MOST - POWER(74) + 1) == 0x1.fffffffffffffp126);
}

static void double_is_the_nearest(void **state) {
    (void)state;
    for (int n = 0; n < 126; n++)
        for (int m = 0; m <= n; m++)
            for (int near = -2; near <= 2; near++) {
                check_double(POWER(n) + (POWER(m) - 1) + near);
                check_double(-POWER(n) - (POWER(m) - 1) - near);
                check_double(POWER(n) - POWER(m) + near);
            }
    for (int i = 0; i < 200000; i++) {
        const ef_i128 value = (ef_i128)draw_bits(127);
        check_double(value);
        check_double(-value);
        /* 53 random bits, then a half: a tie, and its neighbours by a bit anywhere below. */
        const int cut = 1 + (int)(draw() % 74);
        const ef_i128 kept = (ef_i128)(draw() >> 11 | UINT64_C(1) << 52);
        const ef_i128 tie = kept * POWER(cut) + POWER(cut - 1);
        check_double(tie);
        check_double(tie + POWER(draw() % (unsigned)cut));
        check_double(tie - POWER(draw() % (unsigned)cut));
        check_double(-tie);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(division_of_small_numbers),
        cmocka_unit_test(division_rounds_halves_away_from_zero),
        cmocka_unit_test(division_of_large_numbers),
        cmocka_unit_test(double_of_known_numbers),
        cmocka_unit_test(double_is_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
