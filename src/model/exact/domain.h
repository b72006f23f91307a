/* The domain of a fit: how values become grid points. A pure function of the rows that are there
 * and of the parameters (docs/definition/numerics.md, section 2). */
#ifndef EF_DOMAIN_H
#define EF_DOMAIN_H

#include "model/exact/spreads.h"

typedef struct ef_domain {
    efface_scale scale;
    int exponent; /* of the bound, for scale none; of the largest distance from a centre in units,
                     for scale standard; else 0 */
    float *low;   /* n_columns each; low and high are the range of a column for scale minmax */
    float *high;
    float *step;
    ef_spreads *spreads; /* of the columns, for scale standard; NULL if it was given */
    void *block;         /* these arrays */
    uint32_t *coarse;    /* numbers of the columns that are too coarse */
    uint32_t n_coarse;
    ef_map map; /* refers to low and step */
} ef_domain;

/* What parameters say of the domain. */
typedef struct ef_bounds {
    efface_scale scale;
    double bound;            /* for scale none: of all values; 0 for one that the rows need */
    const float *column_min; /* for scale minmax: of each column, or NULL: those of the rows. For
                                scale standard: low and step of a domain that is given, the bound
                                being 2^exponent, or NULL */
    const float *column_max;
    const bool *ignored; /* columns that are as if all their values were 0; NULL: none */
    uint64_t seed;       /* for scale standard; and how its sums are made: */
    unsigned n_threads;
    ef_interrupt interrupt;
} ef_bounds;

/* Derives the domain from what is counted of the rows, no range being stale, or checks that they
 * keep to the bounds given; the same for the rows of a set, whatever is stale. With the scale
 * standard that takes the spreads of the rows too, unless the domain is given: they become the
 * domain's, and are freed if it fails. Otherwise they are NULL. */
efface_status ef_domain_init(ef_domain *domain, const ef_counts *counts, ef_bounds bounds,
                             ef_spreads *spreads, efface_error *error);
efface_status ef_domain_of(ef_domain *domain, const efface_data *data, ef_bounds bounds,
                           efface_error *error);
void ef_domain_free(ef_domain *domain);

/* A domain as it was, from its scale, exponent, and the ranges of its columns (for scale none they
 * are not looked at; for scale standard low and step) and, or NULL, which columns are ignored;
 * columns that are coarse are not noted. False if out of memory. */
bool ef_domain_restore(ef_domain *domain, uint32_t n_columns, efface_scale scale, int exponent,
                       const float *low, const float *high, const bool *ignored);

/* The same for the scale standard, from its spreads, which become the domain's, or are freed. */
bool ef_domain_restore_standard(ef_domain *domain, int exponent, ef_spreads *spreads,
                                uint64_t seed);

/* Whether two are the same but for their spreads. */
bool ef_domain_same_map(const ef_domain *a, const ef_domain *b);

/* Whether all values of a row are within the bounds, so that the row has a grid point. */
bool ef_domain_holds(const ef_domain *domain, const float *row);

/* A point of the grid in the units of the data. */
void ef_domain_coordinates(const ef_domain *domain, const int32_t *point, double *coordinates);

/* The factor from squared grid distances to squared distances in the units of the loss. */
double ef_domain_square_unit(const ef_domain *domain);

#endif
