/* The exponential and the cosine, against those of long double. */
#include "base/numbers/elementary.h"
#include "base/random/tape.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BOUND 0x1p-50L
#define PI_L 3.14159265358979323846264338327950288L
#define N_DRAWS 200000
#define COUNT(array) (sizeof(array) / sizeof *(array))

static double draw(uint32_t stream, uint64_t i) {
    return ef_tape_unit(ef_tape(UINT64_C(0x5EED), (ef_purpose)200, stream, i, 0));
}

static void check_exp(double x) {
    const long double want = expl((long double)x);
    const long double got = (long double)ef_exp(x);
    if (!(fabsl(got - want) <= BOUND * want))
        fail_msg("exp(%a) is %La, not %La", x, got, want);
}

static void exp_is_near_that_of_long_double(void **state) {
    (void)state;
    for (uint64_t i = 0; i < N_DRAWS; i++) {
        check_exp(-708.39 + 1418.1 * draw(0, i));
        check_exp(4.0 * draw(1, i) - 2.0);
        check_exp((draw(2, i) - 0.5) * ldexp(1.0, -(int)(i % 60)));
    }
    for (int k = -2043; k <= 2047; k++) { /* where one power of two follows another */
        check_exp((double)(0.5L * k * logl(2.0L)));
        check_exp(nextafter((double)(0.5L * k * logl(2.0L)), 0.0));
    }
}

static void exp_has_ends(void **state) {
    (void)state;
    assert_true(ef_exp(0.0) == 1.0 && ef_exp(-0.0) == 1.0);
    assert_true(ef_exp(5e-324) == 1.0 && ef_exp(-5e-324) == 1.0);
    const double largest = 0x1.62e42fefa39efp+9, smallest = -0x1.6232bdd7abcd2p+9;
    check_exp(largest);
    check_exp(smallest);
    assert_true(ef_exp(largest) <= DBL_MAX && ef_exp(smallest) >= DBL_MIN);
    assert_true(isinf(ef_exp(nextafter(largest, 1e9))) && isinf(ef_exp(DBL_MAX)));
    assert_true(isinf(ef_exp(INFINITY)) && ef_exp(INFINITY) > 0.0);
    static const double low[] = {-710.0, -745.0, -1e300, -DBL_MAX, -INFINITY};
    for (size_t i = 0; i < COUNT(low); i++)
        assert_true(ef_exp(low[i]) == 0.0 && !signbit(ef_exp(low[i])));
    assert_true(ef_exp(nextafter(smallest, -1e9)) == 0.0);
    assert_true(isnan(ef_exp(NAN)));
}

static void check_cos(double t) {
    const long double whole = rintl((long double)t);
    const long double want = cosl(2.0L * PI_L * ((long double)t - whole));
    const double got = ef_cos_turns(t);
    if (!(fabsl((long double)got - want) <= BOUND) || got > 1.0 || got < -1.0)
        fail_msg("cos of %a turns is %a, not %La", t, got, want);
    assert_true(ef_cos_turns(-t) == got);
}

static void cos_is_near_that_of_long_double(void **state) {
    (void)state;
    for (uint64_t i = 0; i < N_DRAWS; i++) {
        check_cos(draw(3, i));
        check_cos((draw(4, i) - 0.5) * ldexp(1.0, (int)(i % 54)));
        check_cos((double)(i % 9) / 8.0 + (draw(5, i) - 0.5) * ldexp(1.0, -(int)(i % 70)));
    }
}

static void cos_is_exact_at_quarters(void **state) {
    (void)state;
    for (int i = -4000; i <= 4000; i++) {
        static const double want[4] = {1.0, 0.0, -1.0, 0.0};
        assert_true(ef_cos_turns(0.25 * i) == want[(unsigned)i % 4]);
    }
    assert_true(ef_cos_turns(0x1p51 + 0.5) == -1.0 && ef_cos_turns(0x1.fffffffffffffp51) == -1.0);
}

static void cos_of_no_fraction_is_one(void **state) {
    (void)state;
    static const double whole[] = {0x1p52,  0x1p52 + 1.0, 0x1.fffffffffffffp52,
                                   0x1p53,  1e38,         1e300,
                                   DBL_MAX, INFINITY,     NAN,
                                   0.0,     DBL_MIN,      5e-324};
    for (size_t i = 0; i < COUNT(whole); i++)
        assert_true(ef_cos_turns(whole[i]) == 1.0 && ef_cos_turns(-whole[i]) == 1.0);
}

/* Near 0 and 1/2 the product of the last step is above 1 for a few of the numbers; these are the
 * first of them, which a search through all numbers up to 2^-26 found. */
static void cos_is_never_above_one(void **state) {
    (void)state;
    static const double steps[] = {56285310, 57552226, 57690510};
    for (size_t i = 0; i < COUNT(steps); i++) {
        check_cos(steps[i] * 0x1p-55);
        check_cos(0.5 - steps[i] * 0x1p-55);
    }
}

static void sixteen_have_the_bits_of_one(void **state) {
    (void)state;
    static const double special[] = {NAN, INFINITY, -INFINITY, 1e300, 0.25, -0.0, 0x1p52, 0.5};
    for (uint64_t i = 0; i < 2000; i++) {
        double turns[16], cosines[16];
        for (uint64_t k = 0; k < 16; k++)
            turns[k] = draw(6, 16 * i + k) < 0.1
                           ? special[(i + k) % COUNT(special)]
                           : (draw(7, 16 * i + k) - 0.5) * ldexp(1.0, (int)(i % 60));
        ef_cos_turns_16(turns, cosines);
        for (uint64_t k = 0; k < 16; k++) {
            const double one = ef_cos_turns(turns[k]);
            assert_memory_equal(&cosines[k], &one, sizeof one);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_near_that_of_long_double),
        cmocka_unit_test(exp_has_ends),
        cmocka_unit_test(cos_is_near_that_of_long_double),
        cmocka_unit_test(cos_is_exact_at_quarters),
        cmocka_unit_test(cos_of_no_fraction_is_one),
        cmocka_unit_test(cos_is_never_above_one),
        cmocka_unit_test(sixteen_have_the_bits_of_one),
    };
    return cmocka_run_group_tests_name("elementary", tests, NULL, NULL);
}
