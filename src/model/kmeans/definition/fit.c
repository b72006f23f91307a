/*
 * A fit: seeds, then level after level until the method says stop (docs/numerics.md).
 *
 *     lloyd       stops when the centers do not change, or after `iterations` levels, the last of
 *                 which needs no partition: the model is its centers
 *     quantized   stops also when the loss of a level does not fall; the model is then the level
 *                 before, and the level that did not fall is kept, because a later change of the
 *                 rows may let it fall after all
 *     pyramid     is lloyd too, but begins with the centers that a sample gave (pyramid.c); the
 *                 partition of level 0 is kept, so that it need not be made from nothing again
 *
 * Everything a level was computed from stays: that is what forgetting starts from.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/definition/tree.h"

#include <string.h>

/* ---------------------------------------------------------------- the maker of levels */

efface_status ef_maker_prepare(ef_maker *maker, const ef_kmeans *model, efface_error *error) {
    if (maker->space.pool != NULL)
        return EFFACE_OK;
    return ef_workspace_init(&maker->space, maker->data, &model->domain.map, &model->plan, error);
}

void ef_maker_free(ef_maker *maker) {
    ef_workspace_free(&maker->space);
    ef_free(maker->labels);
    ef_free(maker->margins);
    *maker = (ef_maker){0};
}

efface_status ef_maker_take_labels(ef_maker *maker, efface_error *error) {
    if (maker->labels == NULL)
        maker->labels = ef_alloc(maker->data->n_rows, sizeof *maker->labels);
    return maker->labels != NULL ? EFFACE_OK : ef_fail_memory(error);
}

static void clear_labels(void *context, unsigned worker, size_t first, size_t last) {
    const ef_maker *const maker = context;
    const size_t begin = first * EF_PANEL, end = last * EF_PANEL, n = maker->data->n_rows;
    (void)worker;
    memset(maker->labels + begin, 0xFF, ((end < n ? end : n) - begin) * sizeof *maker->labels);
}

void ef_maker_take_margins(ef_maker *maker) {
    const size_t n_panels = (maker->data->n_rows + EF_PANEL - 1) / EF_PANEL;
    if (maker->margins == NULL)
        maker->margins = ef_alloc_aligned(n_panels, EF_PANEL * sizeof *maker->margins);
}

efface_status ef_make_partition(ef_maker *maker, ef_kmeans *model, ef_level *level,
                                efface_error *error) {
    efface_status status = ef_maker_prepare(maker, model, error);
    if (status == EFFACE_OK)
        status = ef_maker_take_labels(maker, error);
    if (status == EFFACE_OK && maker->has_labels) {
        maker->has_labels = false;
        maker->previous = level;
        maker->knows_squares = true;
        return ef_partition_labelled(&maker->space, model, level, maker->labels, &model->square_sum,
                                     error);
    }
    /* By all workers: memory that is touched for the first time is slow. */
    if (status == EFFACE_OK && maker->previous == NULL)
        status = ef_workspace_run_light(&maker->space, EF_PANEL, clear_labels, maker, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_partition(&maker->space, model, level, maker->previous, maker->labels,
                          maker->margins, maker->knows_squares ? NULL : &model->square_sum, error);
    maker->previous = level;
    maker->knows_squares = true;
    return status;
}

/* The centers after level t. Where a cluster has no rows, and may have to start again elsewhere,
 * that takes the partition of the level and a workspace. */
static efface_status next_centers(ef_maker *maker, ef_kmeans *model, uint32_t t, int32_t *next,
                                  efface_error *error) {
    efface_status status = EFFACE_OK;
    for (uint32_t c = 0; c < model->plan.n_clusters && status == EFFACE_OK; c++) {
        if (model->levels[t].counts[c] != 0)
            continue;
        status = ef_maker_prepare(maker, model, error);
        if (status == EFFACE_OK)
            status = ef_unpack_labels(maker, model, t, error);
        break;
    }
    if (status != EFFACE_OK)
        return status;
    return ef_next_centers(&maker->space, model, t, maker->labels, next, error);
}

/* Whether level t is the last and needs no partition. */
static bool is_open(const ef_plan *plan, uint32_t t) {
    switch (plan->method) {
    case EFFACE_METHOD_LLOYD: return t == plan->iterations;
    case EFFACE_METHOD_PYRAMID: return t == plan->passes;
    case EFFACE_METHOD_QUANTIZED:
    case EFFACE_METHOD_TREE: break;
    }
    return false;
}

efface_status ef_make_levels(ef_maker *maker, ef_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error) {
    const ef_plan *const plan = &model->plan;
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
        if (t == 0 && plan->method == EFFACE_METHOD_PYRAMID)
            status = ef_by_kept_labels(maker, model, t, error);
        else
            status = maker->old != NULL ? ef_by_margins(maker, model, t, error)
                                        : ef_make_partition(maker, model, level, error);
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
        status = next_centers(maker, model, t, next, error);
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
        maker->previous = &model->levels[t]; /* the array of levels may have moved */
        memcpy(more->centers, next, n_values * sizeof *next);
    }
    ef_free(next);
    return status;
}

