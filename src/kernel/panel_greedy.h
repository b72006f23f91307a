/*
 * The kernels of greedy seeding (model/kmeans/seeding/seeding_greedy.c), for any number of lanes:
 * exact distances of rows to several points at a time. Included by panel_kernels.h.
 *
 * |g - p|^2 = |g|^2 - 2 g.p + |p|^2: a row's values are loaded and snapped once, and each point
 * costs a multiplication and an addition. The loops over sixteen numbers are left to the compiler.
 */
#ifdef DOUBLE_DOTS

/* A block of columns at a time: products are at most 2^46, and sums of 64 of them 2^52. */
_Static_assert(EF_BLOCK <= 64, "sums are exact");

/* g.p for sixteen rows and `width` points, and |g|^2 unless that is NULL. */
LANE_OP void find_dots(const ef_map *map, const float *values, const ef_point *points,
                       unsigned width, int64_t *out, int64_t *squares_out) {
    const float *const low = map->low, *const step = map->step;
    const size_t d = map->n_columns;
    for (size_t begin = 0, n; begin < d; begin += n) {
        uint32_t block[EF_BLOCK * EF_PANEL];
        vd sum[EF_POINTS], square = vd_zero();
        n = d - begin < EF_BLOCK ? d - begin : EF_BLOCK;
        for (size_t j = 0; j < n; j++) {
            const float *const from = values + (begin + j) * EF_PANEL;
            fetch(beyond(from, FAR));
            vu_store(block + j * EF_PANEL,
                     vf_whole(on_grid(vf_load(from), low[begin + j], step[begin + j])));
        }
        for (unsigned s = 0; s < width; s++)
            sum[s] = vd_zero();
        for (size_t j = 0; j < n; j++) {
            const vd point = vd_load_whole(block + j * EF_PANEL);
            if (squares_out != NULL)
                square = vd_add_square(square, point);
            for (unsigned s = 0; s < width; s++)
                sum[s] = vd_add_times(sum[s], point, points[s].real[begin + j]);
        }
        for (unsigned s = 0; s < width; s++)
            vd_put(out + s * EF_PANEL, sum[s], begin != 0);
        if (squares_out != NULL)
            vd_put(squares_out, square, begin != 0);
    }
}

#else

LANE_OP void find_dots(const ef_map *map, const float *values, const ef_point *points,
                       unsigned width, int64_t *out, int64_t *squares_out) {
    const float *const low = map->low, *const step = map->step;
    const size_t d = map->n_columns;
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum[EF_POINTS], square = vq_zero();
        for (unsigned s = 0; s < width; s++)
            sum[s] = vq_zero();
        for (size_t j = 0; j < d; j++) {
            const float *const from = values + j * EF_PANEL + g * LANES;
            fetch(beyond(from, FAR));
            const vf x = on_grid(vf_load(from), low[j], step[j]);
            const vs point = vs_of(vf_whole(x));
            if (squares_out != NULL)
                square = vq_add_square(square, x);
            for (unsigned s = 0; s < width; s++)
                sum[s] = vq_add_times(sum[s], point, points[s].whole[j]);
        }
        for (unsigned s = 0; s < width; s++)
            vq_store(out + s * EF_PANEL + g * LANES, sum[s]);
        if (squares_out != NULL)
            vq_store(squares_out + g * LANES, square);
    }
}

#endif

static void try_points(const ef_map *map, const float *values, const ef_point *points,
                       unsigned n_points, const int64_t squares[EF_PANEL],
                       const int64_t least[EF_PANEL], int64_t *away, uint64_t *gains) {
    int64_t dots[EF_POINTS * EF_PANEL];
    switch (n_points) {
    case 1: find_dots(map, values, points, 1, dots, NULL); break;
    case 2: find_dots(map, values, points, 2, dots, NULL); break;
    case 3: find_dots(map, values, points, 3, dots, NULL); break;
    default: find_dots(map, values, points, EF_POINTS, dots, NULL); break;
    }
    for (unsigned s = 0; s < n_points; s++) {
        const int64_t *const dot = dots + s * EF_PANEL;
        const uint64_t norm = (uint64_t)points[s].square;
        int64_t *const out = away + s * EF_PANEL;
        uint64_t gain = 0;
        for (unsigned i = 0; i < EF_PANEL; i++) {
            out[i] = (int64_t)((uint64_t)squares[i] + norm - 2 * (uint64_t)dot[i]);
            gain += out[i] < least[i] ? (uint64_t)least[i] - (uint64_t)out[i] : 0;
        }
        gains[s] = gain;
    }
}

static void meet_point(const ef_map *map, const float *values, const ef_point *point,
                       int64_t square[EF_PANEL], int64_t away[EF_PANEL]) {
    int64_t dots[EF_PANEL];
    find_dots(map, values, point, 1, dots, square);
    for (unsigned i = 0; i < EF_PANEL; i++)
        away[i] = (int64_t)((uint64_t)square[i] + (uint64_t)point->square - 2 * (uint64_t)dots[i]);
}

/* |g - C|^2 < least if and only if |C|^2 - 2 g.C < least - |g|^2. The score is off by E at most,
 * and folded_slack is 2 E; what is lost by rounding the limit is less than E and 2^-20 of it. */
LANE_OP uint32_t reach_of(const ef_centers *centers, const float *values,
                          const int64_t squares[EF_PANEL], const int64_t least[EF_PANEL],
                          unsigned width) {
    const source raw = {.values = values, .ahead = beyond(values, FAR)};
    vf total[TILE][GROUPS], unused[GROUPS];
    float limits[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++) {
        const float limit = (float)(least[i] - squares[i]);
        limits[i] = limit + (limit < 0.0F ? -limit : limit) * 0x1p-20F + centers->folded_slack;
    }
    score(&raw, centers->folded, centers->folded_bias, centers->n_columns, width, RAW, total,
          unused);
    uint32_t bits = 0;
    for (unsigned c = 0; c < width; c++) {
        unsigned rows = 0;
        for (unsigned g = 0; g < GROUPS; g++)
            rows |= vm_bits(vf_at_most(total[c][g], vf_load(limits + g * LANES)));
        bits |= (uint32_t)(rows != 0) << c;
    }
    return bits;
}

#define REACH_OF(width)                                                                            \
    static uint32_t reach_##width(const ef_centers *centers, const float *values,                  \
                                  const int64_t *squares, const int64_t *least) {                  \
        return reach_of(centers, values, squares, least, width);                                   \
    }
EACH_WIDTH(REACH_OF)

#define REACH_NAME(width) reach_##width,
static uint32_t (*const reaches[])(const ef_centers *centers, const float *values,
                                   const int64_t *squares,
                                   const int64_t *least) = {EACH_WIDTH(REACH_NAME)};

static uint32_t reach(const ef_centers *centers, const float *values,
                      const int64_t squares[EF_PANEL], const int64_t least[EF_PANEL]) {
    return reaches[centers->n_clusters - 1](centers, values, squares, least);
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
