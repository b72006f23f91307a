/*
 * The tape: the generator against published answers, and the numbers made of its bits.
 *
 * Every bit that comes from here is part of the definition of a result
 * (docs/definition/numerics.md), so values are frozen where an inequality would let a compiler that
 * rounds differently pass. The frozen ones were computed by a program of its own, operation by
 * operation.
 */
#include "base/random/tape.h"

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

#define LOG_ERROR 0x1p-50L
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Bits for the tests, from the tape itself under purposes that the library does not use. */
static uint64_t draw(uint32_t stream, uint64_t i) {
    return ef_tape(UINT64_C(0x5EED), (ef_purpose)200, stream, i, 0);
}

/* ---------------------------------------------------------------- the generator */

typedef struct answer {
    uint32_t counter[4], key[2], out[4];
} answer;

/* The known answers that come with Random123. */
static const answer answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void philox_gives_the_known_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        uint32_t out[4];
        ef_philox(answers[i].counter, answers[i].key, out);
        assert_memory_equal(out, answers[i].out, sizeof out);
    }
}

/* The last known answer once more, through the layout of the tape: purpose is the lowest byte of
 * counter word 3 and sub the rest. */
static void tape_lays_out_counter_and_key(void **state) {
    (void)state;
    assert_true(ef_tape(UINT64_C(0x299f31d0a4093822), (ef_purpose)0x44, 0x037073,
                        UINT64_C(0x85a308d3243f6a88), 0x13198a2e) == UINT64_C(0x94fdccebd16cfe09));
    for (uint32_t i = 0; i < 2000; i++) {
        const uint64_t seed = draw(1, i), index = draw(2, i);
        const uint32_t step = (uint32_t)draw(3, i), sub = (uint32_t)draw(4, i) & 0xFFFFFF;
        const ef_purpose purpose = (ef_purpose)(1 + i % 5);
        const uint32_t counter[4] = {(uint32_t)(index & 0xFFFFFFFF), (uint32_t)(index >> 32), step,
                                     (uint32_t)purpose | sub * 256};
        const uint32_t key[2] = {(uint32_t)(seed & 0xFFFFFFFF), (uint32_t)(seed >> 32)};
        uint32_t out[4];
        ef_philox(counter, key, out);
        assert_true(ef_tape(seed, purpose, sub, index, step) == ((uint64_t)out[1] << 32 | out[0]));
    }
}

/* The numbers of the purposes are part of every result too. */
static void tape_of_each_purpose_is_frozen(void **state) {
    (void)state;
    static const struct {
        uint64_t seed;
        ef_purpose purpose;
        uint32_t sub;
        uint64_t index;
        uint32_t step;
        uint64_t bits;
    } frozen[] = {
        {0, EF_TAPE_SEED, 0, 0, 0, UINT64_C(0x1348E23F2DCE73E5)},
        {20191105, EF_TAPE_SEED, 0, 7, 3, UINT64_C(0x7E59CB21125CEEB0)},
        {UINT64_MAX, EF_TAPE_RESEED, 0xFFFFFF, UINT64_MAX, UINT32_MAX,
         UINT64_C(0xD436CE55C83D9172)},
        {UINT64_C(1) << 32, EF_TAPE_PHASE, 0, 5, 1, UINT64_C(0xE828A7C2C430C898)},
        {1, EF_TAPE_PHASE, 0, UINT64_C(5) << 32, 1, UINT64_C(0x269CD40AA43F46C7)},
        {42, EF_TAPE_SAMPLE, 1, 9, 0, UINT64_C(0x87D548179AA95BCA)},
        {42, EF_TAPE_GAUSSIAN, 0, 9, UINT32_C(1) << 31, UINT64_C(0x8E11A903758E2170)},
        {42, EF_TAPE_FOURIER, 3, 9, 2, UINT64_C(0xE57EDCAAC6B07174)},
    };
    for (size_t i = 0; i < COUNT(frozen); i++)
        assert_true(ef_tape(frozen[i].seed, frozen[i].purpose, frozen[i].sub, frozen[i].index,
                            frozen[i].step) == frozen[i].bits);
}

/* ---------------------------------------------------------------- whole numbers */

