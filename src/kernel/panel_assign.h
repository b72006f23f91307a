/*
 * New labels for runs of panels, for any number of lanes; part of panel_kernels.h.
 *
 * In a pass over the rows of a set most rows keep their label, and with few centroids a row costs
 * so little that everything beside its scores counts. So the centroids are folded (centers.h),
 * scores stay in registers, and no branch depends on what a row turns out to do: a bit for each row
 * says whether it moves, and the bits are made a list at the end of the run.
 */
/* How far ahead to fetch where memory is read from front to back: so far that a new page is no
 * surprise. */
#define FAR 8192

/* A row's label and, from here on, how many clusters are within the limit of its best score. */
#define ONE_NEAR (1u << 16)

/* Decides by integers those of up to sixteen rows that have more than one cluster near, given the
 * scores of all clusters, those of a row `stride` apart. Returns how many there are. */
static unsigned settle(const ef_centers *centers, const ef_map *map, const float *values,
                       unsigned n_rows, const float *scores, size_t stride,
                       const float limit[EF_PANEL], uint32_t *nearest_of) {
    unsigned n_open = 0;
    for (unsigned i = 0; i < n_rows; i++) {
        if (nearest_of[i] < ONE_NEAR)
            continue;
        int64_t least = INT64_MAX;
        for (uint32_t c = 0; c < centers->n_clusters; c++) {
            if (scores[c * stride + i] > limit[i])
                continue;
            const int64_t distance = exact_sqdist(centers, c, map, values + i);
            if (distance < least) {
                least = distance;
                nearest_of[i] = c;
            }
        }
        n_open++;
    }
    return n_open;
}

/* A bit for each row whose label changes. */
static uint16_t differing(const uint32_t *nearest_of, const uint32_t *labels, unsigned n_rows) {
    unsigned bits = 0;
    for (unsigned i = 0; i < n_rows; i++)
        bits |= (unsigned)(nearest_of[i] != labels[i]) << i;
    return (uint16_t)bits;
}

/* The smallest score of each row; two at a time, so that one need not wait for the other. */
LANE_OP vf least_of(vf total[TILE][GROUPS], unsigned width, unsigned g) {
    vf even = total[0][g], odd = width > 1 ? total[1][g] : even;
    for (unsigned c = 2; c < width; c += 2)
        even = vf_min(even, total[c][g]);
    for (unsigned c = 3; c < width; c += 2)
        odd = vf_min(odd, total[c][g]);
    return vf_min(even, odd);
}

/* As margin_of, of folded scores: D2^2 is the second score and |g - m|^2, which is the square that
 * was measured but for what folded_norm says (centers.h). Rows within the limit of two clusters
 * have 0. */
LANE_OP vf folded_margin(const ef_centers *centers, vf total[TILE][GROUPS], vf square, vf limit,
                         unsigned width, unsigned g) {
    vf best = total[0][g], second = vf_set1(0x1p100F);
    for (unsigned c = 1; c < width; c++) {
        second = vf_min(second, vf_max(total[c][g], best));
        best = vf_min(best, total[c][g]);
    }
    const vf norm = vf_muladd(vf_sqrt(square), vf_set1(centers->folded_norm_factor),
                              vf_set1(centers->folded_norm));
    const vf far2 = vf_add(vf_muladd(norm, norm, second), vf_set1(centers->folded_slack));
    const vf gap = vf_mul(vf_sub(second, limit), vf_set1(0.4999F));
    return vf_max(vf_div(gap, vf_sqrt(vf_max(far2, vf_set1(1.0F)))), vf_set1(0.0F));
}

/* `assign` for whole panels and folded centers, which are one tile of `width` clusters. */
LANE_OP unsigned filter_panels(const ef_centers *centers, const ef_map *map, const float *values,
                               size_t n_panels, const uint32_t *labels, uint32_t *nearest_of,
                               uint16_t *differ, float *margins, unsigned width, reading how) {
    const uint32_t d = centers->n_columns;
    const vf slack = vf_set1(centers->folded_slack);
    unsigned n_open = 0;
    for (size_t p = 0; p < n_panels; p++) {
        const float *const from = values + p * d * EF_PANEL;
        const uint32_t *const old = labels + p * EF_PANEL;
        uint32_t *const now = nearest_of + p * EF_PANEL;
        const source raw = {.values = from,
                            .low = centers->folded_origin,
                            .step = map->step,
                            .ahead = beyond(from, FAR)};
        vf total[TILE][GROUPS], squares[GROUPS], limit[GROUPS];
        score(&raw, centers->folded, centers->folded_bias, d, width, how, total, squares);
        unsigned same = 0, open = 0;
        for (unsigned g = 0; g < GROUPS; g++) {
            limit[g] = vf_add(least_of(total, width, g), slack);
            vu near = vu_set1(0u - ONE_NEAR);
            for (unsigned c = 0; c < width; c++)
                near = vu_add_where(vf_at_most(total[c][g], limit[g]), near, vu_set1(ONE_NEAR + c));
            same |= vm_bits(vu_equal(near, vu_load(old + g * LANES))) << (g * LANES);
            open |= vm_bits(vu_above(near, vu_set1(ONE_NEAR - 1)));
            vu_store(now + g * LANES, near);
            if (how == RAW_MEASURED)
                vf_store(margins + p * EF_PANEL + g * LANES,
                         folded_margin(centers, total, squares[g], limit[g], width, g));
        }
        fetch_near(beyond(old, FAR));
        differ[p] = (uint16_t)~same;
        if (open != 0) {
            float scores[TILE * EF_PANEL], limits[EF_PANEL];
            for (unsigned g = 0; g < GROUPS; g++) {
                vf_store(limits + g * LANES, limit[g]);
                for (unsigned c = 0; c < width; c++)
                    vf_store(scores + c * EF_PANEL + g * LANES, total[c][g]);
            }
            n_open += settle(centers, map, from, EF_PANEL, scores, EF_PANEL, limits, now);
            differ[p] = differing(now, old, EF_PANEL);
        }
    }
    return n_open;
}

