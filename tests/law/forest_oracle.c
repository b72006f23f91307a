/* Trees of rows: each node finds its best split (forest_definition.c), and its children do the
 * same with the rows that go there. */
#include "law/forest_plain.h"

#include "law/draws.h"

#include <string.h>

static void fill_leaf(const forest_set *set, const forest_member *members, size_t n,
                      forest_node *leaf) {
    int64_t *const weights = make(set->n_classes, sizeof *weights);
    plain_i128 sum = 0;
    for (size_t i = 0; i < n; i++) {
        weights[set->classes[members[i].row]] += members[i].weight;
        leaf->weight += members[i].weight;
        sum += (plain_i128)members[i].weight * set->targets[members[i].row];
    }
    leaf->sum = (int64_t)sum;
    leaf->classes = make(set->n_classes, sizeof *leaf->classes);
    leaf->weights = make(set->n_classes, sizeof *leaf->weights);
    for (uint32_t c = 0; c < set->n_classes; c++)
        if (weights[c] != 0) {
            leaf->classes[leaf->n_classes] = c;
            leaf->weights[leaf->n_classes++] = weights[c];
        }
    free(weights);
}

static forest_node *grow(const forest_set *set, forest_member *members, size_t n, uint64_t key,
                         uint32_t depth, uint32_t *n_nodes) {
    forest_node *const node = make(1, sizeof *node);
    node->number = (*n_nodes)++;
    node->depth = depth;
    node->split = forest_best_split(set, members, n, key, depth);
    if (node->split.kind == 0) {
        fill_leaf(set, members, n, node);
        return node;
    }
    const size_t n_left = forest_part(set, &node->split, members, n);
    node->left = grow(set, members, n_left, forest_child_key(key, false), depth + 1, n_nodes);
    node->right =
        grow(set, members + n_left, n - n_left, forest_child_key(key, true), depth + 1, n_nodes);
    return node;
}

forest_plain *forest_grow(const law_rows *rows, const efface_forest_params *params) {
    forest_plain *const forest = make(1, sizeof *forest);
    forest_set *const set = forest_make_set(rows, params);
    forest->d = rows->d;
    forest->n_trees = params->n_trees;
    forest->has_target = params->target != EFFACE_NO_COLUMN;
    forest->n_rows = rows->n;
    for (size_t i = 0; i < rows->n; i++)
        forest->total_weight += rows->weights[i];
    forest->n_taking_part = set->n;
    forest->exponent = set->exponent;
    forest->n_classes = set->n_classes;
    forest->labels = make(set->n_classes, sizeof *forest->labels);
    memcpy(forest->labels, set->labels, set->n_classes * sizeof *forest->labels);
    forest->trees = make(forest->n_trees, sizeof *forest->trees);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        uint32_t n_nodes = 0;
        size_t n = 0;
        forest_member *const members = forest_members(set, t, &n);
        forest->trees[t] =
            grow(set, members, n, forest_root_key(params->common.seed, t), 0, &n_nodes);
        free(members);
    }
    forest_free_set(set);
    return forest;
}

static void free_tree(forest_node *node) {
    if (node == NULL)
        return;
    free_tree(node->left);
    free_tree(node->right);
    free(node->classes);
    free(node->weights);
    free(node);
}

void forest_free(forest_plain *forest) {
    if (forest == NULL)
        return;
    for (uint32_t t = 0; forest->trees != NULL && t < forest->n_trees; t++)
        free_tree(forest->trees[t]);
    free(forest->trees);
    free(forest->labels);
    free(forest);
}

unsigned char *forest_oracle(const law_rows *rows, const law_params *params, size_t *n_bytes) {
    forest_plain *const forest = forest_grow(rows, forest_of(params));
    unsigned char *const bytes = forest_write(forest, n_bytes);
    forest_free(forest);
    return bytes;
}
