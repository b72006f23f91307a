/* The table for AVX-512 with AMX, and whether its tiles do what they should. */
#ifdef EF_PLAIN_TILES
#include "kernel/x86/plain_tiles.h"
#define TABLE ef_kernels_amx_plain
#define TABLE_NAME "amx_plain"
#define HAS_TILES ef_cpu_has_avx512
#define TILES_WORK ef_amx_plain_works
#else
#define TABLE ef_kernels_amx
#define TABLE_NAME "amx"
#define HAS_TILES ef_cpu_has_amx
#define TILES_WORK ef_amx_works
#endif

#include "base/workers/cpu.h"
#include "kernel/x86/lanes_avx512.h"

#define WORDS_OF "kernel/x86/words_amx.h"
#include "kernel/panel_kernels.h"

#define N_TILES 3 /* of columns */

/* Two panels of rows and a tile of clusters, multiplied and multiplied again plainly. */
static bool multiplies(void) {
    enum { PANEL_BYTES = N_TILES * FORM * EF_ROUNDED_ROWS * LINE };
    _Alignas(64) int8_t rows[2 * PANEL_BYTES], tiles[PANEL_BYTES];
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (int8_t)(i * i * 37 >> 3);
    for (size_t i = 0; i < sizeof tiles; i++)
        tiles[i] = (int8_t)(i * i * 51 >> 4);
    vu products[WORD_BAND][VECTORS];
    begin_products();
    find_products(rows, tiles, 0, N_TILES * LINE, products);
    end_products();
    bool right = true;
    for (size_t at = 0; at < WORD_BAND * SIDE; at++) {
        const size_t c = at / SIDE, v = at / LANES % VECTORS, i = at % LANES;
        int32_t sums[FORM] = {0};
        for (size_t j = 0; j < (size_t)N_TILES * FORM * LINE; j++) {
            const size_t tile = j / LINE * ROUNDED_TILE, byte = j % LINE;
            sums[j / LINE % FORM] +=
                tiles[tile + c * LINE + byte] *
                rows[v * PANEL_BYTES + tile + byte / 4 * LINE + 4 * i + byte % 4];
        }
        uint32_t found[LANES];
        vu_store(found, products[c][v]);
        const uint32_t low = (uint32_t)sums[0], high = (uint32_t)sums[1];
        right &= found[i] == low + 128 * ((uint32_t)sums[2] - low - high) + (high << 14);
    }
    return right;
}

bool TILES_WORK(void);
bool TILES_WORK(void) {
    return HAS_TILES() && multiplies();
}
