/*
 * What one row adds at a point: whole numbers that depend on the row and the point alone, made with
 * doubles in a fixed order (docs/definition/logistic.md, section 2).
 */
#ifndef EF_LOSSES_H
#define EF_LOSSES_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stdint.h>

#define EF_Z_MAX 0x1p20 /* no z is larger in magnitude */

/* Of a row of weight 1. The curvature of terms j <= l is ef_round_even(q x_j) x_l. */
typedef struct ef_row_part {
    int64_t loss;  /* at most 2^62 */
    int64_t slope; /* at most 2^42 in magnitude */
    double q;      /* in [0, 1] */
} ef_row_part;

ef_row_part ef_loss_part(efface_loss loss, double z, bool is_of_class);

/* Losses and penalties are in units of 2^-bits, slopes too (times the 2^-23 of a term); curvatures
 * in units of 2^-46 times the scale. */
int ef_loss_bits(efface_loss loss);
double ef_loss_scale(efface_loss loss);

/* The curvature at 0 that the lattice is made for. */
double ef_loss_start(efface_loss loss);

/* A double below 2^51 in magnitude to the nearest whole number, ties to even. */
static inline double ef_round_even(double x) {
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* z as it counts; NaN, which damaged bytes may make, counts as a number too. */
static inline double ef_limit_z(double z) {
    const double above = z > -EF_Z_MAX ? z : -EF_Z_MAX;
    return above < EF_Z_MAX ? above : EF_Z_MAX;
}

#endif
