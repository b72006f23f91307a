/* The family of segmented regression. Part of efface.h. */
#ifndef EFFACE_SEGMENTED_H
#define EFFACE_SEGMENTED_H

#include "efface/efface_kmeans.h"
#include "efface/efface_sums.h"

#ifdef __cplusplus
extern "C" {
#endif

/* K-means over the features, and a linear regression in each cluster, as one model. The segments
 * are the partition that the last level of k-means was made of, by the centroids that made it;
 * prediction finds the segment of a row in the same way. Targets play no part in clustering. */
typedef struct efface_segmented_params {
    efface_params common;
    efface_kmeans_params kmeans; /* `common` in it is not looked at; redraw must be SAME */
    const uint32_t *targets;     /* columns, counted from 0; at least one */
    uint32_t n_targets;
    double bound; /* of all values in the regressions, as in efface_sums_params; that of `kmeans` is
                     for features only */
    uint32_t weight_unit; /* as in efface_sums_params */
    efface_linear_params linear;
} efface_segmented_params;

/* Fills the parameters with their defaults. */
EFFACE_API void efface_segmented_params_init(efface_segmented_params *params);

/* The parameters of a model, without the seed (0); the defaults for another family. Pointers in
 * them are valid until the model changes or is released. */
EFFACE_API efface_segmented_params efface_segmented_get_params(const efface_model *model);

/* Fits k-means, and sums up the rows of each cluster. efface_predictor_predict gives the targets.
 * Tables: "centroids" with the centroids that the segments belong to, "coefficients" with a row for
 * each segment and target (targets of the first segment come first; the intercept comes first in
 * each), and, unless it is published, "segments" with the number of rows and the weight of each. A
 * segment without rows predicts the mean of all rows, or 0 without an intercept. Cost: that of
 * k-means, and O(n * d^2). Errors: as efface_kmeans_fit and efface_sums_fit. */
EFFACE_API efface_status efface_segmented_fit(const efface_data *data,
                                              const efface_segmented_params *params,
                                              efface_model **out, efface_error *error);

/* Writes the segment of each row, counted from 0. Rows as for efface_predictor_predict. Errors: as
 * that; ARGUMENT for another family. */
EFFACE_API efface_status efface_segmented_segments(const efface_model *model, size_t n_rows,
                                                   const float *values, size_t stride,
                                                   uint32_t *segments, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
