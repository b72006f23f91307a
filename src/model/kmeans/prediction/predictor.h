/* What prediction needs of a model, and no more: the map to the grid, and the centroids on it. A
 * model predicts through one that borrows from it, so that a published file and the model that it
 * was made from give the same labels. */
#ifndef EF_PREDICTOR_H
#define EF_PREDICTOR_H

#include "model/kmeans/definition/model.h"

struct efface_predictor {
    ef_domain domain;
    const int32_t *centers; /* n_clusters * n_columns points of the grid */
    uint32_t n_clusters;
    uint32_t n_threads; /* 0: as many as there are processors */

    /* Only of one that was decoded. */
    int32_t *own_centers;
    char **names;    /* of the columns, or NULL; each may be NULL */
    double *offsets; /* of the columns, or NULL */
};

/* Borrows all it has from a model: it is not to be freed, and not to outlive the model. */
static inline efface_predictor ef_predictor_of(const ef_kmeans *model) {
    return (efface_predictor){.domain = model->domain,
                              .centers = ef_kmeans_centers(model),
                              .n_clusters = model->plan.n_clusters,
                              .n_threads = model->plan.n_threads};
}

/* The labels, or else the squared distances, of the rows of a matrix (predict.c). */
efface_status ef_predict_matrix(const efface_predictor *by, size_t n_rows, const float *values,
                                size_t stride, uint32_t *labels, double *squares,
                                efface_error *error);

/* The bytes of the predictor of a model (docs/format.md), with the names and offsets of the columns
 * of its set. */
void ef_predictor_write(ef_writer *writer, const ef_kmeans *model, const efface_data *data);

#endif
