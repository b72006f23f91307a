/*
 * What is kept (kept.h), and levels made with it: a change of the rows moves the centers of a level
 * a little, and margins tell which rows to look at.
 *
 * A model of lloyd gets margins with the second change that makes levels anew. The margins of a
 * level belong to its partition in the model before the change; they follow the rows that leave and
 * come, and then the centers.
 */
#include "model/kmeans/kept/kept.h"

#include "base/memory/memory.h"
#include "model/kmeans/sampling/trial.h"

#include <math.h>
#include <string.h>

ef_kept *ef_kept_get(ef_kmeans *model) {
    if (model->kept == NULL)
        model->kept = ef_alloc_zero(1, sizeof *model->kept);
    return model->kept;
}

void ef_kept_drop_margins(ef_kept *kept, uint32_t first) {
    for (uint32_t t = first; t < kept->n_margins; t++)
        ef_level_margins_free(&kept->margins[t]);
}

void ef_kept_free(ef_kept *kept) {
    if (kept == NULL)
        return;
    ef_kept_labels_free(&kept->labels);
    ef_kept_drop_margins(kept, 0);
    ef_free(kept->margins);
    ef_trial_free(kept->trial);
    ef_free(kept);
}

void ef_kept_drop(ef_kmeans *model) {
    ef_kept_free(model->kept);
    model->kept = NULL;
}

size_t ef_kept_bytes(const ef_kmeans *model) {
    const size_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    const ef_kept *const kept = model->kept;
    if (kept == NULL)
        return 0;
    size_t n = sizeof *kept + kept->n_margins * sizeof *kept->margins;
    for (uint32_t t = 0; t < kept->n_margins; t++)
        n += ef_level_margins_bytes(&kept->margins[t], k, d);
    n += kept->trial != NULL ? ef_trial_bytes(kept->trial) : 0;
    return n + ef_kept_labels_bytes(&kept->labels, (size_t)model->n_rows, k, d);
}

/* ---------------------------------------------------------------- labels of level 0 */

void ef_kept_take_marks(ef_kmeans *model, uint8_t *marks, size_t n_rows) {
    ef_kept *const kept = ef_kept_get(model);
    if (kept == NULL || !ef_kept_labels_init(&kept->labels, marks, n_rows, model->plan.n_clusters,
                                             model->domain.map.n_columns))
        ef_free(marks);
}

/* Lets a move begin with the counts and sums of a level as it was, and end with those of a level
 * with other centers. */
static void aim(ef_center_move *move, const ef_level *from, ef_level *to) {
    ef_level_begin(move->data, move->n_clusters, from, to);
    move->before = from->centers;
    move->after = to->centers;
    move->counts = to->counts;
    move->sums = to->sums;
    move->work = (ef_work_done){0};
}

/* Moves the centers of level 0 to where they now are. False if it takes a pass over all rows, which
 * begins with the counts and sums of builder->previous. */
static bool move_by_labels(const ef_level_builder *builder, ef_kmeans *model, ef_level *level,
                           ef_kept_labels *kept) {
    ef_center_move move;
    const bool fits = ef_center_move_init(&move, builder->data, &model->domain.map,
                                          ef_kernels_get(), model->plan.n_clusters);
    aim(&move, builder->previous, level);
    const bool done = fits && ef_kept_labels_move(kept, &move);
    ef_work_add(&model->work, &move.work);
    ef_center_move_free(&move);
    return done;
}

/* Whether what follows a level asks for its partition. */
static bool needs_labels(const ef_kmeans *model, const ef_level *level) {
    bool empty = false;
    for (uint32_t c = 0; c < model->plan.n_clusters; c++)
        empty |= level->counts[c] == 0;
    return empty || model->plan.passes > 1;
}

efface_status ef_by_kept_labels(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                                efface_error *error) {
    const size_t n = builder->data->n_rows;
    ef_level *const level = &model->levels[t];
    ef_kept_labels *const kept = ef_labels_kept(model);
    const bool begins = builder->previous != NULL;
    builder->way = ef_by_pass;
    const bool done = begins && move_by_labels(builder, model, level, kept);
    efface_status status = EFFACE_OK;
    if (done)
        status = ef_level_share(builder->data, model->plan.n_clusters, level, NULL, error);
    if (status == EFFACE_OK && begins && (!done || needs_labels(model, level))) {
        status = ef_builder_take_labels(builder, error);
        if (status == EFFACE_OK)
            ef_kept_labels_unpack(kept, n, builder->labels);
    }
    if (status == EFFACE_OK && done) {
        level->has_partition = true;
        builder->previous = level;
    }
    if (status != EFFACE_OK || done)
        return status;
    if (kept != NULL && ef_kept_labels_want_margins(kept))
        ef_builder_take_margins(builder);
    status = ef_make_partition(builder, model, level, begins ? NULL : &model->square_sum, error);
    if (status == EFFACE_OK && kept != NULL)
        ef_kept_labels_pack(kept, n, builder->labels, builder->margins, level->centers,
                            model->plan.n_clusters, model->domain.map.n_columns);
    ef_free(builder->margins); /* those of later levels may not be wanted */
    builder->margins = NULL;
    return status;
}

