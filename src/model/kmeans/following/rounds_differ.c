/*
 * A part of looking (levels_differ.c): does a greedy seeding come out the same after a change?
 *
 * For each round and slot the state has the winner and its key, its grid point, and its potential.
 * If a seed leaves, or a row comes and beats the key that a seed won with, that round and those
 * after it are to be played again. If a loser leaves or is beaten, its round is: the same seed may
 * come out, and then the rounds after it stand. Otherwise the slots' winners stand, and their
 * potentials change by what the changed rows add or take: w min(u, |g - p|^2), u being a row's
 * distance to the seeds before that round, which stand as well. No other row is looked at. If the
 * smallest potential is then another slot's, its candidate is the seed, and the rounds after it are
 * to be played again.
 *
 * Cost O(c k d) for each changed row.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/following/revision.h"

#include <string.h>

/* Whether a changed row, which is at the distance u from the seeds before, has to do with who wins
 * slot s of round l. */
static bool reaches(const ef_revision *r, size_t i, uint32_t l, uint32_t s, int64_t u,
                    const ef_winner *winner) {
    const efface_row *const row = &r->change->rows[i];
    if (r->change->leaves[i])
        return winner->id == row->id;
    const uint64_t bits = ef_tape(r->model->plan.seed, EF_TAPE_SEED, s, row->id, l);
    return u > 0 && ef_beats(ef_race_key(bits, row->weight, u), row->id, winner);
}

/* The same for a round in which all rows were at seeds. */
static bool reaches_equals(const ef_revision *r, size_t i, uint32_t l, int64_t u) {
    const efface_row *const row = &r->change->rows[i];
    const ef_winner *const winner = &r->model->seeds[l];
    if (r->change->leaves[i])
        return winner->id == row->id;
    const uint64_t bits = ef_tape(r->model->plan.seed, EF_TAPE_SEED, 0, row->id, l);
    return u > 0 || ef_beats(ef_tape_exponential(bits), row->id, winner);
}

/* The first round below `end` whose seed changed row number i has to do with; `end` if there is
 * none. The potentials of the rounds before it follow, but for slots of which a loser does not
 * stand: their rounds are noted. */
static uint32_t follow_row(ef_revision *r, size_t i, uint32_t end) {
    const ef_kmeans *const m = r->model;
    const uint32_t d = m->domain.map.n_columns, c = m->plan.candidates;
    const ef_i128 weight = ef_change_weight(r->change, i);
    int64_t u = 1;
    ef_snap_changed(r, i, r->point);
    for (uint32_t l = 0; l < end; l++) {
        if (l != 0) {
            const int64_t away =
                ef_grid_sqdist(r->point, m->levels[0].centers + (size_t)(l - 1) * d, d);
            u = l == 1 || away < u ? away : u;
        }
        if (l == 0 && reaches(r, i, l, 0, u, &m->seeds[0]))
            return l;
        if (l > m->rounds.n_rounds && reaches_equals(r, i, l, u))
            return l;
        const bool has_slots = l != 0 && l <= m->rounds.n_rounds;
        const uint32_t best =
            has_slots ? ef_best_slot(m->rounds.potentials + (size_t)(l - 1) * c, c) : 0;
        for (uint32_t s = 0; has_slots && s < c; s++) {
            const size_t at = (size_t)(l - 1) * c + s;
            if (reaches(r, i, l, s, u, &m->rounds.winners[at])) {
                if (s == best)
                    return l;
                r->again[l] = true;
                continue;
            }
            const int64_t away = ef_grid_sqdist(r->point, m->rounds.points + at * d, d);
            r->potentials[at] += weight * (away < u ? away : u);
        }
    }
    return end;
}

efface_status ef_look_at_rounds(ef_revision *r, efface_error *error) {
    const ef_kmeans *const m = r->model;
    const uint32_t k = m->plan.n_clusters, c = m->plan.candidates;
    const size_t n = (size_t)m->rounds.n_rounds * c;
    r->potentials = ef_alloc(n, sizeof *r->potentials);
    r->again = ef_alloc_zero(k, sizeof *r->again);
    if (r->potentials == NULL || r->again == NULL)
        return ef_fail_memory(error);
    memcpy(r->potentials, m->rounds.potentials, n * sizeof *r->potentials);
    r->round = k;
    for (size_t i = 0; i < r->change->n_rows; i++)
        r->round = follow_row(r, i, r->round);
    if (r->round < k)
        ef_seeds_differ(r);
    for (uint32_t l = 1; l < r->round && l <= m->rounds.n_rounds; l++) {
        const size_t first = (size_t)(l - 1) * c;
        const uint32_t slot = ef_best_slot(r->potentials + first, c);
        r->plays_again |= r->again[l];
        if (r->again[l] || slot == ef_best_slot(m->rounds.potentials + first, c))
            continue;
        r->round = l + 1;
        r->other_slot = true;
        r->slot = slot;
        ef_seeds_differ(r);
        break;
    }
    if (r->plays_again)
        r->reason = EF_REASON_SEED;
    return EFFACE_OK;
}
