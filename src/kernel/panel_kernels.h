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
#define CACHE_LINE 64

/* LANES columns (or the last n) of a row, on the grid. */
LANE_OP vf snap(const ef_map *map, const float *row, size_t j, unsigned n) {
    const vf x = n == LANES ? vf_load(row + j) : vf_load_first(row + j, n);
    const vf low = n == LANES ? vf_load(map->low + j) : vf_load_first(map->low + j, n);
    const vf step = n == LANES ? vf_load(map->step + j) : vf_load_first(map->step + j, n);
    return vf_round(vf_mul(vf_sub(x, low), step));
}

static void pack(const ef_map *map, const float *const rows[EF_PANEL], float *panel,
                 float norm2[EF_PANEL]) {
    const size_t d = map->n_columns;
    for (unsigned g = 0; g < GROUPS; g++) {
        const float *const *const group = rows + g * LANES;
        float *const out = panel + g * LANES;
        vf squares = vf_set1(0.0F);
        size_t j = 0;
        for (; j + LANES <= d; j += LANES) {
            vf block[LANES];
            for (unsigned i = 0; i < LANES; i++)
                block[i] = snap(map, group[i], j, LANES);
            transpose(block);
            for (unsigned i = 0; i < LANES; i++) {
                vf_store(out + (j + i) * EF_PANEL, block[i]);
                squares = vf_add(squares, vf_mul(block[i], block[i]));
            }
        }
        if (j < d) {
            const unsigned n = (unsigned)(d - j);
            vf block[LANES];
            for (unsigned i = 0; i < LANES; i++)
                block[i] = snap(map, group[i], j, n);
            transpose(block);
            for (unsigned i = 0; i < n; i++) {
                vf_store(out + (j + i) * EF_PANEL, block[i]);
                squares = vf_add(squares, vf_mul(block[i], block[i]));
            }
        }
        vf_store(norm2 + g * LANES, squares);
    }
}

/* Scores of one tile of `width` clusters: scores[16 c + i] for row i. The order of operations is
 * the one that the error bound in centers.h is derived for. `width` is a constant wherever this
 * is inlined, so that all sums stay in registers. */
LANE_OP void score_tile(const float *tile, const float *bias, const float *panel, uint32_t d,
                        unsigned width, const char *ahead, float *scores) {
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
            __builtin_prefetch(ahead + (size_t)j * CACHE_LINE, 0, 2);
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
                      const float *panel, const char *ahead, float *scores) {
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
        scores_of(centers, first, width, panel, (const char *)panel, scores);
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
                        unsigned n_rows, const void *ahead, uint32_t labels[EF_PANEL]) {
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

static void sqdist(const float *panel, uint32_t n_columns, const float *point,
                   float out[EF_PANEL]) {
    vf sum[GROUPS];
    for (unsigned g = 0; g < GROUPS; g++)
        sum[g] = vf_set1(0.0F);
    for (uint32_t j = 0; j < n_columns; j++) {
        const vf coordinate = vf_set1(point[j]);
        for (unsigned g = 0; g < GROUPS; g++) {
            const vf x = vf_load(panel + (size_t)j * EF_PANEL + g * LANES);
            const vf difference = vf_sub(x, coordinate);
            sum[g] = vf_add(sum[g], vf_mul(difference, difference));
        }
    }
    for (unsigned g = 0; g < GROUPS; g++)
        vf_store(out + g * LANES, sum[g]);
}

static void squares(const float *panel, uint32_t n_columns, int64_t out[EF_PANEL]) {
    for (unsigned g = 0; g < GROUPS; g++) {
        vq sum = vq_zero();
        for (uint32_t j = 0; j < n_columns; j++)
            sum = vq_add_square(sum, vf_load(panel + (size_t)j * EF_PANEL + g * LANES));
        vq_store(out + g * LANES, sum);
    }
}

LANE_OP void accumulate(const ef_map *map, const float *row, int64_t *sum, int subtract) {
    const size_t d = map->n_columns;
    size_t j = 0;
    for (; j + LANES <= d; j += LANES)
        add_integers(sum + j, snap(map, row, j, LANES), subtract);
    if (j < d) {
        float rest[LANES];
        vf_store(rest, snap(map, row, j, (unsigned)(d - j)));
        for (unsigned i = 0; j < d; i++, j++)
            sum[j] += subtract ? -(int64_t)rest[i] : (int64_t)rest[i];
    }
}

static void add_row(const ef_map *map, const float *row, int64_t *sum) {
    accumulate(map, row, sum, 0);
}

static void subtract_row(const ef_map *map, const float *row, int64_t *sum) {
    accumulate(map, row, sum, 1);
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
    .pack = pack,
    .nearest = nearest,
    .sqdist = sqdist,
    .squares = squares,
    .add_row = add_row,
    .subtract_row = subtract_row,
    .tape_high = tape_high,
};
