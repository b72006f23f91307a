/* Columns of one row: the part of panel_kernels.h's vocabulary that AVX2 and AVX-512 share. Vectors
 * of twice the width are no quicker here: most of their loads and stores would cross cache lines.
 */
#ifndef EF_COLUMNS_AVX2_H
#define EF_COLUMNS_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define LANE_OP static inline __attribute__((always_inline))

/* Eight columns of one row, 64-bit integers. */
#define COLUMNS 8
typedef struct vl {
    __m256i low, high;
} vl;
LANE_OP vl vl_zero(void) {
    return (vl){_mm256_setzero_si256(), _mm256_setzero_si256()};
}
/* The grid points of values that are sixteen floats apart. */
LANE_OP vl vl_on_grid(const float *row, const float *low, const float *step) {
    const __m256 x =
        _mm256_setr_ps(row[0], row[16], row[32], row[48], row[64], row[80], row[96], row[112]);
    const __m256i whole = _mm256_cvtps_epi32(
        _mm256_mul_ps(_mm256_sub_ps(x, _mm256_loadu_ps(low)), _mm256_loadu_ps(step)));
    return (vl){_mm256_cvtepi32_epi64(_mm256_castsi256_si128(whole)),
                _mm256_cvtepi32_epi64(_mm256_extracti128_si256(whole, 1))};
}
LANE_OP vl vl_load(const int64_t *p) {
    return (vl){_mm256_loadu_si256((const __m256i *)(const void *)p),
                _mm256_loadu_si256((const __m256i *)(const void *)(p + 4))};
}
LANE_OP void vl_store(int64_t *p, vl a) {
    _mm256_storeu_si256((__m256i *)(void *)p, a.low);
    _mm256_storeu_si256((__m256i *)(void *)(p + 4), a.high);
}
LANE_OP vl vl_add(vl a, vl b) {
    return (vl){_mm256_add_epi64(a.low, b.low), _mm256_add_epi64(a.high, b.high)};
}
LANE_OP vl vl_sub(vl a, vl b) {
    return (vl){_mm256_sub_epi64(a.low, b.low), _mm256_sub_epi64(a.high, b.high)};
}
/* a * weight, for numbers of 32 bits and a weight of 52, in two parts of 20 and 32 bits. */
LANE_OP __m256i half_times(__m256i a, int64_t weight) {
    const __m256i upper = _mm256_mul_epi32(a, _mm256_set1_epi64x(weight >> 20));
    const __m256i lower = _mm256_mul_epi32(a, _mm256_set1_epi64x(weight & 0xFFFFF));
    return _mm256_add_epi64(_mm256_slli_epi64(upper, 20), lower);
}
LANE_OP vl vl_times(vl a, int64_t weight) {
    return (vl){half_times(a.low, weight), half_times(a.high, weight)};
}
LANE_OP vl vl_widen(const int32_t *p) {
    return (vl){_mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(const void *)p)),
                _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(const void *)(p + 4)))};
}
/* a * a, for numbers of 32 bits. */
LANE_OP vl vl_square(vl a) {
    return (vl){_mm256_mul_epi32(a.low, a.low), _mm256_mul_epi32(a.high, a.high)};
}
LANE_OP int64_t vl_total(vl a) {
    int64_t parts[4], total = 0;
    _mm256_storeu_si256((__m256i *)(void *)parts, _mm256_add_epi64(a.low, a.high));
    for (int i = 0; i < 4; i++)
        total += parts[i];
    return total;
}

/* Eight 32-bit integers of one row (EF_CODES), somewhere in memory. */
typedef __m256i vc;
LANE_OP vc vc_load(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
LANE_OP void vc_store(int32_t *p, vc a) {
    _mm256_storeu_si256((__m256i *)(void *)p, a);
}
LANE_OP vc vc_set1(int32_t x) {
    return _mm256_set1_epi32(x);
}
LANE_OP vc vc_add(vc a, vc b) {
    return _mm256_add_epi32(a, b);
}
LANE_OP vc vc_sub(vc a, vc b) {
    return _mm256_sub_epi32(a, b);
}
LANE_OP vc vc_min(vc a, vc b) {
    return _mm256_min_epi32(a, b);
}
LANE_OP vc vc_max(vc a, vc b) {
    return _mm256_max_epi32(a, b);
}
/* -1 where a > b, else 0. */
LANE_OP vc vc_above(vc a, vc b) {
    return _mm256_cmpgt_epi32(a, b);
}
/* a, but 0 where the mask is -1. */
LANE_OP vc vc_where_not(vc mask, vc a) {
    return _mm256_andnot_si256(mask, a);
}

#endif
