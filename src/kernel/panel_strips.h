/*
 * Sums of products of columns, for any number of lanes; part of panel_kernels.h.
 *
 * Everything is an integer of at most 2^53 in magnitude on the way, hence exact as a double.
 */
#define REALS_A_STRIP (EF_STRIP / REALS)

/* The sums of TALL columns of one strip with the eight of another: they fit the registers. */
LANE_OP void add_tall(const double *a, const double *b, unsigned n_rows, int64_t *to,
                      size_t stride) {
    vr sum[TALL][REALS_A_STRIP];
    for (unsigned i = 0; i < TALL; i++)
        for (unsigned g = 0; g < REALS_A_STRIP; g++)
            sum[i][g] = vr_set1(0.0);
    for (unsigned r = 0; r < n_rows; r++, a += EF_STRIP, b += EF_STRIP) {
        vr row[REALS_A_STRIP];
        for (unsigned g = 0; g < REALS_A_STRIP; g++)
            row[g] = vr_load(b + g * REALS);
        for (unsigned i = 0; i < TALL; i++)
            for (unsigned g = 0; g < REALS_A_STRIP; g++)
                sum[i][g] = vr_muladd(vr_set1(a[i]), row[g], sum[i][g]);
    }
    for (unsigned i = 0; i < TALL; i++)
        for (unsigned g = 0; g < REALS_A_STRIP; g++)
            vr_add_to(to + i * stride + g * REALS, sum[i][g]);
}

static void add_strip_products(const double *a, const double *b, unsigned n_rows, int64_t *to,
                               size_t stride) {
    for (unsigned i = 0; i < EF_STRIP; i += TALL)
        add_tall(a + i, b, n_rows, to + i * stride, stride);
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
