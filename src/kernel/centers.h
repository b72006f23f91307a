/*
 * Centroids made ready for the nearest-centroid search, and the error bound of its filter.
 *
 * Rows and centroids are taken relative to m, the mean of the centroids on the grid: y = g - m and
 * V = C - m, which makes them small where the data are. The search compares scores |V|^2 - 2 y.V,
 * which differ from squared distances by |y|^2 only. A vector kernel computes them in float32 from
 * exact inputs (y and -2 V are integers of at most 2^25 in magnitude, the latter even, hence exact
 * floats), in this order: a sum starts from |V|^2, rounded to float32, and takes the products of
 * the first block of EF_BLOCK coordinates, fused or not; the products of every further block are
 * added up by themselves, and the block's sum is added to the first.
 *
 * The bound. Let u = 2^-24, b the number of blocks and l the length of the longest (EF_BLOCK, or d
 * if that is less). A product y_j (-2 V_j) passes through at most l + 1 roundings in the first
 * block (its own, unless fused, and one for each addition) and l in another, whose sum starts from
 * 0; then through one for each block that is added: at most l + b in all. |V|^2 passes through its
 * own, l in the first block, and b - 1. So
 *
 *     |score - exact| <= ((1 + u)^(l + b) - 1) (|V|^2 + 2 sum |y_j V_j|)
 *                     <= 1.01 (l + b) u (|V|^2 + 2 |y| |V|)          for (l + b) u < 0.01
 *
 * by Cauchy and Schwarz; d < 2^15 makes (l + b) u < 4e-5. With the largest |V| of all centroids
 * this is one number for a row. The nearest centroid is among those whose score is at most the
 * smallest score plus twice that number; if that is one only, the filter has decided. If not,
 * integers decide among them.
 *
 * The kernel uses E = 1.05 (l + b + 2) u (|V|^2 + 2 |y| |V|) and the limit "smallest + 2 E", both
 * computed in float32. E has a relative error below (d + 8) u < 0.003, which 1.05 instead of 1.01
 * covers; rounding the limit costs at most u (|V|^2 + 2 |y| |V|), which the 2 in l + b + 2 covers
 * four times over. Nothing overflows (|V|^2 is below 2^63, scores are below 2^65 in magnitude) and
 * nothing underflows (inputs are integers).
 *
 * Folding. Where rows are compared with few centroids, to snap them costs as much as their scores.
 * With the map folded into the centroids the filter reads values as they are. Let (x - low) step be
 * written p - q with p = x step and q = low step, in each column. Then
 *
 *     |g - C|^2 - |g - m|^2 = |C|^2 - |m|^2 - 2 g.V
 *                           ~ a + sum x_j w_j,    a = |C|^2 - |m|^2 + 2 q.V,   w_j = -2 V_j step_j
 *
 * orders the centroids as their distances do, whatever point of the grid m is. a and w are computed
 * in double, where V_j step_j and low_j step_j are exact, and rounded to float32; the scores are
 * added up as above. They are off by no more than
 *
 *  1. the grid: g = rint(z), z = (p - q)(1 + e)(1 + e') with |e|, |e'| <= u, and |g| <= 2^23. So
 *     |z| <= 2^23 + 1/2, |z - (p - q)| < 1.000001, |g - (p - q)| < 1.500001: together less than
 *     3.00001 sum |V_j|;
 *  2. the roundings, of which w_j brings one more: 1.01 (l + b + 1) u (|a| + 2 |p| |V|), where
 *     |p| <= |g| + 1.51 sqrt(d) + |q|;
 *  3. those of a in double: (2 d + 2) 2^-53 (2^24 sum |V_j| + 2 |q| |V|), which is less than
 *     2^-12 sum |V_j| and a small part of u 2 |p| |V|;
 *  4. products x_j w_j that underflow, or whose x_j is subnormal and taken for 0: less than 2^-26
 *     each as |w_j| < 2^100, and nothing where V_j = 0; so less than 2^-26 sum |V_j|.
 *
 * With the largest |a|, |V| and sum |V_j| of all centroids and the largest |g| of all rows this is
 * one number for all rows: no norms either. The kernel uses
 *
 *     E = 1.05 (l + b + 3) u (|a| + 2 |p| |V|) + 3.02 sum |V_j|,
 *
 * computed in double, and the limit "smallest + 2 E" in float32, whose rounding is covered as
 * above. Nothing overflows: |x_j w_j| = 2 |p_j V_j| is below 2^75, as rows are within the domain
 * and its low and high, if they are not the same, differ by at least 2^-24 of their size. But a
 * large q, of columns far from 0 for their spread, makes E useless; such centroids are not folded.
 *
 * Margins need |g - m|, for D^2 is a score and its square. With v = q + m, rounded to float32, the
 * kernel adds up (x_j step_j - v_j)^2. Each term's root is off by 2 u |p_j| + 3 u |v_j| for its
 * roundings and by 1.500001 for the grid (above), the sum and its root by a factor of
 * 1 + (d + 4) u. So |g - m| is at most
 *
 *     (1 + 2 (d + 8) u) root + 1.6 sqrt(d) + 4 u (|p| + |v|).
 *
 * Rounding. Processors multiply short integers quicker than floats. Tables that make use of it
 * (panel_words.h) round rows and centroids to whole numbers a and b of 16 bits or less,
 *
 *     y = a / t + e,    V = b / T + f,
 *
 * with one t for each row and one T for all centroids, and compute |V|^2 - 2 a.b / (t T). Since
 * y.V = (a / t).(b / T) + (a / t).f + e.V, that differs from the score by at most
 *
 *     2 |a / t| |f| + 2 |e| |V|,    |a / t| <= |y| + |e|.
 *
 * The products have no error: t <= 46000 / |y| and T <= 46000 / |V|, where |y| was measured to
 * (d + 2) u / 2 < 0.001. So |a| and |b|, whose coordinates were rounded by 1/2 at most, are below
 * 46000 * 1.001 + sqrt(d) / 2 < 46138, and sum |a_j b_j| < 46138^2 < 2^31: no sum of products
 * overflows 32 bits, in whatever order, and whatever overflows on the way to a.b does no harm to
 * its lower 32 bits, which are all there is of it.
 *
 * What was rounded off is measured. Of a row: z_j = y_j t, which has a relative error of u, leaves
 * r_j = z_j - a_j, which is exact; so t |e_j| <= |r_j| + u t |y_j| and |e| <= |r| / t + u |y|. Of a
 * centroid: f in double. The operations that make a score of a.b (its conversion, 2 / (t T) with
 * three roundings, the multiplication, |V|^2 and its addition) cost less than
 * 6 u (|V|^2 + 2 |a / t| |b / T|). The kernel uses, with the largest |V| and |f| of all centroids,
 *
 *     E = 1.002 (2 |a / t| |f| + 2 |e| |V|) + 8 u (|V|^2 + 2 |a / t| (|V| + |f|)),
 *
 * in float32; 1.002 covers what |y| and |r| are off by, 8 instead of 6 the limit's rounding. That is
 * some 2^-12 |y| |V|.
 */
