/*
 * The passes of greedy seeding over all rows.
 *
 * For each row its |g|^2, its u and its nearest seed are known; a kernel gives exact distances to
 * several candidates at a time. A row whose nearest seed is at least twice as far from the
 * candidate as from the row gains nothing, by the triangle inequality; a panel of such rows is left
 * out. What u would be with each candidate is kept until one is chosen, and taken over in the races
 * of the next round. Cost O(n d c) a round at most, memory 20 + 8 c bytes a row.
 */
#include "model/kmeans/seeding/greedy.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"

#include <string.h>

/* Multiply-adds that take as long as the numbers of a panel, and as its distances to a point. */
#define OF_TAPE 1024
#define OF_DISTANCE(d) ((size_t)EF_PANEL * 4 * (d))

/* So many columns, and to look at each row costs less than float distances. */
#define WORTH_ROWS 32

size_t ef_greedy_operations(uint32_t n_columns) {
    return OF_TAPE + OF_DISTANCE(n_columns);
}

/* ---------------------------------------------------------------- memory */

bool ef_greedy_init(ef_greedy *g, ef_workspace *space, const ef_kmeans_plan *plan,
                    const int32_t *seeds, uint32_t *nearest) {
    const size_t c = plan->candidates, d = space->passes.map->n_columns, k = plan->n_clusters;
    const size_t n = space->passes.n_panels, w = space->passes.n_workers;
    *g = (ef_greedy){.passes = &space->passes,
                     .workers = space->workers,
                     .seed = plan->seed,
                     .n_clusters = plan->n_clusters,
                     .n_slots = plan->candidates,
                     .seeds = seeds,
                     .nearest = nearest};
    const ef_array arrays[] = {
        {&g->panels, n, sizeof *g->panels},
        {&g->squares, n, EF_PANEL * sizeof *g->squares},
        {&g->distances, n, EF_PANEL * sizeof *g->distances},
        {&g->tried, n, c * EF_PANEL * sizeof *g->tried},
        {&g->candidates, c, sizeof *g->candidates},
        {&g->points, c, d * sizeof *g->points},
        {&g->to_try, c, sizeof *g->to_try},
        {&g->reals, c, d * sizeof *g->reals},
        {&g->potentials, c, sizeof *g->potentials},
        {&g->same_as, c, sizeof *g->same_as},
        {&g->apart, k, c * sizeof *g->apart},
        {&g->least, c, sizeof *g->least},
        {&g->met, k, sizeof *g->met},
        {&g->met_reals, k, d * sizeof *g->met_reals},
        {&g->sieves, c, sizeof *g->sieves},
        {&g->n_tried, w, sizeof *g->n_tried},
        {&g->n_reached, w, sizeof *g->n_reached},
        {&g->best, w, c * sizeof *g->best},
        {&g->gains, w, c * sizeof *g->gains},
    };
    g->block = EF_ARRAYS_TAKE(arrays, false);
    for (size_t i = 0; g->block != NULL && i < w; i++)
        g->n_tried[i] = g->n_reached[i] = 0;
    return ef_seed_panels_init(&g->abreast, k, (uint32_t)d) && g->block != NULL;
}

void ef_greedy_free(ef_greedy *g) {
    ef_seed_panels_free(&g->abreast);
    ef_free(g->block);
}

static void clear_gains(const ef_greedy *g) {
    for (size_t i = 0; i < (size_t)g->passes->n_workers * g->n_slots; i++)
        g->gains[i] = 0;
}

/* Adds up the gains of the first n slots, of all workers of all ranks. */
static efface_status add_gains(const ef_greedy *g, uint32_t n, ef_i128 *sums, efface_error *error) {
    for (uint32_t s = 0; s < n; s++) {
        sums[s] = 0;
        for (unsigned w = 0; w < g->passes->n_workers; w++)
            sums[s] += g->gains[(size_t)w * g->n_slots + s];
    }
    return ef_team_sum_wide(ef_data_team(g->passes->data), sums, n, error);
}

/* ---------------------------------------------------------------- rows */

/* The largest u of a panel's rows is `farthest`. */
static void note_farthest(const ef_greedy *g, size_t panel, int64_t farthest) {
    ef_greedy_panel *const state = &g->panels[panel];
    const int64_t *const u = g->distances + panel * EF_PANEL, *weights = g->passes->data->weights;
    const unsigned n = ef_passes_rows(g->passes, panel);
    state->farthest = farthest;
    state->most = (double)farthest;
    for (unsigned i = 0; weights != NULL && i < n; i++) {
        const double most = (double)weights[panel * EF_PANEL + i] * (double)u[i];
        state->most = most > state->most ? most : state->most;
    }
}

