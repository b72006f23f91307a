/* The pilot of the method pyramid: ranks and marks (pilot.h). */
#include "model/kmeans/sampling/pilot.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"

bool ef_pilot_init(ef_pilot *pilot, size_t k, size_t d) {
    const ef_array arrays[] = {{&pilot->winners, k, sizeof *pilot->winners},
                               {&pilot->points, k, d * sizeof *pilot->points},
                               {&pilot->counts, k, sizeof *pilot->counts}};
    pilot->block = EF_ARRAYS_TAKE(arrays, true);
    return pilot->block != NULL;
}

void ef_pilot_free(ef_pilot *pilot) {
    ef_free(pilot->block);
    *pilot = (ef_pilot){0};
}

size_t ef_pilot_bytes(const ef_pilot *pilot, size_t k, size_t d) {
    if (pilot->winners == NULL)
        return 0;
    return k * (sizeof *pilot->winners + sizeof *pilot->counts + d * sizeof *pilot->points);
}

uint32_t ef_log_up(ef_u128 x) {
    if (x <= 1)
        return 0;
    const uint64_t high = (uint64_t)((x - 1) >> 64), low = (uint64_t)(x - 1);
    return high != 0 ? 128 - (uint32_t)__builtin_clzll(high) : 64 - (uint32_t)__builtin_clzll(low);
}

ef_rank ef_rank_of(const ef_pilot *pilot, uint32_t k, uint32_t cluster, int64_t weight,
                   int64_t distance, uint32_t zeros) {
    uint32_t base =
        ef_log_up(k) + ef_log_up((ef_u128)pilot->counts[cluster]) - ef_log_up((ef_u128)weight);
    if (distance > 0) {
        const uint32_t far =
            ef_log_up((ef_u128)pilot->spread) - ef_log_up((ef_u128)weight * (ef_u128)distance);
        base = far < base ? far : base;
    }
    /* It is less, but for numbers that are not those of the rows: bytes may have been damaged. */
    base = base < EF_NEEDS ? base : EF_NEEDS - 1;
    return (ef_rank){(uint8_t)base, (uint8_t)(base > zeros ? base - zeros : 0)};
}

uint32_t ef_member_zeros(uint64_t seed, uint64_t id) {
    const uint64_t bits = ef_tape(seed, EF_TAPE_MEMBER, 0, id, 0);
    return bits != 0 ? (uint32_t)__builtin_clzll(bits) : 64;
}

uint32_t ef_nearest_point(const int32_t *points, uint32_t k, uint32_t d, const int32_t *point,
                          int64_t *distance) {
    uint32_t nearest = 0;
    *distance = INT64_MAX;
    for (uint32_t c = 0; c < k; c++) {
        const int64_t away = ef_grid_sqdist(point, points + (size_t)c * d, d);
        nearest = away < *distance ? c : nearest;
        *distance = away < *distance ? away : *distance;
    }
    return nearest;
}

uint32_t ef_weight_cut(ef_i128 total) {
    uint32_t cut = 0;
    if (total >> EF_MEMBERS_BITS == 0)
        return 0;
    while (total >> cut >= (ef_i128)1 << (EF_MEMBERS_BITS - 1))
        cut++;
    return cut;
}

efface_status ef_marks_find(const uint8_t *codes, size_t n_rows, size_t **positions, size_t *n_jury,
                            size_t *n_sample, efface_error *error) {
    size_t n = 0, m = 0;
    for (size_t i = 0; i < n_rows; i++) {
        n += (codes[i] & EF_IN_JURY) != 0;
        m += (codes[i] & EF_IN_SAMPLE) != 0;
    }
    *positions = ef_alloc(n, sizeof **positions);
    if (*positions == NULL)
        return ef_fail_memory(error);
    *n_jury = n;
    *n_sample = m;
    n = 0;
    for (size_t i = 0; i < n_rows; i++)
        if ((codes[i] & EF_MARKS) != 0)
            (*positions)[(codes[i] & EF_IN_SAMPLE) != 0 ? n++ : m++] = i;
    return EFFACE_OK;
}
