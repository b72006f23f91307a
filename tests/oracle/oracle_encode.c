/* The encoding of docs/definition/format.md, of what the oracle made. */
#include "oracle/oracle.h"
#include "oracle/oracle_parts.h"

#include <string.h>

typedef struct writer {
    unsigned char *bytes; /* NULL while sizes are counted */
    size_t n;
} writer;

static void put(writer *w, oracle_u128 number, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++, w->n++)
        if (w->bytes != NULL)
            w->bytes[w->n] = (unsigned char)(number >> (8 * i) & 0xFF);
}

static void put_float(writer *w, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put(w, bits, 4);
}

static void put_win(writer *w, const oracle_win *win) {
    uint64_t bits;
    memcpy(&bits, &win->key, sizeof bits);
    put(w, win->id, 8);
    put(w, bits, 8);
}

/* The rounds of greedy seeding. */
static void put_rounds(writer *w, const oracle_model *m) {
    put(w, m->n_rounds, 4);
    for (size_t i = 0; i < (size_t)m->n_rounds * m->n_slots; i++) {
        put_win(w, &m->slots[i].win);
        for (uint32_t j = 0; j < m->d; j++)
            put(w, (oracle_u128)m->slots[i].point[j], 4);
        put(w, (oracle_u128)m->slots[i].potential, 16);
    }
}

static void put_start(writer *w) {
    for (const char *c = "EFFACEKM"; *c != '\0'; c++)
        put(w, (unsigned char)*c, 1);
    put(w, 1, 4);
}

/* The method of a state, and as a parameter of a tree. */
static void put_method(writer *w, efface_method method) {
    put(w, method == EFFACE_METHOD_LLOYD ? 0 : method == EFFACE_METHOD_QUANTIZED ? 1 : 4, 4);
}

static void put_bounds(writer *w, const oracle_model *m) {
    for (uint32_t j = 0; m->params.scale == EFFACE_SCALE_MINMAX && j < m->d; j++) {
        put_float(w, m->low[j]);
        put_float(w, m->high[j]);
    }
    for (uint32_t j = 0; m->has_spreads && j < m->d; j++) {
        put(w, (oracle_u128)m->exponents[j], 4);
        put(w, (oracle_u128)m->sums[j], 8);
        put(w, (oracle_u128)m->squares[j], 16);
    }
}

static void put_scale(writer *w, efface_scale scale) {
    put(w, scale == EFFACE_SCALE_MINMAX ? 1 : scale == EFFACE_SCALE_STANDARD ? 2 : 0, 4);
}

static void write_level(const oracle_model *m, const oracle_level *level, writer *w) {
    const size_t n_coordinates = (size_t)m->n_clusters * m->d;
    for (size_t i = 0; i < n_coordinates; i++)
        put(w, (oracle_u128)level->centroids[i], 4);
    put(w, level->has_partition ? 1 : 0, 4);
    if (!level->has_partition)
        return;
    for (uint32_t c = 0; c < m->n_clusters; c++)
        put(w, (oracle_u128)level->counts[c], 8);
    for (size_t i = 0; i < n_coordinates; i++)
        put(w, (oracle_u128)level->sums[i], 8);
    put(w, level->n_reseeded, 4);
    for (uint32_t i = 0; i < level->n_reseeded; i++) {
        put(w, level->reseeded[i].cluster, 4);
        put_win(w, &level->reseeded[i]);
    }
}

/* What pyramid knows of its seeds: where they are, and the weight of the rows around each. */
static void put_pilot(writer *w, const oracle_model *m) {
    for (size_t i = 0; i < (size_t)m->n_clusters * m->d; i++)
        put(w, (oracle_u128)m->pilot_points[i], 4);
    for (uint32_t c = 0; c < m->n_clusters; c++)
        put(w, (oracle_u128)m->pilot_counts[c], 8);
}

static void write_state(const oracle_model *m, writer *w) {
    const efface_method method = m->params.method;
    put_start(w);
    put_method(w, method);
    put(w, m->d, 4);
    put(w, m->params.n_clusters, 4);
    put(w, m->limit, 4);
    put_scale(w, m->params.scale);
    put(w, m->params.empty == EFFACE_EMPTY_KEEP ? 1 : 0, 4);
    put(w, (oracle_u128)m->exponent, 4);
    put(w, m->eps, 4);
    put(w, m->q, 4);
    put(w, m->n_clusters, 4);
    put(w, m->n_levels, 4);
    put(w, m->model_level, 4);
    put(w, m->n, 8);
    put(w, (oracle_u128)m->total_weight, 8);
    put(w, (oracle_u128)m->sum_of_squares, 16);
    if (method == EFFACE_METHOD_PYRAMID) {
        put(w, m->params.pyramid.passes, 4);
        put(w, m->params.pyramid.starts, 4);
        put(w, m->chosen, 4);
        put(w, m->shift, 4);
        put(w, m->n_in_sample, 8);
        put(w, m->n_within, 8);
        put(w, (oracle_u128)m->jury_weight, 16);
        put(w, (oracle_u128)m->spread, 16);
    }
    put_bounds(w, m);
    for (uint32_t l = 0; l < m->n_clusters; l++)
        put_win(w, &m->seeds[l]);
    if (method == EFFACE_METHOD_PYRAMID)
        put_pilot(w, m);
    if (method != EFFACE_METHOD_PYRAMID && m->params.candidates != 1)
        put_rounds(w, m);
    for (uint32_t r = 0; r < m->n_starts; r++) {
        for (size_t i = 0; i < (size_t)m->n_clusters * m->d; i++)
            put(w, (oracle_u128)oracle_centroids(m->starts[r])[i], 4);
        put(w, (oracle_u128)m->losses[r], 16);
    }
    for (uint32_t t = 0; t < m->n_levels; t++)
        write_level(m, &m->levels[t], w);
}

static void write_tree(const oracle_model *m, writer *w) {
    const oracle_tree *tree = m->tree;
    put_start(w);
    put(w, 3, 4);
    put(w, m->d, 4);
    put(w, tree->height, 4);
    put(w, tree->width, 4);
    put_method(w, m->params.tree.leaf_method);
    put_method(w, m->params.tree.node_method);
    put(w, m->params.tree.weigh_centroids ? 1 : 0, 4);
    for (uint32_t l = 0; l <= tree->height; l++)
        put(w, tree->n_asked[l], 4);
    put_scale(w, m->params.scale);
    put(w, (oracle_u128)m->exponent, 4);
    put(w, m->n, 8);
    put(w, (oracle_u128)m->total_weight, 8);
    put_bounds(w, m);
    for (uint32_t up = 0; up <= tree->height; up++)
        for (size_t i = 0; i < tree->n_nodes[tree->height - up]; i++) {
            const oracle_model *node = tree->nodes[tree->height - up][i];
            put(w, node != NULL ? 1 : 0, 4);
            if (node != NULL)
                write_state(node, w);
        }
}

static void write_all(const oracle_model *m, writer *w) {
    if (m->tree != NULL)
        write_tree(m, w);
    else
        write_state(m, w);
}

unsigned char *oracle_encode(const oracle_model *m, size_t *n_bytes) {
    writer w = {NULL, 0};
    write_all(m, &w);
    w.bytes = oracle_make(w.n, 1);
    w.n = 0;
    write_all(m, &w);
    *n_bytes = w.n;
    return w.bytes;
}
