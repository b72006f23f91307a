/*
 * What tests of trees share: parameters, rows, nodes, and a row that is forgotten or learned under
 * the law and under what holds for all nodes. Sets are of whole numbers on a grid of step 1.
 */
#ifndef TREE_SCENE_H
#define TREE_SCENE_H

#include "model/change_scene.h"

#include "exact/check_nodes.h"
#include "model/report_scene.h"

static inline efface_kmeans_params params_of_tree(uint32_t height, uint32_t width,
                                                  uint32_t n_clusters, uint64_t seed) {
    efface_kmeans_params p = params_of(EFFACE_METHOD_TREE, n_clusters, seed);
    p.tree.height = height;
    p.tree.width = width;
    p.tree.weigh_centroids = 0;
    p.bound = 0x1p23;
    return p;
}

/* Rows of one column around 0 and 100,000, by turns. */
static inline void fill_two_places(float *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(i % 2 * 100000 + i * i * 7 % 31);
}

/* The leaf of a row. */
static inline uint32_t leaf_of(const pair *p, uint64_t id) {
    return ef_tree_leaf(inside(p->model)->tree, inside(p->model)->plan.seed, id);
}

/* The first id from `first` on that belongs to a leaf. */
static inline uint64_t id_in_leaf(const pair *p, uint32_t leaf, uint64_t first) {
    while (leaf_of(p, first) != leaf)
        first++;
    return first;
}

static inline const ef_node *node_of(const pair *p, uint32_t depth, size_t number) {
    return &inside(p->model)->tree->nodes[depth][number];
}

static inline size_t n_rows_of(const pair *p, uint32_t depth, size_t number) {
    const efface_data *const set = node_of(p, depth, number)->data;
    return set != NULL ? efface_data_n_rows(set) : 0;
}

static inline efface_report forget(pair *p, uint64_t id) {
    const efface_report report = forget_one(p, id);
    check_nodes(p->model, p->data);
    return report;
}

static inline efface_report learn(pair *p, uint64_t id, const float *values) {
    const efface_report report = learn_one(p, id, values);
    check_nodes(p->model, p->data);
    return report;
}

#endif