/* ---------------------------------------------------------------- margins of levels */

/* A place for the margins of level t; NULL if out of memory. */
static ef_level_margins *margins_of(ef_kept *kept, uint32_t t) {
    if (t < kept->n_margins)
        return &kept->margins[t];
    ef_level_margins *const more = ef_realloc(kept->margins, (size_t)t + 1, sizeof *more);
    if (more == NULL)
        return NULL;
    memset(more + kept->n_margins, 0, (t + 1 - kept->n_margins) * sizeof *more);
    kept->margins = more;
    kept->n_margins = t + 1;
    return &more[t];
}

/* Moves the centers of level t to where they now are. False if it takes a pass over all rows; kept
 * labels, counts and sums are then ready for one. */
static bool move_by_margins(const ef_level_builder *builder, ef_kmeans *model, uint32_t t) {
    ef_old_levels *const old = builder->old;
    const ef_change *const change = old->change;
    const uint32_t *const labels = old->labels + t * change->n_rows;
    ef_center_move *const move = &old->move;
    ef_level *const level = &model->levels[t];
    aim(move, &old->levels[t], level);
    for (size_t i = 0; i < change->n_rows; i++) {
        if (!change->leaves[i] || change->positions[i] == EF_NO_POSITION)
            continue;
        level->counts[labels[i]] -= change->rows[i].weight;
        move->kernels->move_row(move->map, ef_change_first(change, i), -change->rows[i].weight,
                                level->sums + (size_t)labels[i] * move->map->n_columns, NULL);
    }
    const bool done = ef_level_margins_move(&model->kept->margins[t], move);
    /* Some rows are looked at twice; and if there is a pass, it counts for all. */
    const uint64_t most = done ? builder->data->n_rows : 0;
    move->work.rows_assigned = move->work.rows_assigned < most ? move->work.rows_assigned : most;
    ef_work_add(&model->work, &move->work);
    return done;
}

/* Keeps the margins of a level from now on, if it can be done: else it has none. */
static void keep_margins(const ef_level_builder *builder, ef_kmeans *model, uint32_t t) {
    const ef_level *const level = &model->levels[t];
    ef_level_margins *const kept = margins_of(model->kept, t);
    if (kept == NULL)
        return;
    const double weight = (double)model->total_weight;
    const double square = (double)ef_level_loss(model, level) / weight;
    /* What one row moves the center of its cluster by; from level to level that grows. */
    const double usual = 4.0 * sqrt(square) * model->plan.n_clusters / weight;
    /* Those that were there are of centers that have moved. */
    if (builder->margins == NULL ||
        !ef_level_margins_make(kept, builder->data, &model->domain.map, level,
                               model->plan.n_clusters, builder->labels, builder->margins, usual))
        ef_level_margins_free(kept);
}

efface_status ef_unpack_labels(ef_level_builder *builder, const ef_kmeans *model, uint32_t t,
                               efface_error *error) {
    const efface_status status = ef_builder_take_labels(builder, error);
    ef_old_levels *const old = builder->old;
    if (status == EFFACE_OK && old != NULL && old->labels_are_old) {
        ef_level_margins_labels(&model->kept->margins[t], builder->labels);
        old->labels_are_old = false;
    }
    return status;
}

efface_status ef_by_margins(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                            efface_error *error) {
    ef_level *const level = &model->levels[t];
    bool has_margins = t < builder->old->n_levels && t < model->kept->n_margins &&
                       model->kept->margins[t].tiers != NULL;
    /* All ranks begin with the counts and sums of the same level. */
    efface_status status =
        ef_team_all(ef_data_team(builder->data), has_margins, &has_margins, error);
    if (status != EFFACE_OK)
        return status;
    const bool done = has_margins && move_by_margins(builder, model, t);
    if (has_margins) { /* which have the labels, of this level or, for a pass, near them */
        builder->old->labels_are_old = true;
        builder->previous = level;
    }
    level->has_partition = done;
    if (done)
        return ef_level_share(builder->data, model->plan.n_clusters, level, NULL, error);
    if (builder->old->labels_are_old)
        status = ef_unpack_labels(builder, model, has_margins ? t : t - 1, error);
    if (status != EFFACE_OK)
        return status;
    ef_builder_take_margins(builder);
    status = ef_make_partition(builder, model, level, NULL, error);
    if (status == EFFACE_OK)
        keep_margins(builder, model, t);
    return status;
}
