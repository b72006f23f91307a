/* Races of rows. */
#include "model/exact/races.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"

double ef_race_key(uint64_t bits, int64_t weight, int64_t distance) {
    return ef_tape_exponential(bits) / ((double)weight * (double)distance);
}

/* A candidate and its point as numbers that are in the order in which candidates win. */
static void write_candidate(uint64_t *tuple, const ef_racer *candidate, const int32_t *point,
                            uint32_t d) {
    tuple[0] = ef_order_of_double(candidate->winner.key);
    tuple[1] = candidate->winner.id;
    for (uint32_t j = 0; j < d; j += 2)
        tuple[2 + j / 2] = ef_is_nobody(candidate) ? 0
                                                   : (uint64_t)(uint32_t)point[j] << 32 |
                                                         (j + 1 < d ? (uint32_t)point[j + 1] : 0);
}

static void read_candidate(const uint64_t *tuple, ef_racer *candidate, int32_t *point, uint32_t d) {
    candidate->winner = (ef_winner){tuple[1], ef_double_of_order(tuple[0])};
    for (uint32_t j = 0; !ef_is_nobody(candidate) && j < d; j++)
        point[j] = (int32_t)(uint32_t)(tuple[2 + j / 2] >> (j % 2 == 0 ? 32 : 0));
}

efface_status ef_races_end(const ef_passes *passes, ef_racer *best, size_t n, int32_t *points,
                           efface_error *error) {
    const uint32_t d = passes->map->n_columns;
    ef_team *const team = ef_data_team(passes->data);
    for (size_t i = 0; i < n; i++)
        if (!ef_is_nobody(&best[i]))
            ef_passes_snap(passes, best[i].position, points + i * d);
    if (team == NULL)
        return EFFACE_OK;
    const size_t width = 2 + ((size_t)d + 1) / 2;
    uint64_t *const tuples = ef_alloc(n, width * sizeof *tuples);
    if (tuples == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++)
        write_candidate(tuples + i * width, &best[i], points + i * d, d);
    const efface_status status = ef_team_least(team, tuples, n, width, error);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        const ef_racer own = best[i];
        read_candidate(tuples + i * width, &best[i], points + i * d, d);
        best[i].position = best[i].winner.id == own.winner.id ? own.position : EF_NO_POSITION;
    }
    ef_free(tuples);
    return status;
}

efface_status ef_race_among_equals(const ef_passes *passes, uint64_t seed, uint32_t round,
                                   const ef_racer *chosen, ef_racer *best, int32_t *point,
                                   efface_error *error) {
    const efface_data *const data = passes->data;
    *best = EF_NOBODY;
    for (size_t i = 0; i < data->n_rows; i++) {
        const uint64_t bits = ef_tape(seed, EF_TAPE_SEED, 0, ef_data_id(data, i), round);
        if (ef_race_hopeless((uint32_t)(bits >> 32), 1, 1.0, best->winner.key))
            continue;
        bool taken = false;
        for (uint32_t s = 0; s < round; s++)
            taken |= chosen[s].position == i;
        if (!taken)
            ef_candidate_offer(best,
                               &(ef_racer){{ef_data_id(data, i), ef_tape_exponential(bits)}, i});
    }
    return ef_races_end(passes, best, 1, point, error);
}
