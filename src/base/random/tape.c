/* The tape: Philox4x32-10 and the one logarithm of the library. */
#include "base/random/tape.h"

#include <float.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "efface needs float and double operations without excess precision (on x86: SSE2, not x87)"
#endif

void ef_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < EF_PHILOX_ROUNDS; round++) {
        const uint64_t p0 = (uint64_t)EF_PHILOX_M0 * c0;
        const uint64_t p1 = (uint64_t)EF_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += EF_PHILOX_W0;
        k1 += EF_PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void ef_tape_words(uint64_t seed, ef_purpose purpose, uint32_t sub, uint64_t index, uint32_t step,
                   uint32_t words[4]) {
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), step,
                                 (uint32_t)purpose + (sub << 8)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    ef_philox(counter, key, words);
}

uint64_t ef_tape(uint64_t seed, ef_purpose purpose, uint32_t sub, uint64_t index, uint32_t step) {
    uint32_t out[4];
    ef_tape_words(seed, purpose, sub, index, step, out);
    return (uint64_t)out[0] | (uint64_t)out[1] << 32;
}

/*
 * log(x) = e log 2 + log(m) with x = 2^e m and sqrt(1/2) <= m < sqrt(2). With f = m - 1 (exact)
 * and s = f / (2 + f), |s| <= 0.1716,
 *
 *     log(m) = 2 artanh(s) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 + ...
 *
 * Cut after s^21 the series leaves a relative error below s^22 / 23 < 2^-60. Near 1, where the
 * winners of a race are, e = 0 and the result keeps its full relative precision.
 */
double ef_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1022;
    bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FE0000000000000u;
    double m;
    memcpy(&m, &bits, sizeof m); /* in [1/2, 1) */
    if (m < 0x1.6a09e667f3bcdp-1) {
        m = m + m;
        exponent--;
    }
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double sum = 1.0 / 21.0;
    for (int odd = 19; odd >= 3; odd -= 2)
        sum = sum * z + 1.0 / (double)odd;
    const double log_m = 2.0 * s + 2.0 * s * (z * sum);
    /* log 2 in two parts: the upper has 32 bits, so that its product with e is exact. */
    const double upper = 0x1.62e42feep-1, lower = 0x1.a39ef35793c76p-33;
    return (double)exponent * upper + ((double)exponent * lower + log_m);
}

double ef_tape_exponential(uint64_t bits) {
    return -ef_log(1.0 - ef_tape_unit(bits));
}
