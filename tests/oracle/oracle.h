/*
 * The oracle: docs/definition/numerics.md written down as plainly as C allows, to compare the
 * library with.
 *
 * It shares no code with src/. It has no threads, no vectors, no filters and no incremental sums:
 * every level is made from scratch by loops over rows, clusters and columns, so it costs
 * O(n k^2 d) for the seeds and O(n k d) for a level. Its inputs must be valid (values within given
 * bounds, parameters in range): what the library rejects is not its subject. Out of memory, it
 * ends the program.
 */
#ifndef EF_TESTS_ORACLE_H
#define EF_TESTS_ORACLE_H

#include "efface/efface.h"

#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 oracle_i128;

/* A set of rows. Without ids they are 0, 1, 2, ..., without weights they are 1. */
typedef struct oracle_rows {
    size_t n;
    uint32_t d;
    const float *values; /* n * d */
    const uint64_t *ids;
    const int64_t *weights;
} oracle_rows;

/* The winner of a race. */
typedef struct oracle_win {
    uint32_t cluster;
    size_t row; /* its position among the rows that raced */
    uint64_t id;
    double key;
} oracle_win;

/* A slot of a round of greedy seeding. */
typedef struct oracle_slot {
    oracle_win win; /* its cluster is the round */
    int32_t *point; /* d */
    oracle_i128 potential;
} oracle_slot;

typedef struct oracle_level {
    int32_t *centroids; /* k' * d */
    int has_partition;  /* if not, the rest is empty */
    uint32_t *labels;   /* n */
    int64_t *counts;    /* k' */
    int64_t *sums;      /* k' * d */
    oracle_i128 loss;
    uint32_t n_reseeded;
    oracle_win *reseeded;
} oracle_level;

typedef struct oracle_model oracle_model;

/* The nodes of a tree: nodes[l][i] is node (l, i), NULL if it is not there. */
typedef struct oracle_tree {
    uint32_t height, width;
    uint32_t n_asked[9];     /* clusters asked for at each depth */
    size_t n_nodes[9];       /* width^l */
    oracle_model **nodes[9]; /* models of the other methods */
} oracle_tree;

/* A tree of height 0 is a model of its leaves' method. Of another tree this has the grid, n, the
 * weight and the number of clusters; all else is in its nodes. */
struct oracle_model {
    efface_kmeans_params params; /* its pointers are not used after the fit */
    size_t n;
    uint32_t d;
    uint32_t limit;      /* T */
    uint32_t n_clusters; /* k' */
    int32_t exponent;    /* e */
    uint32_t eps;
    uint32_t q;
    int64_t total_weight;
    oracle_i128 sum_of_squares;
    uint64_t wanted;        /* m: rows that the sample of pyramid should have; 0 for lloyd */
    uint32_t *pilot_labels; /* n: the nearest seed of the pilot */
    int32_t *pilot_points;  /* k' * d */
    int64_t *pilot_counts;  /* k' */
    oracle_i128 spread;     /* U */
    uint32_t shift;         /* mu */
    size_t n_in_sample;
    size_t n_within;         /* rows with a need below mu */
    oracle_i128 jury_weight; /* before it is cut down */
    uint32_t n_starts;       /* of pyramid; 0 without rows */
    oracle_model **starts;
    oracle_i128 *losses; /* of the starts, over the jury */
    uint32_t chosen;
    float *low, *high, *step; /* d each */
    int has_spreads;          /* the scale is standard, and the grid was not given: */
    int32_t *exponents;       /* of columns: e_j */
    int64_t *sums;            /* S_j */
    oracle_i128 *squares;     /* Q_j */
    oracle_win *seeds;        /* k'; of pyramid those of the pilot */
    uint32_t n_slots;         /* c of greedy seeding; 1 for plain */
    uint32_t n_rounds;        /* of them with slots, from round 1 on; 0 for plain */
    oracle_slot *slots;       /* n_rounds * n_slots */
    uint32_t n_levels;
    uint32_t model_level;
    oracle_level *levels;
    oracle_tree *tree; /* NULL for the other methods */
};

oracle_model *oracle_fit(const oracle_rows *rows, const efface_kmeans_params *params);
void oracle_free(oracle_model *model);

/* The bytes of docs/definition/format.md, to be released with free(). */
unsigned char *oracle_encode(const oracle_model *model, size_t *n_bytes);

/* The centroids that are the model. There must be one. */
const int32_t *oracle_centroids(const oracle_model *model);

/* The nearest centroid of the model for each of n rows of d values. There must be one. */
void oracle_predict(const oracle_model *model, size_t n, const float *values, uint32_t *labels);

/* The same with the centroids that made the last partition; of a tree, that of its root. */
void oracle_divide(const oracle_model *model, size_t n, const float *values, uint32_t *labels);

/* Sum of weight times squared distance to the nearest centroid of the model, in grid steps; and the
 * same in the units of the data (of the unit cube for minmax). */
oracle_i128 oracle_loss(const oracle_model *model, const oracle_rows *rows);
double oracle_loss_in_units(const oracle_model *model, const oracle_rows *rows);

/* Philox4x32-10, for its known answers; the logarithm and E(r) of section 3, for known values. */
void oracle_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
double oracle_log(double x);
double oracle_exponential(uint64_t r);

#endif
