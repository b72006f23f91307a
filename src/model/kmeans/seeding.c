/*
 * Seeding: k-means++ as a sequence of races (docs/numerics.md, section 4).
 *
 * In round l each row runs with the key E / (w u), u its squared distance to the nearest seed so
 * far; the smallest key wins. Exponentials with rates w u have their minimum at row i with
 * probability w_i u_i / sum(w u): the draw of k-means++, without the sum.
 *
 * Almost no row needs its key. `upper` holds for each row a float distance to the nearest seed,
 * which is off by a factor of 1 + EF_SQDIST_ERROR at most; with E >= v a row whose v is too large
 * for the best key so far is out after one comparison. Only the few that might win, some log n in
 * a round, get an exact distance and a logarithm. Cost O(n d) a round.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/levels.h"

typedef struct seeding_round {
    ef_workspace *space;
    uint64_t seed;
    uint32_t round;
    float *upper;               /* of each row; 0 just for rows that equal a seed */
    const float *last;          /* the newest seed as floats */
    const int32_t *seeds;       /* the seeds so far, `round` of them */
    double slack;               /* 1 + the relative error of `upper` */
    const ef_candidate *chosen; /* for the race among equals only */
} seeding_round;

static uint64_t tape_of(const seeding_round *r, uint64_t id) {
    return ef_tape(r->seed, EF_TAPE_SEED, 0, id, r->round);
}

/* The exact squared distance to the nearest seed; 1 while there is none. */
static int64_t distance_to_seeds(const seeding_round *r, ef_worker *worker, size_t position) {
    if (r->round == 0)
        return 1;
    const uint32_t d = r->space->map->n_columns;
    ef_workspace_snap(r->space, position, worker->point);
    int64_t least = INT64_MAX;
    for (uint32_t s = 0; s < r->round; s++) {
        const int64_t distance = ef_grid_sqdist(worker->point, r->seeds + (size_t)s * d, d);
        least = distance < least ? distance : least;
    }
    return least;
}

/* Takes the newest seed into `upper` for the rows of a panel. */
static void measure(const seeding_round *r, size_t panel, size_t last) {
    const ef_workspace *const space = r->space;
    float *const upper = r->upper + panel * EF_PANEL;
    float distance[EF_PANEL];
    space->kernels->sqdist(space->map, ef_data_panel(space->data, panel), r->last,
                           ef_workspace_ahead(space, panel, last), distance);
    for (unsigned i = 0; i < ef_workspace_rows(space, panel); i++)
        upper[i] = distance[i] < upper[i] ? distance[i] : upper[i];
}

static void race_panels(void *context, unsigned number, size_t first, size_t last) {
    const seeding_round *const r = context;
    const ef_workspace *const space = r->space;
    const ef_kernels *const kernels = space->kernels;
    ef_worker *const worker = &space->workers[number];
    for (size_t p = first; p < last; p++) {
        const float *const upper = r->upper + p * EF_PANEL;
        const unsigned n = ef_workspace_rows(space, p);
        if (r->round != 0)
            measure(r, p, last);
        uint64_t ids[EF_PANEL];
        uint32_t high[EF_PANEL];
        ef_workspace_ids(space, p, ids);
        kernels->tape_high(r->seed, EF_TAPE_SEED, ids, r->round, high);
        for (unsigned i = 0; i < n; i++) {
            const size_t position = p * EF_PANEL + i;
            const int64_t weight = ef_data_weight(space->data, position);
            const double bound = r->round != 0 ? (double)upper[i] * r->slack : 1.0;
            if (!(bound > 0.0) || ef_race_hopeless(high[i], weight, bound, worker->best.winner.key))
                continue;
            const int64_t distance = distance_to_seeds(r, worker, position);
            const ef_candidate candidate = {
                {ids[i], ef_race_key(tape_of(r, ids[i]), weight, distance)}, position};
            ef_candidate_offer(&worker->best, &candidate);
        }
    }
}

/* All rows equal seeds: those not chosen yet race with E alone. */
static ef_candidate race_among_equals(const seeding_round *r) {
    const efface_data *const data = r->space->data;
    ef_candidate best = {{UINT64_MAX, __builtin_inf()}, EF_NO_POSITION};
    for (size_t i = 0; i < data->n_rows; i++) {
        const uint64_t bits = tape_of(r, ef_data_id(data, i));
        if (ef_race_hopeless((uint32_t)(bits >> 32), 1, 1.0, best.winner.key))
            continue;
        bool chosen = false;
        for (uint32_t s = 0; s < r->round; s++)
            chosen |= r->chosen[s].position == i;
        if (!chosen)
            ef_candidate_offer(
                &best, &(ef_candidate){{ef_data_id(data, i), ef_tape_exponential(bits)}, i});
    }
    return best;
}

/* Takes the newest seed into `upper`, without a race. */
static void measure_panels(void *context, unsigned number, size_t first, size_t last) {
    (void)number;
    const seeding_round *const r = context;
    for (size_t p = first; p < last; p++)
        measure(r, p, last);
}

efface_status ef_seed(ef_workspace *space, efface_kmeans *model, ef_level *level, uint32_t from,
                      efface_error *error) {
    const uint32_t k = model->plan.n_clusters, d = space->map->n_columns;
    const size_t n = space->data->n_rows;
    float *const upper = ef_alloc(n, sizeof *upper);
    float *const last = ef_alloc(d, sizeof *last);
    ef_candidate *const chosen = ef_alloc(k, sizeof *chosen);
    efface_status status = EFFACE_OK;
    if (upper == NULL || last == NULL || chosen == NULL) {
        status = ef_fail_memory(error);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        upper[i] = 0x1p100F; /* no seed yet; every distance is smaller */
    for (uint32_t l = 0; status == EFFACE_OK && l < k; l++) {
        seeding_round r = {
            .space = space,
            .seed = model->plan.seed,
            .round = l,
            .upper = upper,
            .last = last,
            .seeds = level->centers,
            .slack = 1.0 + EF_SQDIST_ERROR(d),
            .chosen = chosen,
        };
        int32_t *const center = level->centers + (size_t)l * d;
        if (l < from) {
            if (l != 0)
                status = ef_workspace_run(space, measure_panels, &r, error);
            chosen[l].winner = model->seeds[l];
            (void)efface_data_find(space->data, model->seeds[l].id, &chosen[l].position);
        } else {
            ef_workspace_begin_race(space);
            status = ef_workspace_run(space, race_panels, &r, error);
            if (status != EFFACE_OK)
                break;
            chosen[l] = ef_workspace_end_race(space);
            if (chosen[l].position == EF_NO_POSITION)
                chosen[l] = race_among_equals(&r);
            model->seeds[l] = chosen[l].winner;
            ef_workspace_snap(space, chosen[l].position, center);
        }
        for (uint32_t j = 0; j < d; j++)
            last[j] = (float)center[j];
    }
out:
    free(upper);
    free(last);
    free(chosen);
    return status;
}
