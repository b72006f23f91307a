/* The reference table: what every kernel computes, in plain C. */
#include "base/random/tape.h"
#include "kernel/kernels.h"

#include <string.h>

/* Coordinate j of the row that begins at `row`. Values of rows that a panel does not have may be
 * far outside the domain, hence the wide form. */
static int64_t on_grid(const ef_map *map, const float *row, uint32_t j) {
    return ef_snap_wide(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
}

static void snap(const ef_map *map, const float *values, unsigned n_rows, float *panel) {
    for (uint32_t j = 0; j < map->n_columns; j++)
        for (unsigned i = 0; i < EF_PANEL; i++)
            panel[(size_t)j * EF_PANEL + i] = (float)on_grid(map, values + (i < n_rows ? i : 0), j);
}

static unsigned nearest(const ef_centers *centers, const ef_map *map, const float *values,
                        unsigned n_rows, const float *ahead, float *panel,
                        uint32_t labels[EF_PANEL], float *margins) {
    (void)ahead;
    snap(map, values, n_rows, panel);
    for (unsigned i = 0; i < n_rows; i++) {
        int64_t least = INT64_MAX, second = INT64_MAX;
        for (uint32_t c = 0; c < centers->n_clusters; c++) {
            const int64_t distance = ef_centers_sqdist(centers, c, panel, i);
            if (distance < least) {
                second = least;
                least = distance;
                labels[i] = c;
            } else if (distance < second) {
                second = distance;
            }
        }
        if (margins != NULL)
            margins[i] = ef_margin(least, second);
    }
    return n_rows; /* there is no filter: integers decide every row */
}

static unsigned survey_ref(const ef_centers *centers, const ef_map *map, const float *values,
                           unsigned n_rows, float *panel, ef_survey *found) {
    snap(map, values, n_rows, panel);
    for (unsigned i = 0; i < n_rows; i++)
        ef_centers_survey(centers, panel, i, found);
    return n_rows;
}

static void gaps(const ef_map *map, const float *values, unsigned n_rows, const int32_t *own,
                 const int32_t *other, int64_t out[EF_PANEL]) {
    for (unsigned i = 0; i < n_rows; i++) {
        int64_t far = 0, near = 0;
        for (uint32_t j = 0; j < map->n_columns; j++) {
            const int64_t g = ef_snap(values[(size_t)j * EF_PANEL + i], map->low[j], map->step[j]);
            far += (g - other[j]) * (g - other[j]);
            near += (g - own[j]) * (g - own[j]);
        }
        out[i] = far - near;
    }
}

static void try_points(const ef_map *map, const float *values, const ef_point *points,
                       unsigned n_points, const int64_t squares[EF_PANEL],
                       const int64_t least[EF_PANEL], int64_t *away, uint64_t *gains) {
    (void)squares;
    for (unsigned s = 0; s < n_points; s++) {
        gains[s] = 0;
        for (unsigned i = 0; i < EF_PANEL; i++) {
            uint64_t distance = 0;
            for (uint32_t j = 0; j < map->n_columns; j++) {
                const uint64_t g =
                    (uint64_t)on_grid(map, values + i, j) - (uint64_t)points[s].whole[j];
                distance += g * g;
            }
            away[s * EF_PANEL + i] = (int64_t)distance;
            gains[s] += (int64_t)distance < least[i] ? (uint64_t)least[i] - distance : UINT64_C(0);
        }
    }
}

static void meet_point(const ef_map *map, const float *values, const ef_point *point,
                       int64_t square[EF_PANEL], int64_t away[EF_PANEL]) {
    for (unsigned i = 0; i < EF_PANEL; i++) {
        uint64_t norm = 0, distance = 0;
        for (uint32_t j = 0; j < map->n_columns; j++) {
            const uint64_t g = (uint64_t)on_grid(map, values + i, j);
            const uint64_t difference = g - (uint64_t)point->whole[j];
            norm += g * g;
            distance += difference * difference;
        }
        square[i] = (int64_t)norm;
        away[i] = (int64_t)distance;
    }
}

static uint32_t reach_ref(const ef_centers *centers, const float *values,
                          const int64_t squares[EF_PANEL], const int64_t least[EF_PANEL]) {
    (void)centers;
    (void)values;
    (void)squares;
    (void)least;
    return UINT32_MAX; /* there is no filter */
}

static int64_t take_point(const int64_t away[EF_PANEL], uint32_t label, int64_t least[EF_PANEL],
                          uint32_t nearest_of[EF_PANEL]) {
    int64_t most = 0;
    for (unsigned i = 0; i < EF_PANEL; i++) {
        if (away[i] < least[i]) {
            least[i] = away[i];
            nearest_of[i] = label;
        }
        most = least[i] > most ? least[i] : most;
    }
    return most;
}

static size_t sift_ref(const int8_t *bytes, size_t n_rows, uint32_t n_columns, const float *slopes,
                       const float *gaps, float least, float most, uint32_t *found) {
    size_t n_found = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const int8_t *const row = bytes + i / EF_PANEL * EF_PANEL * n_columns + i % EF_PANEL;
        float change = 0.0F;
        for (size_t j = 0; j < n_columns; j++)
            change += slopes[j] * (float)row[j * EF_PANEL];
        const float gap = gaps[i] + change;
        if (gap <= least || gap >= most)
            found[n_found++] = (uint32_t)i;
    }
    return n_found;
}

