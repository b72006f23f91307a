/* The workspace of passes: memory for each worker, panels, and races. */
#include "model/workspace.h"

#include "base/checked.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/tape.h"

#include <string.h>

/* In multiply-adds, of which a worker does some ten in a nanosecond: what is worth a thread, what a
 * worker takes at a time at least, and what it does from one question to the next. To start a
 * thread and to wait for the last worker of each pass takes some 100 microseconds of a fit, and
 * more if others use the processors: a pass should take as long. */
#define WORTH_A_THREAD ((size_t)1 << 20)
#define WORTH_A_TURN ((size_t)1 << 16)
#define WORTH_A_QUESTION ((size_t)1 << 26)

size_t ef_pass_operations(uint32_t n_columns, uint32_t n_clusters) {
    return (size_t)EF_PANEL * n_columns * ((size_t)n_clusters + 8);
}

size_t ef_pass_grain(size_t operations) {
    return 1 + WORTH_A_TURN / operations;
}

unsigned ef_pass_threads(unsigned asked, size_t n_panels, size_t operations) {
    const size_t most = n_panels / (1 + WORTH_A_THREAD / operations);
    const unsigned wanted = asked != 0 ? asked : ef_cpu_count();
    return most == 0 ? 1 : most < wanted ? (unsigned)most : wanted;
}

static bool worker_init(ef_worker *worker, size_t n_columns, size_t n_clusters) {
    size_t n_sums;
    if (!ef_mul_size(n_clusters, n_columns, &n_sums))
        return false;
    worker->panel = ef_alloc_aligned(n_columns, EF_PANEL * sizeof *worker->panel);
    worker->point = ef_alloc(n_columns, sizeof *worker->point);
    worker->sums = ef_alloc_aligned(n_sums, sizeof *worker->sums);
    worker->counts = ef_alloc_zero(n_clusters, sizeof *worker->counts);
    if (worker->panel == NULL || worker->point == NULL || worker->sums == NULL ||
        worker->counts == NULL)
        return false;
    memset(worker->sums, 0, n_sums * sizeof *worker->sums);
    return true;
}

efface_status ef_workspace_init(ef_workspace *space, const efface_data *data, const ef_map *map,
                                const ef_plan *plan, efface_error *error) {
    const uint32_t n_clusters = plan->n_clusters;
    *space = (ef_workspace){
        .data = data,
        .map = map,
        .n_clusters = n_clusters,
        .n_panels = data->n_rows / EF_PANEL + (data->n_rows % EF_PANEL != 0),
        .most_square = (int64_t)data->n_columns * EF_GRID_MAX * EF_GRID_MAX,
        .interrupt = plan->interrupt,
    };
    const efface_status status = ef_kernels_require(&space->kernels, error);
    if (status != EFFACE_OK)
        return status;
    space->operations = ef_pass_operations(data->n_columns, n_clusters);
    space->pool =
        ef_pool_create(ef_pass_threads(plan->n_threads, space->n_panels, space->operations));
    bool fits = space->pool != NULL;
    if (fits) {
        space->n_workers = ef_pool_size(space->pool);
        space->workers = ef_alloc_zero(space->n_workers, sizeof *space->workers);
        fits = space->workers != NULL;
    }
    for (unsigned i = 0; fits && i < space->n_workers; i++)
        fits = worker_init(&space->workers[i], data->n_columns, n_clusters);
    if (fits)
        return EFFACE_OK;
    ef_workspace_free(space);
    return ef_fail_memory(error);
}

void ef_workspace_free(ef_workspace *space) {
    for (unsigned i = 0; space->workers != NULL && i < space->n_workers; i++) {
        ef_free(space->workers[i].panel);
        ef_free(space->workers[i].point);
        ef_free(space->workers[i].sums);
        ef_free(space->workers[i].counts);
    }
    ef_free(space->workers);
    ef_pool_free(space->pool);
    *space = (ef_workspace){0};
}

/* ---------------------------------------------------------------- passes */

/* The panels of a pass from one question to the next. */
typedef struct stretch {
    size_t first;
    ef_work work;
    void *context;
} stretch;

static void work_on_stretch(void *context, unsigned worker, size_t first, size_t last) {
    const stretch *const s = context;
    s->work(s->context, worker, s->first + first, s->first + last);
}

efface_status ef_workspace_run(ef_workspace *space, ef_work work, void *context,
                               efface_error *error) {
    return ef_workspace_run_light(space, space->operations, work, context, error);
}

efface_status ef_workspace_run_light(ef_workspace *space, size_t operations, ef_work work,
                                     void *context, efface_error *error) {
    const size_t most = space->n_workers * (1 + WORTH_A_QUESTION / operations);
    stretch s = {0, work, context};
    efface_status status = EFFACE_OK;
    for (; status == EFFACE_OK && s.first < space->n_panels; s.first += most) {
        const size_t rest = space->n_panels - s.first;
        status = ef_ask(&space->interrupt, error);
        if (status == EFFACE_OK)
            ef_pool_run(space->pool, rest < most ? rest : most, ef_pass_grain(operations),
                        work_on_stretch, &s);
        ef_tell_work(space->interrupt.progress,
                     (double)(rest < most ? rest : most) * (double)operations);
    }
    return status;
}

/* ---------------------------------------------------------------- panels */

void ef_workspace_load(const ef_workspace *space, ef_worker *worker, size_t panel) {
    space->kernels->snap(space->map, ef_data_panel(space->data, panel),
                         ef_workspace_rows(space, panel), worker->panel);
}

void ef_workspace_ids(const ef_workspace *space, size_t panel, uint64_t ids[EF_PANEL]) {
    ef_row_ids_panel(&space->data->ids, panel * EF_PANEL, ef_workspace_rows(space, panel), ids);
}

void ef_workspace_snap(const ef_workspace *space, size_t position, int32_t *point) {
    const float *const row = ef_data_first(space->data, position);
    for (uint32_t j = 0; j < space->map->n_columns; j++)
        point[j] = ef_snap(row[(size_t)j * EF_PANEL], space->map->low[j], space->map->step[j]);
}

/* ---------------------------------------------------------------- races */

void ef_candidate_offer(ef_candidate *best, const ef_candidate *candidate) {
    const ef_winner *const a = &candidate->winner, *const b = &best->winner;
    if (a->key < b->key || (a->key == b->key && a->id < b->id))
        *best = *candidate;
}

static const ef_candidate nobody = {{UINT64_MAX, __builtin_inf()}, EF_NO_POSITION};

void ef_workspace_begin_race(ef_workspace *space) {
    for (unsigned i = 0; i < space->n_workers; i++)
        space->workers[i].best = nobody;
}

ef_candidate ef_workspace_end_race(const ef_workspace *space) {
    ef_candidate best = nobody;
    for (unsigned i = 0; i < space->n_workers; i++)
        ef_candidate_offer(&best, &space->workers[i].best);
    return best;
}

double ef_race_key(uint64_t bits, int64_t weight, int64_t distance) {
    return ef_tape_exponential(bits) / ((double)weight * (double)distance);
}