/* A panel's rows meet a point at the distances `away`; returns the largest u. */
static int64_t meet(const ef_greedy *g, size_t panel, const int64_t *away, uint32_t seed) {
    int64_t *const u = g->distances + panel * EF_PANEL;
    uint32_t *const nearest = g->nearest + panel * EF_PANEL;
    const unsigned n = ef_passes_rows(g->passes, panel);
    if (n == EF_PANEL)
        return g->passes->kernels->take_point(away, seed, u, nearest);
    int64_t most = 0;
    for (unsigned i = 0; i < n; i++) {
        nearest[i] = away[i] < u[i] ? seed : nearest[i];
        u[i] = away[i] < u[i] ? away[i] : u[i];
        most = u[i] > most ? u[i] : most;
    }
    return most;
}

/* The squares of a panel's rows and their distances to the seeds so far, from nothing; returns the
 * largest u. */
static int64_t measure_panel(const ef_greedy *g, size_t panel) {
    const ef_passes *const passes = g->passes;
    const float *const values = ef_data_panel(passes->data, panel);
    int64_t *const u = g->distances + panel * EF_PANEL, *const squares =
                                                            g->squares + panel * EF_PANEL;
    int64_t away[EF_POINTS * EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++)
        u[i] = i < ef_passes_rows(passes, panel) ? INT64_MAX : 0;
    passes->kernels->meet_point(passes->map, values, &g->met[0], squares, away);
    for (unsigned i = ef_passes_rows(passes, panel); i < EF_PANEL; i++)
        squares[i] = 0;
    int64_t farthest = meet(g, panel, away, 0);
    for (uint32_t s = 1, n; s < g->round; s += n) {
        uint64_t gains[EF_POINTS];
        n = g->round - s < EF_POINTS ? g->round - s : EF_POINTS;
        passes->kernels->try_points(passes->map, values, g->met + s, n, squares, u, away, gains);
        for (uint32_t i = 0; i < n; i++)
            farthest = meet(g, panel, away + (size_t)i * EF_PANEL, s + i);
    }
    return farthest;
}

static void measure_panels(void *context, unsigned number, size_t first, size_t last) {
    const ef_greedy *const g = context;
    const ef_passes *const passes = g->passes;
    ef_worker *const worker = &g->workers[number];
    ef_i128 sum = 0;
    for (size_t p = first; p < last; p++) {
        const int64_t *const squares = g->squares + p * EF_PANEL;
        note_farthest(g, p, measure_panel(g, p));
        for (unsigned i = 0; i < ef_passes_rows(passes, p); i++) {
            const int64_t weight = ef_data_weight(passes->data, p * EF_PANEL + i);
            sum += (ef_i128)weight * g->distances[p * EF_PANEL + i];
            worker->most_square =
                squares[i] > worker->most_square ? squares[i] : worker->most_square;
            if (g->adds_squares)
                worker->square_sum += (ef_i128)weight * squares[i];
        }
    }
    g->gains[(size_t)number * g->n_slots] += sum;
}

/* Makes a point ready to be tried; `reals` is room for its coordinates. */
static ef_point point_of(const ef_greedy *g, const int32_t *whole, double *reals) {
    ef_point point = {.whole = whole, .real = reals, .square = 0};
    for (uint32_t j = 0; j < g->passes->map->n_columns; j++) {
        reals[j] = whole[j];
        point.square += (int64_t)whole[j] * whole[j];
    }
    return point;
}

efface_status ef_greedy_measure(ef_greedy *g, ef_i128 *potential, efface_error *error) {
    const size_t d = g->passes->map->n_columns;
    for (uint32_t s = 0; s < g->round; s++)
        g->met[s] = point_of(g, g->seeds + s * d, g->met_reals + s * d);
    clear_gains(g);
    const efface_status status =
        ef_passes_run(g->passes, (g->round + 1) * OF_DISTANCE(d), measure_panels, g, error);
    return status == EFFACE_OK ? add_gains(g, 1, potential, error) : status;
}

void ef_greedy_choose(ef_greedy *g, uint32_t slot) {
    g->takes_over = true;
    g->taken = slot;
    g->taken_seed = g->round;
}