/* The seeds of a model that has none. Greedy seeding leaves the partition of level 0. */
static efface_status make_seeds(ef_maker *maker, ef_kmeans *model, ef_level *level,
                                efface_error *error) {
    if (model->plan.candidates < 2)
        return ef_seed(&maker->space, model, level, 0, error);
    const efface_status status = ef_maker_take_labels(maker, error);
    return status == EFFACE_OK ? ef_seed_greedily(&maker->space, model, level, 0, maker->labels,
                                                  &maker->has_labels, error)
                               : status;
}

efface_status ef_make_run(ef_maker *maker, ef_kmeans *model, efface_error *error) {
    efface_status status = ef_maker_prepare(maker, model, error);
    ef_level *const level = status == EFFACE_OK ? ef_kmeans_add_level(model, false) : NULL;
    if (status == EFFACE_OK)
        status = level != NULL ? make_seeds(maker, model, level, error) : ef_fail_memory(error);
    return status == EFFACE_OK ? ef_make_levels(maker, model, 0, 0, error) : status;
}

/* ---------------------------------------------------------------- fit */

/* Pyramid: the pilot, the starts on its sample, and the levels. */
static efface_status make_pyramid(ef_maker *maker, ef_kmeans *model, efface_error *error) {
    const size_t n = maker->data->n_rows;
    ef_level *const level = ef_kmeans_add_level(model, false);
    uint8_t *const marks = ef_alloc(n, sizeof *marks);
    efface_status status = level != NULL && marks != NULL
                               ? ef_pilot_make(maker, model, marks, error)
                               : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = ef_starts_run(&model->starts, model, maker->data, marks, error);
    if (status != EFFACE_OK) {
        ef_free(marks);
        return status;
    }
    ef_kept_take_marks(model, marks, n);
    model->start = ef_starts_best(model->plan.starts, model->starts.losses);
    ef_start_centers(model, &model->starts, model->start, level->centers);
    return ef_make_levels(maker, model, 0, 0, error);
}

/* Seeds and levels of a model that has at least one row. */
static efface_status make_all(ef_kmeans *model, const efface_data *data, efface_error *error) {
    ef_maker maker = {.data = data};
    const efface_status status = model->plan.method == EFFACE_METHOD_PYRAMID
                                     ? make_pyramid(&maker, model, error)
                                     : ef_make_run(&maker, model, error);
    ef_maker_free(&maker);
    return status;
}

