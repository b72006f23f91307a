/* What prediction needs of a k-means model, and no more: the map to the grid, and the centroids on
 * it. A model predicts through one that borrows from it, so that a published file and the model
 * that it was made from give the same clusters. */
#ifndef EF_KMEANS_PREDICTOR_H
#define EF_KMEANS_PREDICTOR_H

#include "model/kmeans/kmeans.h"

typedef struct ef_kmeans_predictor {
    ef_domain domain;
    const int32_t *centers; /* n_clusters * n_columns points of the grid */
    uint32_t n_clusters;
    uint32_t n_threads;   /* 0: as many as there are processors */
    int32_t *own_centers; /* of one that was read; else NULL */
} ef_kmeans_predictor;

/* Borrows all it has from a model: it is not to be freed, and not to outlive the model. */
static inline ef_kmeans_predictor ef_predictor_of(const ef_kmeans *model) {
    return (ef_kmeans_predictor){.domain = model->domain,
                                 .centers = ef_kmeans_centers(model),
                                 .n_clusters = model->plan.n_clusters,
                                 .n_threads = model->plan.n_threads};
}

/* As in family.h. */
void ef_kmeans_lend(const void *state, ef_lent *room);
void ef_kmeans_write_predictor(ef_writer *writer, const void *predictor);
efface_status ef_kmeans_read_predictor(ef_decoder *decoder, uint32_t n_columns, void **out,
                                       efface_error *error);
void ef_kmeans_free_predictor(void *predictor);
efface_predicts ef_kmeans_predicts(const void *predictor, uint32_t *n_numbers);
efface_status ef_kmeans_predict(const void *predictor, size_t n_rows, const float *values,
                                size_t stride, efface_number *numbers, efface_error *error);

/* The clusters of the rows of a matrix without gaps. */
efface_status ef_kmeans_predict_labels(const ef_kmeans_predictor *by, size_t n_rows,
                                       const float *values, uint32_t *labels, efface_error *error);

bool ef_kmeans_table(const void *predictor, uint32_t number, efface_table *table);
efface_status ef_kmeans_read_table(const void *predictor, uint32_t number, uint64_t row,
                                   const double *offsets, double *values, efface_error *error);

#endif
