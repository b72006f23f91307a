/*
 * The nearest of many centroids, for any number of lanes; part of panel_kernels.h.
 *
 * A weight that is loaded is used for two vectors of rows at least. Columns come in blocks, of
 * which the first cache holds the rows and the weights of a few clusters. All scores are kept, so
 * that those of rows which the filter cannot decide need only be looked up.
 */
#define ABREAST (LANES == EF_PANEL ? 2 : 1) /* panels */
#define SIDE (ABREAST * EF_PANEL)           /* their rows */
#define VECTORS (SIDE / LANES)
#define BAND (TILE < 8 ? TILE : 8) /* clusters whose sums fit the registers */

/* n columns of a panel on the grid, less the origin: column j of row i goes to rows[SIDE j + i].
 * Their squares are added to those of the columns before. */
LANE_OP void centre_block(const float *values, size_t n, const float *low, const float *step,
                          const float *origin, float *rows, float squares[EF_PANEL]) {
    vf sum[GROUPS];
    for (unsigned g = 0; g < GROUPS; g++)
        sum[g] = vf_load(squares + g * LANES);
    for (size_t j = 0; j < n; j++) {
        for (unsigned g = 0; g < GROUPS; g++) {
            const vf x = vf_load(values + j * EF_PANEL + g * LANES);
            const vf y = vf_sub(on_grid(x, low[j], step[j]), vf_set1(origin[j]));
            sum[g] = vf_muladd(y, y, sum[g]);
            vf_store(rows + j * SIDE + g * LANES, y);
        }
    }
    for (unsigned g = 0; g < GROUPS; g++)
        vf_store(squares + g * LANES, sum[g]);
}

/* Scores of `width` clusters: each begins with its number in `begin` and takes the products of a
 * block of n columns, at least one. If `adds`, that is added to the score there is. The weights of
 * a column are `stride` apart from those of the next. `least` becomes the smallest score of each
 * row. */
LANE_OP void score_band(const float *rows, const float *weights, size_t stride, size_t n,
                        const float *begin, bool adds, float *scores, float *least,
                        unsigned width) {
    vf sum[BAND][VECTORS];
    for (unsigned c = 0; c < width; c++)
        for (unsigned v = 0; v < VECTORS; v++)
            sum[c][v] = vf_set1(begin[c]);
    const float *const end = rows + n * SIDE;
    do {
        vf y[VECTORS];
        for (unsigned v = 0; v < VECTORS; v++)
            y[v] = vf_load(rows + v * LANES);
        for (unsigned c = 0; c < width; c++) {
            const vf weight = vf_set1(weights[c]);
            for (unsigned v = 0; v < VECTORS; v++)
                sum[c][v] = vf_muladd(y[v], weight, sum[c][v]);
        }
        rows += SIDE;
        weights += stride;
    } while (rows != end);
    if (adds)
        for (unsigned c = 0; c < width; c++)
            for (unsigned v = 0; v < VECTORS; v++)
                sum[c][v] = vf_add(vf_load(scores + c * SIDE + v * LANES), sum[c][v]);
    for (unsigned v = 0; v < VECTORS; v++) {
        vf lowest = sum[0][v];
        for (unsigned c = 0; c < width; c++) {
            vf_store(scores + c * SIDE + v * LANES, sum[c][v]);
            lowest = vf_min(lowest, sum[c][v]);
        }
        vf_store(least + v * LANES, lowest);
    }
}

#if BAND == 8
#define EACH_BAND(what) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8)
#else
#define EACH_BAND EACH_WIDTH
#endif
#define BAND_OF(width)                                                                             \
    static __attribute__((noinline)) void band_##width(                                            \
        const float *rows, const float *weights, size_t stride, size_t n, const float *begin,      \
        bool adds, float *scores, float *least) {                                                  \
        score_band(rows, weights, stride, n, begin, adds, scores, least, width);                   \
    }
EACH_BAND(BAND_OF)

#define BAND_NAME(width) band_##width,
static void (*const bands[])(const float *rows, const float *weights, size_t stride, size_t n,
                             const float *begin, bool adds, float *scores,
                             float *least) = {EACH_BAND(BAND_NAME)};

/* The clusters of the band that begins with number c of a tile of `width`. */
LANE_OP uint32_t band_width(uint32_t c, uint32_t width) {
    const uint32_t half = width > BAND ? (width + 1) / 2 : width;
    return c + half <= width ? half : width - half;
}

/* Scores of all clusters, in the order that centers.h derives the bound for: that of cluster c is
 * at scores[SIDE c + i] for row i. least[SIDE b + i] is the smallest of band b, norm2 is |y|^2.
 * Returns how many bands there are. */
