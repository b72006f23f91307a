/* The family of forests. Part of efface.h. */
#ifndef EFFACE_FOREST_H
#define EFFACE_FOREST_H

#include "efface/efface_files.h"
#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Extremely randomised trees: many trees that divide the rows by random thresholds of the best of
 * some random columns, and vote. A forest predicts the class of a row, which is its label, or a
 * target, which is a column.
 *
 * Every random choice is a function of the seed, the tree and the place in it, and of no row
 * (docs/definition/forest.md has the definition). A row that leaves changes the counts along its
 * path in each tree; where another split is now the best, the nodes below are grown again. To do
 * that in milliseconds a forest keeps a copy of the values of its rows, and what it has counted in
 * large nodes; efface_model_state_bytes says how much that is.
 *
 * Rows without a label (with a target: rows whose target is missing) take no part. Forests do not
 * work in groups (efface_data_join): ARGUMENT. */

/* Which trees a row is in. */
typedef enum efface_forest_rows {
    EFFACE_FOREST_ALL = 0,    /* all */
    EFFACE_FOREST_SOME = 1,   /* `trees_of_row` of them, chosen by its id: forgetting is cheaper by
                                 that factor, and accuracy suffers */
    EFFACE_FOREST_POISSON = 2 /* each a number of times, 0, 1, 2, ..., as in a bootstrap; with a
                                 target, the total weight must then be below 2^34 */
} efface_forest_rows;

typedef enum efface_criterion {
    EFFACE_CRITERION_GINI = 0,   /* with a target: the squared error */
    EFFACE_CRITERION_ENTROPY = 1 /* not with a target */
} efface_criterion;

typedef struct efface_forest_params {
    efface_params common;
    uint32_t target;  /* the column to predict, counted from 0; EFFACE_NO_COLUMN, the default: the
                         classes of rows are their labels */
    double bound;     /* the largest |target| allowed; 0, the default: derived from the rows */
    uint32_t n_trees; /* 1 to EFFACE_MAX_TREES; default 100 */
    uint32_t n_candidates; /* columns that a node chooses from; 0, the default: two thirds of the
                              square root of the number of inputs, with a target a third of that
                              number; but at least 5, or all if those are fewer */
    uint32_t max_depth;    /* 0, the default: no limit */
    uint32_t min_split;    /* a node with fewer rows is a leaf; default 2, and at least that */
    uint32_t min_leaf;     /* rows that both sides of a split have at least; default 1 */
    efface_forest_rows rows;
    uint32_t trees_of_row; /* with SOME; default 10 */
    efface_criterion criterion;
    int lazy;    /* if not 0, what has to be grown again after a change is grown when it is needed:
                    by a prediction, an encoding, a digest, or efface_forest_settle. No result
                    depends on it. Default 0: each change grows it */
    int missing; /* if not 0, values of inputs may be missing (efface_data_allow_missing);
                    default 0 */
    const uint32_t *categories; /* columns, counted from 0 and ascending, whose values are
                                   categories: their order means nothing; default none */
    uint32_t n_categories;
} efface_forest_params;

#define EFFACE_MAX_TREES 65535u

/* Fills the parameters with their defaults. */
EFFACE_API void efface_forest_params_init(efface_forest_params *params);

/* The parameters of a model, without the seed (0); the defaults for another family. Pointers in
 * them are valid until the model changes or is released. */
EFFACE_API efface_forest_params efface_forest_get_params(const efface_model *model);

/* Grows a forest. An empty set gives one that cannot predict. Cost O(trees * candidates * n log n)
 * for trees of ordinary depth. efface_model_decode costs a copy of the values. The first
 * requests after it have to count anew along their paths: one row takes about a fifth of a fit.
 * Tables: "importances", a row for each input: its share of all that splits have gained, and the
 * whole number of efface_forest_importances. Errors: MEMORY; ARGUMENT; LIMIT for a target outside
 * a bound that was given, or a value that is missing and may not be. */
EFFACE_API efface_status efface_forest_fit(const efface_data *data,
                                           const efface_forest_params *params, efface_model **out,
                                           efface_error *error);

typedef struct efface_forest_info {
    uint32_t n_trees;
    uint64_t n_nodes; /* leaves are nodes too */
    uint64_t n_leaves;
    uint32_t depth;       /* of the deepest leaf */
    uint64_t n_unsettled; /* nodes below which the forest has to be grown yet; the numbers above
                             count each of them as a leaf */
    uint64_t n_rows;      /* that take part */
} efface_forest_info;

/* How large a forest is; all 0 for another family. Never fails. */
EFFACE_API efface_forest_info efface_forest_get_info(const efface_model *model);

/* Grows what a lazy forest has left for later. Errors: MEMORY; ARGUMENT for another family. */
EFFACE_API efface_status efface_forest_settle(const efface_model *model, efface_error *error);

/* Writes the leaf of each row in each tree, n_trees numbers a row: nodes of a tree are numbered
 * from 0 in preorder. Rows as for efface_predictor_predict. Errors: as that; ARGUMENT for another
 * family. */
EFFACE_API efface_status efface_forest_leaves(const efface_model *model, size_t n_rows,
                                              const float *values, size_t stride, uint32_t *leaves,
                                              efface_error *error);

/* Writes what the splits by each column have gained, n_columns numbers. The gain of a split is by
 * how much the impurity of its rows, times their weight, falls; its part of the gains of all splits
 * of the tree, times 2^40 and rounded down, is a whole number, and these are added up over all
 * trees. Cost O(nodes). Errors: MEMORY; ARGUMENT for another family. */
EFFACE_API efface_status efface_forest_importances(const efface_model *model, uint64_t *importances,
                                                   efface_error *error);

/* Writes a file for prediction only, in the format of a published model (efface_predictor_load
 * reads it): 12 bytes for each node, and 8 more for each class of a leaf that has several. There
 * are no values, ids or counts of rows in it; thresholds are random numbers. But with a target, the
 * mean of a leaf of one row is the target of that row, and with classes, such a leaf tells the
 * class. `data` gives the names and offsets of columns, and `texts` the texts of classes; `texts`
 * may be NULL. A file that is there is replaced. Errors: IO; MEMORY; ARGUMENT for another family.
 */
EFFACE_API efface_status efface_forest_export(const efface_model *model, const efface_data *data,
                                              const efface_texts *texts, const char *path,
                                              efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
