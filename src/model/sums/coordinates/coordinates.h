/*
 * The coordinates of a row: the whole numbers of which sums are made.
 *
 * They are the values of the columns, each on a grid of its column: 2^23 steps up to the power of
 * two above the largest magnitude in it. Or, with Fourier features, these features on a grid that
 * never changes, and behind them the targets on theirs. Terms are the coordinates that a view
 * explains targets or classes by: the columns that are no targets, or the Fourier features.
 */
#ifndef EF_COORDINATES_H
#define EF_COORDINATES_H

#include "data/set/rows.h"
#include "model/exact/spreads.h"
#include "model/exact/summing.h"
#include "model/sums/coordinates/fourier.h"

typedef struct ef_coordinates {
    uint32_t n;         /* coordinates of a row */
    uint32_t n_columns; /* of the set */
    uint32_t n_inputs, n_targets, n_terms;
    uint32_t *inputs;        /* columns that are no targets, ascending */
    uint32_t *targets;       /* columns */
    int64_t *target_ids;     /* the same, as tables have them */
    uint32_t *term_points;   /* which coordinate each term is */
    uint32_t *target_points; /* and each target */
    int32_t *exponents;      /* of columns: no magnitude is above 2^exponent; 0 without a grid */
    ef_map map;              /* of columns */
    float *low, *step;       /* of the map */
    ef_fourier fourier;      /* n_features 0: there are none */
    bool is_scaled;          /* features are of columns in units of their deviations: */
    ef_spreads *spreads;     /* of the inputs; NULL until they are known */
    bool *ignored;           /* which columns are none */
    const ef_kernels *kernels;
    void *block; /* these arrays */
} ef_coordinates;

/* What coordinates are made of. */
typedef struct ef_coordinates_params {
    uint32_t n_columns;
    const uint32_t *targets;
    uint32_t n_targets;
    uint32_t n_fourier;
    double gamma; /* 0: 1 / the number of inputs */
    uint64_t seed;
    bool is_scaled;
} ef_coordinates_params;

/* All exponents are the smallest at first. Errors: MEMORY; KERNELS; ARGUMENT for targets that are
 * no columns or come twice, or if no column is left to be a feature where targets are. */
efface_status ef_coordinates_init(ef_coordinates *c, const ef_coordinates_params *params,
                                  efface_error *error);
void ef_coordinates_free(ef_coordinates *c);

/* The exponents of columns whose smallest and largest values are given (of no rows: NULL), under a
 * bound (0: none is given). Errors: LIMIT for values beyond it. */
efface_status ef_coordinates_find(const ef_coordinates *c, double bound, const float *least,
                                  const float *most, int32_t *exponents, efface_error *error);

/* The same for the rows of a set, whatever ranges are stale. */
efface_status ef_coordinates_find_of(const ef_coordinates *c, double bound, const efface_data *data,
                                     int32_t *exponents, efface_error *error);

void ef_coordinates_set(ef_coordinates *c, const int32_t *exponents);

/* Takes the units of inputs, once: from the rows of a set, or from spreads, which become the
 * coordinates'. Errors: MEMORY; INTERRUPTED; GROUP. */
efface_status ef_coordinates_find_units(ef_coordinates *c, const efface_data *data, uint64_t seed,
                                        unsigned n_threads, ef_interrupt interrupt,
                                        efface_error *error);
void ef_coordinates_take_units(ef_coordinates *c, ef_spreads *spreads, uint64_t seed);

/* For ef_sum_up. */
ef_points ef_coordinates_points(const ef_coordinates *c);

/* The coordinates of one row, whose values are EF_PANEL floats apart. */
void ef_coordinates_of_row(const ef_coordinates *c, const float *row, int32_t *point);

/* What 1 is worth in the units of a coordinate, as the set holds them. */
double ef_coordinates_unit(const ef_coordinates *c, uint32_t point);

/* The number of a column's place among the targets; EFFACE_NO_COLUMN if it is none. */
uint32_t ef_coordinates_target(const ef_coordinates *c, uint32_t column);

#endif
