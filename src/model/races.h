/* Races: rows draw exponentials with rates, and the smallest key wins (docs/numerics.md, section
 * 4).
 */
#ifndef EF_RACES_H
#define EF_RACES_H

#include "data/rows.h"

/* Who won a race, and with which key. */
typedef struct ef_winner {
    uint64_t id;
    double key;
} ef_winner;

/* Someone who may win a race. */
typedef struct ef_candidate {
    ef_winner winner;
    size_t position;
} ef_candidate;

/* No candidate: everybody beats it. */
#define EF_NOBODY ((ef_candidate){{UINT64_MAX, __builtin_inf()}, EF_NO_POSITION})

/* Makes `candidate` the best if it beats it: by its key, then by the smaller id. */
static inline void ef_candidate_offer(ef_candidate *best, const ef_candidate *candidate) {
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

/* The race of a round in which all have the same rate: those not chosen yet race with E alone. */
ef_candidate ef_race_among_equals(const efface_data *data, uint64_t seed, uint32_t round,
                                  const ef_candidate *chosen);

#endif
