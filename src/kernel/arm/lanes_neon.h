/* Four lanes: the vocabulary of panel_kernels.h in 64-bit ARM's NEON. */
#ifndef EF_LANES_NEON_H
#define EF_LANES_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#define LANES 4
#define TILE 5

typedef float32x4_t vf; /* floats */
typedef uint32x4_t vu;  /* 32-bit unsigned integers */
typedef uint32x4_t vm;  /* all bits of a lane, or none */

#define LANE_OP static inline __attribute__((always_inline))

LANE_OP vf vf_load(const float *p) {
    return vld1q_f32(p);
}
/* Small integers as floats. */
LANE_OP vf vf_load_bytes(const int8_t *p) {
    const int32_t lanes[LANES] = {p[0], p[1], p[2], p[3]};
    return vcvtq_f32_s32(vld1q_s32(lanes));
}
LANE_OP void vf_store(float *p, vf a) {
    vst1q_f32(p, a);
}
LANE_OP vf vf_set1(float x) {
    return vdupq_n_f32(x);
}
LANE_OP vf vf_add(vf a, vf b) {
    return vaddq_f32(a, b);
}
LANE_OP vf vf_sub(vf a, vf b) {
    return vsubq_f32(a, b);
}
LANE_OP vf vf_mul(vf a, vf b) {
    return vmulq_f32(a, b);
}
/* a * b + c, fused or not. */
LANE_OP vf vf_muladd(vf a, vf b, vf c) {
    return vfmaq_f32(c, a, b);
}
LANE_OP vf vf_min(vf a, vf b) {
    return vminq_f32(a, b);
}
LANE_OP vf vf_max(vf a, vf b) {
    return vmaxq_f32(a, b);
}
LANE_OP vf vf_div(vf a, vf b) {
    return vdivq_f32(a, b);
}
LANE_OP vf vf_sqrt(vf a) {
    return vsqrtq_f32(a);
}
/* To the nearest integer, ties to even. */
LANE_OP vf vf_round(vf a) {
    return vrndnq_f32(a);
}
/* The same for one number, as an integer. */
LANE_OP int32_t round_one(float x) {
    return vcvtns_s32_f32(x);
}
LANE_OP vm vf_less(vf a, vf b) {
    return vcltq_f32(a, b);
}
LANE_OP vm vf_at_most(vf a, vf b) {
    return vcleq_f32(a, b);
}
LANE_OP unsigned vm_bits(vm m) {
    static const uint32_t weights[LANES] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(m, vld1q_u32(weights)));
}

LANE_OP vu vu_load(const uint32_t *p) {
    return vld1q_u32(p);
}
LANE_OP void vu_store(uint32_t *p, vu a) {
    vst1q_u32(p, a);
}
LANE_OP vu vu_set1(uint32_t x) {
    return vdupq_n_u32(x);
}
LANE_OP vu vu_add(vu a, vu b) {
    return vaddq_u32(a, b);
}
LANE_OP vu vu_sub(vu a, vu b) {
    return vsubq_u32(a, b);
}
/* m ? a + b : a */
LANE_OP vu vu_add_where(vm m, vu a, vu b) {
    return vaddq_u32(a, vandq_u32(m, b));
}
/* a > b, for numbers below 2^31. */
LANE_OP vm vu_above(vu a, vu b) {
    return vcgtq_u32(a, b);
}
LANE_OP vm vu_equal(vu a, vu b) {
    return vceqq_u32(a, b);
}
/* Integers that are floats, as integers (those below 0 modulo 2^32). */
LANE_OP vu vf_whole(vf a) {
    return vreinterpretq_u32_s32(vcvtq_s32_f32(a));
}
/* m ? a : b */
LANE_OP vu vu_pick(vm m, vu a, vu b) {
    return vbslq_u32(m, a, b);
}
/* Lane i of vector c goes to lane c of vector i. */
LANE_OP void vu_transpose(vu a[LANES]) {
    const uint64x2_t t0 = vreinterpretq_u64_u32(vtrn1q_u32(a[0], a[1]));
    const uint64x2_t t1 = vreinterpretq_u64_u32(vtrn2q_u32(a[0], a[1]));
    const uint64x2_t t2 = vreinterpretq_u64_u32(vtrn1q_u32(a[2], a[3]));
    const uint64x2_t t3 = vreinterpretq_u64_u32(vtrn2q_u32(a[2], a[3]));
    a[0] = vreinterpretq_u32_u64(vtrn1q_u64(t0, t2));
    a[1] = vreinterpretq_u32_u64(vtrn1q_u64(t1, t3));
    a[2] = vreinterpretq_u32_u64(vtrn2q_u64(t0, t2));
    a[3] = vreinterpretq_u32_u64(vtrn2q_u64(t1, t3));
}

