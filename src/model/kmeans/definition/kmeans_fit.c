/*
 * A fit: seeds, then level after level until the method says stop (docs/definition/numerics.md).
 *
 *     lloyd       stops when the centers do not change, or after `iterations` levels, the last of
 *                 which needs no partition: the model is its centers
 *     quantized   stops also when the loss of a level does not fall; the model is then the level
 *                 before, and the level that did not fall is kept, because a later change of the
 *                 rows may let it fall after all
 *     pyramid     is lloyd too, but begins with the centers that a sample gave (starts.c); the
 *                 partition of level 0 is kept, so that it need not be made from nothing again
 *
 * Everything a level was computed from stays: that is what forgetting starts from.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/definition/tree.h"

#include <string.h>

/* ---------------------------------------------------------------- levels */

/* The centers after level t. Where a cluster has no rows, and may have to start again elsewhere,
 * that takes the partition of the level and a workspace. */
static efface_status next_centers(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                                  int32_t *next, efface_error *error) {
    efface_status status = EFFACE_OK;
    for (uint32_t c = 0; c < model->plan.n_clusters && status == EFFACE_OK; c++) {
        if (model->levels[t].counts[c] != 0)
            continue;
        status = ef_builder_prepare(builder, model, error);
        EF_THEN(status, ef_unpack_labels(builder, model, t, error));
        break;
    }
    if (status != EFFACE_OK)
        return status;
    const ef_run run = ef_run_of(model);
    return ef_next_centers(&builder->space, &run, &model->levels[t], t, builder->labels, next,
                           error);
}

/* Whether level t is the last and needs no partition. */
static bool is_open(const ef_kmeans_plan *plan, uint32_t t) {
    switch (plan->method) {
    case EFFACE_METHOD_LLOYD: return t == plan->iterations;
    case EFFACE_METHOD_PYRAMID: return t == plan->passes;
    case EFFACE_METHOD_QUANTIZED:
    case EFFACE_METHOD_TREE: break;
    }
    return false;
}

efface_status ef_make_levels(ef_level_builder *builder, ef_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error) {
    const ef_kmeans_plan *const plan = &model->plan;
    const bool quantized = plan->method == EFFACE_METHOD_QUANTIZED;
    const size_t n_values = (size_t)plan->n_clusters * model->domain.map.n_columns;
    int32_t *const next = ef_alloc(n_values, sizeof *next);
    efface_status status = next != NULL ? EFFACE_OK : ef_fail_memory(error);
    model->stable = false;
    for (; status == EFFACE_OK; t++) {
        ef_level *const level = &model->levels[t];
        model->model_level = t;
        if (is_open(plan, t))
            break;
        status = builder->way(builder, model, t, error);
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
        status = next_centers(builder, model, t, next, error);
        if (status != EFFACE_OK)
            break;
        if (memcmp(next, level->centers, n_values * sizeof *next) == 0) {
            model->stable = true;
            break;
        }
        ef_level *const more = ef_kmeans_add_level(model, is_open(plan, t + 1));
        if (more == NULL) {
            status = ef_fail_memory(error);
            break;
        }
        builder->previous = &model->levels[t]; /* the array of levels may have moved */
        memcpy(more->centers, next, n_values * sizeof *next);
    }
    ef_free(next);
    return status;
}

/* ---------------------------------------------------------------- fit */

/* Room for the seeds, and for what rounds of greedy seeding come to. */
static efface_status make_room_for_seeds(ef_kmeans *model, efface_error *error) {
    const uint32_t k = model->plan.n_clusters;
    model->seeds = ef_alloc_zero(k, sizeof *model->seeds);
    const bool fits = !ef_keeps_rounds(&model->plan) ||
                      ef_rounds_init(&model->rounds, k != 0 ? k - 1 : 0, model->plan.candidates,
                                     model->domain.map.n_columns);
    return model->seeds != NULL && fits ? EFFACE_OK : ef_fail_memory(error);
}

/* Greedy seeding leaves the partition of level 0. */
efface_status ef_make_run(ef_level_builder *builder, ef_kmeans *model, efface_error *error) {
    bool has_labels = false;
    ef_level *const level = ef_kmeans_add_level(model, false);
    efface_status status =
        level != NULL ? make_room_for_seeds(model, error) : ef_fail_memory(error);
    EF_THEN(status, ef_builder_prepare(builder, model, error));
    builder->previous = NULL;
    ef_row_margins_free(&builder->row_margins); /* of the levels of another run */
    builder->row_margins = (ef_row_margins){0};
    if (status == EFFACE_OK && model->plan.candidates > 1)
        status = ef_builder_take_labels(builder, error);
    if (status != EFFACE_OK)
        return status;
    const ef_seeds seeds = ef_seeds_of(model, level->centers);
    status = ef_seed(&builder->space, &model->plan, &seeds, 0, builder->labels, &has_labels, error);
    builder->way = has_labels ? ef_by_labels : ef_by_first_pass;
    return status == EFFACE_OK ? ef_make_levels(builder, model, 0, 0, error) : status;
}

/* Pyramid: the pilot, the starts on its sample, and the levels. `known`, unless NULL, has the seeds
 * of the pilot. */
