/*
 * Passes over the rows of a set: threads, kernels, panels, and questions whether to go on.
 *
 * A pass hands out panels of sixteen neighbouring rows to workers. What a worker needs for itself
 * belongs to the model.
 */
#ifndef EF_PASSES_H
#define EF_PASSES_H

#include "base/errors/interrupt.h"
#include "base/workers/threads.h"
#include "data/set/shards.h"
#include "kernel/kernels.h"

typedef struct ef_passes {
    const efface_data *data;
    const ef_map *map;
    const ef_kernels *kernels;
    ef_pool *pool;
    unsigned n_workers;
    size_t n_panels;
    ef_interrupt interrupt;
} ef_passes;

/* What a panel costs in a pass that compares each row with so many points, in multiply-adds; how
 * many panels of some cost are handed out at a time at least; and how many threads of those asked
 * for (0: as many as there are processors) have enough to do in a pass. */
size_t ef_pass_operations(uint32_t n_columns, uint32_t n_points);
size_t ef_pass_grain(size_t operations);
unsigned ef_pass_threads(unsigned asked, size_t n_panels, size_t operations);

/* For passes over the rows of a set whose panels take so many multiply-adds, or less. */
efface_status ef_passes_init(ef_passes *passes, const efface_data *data, const ef_map *map,
                             size_t operations, unsigned n_threads, ef_interrupt interrupt,
                             efface_error *error);
void ef_passes_free(ef_passes *passes);

/* A pass: lets the workers do `work` on all panels; `context` is what `work` gets. A panel takes as
 * long as so many multiply-adds. Asks before it, and every few milliseconds, whether to go on; if
 * not, some panels are done and some are not. */
efface_status ef_passes_run(ef_passes *passes, size_t operations, ef_work work, void *context,
                            efface_error *error);

/* How many rows panel number `panel` has, 1 to 16. */
static inline unsigned ef_passes_rows(const ef_passes *passes, size_t panel) {
    const size_t rest = passes->data->n_rows - panel * EF_PANEL;
    return rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
}

/* Panel number `panel` as grid points; places beyond the last row repeat the first. */
void ef_passes_load(const ef_passes *passes, size_t panel, float *to);

/* The values that come after panel number `panel` in a run of panels that ends before `last`. */
static inline const float *ef_passes_ahead(const ef_passes *passes, size_t panel, size_t last) {
    return ef_data_panel(passes->data, panel + 1 < last ? panel + 1 : panel);
}

/* The ids of the rows of a panel; places beyond the last row repeat the first id. */
void ef_passes_ids(const ef_passes *passes, size_t panel, uint64_t ids[EF_PANEL]);

/* The row at a position as a grid point. */
void ef_passes_snap(const ef_passes *passes, size_t position, int32_t *point);

#endif
