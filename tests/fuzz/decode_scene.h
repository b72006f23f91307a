/*
 * A set of a few rows, a family and parameters, from some bytes: what the bytes of a state are
 * decoded with. For fuzz_decode.c and the program that makes its first corpus.
 *
 *     byte 0      family
 *     byte 1      rows (3 bits, from a list), columns - 1 (2 bits), kind of values (2 bits),
 * weights bytes 2...  parameters, as the family reads them
 */
#ifndef EF_TESTS_DECODE_SCENE_H
#define EF_TESTS_DECODE_SCENE_H

#include "law/law_families.h"

#include <stdlib.h>

#define SCENE_BYTES 13 /* if the family reads eleven, as segmented does */
#define SCENE_MOST_ROWS 40
#define SCENE_MOST_COLUMNS 4

typedef struct scene {
    const law_family *family;
    law_params params;
    efface_data *data;
} scene;

static uint32_t scene_hash(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x45D9F3Bu;
    x = (x ^ (x >> 16)) * 0x45D9F3Bu;
    return x ^ (x >> 16);
}

/* Ties; halves of grid steps; far groups; any size. */
static float scene_value(unsigned kind, uint32_t i) {
    static const float sizes[] = {0.0f, 1.0f, -1.0f, 3e6f, -1e-6f, 0.5f, 1e-3f, -200.0f};
    const uint32_t h = scene_hash(i);
    switch (kind) {
    case 0: return (float)(h % 5) - 2.0f;
    case 1: return ((float)(h % 1000) + 0.5f) * 0x1p-23f;
    case 2: return (float)(h % 3) * 50.0f + (float)(h >> 20) * 0x1p-12f;
    default: return sizes[h % 8];
    }
}

static void scene_make_rows(scene *s, size_t n, uint32_t d, unsigned kind, int weighed) {
    float values[SCENE_MOST_ROWS * SCENE_MOST_COLUMNS];
    uint64_t ids[SCENE_MOST_ROWS];
    int64_t weights[SCENE_MOST_ROWS], labels[SCENE_MOST_ROWS];
    for (size_t i = 0; i < n * d; i++)
        values[i] = scene_value(kind, (uint32_t)i);
    for (size_t i = 0; i < n; i++) {
        ids[i] = 3 * i + 1;
        weights[i] = weighed != 0 ? 1 + (int64_t)(scene_hash((uint32_t)i) % 4) : 1;
        labels[i] = (int64_t)(i % 3);
    }
    const efface_rows rows = {
        .n_rows = n, .values = values, .ids = ids, .weights = weights, .labels = labels};
    if (efface_data_create(d, &s->data, NULL) != EFFACE_OK ||
        efface_data_add(s->data, &rows, NULL) != EFFACE_OK)
        abort();
}

/* Returns how many bytes it took. The parameters refer to the scene, which must stay where it is.
 */
static size_t scene_read(scene *s, const unsigned char *bytes, size_t n_bytes) {
    static const size_t n_rows[] = {12, 0, 1, 2, 5, 8, 20, SCENE_MOST_ROWS};
    law_bytes in = {bytes, n_bytes, 0};
    const unsigned family = law_take(&in), a = law_take(&in);
    const uint32_t d = 1 + (a >> 3 & 3);
    s->family = law_family_for(law_family_at(family), d);
    s->family->read(&s->params, d, &in);
    scene_make_rows(s, n_rows[a & 7], d, a >> 5 & 3, a & 128);
    return in.at;
}

#endif
