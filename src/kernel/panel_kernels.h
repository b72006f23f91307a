/*
 * The kernels on panels, for any number of lanes.
 *
 * Included by one file for each instruction set, after that set's lanes_*.h has said what a vector
 * is (vf, vu, vm, LANES), what can be done with it, and how many clusters fit the registers
 * (TILE). TABLE and TABLE_NAME name the result. A panel of sixteen rows is GROUPS vectors wide.
 */
#include "base/tape.h"
#include "kernel/kernels.h"

#define GROUPS (EF_PANEL / LANES)

/* Sixteen floats are a cache line; it goes to the second level, which has room for two panels. */
LANE_OP void fetch(const float *line) {
    __builtin_prefetch(line, 0, 2);
}

/* Values on the grid; a small negative value may become minus zero. */
LANE_OP vf on_grid(vf x, float low, float step) {
    return vf_round(vf_mul(vf_sub(x, vf_set1(low)), vf_set1(step)));
}

static void snap(const ef_map *map, const float *values, unsigned n_rows, float *panel) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    for (size_t j = 0; j < d; j++)
        for (unsigned g = 0; g < GROUPS; g++) {
            const size_t at = j * EF_PANEL + g * LANES;
            const vf point = on_grid(vf_load(values + at), low[j], step[j]);
            vf_store(panel + at, vf_add(point, vf_set1(0.0F))); /* minus zero becomes zero */
        }
    for (unsigned i = n_rows; i < EF_PANEL; i++)
        for (size_t at = 0; at < d * EF_PANEL; at += EF_PANEL)
            panel[at + i] = panel[at];
}

/* ---------------------------------------------------------------- nearest */

/* Where `score_tile` finds the grid points: in values, to be snapped and perhaps kept for the next
 * tile, or in a panel that was kept. */
typedef struct source {
    const float *values; /* or the panel */
    const float *low, *step;
    float *keep; /* or NULL */
    const float *ahead;
} source;

/* Scores of one tile of `width` clusters: scores[16 c + i] for row i. The order of operations is
 * the one that the error bound in centers.h is derived for. With `snapping`, norm2 becomes |g|^2.
 * `width` and `snapping` are constants wherever this is inlined, so that all sums stay in
 * registers. */
LANE_OP void score_tile(const source *from, const float *tile, const float *bias, uint32_t d,
                        unsigned width, int snapping, float *scores, float *norm2) {
    const float *const values = from->values, *const low = from->low, *const step = from->step;
    const float *const ahead = from->ahead;
    float *const keep = from->keep;
    vf squares[GROUPS];
    vf total[TILE][GROUPS];
    for (unsigned g = 0; g < GROUPS; g++) {
        squares[g] = vf_set1(0.0F);
        for (unsigned c = 0; c < width; c++)
            total[c][g] = vf_set1(bias[c]);
    }
    for (uint32_t begin = 0; begin < d; begin += EF_BLOCK) {
        const uint32_t end = d - begin < EF_BLOCK ? d : begin + EF_BLOCK;
        vf sum[TILE][GROUPS];
        for (unsigned c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++)
                sum[c][g] = vf_set1(0.0F);
        for (uint32_t j = begin; j < end; j++) {
            const size_t at = (size_t)j * EF_PANEL;
            const float *const w = tile + (size_t)j * width;
            vf x[GROUPS];
            for (unsigned g = 0; g < GROUPS; g++) {
                x[g] = vf_load(values + at + g * LANES);
                if (snapping) {
                    x[g] = on_grid(x[g], low[j], step[j]);
                    squares[g] = vf_muladd(x[g], x[g], squares[g]);
                    if (keep != NULL)
                        vf_store(keep + at + g * LANES, x[g]);
                }
            }
            if (snapping)
                fetch(ahead + at);
            for (unsigned c = 0; c < width; c++) {
                const vf factor = vf_set1(w[c]);
                for (unsigned g = 0; g < GROUPS; g++)
                    sum[c][g] = vf_muladd(x[g], factor, sum[c][g]);
            }
        }
        for (unsigned c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++)
                total[c][g] = vf_add(total[c][g], sum[c][g]);
    }
    for (unsigned g = 0; g < GROUPS; g++) {
        for (unsigned c = 0; c < width; c++)
            vf_store(scores + c * EF_PANEL + g * LANES, total[c][g]);
        if (snapping)
            vf_store(norm2 + g * LANES, squares[g]);
    }
}

