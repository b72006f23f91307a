/*
 * Partitions: every row to its nearest center, and sums that follow the rows that moved.
 *
 * From level to level most rows stay where they are. A row that moves is subtracted from the sum
 * of one cluster and added to another's; in integers that is exact, so the sums never have to be
 * made anew. Workers collect differences of their own, which are added up at the end.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/kmeans/definition/levels.h"

#include <string.h>

typedef struct pass {
    ef_workspace *space;
    const ef_centers *centers;
    uint32_t *labels;
    float *margins; /* wanted too, or NULL */
    bool squares;   /* wanted too */
    bool adds;      /* all rows come */
} pass;

void ef_worker_move_row(const ef_workspace *space, ef_worker *worker, size_t position,
                        uint32_t from, uint32_t to) {
    const size_t d = space->passes.map->n_columns;
    const int64_t weight = ef_data_weight(space->passes.data, position);
    int64_t *loses = NULL;
    worker->counts[to] += weight;
    if (from != EF_NO_CLUSTER) {
        worker->counts[from] -= weight;
        worker->rows_moved++;
        loses = worker->sums + from * d;
    }
    space->passes.kernels->move_row(space->passes.map, ef_data_first(space->passes.data, position),
                                    weight, worker->sums + to * d, loses);
}

/* Adds the squares of a panel's rows to the worker's sum. */
static void add_squares(const ef_workspace *space, ef_worker *worker, size_t panel) {
    int64_t squares[EF_PANEL];
    ef_passes_load(&space->passes, panel, worker->panel);
    space->passes.kernels->squares(worker->panel, space->passes.map->n_columns, squares);
    const unsigned n = ef_passes_rows(&space->passes, panel);
    for (unsigned i = 0; i < n; i++) {
        worker->square_sum +=
            (ef_i128)ef_data_weight(space->passes.data, panel * EF_PANEL + i) * squares[i];
        worker->most_square = squares[i] > worker->most_square ? squares[i] : worker->most_square;
    }
}

/* Adds all rows of a panel, none of which has a cluster yet. */
static void add_panel(const ef_workspace *space, ef_worker *worker, size_t panel,
                      const uint32_t *labels) {
    const unsigned n = ef_passes_rows(&space->passes, panel);
    const int64_t *const weights = space->passes.data->weights;
    const int64_t *const own = weights != NULL ? weights + panel * EF_PANEL : NULL;
    space->passes.kernels->add_rows(space->passes.map, ef_data_panel(space->passes.data, panel), n,
                                    labels, own, worker->sums);
    for (unsigned i = 0; i < n; i++)
        worker->counts[labels[i]] += own != NULL ? own[i] : 1;
}

/* ---------------------------------------------------------------- a pass */

static void assign_run(const pass *a, ef_worker *worker, size_t first, size_t n_panels) {
    const ef_workspace *const space = a->space;
    uint32_t nearest[EF_RUN * EF_PANEL];
    uint16_t movers[EF_RUN * EF_PANEL + 4];
    size_t n_movers = 0;
    const size_t begin = first * EF_PANEL, rest = space->passes.data->n_rows - begin;
    const size_t n_rows = n_panels * EF_PANEL < rest ? n_panels * EF_PANEL : rest;
    uint32_t *const labels = a->labels + begin;
    worker->rows_undecided += space->passes.kernels->assign(
        a->centers, space->passes.map, ef_data_panel(space->passes.data, first), n_rows, labels,
        worker->panel, nearest, movers, a->adds ? NULL : &n_movers,
        a->margins != NULL ? a->margins + begin : NULL);
    for (size_t p = 0; a->squares && p < n_panels; p++)
        add_squares(space, worker, first + p);
    if (a->adds) {
        for (size_t p = 0; p < n_panels; p++)
            add_panel(space, worker, first + p, nearest + p * EF_PANEL);
        memcpy(labels, nearest, n_rows * sizeof *labels);
        return;
    }
    for (size_t m = 0; m < n_movers; m++) {
        const size_t i = movers[m];
        ef_worker_move_row(space, worker, begin + i, labels[i], nearest[i]);
        labels[i] = nearest[i];
    }
}

