/*
 * The kernels of greedy seeding (model/kmeans/seeding_greedy.c), for any number of lanes: exact
 * distances of rows to several points at a time. Included by panel_kernels.h.
 *
 * |g - p|^2 = |g|^2 - 2 g.p + |p|^2: a row's values are loaded and snapped once, and each point
 * costs a multiplication and an addition. The loops over sixteen numbers are left to the compiler.
 */
LANE_OP void add_dots(const ef_map *map, const float *values, const int32_t *const *points,
                      unsigned width, int64_t *out) {
    const float *const low = map->low, *const step = map->step;
    const size_t d = map->n_columns;
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum[EF_POINTS];
        for (unsigned s = 0; s < width; s++)
            sum[s] = vq_zero();
        for (size_t j = 0; j < d; j++) {
            const float *const from = values + j * EF_PANEL + g * LANES;
            fetch(beyond(from, FAR));
            const vs point = vs_of(vf_whole(on_grid(vf_load(from), low[j], step[j])));
            for (unsigned s = 0; s < width; s++)
                sum[s] = vq_add_times(sum[s], point, points[s][j]);
        }
        for (unsigned s = 0; s < width; s++)
            vq_store(out + s * EF_PANEL + g * LANES, sum[s]);
    }
}

static void try_points(const ef_map *map, const float *values, const int32_t *const *points,
                       const int64_t *norms, unsigned n_points, const int64_t squares[EF_PANEL],
                       const int64_t least[EF_PANEL], int64_t *away, uint64_t *gains) {
    int64_t dots[EF_POINTS * EF_PANEL];
    switch (n_points) {
    case 1: add_dots(map, values, points, 1, dots); break;
    case 2: add_dots(map, values, points, 2, dots); break;
    case 3: add_dots(map, values, points, 3, dots); break;
    default: add_dots(map, values, points, EF_POINTS, dots); break;
    }
    for (unsigned s = 0; s < n_points; s++) {
        const int64_t *const dot = dots + s * EF_PANEL;
        const uint64_t norm = (uint64_t)norms[s];
        int64_t *const out = away + s * EF_PANEL;
        uint64_t gain = 0;
        for (unsigned i = 0; i < EF_PANEL; i++) {
            out[i] = (int64_t)((uint64_t)squares[i] + norm - 2 * (uint64_t)dot[i]);
            gain += out[i] < least[i] ? (uint64_t)least[i] - (uint64_t)out[i] : 0;
        }
        gains[s] = gain;
    }
}

static int64_t take_point(const int64_t away[EF_PANEL], uint32_t label, int64_t least[EF_PANEL],
                          uint32_t nearest_of[EF_PANEL]) {
    int64_t most = 0;
    for (unsigned i = 0; i < EF_PANEL; i++) {
        nearest_of[i] = away[i] < least[i] ? label : nearest_of[i];
        least[i] = away[i] < least[i] ? away[i] : least[i];
        most = least[i] > most ? least[i] : most;
    }
    return most;
}
