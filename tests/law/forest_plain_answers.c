/* What trees predict, and what their splits have gained, computed from the nodes alone. */
#include "law/forest_plain.h"

#include "law/draws.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- leaves */

const forest_node *forest_find_leaf(const forest_node *tree, const float *row) {
    const forest_node *node = tree;
    while (node->split.kind != 0)
        node = forest_goes_left(&node->split, row[node->split.column]) ? node->left : node->right;
    return node;
}

uint32_t forest_count_nodes(const forest_node *tree) {
    return tree == NULL ? 0 : 1 + forest_count_nodes(tree->left) + forest_count_nodes(tree->right);
}

uint32_t forest_count_leaves(const forest_node *tree) {
    return tree->split.kind == 0
               ? 1
               : forest_count_leaves(tree->left) + forest_count_leaves(tree->right);
}

uint32_t forest_deepest(const forest_node *tree) {
    if (tree->split.kind == 0)
        return tree->depth;
    const uint32_t left = forest_deepest(tree->left), right = forest_deepest(tree->right);
    return left > right ? left : right;
}

/* ---------------------------------------------------------------- prediction */

/* A tree without rows is one leaf of no weight. */
static bool has_rows(const forest_node *tree) {
    return tree->split.kind != 0 || tree->weight != 0;
}

bool forest_predicts(const forest_plain *forest) {
    for (uint32_t t = 0; t < forest->n_trees; t++)
        if (has_rows(forest->trees[t]))
            return true;
    return false;
}

uint64_t forest_vote(const forest_plain *forest, const float *row, uint64_t *sums) {
    memset(sums, 0, forest->n_classes * sizeof *sums);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        const forest_node *const leaf = forest_find_leaf(forest->trees[t], row);
        for (uint32_t c = 0; c < leaf->n_classes; c++)
            sums[leaf->classes[c]] +=
                (uint64_t)(((plain_u128)leaf->weights[c] << 32) / (plain_u128)leaf->weight);
    }
    uint64_t best = 0;
    for (uint64_t c = 0; c < forest->n_classes; c++)
        if (sums[c] > sums[best])
            best = c;
    return best;
}

/* a / b to the nearest whole number, halves away from zero. */
static plain_i128 quotient(plain_i128 a, plain_i128 b) {
    return a >= 0 ? (2 * a + b) / (2 * b) : -((-2 * a + b) / (2 * b));
}

double forest_mean(const forest_plain *forest, const float *row) {
    int64_t sum = 0, n = 0;
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        if (!has_rows(forest->trees[t]))
            continue;
        const forest_node *const leaf = forest_find_leaf(forest->trees[t], row);
        sum += (int64_t)quotient((plain_i128)leaf->sum << 20, leaf->weight);
        n++;
    }
    return ldexp((double)sum / (double)n, forest->exponent - 23 - 20);
}

/* ---------------------------------------------------------------- gains */

/* What is below a node. */
typedef struct below_node {
    long double weight, sum;
    int64_t *classes; /* the weight of each */
} below_node;

typedef struct gaining {
    const forest_plain *forest;
    bool entropy;
    long double *gains; /* of the tree, by column */
    uint64_t *n_splits;
} gaining;

static long double weighted_impurity(const gaining *g, const below_node *b) {
    long double sum = 0.0L;
    if (g->forest->has_target)
        return -b->sum * b->sum / b->weight; /* and the sum of squares, which cancels */
    for (uint64_t c = 0; c < g->forest->n_classes; c++) {
        const long double x = (long double)b->classes[c];
        if (x > 0.0L)
            sum += g->entropy ? x * logl(b->weight / x) : x - x * x / b->weight;
    }
    return sum;
}

static below_node gain_of(const gaining *g, const forest_node *node) {
    below_node all = {.classes = make(g->forest->n_classes, sizeof *all.classes)};
    if (node->split.kind == 0) {
        all.weight = (long double)node->weight;
        all.sum = (long double)node->sum;
        for (uint32_t c = 0; c < node->n_classes; c++)
            all.classes[node->classes[c]] = node->weights[c];
        return all;
    }
    const below_node left = gain_of(g, node->left), right = gain_of(g, node->right);
    all.weight = left.weight + right.weight;
    all.sum = left.sum + right.sum;
    for (uint64_t c = 0; c < g->forest->n_classes; c++)
        all.classes[c] = left.classes[c] + right.classes[c];
    g->gains[node->split.column] +=
        weighted_impurity(g, &all) - weighted_impurity(g, &left) - weighted_impurity(g, &right);
    g->n_splits[node->split.column]++;
    free(left.classes);
    free(right.classes);
    return all;
}

void forest_gains(const forest_plain *forest, efface_criterion criterion, long double *gains,
                  uint64_t *n_splits) {
    long double *const of_tree = make(forest->d, sizeof *of_tree);
    const gaining g = {.forest = forest,
                       .entropy = criterion == EFFACE_CRITERION_ENTROPY,
                       .gains = of_tree,
                       .n_splits = n_splits};
    memset(gains, 0, forest->d * sizeof *gains);
    memset(n_splits, 0, forest->d * sizeof *n_splits);
    for (uint32_t t = 0; t < forest->n_trees; t++) {
        long double whole = 0.0L;
        memset(of_tree, 0, forest->d * sizeof *of_tree);
        free(gain_of(&g, forest->trees[t]).classes);
        for (uint32_t j = 0; j < forest->d; j++)
            whole += of_tree[j];
        for (uint32_t j = 0; j < forest->d && whole > 0.0L; j++)
            gains[j] += of_tree[j] / whole * 0x1p40L;
    }
    free(of_tree);
}
