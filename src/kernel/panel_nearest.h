/* The nearest centroid of the rows of a panel, for any number of lanes; part of panel_kernels.h. */

/* What the scores' inner loop reads: values to be snapped, centred and kept for the next tile, a
 * panel that was kept, or values as they are. RAW_NARROW is RAW with at most EF_BLOCK columns, few
 * enough to be fetched to the first cache, RAW_MEASURED is RAW with the distance to a point. */
typedef enum reading { SNAPPED, KEPT, RAW, RAW_NARROW, RAW_MEASURED } reading;

typedef struct source {
    const float *values; /* or the panel */
    const float *low, *step, *origin;
    float *keep;
    const void *ahead; /* to be fetched, unless the panel was kept */
} source;

/* Adds the products of columns begin to end - 1 to the sums of `width` clusters. */
LANE_OP void add_products(const source *from, const float *tile, uint32_t begin, uint32_t end,
                          unsigned width, reading how, vf sum[TILE][GROUPS], vf squares[GROUPS]) {
    const float *const values = from->values, *const low = from->low, *const step = from->step;
    const char *const ahead = from->ahead;
    const float *const origin = from->origin;
    float *const keep = from->keep;
    for (uint32_t j = begin; j < end; j++) {
        const size_t at = (size_t)j * EF_PANEL;
        const float *const w = tile + (size_t)j * width;
        vf x[GROUPS];
        for (unsigned g = 0; g < GROUPS; g++) {
            x[g] = vf_load(values + at + g * LANES);
            if (how == SNAPPED) {
                x[g] = vf_sub(on_grid(x[g], low[j], step[j]), vf_set1(origin[j]));
                squares[g] = vf_muladd(x[g], x[g], squares[g]);
                vf_store(keep + at + g * LANES, x[g]);
            }
            if (how == RAW_MEASURED) {
                const vf away = vf_sub(vf_mul(x[g], vf_set1(step[j])), vf_set1(low[j]));
                squares[g] = vf_muladd(away, away, squares[g]);
            }
        }
        if (how == RAW_NARROW)
            fetch_near(ahead + at * sizeof *values);
        else if (how != KEPT)
            fetch(ahead + at * sizeof *values);
        for (unsigned c = 0; c < width; c++) {
            const vf factor = vf_set1(w[c]);
            for (unsigned g = 0; g < GROUPS; g++)
                sum[c][g] = vf_muladd(x[g], factor, sum[c][g]);
        }
    }
}

/* Scores of one tile of `width` clusters. The order of operations is the one that the error bounds
 * in centers.h are derived for. Of SNAPPED values, squares becomes |y|^2; of RAW_MEASURED ones it
 * is the squared distance of x step from `low`. `width` and `how` are constants wherever this is
 * inlined, so that all sums stay in registers. */
LANE_OP void score(const source *from, const float *tile, const float *bias, uint32_t d,
                   unsigned width, reading how, vf total[TILE][GROUPS], vf squares[GROUPS]) {
    for (unsigned g = 0; g < GROUPS; g++) {
        squares[g] = vf_set1(0.0F);
        for (unsigned c = 0; c < width; c++)
            total[c][g] = vf_set1(bias[c]);
    }
    add_products(from, tile, 0, d < EF_BLOCK ? d : EF_BLOCK, width, how, total, squares);
    if (how == RAW_NARROW)
        return;
    for (uint32_t begin = EF_BLOCK; begin < d; begin += EF_BLOCK) {
        const uint32_t end = d - begin < EF_BLOCK ? d : begin + EF_BLOCK;
        vf sum[TILE][GROUPS];
        for (unsigned c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++)
                sum[c][g] = vf_set1(0.0F);
        add_products(from, tile, begin, end, width, how, sum, squares);
        for (unsigned c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++)
                total[c][g] = vf_add(total[c][g], sum[c][g]);
    }
}

/* The same to memory: scores[16 c + i] for row i. */
LANE_OP void score_tile(const source *from, const float *tile, const float *bias, uint32_t d,
                        unsigned width, reading how, float *scores, float *norm2) {
    vf total[TILE][GROUPS], squares[GROUPS];
    score(from, tile, bias, d, width, how, total, squares);
    for (unsigned g = 0; g < GROUPS; g++) {
        for (unsigned c = 0; c < width; c++)
            vf_store(scores + c * EF_PANEL + g * LANES, total[c][g]);
        if (how == SNAPPED)
            vf_store(norm2 + g * LANES, squares[g]);
    }
}

/* `what` for every width that a tile can have. */
#if TILE == 16
#define EACH_WIDTH(what)                                                                           \
    what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) what(11)      \
        what(12) what(13) what(14) what(15) what(16)
#elif TILE == 6
#define EACH_WIDTH(what) what(1) what(2) what(3) what(4) what(5) what(6)
#elif TILE == 5
#define EACH_WIDTH(what) what(1) what(2) what(3) what(4) what(5)
#endif

#define SCORES_OF(width)                                                                           \
    case width:                                                                                    \
        if (how == SNAPPED)                                                                        \
            score_tile(from, tile, bias, d, width, SNAPPED, scores, norm2);                        \
        else                                                                                       \
            score_tile(from, tile, bias, d, width, KEPT, scores, norm2);                           \
        break;

