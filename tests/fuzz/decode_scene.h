/*
 * A set of a few rows and parameters, from six bytes: what the bytes of a state are decoded with.
 * For fuzz_decode.c and the program that makes its first corpus.
 *
 *     byte 0   method (2 bits), scale, empty, seed (the rest)
 *     byte 1   clusters - 1 (3 bits), iterations (2 bits), rows (3 bits, from a list)
 *     byte 2   columns - 1 (2 bits), gamma (2 bits), epsilon (2 bits), redraw, bounds given
 *     byte 3   rate (2 bits), passes - 1 (1 bit), starts - 1 (2 bits), kind of values (2 bits),
 *              weights
 *     byte 4   tree: height (2 bits), width (2 bits), method of leaves and of nodes (2 bits each)
 *     byte 5   tree: weighed, clusters given for depths
 */
#ifndef EF_TESTS_DECODE_SCENE_H
#define EF_TESTS_DECODE_SCENE_H

#include "efface/efface.h"

#include <stdlib.h>

#define SCENE_BYTES 6
#define SCENE_MOST_ROWS 40
#define SCENE_MOST_COLUMNS 4

typedef struct scene {
    efface_kmeans_params params;
    float low[SCENE_MOST_COLUMNS], high[SCENE_MOST_COLUMNS];
    uint32_t depth_clusters[3];
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
    int64_t weights[SCENE_MOST_ROWS];
    for (size_t i = 0; i < n * d; i++)
        values[i] = scene_value(kind, (uint32_t)i);
    for (size_t i = 0; i < n; i++) {
        ids[i] = 3 * i + 1;
        weights[i] = weighed != 0 ? 1 + (int64_t)(scene_hash((uint32_t)i) % 4) : 1;
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids, .weights = weights};
    if (efface_data_create(d, &s->data, NULL) != EFFACE_OK ||
        efface_data_add(s->data, &rows, NULL) != EFFACE_OK)
        abort();
}

/* The parameters refer to the scene, which must stay where it is. */
static void scene_read(scene *s, const unsigned char b[SCENE_BYTES]) {
    static const uint32_t iterations[] = {3, 0, 1, 10};
    static const size_t n_rows[] = {12, 0, 1, 2, 5, 8, 20, SCENE_MOST_ROWS};
    static const double gammas[] = {0.2, 0.0, 0.5, 1.0};
    static const double epsilons[] = {0.0, 0.125, 0x1p-20, 0.02};
    static const double rates[] = {0.0, 1.0, 0.5, 0.125};
    static const uint32_t widths[] = {0, 1, 2, 3};
    static const uint32_t candidates[] = {1, 2, 0, 5};
    efface_kmeans_params *const p = &s->params;
    efface_kmeans_params_init(p);
    const uint32_t d = 1 + (b[2] & 3u);
    p->method = (efface_method)(b[0] & 3);
    p->scale = (b[0] & 4) != 0 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
    p->empty = (b[0] & 8) != 0 ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
    p->common.seed = b[0] >> 4;
    p->n_clusters = 1 + (b[1] & 7u);
    p->iterations = iterations[b[1] >> 3 & 3];
    p->gamma = gammas[b[2] >> 2 & 3];
    p->epsilon = epsilons[b[2] >> 4 & 3];
    if ((b[2] & 128) != 0 && p->scale == EFFACE_SCALE_NONE)
        p->bound = 4e6;
    if ((b[2] & 128) != 0 && p->scale == EFFACE_SCALE_MINMAX) {
        for (uint32_t j = 0; j < d; j++) {
            s->low[j] = -1e7f;
            s->high[j] = 1e7f;
        }
        p->column_min = s->low;
        p->column_max = s->high;
    }
    p->rate = rates[b[3] & 3];
    p->passes = 1 + (b[3] >> 2 & 1u);
    p->starts = 1 + (b[3] >> 3 & 3u);
    p->height = b[4] & 3u;
    const int may_redraw =
        p->method == EFFACE_METHOD_QUANTIZED || (p->method == EFFACE_METHOD_TREE && p->height != 0);
    if (may_redraw && (b[2] & 64) != 0)
        p->redraw = EFFACE_REDRAW_FRESH;
    p->width = widths[b[4] >> 2 & 3];
    p->leaf_method = (efface_method)((b[4] >> 4 & 3) % 3);
    p->node_method = (efface_method)((b[4] >> 6) % 3);
    p->weigh_centroids = b[5] & 1;
    p->candidates = candidates[b[5] >> 2 & 3];
    if ((b[5] & 2) != 0) {
        for (uint32_t l = 0; l < 3; l++)
            s->depth_clusters[l] = 2 + l;
        p->depth_clusters = s->depth_clusters;
    }
    p->common.n_threads = 1;
    scene_make_rows(s, n_rows[b[1] >> 5], d, b[3] >> 5 & 3, b[3] & 128);
}

#endif
