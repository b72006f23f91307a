/*
 * Tiles in plain C, for tests where the processor has none: the intrinsics that words_amx.h uses,
 * by their names and with what they do. Tiles belong to a thread; one that has no
 * shape is empty.
 */
#ifndef EF_PLAIN_TILES_H
#define EF_PLAIN_TILES_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define PLAIN_TILES 8

typedef struct plain_tile {
    uint16_t row_bytes;
    uint8_t n_rows;
    uint8_t bytes[16][64];
} plain_tile;

static _Thread_local plain_tile plain_tiles[PLAIN_TILES];

static inline void plain_tile_release(void) {
    memset(plain_tiles, 0, sizeof plain_tiles);
}

static inline void plain_tile_loadconfig(const void *shapes) {
    const uint8_t *const bytes = shapes;
    plain_tile_release();
    for (unsigned t = 0; bytes[0] == 1 && t < PLAIN_TILES; t++) {
        memcpy(&plain_tiles[t].row_bytes, bytes + 16 + 2 * t, sizeof plain_tiles[t].row_bytes);
        plain_tiles[t].n_rows = bytes[48 + t];
    }
}

static inline void plain_tile_zero(unsigned number) {
    memset(plain_tiles[number].bytes, 0, sizeof plain_tiles[number].bytes);
}

static inline void plain_tile_loadd(unsigned number, const void *from, size_t stride) {
    plain_tile *const tile = &plain_tiles[number];
    plain_tile_zero(number);
    for (unsigned r = 0; r < tile->n_rows; r++)
        memcpy(tile->bytes[r], (const uint8_t *)from + r * stride, tile->row_bytes);
}

static inline void plain_tile_stored(unsigned number, void *to, size_t stride) {
    const plain_tile *const tile = &plain_tiles[number];
    for (unsigned r = 0; r < tile->n_rows; r++)
        memcpy((uint8_t *)to + r * stride, tile->bytes[r], tile->row_bytes);
}

/* Row m, word n of `sum` takes, for each row k of b, the products of four signed bytes. Sums wrap.
 */
static inline void plain_tile_dpbssd(unsigned sum, unsigned a, unsigned b) {
    plain_tile *const to = &plain_tiles[sum];
    const plain_tile *const left = &plain_tiles[a], *const right = &plain_tiles[b];
    for (unsigned m = 0; m < to->n_rows; m++)
        for (unsigned n = 0; n < to->row_bytes / 4u; n++) {
            uint32_t total;
            memcpy(&total, &to->bytes[m][4 * n], sizeof total);
            for (unsigned k = 0; k < left->row_bytes / 4u; k++)
                for (unsigned i = 0; i < 4; i++)
                    total += (uint32_t)((int8_t)left->bytes[m][4 * k + i] *
                                        (int8_t)right->bytes[k][4 * n + i]);
            memcpy(&to->bytes[m][4 * n], &total, sizeof total);
        }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#define _tile_loadconfig plain_tile_loadconfig
#define _tile_release plain_tile_release
#define _tile_zero plain_tile_zero
#define _tile_loadd plain_tile_loadd
#define _tile_stored plain_tile_stored
#define _tile_dpbssd plain_tile_dpbssd

#endif