/* Where the distances of a panel's rows to the candidate in a slot are. */
static int64_t *tried_in(const ef_greedy *g, size_t panel, uint32_t slot) {
    const uint64_t before = g->panels[panel].tried & ((UINT64_C(1) << slot) - 1);
    return g->tried + (panel * g->n_slots + (unsigned)__builtin_popcountll(before)) * EF_PANEL;
}

/* The candidate that was chosen in the round before is now a seed. */
static void take_over(const ef_greedy *g, size_t panel) {
    const uint32_t slot = g->same_as[g->taken];
    if ((g->panels[panel].reached >> slot & 1) != 0)
        note_farthest(g, panel, meet(g, panel, tried_in(g, panel, slot), g->taken_seed));
}

static void take_over_panels(void *context, unsigned number, size_t first, size_t last) {
    (void)number;
    for (size_t p = first; p < last; p++)
        take_over(context, p);
}

efface_status ef_greedy_finish(ef_greedy *g, efface_error *error) {
    efface_status status = EFFACE_OK;
    if (g->takes_over)
        status = ef_passes_run(g->passes, OF_TAPE, take_over_panels, g, error);
    g->takes_over = false;
    return status;
}

/* ---------------------------------------------------------------- races */

/* A panel one of whose rows may win a slot. */
static void race_in_slot(const ef_greedy *g, size_t panel, const uint64_t *ids, uint32_t slot,
                         ef_racer *best) {
    const ef_passes *const passes = g->passes;
    uint32_t high[EF_PANEL];
    passes->kernels->tape_high(g->seed, EF_TAPE_SEED + (slot << 8), ids, g->round, high);
    for (unsigned i = 0; i < ef_passes_rows(passes, panel); i++) {
        const size_t position = panel * EF_PANEL + i;
        const int64_t weight = ef_data_weight(passes->data, position);
        const int64_t u = g->round == 0 ? 1 : g->distances[position];
        if (u == 0 || ef_race_hopeless(high[i], weight, (double)u, best->winner.key))
            continue;
        const uint64_t bits = ef_tape(g->seed, EF_TAPE_SEED, slot, ids[i], g->round);
        const ef_racer candidate = {{ids[i], ef_race_key(bits, weight, u)}, position};
        ef_candidate_offer(best, &candidate);
    }
}

static void race_panels(void *context, unsigned number, size_t first, size_t last) {
    const ef_greedy *const g = context;
    const uint32_t n_slots = g->n_racing;
    ef_racer *const best = g->best + (size_t)number * g->n_slots;
    const bool is_first = g->round == 0, weighs = is_first && g->passes->data->weights != NULL;
    for (size_t p = first, n; p < last; p += n) {
        uint64_t ids[EF_TAPE_RUN * EF_PANEL], bits[EF_TAPE_RUN];
        uint32_t limits[EF_TAPE_RUN * EF_MOST_CANDIDATES];
        n = ef_race_run(best, last - p);
        for (size_t i = 0; i < n; i++) {
            if (g->takes_over)
                take_over(g, p + i);
            const double most = is_first ? 1.0 : g->panels[p + i].most;
            for (uint32_t s = 0; s < n_slots; s++)
                limits[i * n_slots + s] =
                    weighs ? UINT32_MAX : ef_race_limit(most, best[s].winner.key);
            ef_passes_ids(g->passes, p + i, ids + i * EF_PANEL);
        }
        g->passes->kernels->tape_within(g->seed, EF_TAPE_SEED, n_slots, ids, n, g->round, limits,
                                        bits);
        for (size_t i = 0; i < n; i++)
            for (; bits[i] != 0; bits[i] &= bits[i] - 1) {
                const uint32_t slot = (uint32_t)__builtin_ctzll(bits[i]);
                race_in_slot(g, p + i, ids + i * EF_PANEL, slot, &best[slot]);
            }
    }
}

efface_status ef_greedy_race(ef_greedy *g, uint32_t n_racing, efface_error *error) {
    g->n_racing = n_racing;
    for (size_t i = 0; i < (size_t)g->passes->n_workers * g->n_slots; i++)
        g->best[i] = EF_NOBODY;
    const efface_status status =
        ef_passes_run(g->passes, (size_t)OF_TAPE * n_racing, race_panels, g, error);
    g->takes_over = false;
    for (uint32_t s = 0; s < n_racing; s++) {
        g->candidates[s] = EF_NOBODY;
        for (unsigned w = 0; w < g->passes->n_workers; w++)
            ef_candidate_offer(&g->candidates[s], &g->best[(size_t)w * g->n_slots + s]);
    }
    return status == EFFACE_OK ? ef_races_end(g->passes, g->candidates, n_racing, g->points, error)
                               : status;
}

