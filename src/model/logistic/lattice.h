/*
 * The lattice of a model: which points coefficients can have (docs/definition/logistic.md, section
 * 3). A pure function of the counts of the rows, of the sample, of parameters and the seed.
 */
#ifndef EF_LATTICE_H
#define EF_LATTICE_H

#include "base/numbers/matrix.h"
#include "model/exact/moments.h"

#include <stdbool.h>
#include <stdint.h>

#define EF_N_STAGES 3                   /* lattices, from the coarsest to the finest */
#define EF_STEPS_MAX (INT64_C(1) << 50) /* whole numbers of points are below */

/* What a lattice hangs on but for the sample: when one of these numbers moves, all is fitted again.
 */
typedef struct ef_lattice_basis {
    unsigned shift; /* a row in 2^shift is of the sample */
    double widths[EF_N_STAGES];
} ef_lattice_basis;

typedef struct ef_lattice {
    uint32_t n_terms;
    double widths[EF_N_STAGES];
    double *phases;     /* of each lattice in turn */
    double *penalties;  /* alpha for terms of magnitudes in [0, 1] */
    ef_cholesky factor; /* of the whitening */
} ef_lattice;

/* The basis for n rows, as the parameters want it. */
ef_lattice_basis ef_lattice_basis_of(uint64_t n_rows, uint32_t n_terms,
                                     const efface_logistic_params *params);

/* Whether a row with this id is of the sample. */
bool ef_lattice_samples(uint64_t seed, unsigned shift, uint64_t id);

/* The exponent of the power of two next to a sum of squares; INT32_MIN for 0. */
int32_t ef_lattice_spread(ef_i128 squares);

/* Makes a lattice; `exponents` are those of the columns, and `start` the curvature at 0. False if
 * out of memory. */
typedef struct ef_lattice_makings {
    ef_lattice_basis basis;
    const ef_moments *all, *sample;
    const int32_t *exponents;
    double alpha, start;
    uint64_t seed;
} ef_lattice_makings;

bool ef_lattice_init(ef_lattice *lattice, const ef_lattice_makings *of);
void ef_lattice_free(ef_lattice *lattice);

/* The coordinates u of a point. */
void ef_lattice_place(const ef_lattice *lattice, uint32_t stage, const int64_t *steps, double *u);

/* The coefficients of a point. */
void ef_lattice_coefficients(const ef_lattice *lattice, uint32_t stage, const int64_t *steps,
                             double *coefficients);

/* What a change of coefficients is in the coordinates u; `change` is overwritten. */
void ef_lattice_whiten(const ef_lattice *lattice, double *change, double *whitened);

/* The point that is nearest to u + factor delta; false if a whole number of it is too large. */
bool ef_lattice_nearest(const ef_lattice *lattice, uint32_t stage, const double *u,
                        const double *delta, double factor, int64_t *steps);

/* The penalty of coefficients as a whole number of 2^-bits, at most 2^120. */
ef_i128 ef_lattice_penalty(const ef_lattice *lattice, const double *coefficients, int bits);

#endif
