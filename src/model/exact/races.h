/* Races: rows draw exponentials with rates, and the smallest key wins (docs/definition/numerics.md,
 * section 4).
 */
#ifndef EF_RACES_H
#define EF_RACES_H

#include "model/exact/passes.h"

/* Who won a race, and with which key. */
typedef struct ef_winner {
    uint64_t id;
    double key;
} ef_winner;

/* Someone who may win a race. */
typedef struct ef_racer {
    ef_winner winner;
    size_t position;
} ef_racer;

/* No candidate: everybody beats it. */
#define EF_NOBODY ((ef_racer){{UINT64_MAX, __builtin_inf()}, EF_NO_POSITION})

static inline bool ef_is_nobody(const ef_racer *candidate) {
    return candidate->winner.id == UINT64_MAX && candidate->winner.key == __builtin_inf();
}

/* Makes `candidate` the best if it beats it: by its key, then by the smaller id. */
static inline void ef_candidate_offer(ef_racer *best, const ef_racer *candidate) {
    const ef_winner *const a = &candidate->winner, *const b = &best->winner;
    if (a->key < b->key || (a->key == b->key && a->id < b->id))
        *best = *candidate;
}

/* The key of a row in a race, E(bits) / (weight * distance); distance > 0. */
double ef_race_key(uint64_t bits, int64_t weight, int64_t distance);

/* Whether a row certainly cannot beat `key`, from the leading bits of its tape number and an upper
 * bound on its squared distance: E >= v (1 - 2^-48), and v is at least its leading bits. */
static inline bool ef_race_hopeless(uint32_t high_bits, int64_t weight, double distance_bound,
                                    double key) {
    const double v = (double)high_bits * (0x1p-32 * (1.0 - 0x1p-40));
    return v > key * ((double)weight * distance_bound);
}

/* ef_race_hopeless holds for leading bits above this, given the largest weight * distance bound. */
static inline uint32_t ef_race_limit(double most, double key) {
    const double limit = key * most * (0x1p32 * (1.0 + 0x1p-30)) + 1.0;
    return limit < 0x1p32 ? (uint32_t)limit : UINT32_MAX;
}

/* How many of the panels that are left to look at together: one as long as everybody wins. */
static inline size_t ef_race_run(const ef_racer *best, size_t n_left) {
    return ef_is_nobody(best) ? 1 : n_left < EF_TAPE_RUN ? n_left : EF_TAPE_RUN;
}

/* After races: `best` has the best candidates of this rank in n of them, and gets those of all, and
 * `points` their grid points; of nobody that is left as it was. A winner that is on another rank
 * has no position. */
efface_status ef_races_end(const ef_passes *passes, ef_racer *best, size_t n, int32_t *points,
                           efface_error *error);

/* The race of a round in which all have the same rate: those not chosen yet race with E alone. */
efface_status ef_race_among_equals(const ef_passes *passes, uint64_t seed, uint32_t round,
                                   const ef_racer *chosen, ef_racer *best, int32_t *point,
                                   efface_error *error);

/* The position of the row with an id; EF_NO_POSITION if this rank does not have it. */
static inline size_t ef_position_of(const efface_data *data, uint64_t id) {
    return ef_row_ids_find(&data->ids, data->n_rows, id);
}

#endif
