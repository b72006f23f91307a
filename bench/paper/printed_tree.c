/*
 * What the paper prints: DC-k-means (Algorithm 2) and its deletion (Algorithm 6).
 */
#include "paper/as_printed.h"

#include <stdlib.h>

static void run_node(const printed_tree *tree, size_t number, printed_dice dice) {
    printed_node *const node = &tree->nodes[number];
    node->n_centroids = printed_kmeans(node->dataset, tree->params.k, tree->params.iterations, dice,
                                       node->centroids);
}

/* The data of an inner node are the centroids of its children. */
static void gather(const printed_tree *tree, size_t number) {
    printed_node *const node = &tree->nodes[number];
    const uint32_t d = node->dataset->d;
    int32_t *const point = printed_room(d, sizeof *point);
    while (node->dataset->n != 0)
        printed_rows_remove(node->dataset, node->dataset->n - 1);
    for (size_t child = number * tree->params.width + 1;
         child <= number * tree->params.width + tree->params.width; child++)
        for (uint32_t c = 0; c < tree->nodes[child].n_centroids; c++) {
            for (uint32_t j = 0; j < d; j++)
                point[j] = (int32_t)tree->nodes[child].centroids[(size_t)c * d + j];
            printed_rows_add(node->dataset, 0, point);
        }
    free(point);
}

/* Algorithm 2. */
printed_tree *printed_tree_train(const printed_rows *rows, const printed_tree_params *params,
                                 printed_dice dice) {
    printed_tree *const tree = printed_room(1, sizeof *tree);
    int32_t *const point = printed_room(rows->d, sizeof *point);
    size_t n_leaves = 1;
    *tree = (printed_tree){.params = *params, .n_nodes = 1};
    for (uint32_t l = 0; l < params->height; l++)
        tree->n_nodes += n_leaves *= params->width;
    tree->first_leaf = tree->n_nodes - n_leaves;
    tree->nodes = printed_room(tree->n_nodes, sizeof *tree->nodes);
    tree->leaves = printed_room(rows->n, sizeof *tree->leaves);
    for (size_t i = 0; i < tree->n_nodes; i++) {
        tree->nodes[i].dataset = printed_rows_new(rows->d, rows->middle);
        tree->nodes[i].centroids = printed_room((size_t)params->k * rows->d, sizeof(double));
    }
    for (size_t i = 0; i < rows->n; i++) {
        const size_t leaf = tree->first_leaf + dice.pick(dice.state, n_leaves, NULL);
        for (uint32_t j = 0; j < rows->d; j++)
            point[j] = (int32_t)printed_coordinate(rows, i, j);
        printed_rows_add(tree->nodes[leaf].dataset, rows->ids[i], point);
        tree->leaves[rows->ids[i]] = leaf;
    }
    for (size_t i = tree->n_nodes; i-- > 0;) {
        if (i < tree->first_leaf)
            gather(tree, i);
        run_node(tree, i, dice);
    }
    free(point);
    return tree;
}

/* Algorithm 6: every node from the leaf to the root runs again. */
void printed_tree_delete(printed_tree *tree, uint64_t id, printed_dice dice) {
    size_t node = tree->leaves[id], position = 0;
    printed_rows *const dataset = tree->nodes[node].dataset;
    while (dataset->ids[position] != id)
        position++;
    printed_rows_remove(dataset, position);
    run_node(tree, node, dice);
    while (node != 0) {
        node = (node - 1) / tree->params.width;
        gather(tree, node);
        run_node(tree, node, dice);
    }
}

void printed_tree_free(printed_tree *tree) {
    for (size_t i = 0; i < tree->n_nodes; i++) {
        printed_rows_free(tree->nodes[i].dataset);
        free(tree->nodes[i].centroids);
    }
    free(tree->nodes);
    free(tree->leaves);
    free(tree);
}
