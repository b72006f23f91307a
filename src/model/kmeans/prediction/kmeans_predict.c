/*
 * Prediction and loss: what a fitted model says about rows.
 *
 * A row within the bounds of the fit has a grid point, and its nearest centroid is exact. A row
 * outside has none; its distances are computed in double, in a fixed order. Rows outside are rare
 * (new data beyond the range of the old), so they take a plain path of their own.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/families.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/prediction/kmeans_predictor.h"
#include "model/request/missing_values.h"

#include <inttypes.h>
#include <string.h>

/* Where a value would be on the grid if the grid went on. */
static double beyond(const ef_map *map, const float *row, uint32_t j) {
    return ((double)row[j] - (double)map->low[j]) * (double)map->step[j];
}

/* The nearest centroid of a row that has no grid point. Scores sum C (C - 2 x) are compared instead
 * of distances: far outside, |x|^2 would swallow what tells the centroids apart. */
static uint32_t nearest_outside(const ef_kmeans_predictor *by, const float *row) {
    const ef_map *const map = &by->domain.map;
    const int32_t *center = by->centers;
    uint32_t nearest = 0;
    double least = 0.0;
    for (uint32_t c = 0; c < by->n_clusters; c++, center += map->n_columns) {
        double score = 0.0;
        for (uint32_t j = 0; j < map->n_columns; j++)
            score += (double)center[j] * ((double)center[j] - 2.0 * beyond(map, row, j));
        if (c == 0 || score < least) {
            least = score;
            nearest = c;
        }
    }
    return nearest;
}

/* Its squared distance from a centroid in grid steps. */
static double sqdist_outside(const ef_kmeans_predictor *by, const float *row, uint32_t cluster) {
    const ef_map *const map = &by->domain.map;
    const int32_t *const center = by->centers + (size_t)cluster * map->n_columns;
    double square = 0.0;
    for (uint32_t j = 0; j < map->n_columns; j++) {
        const double difference = beyond(map, row, j) - (double)center[j];
        square += difference * difference;
    }
    return square;
}

/* What a worker needs and finds. */
typedef struct worker {
    float *row;    /* n_columns */
    float *values; /* a panel of rows, */
    float *panel;  /* and of their grid points */
    ef_i128 loss;  /* of the rows that have a grid point */
} worker;

/* Rows come from a matrix or from a set. */
typedef struct prediction {
    const ef_kmeans_predictor *by;
    const float *matrix; /* or NULL */
    size_t stride;
    const efface_data *data; /* or NULL */
    size_t n_rows;
    efface_number *numbers; /* clusters wanted, or NULL; */
    uint32_t *labels;       /* the same, as fewer bytes; */
    double *squares; /* squared distances wanted, or NULL; with none, the loss of `data` is */
    const ef_kernels *kernels;
    ef_centers centers;
    worker *workers;
} prediction;

static const float *read_row(const prediction *p, size_t i, float *room) {
    if (p->matrix != NULL)
        return p->matrix + i * p->stride;
    efface_data_values(p->data, i, room);
    return room;
}

/* The squared distances of the rows of a panel, `outside` saying which have no grid point. */
static void measure_panel(const prediction *p, const worker *own, size_t begin, unsigned n,
                          const uint32_t *outside) {
    const uint32_t k = p->by->n_clusters;
    const double unit = ef_domain_square_unit(&p->by->domain);
    for (unsigned i = 0; i < n; i++)
        for (uint32_t c = 0; c < k; c++)
            p->squares[(begin + i) * k + c] =
                unit * (outside[i] == EF_NO_CLUSTER
                            ? (double)ef_centers_sqdist(&p->centers, c, own->panel, i)
                            : sqdist_outside(p->by, read_row(p, begin + i, own->row), c));
}