/* ---------------------------------------------------------------- potentials */

/* Whether a row of the panel may be nearer to a candidate than to all seeds. */
static bool may_gain(const ef_greedy *g, size_t panel, uint32_t slot) {
    if (g->least[slot] >= g->panels[panel].farthest)
        return false;
    if (!g->sifts || g->passes->map->n_columns < WORTH_ROWS)
        return true;
    const int64_t *const apart = g->apart + (size_t)slot * g->n_clusters;
    const size_t first = panel * EF_PANEL;
    for (size_t i = first; i < first + ef_passes_rows(g->passes, panel); i++)
        if (apart[g->nearest[i]] < g->distances[i])
            return true;
    return false;
}

/* Which of the slots whose bits are set have candidates that may be nearer to one of its rows. */
static uint64_t sift_candidates(const ef_greedy *g, size_t panel, uint64_t slots) {
    const uint32_t tile = g->passes->kernels->tile;
    uint64_t found = 0;
    for (uint32_t f = 0; f < g->n_sieves; f++) {
        const ef_centers *const sieve = &g->sieves[f];
        uint64_t bits = (UINT64_C(1) << sieve->n_clusters) - 1;
        if (sieve->folds && (slots >> f * tile & bits) != 0)
            bits &= g->passes->kernels->reach(sieve, ef_data_panel(g->passes->data, panel),
                                              g->squares + panel * EF_PANEL,
                                              g->distances + panel * EF_PANEL);
        found |= bits << f * tile;
    }
    return slots & found;
}

/* What the rows of a panel gain by a candidate to which they have the distances `away`. */
static ef_i128 gain_of(const ef_greedy *g, size_t panel, const int64_t *away) {
    const int64_t *const u = g->distances + panel * EF_PANEL;
    ef_i128 sum = 0;
    for (unsigned i = 0; i < ef_passes_rows(g->passes, panel); i++)
        if (away[i] < u[i])
            sum +=
                (ef_i128)ef_data_weight(g->passes->data, panel * EF_PANEL + i) * (u[i] - away[i]);
    return sum;
}

/* Tries up to EF_POINTS slots; the distances come to `away`. */
static void try_slots(const ef_greedy *g, size_t panel, const uint32_t *slots, unsigned n,
                      int64_t *away, unsigned worker) {
    const ef_passes *const passes = g->passes;
    ef_greedy_panel *const state = &g->panels[panel];
    const bool simple = passes->data->weights == NULL &&
                        ef_passes_rows(passes, panel) == EF_PANEL &&
                        state->farthest <= INT64_MAX / EF_PANEL;
    ef_point points[EF_POINTS];
    uint64_t gains[EF_POINTS];
    for (unsigned i = 0; i < n; i++)
        points[i] = g->to_try[slots[i]];
    passes->kernels->try_points(passes->map, ef_data_panel(passes->data, panel), points, n,
                                g->squares + panel * EF_PANEL, g->distances + panel * EF_PANEL,
                                away, gains);
    for (unsigned i = 0; i < n; i++) {
        const ef_i128 gain =
            simple ? (ef_i128)gains[i] : gain_of(g, panel, away + (size_t)i * EF_PANEL);
        if (gain != 0)
            state->reached |= UINT64_C(1) << slots[i];
        g->gains[(size_t)worker * g->n_slots + slots[i]] += gain;
        g->n_reached[worker] += gain != 0;
    }
    g->n_tried[worker] += n;
}

static void try_panels(void *context, unsigned number, size_t first, size_t last) {
    const ef_greedy *const g = context;
    for (size_t p = first; p < last; p++) {
        ef_greedy_panel *const state = &g->panels[p];
        uint32_t slots[EF_MOST_CANDIDATES], n = 0;
        uint64_t wanted = 0;
        for (uint32_t s = 0; s < g->n_slots; s++)
            wanted |= (uint64_t)(g->same_as[s] == s && may_gain(g, p, s)) << s;
        if (g->sifts && wanted != 0)
            wanted = sift_candidates(g, p, wanted);
        state->tried = wanted;
        state->reached = 0;
        for (; wanted != 0; wanted &= wanted - 1)
            slots[n++] = (uint32_t)__builtin_ctzll(wanted);
        /* In parts that are nearly equal. */
        uint32_t parts = (n + EF_POINTS - 1) / EF_POINTS;
        for (uint32_t done = 0, width; done < n; done += width, parts--) {
            width = (n - done + parts - 1) / parts;
            try_slots(g, p, slots + done, width, g->tried + (p * g->n_slots + done) * EF_PANEL,
                      number);
        }
    }
}

