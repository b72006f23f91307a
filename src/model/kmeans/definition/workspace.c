/* The workspace of k-means: memory for each worker of its passes. */
#include "model/kmeans/definition/workspace.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"

static bool worker_init(ef_worker *worker, uint32_t d, uint32_t k) {
    const ef_array arrays[] = {{&worker->panel, ef_assign_room(k, d), sizeof *worker->panel},
                               {&worker->point, d, sizeof *worker->point},
                               {&worker->sums, k, d * sizeof *worker->sums},
                               {&worker->counts, k, sizeof *worker->counts}};
    worker->block = EF_ARRAYS_TAKE(arrays, true);
    return worker->block != NULL;
}

efface_status ef_workspace_init(ef_workspace *space, const efface_data *data, const ef_map *map,
                                const ef_kmeans_plan *plan, efface_error *error) {
    const uint32_t d = data->n_columns, k = plan->n_clusters;
    *space = (ef_workspace){.n_clusters = k, .most_square = (int64_t)d * EF_GRID_MAX * EF_GRID_MAX};
    const efface_status status = ef_passes_init(&space->passes, data, map, ef_pass_operations(d, k),
                                                plan->n_threads, plan->interrupt, error);
    if (status != EFFACE_OK)
        return status;
    const unsigned n = space->passes.n_workers;
    space->workers = ef_alloc_zero(n, sizeof *space->workers);
    bool fits = space->workers != NULL;
    for (unsigned i = 0; fits && i < n; i++)
        fits = worker_init(&space->workers[i], d, k);
    if (fits)
        return EFFACE_OK;
    ef_workspace_free(space);
    return ef_fail_memory(error);
}

void ef_workspace_free(ef_workspace *space) {
    for (unsigned i = 0; space->workers != NULL && i < space->passes.n_workers; i++)
        ef_free(space->workers[i].block);
    ef_free(space->workers);
    ef_passes_free(&space->passes);
    *space = (ef_workspace){0};
}

efface_status ef_workspace_run(ef_workspace *space, ef_work work, void *context,
                               efface_error *error) {
    const size_t operations = ef_pass_operations(space->passes.map->n_columns, space->n_clusters);
    return ef_passes_run(&space->passes, operations, work, context, error);
}

void ef_workspace_begin_race(ef_workspace *space) {
    for (unsigned i = 0; i < space->passes.n_workers; i++)
        space->workers[i].best = EF_NOBODY;
}

efface_status ef_workspace_end_race(const ef_workspace *space, ef_racer *best, int32_t *point,
                                    efface_error *error) {
    *best = EF_NOBODY;
    for (unsigned i = 0; i < space->passes.n_workers; i++)
        ef_candidate_offer(best, &space->workers[i].best);
    return ef_races_end(&space->passes, best, 1, point, error);
}
