/*
 * Partitions: every row to its nearest center, and sums that follow the rows that moved.
 *
 * From level to level most rows stay where they are. A row that moves is subtracted from the sum
 * of one cluster and added to another's; in integers that is exact, so the sums never have to be
 * made anew. Workers collect differences of their own, which are added up at the end.
 */
#include "base/status.h"
#include "model/kmeans/levels.h"

#include <string.h>

typedef struct pass {
    ef_workspace *space;
    const ef_centers *centers;
    uint32_t *labels;
    bool first; /* no row belongs to a cluster yet */
} pass;

/* Adds row `row` of the worker's panel to one cluster and takes it from another, if there is one.
 * The row is read once for both. */
static void move_row(const ef_workspace *space, ef_worker *worker, unsigned row, int64_t weight,
                     uint32_t from, uint32_t to) {
    const size_t d = space->map->n_columns;
    const float *const values = worker->panel + row;
    int64_t *const gains = worker->sums + to * d;
    worker->counts[to] += weight;
    if (from == EF_NO_CLUSTER) {
        for (size_t j = 0; j < d; j++)
            gains[j] += weight * (int64_t)values[j * EF_PANEL];
        return;
    }
    int64_t *const loses = worker->sums + from * d;
    worker->counts[from] -= weight;
    for (size_t j = 0; j < d; j++) {
        const int64_t moved = weight * (int64_t)values[j * EF_PANEL];
        gains[j] += moved;
        loses[j] -= moved;
    }
}

static void assign_panels(void *context, unsigned number, size_t first, size_t last) {
    const pass *const a = context;
    const ef_workspace *const space = a->space;
    ef_worker *const worker = &space->workers[number];
    for (size_t p = first; p < last; p++) {
        float norm2[EF_PANEL];
        uint32_t nearest[EF_PANEL];
        const unsigned n = ef_workspace_rows(space, p);
        ef_workspace_load(space, worker, p, norm2);
        worker->rows_undecided +=
            space->kernels->nearest(a->centers, worker->panel, norm2, n,
                                    ef_workspace_ahead(space, p, last), nearest);
        int64_t squares[EF_PANEL];
        if (a->first)
            space->kernels->squares(worker->panel, space->map->n_columns, squares);
        for (unsigned i = 0; i < n; i++) {
            const size_t position = p * EF_PANEL + i;
            const uint32_t old = a->labels[position];
            if (nearest[i] == old)
                continue;
            const int64_t weight = ef_data_weight(space->data, position);
            move_row(space, worker, i, weight, old, nearest[i]);
            a->labels[position] = nearest[i];
            if (a->first)
                worker->square_sum += (ef_i128)weight * squares[i];
            else
                worker->rows_moved++;
        }
    }
}

efface_status ef_partition(ef_workspace *space, efface_kmeans *model, ef_level *level,
                           const ef_level *previous, uint32_t *labels, efface_error *error) {
    const size_t k = model->plan.n_clusters, n_sums = k * space->map->n_columns;
    ef_centers centers;
    if (!ef_centers_init(&centers, level->centers, (uint32_t)k, space->map->n_columns,
                         space->kernels->tile))
        return ef_fail_memory(error);
    if (previous != NULL) {
        memcpy(level->counts, previous->counts, k * sizeof *level->counts);
        memcpy(level->sums, previous->sums, n_sums * sizeof *level->sums);
    }
    pass a = {space, &centers, labels, previous == NULL};
    ef_workspace_run(space, assign_panels, &a);
    for (unsigned w = 0; w < space->n_workers; w++) {
        ef_worker *const worker = &space->workers[w];
        for (size_t c = 0; c < k; c++)
            level->counts[c] += worker->counts[c];
        for (size_t i = 0; i < n_sums; i++)
            level->sums[i] += worker->sums[i];
        model->square_sum += worker->square_sum;
        model->rows_undecided += worker->rows_undecided;
        model->rows_moved += worker->rows_moved;
        memset(worker->counts, 0, k * sizeof *worker->counts);
        memset(worker->sums, 0, n_sums * sizeof *worker->sums);
        worker->square_sum = 0;
        worker->rows_undecided = 0;
        worker->rows_moved = 0;
    }
    model->rows_assigned += space->data->n_rows;
    level->has_partition = true;
    ef_centers_free(&centers);
    return EFFACE_OK;
}