/* The first bits that map to `value`: the ceiling of value 2^64 / limit, by long division. */
static uint64_t first_bits(uint64_t value, uint64_t limit) {
    uint64_t quotient = 0, rest = value;
    for (int i = 0; i < 64; i++) {
        rest *= 2;
        quotient = quotient * 2 + (rest >= limit);
        rest -= rest >= limit ? limit : 0;
    }
    return quotient + (rest != 0);
}

/* Each value has its 2^64 / limit of the bits: the bits where one value follows another are
 * where they should be. */
static void below_divides_the_bits_evenly(void **state) {
    (void)state;
    for (uint64_t limit = 1; limit < 300; limit++) {
        assert_true(ef_tape_below(0, limit) == 0);
        assert_true(ef_tape_below(UINT64_MAX, limit) == limit - 1);
        for (uint64_t value = 1; value < limit; value++) {
            const uint64_t bits = first_bits(value, limit);
            assert_true(ef_tape_below(bits, limit) == value);
            assert_true(ef_tape_below(bits - 1, limit) == value - 1);
        }
    }
    for (uint64_t i = 0; i < 10000; i++) {
        const uint64_t bits = draw(5, i), limit = draw(6, i) >> i % 64 | 1;
        assert_true(ef_tape_below(bits, limit) < limit);
        assert_true(ef_tape_below(UINT64_MAX, limit) == limit - 1);
    }
}

/* Chi-square of 65,536 draws; a threshold of d + 6 sqrt(2 d) is passed by all but one in millions,
 * and the draws are always the same. */
static void below_is_uniform_on_the_tape(void **state) {
    (void)state;
    const uint32_t n = 65536;
    for (uint32_t limit = 2; limit <= 16; limit++) {
        uint32_t counts[16] = {0};
        for (uint32_t i = 0; i < n; i++)
            counts[ef_tape_below(ef_tape(limit, EF_TAPE_SEED, 0, i, 0), limit)]++;
        const double expected = (double)n / limit, free_cells = limit - 1.0;
        double chi2 = 0.0;
        for (uint32_t c = 0; c < limit; c++)
            chi2 += (counts[c] - expected) * (counts[c] - expected) / expected;
        assert_true(chi2 < free_cells + 6.0 * sqrt(2.0 * free_cells));
    }
}

/* ---------------------------------------------------------------- units and logarithms */

static void unit_stays_between_zero_and_one(void **state) {
    (void)state;
    assert_true(ef_tape_unit(0) == 0x1p-53);
    assert_true(ef_tape_unit(4095) == 0x1p-53);
    assert_true(ef_tape_unit(4096) == 0x1.8p-52);
    assert_true(ef_tape_unit(UINT64_MAX) == 1.0 - 0x1p-53);
    assert_true(ef_tape_unit(UINT64_C(1) << 63) == 0.5 + 0x1p-53);
    assert_true(ef_tape_unit((UINT64_C(1) << 63) - 1) == 0.5 - 0x1p-53);
    for (uint64_t i = 0; i < 10000; i++) {
        const uint64_t bits = draw(7, i) >> i % 64;
        const long double v = ((long double)(bits / 4096) + 0.5L) * 0x1p-52L;
        assert_true(ef_tape_unit(bits) == (double)v);
    }
}

static void check_log(double x) {
    const long double right = logl((long double)x);
    const long double error = fabsl((long double)ef_log(x) - right);
    if (!(error <= LOG_ERROR * fabsl(right)))
        fail_msg("log(%a) is %a; off by %Lg of %Lg", x, ef_log(x), error, right);
}

static void log_is_that_of_libm(void **state) {
    (void)state;
    assert_true(ef_log(1.0) == 0.0);
    check_log(DBL_MIN);
    check_log(DBL_MAX);
    for (int e = -1022; e <= 1023; e++) {
        check_log(ldexp(1.0, e));
        check_log(ldexp(0x1.6a09e667f3bccp0, e)); /* the two sides of the square root of 2, */
        check_log(ldexp(0x1.6a09e667f3bcdp0, e)); /* where the reduction changes over */
        check_log(ldexp(0x1.fffffffffffffp0, e));
        for (uint64_t i = 0; i < 30; i++)
            check_log(ldexp(1.0 + ef_tape_unit(draw(8, i * 2048 + (uint64_t)(e + 1022))), e));
    }
    /* Near 1 a logarithm is small, and the error is relative to it. */
    for (int bits = 1; bits <= 53; bits++)
        for (uint64_t i = 0; i < 500; i++) {
            const double away = ldexp(1.0 + ef_tape_unit(draw(9, i)), -bits);
            if (away < 1.0)
                check_log(1.0 - away);
            check_log(1.0 + away);
        }
    for (int i = 1; i < 1000; i++) {
        check_log(1.0 + i * 0x1p-52);
        check_log(1.0 - i * 0x1p-53);
    }
}

