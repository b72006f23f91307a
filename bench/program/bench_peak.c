/*
 * efface-bench roofline: what one thread of this machine can do at best.
 *
 * Loops that do nothing but multiply and add, or nothing but read, in the instruction set of the
 * kernel table in use. A limit is the best of many tries, unlike the times of work, which are
 * medians: a disturbed try says nothing about what the machine can do.
 */
#include "bench_roofline.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* What the reference kernels may become: the compiler's own vectors, multiplied, then added. */
typedef float four_floats __attribute__((vector_size(16)));

static inline four_floats load_four(const float *p) {
    four_floats v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline four_floats set_four(float x) {
    return (four_floats){x, x, x, x};
}

#define LOOP(name) name##_ref
#define TARGET
#define vec four_floats
#define LANES 4
#define vec_load(p) load_four(p)
#define vec_set(x) set_four(x)
#define vec_add(a, b) ((a) + (b))
#define vec_fma(a, b, c) ((a) * (b) + (c))
#include "bench_peak_loops.h"

#if defined(__x86_64__)

#define LOOP(name) name##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define vec __m256
#define LANES 8
#define vec_load(p) _mm256_loadu_ps(p)
#define vec_set(x) _mm256_set1_ps(x)
#define vec_add(a, b) _mm256_add_ps(a, b)
#define vec_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#include "bench_peak_loops.h"

#define LOOP(name) name##_avx512
#define TARGET __attribute__((target("avx512f")))
#define vec __m512
#define LANES 16
#define vec_load(p) _mm512_loadu_ps(p)
#define vec_set(x) _mm512_set1_ps(x)
#define vec_add(a, b) _mm512_add_ps(a, b)
#define vec_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#include "bench_peak_loops.h"

#elif defined(__aarch64__)

#define LOOP(name) name##_neon
#define TARGET
#define vec float32x4_t
#define LANES 4
#define vec_load(p) vld1q_f32(p)
#define vec_set(x) vdupq_n_f32(x)
#define vec_add(a, b) vaddq_f32(a, b)
#define vec_fma(a, b, c) vfmaq_f32(c, a, b)
#include "bench_peak_loops.h"

#endif

static const peak_loops all_loops[] = {
    {"ref", 4, multiply_ref, read_ref},
#if defined(__x86_64__)
    {"avx2", 8, multiply_avx2, read_avx2},
    {"avx512", 16, multiply_avx512, read_avx512},
    {"vnni", 16, multiply_avx512, read_avx512},
#elif defined(__aarch64__)
    {"neon", 4, multiply_neon, read_neon},
#endif
};

/* Where results go, so that no loop is left out. */
static volatile float sink;

const peak_loops *peak_find(void) {
    const char *const name = efface_kernels_name();
    for (size_t i = 0; i < sizeof all_loops / sizeof all_loops[0]; i++)
        if (name != NULL && strcmp(all_loops[i].kernels, name) == 0)
            return &all_loops[i];
    fprintf(stderr,
            "efface-bench: roofline does not know the kernels '%s'; set EFFACE_KERNELS to others\n",
            name != NULL ? name : "that EFFACE_KERNELS names");
    return NULL;
}

double peak_flops(const peak_loops *loops, double seconds) {
    const size_t n_rounds = 200000; /* of a few cycles each: far longer than a look at the clock */
    double best = 0.0;
    const double begin = bench_now();
    for (double now = begin, last = begin; now - begin < seconds || best == 0.0; last = now) {
        sink = loops->multiply(n_rounds);
        now = bench_now();
        const double rate = PEAK_FLOPS_A_ROUND(loops->lanes) * (double)n_rounds / (now - last);
        best = rate > best ? rate : best;
    }
    return best;
}

double peak_read(const peak_loops *loops, const float *values, size_t n, double seconds) {
    /* Small arrays several times between looks at the clock. */
    const size_t times = n < (1u << 20) ? (1u << 20) / (n + 1) + 1 : 1;
    double best = 0.0;
    sink = loops->read(values, n);
    const double begin = bench_now();
    for (double now = begin, last = begin; now - begin < seconds || best == 0.0; last = now) {
        for (size_t i = 0; i < times; i++)
            sink = loops->read(values, n);
        now = bench_now();
        const double rate = 4.0 * (double)n * (double)times / (now - last);
        best = rate > best ? rate : best;
    }
    return best;
}

double peak_triad(float *values, size_t n, double seconds) {
    const size_t third = n / 3;
    float *const a = values;
    const float *const b = values + third, *const c = values + 2 * third;
    double best = 0.0;
    const double begin = bench_now();
    for (double now = begin, last = begin; now - begin < seconds || best == 0.0; last = now) {
        for (size_t i = 0; i < third; i++)
            a[i] = b[i] + 3.0F * c[i];
        sink = a[third / 2];
        now = bench_now();
        const double rate = 12.0 * (double)third / (now - last);
        best = rate > best ? rate : best;
    }
    return best;
}
