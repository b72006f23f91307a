/*
 * What holds for the nodes of a tree at all times (docs/definition/numerics.md, section 8), checked
 * from outside: a leaf's set has the rows of the user's set that belong to it and no others, an
 * inner node's set has the centroids of its children and no others, a node without rows is not
 * there, and each node's model is that of a fit to the node's set. For tests, which include this
 * file after cmocka.h.
 */
#ifndef EF_TESTS_CHECK_NODES_H
#define EF_TESTS_CHECK_NODES_H

#include "exact/check_kept.h"
#include "model/kmeans/definition/tree.h"
#include "model/report_scene.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* How many nodes there could be. */
static inline size_t count_places(const ef_tree *tree) {
    size_t n = 0;
    for (uint32_t l = 0; l <= tree->height; l++)
        n += tree->n_nodes[l];
    return n;
}

/* A set has this row. */
static void check_row(const efface_data *set, uint64_t id, int64_t weight, const float *values) {
    const uint32_t d = efface_data_n_columns(set);
    size_t position = SIZE_MAX;
    assert_int_equal(efface_data_find(set, id, &position), EFFACE_OK);
    assert_int_equal(efface_data_row(set, position).weight, weight);
    for (uint32_t j = 0; j < d; j++)
        assert_true(ef_data_value(set, position, j) == values[j]);
}

static void check_leaves(const efface_model *model, const efface_data *data) {
    const ef_tree *const tree = inside(model)->tree;
    const size_t n_leaves = tree->n_nodes[tree->height];
    const ef_node *const leaves = tree->nodes[tree->height];
    size_t *const n_rows = calloc(n_leaves, sizeof *n_rows);
    float *const values = calloc(efface_data_n_columns(data), sizeof *values);
    assert_non_null(n_rows);
    assert_non_null(values);
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        const efface_row row = efface_data_row(data, i);
        const uint32_t leaf = ef_tree_leaf(tree, inside(model)->plan.seed, row.id);
        assert_true(leaf < n_leaves && leaves[leaf].data != NULL);
        efface_data_values(data, i, values);
        check_row(leaves[leaf].data, row.id, row.weight, values);
        n_rows[leaf]++;
    }
    for (size_t i = 0; i < n_leaves; i++)
        assert_true((leaves[i].data != NULL ? efface_data_n_rows(leaves[i].data) : 0) == n_rows[i]);
    free(n_rows);
    free(values);
}

/* Node number `i` of a depth above the leaves. */
static void check_inner(const efface_model *model, uint32_t depth, size_t i) {
    const ef_tree *const tree = inside(model)->tree;
    const efface_data *const set = tree->nodes[depth][i].data;
    const uint32_t d = inside(model)->domain.map.n_columns;
    float *const values = calloc(d, sizeof *values);
    size_t n = 0;
    assert_non_null(values);
    for (uint64_t c = 0; c < tree->width; c++) {
        const ef_kmeans *const child = tree->nodes[depth + 1][i * tree->width + c].model;
        const uint32_t n_clusters = child != NULL ? child->plan.n_clusters : 0;
        for (uint32_t own = 0; own < n_clusters; own++) {
            const int64_t weight = tree->weighed ? ef_kmeans_mass(child, own) : 1;
            if (weight == 0)
                continue;
            assert_non_null(set);
            for (uint32_t j = 0; j < d; j++)
                values[j] = (float)ef_kmeans_centers(child)[(size_t)own * d + j];
            check_row(set, c * tree->clusters[depth + 1] + own, weight, values);
            n++;
        }
    }
    assert_int_equal(set != NULL ? efface_data_n_rows(set) : 0, n);
    free(values);
}

/* A node's model is that of a fit to the node's set, also by the partition that pyramid keeps, which
 * goes by positions in that set. */
