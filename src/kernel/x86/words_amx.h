/*
 * Limbs of bytes: how panel_words.h multiplies rounded numbers with AMX.
 *
 * With a = l + 128 h and b = m + 128 n,
 *
 *     a.b = l.m + 128 ((l + h).(m + n) - l.m - h.n) + 2^14 h.n,
 *
 * so three products of tiles have all of it, not only its leading part: l, h, m and n are at most
 * 64 in magnitude and their sums are bytes too. A product of tiles adds up at most 2^14 in a
 * column, which 32 bits hold for any number of columns there is.
 */
#define FORM EF_LIMBS
#define MOST_WORD EF_MOST_LIMBS
#define LINE_COLUMNS 4
#define WORD_BAND EF_ROUNDED_ROWS

LANE_OP vf vf_of_whole(vu a) {
    return _mm512_cvtepi32_ps(a);
}

/* Byte c of each lane is that of column c, in a line of each of three tiles. */
LANE_OP void put_line(int8_t *line, const vu whole[LINE_COLUMNS]) {
    vu low = vu_set1(0), high = low, both = low;
    for (unsigned c = 0; c < LINE_COLUMNS; c++) {
        const __mmask64 bytes = UINT64_C(0x1111111111111111) << c;
        const vu up = _mm512_and_si512(vu_add(whole[c], vu_set1(64)), vu_set1(127));
        const vu l = vu_sub(up, vu_set1(64));
        const vu h = _mm512_srai_epi32(vu_sub(whole[c], l), 7);
        low = _mm512_mask_blend_epi8(bytes, low, _mm512_slli_epi32(l, 8 * c));
        high = _mm512_mask_blend_epi8(bytes, high, _mm512_slli_epi32(h, 8 * c));
        both = _mm512_mask_blend_epi8(bytes, both, _mm512_slli_epi32(vu_add(l, h), 8 * c));
    }
    _mm512_storeu_si512(line, low);
    _mm512_storeu_si512(line + ROUNDED_TILE, high);
    _mm512_storeu_si512(line + 2 * ROUNDED_TILE, both);
}

/* All eight tiles have sixteen rows of 64 bytes. */
LANE_OP void begin_products(void) {
    struct {
        uint8_t palette, start, unused[14];
        uint16_t row_bytes[16];
        uint8_t n_rows[16];
    } shapes = {.palette = 1};
    for (unsigned t = 0; t < 8; t++) {
        shapes.row_bytes[t] = LINE;
        shapes.n_rows[t] = EF_ROUNDED_ROWS;
    }
    _tile_loadconfig(&shapes);
}
LANE_OP void end_products(void) {
    _tile_release();
}

/* Compilers do not know that tiles are read from memory and written to it. */
LANE_OP void memory_is_used(void) {
    __asm__ volatile("" ::: "memory");
}

/* The same limbs of a tile of clusters and of two panels. */
#define MULTIPLY(part, first_sum, second_sum)                                                      \
    _tile_loadd(6, tiles + (part)*ROUNDED_TILE, LINE);                                             \
    _tile_loadd(7, rows + (part)*ROUNDED_TILE, LINE);                                              \
    _tile_dpbssd(first_sum, 6, 7);                                                                 \
    _tile_loadd(7, rows + panel_bytes + (part)*ROUNDED_TILE, LINE);                                \
    _tile_dpbssd(second_sum, 6, 7)

/* a.b for two panels of rows and a tile of clusters. */
static void find_products(const int8_t *rows, const int8_t *tiles, size_t first, size_t d,
                          vu products[WORD_BAND][VECTORS]) {
    (void)first; /* 0: a band is a tile */
    const size_t panel_bytes = ef_rounded_tiles(d, FORM) * FORM * ROUNDED_TILE;
    const int8_t *const end = rows + panel_bytes;
    _Alignas(64) uint32_t sums[FORM][VECTORS][EF_ROUNDED_ROWS * LANES];
    memory_is_used();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    for (; rows < end; rows += FORM * ROUNDED_TILE, tiles += FORM * ROUNDED_TILE) {
        MULTIPLY(0, 0, 1);
        MULTIPLY(1, 2, 3);
        MULTIPLY(2, 4, 5);
    }
    _tile_stored(0, sums[0][0], LINE);
    _tile_stored(1, sums[0][1], LINE);
    _tile_stored(2, sums[1][0], LINE);
    _tile_stored(3, sums[1][1], LINE);
    _tile_stored(4, sums[2][0], LINE);
    _tile_stored(5, sums[2][1], LINE);
    memory_is_used();
    for (unsigned c = 0; c < WORD_BAND; c++)
        for (unsigned v = 0; v < VECTORS; v++) {
            const vu low = vu_load(sums[0][v] + c * LANES);
            const vu high = vu_load(sums[1][v] + c * LANES);
            const vu both = vu_load(sums[2][v] + c * LANES);
            const vu middle = vu_sub(vu_sub(both, low), high);
            products[c][v] =
                vu_add(low, _mm512_slli_epi32(vu_add(middle, _mm512_slli_epi32(high, 7)), 7));
        }
}
