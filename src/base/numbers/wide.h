/* 128-bit integers: losses, and the rational numbers behind centroids. */
#ifndef EF_WIDE_H
#define EF_WIDE_H

#include <stdint.h>

__extension__ typedef __int128 ef_i128;
__extension__ typedef unsigned __int128 ef_u128;

/* num / den rounded to the nearest integer, halves away from zero; den > 0, |num| < 2^126. */
static inline ef_i128 ef_divide_round(ef_i128 num, ef_i128 den) {
    const ef_i128 quotient = num / den;
    const ef_i128 rest = num % den;
    const ef_i128 size = rest < 0 ? -rest : rest;
    if (size >= den - size)
        return num < 0 ? quotient - 1 : quotient + 1;
    return quotient;
}

/* The nearest double. It takes the two halves by themselves because the conversion of a 128-bit
 * integer is a library routine that differs between compilers. */
static inline double ef_i128_to_double(ef_i128 value) {
    const ef_u128 size = value < 0 ? -(ef_u128)value : (ef_u128)value;
    const uint64_t high = (uint64_t)(size >> 64);
    const uint64_t low = (uint64_t)size;
    double result;
    if (high == 0) {
        result = (double)low;
    } else {
        /* Shift the leading bit to the top of 64 bits, keeping a sticky bit for what falls off. */
        const int shift = 64 - __builtin_clzll(high);
        uint64_t top = (uint64_t)(size >> shift);
        if ((size & (((ef_u128)1 << shift) - 1)) != 0)
            top |= 1;
        result = (double)top * (double)((ef_u128)1 << (shift < 64 ? shift : 63));
        if (shift == 64)
            result *= 2.0;
    }
    return value < 0 ? -result : result;
}

#endif
