/*
 * Spreads: how far the values of each column lie from their mean, from exact sums; and the unit and
 * the centre that a column gets for it, on a random lattice (docs/definition/numerics.md, section
 * 2, "Scale standard").
 *
 * A deviation moves with every row. So it is rounded: its logarithm to a quarter of an octave, with
 * a random phase for each column, and the mean to four units. Few rows then move a unit or a centre,
 * and whether one does is seen from the sums alone.
 */
#ifndef EF_SPREADS_H
#define EF_SPREADS_H

#include "base/errors/interrupt.h"
#include "data/set/shards.h"
#include "model/exact/moments.h"

typedef struct ef_spreads {
    int32_t *exponents; /* of columns: no magnitude is above 2^exponent */
    ef_moments moments; /* DIAGONAL, of the values on a grid of 2^23 steps up to there */
    float *centres;     /* of columns, as a map has them */
    double *units;      /* of columns: how many there are in 1; 0: all values are as one */
    float *low, *step;  /* of the map to the grid of the sums */
    int32_t *point;     /* a row */
    ef_map map;
    void *block; /* the arrays but for the moments */
} ef_spreads;

/* Of no rows. NULL if out of memory. */
ef_spreads *ef_spreads_create(uint32_t n_columns);
ef_spreads *ef_spreads_copy(const ef_spreads *from);
void ef_spreads_free(ef_spreads *spreads);

/* Takes the exponents from the counts of rows, no range being stale; there are no sums yet.
 * Columns may be ignored. And whether they are those that there are. */
void ef_spreads_set(ef_spreads *spreads, const ef_counts *counts, const bool *ignored);
bool ef_spreads_stand(const ef_spreads *spreads, const ef_counts *counts, const bool *ignored);

/* Adds the rows of a set, of all ranks if it is a part; or one row, whose values are EF_PANEL floats
 * apart: with a negative weight it leaves. Errors: MEMORY; KERNELS; INTERRUPTED; GROUP. */
efface_status ef_spreads_add(ef_spreads *spreads, const efface_data *data, unsigned n_threads,
                             ef_interrupt interrupt, efface_error *error);
void ef_spreads_change(ef_spreads *spreads, const float *row, int64_t weight);

/* Finds units and centres from the sums. */
void ef_spreads_place(ef_spreads *spreads, uint64_t seed);

/* Canonical bytes: exponent, sum and sum of squares of each column. Reading makes spreads of rows of
 * this weight; NULL if the bytes do not suffice, cannot be those of rows, or (then `short_of_memory`
 * is true) memory runs out. */
void ef_spreads_write(ef_writer *writer, const ef_spreads *spreads);
ef_spreads *ef_spreads_read(ef_decoder *reader, uint32_t n_columns, int64_t weight,
                            const bool *ignored, bool *short_of_memory);

/* Whether two have the same sums; their bytes in memory. */
bool ef_spreads_equal(const ef_spreads *a, const ef_spreads *b);
size_t ef_spreads_bytes(const ef_spreads *spreads);

#endif
