/* The reference table: what every kernel computes, in plain C. */
#include "base/tape.h"
#include "kernel/kernels.h"

static void sqdist(const float *panel, uint32_t n_columns, const float *point, const float *ahead,
                   float out[EF_PANEL]) {
    (void)ahead;
    for (unsigned i = 0; i < EF_PANEL; i++) {
        float sum[2] = {0.0F, 0.0F};
        for (uint32_t j = 0; j < n_columns; j++) {
            const float difference = panel[(size_t)j * EF_PANEL + i] - point[j];
            const float square = difference * difference;
            sum[j % 2] = sum[j % 2] + square;
        }
        out[i] = sum[0] + sum[1];
    }
}

static void snap(const ef_map *map, const float *values, unsigned n_rows, float *panel,
                 float norm2[EF_PANEL]) {
    for (unsigned i = 0; i < EF_PANEL; i++) {
        const unsigned from = i < n_rows ? i : 0;
        float sum[2] = {0.0F, 0.0F};
        for (uint32_t j = 0; j < map->n_columns; j++) {
            const float x = values[(size_t)j * EF_PANEL + from];
            const float g = (float)ef_snap(x, map->low[j], map->step[j]);
            panel[(size_t)j * EF_PANEL + i] = g;
            const float square = g * g;
            sum[j % 2] = sum[j % 2] + square;
        }
        norm2[i] = sum[0] + sum[1];
    }
}

static unsigned nearest(const ef_centers *centers, const float *panel, const float norm2[EF_PANEL],
                        unsigned n_rows, const float *ahead, uint32_t labels[EF_PANEL]) {
    (void)norm2;
    (void)ahead;
    for (unsigned i = 0; i < n_rows; i++) {
        int64_t least = INT64_MAX;
        for (uint32_t c = 0; c < centers->n_clusters; c++) {
            const int64_t distance = ef_centers_sqdist(centers, c, panel, i);
            if (distance < least) {
                least = distance;
                labels[i] = c;
            }
        }
    }
    return n_rows; /* there is no filter: integers decide every row */
}

static void squares(const float *panel, uint32_t n_columns, int64_t out[EF_PANEL]) {
    for (unsigned i = 0; i < EF_PANEL; i++) {
        out[i] = 0;
        for (uint32_t j = 0; j < n_columns; j++) {
            const int64_t g = (int64_t)panel[(size_t)j * EF_PANEL + i];
            out[i] += g * g;
        }
    }
}

static void tape_high(uint64_t seed, uint32_t purpose_and_sub, const uint64_t ids[EF_PANEL],
                      uint32_t step, uint32_t out[EF_PANEL]) {
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (unsigned i = 0; i < EF_PANEL; i++) {
        const uint32_t counter[4] = {(uint32_t)ids[i], (uint32_t)(ids[i] >> 32), step,
                                     purpose_and_sub};
        uint32_t words[4];
        ef_philox(counter, key, words);
        out[i] = words[1];
    }
}

const ef_kernels ef_kernels_ref = {
    .name = "ref",
    .tile = 8,
    .snap = snap,
    .nearest = nearest,
    .sqdist = sqdist,
    .squares = squares,
    .tape_high = tape_high,
};