#define TILE_OF(width)                                                                             \
    case width:                                                                                    \
        if (snapping)                                                                              \
            score_tile(from, tile, bias, d, width, 1, scores, norm2);                              \
        else                                                                                       \
            score_tile(from, tile, bias, d, width, 0, scores, norm2);                              \
        break;

static void scores_of(const ef_centers *centers, uint32_t first, unsigned width, const source *from,
                      int snapping, float *scores, float *norm2) {
    const uint32_t d = centers->n_columns;
    const float *const tile = centers->tiles + (size_t)first * d;
    const float *const bias = centers->bias + first;
    switch (width) {
        TILE_OF(1)
        TILE_OF(2)
        TILE_OF(3)
        TILE_OF(4)
        TILE_OF(5)
#if TILE > 5
        TILE_OF(6)
#endif
#if TILE > 6
        TILE_OF(7)
        TILE_OF(8)
        TILE_OF(9)
        TILE_OF(10)
        TILE_OF(11)
        TILE_OF(12)
#endif
    default: break;
    }
}

/* Decides by integers the rows whose bit in `open` is set, among the clusters whose score does not
 * exceed the row's limit. Clusters come in order, so a tie stays with the lower one. */
static void decide(const ef_centers *centers, const float *panel, const float limit[EF_PANEL],
                   unsigned open, uint32_t labels[EF_PANEL]) {
    const source kept = {.values = panel};
    int64_t least[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++)
        least[i] = INT64_MAX;
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        float scores[TILE * EF_PANEL];
        scores_of(centers, first, width, &kept, 0, scores, NULL);
        for (uint32_t c = 0; c < width; c++) {
            unsigned near = 0;
            for (unsigned g = 0; g < GROUPS; g++) {
                const vf score = vf_load(scores + c * EF_PANEL + g * LANES);
                near |= vm_bits(vf_at_most(score, vf_load(limit + g * LANES))) << (g * LANES);
            }
            for (near &= open; near != 0; near &= near - 1) {
                const unsigned row = (unsigned)__builtin_ctz(near);
                const int64_t distance = ef_centers_sqdist(centers, first + c, panel, row);
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
 * whose denominator is at most 2 D2 then. D2^2 = second + |g|^2, but for `error` of the former and
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
    const bool one_tile = centers->n_clusters <= TILE;
    const source fresh = {values, map->low, map->step, one_tile ? NULL : panel, ahead};
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
        scores_of(centers, first, width, first == 0 ? &fresh : &kept, first == 0, scores, norm2);
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
    if (open != 0) {
        snap(map, values, n_rows, panel);
        decide(centers, panel, limit, open, labels);
    }
    return (unsigned)__builtin_popcount(open);
}

static unsigned survey(const ef_centers *centers, const ef_map *map, const float *values,
                       unsigned n_rows, float *panel, ef_survey *found) {
    const source fresh = {values, map->low, map->step, panel, values};
    const source kept = {.values = panel};
    float norm2[EF_PANEL];
    vf best[GROUPS], second[GROUPS], third[GROUPS];
    vu label[GROUPS], runner[GROUPS];
    for (unsigned g = 0; g < GROUPS; g++) {
        best[g] = second[g] = third[g] = vf_set1(0x1p100F); /* above every score */
        label[g] = runner[g] = vu_set1(0);
    }
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        float scores[TILE * EF_PANEL];
        scores_of(centers, first, width, first == 0 ? &fresh : &kept, first == 0, scores, norm2);
        for (uint32_t c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++) {
                const vf score = vf_load(scores + c * EF_PANEL + g * LANES);
                const vm is_best = vf_less(score, best[g]), is_second = vf_less(score, second[g]);
                const vf worse = vf_max(score, best[g]);
                runner[g] = vu_pick(is_second, vu_set1(first + c), runner[g]);
                runner[g] = vu_pick(is_best, label[g], runner[g]);
                label[g] = vu_pick(is_best, vu_set1(first + c), label[g]);
                third[g] = vf_min(third[g], vf_max(worse, second[g]));
                second[g] = vf_min(second[g], worse);
                best[g] = vf_min(best[g], score);
            }
    }
    const float norm_error = 1.1F * (float)(centers->n_columns + 2) * 0x1p-24F;
    unsigned open = 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf square = vf_load(norm2 + g * LANES);
        const vf error =
            vf_muladd(vf_sqrt(square), vf_set1(centers->error_norm), vf_set1(centers->error_bias));
        const vf most = vf_add(best[g], vf_add(error, error));
        open |= vm_bits(vf_at_most(second[g], most)) << (g * LANES);
        vu_store(found->nearest + g * LANES, label[g]);
        vu_store(found->second + g * LANES, runner[g]);
        vf_store(found->gap + g * LANES, vf_sub(second[g], most));
        vf_store(found->margin + g * LANES, margin_of(second[g], most, square, error, norm_error));
        vf_store(found->beyond + g * LANES, margin_of(third[g], most, square, error, norm_error));
    }
    snap(map, values, n_rows, panel);
    open &= (1u << n_rows) - 1;
    for (unsigned rest = open; rest != 0; rest &= rest - 1)
        ef_centers_survey(centers, panel, (unsigned)__builtin_ctz(rest), found);
    return (unsigned)__builtin_popcount(open);
}

