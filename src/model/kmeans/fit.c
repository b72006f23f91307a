/*
 * A fit: seeds, then level after level until the method says stop (docs/numerics.md).
 *
 *     lloyd       stops when the centers do not change, or after `iterations` levels, the last of
 *                 which needs no partition: the model is its centers
 *     quantized   stops also when the loss of a level does not fall; the model is then the level
 *                 before, and the level that did not fall is kept, because a later change of the
 *                 rows may let it fall after all
 *     pyramid     does lloyd's iterations on a sample, then passes over all rows; the partition of
 *                 the first of these is kept, so that it need not be made from nothing again
 *
 * Everything a level was computed from stays: that is what forgetting starts from.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/levels.h"

#include <string.h>

/* ---------------------------------------------------------------- the maker of levels */

efface_status ef_maker_space(ef_maker *maker, const efface_kmeans *model, bool sampled,
                             ef_workspace **out, efface_error *error) {
    /* At exponent 0 the sample is all rows. */
    const bool copied = sampled && model->plan.rate != 0;
    ef_workspace *const space = copied ? &maker->some : &maker->all;
    efface_status status = EFFACE_OK;
    if (space->pool == NULL) {
        const ef_kernels *kernels = NULL;
        status = ef_kernels_require(&kernels, error);
        if (status == EFFACE_OK && copied)
            status = ef_sample_copy(maker->data, kernels, model->plan.seed, model->plan.rate,
                                    &maker->sample, error);
        if (status == EFFACE_OK)
            status =
                ef_workspace_init(space, copied ? maker->sample : maker->data, &model->domain.map,
                                  model->plan.n_clusters, model->plan.n_threads, error);
    }
    if (status == EFFACE_OK)
        *out = space;
    return status;
}

void ef_maker_free(ef_maker *maker) {
    ef_workspace_free(&maker->all);
    ef_workspace_free(&maker->some);
    efface_data_free(maker->sample);
    free(maker->labels);
    free(maker->full_labels);
    *maker = (ef_maker){0};
}

/* Makes the partition of a level, from that of the level before if both have the same rows. */
static efface_status make_partition(ef_maker *maker, ef_workspace *space, efface_kmeans *model,
                                    ef_level *level, efface_error *error) {
    const size_t n = space->data->n_rows;
    if (maker->previous == NULL || maker->previous->sampled != level->sampled) {
        const bool given = !level->sampled && maker->full_labels != NULL;
        free(maker->labels);
        maker->labels = given ? maker->full_labels : ef_alloc(n, sizeof *maker->labels);
        maker->previous = given ? maker->full_previous : NULL;
        if (given)
            maker->full_labels = NULL;
        if (maker->labels == NULL)
            return ef_fail_memory(error);
        if (!given)
            memset(maker->labels, 0xFF, n * sizeof *maker->labels); /* EF_NO_CLUSTER */
    }
    /* The sums of squares are made once: with the first partition of a fit, and, for pyramid, with
     * the first of all rows. */
    ef_i128 *squares = NULL;
    if (maker->previous == NULL && level == &model->levels[0])
        squares = level->sampled ? &model->sample_sum : &model->square_sum;
    else if (maker->previous == NULL && model->plan.method == EFFACE_METHOD_PYRAMID &&
             !level->sampled)
        squares = &model->square_sum;
    const efface_status status =
        ef_partition(space, model, level, maker->previous, maker->labels, squares, error);
    maker->previous = level;
    return status;
}

/* Pyramid: keeps the partition of the first full level. */
static efface_status keep_labels(const ef_maker *maker, efface_kmeans *model, efface_error *error) {
    const size_t n = maker->data->n_rows;
    uint32_t *const labels = ef_alloc(n, sizeof *labels);
    if (labels == NULL)
        return ef_fail_memory(error);
    memcpy(labels, maker->labels, n * sizeof *labels);
    model->labels = labels;
    return EFFACE_OK;
}

/* Whether level t is the last and needs no partition. */
static bool is_open(const efface_kmeans *model, uint32_t t) {
    switch (model->plan.method) {
    case EFFACE_METHOD_LLOYD: return t == model->plan.iterations;
    case EFFACE_METHOD_PYRAMID:
        return !model->levels[t].sampled && t == ef_first_full(model) + model->plan.passes;
    case EFFACE_METHOD_QUANTIZED: break;
    }
    return false;
}

