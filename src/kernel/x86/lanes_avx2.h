/* Eight lanes: the vocabulary of panel_kernels.h in AVX2 with FMA. */
#ifndef EF_LANES_AVX2_H
#define EF_LANES_AVX2_H

#include "kernel/x86/columns_avx2.h"

#include <immintrin.h>
#include <stdint.h>

#define LANES 8
#define TILE 6

typedef __m256 vf;  /* floats */
typedef __m256i vu; /* 32-bit unsigned integers */
typedef __m256 vm;  /* all bits of a lane, or none */

LANE_OP vf vf_load(const float *p) {
    return _mm256_loadu_ps(p);
}
/* Small integers as floats. */
LANE_OP vf vf_load_bytes(const int8_t *p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
LANE_OP void vf_store(float *p, vf a) {
    _mm256_storeu_ps(p, a);
}
LANE_OP vf vf_set1(float x) {
    return _mm256_set1_ps(x);
}
LANE_OP vf vf_add(vf a, vf b) {
    return _mm256_add_ps(a, b);
}
LANE_OP vf vf_sub(vf a, vf b) {
    return _mm256_sub_ps(a, b);
}
LANE_OP vf vf_mul(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}
/* a * b + c, fused or not. */
LANE_OP vf vf_muladd(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}
LANE_OP vf vf_min(vf a, vf b) {
    return _mm256_min_ps(a, b);
}
LANE_OP vf vf_max(vf a, vf b) {
    return _mm256_max_ps(a, b);
}
LANE_OP vf vf_div(vf a, vf b) {
    return _mm256_div_ps(a, b);
}
LANE_OP vf vf_sqrt(vf a) {
    return _mm256_sqrt_ps(a);
}
/* To the nearest integer, ties to even. */
LANE_OP vf vf_round(vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* The same for one number, as an integer. */
LANE_OP int32_t round_one(float x) {
    return _mm_cvtss_si32(_mm_set_ss(x));
}
LANE_OP vm vf_less(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
LANE_OP vm vf_at_most(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
LANE_OP unsigned vm_bits(vm m) {
    return (unsigned)_mm256_movemask_ps(m);
}

LANE_OP vu vu_load(const uint32_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
LANE_OP void vu_store(uint32_t *p, vu a) {
    _mm256_storeu_si256((__m256i *)(void *)p, a);
}
LANE_OP vu vu_set1(uint32_t x) {
    return _mm256_set1_epi32((int)x);
}
LANE_OP vu vu_add(vu a, vu b) {
    return _mm256_add_epi32(a, b);
}
LANE_OP vu vu_sub(vu a, vu b) {
    return _mm256_sub_epi32(a, b);
}
/* m ? a + b : a */
LANE_OP vu vu_add_where(vm m, vu a, vu b) {
    return _mm256_add_epi32(a, _mm256_and_si256(_mm256_castps_si256(m), b));
}
/* a > b, for numbers below 2^31. */
LANE_OP vm vu_above(vu a, vu b) {
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b));
}
LANE_OP vm vu_equal(vu a, vu b) {
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
/* Integers that are floats, as integers (those below 0 modulo 2^32). */
LANE_OP vu vf_whole(vf a) {
    return _mm256_cvtps_epi32(a);
}
/* m ? a : b */
LANE_OP vu vu_pick(vm m, vu a, vu b) {
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(b), _mm256_castsi256_ps(a), m));
}
/* Lane i of vector c goes to lane c of vector i. */
LANE_OP void vu_transpose(vu a[LANES]) {
    vu t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        a[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
        a[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
        a[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
        a[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        const vu upper = _mm256_permute2x128_si256(a[i], a[4 + i], 0x31);
        a[i] = _mm256_permute2x128_si256(a[i], a[4 + i], 0x20);
        a[4 + i] = upper;
    }
}

/* Words of 64 bits. */
#define WORDS 4
typedef __m256i vw;
LANE_OP vw vw_load(const uint64_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
LANE_OP vw vw_set1(uint64_t x) {
    return _mm256_set1_epi64x((long long)x);
}
LANE_OP vw vw_add(vw a, vw b) {
    return _mm256_add_epi64(a, b);
}
LANE_OP vw vw_upper(vw a) {
    return _mm256_srli_epi64(a, 32);
}
/* The product of the lower halves. */
LANE_OP vw vw_multiply(vw a, vw b) {
    return _mm256_mul_epu32(a, b);
}
LANE_OP vw vw_xor(vw a, vw b, vw c) {
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}
/* Not 0 if the lower half of a word is at most x. */
LANE_OP unsigned vw_within(vw a, uint32_t x) {
    const __m256i least = _mm256_min_epu32(a, _mm256_set1_epi32((int)x));
    return (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi32(least, a)) & 0x0F0F0F0Fu;
}
LANE_OP void vw_store_lower(uint32_t *p, vw a) {
    const __m256i lower = _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(lower));
}

/* 64-bit integers, one a lane: the even lanes and the odd ones. */
typedef struct vq {
    __m256i even, odd;
} vq;
LANE_OP vq vq_zero(void) {
    return (vq){_mm256_setzero_si256(), _mm256_setzero_si256()};
}
/* sum + a * a for lanes that hold integers. */
LANE_OP vq vq_add_square(vq sum, vf a) {
    const __m256i whole = _mm256_cvtps_epi32(a);
    const __m256i odd = _mm256_srli_epi64(whole, 32);
    return (vq){_mm256_add_epi64(sum.even, _mm256_mul_epi32(whole, whole)),
                _mm256_add_epi64(sum.odd, _mm256_mul_epi32(odd, odd))};
}
/* sum + a * b for lanes that hold signed integers. */
LANE_OP vq vq_add_product(vq sum, vu a, vu b) {
    const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return (vq){_mm256_add_epi64(sum.even, _mm256_mul_epi32(a, b)), _mm256_add_epi64(sum.odd, odd)};
}
/* Lanes to be multiplied with more than one number. */
typedef struct vs {
    __m256i even, odd;
} vs;
LANE_OP vs vs_of(vu a) {
    return (vs){a, _mm256_srli_epi64(a, 32)};
}
LANE_OP vq vq_add_times(vq sum, vs a, int32_t b) {
    const __m256i factor = _mm256_set1_epi32(b);
    return (vq){_mm256_add_epi64(sum.even, _mm256_mul_epi32(a.even, factor)),
                _mm256_add_epi64(sum.odd, _mm256_mul_epi32(a.odd, factor))};
}
LANE_OP void vq_store(int64_t *p, vq a) {
    int64_t even[LANES / 2], odd[LANES / 2];
    _mm256_storeu_si256((__m256i *)(void *)even, a.even);
    _mm256_storeu_si256((__m256i *)(void *)odd, a.odd);
    for (int i = 0; i < LANES / 2; i++) {
        p[2 * i] = even[i];
        p[2 * i + 1] = odd[i];
    }
}

/* Doubles. Sums for TALL columns and three vectors fit the registers. */
#define REALS 4
#define TALL 4
typedef __m256d vr;
LANE_OP vr vr_load(const double *p) {
    return _mm256_loadu_pd(p);
}
LANE_OP void vr_store(double *p, vr a) {
    _mm256_storeu_pd(p, a);
}
LANE_OP vr vr_set1(double x) {
    return _mm256_set1_pd(x);
}
LANE_OP vr vr_muladd(vr a, vr b, vr c) {
    return _mm256_fmadd_pd(a, b, c);
}
LANE_OP vr vr_widen(const int32_t *p) {
    return _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(const void *)p));
}
/* p[i] += lane i, an integer of at most 2^53 in magnitude. Added to 1.5 * 2^54, that is rounded to
 * a multiple of 4, which the bits of the sum count; what is left over goes the same way. */
LANE_OP void vr_add_to(int64_t *p, vr a) {
    const __m256d fours = _mm256_set1_pd(0x1.8p54), ones = _mm256_set1_pd(0x1.8p52);
    const __m256d upper = _mm256_add_pd(a, fours);
    const __m256d lower = _mm256_add_pd(_mm256_sub_pd(a, _mm256_sub_pd(upper, fours)), ones);
    const __m256i n_fours =
        _mm256_sub_epi64(_mm256_castpd_si256(upper), _mm256_castpd_si256(fours));
    const __m256i n_ones = _mm256_sub_epi64(_mm256_castpd_si256(lower), _mm256_castpd_si256(ones));
    const __m256i whole = _mm256_add_epi64(_mm256_slli_epi64(n_fours, 2), n_ones);
    __m256i *const to = (__m256i *)(void *)p;
    _mm256_storeu_si256(to, _mm256_add_epi64(_mm256_loadu_si256(to), whole));
}

#endif