static void gaps(const ef_map *map, const float *values, const int32_t *own, const int32_t *other,
                 int64_t out[EF_PANEL]) {
    const float *const low = map->low, *const step = map->step;
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum = vq_zero();
        for (size_t j = 0; j < map->n_columns; j++) {
            const vf x = vf_load(values + j * EF_PANEL + g * LANES);
            const vu point = vf_whole(on_grid(x, low[j], step[j]));
            /* (g - b)^2 - (g - a)^2 = (2 g - a - b) (a - b) */
            const vu away = vu_add(vu_add(point, point), vu_set1((uint32_t)(-own[j] - other[j])));
            sum = vq_add_product(sum, away, vu_set1((uint32_t)(own[j] - other[j])));
        }
        vq_store(out + g * LANES, sum);
    }
}

#define CHAINS 4 /* additions that need not wait for each other */

static size_t sift(const int8_t *bytes, size_t n_rows, uint32_t n_columns, const float *slopes,
                   const float *gaps, float least, float most, uint32_t *found) {
    size_t n_found = 0;
    for (size_t first = 0; first < n_rows; first += EF_PANEL) {
        const int8_t *const panel = bytes + first * n_columns;
        unsigned bits = 0;
        for (unsigned g = 0; g < GROUPS; g++) {
            const int8_t *const from = panel + g * LANES;
            vf sum[CHAINS];
            for (unsigned c = 0; c < CHAINS; c++)
                sum[c] = vf_set1(0.0F);
            uint32_t j = 0;
            for (; j + CHAINS <= n_columns; j += CHAINS)
                for (unsigned c = 0; c < CHAINS; c++)
                    sum[c] = vf_muladd(vf_load_bytes(from + (size_t)(j + c) * EF_PANEL),
                                       vf_set1(slopes[j + c]), sum[c]);
            for (; j < n_columns; j++)
                sum[0] = vf_muladd(vf_load_bytes(from + (size_t)j * EF_PANEL), vf_set1(slopes[j]),
                                   sum[0]);
            const vf change = vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3]));
            const vf gap = vf_add(vf_load(gaps + first + g * LANES), change);
            bits |=
                (vm_bits(vf_at_most(gap, vf_set1(least))) | vm_bits(vf_at_most(vf_set1(most), gap)))
                << (g * LANES);
        }
        if (n_rows - first < EF_PANEL)
            bits &= (1u << (n_rows - first)) - 1;
        for (; bits != 0; bits &= bits - 1)
            found[n_found++] = (uint32_t)first + (uint32_t)__builtin_ctz(bits);
    }
    return n_found;
}

/* ---------------------------------------------------------------- sums */

LANE_OP void add_squares(const float *values, float low, float step, float coordinate,
                         const float *ahead, vf *sum) {
    fetch(ahead);
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf x = on_grid(vf_load(values + g * LANES), low, step);
        const vf difference = vf_sub(x, vf_set1(coordinate));
        sum[g] = vf_add(sum[g], vf_mul(difference, difference));
    }
}

static void sqdist(const ef_map *map, const float *values, const float *point, const float *ahead,
                   float out[EF_PANEL]) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    vf sum[2][GROUPS]; /* two, so that one need not wait for the other */
    for (unsigned g = 0; g < GROUPS; g++)
        sum[0][g] = sum[1][g] = vf_set1(0.0F);
    size_t j = 0;
    for (; j + 2 <= d; j += 2)
        for (unsigned odd = 0; odd < 2; odd++) {
            const size_t at = (j + odd) * EF_PANEL;
            add_squares(values + at, low[j + odd], step[j + odd], point[j + odd], ahead + at,
                        sum[odd]);
        }
    if (j < d)
        add_squares(values + j * EF_PANEL, low[j], step[j], point[j], ahead + j * EF_PANEL, sum[0]);
    for (unsigned g = 0; g < GROUPS; g++)
        vf_store(out + g * LANES, vf_add(sum[0][g], sum[1][g]));
}

