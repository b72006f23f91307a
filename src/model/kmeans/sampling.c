/*
 * Sampling: the passes over all rows that make a pilot, and mark the rows of its sample (pilot.h).
 *
 * Of a row's squared distance from its nearest seed, which integers would have to give, only the
 * logarithm counts: a float distance tells it, but for rows next to a power of two.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/levels.h"

#include <string.h>

/* Multiply-adds that take as long as ranking a panel. */
#define OF_RANKS(d) ((size_t)EF_PANEL * 32 * (d) + 1024)

typedef struct ranking {
    ef_workspace *space;
    const efface_kmeans *model;
    const uint32_t *labels; /* the nearest seed of each row */
    const float *points;    /* the seeds */
    double error;           /* twice the relative error of a float distance */
    uint8_t *needs;         /* of each row */
} ranking;

/* The smallest e with x <= 2^e; 0 for x <= 1. */
static uint32_t log_up(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t exponent = (bits + ((UINT64_C(1) << 52) - 1)) >> 52;
    return exponent > 1023 ? (uint32_t)(exponent - 1023) : 0;
}

/* A row's squared distance from its seed, or a number whose product with the weight has the same
 * logarithm; `away` is the distance as a float. (Where it is below 2^24 no rounding has occurred,
 * and above that floats are whole numbers.) */
static int64_t distance_of(const ranking *r, ef_worker *worker, size_t position, int64_t weight,
                           float away) {
    const ef_workspace *const space = r->space;
    const double product = (double)weight * (double)away, error = product * r->error;
    if (away < 0x1p62F && log_up(product - error) == log_up(product + error))
        return (int64_t)away;
    const uint32_t d = space->map->n_columns;
    ef_workspace_snap(space, position, worker->point);
    return ef_grid_sqdist(worker->point, r->model->pilot.points + (size_t)r->labels[position] * d,
                          d);
}

/* The distances of the rows of a panel from their seeds. */
static void measure(const ranking *r, size_t panel, float away[EF_PANEL]) {
    const ef_workspace *const space = r->space;
    const uint32_t *const labels = r->labels + panel * EF_PANEL;
    const float *const values = ef_data_panel(space->data, panel);
    const unsigned n = ef_workspace_rows(space, panel);
    unsigned left = (1u << n) - 1;
    while (left != 0) {
        const uint32_t label = labels[__builtin_ctz(left)];
        float distances[EF_PANEL];
        space->kernels->sqdist(space->map, values,
                               r->points + (size_t)label * space->map->n_columns, values,
                               distances);
        for (unsigned i = 0; i < n; i++)
            if (labels[i] == label) {
                away[i] = distances[i];
                left &= ~(1u << i);
            }
    }
}

static void rank_panels(void *context, unsigned number, size_t first, size_t last) {
    const ranking *const r = context;
    const ef_workspace *const space = r->space;
    const efface_kmeans *const m = r->model;
    for (size_t p = first; p < last; p++) {
        uint64_t ids[EF_PANEL];
        uint32_t high[EF_PANEL];
        float away[EF_PANEL];
        ef_workspace_ids(space, p, ids);
        space->kernels->tape_high(m->plan.seed, EF_TAPE_MEMBER, ids, 0, high);
        measure(r, p, away);
        for (unsigned i = 0; i < ef_workspace_rows(space, p); i++) {
            const size_t position = p * EF_PANEL + i;
            const int64_t weight = ef_data_weight(space->data, position);
            const uint32_t zeros = high[i] != 0 ? (uint32_t)__builtin_clz(high[i])
                                                : ef_member_zeros(m->plan.seed, ids[i]);
            const int64_t distance =
                distance_of(r, &space->workers[number], position, weight, away[i]);
            r->needs[position] = ef_rank_of(&m->pilot, m->plan.n_clusters, r->labels[position],
                                            weight, distance, zeros)
                                     .need;
        }
    }
}

/* The needs of all rows, given the nearest seed of each. */
static efface_status find_needs(ef_maker *maker, const efface_kmeans *model, uint8_t *needs,
                                efface_error *error) {
    const size_t d = model->domain.map.n_columns, n_values = model->plan.n_clusters * d;
    float *const points = ef_alloc(n_values, sizeof *points);
    if (points == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n_values; i++)
        points[i] = (float)model->pilot.points[i];
    ranking r = {.space = &maker->space,
                 .model = model,
                 .labels = maker->labels,
                 .points = points,
                 .error = 2.0 * EF_SQDIST_ERROR(d),
                 .needs = needs};
    const efface_status status =
        ef_workspace_run_light(&maker->space, OF_RANKS(d), rank_panels, &r, error);
    ef_free(points);
    return status;
}

