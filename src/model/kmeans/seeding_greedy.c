/*
 * Greedy seeding (docs/numerics.md, section 4): in each round after the first, several rows are
 * drawn as plain seeding would draw one, and the one that leaves the smallest potential, the sum of
 * w u, becomes the seed.
 *
 * Potentials are part of the state, so they are exact, for losers too: every row's distance to
 * every candidate counts, if it is below u. For each row its |g|^2, its u and its nearest seed are
 * known; a kernel gives |g - p|^2 - |g|^2 by integers. A potential is the one before less what the
 * rows gain. A row whose nearest seed is at least twice as far from the candidate as from the row
 * gains nothing, by the triangle inequality; a panel of such rows is left out. Where candidates are
 * near to few panels, as in the later of many rounds, float distances say which.
 *
 * A round takes two passes: the races of all slots, which need nothing but u, and the distances to
 * all candidates. What u would be with each candidate is kept until one is chosen, and taken over
 * in the races of the next round. Cost O(n d c) a round at most, memory 20 + 8 c bytes a row.
 */
#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"
#include "model/kmeans/levels.h"

#include <string.h>

/* Multiply-adds that take as long as the numbers of a panel, and as its distances to a point. */
#define OF_TAPE 1024
#define OF_DISTANCE(d) ((size_t)EF_PANEL * 8 * (d))

/* What is known of a panel. */
typedef struct panel_state {
    double most;      /* the largest weight * u of its rows */
    int64_t farthest; /* the largest u */
    uint64_t reached; /* the slots whose candidates are nearer to one of its rows */
} panel_state;

typedef struct greedy {
    ef_workspace *space;
    uint64_t seed;
    uint32_t n_clusters, n_slots;
    uint32_t round;
    uint32_t n_racing;     /* slots of this round's races */
    bool takes_over;       /* the seed of the round before is still to be taken over, */
    uint32_t taken;        /* which was in this slot */
    const int32_t *seeds;  /* `round` of them */
    const int32_t *origin; /* n_columns zeros */

    panel_state *panels;
    int64_t *squares;   /* of each row: |g|^2, */
    int64_t *distances; /* u, */
    uint32_t *nearest;  /* and the seed that u belongs to */
    int64_t *tried;     /* for each panel and slot, of each row: the distance to its candidate */

    /* Of each slot. */
    ef_candidate *candidates;
    int32_t *points;
    float *floats; /* the points again */
    ef_i128 *potentials;
    uint32_t *same_as; /* the first slot with the same candidate */
    int64_t *apart;    /* and of each seed: a quarter of their squared distance, */
    int64_t *least;    /* and the smallest of these */

    /* Of each worker, for each slot. */
    ef_candidate *best;
    ef_i128 *gains;
    size_t *n_reached; /* of each worker: how often a candidate was nearer to a row of a panel */

    bool filters;  /* float distances first: they are half the price, and reject most panels */
    double surely; /* 1 - the relative error of a float distance */
} greedy;

/* ---------------------------------------------------------------- rows */

static void note_farthest(const greedy *g, size_t panel) {
    panel_state *const state = &g->panels[panel];
    const int64_t *const u = g->distances + panel * EF_PANEL, *weights = g->space->data->weights;
    const unsigned n = ef_workspace_rows(g->space, panel);
    state->farthest = 0;
    for (unsigned i = 0; i < n; i++)
        state->farthest = u[i] > state->farthest ? u[i] : state->farthest;
    state->most = (double)state->farthest;
    for (unsigned i = 0; weights != NULL && i < n; i++) {
        const double most = (double)weights[panel * EF_PANEL + i] * (double)u[i];
        state->most = most > state->most ? most : state->most;
    }
}

/* The distances of a panel's rows to the seeds so far, from nothing; worker's gains[0] is their
 * sum. */
