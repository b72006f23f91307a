/*
 * The builder of levels, and the ways to make their partitions: by a pass over all rows, by labels
 * that seeding left, or, for a model that follows a change, by what it keeps to look at few rows.
 */
#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/definition/levels.h"

#include <string.h>

efface_status ef_builder_prepare(ef_level_builder *builder, const ef_kmeans *model,
                                 efface_error *error) {
    if (builder->space.passes.pool != NULL)
        return EFFACE_OK;
    return ef_workspace_init(&builder->space, builder->data, &model->domain.map, &model->plan,
                             error);
}

void ef_builder_free(ef_level_builder *builder) {
    ef_workspace_free(&builder->space);
    ef_free(builder->labels);
    ef_free(builder->margins);
    ef_free(builder->watched.room);
    ef_free(builder->watched.gone);
    ef_shift_free(&builder->watched.shift);
    ef_free(builder->watched.look.at);
    *builder = (ef_level_builder){0};
}

efface_status ef_builder_take_labels(ef_level_builder *builder, efface_error *error) {
    if (builder->labels == NULL)
        builder->labels = ef_alloc(builder->data->n_rows, sizeof *builder->labels);
    return builder->labels != NULL ? EFFACE_OK : ef_fail_memory(error);
}

void ef_builder_take_margins(ef_level_builder *builder) {
    const size_t n_panels = (builder->data->n_rows + EF_PANEL - 1) / EF_PANEL;
    if (builder->margins == NULL)
        builder->margins = ef_alloc_aligned(n_panels, EF_PANEL * sizeof *builder->margins);
}

/* ---------------------------------------------------------------- by a pass */

efface_status ef_make_partition(ef_level_builder *builder, ef_kmeans *model, ef_level *level,
                                ef_i128 *square_sum, efface_error *error) {
    efface_status status = ef_builder_prepare(builder, model, error);
    if (status == EFFACE_OK)
        status = ef_builder_take_labels(builder, error);
    if (status == EFFACE_OK)
        status = ef_partition(&builder->space, level, builder->previous, builder->labels,
                              builder->margins, square_sum, error);
    if (status == EFFACE_OK)
        ef_count_work(&builder->space, model);
    builder->previous = level;
    return status;
}

efface_status ef_by_pass(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                         efface_error *error) {
    return ef_make_partition(builder, model, &model->levels[t], NULL, error);
}

efface_status ef_by_first_pass(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                               efface_error *error) {
    builder->way = ef_by_pass;
    return ef_make_partition(builder, model, &model->levels[t], &model->square_sum, error);
}

efface_status ef_by_labels(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                           efface_error *error) {
    const efface_status status = ef_partition_labelled(&builder->space, &model->levels[t],
                                                       builder->labels, &model->square_sum, error);
    if (status == EFFACE_OK)
        ef_count_work(&builder->space, model);
    builder->way = ef_by_pass;
    builder->previous = &model->levels[t];
    return status;
}

/* ---------------------------------------------------------------- by the guard */

/* By the guard, if few rows can have moved. */
static efface_status move_guarded(ef_level_builder *builder, ef_kmeans *model, ef_level *level,
                                  bool *done, efface_error *error) {
    const size_t k = model->plan.n_clusters, n_values = k * model->domain.map.n_columns;
    ef_guarded moving;
    memcpy(level->counts, builder->previous->counts, k * sizeof *level->counts);
    memcpy(level->sums, builder->previous->sums, n_values * sizeof *level->sums);
    efface_status status =
        ef_guarded_init(&moving, builder->data, &model->domain.map, (uint32_t)k, error);
    if (status == EFFACE_OK)
        status = ef_guard_move(&model->guard, &moving, level->centers, level->counts, level->sums,
                               done, error);
    ef_guarded_free(&moving);
    model->rows_assigned += moving.rows_looked;
    model->rows_moved += moving.rows_moved;
    model->rows_undecided += moving.rows_undecided;
    return status;
}

/* Whether what follows a level asks for its partition. */
static bool needs_labels(const ef_kmeans *model, const ef_level *level) {
    bool empty = false;
    for (uint32_t c = 0; c < model->plan.n_clusters; c++)
        empty |= level->counts[c] == 0;
    return empty || model->plan.passes > 1;
}

efface_status ef_by_guard(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                          efface_error *error) {
    const size_t n = builder->data->n_rows;
    ef_level *const level = &model->levels[t];
    const bool is_fit = builder->previous == NULL;
    bool done = false;
    efface_status status = EFFACE_OK;
    builder->way = ef_by_pass;
    if (!is_fit)
        status = move_guarded(builder, model, level, &done, error);
    const bool unpacks = !is_fit && (!done || needs_labels(model, level));
    if (status == EFFACE_OK && unpacks)
        status = ef_builder_take_labels(builder, error);
    if (status == EFFACE_OK && unpacks)
        ef_guard_unpack(&model->guard, n, builder->labels);
    if (status == EFFACE_OK && done) {
        level->has_partition = true;
        builder->previous = level;
    }
    if (status != EFFACE_OK || done)
        return status;
    if (ef_guard_wants_margins(&model->guard))
        ef_builder_take_margins(builder);
    status = ef_make_partition(builder, model, level, is_fit ? &model->square_sum : NULL, error);
    if (status == EFFACE_OK)
        ef_guard_pack(&model->guard, n, builder->labels, builder->margins, level->centers,
                      model->plan.n_clusters, model->domain.map.n_columns);
    ef_free(builder->margins); /* those of later levels may not be wanted */
    builder->margins = NULL;
    return status;
}
