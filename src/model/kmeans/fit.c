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

/* Makes the levels of a model whose workspace is ready and which has at least one row. */
static efface_status make_levels(ef_workspace *space, efface_kmeans *model, efface_error *error) {
    const ef_plan *const plan = &model->plan;
    const size_t n_values = (size_t)plan->n_clusters * space->map->n_columns;
    uint32_t *labels = NULL;
    int32_t *next = NULL;
    efface_status status = EFFACE_E_MEMORY;
    ef_level *level = ef_kmeans_add_level(model);
    if (level == NULL)
        goto out;
    status = ef_seed(space, model, level, error);
    if (status != EFFACE_OK)
        goto out;
    status = EFFACE_E_MEMORY;
    labels = ef_alloc(space->data->n_rows, sizeof *labels);
    next = ef_alloc(n_values, sizeof *next);
    if (labels == NULL || next == NULL)
        goto out;
    memset(labels, 0xFF, space->data->n_rows * sizeof *labels); /* EF_NO_CLUSTER */

    const bool quantized = plan->method == EFFACE_METHOD_QUANTIZED;
    ef_i128 loss = 0;
    for (uint32_t t = 0;; t++) {
        model->model_level = t;
        if (!quantized && t == plan->iterations)
            break;
        const ef_level *const previous = t != 0 ? &model->levels[t - 1] : NULL;
        status = ef_partition(space, model, level, previous, labels, error);
        if (status != EFFACE_OK)
            goto out;
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
            goto out;
        if (memcmp(next, level->centers, n_values * sizeof *next) == 0) {
            model->stable = true;
            break;
        }
        level = ef_kmeans_add_level(model);
        status = EFFACE_E_MEMORY;
        if (level == NULL)
            goto out;
        memcpy(level->centers, next, n_values * sizeof *next);
    }
    status = EFFACE_OK;
out:
    free(labels);
    free(next);
    return status == EFFACE_E_MEMORY ? ef_fail_memory(error) : status;
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
        status = make_levels(&space, model, error);
out:
    ef_workspace_free(&space);
    if (status != EFFACE_OK)
        efface_kmeans_free(model);
    else
        *out = model;
    return status;
}
