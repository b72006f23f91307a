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

/* Column j of the panel on the grid; its squares are added to `squares`. */
LANE_OP void snap_column(const float *values, float low, float step, float *panel, vf *squares) {
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf x = vf_load(values + g * LANES);
        const vf rounded = vf_round(vf_mul(vf_sub(x, vf_set1(low)), vf_set1(step)));
        const vf point = vf_add(rounded, vf_set1(0.0F)); /* minus zero becomes zero */
        vf_store(panel + g * LANES, point);
        squares[g] = vf_add(squares[g], vf_mul(point, point));
    }
}

static void snap(const ef_map *map, const float *values, unsigned n_rows, float *panel,
                 float norm2[EF_PANEL]) {
    const size_t d = map->n_columns;
    const float *const low = map->low, *const step = map->step;
    vf even[GROUPS], odd[GROUPS]; /* two sums, so that one need not wait for the other */
    for (unsigned g = 0; g < GROUPS; g++)
        even[g] = odd[g] = vf_set1(0.0F);
    size_t j = 0;
    for (; j + 2 <= d; j += 2) {
        const size_t at = j * EF_PANEL;
        snap_column(values + at, low[j], step[j], panel + at, even);
        snap_column(values + at + EF_PANEL, low[j + 1], step[j + 1], panel + at + EF_PANEL, odd);
    }
    if (j < d)
        snap_column(values + j * EF_PANEL, low[j], step[j], panel + j * EF_PANEL, even);
    for (unsigned g = 0; g < GROUPS; g++)
        vf_store(norm2 + g * LANES, vf_add(even[g], odd[g]));
    for (unsigned i = n_rows; i < EF_PANEL; i++) {
        for (size_t at = 0; at < d * EF_PANEL; at += EF_PANEL)
            panel[at + i] = panel[at];
        norm2[i] = norm2[0];
    }
}

/* Scores of one tile of `width` clusters: scores[16 c + i] for row i. The order of operations is
 * the one that the error bound in centers.h is derived for. `width` is a constant wherever this
 * is inlined, so that all sums stay in registers. */
LANE_OP void score_tile(const float *tile, const float *bias, const float *panel, uint32_t d,
                        unsigned width, const float *ahead, float *scores) {
    vf total[TILE][GROUPS];
    for (unsigned c = 0; c < width; c++)
        for (unsigned g = 0; g < GROUPS; g++)
            total[c][g] = vf_set1(bias[c]);
    for (uint32_t begin = 0; begin < d; begin += EF_BLOCK) {
        const uint32_t end = d - begin < EF_BLOCK ? d : begin + EF_BLOCK;
        vf sum[TILE][GROUPS];
        for (unsigned c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++)
                sum[c][g] = vf_set1(0.0F);
        for (uint32_t j = begin; j < end; j++) {
            const float *const x = panel + (size_t)j * EF_PANEL;
            const float *const w = tile + (size_t)j * width;
            fetch(ahead + (size_t)j * EF_PANEL);
            vf values[GROUPS];
            for (unsigned g = 0; g < GROUPS; g++)
                values[g] = vf_load(x + g * LANES);
            for (unsigned c = 0; c < width; c++) {
                const vf factor = vf_set1(w[c]);
                for (unsigned g = 0; g < GROUPS; g++)
                    sum[c][g] = vf_muladd(values[g], factor, sum[c][g]);
            }
        }
        for (unsigned c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++)
                total[c][g] = vf_add(total[c][g], sum[c][g]);
    }
    for (unsigned c = 0; c < width; c++)
        for (unsigned g = 0; g < GROUPS; g++)
            vf_store(scores + c * EF_PANEL + g * LANES, total[c][g]);
}

static void scores_of(const ef_centers *centers, uint32_t first, unsigned width,
                      const float *panel, const float *ahead, float *scores) {
    const uint32_t d = centers->n_columns;
    const float *const tile = centers->tiles + (size_t)first * d;
    const float *const bias = centers->bias + first;
    switch (width) {
    case 1: score_tile(tile, bias, panel, d, 1, ahead, scores); break;
    case 2: score_tile(tile, bias, panel, d, 2, ahead, scores); break;
    case 3: score_tile(tile, bias, panel, d, 3, ahead, scores); break;
    case 4: score_tile(tile, bias, panel, d, 4, ahead, scores); break;
    case 5: score_tile(tile, bias, panel, d, 5, ahead, scores); break;
#if TILE > 5
    case 6: score_tile(tile, bias, panel, d, 6, ahead, scores); break;
#endif
#if TILE > 6
    case 7: score_tile(tile, bias, panel, d, 7, ahead, scores); break;
    case 8: score_tile(tile, bias, panel, d, 8, ahead, scores); break;
    case 9: score_tile(tile, bias, panel, d, 9, ahead, scores); break;
    case 10: score_tile(tile, bias, panel, d, 10, ahead, scores); break;
    case 11: score_tile(tile, bias, panel, d, 11, ahead, scores); break;
    case 12: score_tile(tile, bias, panel, d, 12, ahead, scores); break;
#endif
    default: break;
    }
}

