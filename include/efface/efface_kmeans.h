/*
 * The family of k-means, and where the loss of a set comes from. Part of efface.h.
 *
 * EXAMPLE
 *
 *     efface_data *people = NULL;
 *     efface_model *model = NULL;
 *     efface_load_options options;
 *     efface_kmeans_params params;
 *     efface_error error;
 *     efface_load_options_init(&options);
 *     options.id_column = "id";
 *     options.owner_column = "owner";
 *     options.label_column = "kind";
 *     efface_kmeans_params_init(&params);
 *     params.n_clusters = 3;
 *     params.scale = EFFACE_SCALE_MINMAX;
 *     double centroid[3];
 *     if (efface_data_load("examples/people.csv", &options, &people, &error) != EFFACE_OK ||
 *         efface_kmeans_fit(people, &params, &model, &error) != EFFACE_OK ||
 *         efface_kmeans_centroid(model, 0, centroid, &error) != EFFACE_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *         return 1;
 *     }
 *     printf("cluster 0: age %.1f, income %.0f, visits %.1f\n", centroid[0], centroid[1],
 *            centroid[2]);
 *     efface_model_free(model);
 *     efface_data_free(people);
 */
#ifndef EFFACE_KMEANS_H
#define EFFACE_KMEANS_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ k-means */

/* How clusters are found. docs/definition/numerics.md defines each method. */
typedef enum efface_method {
    EFFACE_METHOD_LLOYD = 0,     /* k-means++ seeds, then Lloyd's iterations */
    EFFACE_METHOD_QUANTIZED = 1, /* centroids are rounded to a random lattice, so that most changes
                                    leave them where they are */
    EFFACE_METHOD_PYRAMID = 2,   /* iterations on a small sample, then a pass over all rows */
    EFFACE_METHOD_TREE = 3       /* clusters parts of the rows, then the centroids of the parts */
} efface_method;

/* What becomes of a cluster without rows. */
typedef enum efface_empty {
    EFFACE_EMPTY_RESEED = 0, /* it starts again at a row far from the others */
    EFFACE_EMPTY_KEEP = 1    /* it stays where it is */
} efface_empty;

#define EFFACE_MAX_CLUSTERS (1u << 24)
#define EFFACE_MAX_ITERATIONS 1000u

/* Parameters of one method; a tree uses those of the methods of its nodes and leaves too. */
typedef struct efface_lloyd_params {
    int keep_margins; /* if not 0 (the default): from the first change that moves a centroid on, the
                         model keeps 3 bytes for each row and level, and for up to 1/32 of the rows
                         one byte more a column, so that later changes read few rows. No result
                         depends on it */
} efface_lloyd_params;

typedef struct efface_quantized_params {
    double gamma; /* clusters smaller than gamma * n / k are held back; default 0.2 */
} efface_quantized_params;

typedef struct efface_pyramid_params {
    double rate;     /* the sample has at least this part of the rows, and up to four times as many.
                        0: derived from n and k, at least a 32nd of the rows and at least 48 to 75
                        rows a cluster. With fewer than 768 rows a cluster no sample pays, and the
                        model is lloyd's (efface_kmeans_info: `actual`) */
    uint32_t passes; /* over all rows, 1 to 10; default 1 */
    uint32_t starts; /* seedings that are tried on the sample, 1 to 100; default 4. The one with the
                        smallest loss on a larger sample, the jury, is taken */
} efface_pyramid_params;

typedef struct efface_tree_params {
    uint32_t height; /* levels of nodes above the leaves, 0 to 8; default 1. With 0 it is the method
                        of its leaves */
    uint32_t width;  /* children of a node; 0: derived from n, about n^0.3. width^height is at most
                        2^20 */
    efface_method leaf_method;      /* for the rows of a leaf; default lloyd */
    efface_method node_method;      /* for the centroids in other nodes; default lloyd */
    const uint32_t *depth_clusters; /* clusters of the nodes at depth 1, ..., height (the root is
                                       depth 0); NULL: n_clusters everywhere */
    int weigh_centroids; /* if not 0 (the default), centroids count with the weight of their rows. 0
                            is the paper's tree, much worse where clusters differ in size */
} efface_tree_params;

/* Parameters of a fit. Fill them with efface_kmeans_params_init, then change what differs. */
typedef struct efface_kmeans_params {
    efface_params common;
    efface_method method;
    uint32_t n_clusters; /* default 8; with fewer rows the model has one centroid a row */
    uint32_t iterations; /* default 10; 0: until nothing changes, at most EFFACE_MAX_ITERATIONS;
                            pyramid: on the sample */
    efface_scale scale;  /* STANDARD: a deviation is rounded to a quarter of an octave, and a mean
                                to four deviations, by a random lattice, so that few changes move
                                them; one that does fits the model again */
    double bound;        /* scale none: the largest |value| allowed; 0: derived from the data */
    const float *column_min; /* scale minmax: for each column a bound that no value may go below; */
    const float *column_max; /* and one that no value may go above. NULL: derived from the data */
    efface_empty empty;
    uint32_t candidates; /* rows that are tried for each seed, 1 to 64; the best of them becomes the
                            seed. Default 0: 2 + log k, as other libraries do; 1: plain k-means++.
                            With more than one the state has k * candidates more rows, and a fit
                            takes 20 + 8 * candidates more bytes a row while it seeds */
    double epsilon;      /* quantized: lattice width as a part of the domain; 0: derived from n.
                            pyramid: the same for the centroids that leave the sample; 0: no
                            lattice */
    efface_lloyd_params lloyd;
    efface_quantized_params quantized;
    efface_pyramid_params pyramid;
    efface_tree_params tree;
} efface_kmeans_params;