static efface_status make_pyramid(ef_level_builder *builder, ef_kmeans *model,
                                  const ef_pilot *known, efface_error *error) {
    const size_t n = builder->data->n_rows;
    ef_level *const level = ef_kmeans_add_level(model, false);
    uint8_t *const marks = ef_alloc(n, sizeof *marks);
    efface_status status = level != NULL && marks != NULL
                               ? ef_pilot_make(builder, model, known, marks, error)
                               : ef_fail_memory(error);
    EF_THEN(status, ef_starts_run(&model->starts, model, builder->data, marks, NULL, error));
    if (status != EFFACE_OK) {
        ef_free(marks);
        return status;
    }
    ef_kept_take_marks(model, marks, n);
    model->start = ef_starts_best(model->plan.starts, model->starts.losses);
    ef_start_centers(model, &model->starts, model->start, level->centers);
    builder->way = ef_by_kept_labels;
    return ef_make_levels(builder, model, 0, 0, error);
}

/* Seeds and levels of a model that has at least one row. */
static efface_status make_all(ef_kmeans *model, const efface_data *data, const ef_pilot *known,
                              efface_error *error) {
    ef_level_builder builder = {.data = data};
    const efface_status status = model->plan.method == EFFACE_METHOD_PYRAMID
                                     ? make_pyramid(&builder, model, known, error)
                                     : ef_make_run(&builder, model, error);
    ef_builder_free(&builder);
    return status;
}

efface_status ef_keep_params(ef_kmeans *model, const efface_kmeans_params *params, uint32_t d,
                             efface_error *error) {
    model->params_block = ef_params_copy(&params->common, d);
    if (model->params_block == NULL)
        return ef_fail_memory(error);
    memcpy(&model->params, model->params_block, sizeof model->params);
    return EFFACE_OK;
}

#define PASSES_TO_CONVERGE 20 /* a guess */

/* The multiply-adds that a fit may take: passes over all rows, plain seeding and what comes with it
 * as two more. */
static double expected_work(const ef_kmeans *model, const efface_data *data) {
    const ef_kmeans_plan *const plan = &model->plan;
    const uint32_t passes = plan->method == EFFACE_METHOD_PYRAMID ? plan->passes
                            : model->params.iterations != 0       ? model->params.iterations
                                                                  : PASSES_TO_CONVERGE;
    return (double)(data->n_rows / EF_PANEL + 1) *
           ((double)(passes + 2) * (double)ef_pass_operations(data->n_columns, plan->n_clusters) +
            (double)ef_seed_operations(plan, data->n_columns));
}

/* `known`, unless NULL, has the seeds of the pilot. */
static efface_status fit_knowing(const efface_data *data, const efface_kmeans_params *params,
                                 const bool *ignored, const ef_pilot *known, ef_kmeans **out,
                                 efface_error *error) {
    const efface_kmeans_params used = ef_params_used(params);
    const ef_kernels *kernels = NULL;
    efface_status status = ef_kernels_require(&kernels, error);
    if (status != EFFACE_OK)
        return status;
    ef_kmeans *const model = ef_alloc_zero(1, sizeof *model);
    if (model == NULL)
        return ef_fail_memory(error);
    status = ef_kmeans_plan_init(&model->plan, ef_data_whole(data), &used, error);
    model->ignored = ignored;
    EF_THEN(status, ef_keep_params(model, &used, data->n_columns, error));
    EF_THEN(status, ef_domain_of(&model->domain, data, ef_params_bounds(&used, ignored), error));
    if (status != EFFACE_OK)
        goto out;
    model->n_rows = ef_data_whole(data)->n_rows;
    model->total_weight = ef_data_whole(data)->total_weight;
    ef_progress progress = {.told = params->common.progress,
                            .context = params->common.interrupt_context};
    if (params->common.progress != NULL) {
        progress.expected = expected_work(model, data);
        model->plan.interrupt.progress = &progress;
    }
    if (used.method == EFFACE_METHOD_TREE) {
        model->tree = ef_tree_create(&model->plan, &model->params);
        status = model->tree != NULL ? ef_tree_fit(model, data, error) : ef_fail_memory(error);
    } else if (model->n_rows == 0) {
        status = make_room_for_seeds(model, error); /* none */
    }
    if (status == EFFACE_OK && model->n_rows != 0 && used.method != EFFACE_METHOD_TREE)
        status = make_all(model, data, known, error);
    if (status == EFFACE_OK)
        ef_tell(model->plan.interrupt.progress, 1.0);
out:
    model->plan.interrupt.progress = NULL;
    if (status != EFFACE_OK)
        ef_kmeans_free(model);
    else
        *out = model;
    return status;
}

efface_status ef_kmeans_fit(const efface_data *data, const efface_kmeans_params *params,
                            const bool *ignored, ef_kmeans **out, efface_error *error) {
    return fit_knowing(data, params, ignored, NULL, out, error);
}

efface_status ef_kmeans_fit_piloted(const efface_data *data, const ef_kmeans *model,
                                    ef_kmeans **out, efface_error *error) {
    return fit_knowing(data, &model->params, model->ignored, &model->pilot, out, error);
}
