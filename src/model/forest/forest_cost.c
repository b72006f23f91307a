/*
 * What a forest takes, estimated before it is grown.
 *
 * All sizes follow from the number of leaves. With a target whose values differ there is one for
 * each row. With classes it depends on how well columns tell them: here a leaf has as many rows as
 * in sets where they do for most rows. The constants were measured (docs/definition/forest.md).
 */
#include "model/forest/forest.h"

#define ROWS_OF_A_LEAF 5.0       /* with classes that columns tell */
#define ROWS_BY_MIN_LEAF 1.6     /* of a leaf, by the least number that it may have */
#define ROWS_BY_MIN_SPLIT 0.4    /* of a leaf, by the least number of rows that are split */
#define POISSON_ROWS 0.632       /* of all rows those that a tree has at least once */
#define STORED_BYTES_TARGET 10.2 /* of a leaf and of a split */
#define STORED_BYTES_CLASSES 6.5
#define TREE_BYTES 1200.0         /* of the digests of a tree */
#define GROWN_BYTES 108.0         /* of the same in memory, with the tallies of large nodes */
#define CHAINED_BYTES 8.0         /* of a row in a tree */
#define KEPT_BYTES 8.0            /* of a value: the set has it, and the forest twice in part */
#define ROW_BYTES 60.0            /* of a row, beside its values */
#define SECONDS_A_ROW_TARGET 6e-8 /* of a row in a tree, for a request */
#define SECONDS_A_ROW_CLASSES 1.7e-8
#define SECONDS_A_LOADED_ROW 7e-7

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Rows of a tree. */
static double rows_of_tree(const efface_forest_params *p, double n_rows) {
    if (p->rows == EFFACE_FOREST_POISSON)
        return POISSON_ROWS * n_rows;
    return p->rows == EFFACE_FOREST_SOME && p->trees_of_row < p->n_trees
               ? n_rows * p->trees_of_row / p->n_trees
               : n_rows;
}

static double leaves_of_tree(const efface_forest_params *p, double n_rows) {
    const double by_kind = p->target == EFFACE_NO_COLUMN ? ROWS_OF_A_LEAF : 1.0;
    const double by_min_leaf = p->min_leaf > 1 ? ROWS_BY_MIN_LEAF * p->min_leaf : 1.0;
    const double by_min_split = ROWS_BY_MIN_SPLIT * p->min_split;
    const double of_leaf = larger(by_kind, larger(by_min_leaf, by_min_split));
    const double n = larger(n_rows / of_leaf, 1.0);
    const double most =
        p->max_depth != 0 && p->max_depth < 63 ? (double)((uint64_t)1 << p->max_depth) : n;
    return n < most ? n : most;
}

efface_forest_cost efface_forest_estimate(const efface_forest_params *params, uint64_t n_rows,
                                          uint32_t n_columns) {
    const double all = (double)n_rows, n = rows_of_tree(params, all);
    const double leaves = leaves_of_tree(params, n), n_trees = params->n_trees;
    const bool of_classes = params->target == EFFACE_NO_COLUMN;
    const double stored_bytes = of_classes ? STORED_BYTES_CLASSES : STORED_BYTES_TARGET;
    const double seconds = of_classes ? SECONDS_A_ROW_CLASSES : SECONDS_A_ROW_TARGET;
    return (efface_forest_cost){
        .fit_bytes = n_trees * (leaves * GROWN_BYTES + n * CHAINED_BYTES) +
                     all * (ROW_BYTES + n_columns * KEPT_BYTES),
        .store_bytes = n_trees * (leaves * stored_bytes + TREE_BYTES),
        .forget_seconds = n_trees * n * seconds + all * SECONDS_A_LOADED_ROW,
    };
}
