/*
 * What "Making AI Forget You" prints, Algorithms 1 to 7, line by line: to be measured beside efface,
 * and by enumeration. None of it is in the library, and none of it is exact but DC-k-means.
 *
 * Three things are as in efface, so that times compare: rows are points of a grid of 2^23 steps,
 * scaled once beforehand; rows find their nearest centroid, and are added up, by the same kernels.
 * Where the print leaves something open, it is said here what was taken:
 *
 *  - pi(c) in the correction of Algorithm 4 is the partition whose mean c is (Definition B.1).
 *  - a cluster without rows in a node of a tree starts again at a row that is drawn as k-means++
 *    draws one (B.1). In Algorithm 4 the correction multiplies that row by 0: none is drawn.
 *  - fewer rows than clusters: as many centroids as rows; no rows that are apart: any row is drawn.
 *  - |pi'| after a deletion: one less for the cluster that the row was taken out of.
 */
#ifndef AS_PRINTED_H
#define AS_PRINTED_H

#include "kernel/kernels.h"

#include <stdbool.h>

/* Where randomness comes from: picks one of n with a chance in proportion to its weight; `weights`
 * NULL: with the same chance for each. A test enumerates what can come. */
typedef struct printed_dice {
    size_t (*pick)(void *state, size_t n, const float *weights);
    void *state;
} printed_dice;

/* ---------------------------------------------------------------- rows */

/* Points of the grid in panels. A row that leaves makes room for the last one. */
typedef struct printed_rows {
    size_t n, room;
    uint32_t d;
    uint64_t *ids;
    float *panels;
    /* Where rows find their centroids the grid has its middle here, so that lattice points beside
     * the unit cube are on it: 0, or half of the grid if no coordinate is below 0. */
    int32_t middle;
    int64_t most_square; /* no row's |g - middle|^2 is larger */
    double square_sum;   /* of |g|^2 */
} printed_rows;

printed_rows *printed_rows_new(uint32_t d, int32_t middle);
void printed_rows_free(printed_rows *rows);
void printed_rows_add(printed_rows *rows, uint64_t id, const int32_t *point);
void printed_rows_remove(printed_rows *rows, size_t position);
double printed_coordinate(const printed_rows *rows, size_t position, uint32_t column);

/* Memory of n things, all zero; the program ends if there is none. */
void *printed_room(size_t n, size_t size);

/* ---------------------------------------------------------------- k-means */

/* pi(c): the nearest centroid of each row, and what follows from it. */
typedef struct printed_partition {
    uint32_t k;
    uint32_t *labels;
    int64_t *counts, *sums;
    size_t n_moved; /* rows that were elsewhere before */
} printed_partition;

/* Centroids are k * d coordinates; they may lie outside the grid. */
void printed_partition_init(printed_partition *pi, const printed_rows *rows, uint32_t k);
void printed_partition_free(printed_partition *pi);
void printed_divide(printed_partition *pi, const printed_rows *rows, const double *centroids);
double printed_loss(const printed_partition *pi, const printed_rows *rows, const double *centroids);

/* Algorithm 7. Writes min(k, n) centroids and, unless NULL, the ids of their rows. Returns how many. */
uint32_t printed_seed(const printed_rows *rows, uint32_t k, printed_dice dice, double *centroids,
                      uint64_t *ids);

/* k-means++(data, k, T) of Algorithms 2 and 6: seeds, then T iterations of Lloyd's. */
uint32_t printed_kmeans(const printed_rows *rows, uint32_t k, uint32_t iterations,
                        printed_dice dice, double *centroids);

/* ---------------------------------------------------------------- Q-k-means */

/* What the authors' program (github.com/tginart/deletion-efficient-kmeans) does where it departs
 * from the print. Its slips are not taken over: rows that are zeroed instead of removed, metadata
 * that are written two places off, the first seed that is not recorded. */
typedef enum printed_reading {
    PRINTED_TEXT = 0,
    /* The correction is divided by gamma n / k; the first iteration is always accepted, and the
     * last accepted lattice points are the model; metadata are the means before the correction and
     * the sizes of the partition whose means they are, of accepted iterations; a seed is an id. */
    PRINTED_PROGRAM = 1
} printed_reading;

typedef struct printed_quantized_params {
    uint32_t k, iterations, epsilon; /* epsilon in steps of the grid */
    double gamma;
    printed_reading reading;
} printed_quantized_params;

/* Metadata of one iteration: save(c, theta, c-hat, |pi|). */
typedef struct printed_iteration {
    double *c, *lattice; /* k * d */
    uint32_t *theta;     /* d, in steps of the grid */
    double *sizes;       /* k */
} printed_iteration;

typedef struct printed_quantized {
    printed_quantized_params params;
    uint32_t k, d; /* k: no more than rows */
    double *seeds; /* c_0 */
    uint64_t *seed_ids;
    printed_iteration *saved;
    uint32_t n_saved, n_accepted;
    double *model; /* what the last call returned */
} printed_quantized;

/* Algorithm 4, and Algorithm 5 for the row at a position; true if it had to retrain. */
printed_quantized *printed_quantized_train(const printed_rows *rows,
                                           const printed_quantized_params *params,
                                           printed_dice dice);
bool printed_quantized_delete(printed_quantized *q, printed_rows *rows, size_t position,
                              printed_dice dice);
void printed_quantized_free(printed_quantized *q);

/* ---------------------------------------------------------------- DC-k-means */

typedef struct printed_tree_params {
    uint32_t k, iterations, width, height;
} printed_tree_params;

typedef struct printed_node {
    printed_rows *dataset;
    double *centroids;
    uint32_t n_centroids;
} printed_node;

/* The children of node i are nodes width i + 1 to width i + width; the root is node 0. */
typedef struct printed_tree {
    printed_tree_params params;
    printed_node *nodes;
    size_t n_nodes, first_leaf;
    size_t *leaves; /* of each row, by its id */
} printed_tree;

/* Algorithm 2, and Algorithm 6 for a row, of which the ids are 0 to n - 1. The model is the root's
 * centroids. */
printed_tree *printed_tree_train(const printed_rows *rows, const printed_tree_params *params,
                                 printed_dice dice);
void printed_tree_delete(printed_tree *tree, uint64_t id, printed_dice dice);
void printed_tree_free(printed_tree *tree);

#endif
