/*
 * From sums to the centers of the next level (docs/definition/numerics.md, section 6).
 *
 * A coordinate is an exact rational num / den, rounded once: to the grid for lloyd, to a lattice
 * of width eps with a random phase for quantized. A cluster without rows is reseeded by a race
 * among all rows, with the squared distance to their own center as rate, or it stays.
 *
 * Sizes: |S| < 2^63, k < 2^24, gamma <= 2^16 and W < 2^40 keep num below 2^104 and eps * den below
 * 2^79.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/definition/levels.h"

#include <string.h>

/* ---------------------------------------------------------------- reseeding */

typedef struct reseeding_race {
    ef_workspace *space;
    const ef_level *level;
    const ef_centers *centers;
    const uint32_t *labels;
    uint64_t seed;
    uint32_t step; /* the level that is being made */
    uint32_t cluster;
    double center_norm2; /* the largest |C|^2 */
} reseeding_race;

static bool taken(const ef_level *level, uint64_t id) {
    for (uint32_t i = 0; i < level->n_reseeded; i++)
        if (level->reseeded[i].winner.id == id)
            return true;
    return false;
}

static void race_panels(void *context, unsigned number, size_t first, size_t last) {
    const reseeding_race *const r = context;
    const ef_workspace *const space = r->space;
    ef_worker *const worker = &space->workers[number];
    const uint32_t purpose = EF_TAPE_RESEED + (r->cluster << 8);
    for (size_t p = first; p < last; p++) {
        int64_t norm2[EF_PANEL];
        uint64_t ids[EF_PANEL];
        uint32_t high[EF_PANEL];
        const unsigned n = ef_passes_rows(&space->passes, p);
        ef_passes_load(&space->passes, p, worker->panel);
        space->passes.kernels->squares(worker->panel, space->passes.map->n_columns, norm2);
        ef_passes_ids(&space->passes, p, ids);
        space->passes.kernels->tape_high(r->seed, purpose, ids, r->step, high);
        for (unsigned i = 0; i < n; i++) {
            const size_t position = p * EF_PANEL + i;
            const int64_t weight = ef_data_weight(space->passes.data, position);
            /* |g - C|^2 <= 2 |g|^2 + 2 |C|^2; the factor covers rounding. */
            const double bound = 2.01 * ((double)norm2[i] + r->center_norm2);
            if (ef_race_hopeless(high[i], weight, bound, worker->best.winner.key) ||
                taken(r->level, ids[i]))
                continue;
            const int64_t distance =
                ef_centers_sqdist(r->centers, r->labels[position], worker->panel, i);
            if (distance == 0)
                continue;
            const uint64_t bits = ef_tape(r->seed, EF_TAPE_RESEED, r->cluster, ids[i], r->step);
            const ef_racer candidate = {{ids[i], ef_race_key(bits, weight, distance)}, position};
            ef_candidate_offer(&worker->best, &candidate);
        }
    }
}

/* Reseeds the clusters of level t that have no rows: point[] of such a cluster in `next` becomes
 * the grid point of the winner. Clusters for which nobody can win stay as they are. */