/* Words of 64 bits. */
#define WORDS 2
typedef uint64x2_t vw;
LANE_OP vw vw_load(const uint64_t *p) {
    return vld1q_u64(p);
}
LANE_OP vw vw_set1(uint64_t x) {
    return vdupq_n_u64(x);
}
LANE_OP vw vw_add(vw a, vw b) {
    return vaddq_u64(a, b);
}
LANE_OP vw vw_upper(vw a) {
    return vshrq_n_u64(a, 32);
}
/* The product of the lower halves. */
LANE_OP vw vw_multiply(vw a, vw b) {
    return vmull_u32(vmovn_u64(a), vmovn_u64(b));
}
LANE_OP vw vw_xor(vw a, vw b, vw c) {
    return veorq_u64(veorq_u64(a, b), c);
}
/* Not 0 if the lower half of a word is at most x. */
LANE_OP unsigned vw_within(vw a, uint32_t x) {
    return vmaxv_u32(vcle_u32(vmovn_u64(a), vdup_n_u32(x)));
}
LANE_OP void vw_store_lower(uint32_t *p, vw a) {
    vst1_u32(p, vmovn_u64(a));
}

/* 64-bit integers, one a lane: the lower half of the lanes and the upper. */
typedef struct vq {
    int64x2_t low, high;
} vq;
LANE_OP vq vq_zero(void) {
    return (vq){vdupq_n_s64(0), vdupq_n_s64(0)};
}
/* sum + a * a for lanes that hold integers. */
LANE_OP vq vq_add_square(vq sum, vf a) {
    const int32x4_t whole = vcvtq_s32_f32(a);
    return (vq){vmlal_s32(sum.low, vget_low_s32(whole), vget_low_s32(whole)),
                vmlal_high_s32(sum.high, whole, whole)};
}
/* sum + a * b for lanes that hold signed integers. */
LANE_OP vq vq_add_product(vq sum, vu a, vu b) {
    const int32x4_t x = vreinterpretq_s32_u32(a), y = vreinterpretq_s32_u32(b);
    return (vq){vmlal_s32(sum.low, vget_low_s32(x), vget_low_s32(y)),
                vmlal_high_s32(sum.high, x, y)};
}
/* Lanes to be multiplied with more than one number. */
typedef int32x4_t vs;
LANE_OP vs vs_of(vu a) {
    return vreinterpretq_s32_u32(a);
}
LANE_OP vq vq_add_times(vq sum, vs a, int32_t b) {
    return (vq){vmlal_n_s32(sum.low, vget_low_s32(a), b), vmlal_high_n_s32(sum.high, a, b)};
}
LANE_OP void vq_store(int64_t *p, vq a) {
    vst1q_s64(p, a.low);
    vst1q_s64(p + 2, a.high);
}

