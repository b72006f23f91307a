/*
 * The nearest of many centroids by short integers, sixteen lanes wide; part of panel_kernels.h for
 * the tables that say how to multiply them: words_vnni.h and words_amx.h.
 *
 * Rows and centroids are rounded to whole numbers, whose products the processor adds up several at
 * a time; centers.h derives the bound of such scores. It is wider than that of floats, so more rows
 * stay open. Where they are too many, floats are asked.
 *
 * Such a table says what it rounds to (FORM, MOST_WORD, LINE_COLUMNS for how many columns of a row
 * fit 32 bits), how a line of rounded columns is written (put_line), how many clusters are
 * multiplied at a time (WORD_BAND), and how (begin_products, find_products, end_products).
 */
_Static_assert(GROUPS == 1 && SIDE == 2 * EF_PANEL, "a panel is a vector");

/* What rounding costs, of two panels: 1 / t, |a / t| and |e| of each row, and |y|^2. */
typedef struct rounding {
    vf step[VECTORS], part[VECTORS], rest[VECTORS], square[VECTORS];
} rounding;

/* Rounds `n` columns, up to LINE_COLUMNS, of a panel; they begin with column j. */
LANE_OP vf round_line(const ef_map *map, const float *origin, const float *values, size_t j,
                      size_t n, vf scale, int8_t *line, vf rest) {
    vu whole[LINE_COLUMNS];
    for (size_t c = 0; c < LINE_COLUMNS; c++) {
        whole[c] = vu_set1(0);
        if (c >= n)
            continue;
        const vf y =
            vf_sub(on_grid(vf_load(values + (j + c) * EF_PANEL), map->low[j + c], map->step[j + c]),
                   vf_set1(origin[j + c]));
        const vf scaled = vf_mul(y, scale), nearest_whole = vf_round(scaled);
        const vf left = vf_sub(scaled, nearest_whole);
        rest = vf_muladd(left, left, rest);
        whole[c] = vf_whole(nearest_whole);
    }
    put_line(line, whole);
    return rest;
}

/* Rounds the rows of a panel, the v-th of two. */
static void round_panel(const ef_map *map, const float *origin, const float *values, unsigned v,
                        int8_t *tiles, rounding *found) {
    const size_t d = map->n_columns;
    vf square = vf_set1(1.0F), most = square, rest = vf_set1(0.0F);
    for (size_t j = 0; j < d; j++) {
        const vf x = on_grid(vf_load(values + j * EF_PANEL), map->low[j], map->step[j]);
        const vf y = vf_sub(x, vf_set1(origin[j])), y2 = vf_mul(y, y);
        square = vf_add(square, y2);
        most = vf_max(most, y2);
    }
    const vf norm = vf_sqrt(square);
    const vf scale = vf_min(vf_div(vf_set1((float)EF_MOST_ROUNDED), norm),
                            vf_div(vf_set1((float)MOST_WORD), vf_sqrt(most)));
    size_t j = 0;
    for (size_t number = 0; j < d; number++) {
        int8_t *const line = tiles + number / EF_ROUNDED_ROWS * FORM * ROUNDED_TILE +
                             number % EF_ROUNDED_ROWS * LINE;
        const size_t n = d - j;
        if (n >= LINE_COLUMNS)
            rest = round_line(map, origin, values, j, LINE_COLUMNS, scale, line, rest);
        else
            rest = round_line(map, origin, values, j, n, scale, line, rest);
        j += LINE_COLUMNS;
    }
    found->square[v] = square;
    found->step[v] = vf_div(vf_set1(1.0F), scale);
    found->rest[v] = vf_muladd(norm, vf_set1(0x1p-24F), vf_mul(vf_sqrt(rest), found->step[v]));
    found->part[v] = vf_add(norm, found->rest[v]);
}

/* Scores of all clusters, as those of score_all but for the bands, and the fetching of `ahead`. */
static void score_rounded(const ef_centers *centers, const int8_t *rows, const rounding *by,
                          const char *ahead, float *scores, float *least) {
    const size_t k = centers->n_clusters, d = centers->n_columns;
    const size_t cluster_bytes = ef_rounded_tiles(d, FORM) * FORM * LINE;
    const int8_t *const tiles = centers->rounded;
    vf factor[VECTORS];
    for (unsigned v = 0; v < VECTORS; v++)
        factor[v] = vf_mul(by->step[v], vf_set1(-centers->rounded_step));
    begin_products();
    for (size_t first = 0, n_fetched = 0; first < k; first += WORD_BAND, least += SIDE) {
        vu products[WORD_BAND][VECTORS];
        vf lowest[VECTORS];
        const size_t n = k - first < WORD_BAND ? k - first : WORD_BAND;
        for (; n_fetched * k < ABREAST * d * (first + n); n_fetched++)
            fetch(ahead + n_fetched * EF_PANEL * sizeof(float));
        find_products(rows, tiles + first / EF_ROUNDED_ROWS * EF_ROUNDED_ROWS * cluster_bytes,
                      first % EF_ROUNDED_ROWS, d, products);
        for (unsigned v = 0; v < VECTORS; v++)
            lowest[v] = vf_set1(0x1p100F); /* above every score */
        for (size_t c = 0; c < n; c++)
            for (unsigned v = 0; v < VECTORS; v++) {
                const vf score = vf_muladd(vf_of_whole(products[c][v]), factor[v],
                                           vf_set1(centers->bias[first + c]));
                vf_store(scores + (first + c) * SIDE + v * LANES, score);
                lowest[v] = vf_min(lowest[v], score);
            }
        for (unsigned v = 0; v < VECTORS; v++)
            vf_store(least + v * LANES, lowest[v]);
    }
    end_products();
}

