/* The tree: its shape, its nodes' parameters, and what can be asked of it. */
#include "model/kmeans/tree.h"

#include "base/checked.h"
#include "base/tape.h"
#include "base/wide.h"

uint32_t ef_tree_width(uint64_t n_rows, uint32_t height) {
    /* The smallest r with n^3 < 2^(10 r + 5); n is below 2^40. */
    const ef_u128 cube = (ef_u128)n_rows * n_rows * n_rows;
    uint32_t r = 0;
    while (r < 20 / height && cube >> (10 * r + 5) != 0)
        r++;
    return UINT32_C(1) << r;
}

uint32_t ef_tree_leaves(uint32_t width, uint32_t height) {
    uint64_t n = 1;
    for (uint32_t l = 0; l < height; l++) {
        n *= width;
        if (n > EF_MOST_LEAVES)
            return 0;
    }
    return (uint32_t)n;
}

ef_tree *ef_tree_create(const ef_plan *plan, const efface_kmeans_params *params) {
    ef_tree *const tree = ef_alloc_zero(1, sizeof *tree);
    if (tree == NULL)
        return NULL;
    tree->height = params->height;
    tree->width = plan->width;
    tree->weighed = params->weigh_centroids != 0;
    for (uint32_t l = 0; l <= tree->height; l++) {
        const bool given = l > 0 && params->depth_clusters != NULL;
        tree->clusters[l] = given ? params->depth_clusters[l - 1] : params->n_clusters;
        tree->n_nodes[l] = ef_tree_leaves(tree->width, l);
        tree->nodes[l] = ef_alloc_zero(tree->n_nodes[l], sizeof *tree->nodes[l]);
        if (tree->nodes[l] == NULL) {
            ef_tree_free(tree);
            return NULL;
        }
    }
    return tree;
}

void ef_tree_free(ef_tree *tree) {
    if (tree == NULL)
        return;
    for (uint32_t l = 0; l <= tree->height; l++) {
        for (size_t i = 0; tree->nodes[l] != NULL && i < tree->n_nodes[l]; i++) {
            efface_data_free(tree->nodes[l][i].data);
            efface_kmeans_free(tree->nodes[l][i].model);
        }
        free(tree->nodes[l]);
    }
    free(tree);
}

const efface_kmeans *ef_tree_root(const ef_tree *tree) {
    return tree->nodes[0][0].model;
}

uint32_t ef_tree_leaf(const ef_tree *tree, uint64_t seed, uint64_t id) {
    return (uint32_t)ef_tape_below(ef_tape(seed, EF_TAPE_LEAF, 0, id, 0),
                                   tree->n_nodes[tree->height]);
}

const efface_kmeans *ef_tree_leaf_model(const ef_tree *tree, uint64_t seed, uint64_t id) {
    return tree->nodes[tree->height][ef_tree_leaf(tree, seed, id)].model;
}

efface_kmeans_params ef_node_params(const efface_kmeans *model, uint32_t depth, size_t number) {
    const ef_tree *const tree = model->tree;
    const ef_domain *const domain = &model->domain;
    const bool leaf = depth == tree->height, ranges = domain->scale == EFFACE_SCALE_MINMAX;
    efface_kmeans_params p = model->params;
    p.method = leaf ? p.leaf_method : p.node_method;
    p.n_clusters = tree->clusters[depth];
    p.depth_clusters = NULL;
    if (depth != 0)
        p.seed = ef_tape(model->plan.seed, EF_TAPE_NODE, 0, number, depth);
    /* Leaves have the grid of all rows. Centroids are points of that grid, and stay as they are. */
    p.scale = leaf ? domain->scale : EFFACE_SCALE_NONE;
    p.bound = leaf ? ef_power_of_two(domain->exponent) : (double)EF_GRID_MAX;
    p.column_min = leaf && ranges ? domain->low : NULL;
    p.column_max = leaf && ranges ? domain->high : NULL;
    return p;
}

void ef_tree_write(ef_writer *w, const efface_kmeans *model) {
    const ef_tree *const tree = model->tree;
    ef_write_u32(w, model->domain.map.n_columns);
    ef_write_u32(w, tree->height);
    ef_write_u32(w, tree->width);
    ef_write_u32(w, (uint32_t)model->params.leaf_method);
    ef_write_u32(w, (uint32_t)model->params.node_method);
    ef_write_u32(w, tree->weighed ? 1 : 0);
    for (uint32_t l = 0; l <= tree->height; l++)
        ef_write_u32(w, tree->clusters[l]);
    ef_write_u32(w, (uint32_t)model->domain.scale);
    ef_write_u32(w, (uint32_t)model->domain.exponent);
    ef_write_u64(w, model->n_rows);
    ef_write_u64(w, (uint64_t)model->total_weight);
    ef_domain_write(w, &model->domain);
    for (uint32_t l = tree->height + 1; l-- > 0;)
        for (size_t i = 0; i < tree->n_nodes[l]; i++) {
            const efface_kmeans *const node = tree->nodes[l][i].model;
            ef_write_u32(w, node != NULL ? 1 : 0);
            if (node != NULL)
                ef_kmeans_write(w, node);
        }
}

size_t ef_tree_bytes(const ef_tree *tree) {
    size_t n = sizeof *tree;
    for (uint32_t l = 0; l <= tree->height; l++) {
        n += tree->n_nodes[l] * sizeof *tree->nodes[l];
        for (size_t i = 0; i < tree->n_nodes[l]; i++)
            if (tree->nodes[l][i].model != NULL)
                n += efface_kmeans_state_bytes(tree->nodes[l][i].model) +
                     ef_data_bytes(tree->nodes[l][i].data);
    }
    return n;
}