#ifndef EF_CENTERS_H
#define EF_CENTERS_H

#include "base/numbers/grid.h"

#include <stdbool.h>
#include <stdint.h>

#define EF_BLOCK 64
#define EF_MOST_TILE 16

typedef struct ef_centers {
    uint32_t n_clusters;
    uint32_t n_columns;
    const int32_t *grid; /* n_clusters * n_columns, cluster by cluster; borrowed */
    /* Clusters are cut into tiles of nearly equal size, none above `tile`. A tile of m clusters
     * that begins with cluster c holds -2 V at tiles[n_columns c + m j + (cluster - c)]. */
    float *tiles;
    float *bias;   /* |V|^2 of each cluster */
    float *origin; /* m; part of `bias` */
    uint32_t tile;
    uint32_t narrow, n_wider; /* clusters of a tile: one more for the first n_wider clusters */
    float error_norm;         /* E = error_norm |y| + error_bias */
    float error_bias;

    /* Folded; only centroids that are one tile can be. */
    bool folds;
    float *folded;        /* w, as `tiles` */
    float *folded_bias;   /* a, as `bias`; part of `folded` */
    float folded_slack;   /* 2 E */
    float *folded_origin; /* q + m; part of `folded` */
    float folded_norm; /* |g - m| is at most folded_norm_factor times what was measured, and this */
    float folded_norm_factor;

    /* Rounded; only many clusters and columns are. Tiles of EF_ROUNDED_ROWS clusters by EF_ROUNDED_BYTES,
     * those of a cluster one after another; with limbs, three for the same columns. What lies
     * beyond the last cluster or column is 0. */
    int8_t *rounded;    /* b, or NULL */
    float rounded_step; /* 2 / T */
    float rounded_part; /* E = rounded_part |a / t| + rounded_rest |e| + rounded_bias */
    float rounded_rest;
    float rounded_bias;
} ef_centers;

