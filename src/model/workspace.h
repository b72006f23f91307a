/*
 * The workspace of passes over the rows of a set: threads, kernels, and memory for each worker.
 *
 * A pass hands out panels of sixteen neighbouring rows. Each worker has a panel of its own, sums
 * and counts that it alone adds to, and the best candidate of a race that it has seen.
 */
#ifndef EF_WORKSPACE_H
#define EF_WORKSPACE_H

#include "base/threads.h"
#include "base/wide.h"
#include "data/rows.h"
#include "kernel/kernels.h"
#include "model/kmeans/definition/model.h"

#define EF_NO_CLUSTER UINT32_MAX

/* Someone who may win a race. No candidate: key is infinite. */
typedef struct ef_candidate {
    ef_winner winner;
    size_t position;
} ef_candidate;

typedef struct ef_worker {
    float *panel;    /* 16 * n_columns */
    int32_t *point;  /* n_columns: a row on the grid */
    int64_t *sums;   /* n_clusters * n_columns */
    int64_t *counts; /* n_clusters */
    ef_i128 square_sum;
    int64_t most_square; /* the largest square in it */
    ef_candidate best;
    uint64_t rows_undecided;
    uint64_t rows_moved;
} ef_worker;

typedef struct ef_workspace {
    const efface_data *data;
    const ef_map *map;
    const ef_kernels *kernels;
    uint32_t n_clusters;
    ef_pool *pool;
    ef_worker *workers;
    unsigned n_workers;
    size_t n_panels;
    int64_t most_square; /* no row's |g|^2 is larger */
    size_t operations;   /* of a panel, if each row is compared with all clusters */
    ef_interrupt interrupt;
    uint64_t rows_assigned; /* by passes, since they were last counted */
} ef_workspace;

/* What a panel costs in a pass that compares each row with all clusters, in multiply-adds; how many
 * panels of some cost are handed out at a time at least; and how many threads of those asked for
 * (0: as many as there are processors) have enough to do in a pass. */
size_t ef_pass_operations(uint32_t n_columns, uint32_t n_clusters);
size_t ef_pass_grain(size_t operations);
unsigned ef_pass_threads(unsigned asked, size_t n_panels, size_t operations);

/* For passes over the rows of a set, as a plan wants them. */
efface_status ef_workspace_init(ef_workspace *space, const efface_data *data, const ef_map *map,
                                const ef_plan *plan, efface_error *error);
void ef_workspace_free(ef_workspace *space);

/* A pass: lets the workers do `work` on all panels; `context` is what `work` gets. Asks before it,
 * and every few milliseconds, whether to go on; if not, some panels are done and some are not. */
efface_status ef_workspace_run(ef_workspace *space, ef_work work, void *context,
                               efface_error *error);

/* The same for work that does not compare each row with all clusters: a panel takes as long as so
 * many multiply-adds. */
efface_status ef_workspace_run_light(ef_workspace *space, size_t operations, ef_work work,
                                     void *context, efface_error *error);

/* How many rows panel number `panel` has, 1 to 16. */
static inline unsigned ef_workspace_rows(const ef_workspace *space, size_t panel) {
    const size_t rest = space->data->n_rows - panel * EF_PANEL;
    return rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
}

/* Panel number `panel` as grid points in the worker's own; places beyond the last row repeat the
 * first. */
void ef_workspace_load(const ef_workspace *space, ef_worker *worker, size_t panel);

/* The values that come after panel number `panel` in a run of panels that ends before `last`. */
static inline const float *ef_workspace_ahead(const ef_workspace *space, size_t panel,
                                              size_t last) {
    return ef_data_panel(space->data, panel + 1 < last ? panel + 1 : panel);
}

/* The ids of the rows of a panel; places beyond the last row repeat the first id. */
void ef_workspace_ids(const ef_workspace *space, size_t panel, uint64_t ids[EF_PANEL]);

/* The row at a position as a grid point. */
void ef_workspace_snap(const ef_workspace *space, size_t position, int32_t *point);

/* Makes `candidate` the best if it beats it: by its key, then by the smaller id. */
void ef_candidate_offer(ef_candidate *best, const ef_candidate *candidate);

/* Before a race: no worker has a candidate. After it: the best of all. */
void ef_workspace_begin_race(ef_workspace *space);
ef_candidate ef_workspace_end_race(const ef_workspace *space);

/* The key of a row in a race, E(bits) / (weight * distance); distance > 0. */
double ef_race_key(uint64_t bits, int64_t weight, int64_t distance);

/* Whether a row certainly cannot beat `key`, from the leading bits of its tape number and an upper
 * bound on its squared distance: E >= v (1 - 2^-48), and v is at least its leading bits. */
static inline bool ef_race_hopeless(uint32_t high_bits, int64_t weight, double distance_bound,
                                    double key) {
    const double v = (double)high_bits * (0x1p-32 * (1.0 - 0x1p-40));
    return v > key * ((double)weight * distance_bound);
}

#endif