static size_t score_all(const ef_centers *centers, const ef_map *map, const float *values,
                        size_t n_rows, float *scores, float *least, float norm2[SIDE]) {
    static const float zeros[BAND];
    const size_t d = centers->n_columns;
    _Alignas(64) float rows[EF_BLOCK * SIDE];
    size_t n_bands = 0;
    memset(norm2, 0, SIDE * sizeof *norm2);
    for (size_t begin = 0; begin < d; begin += EF_BLOCK) {
        const size_t n = d - begin < EF_BLOCK ? d - begin : EF_BLOCK;
        for (size_t i = 0; i < SIDE; i += EF_PANEL) /* if a panel is not there, the first again */
            centre_block(values + (i < n_rows ? i * d : 0) + begin * EF_PANEL, n, map->low + begin,
                         map->step + begin, centers->origin + begin, rows + i, norm2 + i);
        /* What comes SIDE rows later is fetched bit by bit. */
        const size_t k = centers->n_clusters, n_lines = n * ABREAST;
        const char *ahead = beyond(values, (d + begin) * SIDE * sizeof *values);
        size_t n_fetched = 0;
        n_bands = 0;
        for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
            width = ef_centers_tile(centers, first);
            const float *const weights = centers->tiles + first * d + begin * width;
            for (uint32_t c = 0, wide; c < width; c += wide, n_bands++) {
                wide = band_width(c, width);
                for (; n_fetched * k < n_lines * (first + c + wide); n_fetched++)
                    fetch(ahead + n_fetched * EF_PANEL * sizeof *values);
                bands[wide - 1](rows, weights + c, width, n,
                                begin == 0 ? centers->bias + first + c : zeros, begin != 0,
                                scores + (size_t)(first + c) * SIDE, least + n_bands * SIDE);
            }
        }
    }
    return n_bands;
}

/* Takes the clusters of a band that are within a row's limit: each adds ONE_NEAR and its number. */
LANE_OP void add_near(const float *scores, uint32_t first, uint32_t width, const float *least,
                      const vf limit[VECTORS], vu near[VECTORS]) {
    unsigned any = 0;
    for (unsigned v = 0; v < VECTORS; v++)
        any |= vm_bits(vf_at_most(vf_load(least + v * LANES), limit[v]));
    for (uint32_t i = first; any != 0 && i < first + width; i++)
        for (unsigned v = 0; v < VECTORS; v++) {
            const vf score = vf_load(scores + (size_t)i * SIDE + v * LANES);
            near[v] = vu_add_where(vf_at_most(score, limit[v]), near[v], vu_set1(ONE_NEAR + i));
        }
}

/* The label of each row, and ONE_NEAR for every cluster but one that is within its limit. */
static void find_near(const ef_centers *centers, const float *scores, const float *least,
                      const vf limit[VECTORS], uint32_t near_of[SIDE]) {
    vu near[VECTORS];
    for (unsigned v = 0; v < VECTORS; v++)
        near[v] = vu_set1(0u - ONE_NEAR);
    for (uint32_t first = 0, width; first < centers->n_clusters; first += width) {
        width = ef_centers_tile(centers, first);
        for (uint32_t c = 0, wide; c < width; c += wide, least += SIDE) {
            wide = band_width(c, width);
            add_near(scores, first + c, wide, least, limit, near);
        }
    }
    for (unsigned v = 0; v < VECTORS; v++)
        vu_store(near_of + v * LANES, near[v]);
}

/* The smallest and the second-smallest score of each row. */
LANE_OP void find_two(size_t n, const float *scores, vf best[VECTORS], vf second[VECTORS]) {
    for (unsigned v = 0; v < VECTORS; v++)
        best[v] = second[v] = vf_set1(0x1p100F); /* above every score */
    for (size_t c = 0; c < n; c++)
        for (unsigned v = 0; v < VECTORS; v++) {
            const vf score = vf_load(scores + c * SIDE + v * LANES);
            second[v] = vf_min(second[v], vf_max(score, best[v]));
            best[v] = vf_min(best[v], score);
        }
}

/* Labels of up to SIDE rows. Returns how many the filter could not decide. */
static unsigned assign_side(const ef_centers *centers, const ef_map *map, const float *values,
                            size_t n_rows, float *room, uint32_t *nearest_of, float *margins) {
    const size_t d = map->n_columns, k = centers->n_clusters;
    float *const scores = room, *const least = scores + k * SIDE;
    float norm2[SIDE], limits[SIDE];
    const size_t n_bands = score_all(centers, map, values, n_rows, scores, least, norm2);
    vf best[VECTORS], second[VECTORS], limit[VECTORS];
    find_two(margins != NULL ? k : n_bands, margins != NULL ? scores : least, best, second);
    const float norm_error = 1.1F * (float)(d + 2) * 0x1p-24F;
    for (unsigned v = 0; v < VECTORS; v++) {
        const vf square = vf_load(norm2 + v * LANES);
        const vf error =
            vf_muladd(vf_sqrt(square), vf_set1(centers->error_norm), vf_set1(centers->error_bias));
        limit[v] = vf_add(best[v], vf_add(error, error));
        vf_store(limits + v * LANES, limit[v]);
        if (margins != NULL && v * LANES < n_rows)
            vf_store(margins + v * LANES,
                     margin_of(second[v], limit[v], square, error, norm_error));
    }
    uint32_t near_of[SIDE];
    find_near(centers, scores, least, limit, near_of);
    memcpy(nearest_of, near_of, n_rows * sizeof *near_of);
    unsigned n_open = 0;
    for (size_t i = 0; i < n_rows; i += EF_PANEL)
        n_open += settle(centers, map, values + i * d,
                         n_rows - i < EF_PANEL ? (unsigned)(n_rows - i) : EF_PANEL, scores + i,
                         SIDE, limits + i, nearest_of + i);
    return n_open;
}