static void scores_of(const ef_centers *centers, uint32_t first, unsigned width, const source *from,
                      reading how, float *scores, float *norm2) {
    const uint32_t d = centers->n_columns;
    const float *const tile = centers->tiles + (size_t)first * d;
    const float *const bias = centers->bias + first;
    switch (width) {
        EACH_WIDTH(SCORES_OF)
    default: break;
    }
}

/* The squared distance, by integers, of the row whose first value is at `row` to a centroid. */
static int64_t exact_sqdist(const ef_centers *centers, uint32_t cluster, const ef_map *map,
                            const float *row) {
    const size_t d = centers->n_columns;
    const float *const low = map->low, *const step = map->step;
    const int32_t *const center = centers->grid + cluster * d;
    vl sum = vl_zero();
    size_t j = 0;
    for (; j + COLUMNS <= d; j += COLUMNS)
        sum = vl_add(sum, vl_square(vl_sub(vl_on_grid(row + j * EF_PANEL, low + j, step + j),
                                           vl_widen(center + j))));
    int64_t distance = vl_total(sum);
    for (; j < d; j++) {
        const int64_t difference =
            (int64_t)round_one((row[j * EF_PANEL] - low[j]) * step[j]) - center[j];
        distance += difference * difference;
    }
    return distance;
}

/* Decides by integers the rows whose bit in `open` is set, among the clusters whose score does not
 * exceed the row's limit. Clusters come in order, so a tie stays with the lower one. `panel` was
 * kept. */
static void decide(const ef_centers *centers, const ef_map *map, const float *values,
                   const float *panel, const float limit[EF_PANEL], unsigned open,
                   uint32_t labels[EF_PANEL]) {
    const source kept = {.values = panel};
    int64_t least[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++)
        least[i] = INT64_MAX;
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        float scores[TILE * EF_PANEL];
        scores_of(centers, first, width, &kept, KEPT, scores, NULL);
        for (uint32_t c = 0; c < width; c++) {
            unsigned near = 0;
            for (unsigned g = 0; g < GROUPS; g++) {
                const vf score = vf_load(scores + c * EF_PANEL + g * LANES);
                near |= vm_bits(vf_at_most(score, vf_load(limit + g * LANES))) << (g * LANES);
            }
            for (near &= open; near != 0; near &= near - 1) {
                const unsigned row = (unsigned)__builtin_ctz(near);
                const int64_t distance = exact_sqdist(centers, first + c, map, values + row);
                if (distance < least[row]) {
                    least[row] = distance;
                    labels[row] = first + c;
                }
            }
        }
    }
}

/* A lower bound on D2 - D1, where D1 and D2 are the distances to the nearest and the second-nearest
 * centroid: it is (D2^2 - D1^2) / (D2 + D1), whose numerator is at least `second` - `most`, and
 * whose denominator is at most 2 D2 then. D2^2 = second + |y|^2, but for `error` of the former and
 * (d + 2) 2^-24 of the latter (centers.h). What is rounded here has a relative error below 2^-21;
 * the factor covers it. */
LANE_OP vf margin_of(vf second, vf most, vf norm2, vf error, float norm_error) {
    const vf off = vf_muladd(norm2, vf_set1(norm_error), error);
    const vf far = vf_sqrt(vf_max(vf_add(vf_add(second, norm2), off), vf_set1(1.0F)));
    const vf gap = vf_mul(vf_sub(second, most), vf_set1(0.4999F));
    return vf_max(vf_div(gap, far), vf_set1(0.0F));
}

static unsigned nearest(const ef_centers *centers, const ef_map *map, const float *values,
                        unsigned n_rows, const float *ahead, float *panel,
                        uint32_t labels[EF_PANEL], float *margins) {
    const source fresh = {values, map->low, map->step, centers->origin, panel, ahead};
    const source kept = {.values = panel};
    float norm2[EF_PANEL];
    vf best[GROUPS], second[GROUPS];
    vu label[GROUPS];
    for (unsigned g = 0; g < GROUPS; g++) {
        best[g] = second[g] = vf_set1(0x1p100F); /* above every score */
        label[g] = vu_set1(0);
    }
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        float scores[TILE * EF_PANEL];
        scores_of(centers, first, width, first == 0 ? &fresh : &kept, first == 0 ? SNAPPED : KEPT,
                  scores, norm2);
        for (uint32_t c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++) {
                const vf score = vf_load(scores + c * EF_PANEL + g * LANES);
                label[g] = vu_pick(vf_less(score, best[g]), vu_set1(first + c), label[g]);
                second[g] = vf_min(second[g], vf_max(score, best[g]));
                best[g] = vf_min(best[g], score);
            }
    }
    const float norm_error = 1.1F * (float)(centers->n_columns + 2) * 0x1p-24F;
    float limit[EF_PANEL];
    unsigned open = 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf norm = vf_sqrt(vf_load(norm2 + g * LANES));
        const vf error =
            vf_muladd(norm, vf_set1(centers->error_norm), vf_set1(centers->error_bias));
        const vf most = vf_add(best[g], vf_add(error, error));
        vf_store(limit + g * LANES, most);
        open |= vm_bits(vf_at_most(second[g], most)) << (g * LANES);
        vu_store(labels + g * LANES, label[g]);
        if (margins != NULL)
            vf_store(margins + g * LANES,
                     margin_of(second[g], most, vf_load(norm2 + g * LANES), error, norm_error));
    }
    open &= (1u << n_rows) - 1;
    if (open != 0)
        decide(centers, map, values, panel, limit, open, labels);
    return (unsigned)__builtin_popcount(open);
}
