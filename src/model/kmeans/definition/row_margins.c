/* Margins of rows from level to level, and passes over the rows that may move (row_margins.h). */
#include "model/kmeans/definition/row_margins.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "model/kmeans/definition/levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* With fewer clusters, or fewer products for each row, a row costs hardly more than to be found and
 * gathered. */
#define FEWEST_CLUSTERS 32
#define FEWEST_PRODUCTS 640

/* In the first levels centers move too far; and few levels more, to measure margins costs as much
 * as they spare. */
#define LEVELS_BEFORE 4
#define FEWEST_LEVELS 16

/* Rows are gathered if at least one of so many need not be looked at; where it is less than the
 * other, it will not be much more at the next levels. */
#define SPARED_TO_GATHER 2
#define SPARED_TO_MEASURE 8

bool ef_row_margins_pay(const ef_kmeans_plan *plan, uint32_t n_columns) {
    return plan->method == EFFACE_METHOD_LLOYD && plan->iterations >= FEWEST_LEVELS &&
           plan->n_clusters >= FEWEST_CLUSTERS &&
           (uint64_t)plan->n_clusters * n_columns >= FEWEST_PRODUCTS;
}

/* ---------------------------------------------------------------- memory */

static bool gathered_init(ef_open_rows *gathered, size_t n_rows, uint32_t d) {
    const ef_array arrays[] = {{&gathered->values, n_rows, d * sizeof *gathered->values},
                               {&gathered->positions, n_rows, sizeof *gathered->positions},
                               {&gathered->labels, n_rows, sizeof *gathered->labels},
                               {&gathered->nearest, n_rows, sizeof *gathered->nearest},
                               {&gathered->margins, n_rows, sizeof *gathered->margins},
                               {&gathered->movers, n_rows + 4, sizeof *gathered->movers}};
    gathered->block = EF_ARRAYS_TAKE(arrays, true);
    return gathered->block != NULL;
}

void ef_row_margins_free(ef_row_margins *kept) {
    for (unsigned w = 0; kept->gathered != NULL && w < kept->n_workers; w++)
        ef_free(kept->gathered[w].block);
    ef_free(kept->gathered);
    ef_free(kept->margins);
    ef_free(kept->anchors);
    ef_free(kept->open);
    ef_free(kept->moved);
    *kept = (ef_row_margins){.was_tried = true};
}

/* Takes the memory; if it is short, there are no margins. */
static void try_margins(ef_row_margins *kept, const ef_workspace *space) {
    const ef_passes *const passes = &space->passes;
    const size_t n_panels = passes->n_panels;
    *kept =
        (ef_row_margins){.was_tried = true, .wait = LEVELS_BEFORE, .n_workers = passes->n_workers};
    kept->margins = ef_alloc_aligned(n_panels, EF_PANEL * sizeof *kept->margins);
    kept->anchors = ef_alloc(n_panels, EF_PANEL * sizeof *kept->anchors);
    kept->open = ef_alloc(n_panels, sizeof *kept->open);
    kept->moved = ef_alloc(space->n_clusters, EF_MOST_ANCHORS * sizeof *kept->moved);
    kept->gathered = ef_alloc_zero(kept->n_workers, sizeof *kept->gathered);
    bool fits = kept->margins != NULL && kept->anchors != NULL && kept->open != NULL &&
                kept->moved != NULL && kept->gathered != NULL;
    for (unsigned w = 0; fits && w < kept->n_workers; w++)
        fits = gathered_init(&kept->gathered[w], ef_run_panels(space) * EF_PANEL,
                             passes->map->n_columns);
    if (!fits)
        ef_row_margins_free(kept);
}

/* ---------------------------------------------------------------- rows that may move */

/* How much of a margin is used up, for rows of each cluster: the move of its center, and the
 * largest of all others. */
static void measure_moves(const int32_t *from, const int32_t *to, uint32_t k, uint32_t d,
                          double *moved) {
    double first = 0.0, second = 0.0;
    for (uint32_t c = 0; c < k; c++) {
        moved[c] = sqrt((double)ef_grid_sqdist(from + (size_t)c * d, to + (size_t)c * d, d));
        second = moved[c] > first ? first : moved[c] > second ? moved[c] : second;
        first = moved[c] > first ? moved[c] : first;
    }
    for (uint32_t c = 0; c < k; c++)
        moved[c] = (moved[c] + (moved[c] < first ? first : second)) * (1.0 + 0x1p-48);
}

typedef struct look {
    ef_workspace *space;
    ef_row_margins *kept;
    uint32_t *labels;
    const ef_centers *centers;
    bool joins; /* all rows get one anchor: the centers that there are now */
} look;

