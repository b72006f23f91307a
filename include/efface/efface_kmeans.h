/* The family of k-means, and where the loss of a set comes from. Part of efface.h. */
#ifndef EFFACE_KMEANS_H
#define EFFACE_KMEANS_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ k-means */

typedef enum efface_method {
    EFFACE_METHOD_LLOYD = 0,     /* k-means++ seeds, then Lloyd's iterations */
    EFFACE_METHOD_QUANTIZED = 1, /* centroids rounded to a random lattice: stable under change */
    EFFACE_METHOD_PYRAMID = 2,   /* iterations on a small sample, then a pass over all rows */
    EFFACE_METHOD_TREE = 3       /* clusters parts of the rows, then their centroids */
} efface_method;

typedef enum efface_scale {
    EFFACE_SCALE_NONE = 0,
    EFFACE_SCALE_MINMAX = 1 /* each column from its smallest and largest value to [0, 1] */
} efface_scale;

typedef enum efface_empty {
    EFFACE_EMPTY_RESEED = 0, /* a cluster without rows starts again at a row far from the others */
    EFFACE_EMPTY_KEEP = 1    /* ... stays where it is */
} efface_empty;

/* Whether a change is followed with the same randomness, or with fresh randomness, as the paper
 * does. FRESH exists to reproduce the paper, for the methods `quantized` and `tree`. It is outside
 * the law: the state depends on history, and efface_model_verify checks against the randomness
 * that the model has now.
 *
 *   quantized  starts over with fresh randomness when a change reaches a level. This is NOT EXACT:
 *              it keeps models in a way that depends on the rows that left (docs/why/exactness.md).
 *   tree       a change fits the leaves of its rows again, and all nodes above them up to the root,
 *              each from scratch with fresh randomness; nothing stops it on the way. Other nodes
 *              stay as they are. For requests that do not depend on the model the result has the
 *              distribution of a fresh fit, so that it is exact in the paper's sense. Nodes do not
 *              redraw on their own account, of whatever method they are. Not for height 0. */
typedef enum efface_redraw {
    EFFACE_REDRAW_SAME = 0,
    EFFACE_REDRAW_FRESH = 1 /* outside the law */
} efface_redraw;

#define EFFACE_MAX_CLUSTERS (1u << 24)
#define EFFACE_MAX_ITERATIONS 1000u

/* What only one method looks at; a tree looks at that of its nodes and leaves too. */
typedef struct efface_lloyd_params {
    int keep_margins; /* if not 0 (the default), a model whose centroids were moved by a change
                         keeps 3 bytes for each row and level, and for up to 1/32 of the rows a byte
                         a column more, so that later changes look at few rows only; no result
                         depends on it */
} efface_lloyd_params;

typedef struct efface_quantized_params {
    double gamma; /* clusters below gamma * n / k are held back; default 0.2 */
} efface_quantized_params;

typedef struct efface_pyramid_params {
    double rate;     /* the sample has at least this part of the rows, and up to four times as many;
                        0: derived from n and k: at least a 32nd of the rows, but this minimum is 48
                        to 75 rows a cluster. With fewer than 768 rows a cluster no sample pays, and
                        the model is lloyd's (efface_kmeans_info: `actual`) */
    uint32_t passes; /* over all rows, 1 to 10; default 1 */
    uint32_t starts; /* seedings tried on the sample, 1 to 100; default 4. The one with the smallest
                        loss on a larger sample, the jury, is taken */
} efface_pyramid_params;

typedef struct efface_tree_params {
    uint32_t height; /* levels of nodes above the leaves, 0 to 8; default 1. With 0 it is the method
                        of its leaves */
    uint32_t width;  /* children of a node; 0: derived from n, about n^0.3. width^height is at most
                        2^20 */
    efface_method leaf_method;      /* what leaves do with their rows; default lloyd */
    efface_method node_method;      /* what other nodes do with centroids; default lloyd */
    const uint32_t *depth_clusters; /* clusters of the nodes at depth 1, ..., height, the root being
                                       depth 0; NULL: n_clusters everywhere */
    int weigh_centroids; /* if not 0 (the default), centroids count with the weight of their rows; 0
                            is the paper's tree, much worse where clusters differ in size */
} efface_tree_params;

/* Parameters of a fit. Fill with efface_kmeans_params_init, then change what differs. */
typedef struct efface_kmeans_params {
    efface_params common;
    efface_method method;
    uint32_t n_clusters; /* default 8; with fewer rows the model has one centroid a row */
    uint32_t iterations; /* default 10; 0: until nothing changes, at most EFFACE_MAX_ITERATIONS;
                            pyramid: on the sample */
    efface_scale scale;
    double bound;            /* scale none: the largest |value| allowed; 0: derived from the data */
    const float *column_min; /* scale minmax: n_columns bounds that no value may be outside of; */
    const float *column_max; /* NULL: derived from the data */
    efface_empty empty;
    uint32_t candidates; /* rows that are tried for each seed, 1 to 64: the best of them becomes the
                            seed. Default 0: 2 + log k, as other libraries do; 1: plain k-means++.
                            With more than one the state has k * candidates rows more, and a fit
                            takes 20 + 8 * candidates bytes a row more while it seeds */
    double epsilon;      /* quantized: lattice width as a part of the domain; 0: derived from n.
                            pyramid: the same for the centroids that leave the sample; 0: no lattice */
    efface_redraw redraw; /* quantized, tree: default SAME; FRESH is outside the law */
    efface_lloyd_params lloyd;
    efface_quantized_params quantized;
    efface_pyramid_params pyramid;
    efface_tree_params tree;
} efface_kmeans_params;

/* Fills the parameters with their defaults: pyramid, 8 clusters, 10 iterations, seed 0, no scaling.
 */
