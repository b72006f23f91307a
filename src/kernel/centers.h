/*
 * Centroids made ready for the nearest-centroid search, and the error bound of its filter.
 *
 * The search compares scores |C|^2 - 2 g.C, which differ from squared distances by |g|^2 only. A
 * vector kernel computes them in float32 from exact inputs (grid integers and -2 C are exact
 * floats), in this order: products are added up over blocks of EF_BLOCK coordinates, fused or not;
 * the blocks' sums are added to the total, which starts from |C|^2 rounded to float32.
 *
 * The bound. Let u = 2^-24. A product g_j (-2 C_j) passes through at most one rounding of its own,
 * one for each addition in its block and one for each later block; |C|^2 through one of its own
 * and one for each block. With b blocks, the longest of l coordinates (EF_BLOCK, or d if that is
 * less), no term passes through more than m = l + b + 2 roundings, so
 *
 *     |score - exact| <= ((1 + u)^m - 1) (|C|^2 + 2 sum |g_j C_j|)
 *                     <= 1.01 m u (|C|^2 + 2 |g| |C|)                 for m u < 0.01
 *
 * by Cauchy and Schwarz; d < 2^15 makes m u < 4e-5. With the largest |C| of all centroids this is
 * one number E for a row. The nearest centroid is among those whose score is at most the smallest
 * score plus 2 E; if that is one only, the filter has decided. If not, integers decide among them.
 *
 * The kernel computes |g|, E and the limit in float32 too. E gets a relative error below
 * (d + 8) u < 0.003, the limit an absolute one below u (|C|^2 + 2 |g| |C|) < E / m; see below for
 * the factor that covers both. Nothing overflows (scores are below 2^63 in magnitude) and
 * nothing underflows (inputs are integers).
 */
#ifndef EF_CENTERS_H
#define EF_CENTERS_H

#include "base/grid.h"

#include <stdbool.h>
#include <stdint.h>

#define EF_BLOCK 64

typedef struct ef_centers {
    uint32_t n_clusters;
    uint32_t n_columns;
    const int32_t *grid; /* n_clusters * n_columns, cluster by cluster; borrowed */
    /* Clusters are cut into tiles of nearly equal size, none above `tile`. A tile of m clusters
     * that begins with cluster c holds -2 C at tiles[n_columns c + m j + (cluster - c)]. */
    float *tiles;
    float *bias; /* |C|^2 of each cluster */
    uint32_t tile;
    float error_norm; /* E = error_norm |g| + error_bias */
    float error_bias;
} ef_centers;

/* Makes `centers` ready for a table with tiles of at most `tile` clusters. False if memory is
 * short. Cost O(k d). */
bool ef_centers_init(ef_centers *centers, const int32_t *grid, uint32_t n_clusters,
                     uint32_t n_columns, uint32_t tile);
void ef_centers_free(ef_centers *centers);

/* How many clusters the tile that begins with cluster `first` has. */
static inline uint32_t ef_centers_tile(const ef_centers *centers, uint32_t first) {
    const uint32_t n_tiles = (centers->n_clusters + centers->tile - 1) / centers->tile;
    /* The first `larger` tiles have one cluster more than the rest. */
    const uint32_t small = centers->n_clusters / n_tiles;
    const uint32_t larger = centers->n_clusters % n_tiles;
    return first < larger * (small + 1) ? small + 1 : small;
}

/* The squared distance, by integers, of row `row` of a panel of sixteen to a centroid. */
int64_t ef_centers_sqdist(const ef_centers *centers, uint32_t cluster, const float *panel,
                          unsigned row);

#endif