static void measure_panels(void *context, unsigned number, size_t first, size_t last) {
    const greedy *const g = context;
    const ef_workspace *const space = g->space;
    ef_worker *const worker = &space->workers[number];
    const uint32_t d = space->map->n_columns;
    ef_i128 sum = 0;
    for (size_t p = first; p < last; p++) {
        const unsigned n = ef_workspace_rows(space, p);
        int64_t squares[EF_PANEL], gaps[EF_PANEL];
        ef_workspace_load(space, worker, p);
        space->kernels->squares(worker->panel, d, squares);
        memcpy(g->squares + p * EF_PANEL, squares, n * sizeof *squares);
        for (uint32_t s = 0; s < g->round; s++) {
            space->kernels->gaps(space->map, ef_data_panel(space->data, p), n, g->origin,
                                 g->seeds + (size_t)s * d, gaps);
            for (unsigned i = 0; i < n; i++) {
                const size_t position = p * EF_PANEL + i;
                if (s == 0 || squares[i] + gaps[i] < g->distances[position]) {
                    g->distances[position] = squares[i] + gaps[i];
                    g->nearest[position] = s;
                }
            }
        }
        for (unsigned i = 0; i < n; i++)
            sum += (ef_i128)ef_data_weight(space->data, p * EF_PANEL + i) *
                   g->distances[p * EF_PANEL + i];
        note_farthest(g, p);
    }
    g->gains[(size_t)number * g->n_slots] += sum;
}

/* The seed of the round before is now a seed. */
static void take_over(const greedy *g, size_t panel) {
    if ((g->panels[panel].reached >> g->taken & 1) == 0)
        return;
    const int64_t *const tried = g->tried + (panel * g->n_slots + g->taken) * EF_PANEL;
    int64_t *const u = g->distances + panel * EF_PANEL;
    uint32_t *const nearest = g->nearest + panel * EF_PANEL;
    /* Nobody can foresee which rows it is nearer to: no jumps here, nor where gains are added. */
    for (unsigned i = 0; i < ef_workspace_rows(g->space, panel); i++) {
        nearest[i] = tried[i] < u[i] ? g->round - 1 : nearest[i];
        u[i] = tried[i] < u[i] ? tried[i] : u[i];
    }
    note_farthest(g, panel);
}

/* ---------------------------------------------------------------- races */

static void race_in_slot(const greedy *g, size_t panel, const uint64_t *ids, uint32_t slot,
                         ef_candidate *best) {
    const ef_workspace *const space = g->space;
    const bool first = g->round == 0;
    uint32_t high[EF_PANEL], least = UINT32_MAX;
    space->kernels->tape_high(g->seed, EF_TAPE_SEED + (slot << 8), ids, g->round, high);
    for (unsigned i = 0; i < EF_PANEL; i++)
        least = high[i] < least ? high[i] : least;
    if (!first && ef_race_hopeless(least, 1, g->panels[panel].most, best->winner.key))
        return;
    for (unsigned i = 0; i < ef_workspace_rows(space, panel); i++) {
        const size_t position = panel * EF_PANEL + i;
        const int64_t weight = ef_data_weight(space->data, position);
        const int64_t u = first ? 1 : g->distances[position];
        if (u == 0 || ef_race_hopeless(high[i], weight, (double)u, best->winner.key))
            continue;
        const uint64_t bits = ef_tape(g->seed, EF_TAPE_SEED, slot, ids[i], g->round);
        const ef_candidate candidate = {{ids[i], ef_race_key(bits, weight, u)}, position};
        ef_candidate_offer(best, &candidate);
    }
}

static void race_panels(void *context, unsigned number, size_t first, size_t last) {
    const greedy *const g = context;
    ef_candidate *const best = g->best + (size_t)number * g->n_slots;
    for (size_t p = first; p < last; p++) {
        uint64_t ids[EF_PANEL];
        if (g->takes_over)
            take_over(g, p);
        ef_workspace_ids(g->space, p, ids);
        for (uint32_t s = 0; s < g->n_racing; s++)
            race_in_slot(g, p, ids, s, &best[s]);
    }
}

/* The races of a round: g->candidates become its winners. */
static efface_status race(greedy *g, uint32_t n_racing, efface_error *error) {
    const ef_candidate nobody = {{UINT64_MAX, __builtin_inf()}, EF_NO_POSITION};
    g->n_racing = n_racing;
    for (size_t i = 0; i < (size_t)g->space->n_workers * g->n_slots; i++)
        g->best[i] = nobody;
    const efface_status status =
        ef_workspace_run_light(g->space, (size_t)OF_TAPE * n_racing, race_panels, g, error);
    g->takes_over = false;
    for (uint32_t s = 0; s < n_racing; s++) {
        g->candidates[s] = nobody;
        for (unsigned w = 0; w < g->space->n_workers; w++)
            ef_candidate_offer(&g->candidates[s], &g->best[(size_t)w * g->n_slots + s]);
    }
    return status;
}

/* ---------------------------------------------------------------- potentials */

