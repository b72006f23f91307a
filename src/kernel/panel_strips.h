/*
 * Sums of products of columns, for any number of lanes; part of panel_kernels.h.
 *
 * Everything is an integer of at most 2^53 in magnitude on the way, hence exact as a double.
 */
#define STRIP_VECTORS (EF_STRIP / REALS)
#define MAX_WIDE 3

/* The sums of TALL columns of `a` with those of `wide` vectors of `b`, the first of which is number
 * `first`. They fit the registers: the more of them, the fewer loads there are for each. */
LANE_OP void add_tile(const double *a, const double *b, size_t strip_doubles, unsigned first,
                      unsigned wide, unsigned n_rows, int64_t *to, size_t stride) {
    vr sum[TALL][MAX_WIDE];
    const double *from[MAX_WIDE];
    for (unsigned v = 0; v < wide; v++) {
        from[v] =
            b + (first + v) / STRIP_VECTORS * strip_doubles + (first + v) % STRIP_VECTORS * REALS;
        for (unsigned i = 0; i < TALL; i++)
            sum[i][v] = vr_set1(0.0);
    }
    for (size_t r = 0; r < (size_t)n_rows * EF_STRIP; r += EF_STRIP) {
        vr row[MAX_WIDE];
        for (unsigned v = 0; v < wide; v++)
            row[v] = vr_load(from[v] + r);
        for (unsigned i = 0; i < TALL; i++) {
            const vr factor = vr_set1(a[r + i]);
            for (unsigned v = 0; v < wide; v++)
                sum[i][v] = vr_muladd(factor, row[v], sum[i][v]);
        }
    }
    for (unsigned i = 0; i < TALL; i++)
        for (unsigned v = 0; v < wide; v++)
            vr_add_to(to + i * stride + (first + v) * REALS, sum[i][v]);
}

/* Functions of their own: what a compiler would keep in registers from one tile to the next has no
 * room there. */
#define TILE_OF(wide)                                                                              \
    static __attribute__((noinline)) void add_tile_##wide(                                         \
        const double *a, const double *b, size_t strip_doubles, unsigned first, unsigned n_rows,   \
        int64_t *to, size_t stride) {                                                              \
        add_tile(a, b, strip_doubles, first, wide, n_rows, to, stride);                            \
    }
TILE_OF(1)
TILE_OF(2)
TILE_OF(3)

static void add_strip_products(const double *a, const double *b, size_t strip_doubles,
                               unsigned n_strips, unsigned n_rows, int64_t *to, size_t stride) {
    const unsigned n_vectors = n_strips * STRIP_VECTORS;
    for (unsigned i = 0; i < EF_STRIP; i += TALL)
        for (unsigned v = 0, wide; v < n_vectors; v += wide) {
            const unsigned left = n_vectors - v;
            wide = left == 4 ? 2 : left < 3 ? left : 3; /* 2 and 2, not 3 and 1 */
            (wide == 3   ? add_tile_3
             : wide == 2 ? add_tile_2
                         : add_tile_1)(a + i, b, strip_doubles, v, n_rows, to + i * stride, stride);
        }
}

/* LANES rows of n_columns columns, up to as many: the columns are made rows. Columns of zeros
 * follow, up to `width`. */
LANE_OP void pack_block(const float *panel, uint32_t n_columns, uint32_t width, unsigned n_rows,
                        double *strips, size_t strip_doubles) {
    vu block[LANES];
    for (unsigned c = 0; c < LANES; c++)
        block[c] = c < n_columns ? vf_whole(vf_load(panel + c * EF_PANEL)) : vu_set1(0);
    vu_transpose(block);
    uint32_t rows[LANES][LANES];
    for (unsigned i = 0; i < LANES; i++)
        vu_store(rows[i], block[i]);
    for (unsigned i = 0; i < n_rows; i++)
        for (unsigned c = 0; c < width; c += REALS) {
            double *const row = strips + c / EF_STRIP * strip_doubles + (size_t)i * EF_STRIP;
            vr_store(row + c % EF_STRIP, vr_widen((const int32_t *)rows[i] + c));
        }
}

static void pack_strips(const float *panel, uint32_t n_columns, unsigned n_rows, double *strips,
                        size_t strip_doubles) {
    const uint32_t n_packed = (n_columns + EF_STRIP - 1) / EF_STRIP * EF_STRIP;
    for (unsigned first = 0; first < n_rows; first += LANES) {
        const unsigned n = n_rows - first < LANES ? n_rows - first : LANES;
        for (uint32_t j = 0; j < n_packed; j += LANES) {
            const float *const from = panel + (size_t)j * EF_PANEL + first;
            double *const to =
                strips + j / EF_STRIP * strip_doubles + first * EF_STRIP + j % EF_STRIP;
            if (j + LANES <= n_columns)
                pack_block(from, LANES, LANES, n, to, strip_doubles);
            else
                pack_block(from, j < n_columns ? n_columns - j : 0,
                           n_packed - j < LANES ? n_packed - j : LANES, n, to, strip_doubles);
        }
    }
}
