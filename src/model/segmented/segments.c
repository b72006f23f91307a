/* Segments: which rows belong to them, and their sums. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/exact/passes.h"
#include "model/exact/summing.h"
#include "model/segmented/segmented.h"

#include <string.h>

#define FEW_ROWS 4 /* of a change */

/* ---------------------------------------------------------------- of all rows */

typedef struct pass {
    ef_passes passes;
    ef_centers centers;
    float *room; /* a part for each worker */
    uint32_t *segments;
} pass;

static void find_run(const pass *p, float *room, size_t first, size_t n_panels) {
    const ef_passes *const passes = &p->passes;
    uint32_t nearest[EF_RUN * EF_PANEL];
    uint16_t movers[EF_RUN * EF_PANEL + 4];
    const size_t begin = first * EF_PANEL, rest = passes->data->n_rows - begin;
    const size_t n_rows = n_panels * EF_PANEL < rest ? n_panels * EF_PANEL : rest;
    (void)passes->kernels->assign(&p->centers, passes->map, ef_data_panel(passes->data, first),
                                  n_rows, p->segments + begin, room, nearest, movers, NULL, NULL);
    memcpy(p->segments + begin, nearest, n_rows * sizeof *nearest);
}

static void find_panels(void *context, unsigned worker, size_t first, size_t last) {
    const pass *const p = context;
    float *const room =
        p->room + worker * ef_assign_room(p->centers.n_clusters, p->centers.n_columns);
    for (size_t n; first < last; first += n) {
        n = last - first < EF_RUN ? last - first : EF_RUN;
        find_run(p, room, first, n);
    }
}

efface_status ef_segments_of_rows(const ef_segmented *s, const ef_division *by,
                                  const efface_data *data, uint32_t *segments,
                                  efface_error *error) {
    const efface_params *const common = &s->params->common;
    const uint32_t d = by->map->n_columns;
    const size_t operations = ef_pass_operations(d, by->n);
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    pass p = {.segments = segments};
    if (data->n_rows == 0)
        return EFFACE_OK;
    efface_status status =
        ef_passes_init(&p.passes, data, by->map, operations, common->n_threads, interrupt, error);
    if (status != EFFACE_OK)
        return status;
    p.room = ef_alloc_aligned(p.passes.n_workers, ef_assign_room(by->n, d) * sizeof *p.room);
    bool fits = p.room != NULL &&
                ef_centers_init(&p.centers, by->centers, by->n, d, p.passes.kernels->tile);
    fits = fits && ef_centers_fold(&p.centers, by->map, (int64_t)d * EF_GRID_MAX * EF_GRID_MAX) &&
           ef_centers_round(&p.centers, p.passes.kernels->rounds_to);
    memset(segments, 0, data->n_rows * sizeof *segments); /* kernels compare with what is there */
    status =
        fits ? ef_passes_run(&p.passes, operations, find_panels, &p, error) : ef_fail_memory(error);
    ef_centers_free(&p.centers);
    ef_free(p.room);
    ef_passes_free(&p.passes);
    return status;
}

/* ---------------------------------------------------------------- of a change */

/* One row, plainly: for few rows that takes less than making centers ready for a kernel. */
static uint32_t nearest_to(const ef_division *by, const float *row, int32_t *point) {
    const uint32_t d = by->map->n_columns;
    uint32_t nearest = 0;
    int64_t least = INT64_MAX;
    for (uint32_t j = 0; j < d; j++)
        point[j] = ef_snap(row[(size_t)j * EF_PANEL], by->map->low[j], by->map->step[j]);
    for (uint32_t c = 0; c < by->n; c++) {
        const int64_t distance = ef_grid_sqdist(point, by->centers + (size_t)c * d, d);
        nearest = distance < least ? c : nearest;
        least = distance < least ? distance : least;
    }
    return nearest;
}

static efface_status find_few(const ef_division *by, const ef_change *change, uint32_t *segments,
                              efface_error *error) {
    int32_t *const point = ef_alloc(by->map->n_columns, sizeof *point);
    if (point == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < change->n_rows; i++)
        segments[i] = nearest_to(by, ef_change_first(change, i), point);
    ef_free(point);
    return EFFACE_OK;
}

