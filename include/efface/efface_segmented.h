/*
 * The family of segmented regression. Part of efface.h.
 *
 * EXAMPLE
 *
 *     efface_data *people = NULL;
 *     efface_model *model = NULL;
 *     efface_load_options options;
 *     efface_segmented_params params;
 *     efface_error error;
 *     efface_load_options_init(&options);
 *     options.id_column = "id";
 *     options.owner_column = "owner";
 *     options.label_column = "kind";
 *     efface_segmented_params_init(&params);
 *     const uint32_t income = 1; // of the columns age, income and visits
 *     params.targets = &income;
 *     params.n_targets = 1;
 *     params.kmeans.n_clusters = 2;
 *     uint32_t segment;
 *     const float person[3] = {31, 0, 12}; // what stands for income does not matter
 *     if (efface_data_load("examples/people.csv", &options, &people, &error) != EFFACE_OK ||
 *         efface_segmented_fit(people, &params, &model, &error) != EFFACE_OK ||
 *         efface_segmented_segments(model, 1, person, 0, &segment, &error) != EFFACE_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *         return 1;
 *     }
 *     printf("the person is in segment %u\n", (unsigned)segment);
 *     efface_model_free(model);
 *     efface_data_free(people);
 */
#ifndef EFFACE_SEGMENTED_H
#define EFFACE_SEGMENTED_H

#include "efface/efface_kmeans.h"
#include "efface/efface_sums.h"

#ifdef __cplusplus
extern "C" {
#endif

/* K-means over the features, and a linear regression in each cluster, as one model. The segments
 * are the partition from which the last level of k-means was computed: the segment of a row is the
 * nearest of the centroids that made this partition, in training and in prediction. Targets play no
 * part in clustering. Fill the parameters with efface_segmented_params_init. */
typedef struct efface_segmented_params {
    efface_params common;
    efface_kmeans_params kmeans; /* its `common` is ignored */
    const uint32_t *targets;     /* columns, counted from 0; at least one */
    uint32_t n_targets;
    double bound; /* for all values in the regressions, as in efface_sums_params; that of `kmeans`
                     is for features only */
    uint32_t weight_unit; /* as in efface_sums_params */
    efface_linear_params linear;
} efface_segmented_params;

/* Fills the parameters with their defaults. */
EFFACE_API void efface_segmented_params_init(efface_segmented_params *params);

/* Returns the parameters of a model, with 0 for the seed; the defaults for another family. Pointers
 * in them are valid until the model changes or is released. */
EFFACE_API efface_segmented_params efface_segmented_get_params(const efface_model *model);

/* Fits k-means, and sums up the rows of each cluster. efface_predictor_predict then gives the
 * targets. A segment without rows predicts the mean of all rows, or 0 without an intercept. Release
 * the model with efface_model_free. Cost: that of k-means, and O(n * d^2).
 *
 * Tables: "centroids" has the centroids that the segments belong to; "coefficients" has a row for
 * each segment and target (all targets of the first segment, then of the second; the intercept
 * comes first in each row); "segments", which a published model lacks, has the number of rows and
 * the weight of each segment.
 *
 * Errors: as efface_kmeans_fit and efface_sums_fit. */
EFFACE_API efface_status efface_segmented_fit(const efface_data *data,
                                              const efface_segmented_params *params,
                                              efface_model **out, efface_error *error);

/* Writes the segment of each row, counted from 0. Rows and errors are those of
 * efface_predictor_predict; EFFACE_E_ARGUMENT for another family. */
EFFACE_API efface_status efface_segmented_segments(const efface_model *model, size_t n_rows,
                                                   const float *values, size_t stride,
                                                   uint32_t *segments, efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
