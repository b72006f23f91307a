/* What the nodes of a tree lose and gain by a change: rows of the set at its leaves, above them the
 * centroids of children. */
#include "model/kmeans/following/tree_nodes.h"

#include "base/memory/arrays.h"
#include "base/memory/memory.h"

#include <string.h>

/* ---------------------------------------------------------------- centroids of a node */

static ef_node_result before(const ef_tree_change *t, uint32_t depth, const ef_node_change *c) {
    return (ef_node_result){.model = t->tree->nodes[depth][c->number].model};
}

ef_node_result ef_node_result_after(const ef_node_change *c) {
    if (c->vanishes)
        return (ef_node_result){0};
    return c->ongoing != NULL ? (ef_node_result){.revision = &c->ongoing->revision}
                              : (ef_node_result){.model = c->fresh.model};
}

static uint32_t result_clusters(const ef_node_result *r) {
    return r->revision != NULL ? ef_revision_clusters(r->revision)
           : r->model != NULL  ? r->model->plan.n_clusters
                               : 0;
}

/* The coordinates of a centroid; NULL if it is no row of the parent. */
static const int32_t *result_point(const ef_node_result *r, uint32_t cluster, bool weighed,
                                   uint32_t d, int64_t *weight) {
    if (cluster >= result_clusters(r))
        return NULL;
    *weight = !weighed              ? 1
              : r->revision != NULL ? ef_revision_mass(r->revision, cluster)
                                    : ef_kmeans_mass(r->model, cluster);
    const int32_t *const centers =
        r->revision != NULL ? ef_revision_centers(r->revision) : ef_kmeans_centers(r->model);
    return *weight != 0 ? centers + (size_t)cluster * d : NULL;
}

/* One centroid before and after the change. */
typedef struct centroid {
    const int32_t *old, *now; /* or NULL */
    int64_t old_weight, weight;
    bool same;
} centroid;

static centroid look_at_centroid(const ef_tree_change *t, uint32_t depth, const ef_node_change *c,
                                 uint32_t cluster) {
    const uint32_t d = t->model->domain.map.n_columns;
    const ef_node_result was = before(t, depth, c), is = ef_node_result_after(c);
    centroid x = {0};
    x.old = result_point(&was, cluster, t->tree->weighed, d, &x.old_weight);
    x.now = result_point(&is, cluster, t->tree->weighed, d, &x.weight);
    x.same = x.old != NULL && x.now != NULL
                 ? x.old_weight == x.weight && memcmp(x.old, x.now, d * sizeof *x.old) == 0
                 : x.old == x.now;
    return x;
}

static uint32_t most_clusters(const ef_tree_change *t, uint32_t depth, const ef_node_change *c) {
    const ef_node_result was = before(t, depth, c), is = ef_node_result_after(c);
    const uint32_t old = result_clusters(&was), now = result_clusters(&is);
    return old > now ? old : now;
}

bool ef_node_centroids_move(const ef_tree_change *t, const ef_node_change *c) {
    const uint32_t k = most_clusters(t, t->depth, c);
    for (uint32_t j = 0; j < k; j++)
        if (!look_at_centroid(t, t->depth, c, j).same)
            return true;
    return false;
}

/* ---------------------------------------------------------------- what a node loses and gains */

/* Room for so many. */
static ef_node_edit edit_of(size_t n_leave, size_t n_come, uint32_t d) {
    ef_node_edit e = {0};
    const ef_array arrays[] = {{&e.leave, n_leave, sizeof *e.leave},
                               {&e.ids, n_come, sizeof *e.ids},
                               {&e.weights, n_come, sizeof *e.weights},
                               {&e.values, n_come, d * sizeof *e.values}};
    e.block = EF_ARRAYS_TAKE(arrays, false);
    return e;
}

ef_node_edit ef_edit_leaf(const ef_tree_change *t, const ef_node_change *c) {
    const uint32_t d = t->data->n_columns;
    size_t n_leave = 0;
    for (size_t i = c->first; i < c->end; i++)
        n_leave += ef_changed_leaves(t, t->order[i]);
    ef_node_edit e = edit_of(n_leave, c->end - c->first - n_leave, d);
    e.all_leave = n_leave;
    e.all_come = c->end - c->first - n_leave;
    for (size_t i = c->first; e.block != NULL && i < c->end; i++) {
        const size_t row = t->order[i];
        const size_t position = t->change != NULL ? t->change->positions[row] : row;
        if (position == EF_NO_POSITION)
            continue;
        if (ef_changed_leaves(t, row)) {
            e.leave[e.n_leave++] = ef_changed_id(t, row);
            continue;
        }
        const float *const from = ef_data_first(t->data, position);
        float *const to = e.values + e.n_come * d;
        for (uint32_t j = 0; j < d; j++)
            to[j] = from[(size_t)j * EF_PANEL];
        e.ids[e.n_come] = ef_changed_id(t, row);
        e.weights[e.n_come++] = ef_data_weight(t->data, position);
    }
    return e;
}

ef_node_edit ef_edit_inner(const ef_tree_change *t, const ef_node_change *c) {
    const uint32_t d = t->model->domain.map.n_columns, below = t->depth + 1;
    const uint64_t k = t->tree->clusters[below];
    size_t most = 0;
    for (size_t i = c->first; i < c->end; i++)
        most += most_clusters(t, below, &t->reached[below][i]);
    ef_node_edit e = edit_of(most, most, d);
    for (size_t i = c->first; e.block != NULL && i < c->end; i++) {
        const ef_node_change *const child = &t->reached[below][i];
        const uint32_t n = child->moves ? most_clusters(t, below, child) : 0;
        for (uint32_t j = 0; j < n; j++) {
            const centroid x = look_at_centroid(t, below, child, j);
            const uint64_t id = child->number % t->tree->width * k + j;
            if (x.old != NULL && !x.same)
                e.leave[e.n_leave++] = id;
            if (x.now == NULL || x.same)
                continue;
            for (uint32_t column = 0; column < d; column++)
                e.values[e.n_come * d + column] = (float)x.now[column];
            e.ids[e.n_come] = id;
            e.weights[e.n_come++] = x.weight;
        }
    }
    e.all_leave = e.n_leave;
    e.all_come = e.n_come;
    return e;
}
