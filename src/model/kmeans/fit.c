/*
 * A fit: seeds, then level after level until the method says stop (docs/numerics.md, section 5).
 *
 *     lloyd       stops when the centers do not change, or after `iterations` levels, the last of
 *                 which needs no partition: the model is its centers
 *     quantized   stops also when the loss of a level does not fall; the model is then the level
 *                 before, and the level that did not fall is kept, because a later change of the
 *                 rows may let it fall after all
 *
 * Everything a level was computed from stays: that is what forgetting will start from.
 */
#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/levels.h"

#include <string.h>

efface_status ef_make_levels(ef_workspace *space, efface_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error) {
    const ef_plan *const plan = &model->plan;
    const bool quantized = plan->method == EFFACE_METHOD_QUANTIZED;
    const size_t n_values = (size_t)plan->n_clusters * space->map->n_columns;
    const uint32_t first = t;
    model->stable = false;
    efface_status status = EFFACE_OK;
    uint32_t *const labels = ef_alloc(space->data->n_rows, sizeof *labels);
    int32_t *const next = ef_alloc(n_values, sizeof *next);
    if (labels == NULL || next == NULL) {
        status = ef_fail_memory(error);
        goto out;
    }
    memset(labels, 0xFF, space->data->n_rows * sizeof *labels); /* EF_NO_CLUSTER */
    for (;; t++) {
        ef_level *const level = &model->levels[t];
        model->model_level = t;
        if (!quantized && t == plan->iterations)
            break;
        const ef_level *const previous = t != first ? &model->levels[t - 1] : NULL;
        status = ef_partition(space, model, level, previous, labels,
                              t == 0 ? &model->square_sum : NULL, error);
        if (status != EFFACE_OK)
            break;
        if (quantized) {
            const ef_i128 now = ef_level_loss(model, level);
            if (t != 0 && now >= loss) {
                model->model_level = t - 1;
                break;
            }
            if (t == plan->iterations)
                break;
            loss = now;
        }
        status = ef_next_centers(space, model, t, labels, next, error);
        if (status != EFFACE_OK)
            break;
        if (memcmp(next, level->centers, n_values * sizeof *next) == 0) {
            model->stable = true;
            break;
        }
        ef_level *const more = ef_kmeans_add_level(model);
        if (more == NULL) {
            status = ef_fail_memory(error);
            break;
        }
        memcpy(more->centers, next, n_values * sizeof *next);
    }
out:
    free(labels);
    free(next);
    return status;
}

/* Seeds and levels of a model whose workspace is ready and which has at least one row. */
static efface_status make_all(ef_workspace *space, efface_kmeans *model, efface_error *error) {
    ef_level *const level = ef_kmeans_add_level(model);
    if (level == NULL)
        return ef_fail_memory(error);
    const efface_status status = ef_seed(space, model, level, 0, error);
    return status == EFFACE_OK ? ef_make_levels(space, model, 0, 0, error) : status;
}

/* Keeps the parameters, with copies of what they refer to. */
static efface_status keep_params(efface_kmeans *model, const efface_kmeans_params *params,
                                 uint32_t d, efface_error *error) {
    model->params = *params;
    if (params->column_min == NULL)
        return EFFACE_OK;
    model->column_min = ef_alloc(d, sizeof *model->column_min);
    model->column_max = ef_alloc(d, sizeof *model->column_max);
    if (model->column_min == NULL || model->column_max == NULL)
        return ef_fail_memory(error);
    memcpy(model->column_min, params->column_min, d * sizeof *model->column_min);
    memcpy(model->column_max, params->column_max, d * sizeof *model->column_max);
    model->params.column_min = model->column_min;
    model->params.column_max = model->column_max;
    return EFFACE_OK;
}

efface_status efface_kmeans_fit(const efface_data *data, const efface_kmeans_params *params,
                                efface_kmeans **out, efface_error *error) {
    if (data == NULL || params == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data, params and out must not be NULL");
    efface_kmeans *const model = ef_alloc_zero(1, sizeof *model);
    if (model == NULL)
        return ef_fail_memory(error);
    ef_workspace space = {0};
    efface_status status = ef_plan_init(&model->plan, data, params, error);
    if (status == EFFACE_OK)
        status = keep_params(model, params, data->n_columns, error);
    if (status == EFFACE_OK)
        status = ef_domain_init(&model->domain, data, params, error);
    if (status != EFFACE_OK)
        goto out;
    model->n_rows = data->n_rows;
    model->total_weight = data->total_weight;
    model->seeds = ef_alloc_zero(model->plan.n_clusters, sizeof *model->seeds);
    if (model->seeds == NULL) {
        status = ef_fail_memory(error);
        goto out;
    }
    status = ef_workspace_init(&space, data, &model->domain.map, model->plan.n_clusters,
                               model->plan.n_threads, error);
    if (status == EFFACE_OK && data->n_rows != 0)
        status = make_all(&space, model, error);
out:
    ef_workspace_free(&space);
    if (status != EFFACE_OK)
        efface_kmeans_free(model);
    else
        *out = model;
    return status;
}