/* What coordinates are rounded to, if at all: a word of 16 bits, or three bytes, which are the two
 * limbs of l + 128 h and their sum. */
typedef enum ef_rounding_form { EF_NOT_ROUNDED, EF_WORDS = 1, EF_LIMBS = 3 } ef_rounding_form;

#define EF_MOST_WORD 32767
#define EF_MOST_LIMBS 8127      /* 63 + 128 * 63: sums of two limbs are bytes as well */
#define EF_MOST_ROUNDED 46000.0 /* of |y| t and |V| T */
#define EF_ROUNDED_ROWS 16
#define EF_ROUNDED_BYTES 64

/* Makes `centers` ready for a table with tiles of at most `tile` clusters. False if memory is
 * short. Cost O(k d). */
bool ef_centers_init(ef_centers *centers, const int32_t *grid, uint32_t n_clusters,
                     uint32_t n_columns, uint32_t tile);

/* Folds the map into the centroids if they are one tile and it is of use: the kernels' `assign` is
 * quicker then. No row that comes has a |g|^2 above `most_square`. False if out of memory. Cost
 * O(k d). */
bool ef_centers_fold(ef_centers *centers, const ef_map *map, int64_t most_square);

/* The same with zero in the place of m: scores are then |C|^2 - 2 g.C, of which the kernels'
 * `reach` makes use. */
bool ef_centers_fold_to_zero(ef_centers *centers, const ef_map *map, int64_t most_square);

/* Rounds the centroids for a table that asks for it, if it is of use: `assign` is quicker
 * then. False if out of memory. Cost O(k d). */
bool ef_centers_round(ef_centers *centers, ef_rounding_form form);

void ef_centers_free(ef_centers *centers);

/* How many columns a tile holds, and how many tiles hold all columns of a cluster once. */
static inline size_t ef_rounded_columns(ef_rounding_form form) {
    return form == EF_WORDS ? EF_ROUNDED_BYTES / 2 : EF_ROUNDED_BYTES;
}
static inline size_t ef_rounded_tiles(size_t n_columns, ef_rounding_form form) {
    return (n_columns + ef_rounded_columns(form) - 1) / ef_rounded_columns(form);
}

/* How many clusters the tile that begins with cluster `first` has. */
static inline uint32_t ef_centers_tile(const ef_centers *centers, uint32_t first) {
    return centers->narrow + (first < centers->n_wider);
}

/* Up to sixteen rows and the centroids around them. D1, D2 and D3 are a row's distances to the
 * nearest centroid, to a second, and to the nearest of all others. `gap` is D2^2 - D1^2, `margin`
 * and `beyond` are D2 - D1 and D3 - D1, in grid steps: each of them or less, for they are rounded
 * downwards. Where there is no second or third centroid, what would be said of it is large. D1^2 is
 * at least `least`, which may be negative, and at most `most`. All but `nearest` differs between
 * tables of kernels. */
typedef struct ef_survey {
    uint32_t nearest[EF_PANEL], second[EF_PANEL];
    float gap[EF_PANEL], margin[EF_PANEL], beyond[EF_PANEL], least[EF_PANEL], most[EF_PANEL];
} ef_survey;

/* Makes entry `row` of a survey by integers. */
void ef_centers_survey(const ef_centers *centers, const float *panel, unsigned row,
                       ef_survey *found);

/* The squared distance, by integers, of row `row` of a panel of sixteen to a centroid. */
int64_t ef_centers_sqdist(const ef_centers *centers, uint32_t cluster, const float *panel,
                          unsigned row);

/* The two largest moves together of any of k centroids, rounded upwards. */
double ef_farthest(const int32_t *from, const int32_t *to, uint32_t k, uint32_t d);

/* D2 - D1, given D1^2 and D2^2, rounded downwards by more than the operations can be off. */
float ef_margin(int64_t least, int64_t second);

#endif