/* Whether a row of the panel may be nearer to a candidate than to all seeds. */
static bool may_gain(const greedy *g, size_t panel, uint32_t slot) {
    if (g->least[slot] >= g->panels[panel].farthest)
        return false;
    const int64_t *const apart = g->apart + (size_t)slot * g->n_clusters;
    const size_t first = panel * EF_PANEL;
    for (size_t i = first; i < first + ef_workspace_rows(g->space, panel); i++)
        if (apart[g->nearest[i]] < g->distances[i])
            return true;
    return false;
}

/* The same by float distances, for a candidate that is near to few panels. */
static bool looks_nearer(const greedy *g, size_t panel, uint32_t slot) {
    const ef_workspace *const space = g->space;
    const float *const values = ef_data_panel(space->data, panel);
    float away[EF_PANEL];
    bool nearer = false;
    space->kernels->sqdist(space->map, values, g->floats + (size_t)slot * space->map->n_columns,
                           values, away);
    for (unsigned i = 0; i < ef_workspace_rows(space, panel); i++)
        nearer |= (double)away[i] * g->surely < (double)g->distances[panel * EF_PANEL + i];
    return nearer;
}

/* What the rows of a panel gain by a candidate to which they have the distances `tried`. */
static ef_i128 gain_of(const greedy *g, size_t panel, const int64_t *tried) {
    const int64_t *const u = g->distances + panel * EF_PANEL, *weights = g->space->data->weights;
    const unsigned n = ef_workspace_rows(g->space, panel);
    ef_i128 sum = 0;
    if (weights == NULL && g->panels[panel].farthest <= INT64_MAX / EF_PANEL) {
        int64_t gain = 0;
        for (unsigned i = 0; i < n; i++)
            gain += tried[i] < u[i] ? u[i] - tried[i] : 0;
        return gain;
    }
    for (unsigned i = 0; i < n; i++)
        if (tried[i] < u[i])
            sum +=
                (ef_i128)ef_data_weight(g->space->data, panel * EF_PANEL + i) * (u[i] - tried[i]);
    return sum;
}

static void try_slot(const greedy *g, size_t panel, uint32_t slot, unsigned worker) {
    const ef_workspace *const space = g->space;
    const int64_t *const squares = g->squares + panel * EF_PANEL;
    int64_t *const tried = g->tried + (panel * g->n_slots + slot) * EF_PANEL;
    const unsigned n = ef_workspace_rows(space, panel);
    int64_t gaps[EF_PANEL];
    space->kernels->gaps(space->map, ef_data_panel(space->data, panel), n, g->origin,
                         g->points + (size_t)slot * space->map->n_columns, gaps);
    for (unsigned i = 0; i < n; i++)
        tried[i] = squares[i] + gaps[i];
    const ef_i128 gain = gain_of(g, panel, tried);
    if (gain != 0)
        g->panels[panel].reached |= UINT64_C(1) << slot;
    g->gains[(size_t)worker * g->n_slots + slot] += gain;
    g->n_reached[worker] += gain != 0;
}

static void try_panels(void *context, unsigned number, size_t first, size_t last) {
    const greedy *const g = context;
    for (size_t p = first; p < last; p++) {
        g->panels[p].reached = 0;
        for (uint32_t s = 0; s < g->n_slots; s++)
            if (g->same_as[s] == s && may_gain(g, p, s) && (!g->filters || looks_nearer(g, p, s)))
                try_slot(g, p, s, number);
    }
}

/* What a pass over the candidates needs to know of them. */
static void look_at_candidates(const greedy *g) {
    const size_t d = g->space->map->n_columns;
    for (uint32_t s = 0; s < g->n_slots; s++) {
        const int32_t *const point = g->points + s * d;
        ef_workspace_snap(g->space, g->candidates[s].position, g->points + s * d);
        for (size_t j = 0; j < d; j++)
            g->floats[s * d + j] = (float)point[j];
        g->same_as[s] = 0;
        while (g->candidates[g->same_as[s]].winner.id != g->candidates[s].winner.id)
            g->same_as[s]++;
        g->least[s] = INT64_MAX;
        for (uint32_t l = 0; l < g->round && g->same_as[s] == s; l++) {
            const int64_t apart = ef_grid_sqdist(point, g->seeds + l * d, (uint32_t)d) / 4;
            g->apart[(size_t)s * g->n_clusters + l] = apart;
            g->least[s] = apart < g->least[s] ? apart : g->least[s];
        }
    }
}

static void clear_gains(const greedy *g) {
    for (size_t i = 0; i < (size_t)g->space->n_workers * g->n_slots; i++)
        g->gains[i] = 0;
}