EFFACE_API void efface_kmeans_params_init(efface_kmeans_params *params);

/* Fits a model to the rows of a set. Cost O(n * k * d * iterations); memory beyond the data 4
 * bytes a row while it runs, O(k * d * iterations) after; a pyramid takes 8 bytes a row while it
 * runs and keeps 2 (5 with more than 256 clusters), a tree keeps copies of the rows in its leaves.
 * An empty set gives a model without centroids. The model holds no reference to the set afterwards.
 * Errors: MEMORY; ARGUMENT for parameters out of range; LIMIT for a value outside a bound that was
 * given; KERNELS. */
EFFACE_API efface_status efface_kmeans_fit(const efface_data *data,
                                           const efface_kmeans_params *params, efface_model **out,
                                           efface_error *error);

/* The parameters of a model, without the seed (0). Pointers in them are valid until the model
 * changes or is released. */
EFFACE_API efface_kmeans_params efface_kmeans_get_params(const efface_model *model);

/* A description of a fitted model. The fields after `n_coarse_columns` describe the work of the
 * fit; they are no part of the state. */
typedef struct efface_kmeans_info {
    efface_method method;
    efface_method actual; /* the same; or lloyd, for a pyramid that has too few rows for each
                             cluster to make a sample pay */
    uint64_t n_sampled;   /* pyramid: rows of the sample; else 0 */
    uint32_t n_clusters;  /* number of centroids: the smaller of the parameter and n_rows */
    uint32_t n_columns;
    uint64_t n_rows;
    uint32_t iterations;       /* levels from the seeds to the model */
    int stable;                /* the fit ended because the next centers were the same */
    double epsilon;            /* lattice width in use as a part of the domain; 0 for lloyd */
    uint32_t width;            /* tree: children of a node; else 0 */
    uint32_t n_coarse_columns; /* columns whose spread is below 256 grid steps, yet not 0 */
    uint64_t rows_assigned;    /* exact nearest-centroid searches */
    uint64_t rows_undecided;   /* how many of these the float filter left to integers */
    uint64_t rows_moved;       /* rows that changed their cluster from one level to the next */
} efface_kmeans_info;

/* Never fails. */
EFFACE_API efface_kmeans_info efface_kmeans_get_info(const efface_model *model);

/* The columns that are coarse (see efface_kmeans_info): their values differ so little compared to
 * the bound that the grid keeps less than 8 bits of them. Scale the data or give a bound. Writes
 * at most `capacity` column numbers. */
EFFACE_API void efface_kmeans_coarse_columns(const efface_model *model, uint32_t *columns,
                                             size_t capacity);

/* Writes the n_columns coordinates of centroid `cluster` in the units of the data as the set holds
 * them; efface_data_add_offsets converts them to the units of the caller. */
EFFACE_API efface_status efface_kmeans_centroid(const efface_model *model, uint32_t cluster,
                                                double *coordinates, efface_error *error);

/* What efface_predictor_predict gives for a row is its nearest cluster; ties go to the lower
 * cluster. A row need not be within the bounds of the fit: the answer is exact for a row that is,
 * and computed in double for one that is not. Cost O(n_rows * k * d).
 *
 * Writes the same for the rows of a set, in the order of positions. Errors: as
 * efface_predictor_predict; ARGUMENT if the number of columns differs, or for another family. */
EFFACE_API efface_status efface_kmeans_labels(const efface_model *model, const efface_data *data,
                                              uint32_t *labels, efface_error *error);

/* The sum over the rows of a set of weight times squared distance to the nearest centroid, in the
 * units of the data, or of the unit cube with scale minmax. Exact before it is rounded to double,
 * but for rows outside the bounds of the fit, which are computed in double.
 * Errors: as predict. */
EFFACE_API efface_status efface_kmeans_loss(const efface_model *model, const efface_data *data,
                                            double *loss, efface_error *error);

/* Whether a change of a row with this id would reach the beginning of a fit. is_seed: the row won a
 * round of the seeding, or was a candidate in one. in_sample: the row is in pyramid's sample; for
 * methods without a sample, every row is. `data` is the set that the model belongs to; a row that
 * is not in the set is in no sample. Rows for which both are false are the cheapest to forget. (A
 * row of the jury, a larger sample, rarely matters.) Cost O(k), and O(k d) for the sample. */
EFFACE_API int efface_kmeans_is_seed(const efface_model *model, uint64_t id);
EFFACE_API int efface_kmeans_in_sample(const efface_model *model, const efface_data *data,
                                       uint64_t id);

/* ------------------------------------------------------------------ k-means: tails */

/* Where the loss of a set comes from. The loss here is the sum of weighted squared distances of the
 * rows from their mean. If a few rows have nearly all of it (heavy tails), or one column (other
 * units), these rows or that column alone decide the clusters. */
typedef struct efface_tails {
    double loss;         /* around the mean, in the units of efface_kmeans_loss */
    uint64_t n_rows;     /* the smallest number of rows that carry nine tenths of it, but at most
                            one in a thousand (one, if there are fewer rows) */
    double rows_share;   /* the part of the loss that these rows carry */
    uint32_t column;     /* the column that carries most, from 0 */
    double column_share; /* and its part */
    int rows_carry;      /* rows_share is above 0.9, and there are at least 100 rows */
    int column_carries;  /* column_share is above 0.999, and another column varies too */
} efface_tails;

/* Looks for tails in the rows of a set, in a scale whose bounds are derived from the rows. Missing
 * values have no loss. Computed in double, and no part of any state. Of a set that has joined a
 * group it looks at the rows of this rank. Cost O(n_rows * n_columns). Errors: MEMORY; ARGUMENT. */
EFFACE_API efface_status efface_data_tails(const efface_data *data, efface_scale scale,
                                           efface_tails *tails, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