/* ---------------------------------------------------------------- exponential variates */

static void check_exponential(uint64_t bits) {
    const double v = ef_tape_unit(bits), e = ef_tape_exponential(bits);
    /* Rejecting a row by v alone is right only if this holds for all bits (races.h). */
    if (!((long double)e >= (long double)v * (1.0L - 0x1p-48L)))
        fail_msg("E(%016" PRIx64 ") = %a is below v = %a", bits, e, v);
    const long double right = -log1pl(-(long double)v);
    if (!(fabsl((long double)e - right) <= LOG_ERROR * right))
        fail_msg("E(%016" PRIx64 ") = %a, not %La", bits, e, right);
}

static void exponential_is_never_below_v(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 4096; i++) {
        check_exponential(i << 12);
        check_exponential(~(i << 12));
        check_exponential((UINT64_C(1) << 63) + ((i - 2048) << 12));
    }
    for (int shift = 0; shift < 64; shift++)
        for (uint64_t i = 0; i < 2000; i++) {
            check_exponential(draw(10, i) >> shift);
            check_exponential(~(draw(10, i) >> shift));
        }
}

static void exponential_is_frozen(void **state) {
    (void)state;
    static const struct {
        uint64_t bits;
        double e;
    } frozen[] = {
        {UINT64_C(0x0000000000000000), 0x1.0000000000000p-53},
        {UINT64_C(0x0000000000001000), 0x1.8000000000002p-52},
        {UINT64_C(0xFFFFFFFFFFFFFFFF), 0x1.25e4f7b2737fap+5},
        {UINT64_C(0x8000000000000000), 0x1.62e42fefa39f1p-1},
        {UINT64_C(0x7FFFFFFFFFFFFFFF), 0x1.62e42fefa39edp-1},
        {UINT64_C(0x4000000000000000), 0x1.269621134db95p-2},
        {UINT64_C(0x0000000100000000), 0x1.0000080080000p-32},
        {UINT64_C(0x00000000DEADBEEF), 0x1.bd5b7000c1b1cp-33},
        {UINT64_C(0x243F6A8885A308D3), 0x1.38ae78e693e6dp-3},
        {UINT64_C(0x13198A2E03707344), 0x1.3d98d7ae21badp-4},
        {UINT64_C(0xA4093822299F31D0), 0x1.061678b1c67e4p+0},
        {UINT64_C(0xFFFFFFFF00000000), 0x1.62e4306fa3a0fp+4},
        {UINT64_C(0x4AFB0CCC06219B7B), 0x1.62e42fefa39eep-2},
        {UINT64_C(0xFEDCBA9876543210), 0x1.5aa16394d4834p+2},
        {UINT64_C(0x2B7E151628AED2A6), 0x1.7d5688a02e9a0p-3},
    };
    for (size_t i = 0; i < COUNT(frozen); i++)
        if (ef_tape_exponential(frozen[i].bits) != frozen[i].e)
            fail_msg("E(%016" PRIx64 ") is %a instead of %a", frozen[i].bits,
                     ef_tape_exponential(frozen[i].bits), frozen[i].e);
    /* A last bit that changes does so for few arguments: many more of them, in one number. */
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        const double e = ef_tape_exponential(i * UINT64_C(0x9E3779B97F4A7C15) >> i % 4 * 10);
        uint64_t bits;
        memcpy(&bits, &e, sizeof bits);
        sum = (sum ^ bits) * UINT64_C(0x100000001B3);
    }
    assert_true(sum == UINT64_C(0x9FAA4DBF75B63200));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(tape_lays_out_counter_and_key),
        cmocka_unit_test(tape_of_each_purpose_is_frozen),
        cmocka_unit_test(below_divides_the_bits_evenly),
        cmocka_unit_test(below_is_uniform_on_the_tape),
        cmocka_unit_test(unit_stays_between_zero_and_one),
        cmocka_unit_test(log_is_that_of_libm),
        cmocka_unit_test(exponential_is_never_below_v),
        cmocka_unit_test(exponential_is_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
