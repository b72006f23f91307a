/*
 * The grid: values become integers, so that sums can be undone exactly.
 *
 *     g = round((x - low) * step)     float32 operations, each rounded to nearest, ties to even
 *
 * gives integers of at most 2^23 in magnitude, which float32 holds exactly. With scale none, low
 * is 0 and step is 2^s, s = 23 - e, for a bound 2^e on all values; the product is then exact. With
 * scale minmax, low is the column's smallest value and step is about 2^23 / (largest - smallest);
 * with scale standard they are a centre and a unit of the column (model/exact/spreads.h).
 * Magnitudes are limited to 2^126 and exponents to -100 and above, so that nothing overflows and
 * nothing depends on how a process treats subnormal numbers.
 */
#ifndef EF_GRID_H
#define EF_GRID_H

#include "base/numbers/wide.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows are kept and worked on sixteen at a time: coordinate j of sixteen rows side by side, then
 * coordinate j + 1 (src/data/set/rows.h, src/kernel/kernels.h). */
#define EF_PANEL 16

#define EF_GRID_BITS 23
#define EF_GRID_MAX (1 << EF_GRID_BITS)
#define EF_EXPONENT_MIN (-100)
#define EF_EXPONENT_MAX 126
#define EF_EXPONENTS (EF_EXPONENT_MAX - EF_EXPONENT_MIN + 1)
#define EF_COARSE_STEPS 256

/* The map from values to the grid: one `low` and one `step` for each of n_columns columns. */
typedef struct ef_map {
    uint32_t n_columns;
    const float *low;
    const float *step;
} ef_map;

/* The smallest e in [EF_EXPONENT_MIN, EF_EXPONENT_MAX] with magnitude <= 2^e. */
int ef_exponent(float magnitude);

/* 2^exponent for an exponent of a normal float or double. */
float ef_power_of_two_float(int exponent);
double ef_power_of_two(int exponent);

/* The step of a column with scale none under the bound 2^exponent. */
float ef_step_bound(int exponent);

/* The step of a column that goes from low to high, such that high maps to at most 2^23; 0 (every
 * value maps to 0) if the spread is below 2^-100. */
float ef_step_minmax(float low, float high);

/* x on the grid. Plain C for places that are not hot; kernels do the same sixteen at a time. */
int32_t ef_snap(float x, float low, float step);

/* The same without the limit of 2^23, for rows outside the bounds of a fit: clamped to 2^62. */
int64_t ef_snap_wide(float x, float low, float step);

/* Squared distance of two points of the grid; below 2^63 as n_columns < 2^15. */
int64_t ef_grid_sqdist(const int32_t *a, const int32_t *b, uint32_t n_columns);

/* How many rows have which exponent (that of a row's largest magnitude): the bound of a set
 * without looking at its rows. */
typedef struct ef_exponent_counts {
    uint64_t rows[EF_EXPONENTS];
} ef_exponent_counts;

/* The largest exponent present; EF_EXPONENT_MIN for no rows. */
int ef_exponent_counts_max(const ef_exponent_counts *counts);

#endif
