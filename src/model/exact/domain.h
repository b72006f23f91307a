/* The domain of a fit: how values become grid points. A pure function of the rows that are there
 * and of the parameters (docs/definition/numerics.md, section 2). */
#ifndef EF_DOMAIN_H
#define EF_DOMAIN_H

#include "data/set/shards.h"

typedef struct ef_domain {
    efface_scale scale;
    int exponent; /* of the bound, for scale none; else 0 */
    float *low;   /* n_columns each; low and high are the range of a column for scale minmax */
    float *high;
    float *step;
    void *block;      /* these arrays */
    uint32_t *coarse; /* numbers of the columns that are too coarse */
    uint32_t n_coarse;
    ef_map map; /* refers to low and step */
} ef_domain;

/* What parameters say of the domain. */
typedef struct ef_bounds {
    efface_scale scale;
    double bound;            /* for scale none: of all values; 0 for one that the rows need */
    const float *column_min; /* for scale minmax: of each column, or NULL: those of the rows */
    const float *column_max;
    const bool *ignored; /* columns that are as if all their values were 0; NULL: none */
} ef_bounds;

/* Derives the domain from what is counted of the rows, no range being stale, or checks that they
 * keep to the bounds given; the same for the rows of a set, whatever is stale. */
efface_status ef_domain_init(ef_domain *domain, const ef_counts *counts, ef_bounds bounds,
                             efface_error *error);
efface_status ef_domain_of(ef_domain *domain, const efface_data *data, ef_bounds bounds,
                           efface_error *error);
void ef_domain_free(ef_domain *domain);

/* A domain as it was, from its scale, exponent, and the ranges of its columns (for scale none they
 * are not looked at) and, or NULL, which columns are ignored; columns that are coarse are not
 * noted. False if out of memory. */
bool ef_domain_restore(ef_domain *domain, uint32_t n_columns, efface_scale scale, int exponent,
                       const float *low, const float *high, const bool *ignored);

/* Whether all values of a row are within the bounds, so that the row has a grid point. */
bool ef_domain_holds(const ef_domain *domain, const float *row);

/* A point of the grid in the units of the data. */
void ef_domain_coordinates(const ef_domain *domain, const int32_t *point, double *coordinates);

/* The factor from squared grid distances to squared distances in the units of the loss. */
double ef_domain_square_unit(const ef_domain *domain);

#endif
