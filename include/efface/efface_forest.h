/*
 * The family of forests. Part of efface.h.
 *
 * EXAMPLE
 *
 *     efface_data *people = NULL;
 *     efface_model *model = NULL;
 *     efface_load_options options;
 *     efface_forest_params params;
 *     efface_error error;
 *     efface_load_options_init(&options);
 *     options.id_column = "id";
 *     options.owner_column = "owner";
 *     options.label_column = "kind";
 *     efface_forest_params_init(&params);
 *     params.n_trees = 20;
 *     const float person[3] = {31, 52000, 12};
 *     efface_number found;
 *     if (efface_data_load("examples/people.csv", &options, &people, &error) != EFFACE_OK ||
 *         efface_forest_fit(people, &params, &model, &error) != EFFACE_OK ||
 *         efface_predictor_predict(efface_model_predictor(model), 1, person, 0, &found, &error) !=
 *             EFFACE_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *         return 1;
 *     }
 *     printf("%s\n", found.whole == efface_text_label("daily", 5) ? "daily" : "not daily");
 *     efface_model_free(model);
 *     efface_data_free(people);
 */
#ifndef EFFACE_FOREST_H
#define EFFACE_FOREST_H

#include "efface/efface_files.h"
#include "efface/efface_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Extremely randomised trees: each node of a tree draws a random threshold in each of some random
 * columns and splits its rows at the best of them; the trees vote. A forest predicts the class of a
 * row, which is its label, or a target, which is a column.
 *
 * Every random choice is a function of the seed, the tree and the place in it, and of no row
 * (docs/definition/forest.md has the definition). A removed row changes the counts along its path
 * in each tree. Where another split is now the best, the nodes below are grown again. To do that in
 * milliseconds a forest keeps a copy of the values of its rows, and what it has counted in large
 * nodes; efface_model_state_bytes says how much that is.
 *
 * Rows without a label take no part, nor, with a target, rows whose target is missing. Forests do
 * not work in groups (efface_data_join): EFFACE_E_ARGUMENT. */

/* Which trees a row is in. */
typedef enum efface_forest_rows {
    EFFACE_FOREST_ALL = 0,    /* in all */
    EFFACE_FOREST_SOME = 1,   /* in `trees_of_row` of them, chosen by its id: forgetting is cheaper
                                 in proportion, and the forest less accurate */
    EFFACE_FOREST_POISSON = 2 /* in each a number of times, 0, 1, 2, ..., as in a bootstrap; with a
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
    uint32_t n_candidates; /* columns that a node chooses from. 0, the default: two thirds of the
                              square root of the number of inputs, with a target a third of the
                              number of inputs; but at least 5, or all if there are fewer */
    uint32_t max_depth;    /* 0, the default: no limit */
    uint32_t min_split;    /* a node with fewer rows is a leaf; default 2, and at least that */
    uint32_t min_leaf;     /* rows that both sides of a split have at least; default 1 */
    efface_forest_rows rows;
    uint32_t trees_of_row; /* with SOME; default 10 */
    efface_criterion criterion;
    int lazy;    /* if not 0, parts that a change makes obsolete are grown again when they are
                    needed: by a prediction, an encoding, a digest, or efface_forest_settle. No
                    result depends on it. Default 0: the change itself grows them */
    int missing; /* if not 0, values of inputs may be missing (efface_data_allow_missing); default
                    0 */
    const uint32_t *categories; /* columns, counted from 0 and ascending, whose values are
                                   categories: their order means nothing; default none */
    uint32_t n_categories;
} efface_forest_params;

#define EFFACE_MAX_TREES 65535u

/* Fills the parameters with their defaults. */
EFFACE_API void efface_forest_params_init(efface_forest_params *params);

/* Returns the parameters of a model, with 0 for the seed; the defaults for another family. Pointers
 * in them are valid until the model changes or is released. */
