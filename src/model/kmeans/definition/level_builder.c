/*
 * The builder of levels, and ways to make their partitions: by a pass over all rows, or by labels
 * that seeding left. Those by what is kept, to look at few rows, are in kept.c.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/kmeans/definition/levels.h"

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
    ef_row_margins_free(&builder->row_margins);
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

/* ---------------------------------------------------------------- by a pass, by labels */

efface_status ef_make_partition(ef_level_builder *builder, ef_kmeans *model, ef_level *level,
                                ef_i128 *square_sum, efface_error *error) {
    efface_status status = ef_builder_prepare(builder, model, error);
    EF_THEN(status, ef_builder_take_labels(builder, error));
    EF_THEN(status, ef_partition(&builder->space, level, builder->previous, builder->labels,
                                 builder->margins, square_sum, error));
    if (status == EFFACE_OK)
        ef_count_work(&builder->space, model);
    builder->previous = level;
    return status;
}

efface_status ef_by_pass(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                         efface_error *error) {
    ef_level *const level = &model->levels[t];
    if (builder->previous == NULL || !ef_row_margins_pay(&model->plan, model->domain.map.n_columns))
        return ef_make_partition(builder, model, level, NULL, error);
    efface_status status = ef_builder_prepare(builder, model, error);
    EF_THEN(status, ef_partition_by_margins(&builder->space, level, builder->previous,
                                            builder->labels, &builder->row_margins, error));
    if (status == EFFACE_OK)
        ef_count_work(&builder->space, model);
    builder->previous = level;
    return status;
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