/* Fills the parameters with their defaults: pyramid, 8 clusters, 10 iterations, seed 0, no
 * scaling. */
EFFACE_API void efface_kmeans_params_init(efface_kmeans_params *params);

/* Fits a model to the rows of a set. The set is only read, and the model holds no pointer to it
 * afterwards, but from now on the two belong together (efface_model_forget). An empty set gives a
 * model without centroids. Release it with efface_model_free.
 *
 * Cost O(n * k * d * iterations). Memory beyond the data: 4 bytes a row during the fit, or 9 if it
 * is long, O(k * d * iterations) afterwards. A pyramid takes 8 bytes a row during the fit and keeps
 * 2 (5 with more than 256 clusters); a tree keeps copies of the rows in its leaves.
 *
 * Errors: EFFACE_E_ARGUMENT for parameters out of range; EFFACE_E_LIMIT for a value outside a given
 * bound, or a missing value; EFFACE_E_INTERRUPTED; EFFACE_E_KERNELS; EFFACE_E_GROUP;
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_kmeans_fit(const efface_data *data,
                                           const efface_kmeans_params *params, efface_model **out,
                                           efface_error *error);

/* Returns the parameters of a model, with 0 for the seed; the defaults for another family. Pointers
 * in them are valid until the model changes or is released. */
EFFACE_API efface_kmeans_params efface_kmeans_get_params(const efface_model *model);

/* A description of a fitted model. The fields after `n_coarse_columns` describe the work of the fit
 * and are not part of the state. */
typedef struct efface_kmeans_info {
    efface_method method;
    efface_method actual; /* the same; or lloyd, for a pyramid that has too few rows a cluster for a
                             sample to pay */
    uint64_t n_sampled;   /* pyramid: rows of the sample; else 0 */
    uint32_t n_clusters;  /* number of centroids: the smaller of the parameter and n_rows */
    uint32_t n_columns;
    uint64_t n_rows;
    uint32_t iterations;       /* levels from the seeds to the model */
    int stable;                /* the fit ended because the next centroids were the same */
    double epsilon;            /* lattice width in use, as a part of the domain; 0 for lloyd */
    uint32_t width;            /* tree: children of a node; else 0 */
    uint32_t n_coarse_columns; /* columns whose spread is below 256 grid steps, but not 0 */
    uint64_t rows_assigned;    /* exact nearest-centroid searches */
    uint64_t rows_undecided;   /* how many of these the float filter left to integers */
    uint64_t rows_moved;       /* rows that changed their cluster from one level to the next */
} efface_kmeans_info;

/* Returns the description of a model; all 0 for another family. Never fails. */
EFFACE_API efface_kmeans_info efface_kmeans_get_info(const efface_model *model);

/* Writes the columns that are coarse, at most `capacity` numbers (efface_kmeans_info has how many
 * there are): their values differ so little compared to the bound that the grid keeps less than 8
 * bits of them. Scale the data, or give a bound. */
EFFACE_API void efface_kmeans_coarse_columns(const efface_model *model, uint32_t *columns,
                                             size_t capacity);

/* Writes the n_columns coordinates of a centroid, counted from 0, in the units of the data as the
 * set holds them; efface_data_add_offsets converts them to the units of the caller. Errors:
 * EFFACE_E_ARGUMENT for a cluster that does not exist, or another family. */
EFFACE_API efface_status efface_kmeans_centroid(const efface_model *model, uint32_t cluster,
                                                double *coordinates, efface_error *error);

/* Writes the nearest cluster of each row of a set, in the order of positions; ties go to the lower
 * cluster. This is what efface_predictor_predict gives for such rows. A row may lie outside the
 * bounds of the fit: the answer is exact for a row inside, and computed in double for one outside.
 * Cost O(n_rows * k * d). Errors: as efface_predictor_predict; EFFACE_E_ARGUMENT if the number of
 * columns differs, or for another family. */
EFFACE_API efface_status efface_kmeans_labels(const efface_model *model, const efface_data *data,
                                              uint32_t *labels, efface_error *error);

/* Computes the loss: the sum over the rows of a set of weight times squared distance to the nearest
 * centroid, in the units of the data, of the unit cube with scale minmax, or of rounded deviations
 * with scale standard. It is exact before it
 * is rounded to double, except for rows outside the bounds of the fit, which are computed in
 * double. Cost O(n_rows * k * d). Errors: as efface_kmeans_labels. */
EFFACE_API efface_status efface_kmeans_loss(const efface_model *model, const efface_data *data,
                                            double *loss, efface_error *error);

/* Say whether changing the row with this id would reach the beginning of a fit. is_seed: the row
 * won a round of the seeding, or was a candidate in one. in_sample: the row is in pyramid's sample;
 * for methods without a sample every row is. `data` is the set that the model belongs to; a row
 * that is not in the set is in no sample.
 *
 * Rows for which both are false are the cheapest to forget. (A row of the jury, a larger sample,
 * rarely matters.) Cost O(k), and O(k d) for the sample. */
EFFACE_API int efface_kmeans_is_seed(const efface_model *model, uint64_t id);
EFFACE_API int efface_kmeans_in_sample(const efface_model *model, const efface_data *data,
                                       uint64_t id);

/* ------------------------------------------------------------------ k-means: tails */

/* Where the loss of a set comes from; the loss here is the sum of weighted squared distances of the
 * rows from their mean. If a few rows carry nearly all of it (heavy tails), or one column does
 * (other units), then these rows or that column alone decide the clusters. */
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
 * values have no loss. It is computed in double and is not part of any state. For a set that has
 * joined a group it looks at the rows of this rank. Cost O(n_rows * n_columns). Errors:
 * EFFACE_E_ARGUMENT; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_tails(const efface_data *data, efface_scale scale,
                                           efface_tails *tails, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
