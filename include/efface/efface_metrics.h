/* How good a clustering is. Part of efface.h. */
#ifndef EFFACE_METRICS_H
#define EFFACE_METRICS_H

#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the mean silhouette of a clustering of the rows of a set, in [-1, 1]: how much nearer
 * rows are to their own cluster than to the next. Clusters are those of the model (`labels` NULL)
 * or `labels`, one for each position. Distances are in the model's scale. At most `max_rows` rows
 * take part (0: 10,000); they are chosen by id, so that the same rows take part whatever their
 * order. Cost O(max_rows^2 * d).
 *
 * Errors: EFFACE_E_ARGUMENT unless the chosen rows are at least two, in at least two clusters;
 * EFFACE_E_KERNELS; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_kmeans_silhouette(const efface_model *model,
                                                  const efface_data *data, const uint32_t *labels,
                                                  size_t max_rows, double *silhouette,
                                                  efface_error *error);

/* Computes the normalized mutual information of two clusterings of n rows, by the arithmetic mean
 * of their entropies: 1 for the same partition, about 0 for unrelated ones. Errors:
 * EFFACE_E_ARGUMENT for n = 0; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_nmi(size_t n, const uint32_t *a, const uint32_t *b, double *nmi,
                                    efface_error *error);

/* Computes the adjusted Rand index of two clusterings of n rows: 1 for the same partition, 0 on
 * average for random ones. Errors: EFFACE_E_ARGUMENT for n = 0; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_ari(size_t n, const uint32_t *a, const uint32_t *b, double *ari,
                                    efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
