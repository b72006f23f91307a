/*
 * The kernels on panels, for any number of lanes.
 *
 * Included by one file for each instruction set, after that set's lanes_*.h has said what a vector
 * is (vf, vu, vm, LANES), what can be done with it, and how many clusters fit the registers
 * (TILE). TABLE and TABLE_NAME name the result. A panel of sixteen rows is GROUPS vectors wide.
 */
#include "base/random/tape.h"
#include "kernel/kernels.h"

#include <string.h>

#define GROUPS (EF_PANEL / LANES)
_Static_assert(TILE <= EF_MOST_TILE, "folded centroids are one tile");

/* Sixteen floats are a cache line; it goes to the second level, which has room for two panels. */
LANE_OP void fetch(const void *line) {
    __builtin_prefetch(line, 0, 2);
}

/* To the first level. */
LANE_OP void fetch_near(const void *line) {
    __builtin_prefetch(line, 0, 3);
}

/* What lies n_bytes further on, to be fetched: beyond the end, that does no harm. */
LANE_OP const void *beyond(const void *p, size_t n_bytes) {
    return (const void *)((uintptr_t)p + n_bytes);
}

/* Values on the grid; a small negative value may become minus zero. */
LANE_OP vf on_grid(vf x, float low, float step) {
    return vf_round(vf_mul(vf_sub(x, vf_set1(low)), vf_set1(step)));
}

static void snap(const ef_map *map, const float *values, unsigned n_rows, float *panel) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    for (size_t j = 0; j < d; j++)
        for (unsigned g = 0; g < GROUPS; g++) {
            const size_t at = j * EF_PANEL + g * LANES;
            const vf point = on_grid(vf_load(values + at), low[j], step[j]);
            vf_store(panel + at, vf_add(point, vf_set1(0.0F))); /* minus zero becomes zero */
        }
    for (unsigned i = n_rows; i < EF_PANEL; i++)
        for (size_t at = 0; at < d * EF_PANEL; at += EF_PANEL)
            panel[at + i] = panel[at];
}

#include "kernel/panel_nearest.h"

#include "kernel/panel_assign.h"
#include "kernel/panel_survey.h"

/* ---------------------------------------------------------------- sums */

LANE_OP void add_squares(const float *values, float low, float step, float coordinate,
                         const float *ahead, vf *sum) {
    fetch(ahead);
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf x = on_grid(vf_load(values + g * LANES), low, step);
        const vf difference = vf_sub(x, vf_set1(coordinate));
        sum[g] = vf_add(sum[g], vf_mul(difference, difference));
    }
}

static void sqdist(const ef_map *map, const float *values, const float *point, const float *ahead,
                   float out[EF_PANEL]) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    vf sum[2][GROUPS]; /* two, so that one need not wait for the other */
    for (unsigned g = 0; g < GROUPS; g++)
        sum[0][g] = sum[1][g] = vf_set1(0.0F);
    size_t j = 0;
    for (; j + 2 <= d; j += 2)
        for (unsigned odd = 0; odd < 2; odd++) {
            const size_t at = (j + odd) * EF_PANEL;
            add_squares(values + at, low[j + odd], step[j + odd], point[j + odd], ahead + at,
                        sum[odd]);
        }
    if (j < d)
        add_squares(values + j * EF_PANEL, low[j], step[j], point[j], ahead + j * EF_PANEL, sum[0]);
    for (unsigned g = 0; g < GROUPS; g++)
        vf_store(out + g * LANES, vf_add(sum[0][g], sum[1][g]));
}

static void squares(const float *panel, uint32_t n_columns, int64_t out[EF_PANEL]) {
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum = vq_zero();
        for (uint32_t j = 0; j < n_columns; j++)
            sum = vq_add_square(sum, vf_load(panel + (size_t)j * EF_PANEL + g * LANES));
        vq_store(out + g * LANES, sum);
    }
}

