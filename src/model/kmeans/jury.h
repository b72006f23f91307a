/*
 * The jury of pyramid, kept from one request to the next: who is in it, and for each start the
 * partition of its rows, with sums. A start whose centers moved a little is then judged by looking
 * at the rows that may have changed their cluster (guard.h), not by a pass over copies of all.
 *
 * It follows from the rows and from the starts' centers, is no part of the state, and may be
 * missing: it is kept only if it takes little memory beside the rows.
 */
#ifndef EF_JURY_H
#define EF_JURY_H

#include "base/wide.h"
#include "model/kmeans/change.h"
#include "model/kmeans/guard.h"
#include "model/kmeans/sample.h"

typedef struct ef_jury {
    uint32_t *positions; /* of its rows in the set, those of the sample first */
    size_t n_rows, n_sample, capacity;
    ef_i128 square_sum;        /* of weight * |g|^2, */
    ef_i128 sample_square_sum; /* and over the sample */
    uint32_t n_starts;         /* 0: nothing is kept */
    uint32_t n_clusters;
    ef_guard *guards; /* one for each start; rows have the numbers of their positions */
    int64_t *counts;  /* n_starts * n_clusters */
    int64_t *sums;    /* n_starts * n_clusters * n_columns */
} ef_jury;

/* Whether the jury of so many rows in a set is worth its memory. */
bool ef_jury_is_small(size_t n_jury, size_t n_rows, uint32_t n_starts, uint32_t n_clusters,
                      uint32_t n_columns);

/* Room for a jury whose rows are these, with all sums 0. False if memory is short. */
bool ef_jury_init(ef_jury *jury, const size_t *positions, size_t n_rows, size_t n_sample,
                  uint32_t n_starts, uint32_t n_clusters, uint32_t n_columns);
/* A jury of its own. */
bool ef_jury_copy(ef_jury *jury, const ef_jury *from, uint32_t n_columns);
void ef_jury_free(ef_jury *jury);
size_t ef_jury_bytes(const ef_jury *jury, size_t n_columns);

/* Lets the jury follow a row of a change that is in it, in the order of the change. One that comes
 * is loose; false if there is no memory for it, or its position is too large, and then the jury is
 * of no use any more. */
void ef_jury_leave(ef_jury *jury, const ef_change *change, size_t i, const ef_map *map,
                   const ef_kernels *kernels);
bool ef_jury_come(ef_jury *jury, const ef_change *change, size_t i, const ef_map *map,
                  const ef_kernels *kernels, bool in_sample);

/* Row number i of a change is in no guard's anchor any more (guard.h). */
void ef_jury_forget(ef_jury *jury, const ef_change *change, size_t i, const ef_map *map);

/* One of its rows is at another position now. */
void ef_jury_rename(ef_jury *jury, size_t from, size_t to);

#endif
