/* Races of rows. */
#include "model/races.h"

#include "base/tape.h"

double ef_race_key(uint64_t bits, int64_t weight, int64_t distance) {
    return ef_tape_exponential(bits) / ((double)weight * (double)distance);
}

ef_candidate ef_race_among_equals(const efface_data *data, uint64_t seed, uint32_t round,
                                  const ef_candidate *chosen) {
    ef_candidate best = EF_NOBODY;
    for (size_t i = 0; i < data->n_rows; i++) {
        const uint64_t bits = ef_tape(seed, EF_TAPE_SEED, 0, ef_data_id(data, i), round);
        if (ef_race_hopeless((uint32_t)(bits >> 32), 1, 1.0, best.winner.key))
            continue;
        bool taken = false;
        for (uint32_t s = 0; s < round; s++)
            taken |= chosen[s].position == i;
        if (!taken)
            ef_candidate_offer(
                &best, &(ef_candidate){{ef_data_id(data, i), ef_tape_exponential(bits)}, i});
    }
    return best;
}