efface_status ef_segments_of_change(const ef_division *by, const ef_change *change,
                                    uint32_t *segments, efface_error *error) {
    const uint32_t d = by->map->n_columns;
    const ef_kernels *kernels = NULL;
    ef_centers centers;
    const efface_status status = ef_kernels_require(&kernels, error);
    if (status != EFFACE_OK)
        return status;
    if (change->n_rows < FEW_ROWS)
        return find_few(by, change, segments, error);
    float *const panel = ef_alloc_aligned(d, EF_PANEL * sizeof *panel);
    if (panel == NULL || !ef_centers_init(&centers, by->centers, by->n, d, kernels->tile)) {
        ef_free(panel);
        return ef_fail_memory(error);
    }
    for (size_t i = 0; i < change->n_rows; i += EF_PANEL) {
        uint32_t nearest[EF_PANEL];
        const float *const values = ef_change_first(change, i);
        const size_t rest = change->n_rows - i;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        (void)kernels->nearest(&centers, by->map, values, n, values, panel, nearest, NULL);
        memcpy(segments + i, nearest, n * sizeof *nearest);
    }
    ef_centers_free(&centers);
    ef_free(panel);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- labels */

bool ef_segment_labels_init(ef_segment_labels *labels, size_t n_rows) {
    const size_t capacity = n_rows + n_rows / 16 + 16;
    *labels = (ef_segment_labels){.of = ef_alloc(capacity, sizeof *labels->of)};
    if (labels->of == NULL)
        return false;
    labels->n_rows = n_rows;
    labels->capacity = capacity;
    return true;
}

void ef_segment_labels_free(ef_segment_labels *labels) {
    ef_free(labels->of);
    *labels = (ef_segment_labels){0};
}

void ef_segment_labels_follow(ef_segment_labels *labels, const ef_change *change,
                              const uint32_t *segments) {
    for (size_t i = 0; i < change->n_rows; i++) {
        if (change->positions[i] == EF_NO_POSITION)
            continue;
        if (!change->leaves[i])
            labels->of[change->positions[i]] = segments[i];
        if (change->replaces)
            continue;
        if (change->leaves[i])
            labels->of[change->positions[i]] = labels->of[labels->n_rows - 1];
        labels->n_rows = change->leaves[i] ? labels->n_rows - 1 : labels->n_rows + 1;
    }
}

/* ---------------------------------------------------------------- sums */

void ef_segments_free(ef_moments *segments, uint32_t n) {
    for (uint32_t c = 0; segments != NULL && c < n; c++)
        ef_moments_free(&segments[c]);
    ef_free(segments);
}

ef_moments *ef_segments_make(uint32_t n, uint32_t n_coordinates) {
    ef_moments *const segments = ef_alloc_zero(n, sizeof *segments);
    for (uint32_t c = 0; segments != NULL && c < n; c++)
        if (!ef_moments_init(&segments[c], n_coordinates, EFFACE_SUMMED_FULL)) {
            ef_segments_free(segments, c);
            return NULL;
        }
    return segments;
}

efface_status ef_segments_sum_up(const ef_segmented *s, const ef_coordinates *coordinates,
                                 const efface_data *data, const uint32_t *segment_of,
                                 ef_moments *segments, uint32_t n, efface_error *error) {
    const efface_params *const common = &s->params->common;
    ef_progress progress = {
        .told = common->progress, .context = common->interrupt_context, .part = EF_KMEANS_PART};
    const ef_summing summing = {
        .data = data,
        .points = ef_coordinates_points(coordinates),
        .groups = segments,
        .n_groups = n,
        .group_of = segment_of,
        .n_threads = common->n_threads,
        .interrupt = {common->interrupted, common->interrupt_context,
                      common->progress != NULL ? &progress : NULL},
    };
    /* As if k-means had been a part of this work. */
    const double work = n != 0 ? ef_summing_work(&summing) : 0.0;
    progress.expected = (work + 1.0) / (1.0 - EF_KMEANS_PART);
    progress.done = EF_KMEANS_PART * progress.expected;
    const efface_status status = ef_sum_up(&summing, error);
    if (status == EFFACE_OK && common->progress != NULL)
        ef_tell(&progress, 1.0);
    return status;
}