/* A bit for each row whose number is within its limit. */
LANE_OP uint32_t rows_within(const float *scores, const vf limit[VECTORS]) {
    uint32_t bits = 0;
    for (unsigned v = 0; v < VECTORS; v++)
        bits |= vm_bits(vf_at_most(vf_load(scores + v * LANES), limit[v])) << (v * LANES);
    return bits;
}

/* Decides by integers the rows whose bit in `open` is set. */
static void decide_rounded(const ef_centers *centers, const ef_map *map, const float *values,
                           const float *scores, const float *least, const vf limit[VECTORS],
                           uint32_t open, uint32_t *nearest_of) {
    int64_t nearest_by[SIDE];
    for (unsigned i = 0; i < SIDE; i++)
        nearest_by[i] = INT64_MAX;
    for (uint32_t first = 0; first < centers->n_clusters; first += WORD_BAND, least += SIDE) {
        const uint32_t rest = centers->n_clusters - first;
        const uint32_t end = first + (rest < WORD_BAND ? rest : WORD_BAND);
        const uint32_t near = open & rows_within(least, limit);
        for (uint32_t c = first; near != 0 && c < end; c++)
            for (uint32_t bits = near & rows_within(scores + (size_t)c * SIDE, limit); bits != 0;
                 bits &= bits - 1) {
                const unsigned i = (unsigned)__builtin_ctz(bits);
                const float *const row =
                    values + (size_t)i / EF_PANEL * EF_PANEL * map->n_columns + i % EF_PANEL;
                const int64_t distance = exact_sqdist(centers, c, map, row);
                if (distance < nearest_by[i]) {
                    nearest_by[i] = distance;
                    nearest_of[i] = c;
                }
            }
    }
}

/* An integer distance takes as long as rounding spares with the scores of so many clusters. */
#define SPARES_A_DISTANCE 256

/* As assign_side, and adds to n_open; false if too many clusters are near for integers to decide
 * among them. */
static bool assign_rounded(const ef_centers *centers, const ef_map *map, const float *values,
                           size_t n_rows, float *room, uint32_t *nearest_of, float *margins,
                           unsigned *n_open) {
    const size_t d = map->n_columns, k = centers->n_clusters;
    const size_t panel_bytes = ef_rounded_tiles(d, FORM) * FORM * ROUNDED_TILE;
    float *const scores = room, *const least = scores + k * SIDE;
    int8_t *const rows = (int8_t *)(least + (k / WORD_BAND + 1) * SIDE);
    rounding by;
    for (unsigned v = 0; v < VECTORS; v++) /* if a panel is not there, the first again */
        round_panel(map, centers->origin, values + (v * EF_PANEL < n_rows ? v * EF_PANEL * d : 0),
                    v, rows + v * panel_bytes, &by);
    score_rounded(centers, rows, &by, beyond(values, d * SIDE * sizeof *values), scores, least);
    const size_t n_bands = (k + WORD_BAND - 1) / WORD_BAND;
    vf best[VECTORS], second[VECTORS], limit[VECTORS];
    find_two(margins != NULL ? k : n_bands, margins != NULL ? scores : least, best, second);
    const float norm_error = 1.1F * (float)(d + 2) * 0x1p-24F;
    for (unsigned v = 0; v < VECTORS; v++) {
        const vf error = vf_muladd(
            by.part[v], vf_set1(centers->rounded_part),
            vf_muladd(by.rest[v], vf_set1(centers->rounded_rest), vf_set1(centers->rounded_bias)));
        limit[v] = vf_add(best[v], vf_add(error, error));
        if (margins != NULL && v * LANES < n_rows)
            vf_store(margins + v * LANES,
                     margin_of(second[v], limit[v], by.square[v], error, norm_error));
    }
    vu near[VECTORS];
    for (unsigned v = 0; v < VECTORS; v++)
        near[v] = vu_set1(0u - ONE_NEAR);
    for (size_t first = 0; first < k; first += WORD_BAND)
        add_near(scores, (uint32_t)first, (uint32_t)(k - first < WORD_BAND ? k - first : WORD_BAND),
                 least + first / WORD_BAND * SIDE, limit, near);
    uint32_t near_of[SIDE], open = 0;
    size_t n_near = 0;
    for (unsigned v = 0; v < VECTORS; v++)
        vu_store(near_of + v * LANES, near[v]);
    for (unsigned i = 0; i < n_rows; i++)
        if (near_of[i] >= ONE_NEAR) {
            open |= 1u << i;
            n_near += near_of[i] / ONE_NEAR + 1;
        }
    if (n_near * SPARES_A_DISTANCE > n_rows * k)
        return false;
    memcpy(nearest_of, near_of, n_rows * sizeof *near_of);
    if (open != 0)
        decide_rounded(centers, map, values, scores, least, limit, open, nearest_of);
    *n_open += (unsigned)__builtin_popcount(open);
    return true;
}
