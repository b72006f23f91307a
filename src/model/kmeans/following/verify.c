/* Verify: fit anew and compare, and if there is a difference, say where. */
#include "base/checked.h"
#include "base/status.h"
#include "model/kmeans/definition/tree.h"

#include <inttypes.h>
#include <string.h>

/* The first place where two arrays of n numbers of `size` bytes differ; n if they are equal. */
static size_t first_difference(const void *a, const void *b, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++)
        if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) != 0)
            return i;
    return n;
}

/* Compares arrays of n numbers, per_cluster of them for each cluster. True if they differ. */
static bool differ(const char *what, const void *a, const void *b, size_t n, size_t size,
                   size_t per_cluster, efface_difference *difference) {
    const size_t i = first_difference(a, b, n, size);
    if (i == n)
        return false;
    difference->what = what;
    difference->cluster = (uint32_t)(i / per_cluster);
    difference->column = (uint32_t)(i % per_cluster);
    return true;
}

static bool levels_differ(const ef_level *a, const ef_level *b, size_t k, size_t d,
                          efface_difference *difference) {
    if (differ("centroid", a->centers, b->centers, k * d, sizeof *a->centers, d, difference))
        return true;
    if (a->has_partition != b->has_partition) {
        difference->what = "partition";
        return true;
    }
    if (!a->has_partition)
        return false;
    return differ("count", a->counts, b->counts, k, sizeof *a->counts, 1, difference) ||
           differ("sum", a->sums, b->sums, k * d, sizeof *a->sums, d, difference);
}

/* Whether two states have the same bytes. */
static efface_status compare(const ef_kmeans *a, const ef_kmeans *b, bool *same,
                             efface_error *error) {
    unsigned char *bytes[2] = {NULL, NULL};
    size_t n_bytes[2] = {0, 0};
    efface_status status = efface_kmeans_encode(a, &bytes[0], &n_bytes[0], error);
    if (status == EFFACE_OK)
        status = efface_kmeans_encode(b, &bytes[1], &n_bytes[1], error);
    if (status == EFFACE_OK)
        *same = n_bytes[0] == n_bytes[1] && memcmp(bytes[0], bytes[1], n_bytes[0]) == 0;
    efface_bytes_free(bytes[0]);
    efface_bytes_free(bytes[1]);
    return status;
}

/* The encodings of two flat models differ; where do the states? */
static void locate_flat(const ef_kmeans *a, const ef_kmeans *b, efface_difference *difference) {
    const size_t k = a->plan.n_clusters, d = a->domain.map.n_columns;
    difference->what = "parameters or domain";
    if (k != b->plan.n_clusters)
        return;
    for (uint32_t t = 0; t < a->n_levels && t < b->n_levels; t++) {
        difference->level = t;
        if (levels_differ(&a->levels[t], &b->levels[t], k, d, difference))
            return;
    }
    difference->level = a->n_levels < b->n_levels ? a->n_levels : b->n_levels;
    if (a->n_levels != b->n_levels || a->model_level != b->model_level)
        difference->what = "number of levels";
    else
        difference->what = "winner of a race, parameter or total";
}

/* The same for any two models. */
static void locate(const ef_kmeans *a, const ef_kmeans *b, efface_difference *difference) {
    if (a->tree == NULL || b->tree == NULL || a->tree->width != b->tree->width) {
        locate_flat(a, b, difference);
        return;
    }
    difference->what = "parameters or domain";
    for (uint32_t l = a->tree->height + 1; l-- > 0;)
        for (size_t i = 0; i < a->tree->n_nodes[l]; i++) {
            const ef_kmeans *const x = a->tree->nodes[l][i].model;
            const ef_kmeans *const y = b->tree->nodes[l][i].model;
            bool same = x == y; /* neither is there */
            if (x != NULL && y != NULL && (compare(x, y, &same, NULL) != EFFACE_OK || !same)) {
                locate_flat(x, y, difference);
            } else if (!same) {
                difference->what = "node";
            }
            if (!same) {
                difference->depth = l;
                difference->node = i;
                return;
            }
        }
}

efface_status efface_kmeans_verify(const ef_kmeans *model, const efface_data *data,
                                   efface_difference *difference, efface_error *error) {
    if (model == NULL || data == NULL || difference == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, data and difference must not be NULL");
    if (data->n_columns != model->domain.map.n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the set has %" PRIu32 " columns, but the model was fitted to %" PRIu32,
                       data->n_columns, model->domain.map.n_columns);
    ef_kmeans *fresh = NULL;
    bool same = false;
    efface_status status = ef_kmeans_fit_again(data, model, &fresh, error);
    if (status == EFFACE_OK)
        status = compare(model, fresh, &same, error);
    if (status == EFFACE_OK) {
        *difference = (efface_difference){.identical = same};
        if (!same)
            locate(model, fresh, difference);
    }
    efface_kmeans_free(fresh);
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}