static void predict_panels(void *context, unsigned number, size_t first, size_t last) {
    const prediction *const p = context;
    const ef_map *const map = &p->by->domain.map;
    worker *const own = &p->workers[number];
    for (size_t begin = first * EF_PANEL; begin < last * EF_PANEL; begin += EF_PANEL) {
        const size_t rest = p->n_rows - begin;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        uint32_t outside[EF_PANEL], labels[EF_PANEL];
        for (unsigned i = 0; i < n; i++) {
            const float *row = read_row(p, begin + i, own->row);
            outside[i] = EF_NO_CLUSTER;
            if (!ef_domain_holds(&p->by->domain, row)) {
                outside[i] = nearest_outside(p->by, row);
                row = map->low; /* in the panel, the origin of the grid stands for it */
            }
            for (size_t j = 0; j < map->n_columns; j++)
                own->values[j * EF_PANEL + i] = row[j];
        }
        (void)p->kernels->nearest(&p->centers, map, own->values, n, own->values, own->panel, labels,
                                  NULL);
        if (p->labels == NULL && p->numbers == NULL)
            p->kernels->snap(map, own->values, n, own->panel);
        if (p->squares != NULL)
            measure_panel(p, own, begin, n, outside);
        for (unsigned i = 0; i < n && p->squares == NULL; i++) {
            const uint32_t cluster = outside[i] != EF_NO_CLUSTER ? outside[i] : labels[i];
            if (p->numbers != NULL)
                p->numbers[begin + i].whole = cluster;
            else if (p->labels != NULL)
                p->labels[begin + i] = cluster;
            else if (outside[i] == EF_NO_CLUSTER)
                own->loss += (ef_i128)ef_data_weight(p->data, begin + i) *
                             ef_centers_sqdist(&p->centers, labels[i], own->panel, i);
        }
    }
}

static bool worker_init(worker *own, uint32_t d) {
    own->row = ef_alloc(d, sizeof *own->row);
    own->values = ef_alloc_aligned(d, EF_PANEL * sizeof *own->values);
    own->panel = ef_alloc_aligned(d, EF_PANEL * sizeof *own->panel);
    if (own->values != NULL)
        memset(own->values, 0, (size_t)d * EF_PANEL * sizeof *own->values);
    return own->row != NULL && own->values != NULL && own->panel != NULL;
}

