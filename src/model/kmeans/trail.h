/*
 * The trail of a start: the first levels of its run on the sample as they were, with the partition
 * of the sample's rows, counts and sums. When a row of the sample has left, and the seeds stand,
 * the run follows its trail: level 0 has the partition it had, and in the next ones centers have
 * moved a little, so that few rows have to be looked at (guard.h).
 *
 * A trail has as many levels as fit beside the other things that pyramid keeps; it is dropped when
 * a row of the sample comes, and may always be missing.
 */
#ifndef EF_TRAIL_H
#define EF_TRAIL_H

#include "model/kmeans/change.h"
#include "model/kmeans/guard.h"

typedef struct ef_step {
    ef_guard guard;  /* of level 0 the labels only */
    int64_t *counts; /* n_clusters */
    int64_t *sums;   /* n_clusters * n_columns; NULL: there is no such step yet */
} ef_step;

typedef struct ef_trail {
    ef_step *steps;   /* room for `most` */
    uint32_t n_steps; /* the first of the run */
    uint32_t most;
} ef_trail;

bool ef_trail_init(ef_trail *trail, uint32_t most);
void ef_trail_free(ef_trail *trail);

/* Releases steps that the run did not come to: their sums would not follow the rows. */
void ef_trail_cut(ef_trail *trail);

size_t ef_trail_bytes(const ef_trail *trail, size_t n_rows, size_t n_clusters, size_t n_columns);

/* How many steps a trail may have that all starts together take at most n_bytes. */
uint32_t ef_trail_steps(double n_bytes, size_t n_sample, uint32_t n_starts, uint32_t n_clusters,
                        uint32_t n_columns);

/* Row number `row` of the sample leaves, which is row number i of a change; the last, number
 * `last`, gets its number. */
void ef_trail_leave(ef_trail *trail, const ef_change *change, size_t i, const ef_map *map,
                    const ef_kernels *kernels, size_t row, size_t last);

/* A run that follows and makes a trail; the maker of its levels refers to it. */
typedef struct ef_trailing {
    ef_trail *trail;
    uint32_t n_known;   /* steps that are those of the run before, after the change */
    uint32_t labels_of; /* the level whose partition is in the maker's labels, or EF_NO_LEVEL */
    ef_guarded moving;  /* the sample's rows in the set */
    const size_t *positions;
    efface_data *copy; /* of them, made when a pass needs it */
} ef_trailing;

#define EF_NO_LEVEL UINT32_MAX

#endif