static void move_row(const ef_map *map, const float *row, int64_t weight, int64_t *gains,
                     int64_t *loses) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    size_t j = 0;
    for (; j + COLUMNS <= d; j += COLUMNS) {
        const vl point = vl_on_grid(row + j * EF_PANEL, low + j, step + j);
        const vl moved = weight == 1 ? point : vl_times(point, weight);
        vl_store(gains + j, vl_add(vl_load(gains + j), moved));
        if (loses != NULL)
            vl_store(loses + j, vl_sub(vl_load(loses + j), moved));
    }
    for (; j < d; j++) {
        const int64_t moved = weight * round_one((row[j * EF_PANEL] - low[j]) * step[j]);
        gains[j] += moved;
        if (loses != NULL)
            loses[j] -= moved;
    }
}

/* `width` columns, up to LANES, of as many rows: the columns are made rows, which are added to the
 * sums of their clusters, `d` apart. */
LANE_OP void add_block(const float *values, const float *low, const float *step, size_t width,
                       unsigned n_rows, const uint32_t *labels, const int64_t *weights,
                       int64_t *sums, size_t d) {
    vu block[LANES];
    for (unsigned c = 0; c < LANES; c++)
        block[c] = c < width ? vf_whole(on_grid(vf_load(values + c * EF_PANEL), low[c], step[c]))
                             : vu_set1(0);
    vu_transpose(block);
    uint32_t rows[LANES][LANES];
    for (unsigned i = 0; i < LANES; i++)
        vu_store(rows[i], block[i]);
    for (unsigned i = 0; i < n_rows; i++) {
        const int32_t *const row = (const int32_t *)rows[i];
        int64_t *const sum = sums + labels[i] * d;
        const int64_t weight = weights != NULL ? weights[i] : 1;
        size_t c = 0;
        for (; c + COLUMNS <= width; c += COLUMNS) {
            const vl point = vl_widen(row + c);
            vl_store(sum + c,
                     vl_add(vl_load(sum + c), weights != NULL ? vl_times(point, weight) : point));
        }
        for (; c < width; c++)
            sum[c] += weight * row[c];
    }
}

static void add_rows(const ef_map *map, const float *values, unsigned n_rows,
                     const uint32_t labels[EF_PANEL], const int64_t *weights, int64_t *sums) {
    const size_t d = map->n_columns;
    for (unsigned first = 0; first < n_rows; first += LANES) {
        const unsigned n = n_rows - first < LANES ? n_rows - first : LANES;
        const int64_t *const own = weights != NULL ? weights + first : NULL;
        size_t j = 0;
        for (; j + LANES <= d; j += LANES)
            add_block(values + j * EF_PANEL + first, map->low + j, map->step + j, LANES, n,
                      labels + first, own, sums + j, d);
        if (j < d)
            add_block(values + j * EF_PANEL + first, map->low + j, map->step + j, d - j, n,
                      labels + first, own, sums + j, d);
    }
}

#include "kernel/panel_codes.h"
#include "kernel/panel_greedy.h"
#include "kernel/panel_strips.h"
#include "kernel/panel_tape.h"

extern const ef_kernels TABLE;
const ef_kernels TABLE = {
    .name = TABLE_NAME,
    .tile = TILE,
#ifdef WORDS_OF
    .rounds_to = FORM,
#endif
    .snap = snap,
    .nearest = nearest,
    .assign = assign,
    .survey = survey,
    .gaps = gaps,
    .try_points = try_points,
    .meet_point = meet_point,
    .reach = reach,
    .take_point = take_point,
    .sift = sift,
    .sqdist = sqdist,
    .squares = squares,
    .move_row = move_row,
    .add_rows = add_rows,
    .add_products = add_strip_products,
    .pack_strips = pack_strips,
    .tape_high = tape_high,
    .tape_within = tape_within,
    .code_ranges = code_ranges,
    .code_counts = code_counts,
};