/* Decides by integers the rows whose bit in `open` is set, among the clusters whose score does not
 * exceed the row's limit. Clusters come in order, so a tie stays with the lower one. */
static void decide(const ef_centers *centers, const float *panel, const float limit[EF_PANEL],
                   unsigned open, uint32_t labels[EF_PANEL]) {
    int64_t least[EF_PANEL];
    for (unsigned i = 0; i < EF_PANEL; i++)
        least[i] = INT64_MAX;
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        float scores[TILE * EF_PANEL];
        scores_of(centers, first, width, panel, panel, scores);
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

static unsigned nearest(const ef_centers *centers, const float *panel, const float norm2[EF_PANEL],
                        unsigned n_rows, const float *ahead, uint32_t labels[EF_PANEL]) {
    vf best[GROUPS], second[GROUPS];
    vu label[GROUPS];
    for (unsigned g = 0; g < GROUPS; g++) {
        best[g] = second[g] = vf_set1(0x1p100F); /* above every score */
        label[g] = vu_set1(0);
    }
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        float scores[TILE * EF_PANEL];
        scores_of(centers, first, width, panel, ahead, scores);
        for (uint32_t c = 0; c < width; c++)
            for (unsigned g = 0; g < GROUPS; g++) {
                const vf score = vf_load(scores + c * EF_PANEL + g * LANES);
                label[g] = vu_pick(vf_less(score, best[g]), vu_set1(first + c), label[g]);
                second[g] = vf_min(second[g], vf_max(score, best[g]));
                best[g] = vf_min(best[g], score);
            }
    }
    float limit[EF_PANEL];
    unsigned open = 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf norm = vf_sqrt(vf_load(norm2 + g * LANES));
        const vf error = vf_muladd(norm, vf_set1(centers->error_norm),
                                   vf_set1(centers->error_bias));
        const vf most = vf_add(best[g], vf_add(error, error));
        vf_store(limit + g * LANES, most);
        open |= vm_bits(vf_at_most(second[g], most)) << (g * LANES);
        vu_store(labels + g * LANES, label[g]);
    }
    open &= (1u << n_rows) - 1;
    if (open != 0)
        decide(centers, panel, limit, open, labels);
    return (unsigned)__builtin_popcount(open);
}

LANE_OP void add_squares(const float *panel, float coordinate, const float *ahead, vf *sum) {
    fetch(ahead);
    for (unsigned g = 0; g < GROUPS; g++) {
        const vf difference = vf_sub(vf_load(panel + g * LANES), vf_set1(coordinate));
        sum[g] = vf_add(sum[g], vf_mul(difference, difference));
    }
}

static void sqdist(const float *panel, uint32_t n_columns, const float *point, const float *ahead,
                   float out[EF_PANEL]) {
    vf even[GROUPS], odd[GROUPS];
    for (unsigned g = 0; g < GROUPS; g++)
        even[g] = odd[g] = vf_set1(0.0F);
    size_t j = 0;
    for (; j + 2 <= n_columns; j += 2) {
        const size_t at = j * EF_PANEL;
        add_squares(panel + at, point[j], ahead + at, even);
        add_squares(panel + at + EF_PANEL, point[j + 1], ahead + at + EF_PANEL, odd);
    }
    if (j < n_columns)
        add_squares(panel + j * EF_PANEL, point[j], ahead + j * EF_PANEL, even);
    for (unsigned g = 0; g < GROUPS; g++)
        vf_store(out + g * LANES, vf_add(even[g], odd[g]));
}

static void squares(const float *panel, uint32_t n_columns, int64_t out[EF_PANEL]) {
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum = vq_zero();
        for (uint32_t j = 0; j < n_columns; j++)
            sum = vq_add_square(sum, vf_load(panel + (size_t)j * EF_PANEL + g * LANES));
        vq_store(out + g * LANES, sum);
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
    .sqdist = sqdist,
    .squares = squares,
    .tape_high = tape_high,
};
