/* Where two models differ. */
#include "base/memory/memory.h"
#include "model/kmeans/definition/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where the first difference is. */
typedef struct place {
    const char *what;
    uint32_t level;
    bool has_cluster;
    uint32_t cluster, column;
} place;

/* The first place where two arrays of n numbers of `size` bytes differ; n if they are equal. */
static size_t first_difference(const void *a, const void *b, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++)
        if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) != 0)
            return i;
    return n;
}

/* Compares arrays of n numbers, per_cluster of them for each cluster. True if they differ. */
static bool differ(const char *what, const void *a, const void *b, size_t n, size_t size,
                   size_t per_cluster, place *at) {
    const size_t i = first_difference(a, b, n, size);
    if (i == n)
        return false;
    at->what = what;
    at->has_cluster = true;
    at->cluster = (uint32_t)(i / per_cluster);
    at->column = (uint32_t)(i % per_cluster);
    return true;
}

static bool levels_differ(const ef_level *a, const ef_level *b, size_t k, size_t d, place *at) {
    if (differ("centroid", a->centers, b->centers, k * d, sizeof *a->centers, d, at))
        return true;
    if (a->has_partition != b->has_partition) {
        at->what = "partition";
        return true;
    }
    if (!a->has_partition)
        return false;
    return differ("count", a->counts, b->counts, k, sizeof *a->counts, 1, at) ||
           differ("sum", a->sums, b->sums, k * d, sizeof *a->sums, d, at);
}

/* Whether two states have the same bytes; no, if out of memory. */
static bool have_same_bytes(const ef_kmeans *a, const ef_kmeans *b) {
    ef_writer x = {0}, y = {0};
    ef_kmeans_write(&x, a);
    ef_kmeans_write(&y, b);
    const bool same = !x.failed && !y.failed && x.n_bytes == y.n_bytes &&
                      memcmp(x.bytes, y.bytes, x.n_bytes) == 0;
    ef_free(x.bytes);
    ef_free(y.bytes);
    return same;
}

/* The encodings of two flat models differ; where do the states? */
static void locate_flat(const ef_kmeans *a, const ef_kmeans *b, place *at) {
    const size_t k = a->plan.n_clusters, d = a->domain.map.n_columns;
    at->what = "parameters or domain";
    if (k != b->plan.n_clusters)
        return;
    for (uint32_t t = 0; t < a->n_levels && t < b->n_levels; t++) {
        at->level = t;
        if (levels_differ(&a->levels[t], &b->levels[t], k, d, at))
            return;
    }
    at->level = a->n_levels < b->n_levels ? a->n_levels : b->n_levels;
    if (a->n_levels != b->n_levels || a->model_level != b->model_level)
        at->what = "number of levels";
    else
        at->what = "winner of a race, parameter or total";
}

/* Puts a place into words, behind those that are there. */
static void put_place(const place *at, efface_difference *difference) {
    const size_t used = strlen(difference->where), room = sizeof difference->where - used;
    char *const to = difference->where + used;
    difference->what = at->what;
    if (at->has_cluster)
        (void)snprintf(to, room, "level %" PRIu32 ", cluster %" PRIu32 ", column %" PRIu32,
                       at->level, at->cluster, at->column + 1);
    else
        (void)snprintf(to, room, "level %" PRIu32, at->level);
}

void ef_kmeans_locate(const ef_kmeans *a, const ef_kmeans *b, efface_difference *difference) {
    place at = {.what = "parameters or domain"};
    difference->what = at.what;
    if (a->tree == NULL || b->tree == NULL || a->tree->width != b->tree->width) {
        locate_flat(a, b, &at);
        put_place(&at, difference);
        return;
    }
    for (uint32_t l = a->tree->height + 1; l-- > 0;)
        for (size_t i = 0; i < a->tree->n_nodes[l]; i++) {
            const ef_kmeans *const x = a->tree->nodes[l][i].model;
            const ef_kmeans *const y = b->tree->nodes[l][i].model;
            const bool both = x != NULL && y != NULL;
            if (both ? have_same_bytes(x, y) : x == y)
                continue;
            (void)snprintf(difference->where, sizeof difference->where,
                           "node %zu at depth %" PRIu32 "%s", i, l, both ? ", " : "");
            difference->what = "node";
            if (both) {
                locate_flat(x, y, &at);
                put_place(&at, difference);
            }
            return;
        }
}
