/* Sixteen lanes: the vocabulary of panel_kernels.h in AVX-512. */
#ifndef EF_LANES_AVX512_H
#define EF_LANES_AVX512_H

#include "kernel/x86/columns_avx2.h"

#include <immintrin.h>
#include <stdint.h>

#define LANES 16
#define TILE 16

typedef __m512 vf;    /* floats */
typedef __m512i vu;   /* 32-bit unsigned integers */
typedef __mmask16 vm; /* one truth value a lane */

LANE_OP vf vf_load(const float *p) {
    return _mm512_loadu_ps(p);
}
/* Small integers as floats. */
LANE_OP vf vf_load_bytes(const int8_t *p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
LANE_OP void vf_store(float *p, vf a) {
    _mm512_storeu_ps(p, a);
}
LANE_OP vf vf_set1(float x) {
    return _mm512_set1_ps(x);
}
LANE_OP vf vf_add(vf a, vf b) {
    return _mm512_add_ps(a, b);
}
LANE_OP vf vf_sub(vf a, vf b) {
    return _mm512_sub_ps(a, b);
}
LANE_OP vf vf_mul(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}
/* a * b + c, fused or not. */
LANE_OP vf vf_muladd(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}
LANE_OP vf vf_min(vf a, vf b) {
    return _mm512_min_ps(a, b);
}
LANE_OP vf vf_max(vf a, vf b) {
    return _mm512_max_ps(a, b);
}
LANE_OP vf vf_div(vf a, vf b) {
    return _mm512_div_ps(a, b);
}
LANE_OP vf vf_sqrt(vf a) {
    return _mm512_sqrt_ps(a);
}
/* To the nearest integer, ties to even. */
LANE_OP vf vf_round(vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* The same for one number, as an integer. */
LANE_OP int32_t round_one(float x) {
    return _mm_cvtss_si32(_mm_set_ss(x));
}
LANE_OP vm vf_less(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
LANE_OP vm vf_at_most(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
LANE_OP unsigned vm_bits(vm m) {
    return (unsigned)m;
}

LANE_OP vu vu_load(const uint32_t *p) {
    return _mm512_loadu_si512(p);
}
LANE_OP void vu_store(uint32_t *p, vu a) {
    _mm512_storeu_si512(p, a);
}
LANE_OP vu vu_set1(uint32_t x) {
    return _mm512_set1_epi32((int)x);
}
LANE_OP vu vu_add(vu a, vu b) {
    return _mm512_add_epi32(a, b);
}
LANE_OP vu vu_sub(vu a, vu b) {
    return _mm512_sub_epi32(a, b);
}
/* m ? a + b : a */
LANE_OP vu vu_add_where(vm m, vu a, vu b) {
    return _mm512_mask_add_epi32(a, m, a, b);
}
/* a > b, for numbers below 2^31. */
LANE_OP vm vu_above(vu a, vu b) {
    return _mm512_cmpgt_epi32_mask(a, b);
}
LANE_OP vm vu_equal(vu a, vu b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
/* Integers that are floats, as integers (those below 0 modulo 2^32). */
LANE_OP vu vf_whole(vf a) {
    return _mm512_cvtps_epi32(a);
}
/* m ? a : b */
LANE_OP vu vu_pick(vm m, vu a, vu b) {
    return _mm512_mask_blend_epi32(m, b, a);
}
/* Lane i of vector c goes to lane c of vector i. */
LANE_OP void vu_transpose(vu a[LANES]) {
    vu t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        a[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        a[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        a[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        a[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++)
        for (int half = 0; half < LANES; half += 8) {
            t[half + i] = _mm512_shuffle_i32x4(a[half + i], a[half + 4 + i], 0x88);
            t[half + 4 + i] = _mm512_shuffle_i32x4(a[half + i], a[half + 4 + i], 0xDD);
        }
    for (int i = 0; i < 8; i++) {
        a[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
        a[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xDD);
    }
}

/* Words of 64 bits. */
#define WORDS 8
typedef __m512i vw;
LANE_OP vw vw_load(const uint64_t *p) {
    return _mm512_loadu_si512(p);
}
LANE_OP vw vw_set1(uint64_t x) {
    return _mm512_set1_epi64((long long)x);
}
LANE_OP vw vw_add(vw a, vw b) {
    return _mm512_add_epi64(a, b);
}
LANE_OP vw vw_upper(vw a) {
    return _mm512_srli_epi64(a, 32);
}
/* The product of the lower halves. */
LANE_OP vw vw_multiply(vw a, vw b) {
    return _mm512_mul_epu32(a, b);
}
LANE_OP vw vw_xor(vw a, vw b, vw c) {
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}
/* Not 0 if the lower half of a word is at most x. */
LANE_OP unsigned vw_within(vw a, uint32_t x) {
    return _mm512_mask_cmple_epu32_mask(0x5555, a, _mm512_set1_epi32((int)x));
}
LANE_OP void vw_store_lower(uint32_t *p, vw a) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi64_epi32(a));
}

/* 64-bit integers, one a lane: the even lanes and the odd ones. */
typedef struct vq {
    __m512i even, odd;
} vq;
LANE_OP vq vq_zero(void) {
    return (vq){_mm512_setzero_si512(), _mm512_setzero_si512()};
}
/* sum + a * a for lanes that hold integers. */
LANE_OP vq vq_add_square(vq sum, vf a) {
    const __m512i whole = _mm512_cvtps_epi32(a);
    const __m512i odd = _mm512_srli_epi64(whole, 32);
    return (vq){_mm512_add_epi64(sum.even, _mm512_mul_epi32(whole, whole)),
                _mm512_add_epi64(sum.odd, _mm512_mul_epi32(odd, odd))};
}
/* sum + a * b for lanes that hold signed integers. */
LANE_OP vq vq_add_product(vq sum, vu a, vu b) {
    const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    return (vq){_mm512_add_epi64(sum.even, _mm512_mul_epi32(a, b)), _mm512_add_epi64(sum.odd, odd)};
}
/* Lanes to be multiplied with more than one number. */
typedef struct vs {
    __m512i even, odd;
} vs;
LANE_OP vs vs_of(vu a) {
    return (vs){a, _mm512_srli_epi64(a, 32)};
}
LANE_OP vq vq_add_times(vq sum, vs a, int32_t b) {
    const __m512i factor = _mm512_set1_epi32(b);
    return (vq){_mm512_add_epi64(sum.even, _mm512_mul_epi32(a.even, factor)),
                _mm512_add_epi64(sum.odd, _mm512_mul_epi32(a.odd, factor))};
}
LANE_OP void vq_store(int64_t *p, vq a) {
    int64_t even[LANES / 2], odd[LANES / 2];
    _mm512_storeu_si512(even, a.even);
    _mm512_storeu_si512(odd, a.odd);
    for (int i = 0; i < LANES / 2; i++) {
        p[2 * i] = even[i];
        p[2 * i + 1] = odd[i];
    }
}

/* Sums of products of integers are quicker as doubles here; they are exact up to 2^53. */
#define DOUBLE_DOTS
typedef struct vd {
    __m512d low, high;
} vd;
LANE_OP vd vd_zero(void) {
    return (vd){_mm512_setzero_pd(), _mm512_setzero_pd()};
}
/* Sixteen 32-bit integers. */
LANE_OP vd vd_load_whole(const uint32_t *p) {
    return (vd){_mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)(const void *)p)),
                _mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)(const void *)(p + 8)))};
}
LANE_OP vd vd_add_times(vd sum, vd a, double b) {
    return (vd){_mm512_fmadd_pd(a.low, _mm512_set1_pd(b), sum.low),
                _mm512_fmadd_pd(a.high, _mm512_set1_pd(b), sum.high)};
}
LANE_OP vd vd_add_square(vd sum, vd a) {
    return (vd){_mm512_fmadd_pd(a.low, a.low, sum.low), _mm512_fmadd_pd(a.high, a.high, sum.high)};
}
/* p[i] = lane i, an integer, and what p[i] was if that is wanted. */
LANE_OP void vd_put(int64_t *p, vd a, bool adds) {
    const __m512i low = _mm512_cvtpd_epi64(a.low), high = _mm512_cvtpd_epi64(a.high);
    _mm512_storeu_si512(p, adds ? _mm512_add_epi64(_mm512_loadu_si512(p), low) : low);
    _mm512_storeu_si512(p + 8, adds ? _mm512_add_epi64(_mm512_loadu_si512(p + 8), high) : high);
}

/* Doubles. Sums for TALL columns and three vectors fit the registers. */
#define REALS 8
#define TALL 8
typedef __m512d vr;
LANE_OP vr vr_load(const double *p) {
    return _mm512_loadu_pd(p);
}
LANE_OP void vr_store(double *p, vr a) {
    _mm512_storeu_pd(p, a);
}
LANE_OP vr vr_set1(double x) {
    return _mm512_set1_pd(x);
}
LANE_OP vr vr_muladd(vr a, vr b, vr c) {
    return _mm512_fmadd_pd(a, b, c);
}
LANE_OP vr vr_widen(const int32_t *p) {
    return _mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
/* p[i] += lane i, an integer. */
LANE_OP void vr_add_to(int64_t *p, vr a) {
    _mm512_storeu_si512(p, _mm512_add_epi64(_mm512_loadu_si512(p), _mm512_cvtpd_epi64(a)));
}

#endif