/* The smallest shift at which so many rows take part. */
static void choose_shift(ef_pilot *pilot, const uint8_t *needs, size_t n, uint64_t wanted) {
    uint64_t rows[EF_NEEDS] = {0};
    for (size_t i = 0; i < n; i++)
        rows[needs[i]]++;
    pilot->n_sample = rows[0];
    pilot->n_within = 0;
    for (pilot->shift = 0; pilot->n_sample < wanted;) {
        pilot->n_within = pilot->n_sample;
        pilot->n_sample += rows[++pilot->shift];
    }
}

/* What lies around the seeds, from one pass over all rows: counts and the spread. */
static efface_status look_around(ef_maker *maker, efface_kmeans *model, int64_t *counts,
                                 ef_i128 *spread, efface_error *error) {
    const size_t n_values = (size_t)model->plan.n_clusters * model->domain.map.n_columns;
    ef_level level = {.centers = model->pilot.points,
                      .counts = counts,
                      .sums = ef_alloc_zero(n_values, sizeof *level.sums)};
    if (level.sums == NULL)
        return ef_fail_memory(error);
    maker->previous = NULL;
    const efface_status status = ef_make_partition(maker, model, &level, error);
    if (status == EFFACE_OK)
        *spread = ef_level_loss(model, &level);
    maker->previous = NULL;
    ef_free(level.sums);
    return status;
}

static void mark(ef_guard *guard, const uint8_t *needs, size_t n, uint32_t shift) {
    for (size_t i = 0; i < n; i++)
        guard->codes[i] = (uint8_t)((guard->codes[i] & ~EF_MARKS) | ef_marks(needs[i], shift));
}

efface_status ef_pilot_make(ef_maker *maker, efface_kmeans *model, efface_error *error) {
    const size_t n = maker->data->n_rows;
    ef_pilot *const pilot = &model->pilot;
    efface_kmeans plain = {.plan = model->plan, .domain = model->domain};
    ef_level level = {0};
    uint8_t *const needs = ef_alloc(n, sizeof *needs);
    efface_status status = ef_maker_prepare(maker, model, error);
    if (status == EFFACE_OK && (needs == NULL || !ef_pilot_init(pilot, model->plan.n_clusters,
                                                                model->domain.map.n_columns)))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        plain.plan.candidates = 1;
        plain.seeds = pilot->winners;
        level.centers = pilot->points;
        status = ef_seed(&maker->space, &plain, &level, 0, error);
    }
    if (status == EFFACE_OK)
        status = look_around(maker, model, pilot->counts, &pilot->spread, error);
    if (status == EFFACE_OK)
        status = find_needs(maker, model, needs, error);
    if (status == EFFACE_OK) {
        choose_shift(pilot, needs, n, model->plan.wanted);
        mark(&model->guard, needs, n, pilot->shift);
    }
    ef_free(needs);
    return status;
}

efface_status ef_pilot_mark(ef_maker *maker, efface_kmeans *model, bool *fits,
                            efface_error *error) {
    const size_t n = maker->data->n_rows, k = model->plan.n_clusters;
    const ef_pilot *const pilot = &model->pilot;
    ef_pilot found = {0};
    int64_t *const counts = ef_alloc_zero(k, sizeof *counts);
    uint8_t *const needs = ef_alloc(n, sizeof *needs);
    efface_status status = needs != NULL && counts != NULL ? EFFACE_OK : ef_fail_memory(error);
    *fits = false;
    if (status == EFFACE_OK)
        status = look_around(maker, model, counts, &found.spread, error);
    if (status == EFFACE_OK && found.spread == pilot->spread &&
        memcmp(counts, pilot->counts, k * sizeof *counts) == 0) {
        status = find_needs(maker, model, needs, error);
        if (status == EFFACE_OK) {
            choose_shift(&found, needs, n, model->plan.wanted);
            mark(&model->guard, needs, n, pilot->shift);
            *fits = found.shift == pilot->shift && found.n_sample == pilot->n_sample &&
                    found.n_within == pilot->n_within;
        }
    }
    ef_free(needs);
    ef_free(counts);
    return status;
}
