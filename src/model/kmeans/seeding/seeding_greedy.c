/*
 * Greedy seeding (docs/definition/numerics.md, section 4): in each round after the first, several
 * rows are drawn as plain seeding would draw one, and the one that leaves the smallest potential,
 * the sum of w u, becomes the seed.
 *
 * Potentials are part of the state, so they are exact, for losers too: every row's distance to
 * every candidate counts, if it is below u. A potential is the one before less what the rows gain.
 *
 * A round takes two passes (greedy_passes.c): the races of all slots, which need nothing but u, and
 * the distances to all candidates. After the last, each row's nearest seed is known, which is its
 * cluster at level 0.
 */
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/seeding/greedy.h"

#include <string.h>

uint32_t ef_best_slot(const ef_i128 *potentials, uint32_t n_slots) {
    uint32_t best = 0;
    for (uint32_t s = 1; s < n_slots; s++)
        if (potentials[s] < potentials[best])
            best = s;
    return best;
}

/* ---------------------------------------------------------------- all rounds */

/* Keeps what a round came to, if the model has room for it. */
static void keep_round(const ef_greedy *g, ef_rounds *rounds) {
    const size_t c = g->n_slots, d = g->passes->map->n_columns, at = (g->round - 1) * c;
    if (rounds == NULL || rounds->potentials == NULL)
        return;
    for (size_t s = 0; s < c; s++)
        rounds->winners[at + s] = g->candidates[s].winner;
    memcpy(rounds->points + at * d, g->points, c * d * sizeof *g->points);
    memcpy(rounds->potentials + at, g->potentials, c * sizeof *g->potentials);
    rounds->n_rounds = g->round;
}

/* One round: who becomes its seed, and `point` its grid point. `potential` is that of the seeds so
 * far, and then with it. */
static efface_status play_round(ef_greedy *g, ef_rounds *rounds, const ef_racer *chosen,
                                ef_i128 *potential, ef_racer *seed, int32_t *point,
                                efface_error *error) {
    const size_t d = g->passes->map->n_columns;
    if (g->round != 0 && *potential == 0)
        return ef_race_among_equals(g->passes, g->seed, g->round, chosen, seed, point, error);
    efface_status status = ef_greedy_race(g, g->round == 0 ? 1 : g->n_slots, error);
    uint32_t slot = 0;
    if (status == EFFACE_OK && g->round != 0)
        status = ef_greedy_try(g, *potential, error);
    if (status != EFFACE_OK)
        return status;
    if (g->round != 0) {
        slot = ef_best_slot(g->potentials, g->n_slots);
        *potential = g->potentials[slot];
        ef_greedy_choose(g, slot);
        keep_round(g, rounds);
    }
    *seed = g->candidates[slot];
    memcpy(point, g->points + slot * d, d * sizeof *point);
    return EFFACE_OK;
}

/* The rounds from number `from` on. *measures: rows were measured, so that the nearest seed of each
 * is known. */
static efface_status play_rounds(ef_greedy *g, const ef_seeds *seeds, uint32_t from,
                                 ef_racer *chosen, bool *measures, efface_error *error) {
    const uint32_t k = g->n_clusters, d = g->passes->map->n_columns;
    efface_status status = EFFACE_OK;
    ef_i128 potential = 0;
    for (uint32_t l = 0; l < from; l++) {
        chosen[l].winner = seeds->winners[l];
        chosen[l].position = ef_position_of(g->passes->data, seeds->winners[l].id);
    }
    for (uint32_t l = from; l < k; l++) {
        g->round = l;
        if (l == (from > 1 ? from : 1)) {
            status = ef_greedy_measure(g, &potential, error);
            *measures = true;
        }
        EF_THEN(status, play_round(g, seeds->rounds, chosen, &potential, &chosen[l],
                                   seeds->points + (size_t)l * d, error));
        if (status != EFFACE_OK)
            return status;
        seeds->winners[l] = chosen[l].winner;
    }
    return status;
}

efface_status ef_seed_greedily(ef_workspace *space, const ef_kmeans_plan *plan,
                               const ef_seeds *seeds, uint32_t from, uint32_t *labels,
                               bool *has_labels, efface_error *error) {
    ef_racer *const chosen = ef_alloc(plan->n_clusters, sizeof *chosen);
    uint32_t *const nearest =
        labels != NULL ? labels : ef_alloc(space->passes.data->n_rows, sizeof *nearest);
    bool measures = false;
    ef_greedy g;
    efface_status status = EFFACE_OK;
    if (!ef_greedy_init(&g, space, plan, seeds->points, nearest) || chosen == NULL ||
        nearest == NULL)
        status = ef_fail_memory(error);
    g.adds_squares = labels != NULL;
    EF_THEN(status, play_rounds(&g, seeds, from, chosen, &measures, error));
    if (status == EFFACE_OK && labels != NULL) {
        *has_labels = measures;
        status = ef_greedy_finish(&g, error);
    }
    ef_greedy_free(&g);
    ef_free(chosen);
    if (labels == NULL)
        ef_free(nearest);
    return status;
}

efface_status ef_seed_round(ef_workspace *space, const ef_kmeans_plan *plan, const ef_seeds *seeds,
                            uint32_t round, bool *has_slots, efface_error *error) {
    uint32_t *const nearest = ef_alloc(space->passes.data->n_rows, sizeof *nearest);
    const uint32_t n_rounds = seeds->rounds->n_rounds;
    int32_t *const point = ef_alloc(space->passes.map->n_columns, sizeof *point);
    ef_i128 potential = 0;
    ef_greedy g;
    efface_status status = EFFACE_OK;
    if (!ef_greedy_init(&g, space, plan, seeds->points, nearest) || nearest == NULL ||
        point == NULL)
        status = ef_fail_memory(error);
    g.round = round;
    EF_THEN(status, ef_greedy_measure(&g, &potential, error));
    *has_slots = potential != 0;
    if (status == EFFACE_OK && potential != 0) {
        ef_racer seed;
        status = play_round(&g, seeds->rounds, NULL, &potential, &seed, point, error);
        if (status == EFFACE_OK)
            seeds->winners[round] = seed.winner;
        seeds->rounds->n_rounds = n_rounds;
    }
    ef_greedy_free(&g);
    ef_free(nearest);
    ef_free(point);
    return status;
}

size_t ef_seed_operations(const ef_kmeans_plan *plan, uint32_t n_columns) {
    if (!ef_keeps_rounds(plan) || plan->n_clusters == 0)
        return 0;
    return (size_t)(plan->n_clusters - 1) * plan->candidates * ef_greedy_operations(n_columns);
}

/* ---------------------------------------------------------------- what is kept of them */

bool ef_rounds_init(ef_rounds *rounds, size_t n_rounds, size_t n_slots, size_t d) {
    *rounds = (ef_rounds){0};
    const ef_array arrays[] = {
        {&rounds->potentials, n_rounds, n_slots * sizeof *rounds->potentials},
        {&rounds->winners, n_rounds, n_slots * sizeof *rounds->winners},
        {&rounds->points, n_rounds, n_slots * d * sizeof *rounds->points}};
    return EF_ARRAYS_TAKE(arrays, false) != NULL;
}

void ef_rounds_free(ef_rounds *rounds) {
    ef_free(rounds->potentials); /* and what lies behind them */
    *rounds = (ef_rounds){0};
}