efface_status ef_keep_params(ef_kmeans *model, const efface_kmeans_params *params, uint32_t d,
                             efface_error *error) {
    model->params = *params;
    if (params->method == EFFACE_METHOD_TREE && params->depth_clusters != NULL) {
        const size_t n_bytes = params->height * sizeof *model->depth_clusters;
        model->depth_clusters = ef_alloc(1, n_bytes);
        if (model->depth_clusters == NULL)
            return ef_fail_memory(error);
        memcpy(model->depth_clusters, params->depth_clusters, n_bytes);
    }
    model->params.depth_clusters = model->depth_clusters;
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

#define PASSES_TO_CONVERGE 20 /* a guess */

/* The multiply-adds that a fit may take: passes over all rows, plain seeding and what comes with it
 * as two more. */
static double expected_work(const ef_kmeans *model, const efface_data *data) {
    const ef_plan *const plan = &model->plan;
    const uint32_t passes = plan->method == EFFACE_METHOD_PYRAMID ? plan->passes
                            : model->params.iterations != 0       ? model->params.iterations
                                                                  : PASSES_TO_CONVERGE;
    return (double)(data->n_rows / EF_PANEL + 1) *
           ((double)(passes + 2) * (double)ef_pass_operations(data->n_columns, plan->n_clusters) +
            (double)ef_seed_operations(plan, data->n_columns));
}

efface_status efface_kmeans_fit(const efface_data *data, const efface_kmeans_params *params,
                                ef_kmeans **out, efface_error *error) {
    if (data == NULL || params == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data, params and out must not be NULL");
    const efface_status status = ef_params_check(params, error);
    if (status != EFFACE_OK)
        return status;
    const efface_kmeans_params used = ef_params_used(params);
    const efface_status done = ef_kmeans_fit_draw(data, &used, 0, out, error);
    ef_wipe_stack(EF_DEEP_STACK);
    return done;
}

/* `draws`, if it is there, has the draws of the nodes. */
static efface_status fit_draws(const efface_data *data, const efface_kmeans_params *params,
                               uint32_t draw, const ef_tree *draws, ef_kmeans **out,
                               efface_error *error) {
    const ef_kernels *kernels = NULL;
    efface_status status = ef_kernels_require(&kernels, error);
    if (status != EFFACE_OK)
        return status;
    ef_kmeans *const model = ef_alloc_zero(1, sizeof *model);
    if (model == NULL)
        return ef_fail_memory(error);
    status = ef_plan_init(&model->plan, data, params, error);
    model->draw = draw;
    model->plan.seed = ef_seed_of_draw(params->common.seed, draw);
    if (status == EFFACE_OK)
        status = ef_keep_params(model, params, data->n_columns, error);
    if (status == EFFACE_OK)
        status = ef_domain_init(&model->domain, data, params, error);
    if (status != EFFACE_OK)
        goto out;
    model->n_rows = data->n_rows;
    model->total_weight = data->total_weight;
    model->stamp = data->stamp;
    ef_progress progress = {.told = params->common.progress,
                            .context = params->common.interrupt_context};
    if (params->common.progress != NULL) {
        progress.expected = expected_work(model, data);
        model->plan.interrupt.progress = &progress;
    }
    if (params->method == EFFACE_METHOD_TREE) {
        model->tree = ef_tree_create(&model->plan, &model->params);
        if (model->tree != NULL && draws != NULL)
            ef_tree_take_draws(model->tree, draws);
        status = model->tree != NULL ? ef_tree_fit(model, data, error) : ef_fail_memory(error);
    } else if (model->plan.method != EFFACE_METHOD_PYRAMID) {
        model->seeds = ef_alloc_zero(model->plan.n_clusters, sizeof *model->seeds);
        const uint32_t k = model->plan.n_clusters;
        const bool fits = !ef_keeps_rounds(&model->plan) ||
                          ef_rounds_init(&model->rounds, k != 0 ? k - 1 : 0, model->plan.candidates,
                                         data->n_columns);
        if (model->seeds == NULL || !fits)
            status = ef_fail_memory(error);
    }
    if (status == EFFACE_OK && data->n_rows != 0 && params->method != EFFACE_METHOD_TREE)
        status = make_all(model, data, error);
    if (status == EFFACE_OK)
        ef_tell(model->plan.interrupt.progress, 1.0);
out:
    model->plan.interrupt.progress = NULL;
    if (status != EFFACE_OK)
        efface_kmeans_free(model);
    else
        *out = model;
    return status;
}

efface_status ef_kmeans_fit_draw(const efface_data *data, const efface_kmeans_params *params,
                                 uint32_t draw, ef_kmeans **out, efface_error *error) {
    return fit_draws(data, params, draw, NULL, out, error);
}

efface_status ef_kmeans_fit_again(const efface_data *data, const ef_kmeans *model, ef_kmeans **out,
                                  efface_error *error) {
    return fit_draws(data, &model->params, model->draw, model->tree, out, error);
}
