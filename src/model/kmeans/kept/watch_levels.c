/*
 * Levels with watches: a change of the rows moves the centers of a level a little, and its watch
 * tells which rows to look at (watch.h).
 *
 * A model gets watches with the second change that makes levels anew, for only then is it worth
 * their memory. The watch of a level belongs to its partition in the model before the change; it
 * follows the rows that leave and come, and then the centers. From that moment on it belongs to the
 * model to be: if that comes to nothing, the watches are dropped.
 *
 * A watch that cannot be had, for want of memory or because there are too many rows, is missing: a
 * pass over all rows does the same. No request fails for it.
 */
#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/definition/levels.h"

#include <math.h>
#include <string.h>

void ef_watches_drop(ef_kmeans *model, uint32_t first) {
    for (uint32_t t = first; t < model->n_watches; t++)
        ef_watch_free(&model->watches[t]);
}

/* A place for the watch of level t; NULL if memory is short. */
static ef_watch *watch_of(ef_kmeans *model, uint32_t t) {
    if (t < model->n_watches)
        return &model->watches[t];
    ef_watch *const more = ef_realloc(model->watches, (size_t)t + 1, sizeof *more);
    if (more == NULL)
        return NULL;
    memset(more + model->n_watches, 0, (t + 1 - model->n_watches) * sizeof *more);
    model->watches = more;
    model->n_watches = t + 1;
    return &more[t];
}

/* Moves the centers of a watched level to where they now are. `done` is false if it takes a pass
 * over all rows; then labels, counts and sums are ready for one. */
static efface_status move_watched(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                                  bool *done, efface_error *error) {
    const ef_level *const old = &builder->watched.from->levels[t];
    const ef_change *const change = builder->watched.change;
    const ef_map *const map = &model->domain.map;
    const uint32_t k = model->plan.n_clusters, d = map->n_columns;
    ef_level *const level = &model->levels[t];
    ef_moving moving = {
        .data = builder->data,
        .map = map,
        .n_clusters = k,
        .before = old->centers,
        .after = level->centers,
        .counts = level->counts,
        .sums = level->sums,
        .room = builder->watched.room,
        .shift = &builder->watched.shift,
        .look = &builder->watched.look,
    };
    efface_status status = ef_kernels_require(&moving.kernels, error);
    if (status != EFFACE_OK)
        return status;
    memcpy(level->counts, old->counts, k * sizeof *level->counts);
    memcpy(level->sums, old->sums, (size_t)k * d * sizeof *level->sums);
    for (size_t i = 0; i < change->n_rows; i++) {
        if (!change->leaves[i])
            continue;
        const uint32_t cluster = builder->watched.gone[t * change->n_rows + i];
        level->counts[cluster] -= change->rows[i].weight;
        moving.kernels->move_row(map, ef_change_first(change, i), -change->rows[i].weight,
                                 level->sums + (size_t)cluster * d, NULL);
    }
    *done = ef_watch_move(&model->watches[t], &moving);
    /* Some rows are looked at twice; and if there is a pass, it counts for all. */
    const uint64_t n = builder->data->n_rows;
    model->rows_assigned += !*done ? 0 : moving.rows_looked < n ? moving.rows_looked : n;
    model->rows_moved += moving.rows_moved;
    model->rows_undecided += moving.rows_undecided;
    if (*done) {
        level->has_partition = true;
        builder->watched.labels_are_old = true;
        return EFFACE_OK;
    }
    status = ef_builder_take_labels(builder, error);
    if (status == EFFACE_OK)
        ef_watch_labels(&model->watches[t], builder->labels);
    builder->watched.labels_are_old = false;
    builder->previous = level;
    return status;
}

/* Watches a level from now on, if it can be done: else it has no watch. */
static void watch_level(const ef_level_builder *builder, ef_kmeans *model, uint32_t t) {
    const ef_level *const level = &model->levels[t];
    ef_watch *const watch = watch_of(model, t);
    if (watch == NULL)
        return;
    const double weight = (double)model->total_weight;
    const double square = (double)ef_level_loss(model, level) / weight;
    /* What one row moves the center of its cluster by; from level to level that grows. */
    const double usual = 4.0 * sqrt(square) * model->plan.n_clusters / weight;
    /* One that was there is of centers that have moved. */
    if (builder->margins == NULL ||
        !ef_watch_make(watch, builder->data, &model->domain.map, level, model->plan.n_clusters,
                       builder->labels, builder->margins, usual))
        ef_watch_free(watch);
}

static bool is_watched(const ef_level_builder *builder, const ef_kmeans *model, uint32_t t) {
    return builder->watched.from != NULL && t < builder->watched.from->n_levels &&
           t < model->n_watches && model->watches[t].tiers != NULL;
}

efface_status ef_unpack_labels(ef_level_builder *builder, const ef_kmeans *model, uint32_t t,
                               efface_error *error) {
    const efface_status status = ef_builder_take_labels(builder, error);
    if (status == EFFACE_OK && builder->watched.labels_are_old)
        ef_watch_labels(&model->watches[t], builder->labels);
    builder->watched.labels_are_old = false;
    return status;
}

efface_status ef_by_watch(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                          efface_error *error) {
    efface_status status = EFFACE_OK;
    bool done = false;
    if (is_watched(builder, model, t))
        status = move_watched(builder, model, t, &done, error);
    else if (builder->watched.labels_are_old)
        status = ef_unpack_labels(builder, model, t - 1, error);
    if (status == EFFACE_OK && done)
        builder->previous = &model->levels[t];
    if (status != EFFACE_OK || done)
        return status;
    ef_builder_take_margins(builder);
    status = ef_make_partition(builder, model, &model->levels[t], NULL, error);
    if (status == EFFACE_OK)
        watch_level(builder, model, t);
    return status;
}