static ef_i128 add_gains(const greedy *g, uint32_t slot) {
    ef_i128 sum = 0;
    for (unsigned w = 0; w < g->space->n_workers; w++)
        sum += g->gains[(size_t)w * g->n_slots + slot];
    return sum;
}

/* The potentials of a round's candidates; `before` is that of the seeds. */
static efface_status find_potentials(greedy *g, ef_i128 before, efface_error *error) {
    look_at_candidates(g);
    clear_gains(g);
    memset(g->n_reached, 0, g->space->n_workers * sizeof *g->n_reached);
    const efface_status status = ef_workspace_run_light(
        g->space, g->n_slots * OF_DISTANCE(g->space->map->n_columns), try_panels, g, error);
    uint32_t n_different = 0;
    for (uint32_t s = 0; s < g->n_slots; s++) {
        n_different += g->same_as[s] == s;
        g->potentials[s] = before - add_gains(g, g->same_as[s]);
    }
    size_t n_reached = 0;
    for (unsigned w = 0; w < g->space->n_workers; w++)
        n_reached += g->n_reached[w];
    g->filters = n_reached < g->space->n_panels * n_different / 3; /* next time */
    return status;
}

uint32_t ef_best_slot(const ef_i128 *potentials, uint32_t n_slots) {
    uint32_t best = 0;
    for (uint32_t s = 1; s < n_slots; s++)
        if (potentials[s] < potentials[best])
            best = s;
    return best;
}

/* ---------------------------------------------------------------- all rounds */

static bool greedy_init(greedy *g, ef_workspace *space, const efface_kmeans *model,
                        const int32_t *seeds, int32_t **origin) {
    const size_t c = model->plan.candidates, d = space->map->n_columns, k = model->plan.n_clusters;
    const size_t n = space->data->n_rows;
    size_t n_points, n_apart, n_tried;
    *g = (greedy){.space = space,
                  .seed = model->plan.seed,
                  .n_clusters = model->plan.n_clusters,
                  .n_slots = model->plan.candidates,
                  .seeds = seeds,
                  .surely = 1.0 - EF_SQDIST_ERROR(d)};
    if (!ef_mul_size(c, d, &n_points) || !ef_mul_size(c, k, &n_apart) ||
        !ef_mul_size(space->n_panels, c * EF_PANEL, &n_tried))
        return false;
    g->origin = *origin = ef_alloc_zero(d, sizeof **origin);
    g->panels = ef_alloc(space->n_panels, sizeof *g->panels);
    g->squares = ef_alloc(n, sizeof *g->squares);
    g->distances = ef_alloc(n, sizeof *g->distances);
    g->nearest = ef_alloc(n, sizeof *g->nearest);
    g->tried = ef_alloc(n_tried, sizeof *g->tried);
    g->candidates = ef_alloc(c, sizeof *g->candidates);
    g->points = ef_alloc(n_points, sizeof *g->points);
    g->floats = ef_alloc(n_points, sizeof *g->floats);
    g->potentials = ef_alloc(c, sizeof *g->potentials);
    g->same_as = ef_alloc(c, sizeof *g->same_as);
    g->apart = ef_alloc(n_apart, sizeof *g->apart);
    g->least = ef_alloc(c, sizeof *g->least);
    g->best = ef_alloc(c * space->n_workers, sizeof *g->best);
    g->gains = ef_alloc(c * space->n_workers, sizeof *g->gains);
    g->n_reached = ef_alloc(space->n_workers, sizeof *g->n_reached);
    return g->origin != NULL && g->panels != NULL && g->squares != NULL && g->distances != NULL &&
           g->nearest != NULL && g->tried != NULL && g->candidates != NULL && g->points != NULL &&
           g->potentials != NULL && g->same_as != NULL && g->apart != NULL && g->least != NULL &&
           g->best != NULL && g->gains != NULL && g->floats != NULL && g->n_reached != NULL;
}

static void greedy_free(greedy *g, int32_t *origin) {
    ef_free(origin);
    ef_free(g->panels);
    ef_free(g->squares);
    ef_free(g->distances);
    ef_free(g->nearest);
    ef_free(g->tried);
    ef_free(g->candidates);
    ef_free(g->points);
    ef_free(g->potentials);
    ef_free(g->same_as);
    ef_free(g->apart);
    ef_free(g->least);
    ef_free(g->best);
    ef_free(g->gains);
    ef_free(g->floats);
    ef_free(g->n_reached);
}