static void check_fit(const ef_node *node, size_t number, uint32_t depth) {
    ef_kmeans *fresh = NULL;
    unsigned char is[EFFACE_DIGEST_BYTES], should[EFFACE_DIGEST_BYTES];
    assert_int_equal(
        ef_kmeans_fit(node->data, &node->model->params, node->model->ignored, &fresh, NULL),
        EFFACE_OK);
    assert_int_equal(efface_model_digest(AS_MODEL(node->model), is, NULL), EFFACE_OK);
    assert_int_equal(efface_model_digest(AS_MODEL(fresh), should, NULL), EFFACE_OK);
    if (memcmp(is, should, sizeof is) != 0) {
        efface_difference difference;
        ef_kmeans_locate(node->model, fresh, &difference);
        fail_msg("node %zu at depth %u is not a fit to its rows: %s", number, depth,
                 difference.what);
    }
    assert_true(same_kept(node->model, fresh));
    ef_kmeans_free(fresh);
}

static inline void check_nodes(const efface_model *model, const efface_data *data) {
    const ef_tree *const tree = inside(model)->tree;
    if (tree == NULL)
        return;
    assert_false(tree->is_cold);
    check_leaves(model, data);
    for (uint32_t l = 0; l <= tree->height; l++)
        for (size_t i = 0; i < tree->n_nodes[l]; i++) {
            const ef_node *const node = &tree->nodes[l][i];
            if (l < tree->height)
                check_inner(model, l, i);
            assert_true((node->data == NULL) == (node->model == NULL));
            if (node->model == NULL)
                continue;
            assert_true(efface_data_n_rows(node->data) != 0);
            check_fit(node, i, l);
            assert_int_equal(node->model->plan.n_threads, inside(model)->plan.n_threads);
            assert_int_equal(node->model->params.common.n_threads, inside(model)->plan.n_threads);
            assert_true(node->model->params.common.interrupted ==
                        inside(model)->params.common.interrupted);
            assert_true(node->model->plan.interrupt.asked ==
                        inside(model)->params.common.interrupted);
            assert_true(node->model->plan.interrupt.context ==
                        inside(model)->params.common.interrupt_context);
        }
}

/* ---------------------------------------------------------------- what changed */

static inline uint64_t hash_number(uint64_t hash, uint64_t x) {
    hash = (hash ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

/* A number that tells sets of rows apart, whatever the order of rows; 0 for none. */
static inline uint64_t hash_set(const efface_data *set) {
    uint64_t sum = 0;
    for (size_t i = 0; set != NULL && i < efface_data_n_rows(set); i++) {
        const efface_row row = efface_data_row(set, i);
        uint64_t hash = hash_number(hash_number(1, row.id), (uint64_t)row.weight);
        for (uint32_t j = 0; j < efface_data_n_columns(set); j++) {
            const float x = ef_data_value(set, i, j);
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            hash = hash_number(hash, bits);
        }
        sum += hash;
    }
    return sum;
}

/* The sets of all nodes of a tree at one time. */
typedef struct node_marks {
    uint32_t height, width;
    size_t n;
    uint64_t *hashes; /* from the root on; NULL if it is no tree */
    bool *there;
} node_marks;

static inline node_marks mark_nodes(const efface_model *model) {
    const ef_tree *const tree = inside(model)->tree;
    node_marks marks = {0};
    if (tree == NULL)
        return marks;
    marks.height = tree->height;
    marks.width = tree->width;
    marks.hashes = calloc(count_places(tree), sizeof *marks.hashes);
    marks.there = calloc(count_places(tree), sizeof *marks.there);
    assert_non_null(marks.hashes);
    assert_non_null(marks.there);
    for (uint32_t l = 0; l <= tree->height; l++)
        for (size_t i = 0; i < tree->n_nodes[l]; i++, marks.n++) {
            marks.hashes[marks.n] = hash_set(tree->nodes[l][i].data);
            marks.there[marks.n] = tree->nodes[l][i].data != NULL;
        }
    return marks;
}

static inline void free_marks(node_marks *marks) {
    free(marks->hashes);
    free(marks->there);
}

/* The least depth at which a node's set is another than it was; the height if there is none. */
static inline uint32_t depth_that_changed(const node_marks *before, const node_marks *now) {
    size_t at = 0, n_nodes = 1;
    assert_true(before->width == now->width && before->n == now->n);
    for (uint32_t l = 0; l < before->height; l++, n_nodes *= before->width)
        for (size_t i = 0; i < n_nodes; i++, at++)
            if (before->hashes[at] != now->hashes[at])
                return l;
    return before->height;
}

#endif