/* How far a candidate is from the seeds. Float distances do, as less may be said. */
static void measure_apart(const ef_greedy *g, uint32_t slot) {
    const uint32_t d = g->passes->map->n_columns;
    const int32_t *const point = g->points + (size_t)slot * d;
    const double part = (1.0 - EF_SQDIST_ERROR(d)) / 4.0;
    float *const floats = g->workers[0].panel;
    int64_t *const apart = g->apart + (size_t)slot * g->n_clusters;
    for (uint32_t j = 0; j < d; j++)
        floats[j] = (float)point[j];
    g->least[slot] = INT64_MAX;
    for (uint32_t first = 0; first < g->round; first += EF_PANEL) {
        float away[EF_PANEL];
        ef_seed_panels_measure(&g->abreast, g->passes->kernels, first, floats, away);
        for (uint32_t l = first; l < g->round && l < first + EF_PANEL; l++) {
            apart[l] = (int64_t)((double)away[l - first] * part);
            g->least[slot] = apart[l] < g->least[slot] ? apart[l] : g->least[slot];
        }
    }
}

/* What a pass over the candidates needs to know of them. */
static void look_at_candidates(ef_greedy *g) {
    const size_t d = g->passes->map->n_columns;
    for (; g->n_abreast < g->round; g->n_abreast++)
        ef_seed_panels_put(&g->abreast, g->n_abreast, g->seeds + g->n_abreast * d);
    for (uint32_t s = 0; s < g->n_slots; s++) {
        const int32_t *const point = g->points + s * d;
        g->to_try[s] = point_of(g, point, g->reals + s * d);
        g->same_as[s] = 0;
        while (g->candidates[g->same_as[s]].winner.id != g->candidates[s].winner.id)
            g->same_as[s]++;
        if (g->same_as[s] == s)
            measure_apart(g, s);
    }
}

static void free_sieves(ef_greedy *g) {
    for (uint32_t f = 0; f < g->n_sieves; f++)
        ef_centers_free(&g->sieves[f]);
    g->n_sieves = 0;
}

/* False if out of memory. */
static bool make_sieves(ef_greedy *g) {
    const uint32_t tile = g->passes->kernels->tile, d = g->passes->map->n_columns;
    int64_t most_square = 0;
    for (unsigned w = 0; w < g->passes->n_workers; w++)
        if (g->workers[w].most_square > most_square)
            most_square = g->workers[w].most_square;
    for (uint32_t first = 0; first < g->n_slots; first += tile) {
        const uint32_t rest = g->n_slots - first;
        ef_centers *const sieve = &g->sieves[g->n_sieves];
        if (!ef_centers_init(sieve, g->points + (size_t)first * d, rest < tile ? rest : tile, d,
                             tile))
            return false;
        g->n_sieves++;
        if (!ef_centers_fold_to_zero(sieve, g->passes->map, most_square))
            return false;
    }
    return true;
}

efface_status ef_greedy_try(ef_greedy *g, ef_i128 before, efface_error *error) {
    look_at_candidates(g);
    clear_gains(g);
    if (g->sifts && !make_sieves(g)) {
        free_sieves(g);
        return ef_fail_memory(error);
    }
    ef_i128 gains[EF_MOST_CANDIDATES];
    efface_status status = ef_passes_run(
        g->passes, g->n_slots * OF_DISTANCE(g->passes->map->n_columns), try_panels, g, error);
    EF_THEN(status, add_gains(g, g->n_slots, gains, error));
    for (uint32_t s = 0; status == EFFACE_OK && s < g->n_slots; s++)
        g->potentials[s] = before - gains[g->same_as[s]];
    free_sieves(g);
    size_t n_tried = 0, n_reached = 0;
    for (unsigned w = 0; w < g->passes->n_workers; w++) {
        n_tried += g->n_tried[w];
        n_reached += g->n_reached[w];
        g->n_tried[w] = g->n_reached[w] = 0;
    }
    g->sifts |= n_reached < n_tried / 2; /* from now on */
    return status;
}
