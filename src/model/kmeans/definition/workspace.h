/*
 * The workspace of k-means: passes over the rows, and for each worker a panel of its own, sums and
 * counts that it alone adds to, and the best candidate of a race that it has seen.
 */
#ifndef EF_WORKSPACE_H
#define EF_WORKSPACE_H

#include "model/exact/passes.h"
#include "model/kmeans/kmeans.h"

#define EF_NO_CLUSTER UINT32_MAX

typedef struct ef_worker {
    float *panel;    /* 16 * n_columns, and room for `assign` */
    int32_t *point;  /* n_columns: a row on the grid */
    int64_t *sums;   /* n_clusters * n_columns */
    int64_t *counts; /* n_clusters */
    void *block;     /* all of these */
    ef_i128 square_sum;
    int64_t most_square; /* the largest square in it */
    ef_racer best;
    uint64_t rows_undecided;
    uint64_t rows_moved;
} ef_worker;

typedef struct ef_workspace {
    ef_passes passes;
    uint32_t n_clusters;
    ef_worker *workers;
    int64_t most_square;    /* no row's |g|^2 is larger */
    uint64_t rows_assigned; /* by passes, since they were last counted */
} ef_workspace;

/* For passes over the rows of a set, as a plan wants them. */
efface_status ef_workspace_init(ef_workspace *space, const efface_data *data, const ef_map *map,
                                const ef_kmeans_plan *plan, efface_error *error);
void ef_workspace_free(ef_workspace *space);

/* A pass that compares each row with all clusters. */
efface_status ef_workspace_run(ef_workspace *space, ef_work work, void *context,
                               efface_error *error);

/* How many panels are looked at before the rows that move are read again, column by column: they
 * should still be in a cache. */
static inline size_t ef_run_panels(const ef_workspace *space) {
    const size_t near = 1 + 131072 / (space->passes.map->n_columns * EF_PANEL * sizeof(float));
    return near < EF_RUN ? near + near % 2 : EF_RUN;
}

/* Before a race: no worker has a candidate. After it: the best of all, and its grid point if there
 * is anybody. */
void ef_workspace_begin_race(ef_workspace *space);
efface_status ef_workspace_end_race(const ef_workspace *space, ef_racer *best, int32_t *point,
                                    efface_error *error);

#endif
