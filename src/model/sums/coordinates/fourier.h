/*
 * Random Fourier features (Rahimi and Recht: "Random features for large-scale kernel machines",
 * 2007): with frequencies w_f drawn from a normal distribution and phases b_f,
 *
 *     c_f(x) = cos(2 pi (b_f + w_f x))
 *
 * the mean of 2 c_f(x) c_f(y) over many features is near exp(-gamma |x - y|^2). A linear model of
 * such features is one of that kernel.
 *
 * The definition. Operations are on doubles, each rounded to nearest, in the order written; angles
 * are in turns.
 *
 *     w_fj = (sqrt(gamma) k) z_fj     k = 1 / (pi sqrt(2)), as a double; z_f,2p and z_f,2p+1 are
 *                                     ef_tape_normals(seed, EF_TAPE_FOURIER, f, 2p)
 *     b_f  = ef_tape_unit(tape(seed, EF_TAPE_FOURIER, 0, f, 2^32 - 1))
 *     t_f  = ((b_f + w_f0 x_0) + w_f1 x_1) + ...
 *     g_f  = round(2^23 ef_cos_turns(t_f)), ties to even
 *
 * So a feature is a whole number of at most 2^23 in magnitude, like a coordinate on the grid. It
 * depends on no other row. If t_f is too large to have a fraction, or is not finite, g_f is 2^23.
 */
#ifndef EF_FOURIER_H
#define EF_FOURIER_H

#include "base/bytes/encode.h"
#include "base/errors/status.h"

typedef struct ef_fourier {
    uint32_t n_features;
    uint32_t n_inputs;
    double *frequencies; /* n_features x n_inputs */
    double *phases;      /* in [0, 1) */
} ef_fourier;

/* Draws the features; gamma is positive and finite. False if out of memory; then there is nothing
 * to free, though ef_fourier_free does no harm. */
bool ef_fourier_init(ef_fourier *fourier, uint64_t seed, double gamma, uint32_t n_features,
                     uint32_t n_inputs);
void ef_fourier_free(ef_fourier *fourier);

/* The same as another; fails as above. */
bool ef_fourier_copy(ef_fourier *to, const ef_fourier *from);

/* The features of the sixteen rows of a panel (base/grid.h), as a panel. Input j is column
 * inputs[j] of the panel. */
void ef_fourier_panel(const ef_fourier *fourier, const float *panel, const uint32_t *inputs,
                      float *features);

/* The features of one row: its values are `stride` floats apart. */
void ef_fourier_row(const ef_fourier *fourier, const float *row, size_t stride,
                    const uint32_t *inputs, int32_t *features);

/* What 1 is worth if features are scaled so that the sum of products of two rows' features is near
 * the kernel. */
double ef_fourier_unit(const ef_fourier *fourier);

/* For published models: u32 n_features | u32 n_inputs | phases | frequencies. Reading fails with
 * FORMAT if these are damaged or are not for n_inputs inputs, and with MEMORY; then `out` is as it
 * was. */
void ef_fourier_write(ef_writer *writer, const ef_fourier *fourier);
efface_status ef_fourier_read(ef_decoder *reader, uint32_t n_inputs, ef_fourier *out,
                              efface_error *error);

#endif