efface_status ef_make_levels(ef_maker *maker, efface_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error) {
    const ef_plan *const plan = &model->plan;
    const bool pyramid = plan->method == EFFACE_METHOD_PYRAMID;
    const bool quantized = plan->method == EFFACE_METHOD_QUANTIZED;
    const size_t n_values = (size_t)plan->n_clusters * model->domain.map.n_columns;
    int32_t *const next = ef_alloc(n_values, sizeof *next);
    efface_status status = next != NULL ? EFFACE_OK : ef_fail_memory(error);
    model->stable = false;
    for (; status == EFFACE_OK; t++) {
        ef_level *const level = &model->levels[t];
        model->model_level = t;
        if (is_open(model, t))
            break;
        ef_workspace *space = NULL;
        status = ef_maker_space(maker, model, level->sampled, &space, error);
        if (status == EFFACE_OK)
            status = make_partition(maker, space, model, level, error);
        if (status == EFFACE_OK && pyramid && !level->sampled && t == ef_first_full(model))
            status = keep_labels(maker, model, error);
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
        status = ef_next_centers(space, model, t, maker->labels, next, error);
        if (status != EFFACE_OK)
            break;
        const bool same = memcmp(next, level->centers, n_values * sizeof *next) == 0;
        const bool leaves = level->sampled && (same || t + 1 == plan->iterations);
        if (same && !leaves) {
            model->stable = true;
            break;
        }
        if (leaves)
            ef_leave_sample(model, level, t, next);
        const bool sampled = level->sampled && !leaves;
        ef_level *const more = ef_kmeans_add_level(model);
        if (more == NULL) {
            status = ef_fail_memory(error);
            break;
        }
        maker->previous = &model->levels[t]; /* the array of levels may have moved */
        more->sampled = sampled;
        memcpy(more->centers, next, n_values * sizeof *next);
    }
    free(next);
    return status;
}

/* ---------------------------------------------------------------- fit */

/* Seeds and levels of a model that has at least one row. */
static efface_status make_all(efface_kmeans *model, const efface_data *data, efface_error *error) {
    ef_maker maker = {.data = data};
    const bool pyramid = model->plan.method == EFFACE_METHOD_PYRAMID;
    ef_workspace *space = NULL;
    efface_status status = ef_maker_space(&maker, model, pyramid, &space, error);
    ef_level *level = NULL;
    if (status == EFFACE_OK) {
        level = ef_kmeans_add_level(model);
        if (level == NULL)
            status = ef_fail_memory(error);
    }
    if (status == EFFACE_OK) {
        level->sampled = pyramid;
        status = ef_seed(space, model, level, 0, error);
    }
    if (status == EFFACE_OK)
        status = ef_make_levels(&maker, model, 0, 0, error);
    ef_maker_free(&maker);
    return status;
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
    return ef_kmeans_fit_draw(data, params, 0, out, error);
}

efface_status ef_kmeans_fit_draw(const efface_data *data, const efface_kmeans_params *params,
                                 uint32_t draw, efface_kmeans **out, efface_error *error) {
    const ef_kernels *kernels = NULL;
    efface_status status = ef_params_check(params, error);
    if (status == EFFACE_OK)
        status = ef_kernels_require(&kernels, error);
    if (status != EFFACE_OK)
        return status;
    efface_kmeans *const model = ef_alloc_zero(1, sizeof *model);
    if (model == NULL)
        return ef_fail_memory(error);
    if (params->method == EFFACE_METHOD_PYRAMID)
        ef_members_count(&model->members, data, kernels, params->seed);
    status = ef_plan_init(&model->plan, data, params, &model->members, error);
    model->draw = draw;
    if (draw != 0)
        model->plan.seed = ef_tape(params->seed, EF_TAPE_REDRAW, 0, draw, 0);
    if (status == EFFACE_OK)
        status = keep_params(model, params, data->n_columns, error);
    if (status == EFFACE_OK)
        status = ef_domain_init(&model->domain, data, params, error);
    if (status != EFFACE_OK)
        goto out;
    model->n_rows = data->n_rows;
    model->total_weight = data->total_weight;
    model->seeds = ef_alloc_zero(model->plan.n_clusters, sizeof *model->seeds);
    if (model->seeds == NULL)
        status = ef_fail_memory(error);
    else if (data->n_rows != 0)
        status = make_all(model, data, error);
out:
    if (status != EFFACE_OK)
        efface_kmeans_free(model);
    else
        *out = model;
    return status;
}
