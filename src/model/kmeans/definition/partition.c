/*
 * Partitions: every row to its nearest center, and sums that follow the rows that moved.
 *
 * From level to level most rows stay where they are. A row that moves is subtracted from the sum
 * of one cluster and added to another's; in integers that is exact, so the sums never have to be
 * made anew. Workers collect differences of their own, which are added up at the end.
 */
#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/definition/levels.h"

#include <string.h>

#define RUN_BYTES 32768

typedef struct pass {
    ef_workspace *space;
    const ef_centers *centers;
    uint32_t *labels;
    float *margins; /* wanted too, or NULL */
    bool squares;   /* wanted too */
    bool adds;      /* all rows come */
} pass;

/* Moves a row from one cluster, if it has one, to another. */
static void move_row(const ef_workspace *space, ef_worker *worker, size_t position, uint32_t from,
                     uint32_t to) {
    const size_t d = space->map->n_columns;
    const int64_t weight = ef_data_weight(space->data, position);
    int64_t *loses = NULL;
    worker->counts[to] += weight;
    if (from != EF_NO_CLUSTER) {
        worker->counts[from] -= weight;
        worker->rows_moved++;
        loses = worker->sums + from * d;
    }
    space->kernels->move_row(space->map, ef_data_first(space->data, position), weight,
                             worker->sums + to * d, loses);
}

/* Adds the squares of a panel's rows to the worker's sum. */
static void add_squares(const ef_workspace *space, ef_worker *worker, size_t panel) {
    int64_t squares[EF_PANEL];
    ef_workspace_load(space, worker, panel);
    space->kernels->squares(worker->panel, space->map->n_columns, squares);
    const unsigned n = ef_workspace_rows(space, panel);
    for (unsigned i = 0; i < n; i++) {
        worker->square_sum +=
            (ef_i128)ef_data_weight(space->data, panel * EF_PANEL + i) * squares[i];
        worker->most_square = squares[i] > worker->most_square ? squares[i] : worker->most_square;
    }
}

/* Adds all rows of a panel, none of which has a cluster yet. */
static void add_panel(const ef_workspace *space, ef_worker *worker, size_t panel,
                      const uint32_t *labels) {
    const unsigned n = ef_workspace_rows(space, panel);
    const int64_t *const weights = space->data->weights;
    const int64_t *const own = weights != NULL ? weights + panel * EF_PANEL : NULL;
    space->kernels->add_rows(space->map, ef_data_panel(space->data, panel), n, labels, own,
                             worker->sums);
    for (unsigned i = 0; i < n; i++)
        worker->counts[labels[i]] += own != NULL ? own[i] : 1;
}

/* ---------------------------------------------------------------- a pass */

static void assign_run(const pass *a, ef_worker *worker, size_t first, size_t n_panels) {
    const ef_workspace *const space = a->space;
    uint32_t nearest[EF_RUN * EF_PANEL];
    uint16_t movers[EF_RUN * EF_PANEL + 4];
    size_t n_movers = 0;
    const size_t begin = first * EF_PANEL, rest = space->data->n_rows - begin;
    const size_t n_rows = n_panels * EF_PANEL < rest ? n_panels * EF_PANEL : rest;
    uint32_t *const labels = a->labels + begin;
    worker->rows_undecided +=
        space->kernels->assign(a->centers, space->map, ef_data_panel(space->data, first), n_rows,
                               labels, worker->panel, nearest, movers, a->adds ? NULL : &n_movers,
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
        move_row(space, worker, begin + i, labels[i], nearest[i]);
        labels[i] = nearest[i];
    }
}

static void assign_panels(void *context, unsigned number, size_t first, size_t last) {
    const pass *const a = context;
    ef_worker *const worker = &a->space->workers[number];
    /* Rows that move are read again, column by column: they should still be in a cache. */
    const size_t near = 1 + RUN_BYTES / (a->space->map->n_columns * EF_PANEL * sizeof(float));
    const size_t most = near < EF_RUN ? near : EF_RUN;
    for (size_t n; first < last; first += n) {
        n = last - first < most ? last - first : most;
        assign_run(a, worker, first, n);
    }
}

static void add_panels(void *context, unsigned number, size_t first, size_t last) {
    const pass *const a = context;
    const ef_workspace *const space = a->space;
    ef_worker *const worker = &space->workers[number];
    for (size_t p = first; p < last; p++) {
        const size_t begin = p * EF_PANEL;
        if (a->adds)
            add_panel(space, worker, p, a->labels + begin);
        for (unsigned i = 0; !a->adds && i < ef_workspace_rows(space, p); i++)
            move_row(space, worker, begin + i, EF_NO_CLUSTER, a->labels[begin + i]);
    }
}

/* Adds up what the workers have, and clears it. */
static void collect(ef_workspace *space, ef_kmeans *model, ef_level *level, ef_i128 *square_sum) {
    const size_t k = model->plan.n_clusters, n_sums = k * space->map->n_columns;
    if (square_sum != NULL)
        *square_sum = space->most_square = 0;
    for (unsigned w = 0; w < space->n_workers; w++) {
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
        model->work.rows_undecided += worker->rows_undecided;
        model->work.rows_moved += worker->rows_moved;
        memset(worker->counts, 0, k * sizeof *worker->counts);
        memset(worker->sums, 0, n_sums * sizeof *worker->sums);
        worker->square_sum = 0;
        worker->rows_undecided = 0;
        worker->rows_moved = 0;
    }
    model->work.rows_assigned += space->data->n_rows;
    level->has_partition = true;
}

efface_status ef_partition(ef_workspace *space, ef_kmeans *model, ef_level *level,
                           const ef_level *previous, uint32_t *labels, float *margins,
                           ef_i128 *square_sum, efface_error *error) {
    const size_t k = model->plan.n_clusters, n_sums = k * space->map->n_columns;
    ef_centers centers;
    if (!ef_centers_init(&centers, level->centers, (uint32_t)k, space->map->n_columns,
                         space->kernels->tile))
        return ef_fail_memory(error);
    if (!ef_centers_fold(&centers, space->map, space->most_square)) {
        ef_centers_free(&centers);
        return ef_fail_memory(error);
    }
    if (previous != NULL && previous != level) {
        memcpy(level->counts, previous->counts, k * sizeof *level->counts);
        memcpy(level->sums, previous->sums, n_sums * sizeof *level->sums);
    }
    pass a = {.space = space,
              .centers = &centers,
              .labels = labels,
              .margins = margins,
              .squares = square_sum != NULL,
              .adds = previous == NULL};
    const efface_status status = ef_workspace_run(space, assign_panels, &a, error);
    if (status == EFFACE_OK)
        collect(space, model, level, square_sum);
    ef_centers_free(&centers);
    return status;
}

efface_status ef_partition_labelled(ef_workspace *space, ef_kmeans *model, ef_level *level,
                                    uint32_t *labels, ef_i128 *square_sum, efface_error *error) {
    pass a = {.space = space, .labels = labels, .adds = space->data->weights == NULL};
    const efface_status status = ef_workspace_run_light(
        space, ef_pass_operations(space->map->n_columns, 0), add_panels, &a, error);
    if (status == EFFACE_OK)
        collect(space, model, level, square_sum);
    return status;
}