static void squares(const float *panel, uint32_t n_columns, int64_t out[EF_PANEL]) {
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum = vq_zero();
        for (uint32_t j = 0; j < n_columns; j++)
            sum = vq_add_square(sum, vf_load(panel + (size_t)j * EF_PANEL + g * LANES));
        vq_store(out + g * LANES, sum);
    }
}

static void move_row(const ef_map *map, const float *row, int64_t weight, int64_t *gains,
                     int64_t *loses) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    if (loses == NULL) {
        for (size_t j = 0; j < d; j++)
            gains[j] += weight * round_one((row[j * EF_PANEL] - low[j]) * step[j]);
        return;
    }
    for (size_t j = 0; j < d; j++) {
        const int64_t moved = weight * round_one((row[j * EF_PANEL] - low[j]) * step[j]);
        gains[j] += moved;
        loses[j] -= moved;
    }
}

static void add_rows(const ef_map *map, const float *values, unsigned n_rows,
                     const uint32_t labels[EF_PANEL], int32_t *lanes) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    /* The clusters there are, and for each the rows it has. */
    int32_t *sums[EF_PANEL];
    vm rows[EF_PANEL][GROUPS];
    unsigned n_clusters = 0;
    uint32_t wanted[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++)
        wanted[i] = i < n_rows ? labels[i] : UINT32_MAX;
    for (unsigned open = (1u << n_rows) - 1; open != 0; n_clusters++) {
        const uint32_t cluster = labels[__builtin_ctz(open)];
        unsigned bits = 0;
        for (unsigned g = 0; g < GROUPS; g++) {
            rows[n_clusters][g] = vu_equal(vu_load(wanted + g * LANES), vu_set1(cluster));
            bits |= vm_bits(rows[n_clusters][g]) << (g * LANES);
        }
        sums[n_clusters] = lanes + cluster * d * EF_PANEL;
        open &= ~bits;
    }
    const vu zero = vu_set1(0);
    for (size_t j = 0; j < d; j++)
        for (unsigned g = 0; g < GROUPS; g++) {
            const size_t at = j * EF_PANEL + g * LANES;
            const vu point = vf_whole(on_grid(vf_load(values + at), low[j], step[j]));
            for (unsigned c = 0; c < n_clusters; c++) {
                uint32_t *const sum = (uint32_t *)sums[c] + at;
                vu_store(sum, vu_add(vu_load(sum), vu_pick(rows[c][g], point, zero)));
            }
        }
}

static void tape_high(uint64_t seed, uint32_t purpose_and_sub, const uint64_t ids[EF_PANEL],
                      uint32_t step, uint32_t out[EF_PANEL]) {
    uint32_t low[EF_PANEL], high[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++) {
        low[i] = (uint32_t)ids[i];
        high[i] = (uint32_t)(ids[i] >> 32);
    }
    const vu m0 = vu_set1(EF_PHILOX_M0), m1 = vu_set1(EF_PHILOX_M1);
    for (unsigned g = 0; g < GROUPS; g++) {
        vu c0 = vu_load(low + g * LANES), c1 = vu_load(high + g * LANES);
        vu c2 = vu_set1(step), c3 = vu_set1(purpose_and_sub);
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < EF_PHILOX_ROUNDS; round++) {
            vu high0, low0, high1, low1;
            vu_multiply(c0, m0, &high0, &low0);
            vu_multiply(c2, m1, &high1, &low1);
            c0 = vu_xor(vu_xor(high1, c1), vu_set1(k0));
            c1 = low1;
            c2 = vu_xor(vu_xor(high0, c3), vu_set1(k1));
            c3 = low0;
            k0 += EF_PHILOX_W0;
            k1 += EF_PHILOX_W1;
        }
        vu_store(out + g * LANES, c1);
    }
}

extern const ef_kernels TABLE;
const ef_kernels TABLE = {
    .name = TABLE_NAME,
    .tile = TILE,
    .snap = snap,
    .nearest = nearest,
    .survey = survey,
    .gaps = gaps,
    .sift = sift,
    .sqdist = sqdist,
    .squares = squares,
    .move_row = move_row,
    .add_rows = add_rows,
    .tape_high = tape_high,
};