static unsigned assign(const ef_centers *centers, const ef_map *map, const float *values,
                       size_t n_rows, const uint32_t *labels, float *panel, uint32_t *nearest_of,
                       uint16_t *movers, size_t *n_movers, float *margins) {
    size_t n = 0;
    for (size_t at = 0; at < n_rows; at += EF_PANEL) {
        const size_t rest = n_rows - at < EF_PANEL ? n_rows - at : EF_PANEL;
        const float *const from = values + at * map->n_columns;
        (void)nearest(centers, map, from, (unsigned)rest, from, panel, nearest_of + at,
                      margins != NULL ? margins + at : NULL);
        for (size_t i = at; n_movers != NULL && i < at + rest; i++)
            if (nearest_of[i] != labels[i])
                movers[n++] = (uint16_t)i;
    }
    if (n_movers != NULL)
        *n_movers = n;
    return (unsigned)n_rows;
}

static void sqdist(const ef_map *map, const float *values, const float *point, const float *ahead,
                   float out[EF_PANEL]) {
    (void)ahead;
    for (unsigned i = 0; i < EF_PANEL; i++) {
        float sum[2] = {0.0F, 0.0F};
        for (uint32_t j = 0; j < map->n_columns; j++) {
            const float difference = (float)on_grid(map, values + i, j) - point[j];
            const float square = difference * difference;
            sum[j % 2] = sum[j % 2] + square;
        }
        out[i] = sum[0] + sum[1];
    }
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

static void move_row(const ef_map *map, const float *row, int64_t weight, int64_t *gains,
                     int64_t *loses) {
    for (uint32_t j = 0; j < map->n_columns; j++) {
        const int64_t moved = weight * on_grid(map, row, j);
        gains[j] += moved;
        if (loses != NULL)
            loses[j] -= moved;
    }
}

static void add_rows(const ef_map *map, const float *values, unsigned n_rows,
                     const uint32_t labels[EF_PANEL], const int64_t *weights, int64_t *sums) {
    for (unsigned i = 0; i < n_rows; i++)
        move_row(map, values + i, weights != NULL ? weights[i] : 1,
                 sums + (size_t)labels[i] * map->n_columns, NULL);
}

static void add_products(const double *a, const double *b, size_t strip_doubles, unsigned n_strips,
                         unsigned n_rows, int64_t *to, size_t stride) {
    for (unsigned i = 0; i < EF_STRIP; i++)
        for (unsigned l = 0; l < n_strips * EF_STRIP; l++) {
            const double *const column = b + l / EF_STRIP * strip_doubles + l % EF_STRIP;
            double sum = 0.0;
            for (size_t r = 0; r < n_rows; r++)
                sum += a[r * EF_STRIP + i] * column[r * EF_STRIP];
            to[i * stride + l] += (int64_t)sum;
        }
}

static void pack_strips(const float *panel, uint32_t n_columns, unsigned n_rows, double *strips,
                        size_t strip_doubles) {
    for (size_t first = 0; first < n_columns; first += EF_STRIP, strips += strip_doubles)
        for (size_t r = 0; r < n_rows; r++)
            for (size_t j = first; j < first + EF_STRIP; j++)
                strips[r * EF_STRIP + j - first] =
                    j < n_columns ? (int32_t)panel[j * EF_PANEL + r] : 0;
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

static void tape_within(uint64_t seed, uint32_t purpose, uint32_t n_subs, const uint64_t *ids,
                        size_t n_panels, uint32_t step, const uint32_t *limits, uint64_t *bits) {
    for (size_t p = 0; p < n_panels; p++) {
        bits[p] = 0;
        for (uint32_t s = 0; s < n_subs; s++) {
            uint32_t high[EF_PANEL];
            tape_high(seed, purpose + (s << 8), ids + p * EF_PANEL, step, high);
            for (unsigned i = 0; i < EF_PANEL; i++)
                bits[p] |= (uint64_t)(high[i] <= limits[p * n_subs + s]) << s;
        }
    }
}

/* The codes of a row. */
static void read_codes(const unsigned char *row, int32_t codes[EF_CODES]) {
    memcpy(codes, row, EF_CODES * sizeof *codes);
}

static void code_ranges(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                        size_t n_rows, int32_t least[EF_CODES], int32_t most[EF_CODES]) {
    read_codes(rows + slots[0] * row_bytes, least);
    read_codes(rows + slots[0] * row_bytes, most);
    for (size_t i = 1; i < n_rows; i++) {
        int32_t codes[EF_CODES];
        read_codes(rows + slots[i] * row_bytes, codes);
        for (unsigned j = 0; j < EF_CODES; j++) {
            least[j] = codes[j] < least[j] ? codes[j] : least[j];
            most[j] = codes[j] > most[j] ? codes[j] : most[j];
        }
    }
}

static void code_counts(const unsigned char *rows, size_t row_bytes, const uint32_t *slots,
                        const int32_t *targets, size_t n_rows, const int32_t limits[EF_CODES],
                        uint32_t counts[EF_CODES], int64_t sums[EF_CODES]) {
    for (unsigned j = 0; j < EF_CODES; j++) {
        counts[j] = 0;
        sums[j] = 0;
    }
    for (size_t i = 0; i < n_rows; i++) {
        int32_t codes[EF_CODES];
        read_codes(rows + slots[i] * row_bytes, codes);
        for (unsigned j = 0; j < EF_CODES; j++) {
            counts[j] += codes[j] <= limits[j];
            sums[j] += targets != NULL && codes[j] <= limits[j] ? targets[i] : 0;
        }
    }
}

const ef_kernels ef_kernels_ref = {
    .name = "ref",
    .tile = 8,
    .snap = snap,
    .nearest = nearest,
    .survey = survey_ref,
    .gaps = gaps,
    .try_points = try_points,
    .meet_point = meet_point,
    .reach = reach_ref,
    .take_point = take_point,
    .sift = sift_ref,
    .assign = assign,
    .sqdist = sqdist,
    .squares = squares,
    .move_row = move_row,
    .add_rows = add_rows,
    .add_products = add_products,
    .pack_strips = pack_strips,
    .tape_high = tape_high,
    .tape_within = tape_within,
    .code_ranges = code_ranges,
    .code_counts = code_counts,
};
