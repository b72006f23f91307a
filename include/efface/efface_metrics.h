/* How good a clustering is. Part of efface.h. */
#ifndef EFFACE_METRICS_H
#define EFFACE_METRICS_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Mean silhouette of a labelling of the rows of a set, in [-1, 1]: how much nearer rows are to
 * their own cluster than to the next. Distances are taken in the model's scale, over at most
 * `max_rows` rows (0: 10,000), chosen by id with the tape, so that the same rows take part
 * whatever their order. Clusters are those of the model (`labels` NULL) or `labels`, one for each
 * position. Cost O(max_rows^2 * d).
 * Errors: MEMORY; KERNELS; ARGUMENT unless the sample has at least two clusters and two rows. */
EFFACE_API efface_status efface_kmeans_silhouette(const efface_model *model,
                                                  const efface_data *data, const uint32_t *labels,
                                                  size_t max_rows, double *silhouette,
                                                  efface_error *error);

/* Normalized mutual information of two labellings, by the arithmetic mean of their entropies:
 * 1 for the same partition, about 0 for unrelated ones. Errors: MEMORY; ARGUMENT for n = 0. */
EFFACE_API efface_status efface_nmi(size_t n, const uint32_t *a, const uint32_t *b, double *nmi,
                                    efface_error *error);

/* Adjusted Rand index of two labellings: 1 for the same partition, 0 on average for random ones.
 * Errors: MEMORY; ARGUMENT for n = 0. */
EFFACE_API efface_status efface_ari(size_t n, const uint32_t *a, const uint32_t *b, double *ari,
                                    efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