static void assign_panels(void *context, unsigned number, size_t first, size_t last) {
    const pass *const a = context;
    ef_worker *const worker = &a->space->workers[number];
    const size_t most = ef_run_panels(a->space);
    for (size_t n; first < last; first += n) {
        n = last - first < most ? last - first : most;
        assign_run(a, worker, first, n);
    }
}

static void add_panels(void *context, unsigned number, size_t first, size_t last) {
    const pass *const a = context;
    const ef_workspace *const space = a->space;
    ef_worker *const worker = &space->workers[number];
    for (size_t p = first; p < last; p++)
        add_panel(space, worker, p, a->labels + p * EF_PANEL);
}

void ef_level_begin(const efface_data *data, uint32_t k, const ef_level *from, ef_level *to) {
    const size_t n_sums = (size_t)k * data->n_columns;
    if (ef_data_leads(data)) {
        memcpy(to->counts, from->counts, k * sizeof *to->counts);
        memcpy(to->sums, from->sums, n_sums * sizeof *to->sums);
    } else {
        memset(to->counts, 0, k * sizeof *to->counts);
        memset(to->sums, 0, n_sums * sizeof *to->sums);
    }
}

#define LIMBS 4 /* of 32 bits, in which a wide number is summed up together with others */

efface_status ef_level_share(const efface_data *data, uint32_t k, ef_level *level,
                             ef_i128 *square_sum, efface_error *error) {
    ef_team *const team = ef_data_team(data);
    const size_t n_sums = (size_t)k * data->n_columns, n_own = n_sums + k;
    if (team == NULL)
        return EFFACE_OK;
    int64_t *const all = ef_alloc(n_own + LIMBS, sizeof *all);
    if (all == NULL)
        return ef_fail_memory(error);
    int64_t *const limbs = all + n_own;
    memcpy(all, level->sums, n_sums * sizeof *all);
    memcpy(all + n_sums, level->counts, k * sizeof *all);
    for (unsigned i = 0; square_sum != NULL && i < LIMBS; i++)
        limbs[i] = (int64_t)((uint64_t)((ef_u128)*square_sum >> 32 * i) & UINT32_MAX);
    const efface_status status =
        ef_team_sum(team, all, n_own + (square_sum != NULL ? LIMBS : 0), error);
    if (status == EFFACE_OK) {
        memcpy(level->sums, all, n_sums * sizeof *all);
        memcpy(level->counts, all + n_sums, k * sizeof *all);
        if (square_sum != NULL)
            *square_sum = 0;
        for (unsigned i = 0; square_sum != NULL && i < LIMBS; i++)
            *square_sum += (ef_i128)((ef_u128)(uint64_t)limbs[i] << 32 * i);
    }
    ef_free(all);
    return status;
}

efface_status ef_partition_collect(ef_workspace *space, ef_level *level, size_t n_looked,
                                   ef_i128 *square_sum, efface_error *error) {
    const size_t k = space->n_clusters, n_sums = k * space->passes.map->n_columns;
    if (square_sum != NULL)
        *square_sum = space->most_square = 0;
    for (unsigned w = 0; w < space->passes.n_workers; w++) {
        ef_worker *const worker = &space->workers[w];
        for (size_t c = 0; c < k; c++)
            level->counts[c] += worker->counts[c];
        for (size_t i = 0; i < n_sums; i++)
            level->sums[i] += worker->sums[i];
        if (square_sum != NULL) {
            *square_sum += worker->square_sum;
            if (worker->most_square > space->most_square)
                space->most_square = worker->most_square;
        }
        memset(worker->counts, 0, k * sizeof *worker->counts);
        memset(worker->sums, 0, n_sums * sizeof *worker->sums);
        worker->square_sum = 0;
    }
    space->rows_assigned += n_looked;
    level->has_partition = true;
    return ef_level_share(space->passes.data, space->n_clusters, level, square_sum, error);
}