/* Runs a prediction; on success *loss is the loss of the rows that have a grid point. */
static efface_status run_prediction(prediction *p, ef_i128 *loss, efface_error *error) {
    const uint32_t k = p->by->n_clusters;
    const uint32_t d = p->by->domain.map.n_columns;
    const size_t n_panels = p->n_rows / EF_PANEL + (p->n_rows % EF_PANEL != 0);
    const size_t operations = ef_pass_operations(d, k);
    if (k == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the model has no rows, so it has no centroids; learn rows first");
    efface_status status = ef_kernels_require(&p->kernels, error);
    if (status != EFFACE_OK)
        return status;
    unsigned n_workers = 0;
    ef_pool *const pool = ef_pool_create(ef_pass_threads(p->by->n_threads, n_panels, operations));
    bool fits =
        pool != NULL && ef_centers_init(&p->centers, p->by->centers, k, d, p->kernels->tile);
    if (fits) {
        p->workers = ef_alloc_zero(ef_pool_size(pool), sizeof *p->workers);
        n_workers = p->workers != NULL ? ef_pool_size(pool) : 0;
        fits = n_workers != 0;
    }
    for (unsigned w = 0; w < n_workers; w++)
        fits = worker_init(&p->workers[w], d) && fits;
    if (fits)
        ef_pool_run(pool, n_panels, ef_pass_grain(operations), predict_panels, p);
    else
        status = ef_fail_memory(error);
    *loss = 0;
    for (unsigned w = 0; w < n_workers; w++) {
        *loss += p->workers[w].loss;
        ef_free(p->workers[w].row);
        ef_free(p->workers[w].values);
        ef_free(p->workers[w].panel);
    }
    ef_free(p->workers);
    ef_centers_free(&p->centers);
    ef_pool_free(pool);
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}

efface_status ef_kmeans_predict(const void *predictor, size_t n_rows, const float *values,
                                size_t stride, efface_number *numbers, efface_error *error) {
    prediction p = {
        .by = predictor, .matrix = values, .stride = stride, .n_rows = n_rows, .numbers = numbers};
    ef_i128 loss;
    return run_prediction(&p, &loss, error);
}

efface_status ef_kmeans_predict_labels(const ef_kmeans_predictor *by, size_t n_rows,
                                       const float *values, uint32_t *labels, efface_error *error) {
    prediction p = {.by = by,
                    .matrix = values,
                    .stride = by->domain.map.n_columns,
                    .n_rows = n_rows,
                    .labels = labels};
    ef_i128 loss;
    return run_prediction(&p, &loss, error);
}

efface_status efface_predictor_square_distances(const efface_predictor *p, size_t n_rows,
                                                const float *values, size_t stride, double *squares,
                                                efface_error *error) {
    if (p == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the predictor must not be NULL");
    if (p->family != &ef_kmeans_family)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "this is a model of the family %s; the call is for models of the family %s",
                       p->family->name, ef_kmeans_family.name);
    if (n_rows != 0 && (values == NULL || squares == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "values and squares must not be NULL");
    ef_lent room;
    const ef_kmeans_predictor *const by = ef_predictor_part(p, &room);
    const efface_status status =
        ef_matrix_check(p->family, by, p->n_columns, n_rows, values, &stride, error);
    if (status != EFFACE_OK)
        return status;
    prediction work = {
        .by = by, .matrix = values, .stride = stride, .n_rows = n_rows, .squares = squares};
    ef_i128 loss;
    return run_prediction(&work, &loss, error);
}

static efface_status check_columns(const ef_kmeans *model, const efface_data *data,
                                   efface_error *error) {
    if (data->n_columns == model->domain.map.n_columns)
        return ef_check_missing(&ef_kmeans_family, NULL, data, error);
    return ef_fail(error, EFFACE_E_ARGUMENT,
                   "the data has %" PRIu32 " columns, but the model was fitted to %" PRIu32,
                   data->n_columns, model->domain.map.n_columns);
}

efface_status efface_kmeans_labels(const efface_model *of, const efface_data *data,
                                   uint32_t *labels, efface_error *error) {
    const ef_kmeans *const model = ef_kmeans_of(of, error);
    if (model == NULL)
        return EFFACE_E_ARGUMENT;
    if (data == NULL || labels == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and labels must not be NULL");
    const efface_status status = check_columns(model, data, error);
    if (status != EFFACE_OK || data->n_rows == 0)
        return status;
    const ef_kmeans_predictor by = ef_predictor_of(model);
    prediction p = {.by = &by, .data = data, .n_rows = data->n_rows, .labels = labels};
    ef_i128 loss;
    return run_prediction(&p, &loss, error);
}

efface_status efface_kmeans_loss(const efface_model *of, const efface_data *data, double *loss,
                                 efface_error *error) {
    const ef_kmeans *const model = ef_kmeans_of(of, error);
    if (model == NULL)
        return EFFACE_E_ARGUMENT;
    if (data == NULL || loss == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and loss must not be NULL");
    efface_status status = check_columns(model, data, error);
    if (status != EFFACE_OK)
        return status;
    if (data->n_rows == 0) {
        *loss = 0.0;
        return EFFACE_OK;
    }
    float *const row = ef_alloc(data->n_columns, sizeof *row);
    if (row == NULL)
        return ef_fail_memory(error);
    const ef_kmeans_predictor by = ef_predictor_of(model);
    prediction p = {.by = &by, .data = data, .n_rows = data->n_rows};
    ef_i128 inside;
    status = run_prediction(&p, &inside, error);
    if (status == EFFACE_OK) {
        /* Rows outside come last and in the order of positions, whatever the threads did. */
        double outside = 0.0;
        for (size_t i = 0; i < data->n_rows; i++) {
            efface_data_values(data, i, row);
            if (!ef_domain_holds(&model->domain, row))
                outside += (double)ef_data_weight(data, i) *
                           sqdist_outside(&by, row, nearest_outside(&by, row));
        }
        *loss = (ef_i128_to_double(inside) + outside) * ef_domain_square_unit(&model->domain);
    }
    ef_free(row);
    return status;
}