#define FILTER_OF(width)                                                                           \
    static unsigned filter_##width(const ef_centers *centers, const ef_map *map,                   \
                                   const float *values, size_t n_panels, const uint32_t *labels,   \
                                   uint32_t *nearest_of, uint16_t *differ, float *margins) {       \
        if (margins != NULL)                                                                       \
            return filter_panels(centers, map, values, n_panels, labels, nearest_of, differ,       \
                                 margins, width, RAW_MEASURED);                                    \
        if (centers->n_columns <= EF_BLOCK)                                                        \
            return filter_panels(centers, map, values, n_panels, labels, nearest_of, differ, NULL, \
                                 width, RAW_NARROW);                                               \
        return filter_panels(centers, map, values, n_panels, labels, nearest_of, differ, NULL,     \
                             width, RAW);                                                          \
    }
EACH_WIDTH(FILTER_OF)

#define NAME_OF(width) filter_##width,
static unsigned (*const filters[])(const ef_centers *centers, const ef_map *map,
                                   const float *values, size_t n_panels, const uint32_t *labels,
                                   uint32_t *nearest_of, uint16_t *differ,
                                   float *margins) = {EACH_WIDTH(NAME_OF)};

/* Takes the lowest bit out of those of some panels, the first of which is `panel`. */
LANE_OP uint16_t next_row(size_t panel, uint64_t *bits) {
    const unsigned row = (unsigned)__builtin_ctzll(*bits | UINT64_C(1) << 63);
    *bits &= *bits - 1;
    return (uint16_t)(panel * EF_PANEL + row);
}

/* The rows whose bits are set. Most panels have none or one: branches would be guesses. */
static size_t list_rows(const uint16_t *differ, size_t n_panels, uint16_t *rows) {
    size_t n_rows = 0;
    for (size_t p = 0; p < n_panels; p += 4) {
        uint64_t bits = 0;
        for (size_t i = 0; i < 4 && p + i < n_panels; i++)
            bits |= (uint64_t)differ[p + i] << (16 * i);
        uint16_t *const out = rows + n_rows;
        const int n = __builtin_popcountll(bits);
        for (int i = 0; i < 4; i++)
            out[i] = next_row(p, &bits);
        for (int i = 4; i < n; i++)
            out[i] = next_row(p, &bits);
        n_rows += (size_t)n;
    }
    return n_rows;
}

#include "kernel/panel_many.h"

#ifdef WORDS_OF
#define LINE EF_ROUNDED_BYTES /* sixteen rows, four bytes of each */
#define ROUNDED_TILE ((size_t)EF_ROUNDED_ROWS * LINE)
#include WORDS_OF

#include "kernel/x86/panel_words.h"
#endif

static unsigned assign(const ef_centers *centers, const ef_map *map, const float *values,
                       size_t n_rows, const uint32_t *labels, float *room, uint32_t *nearest_of,
                       uint16_t *movers, size_t *n_movers, float *margins) {
    uint16_t differ[EF_RUN];
    unsigned n_open = 0;
    bool rounds = centers->rounded != NULL;
    size_t p = 0;
    if (centers->folds) {
        p = n_rows / EF_PANEL;
        n_open = filters[centers->n_clusters - 1](centers, map, values, p, labels, nearest_of,
                                                  differ, margins);
    }
    for (size_t at = p * EF_PANEL, n; at < n_rows; at += n) {
        const float *const from = values + at * map->n_columns;
        float *const far = margins != NULL ? margins + at : NULL;
        const bool keeps = centers->n_clusters <= EF_MOST_KEPT;
        const size_t rest = n_rows - at, most = keeps ? SIDE : EF_PANEL;
        n = rest < most ? rest : most;
#ifdef WORDS_OF
        rounds = rounds && keeps &&
                 assign_rounded(centers, map, from, n, room, nearest_of + at, far, &n_open);
#endif
        if (rounds)
            ;
        else if (keeps)
            n_open += assign_side(centers, map, from, n, room, nearest_of + at, far);
        else
            n_open += nearest(centers, map, from, (unsigned)n,
                              beyond(from, map->n_columns * EF_PANEL * sizeof *from), room,
                              nearest_of + at, far);
        for (size_t i = 0; i < n; i += EF_PANEL)
            differ[p++] = differing(nearest_of + at + i, labels + at + i,
                                    n - i < EF_PANEL ? (unsigned)(n - i) : EF_PANEL);
    }
    if (n_movers != NULL)
        *n_movers = list_rows(differ, p, movers);
    return n_open;
}