static efface_status reseed(ef_workspace *space, const ef_run *run, ef_level *level, uint32_t t,
                            const uint32_t *labels, int32_t *next, efface_error *error) {
    const uint32_t k = run->plan->n_clusters, d = run->n_columns;
    uint32_t n_empty = 0;
    for (uint32_t c = 0; c < k; c++)
        n_empty += level->counts[c] == 0;
    /* Without loss every row is at its center, and no row can win. */
    if (n_empty == 0 || ef_run_loss(run, level) == 0)
        return EFFACE_OK;
    level->reseeded = ef_alloc(n_empty, sizeof *level->reseeded);
    if (level->reseeded == NULL)
        return ef_fail_memory(error);
    const ef_centers centers = {.n_clusters = k, .n_columns = d, .grid = level->centers};
    reseeding_race race = {
        .space = space,
        .level = level,
        .centers = &centers,
        .labels = labels,
        .seed = run->plan->seed,
        .step = t + 1,
    };
    for (uint32_t c = 0; c < k; c++) {
        double norm2 = 0.0;
        for (uint32_t j = 0; j < d; j++) {
            const double x = (double)level->centers[(size_t)c * d + j];
            norm2 += x * x;
        }
        race.center_norm2 = norm2 > race.center_norm2 ? norm2 : race.center_norm2;
    }
    for (race.cluster = 0; race.cluster < k; race.cluster++) {
        if (level->counts[race.cluster] != 0)
            continue;
        ef_workspace_begin_race(space);
        ef_racer best;
        efface_status status = ef_workspace_run(space, race_panels, &race, error);
        EF_THEN(status,
                ef_workspace_end_race(space, &best, next + (size_t)race.cluster * d, error));
        if (status != EFFACE_OK)
            return status;
        if (!ef_is_nobody(&best))
            level->reseeded[level->n_reseeded++] = (ef_reseeding){race.cluster, best.winner};
    }
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- rounding */

/* A coordinate before rounding. */
typedef struct rational {
    ef_i128 num;
    ef_i128 den;
} rational;

/* The mean of a cluster with rows; for quantized, one with less than gamma n / k of the weight is
 * drawn towards its previous center as if rows there made up the difference. */
static rational mean(const ef_run *run, const ef_level *level, uint32_t cluster, size_t i) {
    const int64_t count = level->counts[cluster];
    const ef_i128 factor = (ef_i128)EF_GAMMA_ONE * run->plan->n_clusters;
    const ef_i128 threshold = (ef_i128)run->plan->gamma * run->total_weight;
    if (factor * count < threshold)
        return (rational){
            factor * level->sums[i] + (threshold - factor * count) * level->centers[i], threshold};
    return (rational){level->sums[i], count};
}

/* The same to the grid for a plain mean, in 64 bits. */
static int32_t round_mean(int64_t sum, int64_t count, double inverse) {
    /* |sum / count| <= 2^23, so the product is off by far less than 1: truncated, it is the
     * quotient or next to it. A division of integers takes several times as long. */
    const int64_t size = sum < 0 ? -sum : sum;
    int64_t quotient = (int64_t)((double)size * inverse);
    int64_t rest = size - quotient * count;
    if (rest < 0) {
        quotient--;
        rest += count;
    } else if (rest >= count) {
        quotient++;
        rest -= count;
    }
    quotient += rest >= count - rest;
    return (int32_t)(sum < 0 ? -quotient : quotient);
}

static int32_t round_to_lattice(rational x, int64_t epsilon, int64_t phase) {
    const ef_i128 cell = ef_divide_round(x.num - phase * x.den, epsilon * x.den);
    const ef_i128 point = phase + epsilon * cell;
    if (point > EF_GRID_MAX)
        return EF_GRID_MAX;
    return point < -EF_GRID_MAX ? -EF_GRID_MAX : (int32_t)point;
}

/* A coordinate on the lattice whose phase is that of a column and a step. */
static int32_t round_coordinate(const ef_kmeans_plan *plan, rational x, uint32_t column,
                                uint32_t step) {
    const uint64_t bits = ef_tape(plan->seed, EF_TAPE_PHASE, 0, column, step);
    return round_to_lattice(x, plan->epsilon, (int64_t)ef_tape_below(bits, plan->epsilon));
}

void ef_next_center(const ef_run *run, const ef_level *level, uint32_t t, uint32_t cluster,
                    int32_t *next) {
    const ef_kmeans_plan *const plan = run->plan;
    const uint32_t d = run->n_columns;
    const bool lattice = plan->method == EFFACE_METHOD_QUANTIZED;
    const int64_t count = level->counts[cluster];
    if (!lattice && count != 0) {
        const double inverse = 1.0 / (double)count;
        for (uint32_t j = 0; j < d; j++)
            next[j] = round_mean(level->sums[(size_t)cluster * d + j], count, inverse);
        return;
    }
    for (uint32_t j = 0; j < d; j++) {
        const rational x = level->counts[cluster] != 0
                               ? mean(run, level, cluster, (size_t)cluster * d + j)
                               : (rational){next[j], 1};
        next[j] =
            lattice ? round_coordinate(plan, x, j, t + 1) : (int32_t)ef_divide_round(x.num, x.den);
    }
}

void ef_start_centers(const ef_kmeans *model, const ef_starts *starts, uint32_t start,
                      int32_t *centers) {
    const size_t k = model->plan.n_clusters, d = model->domain.map.n_columns;
    memcpy(centers, starts->centers + start * k * d, k * d * sizeof *centers);
    for (size_t i = 0; model->plan.epsilon != 0 && i < k * d; i++)
        centers[i] =
            round_coordinate(&model->plan, (rational){centers[i], 1}, (uint32_t)(i % d), 0);
}

efface_status ef_next_centers(ef_workspace *space, const ef_run *run, ef_level *level, uint32_t t,
                              const uint32_t *labels, int32_t *next, efface_error *error) {
    const ef_kmeans_plan *const plan = run->plan;
    const uint32_t d = run->n_columns;
    memcpy(next, level->centers, (size_t)plan->n_clusters * d * sizeof *next);
    if (plan->empty == EFFACE_EMPTY_RESEED) {
        const efface_status status = reseed(space, run, level, t, labels, next, error);
        if (status != EFFACE_OK)
            return status;
    }
    for (uint32_t c = 0; c < plan->n_clusters; c++)
        ef_next_center(run, level, t, c, next + (size_t)c * d);
    return EFFACE_OK;
}
