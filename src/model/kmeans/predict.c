/*
 * Prediction and loss: what a fitted model says about rows.
 *
 * A row within the bounds of the fit has a grid point, and its nearest centroid is exact. A row
 * outside has none; its distances are computed in double, in a fixed order. Rows outside are rare
 * (new data beyond the range of the old), so they take a plain path of their own.
 */
#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/levels.h"

#include <inttypes.h>

/* The nearest centroid of a row that has no grid point, and its squared distance in grid steps. */
static uint32_t nearest_outside(const efface_kmeans *model, const float *row, double *square) {
    const ef_map *const map = &model->domain.map;
    const int32_t *center = ef_kmeans_centers(model);
    uint32_t nearest = 0;
    for (uint32_t c = 0; c < model->plan.n_clusters; c++, center += map->n_columns) {
        double distance = 0.0;
        for (uint32_t j = 0; j < map->n_columns; j++) {
            const double x = ((double)row[j] - (double)map->low[j]) * (double)map->step[j];
            const double difference = x - (double)center[j];
            distance += difference * difference;
        }
        if (c == 0 || distance < *square) {
            *square = distance;
            nearest = c;
        }
    }
    return nearest;
}

/* What a worker needs and finds. */
typedef struct predictor {
    float *panel;
    ef_i128 loss; /* of the rows that have a grid point */
} predictor;

typedef struct prediction {
    const efface_kmeans *model;
    const ef_kernels *kernels;
    ef_centers centers;
    const float *values;
    size_t stride;
    size_t n_rows;
    uint32_t *labels;        /* wanted, or NULL */
    const efface_data *data; /* whose loss is wanted, or NULL */
    predictor *predictors;
} prediction;

static const float *row_of(const prediction *p, size_t i) {
    return p->values + i * p->stride;
}

static void predict_panels(void *context, unsigned number, size_t first, size_t last) {
    const prediction *const p = context;
    const ef_map *const map = &p->model->domain.map;
    predictor *const own = &p->predictors[number];
    for (size_t begin = first * EF_PANEL; begin < last * EF_PANEL; begin += EF_PANEL) {
        const size_t rest = p->n_rows - begin;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        /* In the panel, the origin of the grid stands for rows that have no grid point. */
        const float *rows[EF_PANEL];
        bool outside[EF_PANEL];
        for (unsigned i = 0; i < EF_PANEL; i++) {
            outside[i] = i >= n || !ef_domain_holds(&p->model->domain, row_of(p, begin + i));
            rows[i] = outside[i] ? map->low : row_of(p, begin + i);
        }
        float norm2[EF_PANEL];
        uint32_t labels[EF_PANEL];
        p->kernels->pack(map, rows, own->panel, norm2);
        (void)p->kernels->nearest(&p->centers, own->panel, norm2, n, own->panel, labels);
        for (unsigned i = 0; i < n; i++) {
            double square;
            if (p->labels != NULL)
                p->labels[begin + i] =
                    outside[i] ? nearest_outside(p->model, row_of(p, begin + i), &square)
                               : labels[i];
            if (p->data != NULL && !outside[i])
                own->loss += (ef_i128)ef_data_weight(p->data, begin + i) *
                             ef_centers_sqdist(&p->centers, labels[i], own->panel, i);
        }
    }
}

/* Runs a prediction; on success *loss is the loss of the rows that have a grid point. */
static efface_status run(prediction *p, ef_i128 *loss, efface_error *error) {
    const ef_plan *const plan = &p->model->plan;
    const uint32_t d = p->model->domain.map.n_columns;
    const size_t n_panels = p->n_rows / EF_PANEL + (p->n_rows % EF_PANEL != 0);
    const size_t grain = ef_grain(d, plan->n_clusters);
    if (plan->n_clusters == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the model was fitted to no rows and has no centroids");
    efface_status status = ef_kernels_require(&p->kernels, error);
    if (status != EFFACE_OK)
        return status;
    unsigned n_workers = 0;
    ef_pool *const pool = ef_pool_create(n_panels <= grain ? 1 : plan->n_threads);
    bool fits = pool != NULL && ef_centers_init(&p->centers, ef_kmeans_centers(p->model),
                                                plan->n_clusters, d, p->kernels->tile);
    if (fits) {
        p->predictors = ef_alloc_zero(ef_pool_size(pool), sizeof *p->predictors);
        n_workers = p->predictors != NULL ? ef_pool_size(pool) : 0;
        fits = n_workers != 0;
    }
    for (unsigned w = 0; w < n_workers; w++) {
        p->predictors[w].panel = ef_alloc_aligned(d, EF_PANEL * sizeof(float));
        fits = fits && p->predictors[w].panel != NULL;
    }
    if (fits)
        ef_pool_run(pool, n_panels, grain, predict_panels, p);
    else
        status = ef_fail_memory(error);
    *loss = 0;
    for (unsigned w = 0; w < n_workers; w++) {
        *loss += p->predictors[w].loss;
        free(p->predictors[w].panel);
    }
    free(p->predictors);
    ef_centers_free(&p->centers);
    ef_pool_free(pool);
    return status;
}

efface_status efface_kmeans_predict(const efface_kmeans *model, size_t n_rows, const float *values,
                                    size_t stride, uint32_t *labels, efface_error *error) {
    if (model == NULL || (n_rows != 0 && (values == NULL || labels == NULL)))
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, values and labels must not be NULL");
    const uint32_t d = model->domain.map.n_columns;
    if (stride != 0 && stride < d)
        return ef_fail(error, EFFACE_E_ARGUMENT, "a stride of %zu is less than %" PRIu32 " columns",
                       stride, d);
    prediction p = {
        .model = model,
        .values = values,
        .stride = stride != 0 ? stride : d,
        .n_rows = n_rows,
        .labels = labels,
    };
    for (size_t i = 0; i < n_rows; i++)
        for (uint32_t j = 0; j < d; j++)
            if (!(__builtin_fabsf(row_of(&p, i)[j]) <= (float)EFFACE_MAX_MAGNITUDE))
                return ef_fail(error, EFFACE_E_LIMIT,
                               "row %zu, column %" PRIu32 ": the value is not a finite number of "
                               "magnitude 2^126 or less",
                               i + 1, j + 1);
    ef_i128 loss;
    return run(&p, &loss, error);
}

efface_status efface_kmeans_loss(const efface_kmeans *model, const efface_data *data, double *loss,
                                 efface_error *error) {
    if (model == NULL || data == NULL || loss == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, data and loss must not be NULL");
    if (data->n_columns != model->domain.map.n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the data has %" PRIu32 " columns, the model %" PRIu32, data->n_columns,
                       model->domain.map.n_columns);
    if (data->n_rows == 0) {
        *loss = 0.0;
        return EFFACE_OK;
    }
    prediction p = {
        .model = model,
        .values = data->values,
        .stride = data->n_columns,
        .n_rows = data->n_rows,
        .data = data,
    };
    ef_i128 inside;
    const efface_status status = run(&p, &inside, error);
    if (status != EFFACE_OK)
        return status;
    /* Rows outside come last and in the order of positions, whatever the threads did. */
    double outside = 0.0;
    for (size_t i = 0; i < data->n_rows; i++)
        if (!ef_domain_holds(&model->domain, ef_data_values(data, i))) {
            double square = 0.0;
            (void)nearest_outside(model, ef_data_values(data, i), &square);
            outside += (double)ef_data_weight(data, i) * square;
        }
    *loss = (ef_i128_to_double(inside) + outside) * ef_domain_square_unit(&model->domain);
    return EFFACE_OK;
}
