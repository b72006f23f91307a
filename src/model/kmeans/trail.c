/* The trails of starts: runs on the sample that follow the run before (trail.h). */
#include "model/kmeans/trail.h"

#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/levels.h"

#include <string.h>

bool ef_trail_init(ef_trail *trail, uint32_t most) {
    *trail = (ef_trail){.steps = ef_alloc_zero(most, sizeof *trail->steps), .most = most};
    return trail->steps != NULL;
}

static void step_free(ef_step *step) {
    ef_guard_free(&step->guard);
    ef_free(step->counts);
    ef_free(step->sums);
    *step = (ef_step){0};
}

void ef_trail_cut(ef_trail *trail) {
    for (uint32_t t = trail->n_steps; t < trail->most; t++)
        step_free(&trail->steps[t]);
}

void ef_trail_free(ef_trail *trail) {
    trail->n_steps = 0;
    if (trail->steps != NULL)
        ef_trail_cut(trail);
    ef_free(trail->steps);
    *trail = (ef_trail){0};
}

size_t ef_trail_bytes(const ef_trail *trail, size_t n_rows, size_t k, size_t d) {
    size_t n = trail->most * sizeof *trail->steps;
    for (uint32_t t = 0; t < trail->most; t++) {
        const ef_step *const step = &trail->steps[t];
        if (step->sums != NULL)
            n += k * sizeof *step->counts + k * d * sizeof *step->sums +
                 (t == 0 ? n_rows : ef_guard_bytes(&step->guard, n_rows, k, d));
    }
    return n;
}

uint32_t ef_trail_steps(double n_bytes, size_t n_sample, uint32_t n_starts, uint32_t k,
                        uint32_t d) {
    const double sums = (double)k * d * sizeof(int64_t) + k * sizeof(int64_t) + sizeof(ef_step);
    const double first = n_starts * ((double)n_sample + sums);
    const double other =
        n_starts * (2.0 * (double)n_sample + sums + (double)k * d * sizeof(int32_t));
    if (n_bytes < first)
        return 0;
    const double steps = 1.0 + (n_bytes - first) / other;
    return steps < EFFACE_MAX_ITERATIONS ? (uint32_t)steps : EFFACE_MAX_ITERATIONS;
}

void ef_trail_leave(ef_trail *trail, const ef_change *change, size_t i, const ef_map *map,
                    const ef_kernels *kernels, size_t row, size_t last) {
    const int64_t weight = ef_change_weight(change, i);
    for (uint32_t t = 0; t < trail->n_steps; t++) {
        ef_step *const step = &trail->steps[t];
        const uint32_t cluster = ef_guard_label(&step->guard, row);
        step->counts[cluster] += weight;
        kernels->move_row(map, ef_change_first(change, i), weight,
                          step->sums + (size_t)cluster * map->n_columns, NULL);
        ef_guard_move_row(&step->guard, row, last);
    }
}

/* ---------------------------------------------------------------- a run */

/* Step number t, made if it is not there; NULL if memory is short. */
static ef_step *take_step(const ef_trailing *run, uint32_t t) {
    const uint32_t k = run->moving.n_clusters, d = run->moving.map->n_columns;
    const size_t n = run->moving.n_rows;
    ef_step *const step = &run->trail->steps[t];
    if (step->sums != NULL)
        return step;
    const bool fits =
        t == 0 ? ef_guard_init_labels(&step->guard, n, k) : ef_guard_init(&step->guard, n, k, d);
    step->counts = ef_alloc(k, sizeof *step->counts);
    step->sums = ef_alloc((size_t)k * d, sizeof *step->sums);
    if (fits && step->counts != NULL && step->sums != NULL)
        return step;
    step_free(step);
    return NULL;
}

efface_status ef_trailing_gather(ef_maker *maker, efface_error *error) {
    ef_trailing *const run = maker->trailing;
    if (maker->data == NULL) {
        const efface_status status = ef_data_copy_rows(run->moving.data, run->positions,
                                                       run->moving.n_rows, &run->copy, error);
        if (status != EFFACE_OK)
            return status;
        maker->data = run->copy;
    }
    return ef_maker_take_labels(maker, error);
}

/* Makes level t by a pass over the sample. If it is `known`, its counts and sums are those of the
 * trail's partition. */
static efface_status pass(ef_maker *maker, efface_kmeans *model, uint32_t t, bool known,
                          efface_error *error) {
    ef_trailing *const run = maker->trailing;
    ef_step *const step = t < run->trail->most ? take_step(run, t) : NULL;
    if (t < run->trail->most && step == NULL)
        run->trail->most = t; /* the trail ends here: a step that was there would have been taken */
    efface_status status = ef_trailing_gather(maker, error);
    const bool measures = step != NULL && t != 0 && ef_guard_wants_margins(&step->guard);
    if (status != EFFACE_OK)
        return status;
    if (measures) {
        ef_maker_take_margins(maker);
    } else {
        ef_free(maker->margins);
        maker->margins = NULL;
    }
    if (known)
        ef_guard_unpack(&step->guard, run->moving.n_rows, maker->labels);
    else if (t != 0 && run->labels_of != t - 1)
        ef_guard_unpack(&run->trail->steps[t - 1].guard, run->moving.n_rows, maker->labels);
    maker->previous = known ? &model->levels[t] : t != 0 ? &model->levels[t - 1] : NULL;
    run->labels_of = t;
    status = ef_make_partition(maker, model, &model->levels[t], error);
    if (status == EFFACE_OK && step != NULL)
        ef_guard_pack(&step->guard, run->moving.n_rows, maker->labels, maker->margins,
                      model->levels[t].centers, run->moving.n_clusters, run->moving.map->n_columns);
    return status;
}

efface_status ef_make_trailing(ef_maker *maker, efface_kmeans *model, uint32_t t,
                               efface_error *error) {
    ef_trailing *const run = maker->trailing;
    const size_t k = run->moving.n_clusters, n_values = k * run->moving.map->n_columns;
    ef_level *const level = &model->levels[t];
    const bool known = t < run->n_known;
    bool done = false;
    efface_status status = EFFACE_OK;
    if (known) {
        ef_step *const step = &run->trail->steps[t];
        memcpy(level->counts, step->counts, k * sizeof *level->counts);
        memcpy(level->sums, step->sums, n_values * sizeof *level->sums);
        done = t == 0; /* its centers, the seeds, are where they were */
        if (!done)
            status = ef_guard_move(&step->guard, &run->moving, level->centers, level->counts,
                                   level->sums, &done, error);
    }
    if (status == EFFACE_OK && !done)
        status = pass(maker, model, t, known, error);
    bool empty = false;
    for (size_t c = 0; c < k; c++)
        empty |= level->counts[c] == 0;
    if (status == EFFACE_OK && done && empty) { /* and to be started elsewhere: fit.c */
        status = ef_trailing_gather(maker, error);
        if (status == EFFACE_OK)
            ef_guard_unpack(&run->trail->steps[t].guard, run->moving.n_rows, maker->labels);
        run->labels_of = t;
    }
    if (status != EFFACE_OK)
        return status;
    if (t < run->trail->most) {
        memcpy(run->trail->steps[t].counts, level->counts, k * sizeof *level->counts);
        memcpy(run->trail->steps[t].sums, level->sums, n_values * sizeof *level->sums);
        run->trail->n_steps = t + 1;
    }
    level->has_partition = true;
    maker->previous = level;
    return EFFACE_OK;
}