/* Keeps what a round came to, if the model has room for it. */
static void keep_round(const greedy *g, ef_rounds *rounds) {
    const size_t c = g->n_slots, d = g->space->map->n_columns, at = (g->round - 1) * c;
    if (rounds->potentials == NULL)
        return;
    for (size_t s = 0; s < c; s++)
        rounds->winners[at + s] = g->candidates[s].winner;
    memcpy(rounds->points + at * d, g->points, c * d * sizeof *g->points);
    memcpy(rounds->potentials + at, g->potentials, c * sizeof *g->potentials);
    rounds->n_rounds = g->round;
}

/* One round: who becomes its seed. `potential` is that of the seeds so far, and then with it. */
static efface_status play_round(greedy *g, ef_rounds *rounds, const ef_candidate *chosen,
                                ef_i128 *potential, ef_candidate *seed, efface_error *error) {
    efface_status status = EFFACE_OK;
    if (g->round != 0 && *potential == 0) {
        *seed = ef_race_among_equals(g->space, g->seed, g->round, chosen);
        return status;
    }
    status = race(g, g->round == 0 ? 1 : g->n_slots, error);
    uint32_t slot = 0;
    if (status == EFFACE_OK && g->round != 0) {
        status = find_potentials(g, *potential, error);
        slot = ef_best_slot(g->potentials, g->n_slots);
        *potential = g->potentials[slot];
        g->takes_over = true;
        g->taken = slot;
        keep_round(g, rounds);
    }
    *seed = g->candidates[slot];
    return status;
}

efface_status ef_seed_greedily(ef_workspace *space, efface_kmeans *model, ef_level *level,
                               uint32_t from, efface_error *error) {
    const uint32_t k = model->plan.n_clusters, d = space->map->n_columns;
    ef_candidate *const chosen = ef_alloc(k, sizeof *chosen);
    int32_t *origin = NULL;
    greedy g;
    efface_status status = EFFACE_OK;
    if (!greedy_init(&g, space, model, level->centers, &origin) || chosen == NULL)
        status = ef_fail_memory(error);
    for (uint32_t l = 0; status == EFFACE_OK && l < from; l++) {
        chosen[l].winner = model->seeds[l];
        (void)efface_data_find(space->data, model->seeds[l].id, &chosen[l].position);
    }
    ef_i128 potential = 0;
    for (uint32_t l = from; status == EFFACE_OK && l < k; l++) {
        g.round = l;
        if (l == (from > 1 ? from : 1)) {
            clear_gains(&g);
            status =
                ef_workspace_run_light(space, (l + 1) * OF_DISTANCE(d), measure_panels, &g, error);
            potential = add_gains(&g, 0);
        }
        if (status == EFFACE_OK)
            status = play_round(&g, &model->rounds, chosen, &potential, &chosen[l], error);
        if (status != EFFACE_OK)
            break;
        model->seeds[l] = chosen[l].winner;
        ef_workspace_snap(space, chosen[l].position, level->centers + (size_t)l * d);
    }
    greedy_free(&g, origin);
    ef_free(chosen);
    return status;
}

size_t ef_seed_operations(const ef_plan *plan, uint32_t n_columns) {
    if (!ef_keeps_rounds(plan) || plan->n_clusters == 0)
        return 0;
    return (size_t)(plan->n_clusters - 1) * plan->candidates * (OF_TAPE + OF_DISTANCE(n_columns));
}

/* ---------------------------------------------------------------- what is kept of them */

bool ef_rounds_init(ef_rounds *rounds, size_t n_rounds, size_t n_slots, size_t d) {
    size_t n, n_points, bytes, more;
    *rounds = (ef_rounds){0};
    if (!ef_mul_size(n_rounds, n_slots, &n) || !ef_mul_size(n, d, &n_points) ||
        !ef_mul_size(n, sizeof *rounds->potentials + sizeof *rounds->winners, &bytes) ||
        !ef_mul_size(n_points, sizeof *rounds->points, &more) || !ef_add_size(bytes, more, &bytes))
        return false;
    rounds->potentials = ef_alloc_aligned(bytes, 1);
    if (rounds->potentials == NULL)
        return false;
    rounds->winners = (ef_winner *)(void *)(rounds->potentials + n);
    rounds->points = (int32_t *)(void *)(rounds->winners + n);
    return true;
}

void ef_rounds_free(ef_rounds *rounds) {
    ef_free(rounds->potentials); /* and what lies behind them */
    *rounds = (ef_rounds){0};
}