EFFACE_API efface_forest_params efface_forest_get_params(const efface_model *model);

/* Grows a forest. An empty set gives one that cannot predict. Release it with efface_model_free.
 * Cost O(trees * candidates * n log n) for trees of ordinary depth. efface_model_decode costs a
 * copy of the values; the first requests after it have to count again along their paths, which
 * takes about a fifth of a fit for one row.
 *
 * Table: "importances" has a row for each input: its share of all that splits have gained, and the
 * whole number of efface_forest_importances.
 *
 * Errors: EFFACE_E_ARGUMENT for parameters out of range, or a set that has joined a group;
 * EFFACE_E_LIMIT for a target outside a given bound, or a missing value that is not allowed;
 * EFFACE_E_INTERRUPTED; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_forest_fit(const efface_data *data,
                                           const efface_forest_params *params, efface_model **out,
                                           efface_error *error);

/* What a forest takes. */
typedef struct efface_forest_cost {
    double fit_bytes;      /* of memory, when it is grown: the forest and its set */
    double store_bytes;    /* in a store, beside the rows */
    double forget_seconds; /* of a processor: to forget one row in a store that has to be opened */
} efface_forest_cost;

/* Estimates what a forest of so many rows and columns will take. With a target whose values differ,
 * sizes are about right; one of few values takes less. With classes they are those of columns that
 * tell the class of most rows: less if they tell it of all, three times as much if of none. Never
 * fails. */
EFFACE_API efface_forest_cost efface_forest_estimate(const efface_forest_params *params,
                                                     uint64_t n_rows, uint32_t n_columns);

typedef struct efface_forest_info {
    uint32_t n_trees;
    uint64_t n_nodes; /* leaves are nodes too */
    uint64_t n_leaves;
    uint32_t depth;       /* of the deepest leaf */
    uint64_t n_unsettled; /* nodes below which a lazy forest has still to be grown; the numbers
                             above count each of them as a leaf */
    uint64_t n_rows;      /* that take part */
} efface_forest_info;

/* Returns how large a forest is; all 0 for another family. Never fails. */
EFFACE_API efface_forest_info efface_forest_get_info(const efface_model *model);

/* Grows what a lazy forest has left for later. Errors: EFFACE_E_ARGUMENT for another family;
 * EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_forest_settle(const efface_model *model, efface_error *error);

/* Writes the leaf of each row in each tree, n_trees numbers a row. The nodes of a tree are numbered
 * from 0 in preorder. Rows and errors are those of efface_predictor_predict; EFFACE_E_ARGUMENT for
 * another family. */
EFFACE_API efface_status efface_forest_leaves(const efface_model *model, size_t n_rows,
                                              const float *values, size_t stride, uint32_t *leaves,
                                              efface_error *error);

/* Writes what the splits by each column have gained, n_columns numbers. The gain of a split is the
 * decrease of the impurity of its rows times their weight. Its share of the gains of all splits of
 * the tree, times 2^40 and rounded down, is a whole number; these are added up over all trees. Cost
 * O(nodes). Errors: EFFACE_E_ARGUMENT for another family; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_forest_importances(const efface_model *model, uint64_t *importances,
                                                   efface_error *error);

/* Writes a file for prediction only, in the format of a published model (efface_predictor_load
 * reads it). A file of that name is replaced. `data` gives the names and offsets of columns, and
 * `texts`, which may be NULL, the texts of classes. The file has 12 bytes for each node, and 8 more
 * for each class of a leaf that has several.
 *
 * There are no values, ids or counts of rows in it; thresholds are random numbers. But with a
 * target, the mean of a leaf of one row is the target of that row, and with classes, such a leaf
 * tells the class.
 *
 * Errors: EFFACE_E_IO; EFFACE_E_ARGUMENT for another family; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_forest_export(const efface_model *model, const efface_data *data,
                                              const efface_texts *texts, const char *path,
                                              efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
