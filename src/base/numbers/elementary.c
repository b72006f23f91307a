/* The exponential and the cosine: reduction to a short interval, and a polynomial there. The
 * coefficients interpolate the function at Chebyshev nodes; each was computed in rational
 * arithmetic and rounded once. */
#include "base/numbers/elementary.h"

#include "base/errors/status.h"
#include "base/numbers/grid.h"
#include "base/numbers/pairs.h"

#include <math.h>

/* Adding and subtracting it rounds numbers below 2^51 in magnitude to the nearest integer. */
#define ROUNDER 0x1.8p52

/*
 * e^x = 2^k e^r with k the integer nearest to x / log 2, so |r| <= log(2) / 2, and
 *
 *     e^r = 1 + (r + r^2 q(r))
 *
 * where q of degree 10 leaves a relative error below 2^-61 in e^r. The product of k and the upper
 * part of log 2, which has 32 bits, is exact, and so is its difference from x but for the last bit.
 */
double ef_exp(double x) {
    static const double q[11] = {
        0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,  0x1.11111111100bep-7,
        0x1.6c16c16c162c3p-10, 0x1.a01a01abf85abp-13, 0x1.a01a01a6e1e2ap-16, 0x1.71de01fdbf9cap-19,
        0x1.27e4db46cddd1p-22, 0x1.af4e554377204p-26, 0x1.1f7340dbc337ep-29};
    const double smallest = -0x1.6232bdd7abcd2p+9; /* log 2^-1022, rounded up */
    const double largest = 0x1.62e42fefa39efp+9;   /* log 2^1024, rounded down */
    if (x < smallest)
        return 0.0;
    if (x > largest)
        return HUGE_VAL;
    if (!(x == x))
        return x;
    const double k = (x * 0x1.71547652b82fep+0 + ROUNDER) - ROUNDER;
    const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    double sum = q[10];
    for (int i = 9; i >= 0; i--)
        sum = sum * r + q[i];
    const double power = 1.0 + (r + r * r * sum);
    /* 2^k itself may be too large by a factor of 2. */
    const int half = (int)k / 2;
    return power * ef_power_of_two(half) * ef_power_of_two((int)k - half);
}

/*
 * cos is even and has the period 1, so t becomes f, its distance from the nearest integer; and with
 * h = 1/4 - f, |h| <= 1/4,
 *
 *     cos(2 pi t) = sin(2 pi h) = h p(h^2)
 *
 * where p of degree 8 leaves an absolute error below 2^-54. Reduction to f is exact.
 */
static inline ef_pair cos_turns(ef_pair t) {
    const ef_pair whole = ef_pair_of(0x1p52), zero = {0}, one = ef_pair_of(1.0);
    const ef_pair size = ef_pair_abs(t);
    const ef_pair nearest = (size + whole) - whole;
    const ef_pair f = ef_pair_choose(size < whole, ef_pair_abs(size - nearest), zero);
    const ef_pair h = 0.25 - f;
    const ef_pair z = h * h;
    ef_pair p = ef_pair_of(0x1.9d462020fcc78p-4);
    p = p * z - 0x1.6f7acdb8f6580p-1;
    p = p * z + 0x1.e8f3675ee37ddp+1;
    p = p * z - 0x1.e3074dfaf87afp+3;
    p = p * z + 0x1.5078348551854p+5;
    p = p * z - 0x1.32d2cce627c86p+6;
    p = p * z + 0x1.466bc6775aa7dp+6;
    p = p * z - 0x1.4abbce625be52p+5;
    p = p * z + 0x1.921fb54442d18p+2;
    const ef_pair result = h * p;
    const ef_pair below = ef_pair_choose(result < one, result, one);
    return ef_pair_choose(below > -one, below, -one);
}

double ef_cos_turns(double t) {
    return cos_turns(ef_pair_of(t))[0];
}

void ef_cos_turns_16(const double t[16], double out[16]) {
    for (int i = 0; i < 16; i += 2)
        ef_pair_store(out + i, cos_turns(ef_pair_load(t + i)));
}
