/* efface-bench roofline: what the machine can do. */
#ifndef BENCH_ROOFLINE_H
#define BENCH_ROOFLINE_H

#include "bench.h"

#define PEAK_FLOPS_A_ROUND(lanes) (2.0 * 12.0 * (double)(lanes))

/* The loops of an instruction set, which is that of the kernel table in use. */
typedef struct peak_loops {
    const char *kernels; /* the name of the table */
    unsigned lanes;
    float (*multiply)(size_t n_rounds); /* each PEAK_FLOPS_A_ROUND(lanes) operations */
    float (*read)(const float *values, size_t n);
} peak_loops;

/* NULL, after a message on standard error, if there are none for the table in use. */
const peak_loops *peak_find(void);

/* Operations per second with float32 multiply-adds on values in registers: the best of several
 * tries that take about `seconds` together. */
double peak_flops(const peak_loops *loops, double seconds);

/* Bytes per second that a sum over `n` values reads, again and again: the best of several tries. */
double peak_read(const peak_loops *loops, const float *values, size_t n, double seconds);

/* Bytes per second of a[i] = b[i] + 3 c[i], three times 4 bytes for each i; `values` has room for
 * three arrays of n / 3. */
double peak_triad(float *values, size_t n, double seconds);

#endif
