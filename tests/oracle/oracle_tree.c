/* Trees: section 8 of docs/definition/numerics.md. A node is a model of its own, made by
 * oracle_fit. */
#include "oracle/oracle.h"
#include "oracle/oracle_parts.h"

#include <stdlib.h>

/* n has at most 40 bits, as the weight of a row is at least 1. */
static uint32_t automatic_width(size_t n, uint32_t height) {
    const oracle_u128 cube = (oracle_u128)n * n * n;
    uint32_t r = 0;
    while (r < 20 / height && cube >= (oracle_u128)1 << (10 * r + 5))
        r++;
    return (uint32_t)1 << r;
}

/* The weights of the rows that the centroids of a node stand for. */
static const int64_t *masses(const oracle_model *node) {
    const oracle_level *level = &node->levels[node->model_level];
    return level->has_partition ? level->counts : (level - 1)->counts;
}

/* The model of an inner node, whose rows are the centroids of its children. */
static oracle_model *fit_centroids(const oracle_model *m, uint32_t l, size_t i,
                                   const efface_kmeans_params *params) {
    const oracle_tree *tree = m->tree;
    oracle_model **children = tree->nodes[l + 1] + i * tree->width;
    size_t most = 0;
    for (uint32_t c = 0; c < tree->width; c++)
        most += children[c] != NULL ? children[c]->n_clusters : 0;
    float *values = oracle_make(most * m->d, sizeof *values);
    uint64_t *ids = oracle_make(most, sizeof *ids);
    int64_t *weights = oracle_make(most, sizeof *weights);
    oracle_rows rows = {0, m->d, values, ids, weights};
    for (uint32_t c = 0; c < tree->width; c++)
        for (uint32_t own = 0; children[c] != NULL && own < children[c]->n_clusters; own++) {
            const int64_t weight = m->params.tree.weigh_centroids ? masses(children[c])[own] : 1;
            if (weight == 0)
                continue;
            for (uint32_t j = 0; j < m->d; j++)
                values[rows.n * m->d + j] =
                    (float)oracle_centroids(children[c])[(size_t)own * m->d + j];
            ids[rows.n] = (uint64_t)c * tree->n_asked[l + 1] + own;
            weights[rows.n] = weight;
            rows.n++;
        }
    oracle_model *node = rows.n > 0 ? oracle_fit(&rows, params) : NULL;
    free(values);
    free(ids);
    free(weights);
    return node;
}

/* The number of a row's leaf. */
static size_t leaf_of(const oracle_model *m, uint64_t id) {
    const uint64_t r = oracle_tape(m->params.common.seed, 9, 0, id, 0);
    return (size_t)((oracle_u128)r * m->tree->n_nodes[m->tree->height] >> 64);
}

/* Makes the nodes below node (l, i), then the node. */
static void make_node(oracle_model *m, const oracle_rows *rows, const size_t *leaves, uint32_t l,
                      size_t i) {
    oracle_tree *tree = m->tree;
    efface_kmeans_params params = oracle_with_grid(m);
    params.n_clusters = tree->n_asked[l];
    if (l != 0)
        params.common.seed = oracle_tape(m->params.common.seed, 10, 0, i, l);
    if (l == tree->height) {
        unsigned char *wanted = oracle_make(rows->n, sizeof *wanted);
        for (size_t row = 0; row < rows->n; row++)
            wanted[row] = leaves[row] == i;
        params.method = m->params.tree.leaf_method;
        tree->nodes[l][i] = oracle_fit_part(rows, wanted, NULL, &params);
        free(wanted);
        return;
    }
    for (uint32_t c = 0; c < tree->width; c++)
        make_node(m, rows, leaves, l + 1, i * tree->width + c);
    params.method = m->params.tree.node_method;
    params.scale = EFFACE_SCALE_NONE;
    params.bound = 0x1p23;
    tree->nodes[l][i] = fit_centroids(m, l, i, &params);
}

void oracle_grow_tree(oracle_model *m, const oracle_rows *rows) {
    const efface_kmeans_params *p = &m->params;
    oracle_tree *tree = oracle_make(1, sizeof *tree);
    m->tree = tree;
    tree->height = p->tree.height;
    tree->width = p->tree.width > 0 ? p->tree.width : automatic_width(m->n, p->tree.height);
    for (uint32_t l = 0; l <= tree->height; l++) {
        tree->n_asked[l] =
            l > 0 && p->tree.depth_clusters != NULL ? p->tree.depth_clusters[l - 1] : p->n_clusters;
        tree->n_nodes[l] = l == 0 ? 1 : tree->n_nodes[l - 1] * tree->width;
        tree->nodes[l] = oracle_make(tree->n_nodes[l], sizeof(oracle_model *));
    }
    size_t *leaves = oracle_make(rows->n, sizeof *leaves);
    for (size_t row = 0; row < rows->n; row++)
        leaves[row] = leaf_of(m, oracle_id(rows, row));
    make_node(m, rows, leaves, 0, 0);
    m->n_clusters = tree->nodes[0][0] != NULL ? tree->nodes[0][0]->n_clusters : 0;
    free(leaves);
}

void oracle_free_tree(oracle_tree *tree) {
    if (tree == NULL)
        return;
    for (uint32_t l = 0; l <= tree->height; l++) {
        for (size_t i = 0; i < tree->n_nodes[l]; i++)
            oracle_free(tree->nodes[l][i]);
        free(tree->nodes[l]);
    }
    free(tree);
}
