/*
 * Summing up: the moments of many rows at once, as a fit needs them.
 *
 * Products of coordinates are at most 2^46, so that 128 of them add up exactly in a double, in any
 * order. Blocks of that many rows go through a kernel; blocks add up in 64-bit integers, of which
 * some thousand fit, and these in 128-bit ones. Rows that differ in weight are summed once for each
 * bit of the weights, over the rows that have it.
 */
#ifndef EF_SUMMING_H
#define EF_SUMMING_H

#include "base/errors/interrupt.h"
#include "data/set/shards.h"
#include "kernel/kernels.h"
#include "model/exact/moments.h"

/* How the values of rows become coordinates: up to sixteen rows of a panel of values, 64-byte
 * aligned, to a panel of n coordinates, which are whole numbers. Places of rows that are not there
 * may become anything. Called by several threads at once. */
typedef struct ef_points {
    uint32_t n;
    const void *context;
    void (*make)(const void *context, const float *values, unsigned n_rows, float *points);
} ef_points;

#define EF_NO_GROUP UINT32_MAX

/* What is summed up. */
typedef struct ef_summing {
    const efface_data *data;
    ef_points points;
    ef_moments *groups; /* n_groups, of one kind, of no rows yet */
    uint32_t n_groups;
    const uint32_t *group_of; /* of the row at each position, or EF_NO_GROUP; NULL: all are of the
                                 first */
    unsigned n_threads;
    ef_interrupt interrupt;
} ef_summing;

/* Adds the rows of the set, of all ranks if it is a part, to their groups. If it fails, the groups
 * may have some of them. Cost O(n d), or O(n d^2) for products of all pairs. Errors: MEMORY;
 * KERNELS; INTERRUPTED. */
efface_status ef_sum_up(const ef_summing *summing, efface_error *error);

/* How much work that is, for ef_progress. */
double ef_summing_work(const ef_summing *summing);

#endif