/* Marks the rows of some panels that may move. */
static void mark_panels(void *context, unsigned number, size_t first, size_t last) {
    const look *const l = context;
    ef_row_margins *const kept = l->kept;
    const size_t k = l->space->n_clusters;
    size_t n_open = 0;
    for (size_t p = first; p < last; p++) {
        const unsigned n = ef_passes_rows(&l->space->passes, p);
        const uint32_t *const labels = l->labels + p * EF_PANEL;
        float *const margins = kept->margins + p * EF_PANEL;
        uint8_t *const anchors = kept->anchors + p * EF_PANEL;
        unsigned open = 0;
        for (unsigned i = 0; i < n; i++) {
            const double rest = (double)margins[i] - kept->moved[anchors[i] * k + labels[i]];
            const bool may_move = !(rest > 0.0);
            open |= (unsigned)may_move << i;
            n_open += may_move;
            if (l->joins) {
                margins[i] = (float)(rest * (1.0 - 0x1p-22));
                anchors[i] = 0;
            }
        }
        kept->open[p] = (uint16_t)open;
    }
    kept->gathered[number].n_open += n_open;
}

/* Marks all rows that may move, and counts them. */
static efface_status mark_rows(look *l, const int32_t *now, size_t *n_open, efface_error *error) {
    ef_row_margins *const kept = l->kept;
    const uint32_t k = l->space->n_clusters, d = l->space->passes.map->n_columns;
    for (unsigned a = 0; a < kept->n_anchors; a++)
        measure_moves(kept->centers[a], now, k, d, kept->moved + (size_t)a * k);
    for (unsigned w = 0; w < kept->n_workers; w++)
        kept->gathered[w].n_open = 0;
    l->joins = kept->n_anchors == EF_MOST_ANCHORS;
    const efface_status status = ef_passes_run(&l->space->passes, EF_PANEL, mark_panels, l, error);
    if (l->joins)
        kept->n_anchors = 0;
    kept->centers[kept->n_anchors] = now;
    *n_open = 0;
    for (unsigned w = 0; w < kept->n_workers; w++)
        *n_open += kept->gathered[w].n_open;
    return status;
}

/* ---------------------------------------------------------------- looking at them */

/* Looks at the rows that were gathered. */
static void look_at_gathered(const look *l, unsigned number) {
    ef_workspace *const space = l->space;
    ef_worker *const worker = &space->workers[number];
    ef_open_rows *const g = &l->kept->gathered[number];
    size_t n_movers = 0;
    if (g->n_rows == 0)
        return;
    worker->rows_undecided += space->passes.kernels->assign(
        l->centers, space->passes.map, g->values, g->n_rows, g->labels, worker->panel, g->nearest,
        g->movers, &n_movers, g->margins);
    for (size_t i = 0; i < g->n_rows; i++) {
        l->kept->margins[g->positions[i]] = g->margins[i];
        l->kept->anchors[g->positions[i]] = (uint8_t)l->kept->n_anchors;
    }
    for (size_t m = 0; m < n_movers; m++) {
        const size_t i = g->movers[m], position = g->positions[i];
        ef_worker_move_row(space, worker, position, g->labels[i], g->nearest[i]);
        l->labels[position] = g->nearest[i];
    }
    g->n_rows = 0;
}

/* Copies n rows of a panel to places of another that follow each other: column by column, as memory
 * is read. */
static void copy_rows(const float *from, size_t d, const uint8_t *rows, unsigned n, float *to) {
    for (size_t j = 0; j < d; j++, from += EF_PANEL, to += EF_PANEL)
        for (unsigned i = 0; i < n; i++)
            to[i] = from[rows[i]];
}

/* Gathers the rows of a panel that are marked, as far as there is room. Returns how many. */
static unsigned gather_rows(const look *l, ef_open_rows *g, size_t most, size_t panel,
                            unsigned bits) {
    const size_t d = l->space->passes.map->n_columns, at = g->n_rows % EF_PANEL;
    const size_t place = EF_PANEL - at, rest = most - g->n_rows;
    uint8_t rows[EF_PANEL];
    unsigned n = 0;
    for (; bits != 0 && n < rest; bits &= bits - 1) {
        rows[n] = (uint8_t)__builtin_ctz(bits);
        const size_t position = panel * EF_PANEL + rows[n];
        g->positions[g->n_rows + n] = position;
        g->labels[g->n_rows + n] = l->labels[position];
        n++;
    }
    const float *const from = ef_data_panel(l->space->passes.data, panel);
    float *const to = g->values + (g->n_rows - at) * d;
    const unsigned here = n < place ? n : (unsigned)place;
    copy_rows(from, d, rows, here, to + at);
    if (here < n)
        copy_rows(from, d, rows + here, n - here, to + d * EF_PANEL);
    g->n_rows += n;
    return n;
}