/* Four columns of one row, 64-bit integers. */
#define COLUMNS 4
typedef struct vl {
    int64x2_t low, high;
} vl;
LANE_OP vl vl_zero(void) {
    return (vl){vdupq_n_s64(0), vdupq_n_s64(0)};
}
LANE_OP vl vl_halves(int32x4_t whole) {
    return (vl){vmovl_s32(vget_low_s32(whole)), vmovl_high_s32(whole)};
}
/* The grid points of values that are sixteen floats apart. */
LANE_OP vl vl_on_grid(const float *row, const float *low, const float *step) {
    const float x[COLUMNS] = {row[0], row[16], row[32], row[48]};
    return vl_halves(
        vcvtnq_s32_f32(vmulq_f32(vsubq_f32(vld1q_f32(x), vld1q_f32(low)), vld1q_f32(step))));
}
LANE_OP vl vl_load(const int64_t *p) {
    return (vl){vld1q_s64(p), vld1q_s64(p + 2)};
}
LANE_OP void vl_store(int64_t *p, vl a) {
    vst1q_s64(p, a.low);
    vst1q_s64(p + 2, a.high);
}
LANE_OP vl vl_add(vl a, vl b) {
    return (vl){vaddq_s64(a.low, b.low), vaddq_s64(a.high, b.high)};
}
LANE_OP vl vl_sub(vl a, vl b) {
    return (vl){vsubq_s64(a.low, b.low), vsubq_s64(a.high, b.high)};
}
/* a * weight, for numbers of 32 bits and a weight of 52, in two parts of 20 and 32 bits. */
LANE_OP int64x2_t half_times(int64x2_t a, int64_t weight) {
    const int32x2_t narrow = vmovn_s64(a);
    const int64x2_t upper = vmull_s32(narrow, vdup_n_s32((int32_t)(weight >> 20)));
    const int64x2_t lower = vmull_s32(narrow, vdup_n_s32((int32_t)(weight & 0xFFFFF)));
    return vaddq_s64(vshlq_n_s64(upper, 20), lower);
}
LANE_OP vl vl_times(vl a, int64_t weight) {
    return (vl){half_times(a.low, weight), half_times(a.high, weight)};
}
LANE_OP vl vl_widen(const int32_t *p) {
    return vl_halves(vld1q_s32(p));
}
/* a * a, for numbers of 32 bits. */
LANE_OP vl vl_square(vl a) {
    const int32x2_t low = vmovn_s64(a.low), high = vmovn_s64(a.high);
    return (vl){vmull_s32(low, low), vmull_s32(high, high)};
}
LANE_OP int64_t vl_total(vl a) {
    return vaddvq_s64(vaddq_s64(a.low, a.high));
}

/* Eight 32-bit integers of one row (EF_CODES), somewhere in memory. */
typedef struct vc {
    int32x4_t low, high;
} vc;
LANE_OP vc vc_load(const void *p) {
    const uint8_t *const bytes = p;
    return (vc){vreinterpretq_s32_u8(vld1q_u8(bytes)), vreinterpretq_s32_u8(vld1q_u8(bytes + 16))};
}
LANE_OP void vc_store(int32_t *p, vc a) {
    vst1q_s32(p, a.low);
    vst1q_s32(p + 4, a.high);
}
LANE_OP vc vc_set1(int32_t x) {
    return (vc){vdupq_n_s32(x), vdupq_n_s32(x)};
}
LANE_OP vc vc_add(vc a, vc b) {
    return (vc){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}
LANE_OP vc vc_sub(vc a, vc b) {
    return (vc){vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)};
}
LANE_OP vc vc_min(vc a, vc b) {
    return (vc){vminq_s32(a.low, b.low), vminq_s32(a.high, b.high)};
}
LANE_OP vc vc_max(vc a, vc b) {
    return (vc){vmaxq_s32(a.low, b.low), vmaxq_s32(a.high, b.high)};
}
/* -1 where a > b, else 0. */
LANE_OP vc vc_above(vc a, vc b) {
    return (vc){vreinterpretq_s32_u32(vcgtq_s32(a.low, b.low)),
                vreinterpretq_s32_u32(vcgtq_s32(a.high, b.high))};
}
/* a, but 0 where the mask is -1. */
LANE_OP vc vc_where_not(vc mask, vc a) {
    return (vc){vbicq_s32(a.low, mask.low), vbicq_s32(a.high, mask.high)};
}

/* Doubles. Sums for TALL columns and three vectors fit the registers. */
#define REALS 2
#define TALL 8
typedef float64x2_t vr;
LANE_OP vr vr_load(const double *p) {
    return vld1q_f64(p);
}
LANE_OP void vr_store(double *p, vr a) {
    vst1q_f64(p, a);
}
LANE_OP vr vr_set1(double x) {
    return vdupq_n_f64(x);
}
LANE_OP vr vr_muladd(vr a, vr b, vr c) {
    return vfmaq_f64(c, a, b);
}
LANE_OP vr vr_widen(const int32_t *p) {
    return vcvtq_f64_s64(vmovl_s32(vld1_s32(p)));
}
/* p[i] += lane i, an integer. */
LANE_OP void vr_add_to(int64_t *p, vr a) {
    vst1q_s64(p, vaddq_s64(vld1q_s64(p), vcvtq_s64_f64(a)));
}

#endif
