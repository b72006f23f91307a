/* What the programs of this folder measure with: numbers without a state, and medians. */
#ifndef RANK_MEASURES_H
#define RANK_MEASURES_H

#include <stdint.h>
#include <stdlib.h>

/* Bits that look random, by splitmix64. */
static inline uint64_t mix_bits(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline int compare_seconds(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle one of some, which are sorted by it. */
static inline double median_seconds(double *seconds, size_t n) {
    qsort(seconds, n, sizeof *seconds, compare_seconds);
    return seconds[n / 2];
}

#endif