static void look_at_panels(void *context, unsigned number, size_t first, size_t last) {
    const look *const l = context;
    ef_open_rows *const g = &l->kept->gathered[number];
    const size_t most = ef_run_panels(l->space) * EF_PANEL;
    for (size_t p = first; p < last; p++)
        for (unsigned bits = l->kept->open[p]; bits != 0;) {
            for (unsigned n = gather_rows(l, g, most, p, bits); n != 0; n--)
                bits &= bits - 1;
            if (g->n_rows == most)
                look_at_gathered(l, number);
        }
    look_at_gathered(l, number);
}

#ifndef NDEBUG
/* Every row is where the exact kernel puts it. */
static void check_panels(void *context, unsigned number, size_t first, size_t last) {
    const look *const l = context;
    const ef_passes *const passes = &l->space->passes;
    for (size_t p = first; p < last; p++) {
        uint32_t nearest[EF_PANEL];
        const float *const values = ef_data_panel(passes->data, p);
        const unsigned n = ef_passes_rows(passes, p);
        (void)passes->kernels->nearest(l->centers, passes->map, values, n, values,
                                       l->space->workers[number].panel, nearest, NULL);
        for (unsigned i = 0; i < n; i++)
            assert(l->labels[p * EF_PANEL + i] == nearest[i]);
    }
}
#endif

/* A pass over the rows that were marked. */
static efface_status look_at_marked(look *l, ef_level *level, const ef_level *previous,
                                    size_t n_open, efface_error *error) {
    const ef_passes *const passes = &l->space->passes;
    const uint32_t k = l->space->n_clusters, d = passes->map->n_columns;
    const size_t all = ef_pass_operations(d, k);
    const double part =
        passes->data->n_rows != 0 ? (double)n_open / (double)passes->data->n_rows : 0.0;
    const size_t operations = EF_PANEL + (size_t)(part * (double)all);
    ef_centers centers;
    if (!ef_centers_init(&centers, level->centers, k, d, passes->kernels->tile))
        return ef_fail_memory(error);
    if (!ef_centers_round(&centers, passes->kernels->rounds_to)) {
        ef_centers_free(&centers);
        return ef_fail_memory(error);
    }
    l->centers = &centers;
    if (previous != level)
        ef_level_begin(passes->data, k, previous, level);
    efface_status status = ef_passes_run(&l->space->passes, operations, look_at_panels, l, error);
    l->kept->n_anchors++;
    EF_THEN(status, ef_partition_collect(l->space, level, n_open, NULL, error));
#ifndef NDEBUG
    EF_THEN(status, ef_passes_run(&l->space->passes, all, check_panels, l, error));
#endif
    ef_centers_free(&centers);
    if (all > operations)
        ef_tell_work(passes->interrupt.progress,
                     (double)passes->n_panels * (double)(all - operations));
    return status;
}

/* ---------------------------------------------------------------- a level */

/* Margins are of no use now: centers move too far. */
static void go_without(ef_row_margins *kept) {
    kept->n_anchors = 0;
    kept->n_without = kept->n_without != 0 ? 2 * kept->n_without : 1;
    kept->wait = kept->n_without;
}

efface_status ef_partition_by_margins(ef_workspace *space, ef_level *level,
                                      const ef_level *previous, uint32_t *labels,
                                      ef_row_margins *kept, efface_error *error) {
    const size_t n = space->passes.data->n_rows;
    look l = {.space = space, .kept = kept, .labels = labels};
    size_t n_open = n;
    if (!kept->was_tried)
        try_margins(kept, space);
    if (kept->n_anchors != 0) {
        const efface_status status = mark_rows(&l, level->centers, &n_open, error);
        if (status != EFFACE_OK)
            return status;
        if (n_open <= n - n / SPARED_TO_GATHER)
            return look_at_marked(&l, level, previous, n_open, error);
        if (n - n_open < n / SPARED_TO_MEASURE)
            go_without(kept);
    }
    float *margins = kept->margins;
    if (kept->wait != 0) {
        kept->wait--;
        margins = NULL;
    }
    const efface_status status = ef_partition(space, level, previous, labels, margins, NULL, error);
    if (margins != NULL) {
        memset(kept->anchors, 0, n);
        kept->centers[0] = level->centers;
        kept->n_anchors = 1;
    }
    return status;
}
