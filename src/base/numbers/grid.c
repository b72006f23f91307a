/* The grid: snapping values to integers, and the bounds that make it possible. */
#include "base/numbers/grid.h"

#include <assert.h>
#include <string.h>

float ef_power_of_two_float(int exponent) {
    assert(exponent >= -126 && exponent <= 127);
    const uint32_t bits = (uint32_t)(exponent + 127) << 23;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

double ef_power_of_two(int exponent) {
    assert(exponent >= -1022 && exponent <= 1023);
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

int ef_exponent(float magnitude) {
    uint32_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    int exponent = (int)(bits >> 23 & 0xFF) - 127;
    if ((bits & 0x7FFFFF) != 0)
        exponent++; /* not a power of two: the next one is the bound */
    if (exponent < EF_EXPONENT_MIN)
        return EF_EXPONENT_MIN; /* subnormal numbers and zero too */
    return exponent < EF_EXPONENT_MAX ? exponent : EF_EXPONENT_MAX;
}

float ef_step_bound(int exponent) {
    return ef_power_of_two_float(EF_GRID_BITS - exponent);
}

float ef_step_minmax(float low, float high) {
    const float spread = high - low;
    if (!(spread >= ef_power_of_two_float(EF_EXPONENT_MIN)))
        return 0.0F;
    const float most = (float)EF_GRID_MAX;
    float step = most / spread;
    /* The quotient may be rounded up by half a unit; then `high` would leave the grid. Rounding is
     * monotone, so what holds for `high` holds for every value of the column. */
    while (spread * step > most) {
        uint32_t bits;
        memcpy(&bits, &step, sizeof bits);
        bits--;
        memcpy(&step, &bits, sizeof step);
    }
    return step;
}

/* To the nearest integer, ties to even, independent of the rounding mode's reach: |y| < 2^63. */
static int64_t round_even(float y) {
    const int64_t below = (int64_t)y; /* towards zero */
    const float rest = y - (float)below;
    const float size = rest < 0 ? -rest : rest;
    if (size > 0.5F || (size == 0.5F && (below & 1) != 0))
        return y < 0 ? below - 1 : below + 1;
    return below;
}

int32_t ef_snap(float x, float low, float step) {
    const float y = (x - low) * step;
    return (int32_t)round_even(y);
}

int64_t ef_snap_wide(float x, float low, float step) {
    const float y = (x - low) * step;
    const float most = 0x1p62F;
    if (y >= most)
        return INT64_C(1) << 62;
    if (y <= -most)
        return -(INT64_C(1) << 62);
    return round_even(y);
}

int64_t ef_grid_sqdist(const int32_t *a, const int32_t *b, uint32_t n_columns) {
    int64_t sum = 0;
    for (uint32_t j = 0; j < n_columns; j++) {
        const int64_t difference = (int64_t)a[j] - b[j];
        sum += difference * difference;
    }
    return sum;
}

int ef_exponent_counts_max(const ef_exponent_counts *counts) {
    int i = EF_EXPONENTS - 1;
    while (i > 0 && counts->rows[i] == 0)
        i--;
    return EF_EXPONENT_MIN + i;
}