void ef_count_work(ef_workspace *space, ef_kmeans *model) {
    model->work.rows_assigned += space->rows_assigned;
    space->rows_assigned = 0;
    for (unsigned w = 0; w < space->passes.n_workers; w++) {
        ef_worker *const worker = &space->workers[w];
        model->work.rows_undecided += worker->rows_undecided;
        model->work.rows_moved += worker->rows_moved;
        worker->rows_undecided = worker->rows_moved = 0;
    }
}

/* By all workers: memory that is touched for the first time is slow. */
static void clear_labels(void *context, unsigned worker, size_t first, size_t last) {
    const pass *const a = context;
    const size_t begin = first * EF_PANEL, end = last * EF_PANEL, n = a->space->passes.data->n_rows;
    (void)worker;
    memset(a->labels + begin, 0xFF, ((end < n ? end : n) - begin) * sizeof *a->labels);
}

efface_status ef_partition(ef_workspace *space, ef_level *level, const ef_level *previous,
                           uint32_t *labels, float *margins, ef_i128 *square_sum,
                           efface_error *error) {
    const size_t k = space->n_clusters;
    ef_centers centers;
    if (!ef_centers_init(&centers, level->centers, (uint32_t)k, space->passes.map->n_columns,
                         space->passes.kernels->tile))
        return ef_fail_memory(error);
    if (!ef_centers_fold(&centers, space->passes.map, space->most_square) ||
        !ef_centers_round(&centers, space->passes.kernels->rounds_to)) {
        ef_centers_free(&centers);
        return ef_fail_memory(error);
    }
    if (previous != NULL && previous != level)
        ef_level_begin(space->passes.data, space->n_clusters, previous, level);
    pass a = {.space = space,
              .centers = &centers,
              .labels = labels,
              .margins = margins,
              .squares = square_sum != NULL,
              .adds = previous == NULL};
    efface_status status = EFFACE_OK;
    if (a.adds)
        status = ef_passes_run(&space->passes, EF_PANEL, clear_labels, &a, error);
    EF_THEN(status, ef_workspace_run(space, assign_panels, &a, error));
    EF_THEN(status,
            ef_partition_collect(space, level, space->passes.data->n_rows, square_sum, error));
    ef_centers_free(&centers);
    return status;
}

efface_status ef_partition_labelled(ef_workspace *space, ef_level *level, uint32_t *labels,
                                    ef_i128 *square_sum, efface_error *error) {
    pass a = {.space = space, .labels = labels};
    efface_status status = ef_passes_run(
        &space->passes, ef_pass_operations(space->passes.map->n_columns, 0), add_panels, &a, error);
    EF_THEN(status,
            ef_partition_collect(space, level, space->passes.data->n_rows, square_sum, error));
    return status;
}

ef_i128 ef_run_loss(const ef_run *run, const ef_level *level) {
    const uint32_t d = run->n_columns;
    ef_i128 loss = run->square_sum;
    for (uint32_t c = 0; c < run->plan->n_clusters; c++) {
        const int32_t *const center = level->centers + (size_t)c * d;
        const int64_t *const sum = level->sums + (size_t)c * d;
        int64_t square = 0;
        for (uint32_t j = 0; j < d; j++) {
            loss -= 2 * (ef_i128)center[j] * sum[j];
            square += (int64_t)center[j] * center[j];
        }
        loss += (ef_i128)level->counts[c] * square;
    }
    return loss;
}

ef_i128 ef_level_loss(const ef_kmeans *model, const ef_level *level) {
    const ef_run run = ef_run_of(model);
    return ef_run_loss(&run, level);
}
