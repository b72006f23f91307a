/* Words of 16 bits: how panel_words.h multiplies them with AVX-512 VNNI. */
#define FORM EF_WORDS
#define MOST_WORD EF_MOST_WORD
#define LINE_COLUMNS 2
#define WORD_BAND 8 /* clusters whose sums fit the registers */

LANE_OP vf vf_of_whole(vu a) {
    return _mm512_cvtepi32_ps(a);
}

LANE_OP void put_line(int8_t *line, const vu whole[LINE_COLUMNS]) {
    _mm512_storeu_si512(
        line, _mm512_mask_blend_epi16(0xAAAAAAAA, whole[0], _mm512_slli_epi32(whole[1], 16)));
}

LANE_OP void begin_products(void) {
}
LANE_OP void end_products(void) {
}

/* A vu in gcc's own words, which spares it a copy for each addition. */
typedef int32_t vnni_sum __attribute__((vector_size(64)));

/* a.b for two panels of rows and eight clusters, of which the first is row `first` of `tiles`. A
 * function of its own, so that its sums stay in registers. */
static __attribute__((noinline)) void find_products(const int8_t *rows, const int8_t *tiles,
                                                    size_t first, size_t d,
                                                    vu products[WORD_BAND][VECTORS]) {
    const size_t n_tiles = ef_rounded_tiles(d, FORM);
    const int8_t *pair = tiles + first * LINE, *const end = rows + (d + 1) / 2 * LINE;
    vnni_sum sum[WORD_BAND][VECTORS] = {{{0}}};
    for (; rows < end; pair += ROUNDED_TILE - LINE) {
        const int8_t *const line_end =
            end - rows < (ptrdiff_t)ROUNDED_TILE ? end : rows + ROUNDED_TILE;
        do {
            const vu y0 = _mm512_loadu_si512(rows);
            const vu y1 = _mm512_loadu_si512(rows + n_tiles * ROUNDED_TILE);
            for (unsigned c = 0; c < WORD_BAND; c++) {
                int32_t two;
                memcpy(&two, pair + (size_t)c * LINE, sizeof two);
                const vu b = _mm512_set1_epi32(two);
                sum[c][0] = (vnni_sum)_mm512_dpwssd_epi32((vu)sum[c][0], y0, b);
                sum[c][1] = (vnni_sum)_mm512_dpwssd_epi32((vu)sum[c][1], y1, b);
            }
            rows += LINE;
            pair += sizeof(int32_t);
        } while (rows != line_end);
    }
    for (unsigned c = 0; c < WORD_BAND; c++)
        for (unsigned v = 0; v < VECTORS; v++)
            products[c][v] = (vu)sum[c][v];
}
