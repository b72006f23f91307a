/*
 * The family `forest`: extremely randomised trees (docs/definition/forest.md).
 *
 *     trees/chances         random choices, and keys of values
 *     trees/forest_slots    the rows that take part, in slots
 *     trees/decision_tree   nodes, and chains of rows
 *     trees/plan            what a change does to trees
 *     growth/tails_of_inputs, splitting      the scales of columns; the best split of some rows
 *     growth/whole_rows     all columns of rows at once, where they are few
 *     growth/scores         how good a split is
 *     growth/tallies        what is counted of large nodes
 *     growth/growing        a tree from its rows, or along a tree that is there
 *     forest                the state: made from rows; settled
 *     forest_rows           rows taken into slots, all at once
 *     forest_following      how it follows a change
 *     forest_answers, importances            what it says of rows, and of columns
 *     forest_cost           what it takes, estimated before it is grown
 *     forest_bytes, opened_forest, forest_predictor, forest_params, forest_family
 */
#ifndef EF_FOREST_H
#define EF_FOREST_H

#include "base/workers/threads.h"
#include "model/family.h"
#include "model/forest/growth/growing.h"
#include "model/forest/growth/tails_of_inputs.h"

#define EF_MOST_CLASSES (1 << 24) /* one less: the head of a leaf has 24 bits for their number */

/* The classes of the rows that take part. A class has a number for as long as it has rows, and a
 * rank among the labels. */
typedef struct ef_forest_classes {
    uint32_t n_ids;   /* numbers that there are; some may be free */
    uint32_t n;       /* classes that have rows */
    int64_t *labels;  /* by number */
    uint64_t *n_rows; /* by number; 0: the number is free */
    uint32_t *ranks;  /* by number; numbers that are free come last */
    uint32_t *ids;    /* by rank */
} ef_forest_classes;

typedef struct ef_forest {
    efface_forest_params *params; /* a copy of its own; NULL for a published forest */
    uint32_t n_columns, target;
    bool takes_missing;
    uint32_t n_inputs;
    uint32_t *columns;     /* of the inputs */
    int64_t *input_ids;    /* the same, for tables */
    bool *are_categories;  /* by input */
    ef_input_sizes *sizes; /* by input */
    int32_t *units;
    ef_rules rules;
    int32_t exponent; /* of the grid of the target */
    ef_totals totals;
    uint64_t n_taking_part;
    ef_forest_classes classes;
    uint32_t n_trees;
    ef_dtree *trees;
    ef_forest_slots rows;
    bool attached;         /* it has its rows */
    bool at_hand;          /* and they were told apart by a fit: requests find tallies */
    ef_lock *lock;         /* for those who settle, and for: */
    ef_sections *sections; /* of an opened forest, whose branches are read when they are needed */
    unsigned char **branches; /* by section: bytes of those that were read; NULL: not opened */
    uint32_t n_read_classes;  /* classes are numbered so in the bytes that it was read from */
    uint64_t **gains;         /* of inputs (importances.c), kept until the next change; or NULL */
} ef_forest;

/* A forest of no trees grown yet, with everything that follows from parameters; and one that was
 * published, which has no parameters. */
efface_status ef_forest_make(const efface_forest_params *params, uint32_t n_columns,
                             ef_forest **out, efface_error *error);
void ef_forest_free(void *state);

/* The exponent of the target's grid for these rows; fails if they are beyond the bound. */
efface_status ef_forest_find_exponent(const ef_forest *forest, const efface_data *data,
                                      int32_t *exponent, efface_error *error);

/* Sums of targets must fit, also of rows that are in a tree twenty times. */
efface_status ef_forest_check_weight(const ef_forest *forest, int64_t weight, efface_error *error);

/* Whether a row takes part: then its class or target. */
bool ef_forest_takes(const ef_forest *forest, int64_t label, float target);
int32_t ef_forest_target(const ef_forest *forest, float target);

/* The unit of an input by the sizes that are counted now. */
int32_t ef_forest_unit(const ef_forest *forest, uint32_t input);

/* Classes: memory for n of them (false if there is none); the number of a label, EF_NO_SLOT if it
 * has none; a copy; a new label (`grown`: there are more numbers than before); ranks, after labels
 * came or left. */
uint32_t ef_classes_find(const ef_forest_classes *classes, int64_t label);
bool ef_classes_make(ef_forest_classes *classes, uint32_t n);
bool ef_classes_copy(const ef_forest_classes *from, ef_forest_classes *to);
bool ef_classes_add(ef_forest_classes *classes, int64_t label, uint32_t *id, bool *grown);
void ef_classes_rank(ef_forest_classes *classes);
void ef_classes_free(ef_forest_classes *classes);

/* Takes the rows of a set into slots, all at once. */
efface_status ef_forest_take_rows(ef_forest *forest, const efface_data *data, bool with_classes,
                                  efface_error *error);

/* The trees that each slot is in, n_trees bits of them, if rows are in some only; else `found` stays
 * as it is. False if out of memory. And the slots of a tree but for those that leave; no slot may
 * be free. */
bool ef_forest_find_members(const ef_forest *forest, uint64_t **found);
size_t ef_forest_list_rows(const ef_forest *forest, uint32_t tree, const uint64_t *members,
                           uint32_t *slots);

/* Grows all that was left for later. False if out of memory. Several threads may ask at once. */
bool ef_forest_settle_all(const ef_forest *forest);

/* Rows that a node has at least to get a tally. */
uint32_t ef_forest_tally_rows(const ef_forest *forest);

/* As in family.h. */
efface_status ef_forest_fit(const efface_data *data, const efface_params *params, void **state,
                            efface_error *error);
efface_status ef_forest_attach(void *state, const efface_data *data, efface_error *error);
bool ef_forest_is_outdated(const unsigned char *bytes, size_t n_bytes);
efface_status ef_forest_follow(void *state, const ef_news *news, void **next, bool *done,
                               efface_report *report, efface_error *error);
void ef_forest_commit(void *state, void *next);
void ef_forest_drop(void *next);
void ef_forest_write(ef_writer *writer, const void *state);
efface_status ef_forest_read(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                             void **state, efface_error *error);
efface_status ef_forest_open(ef_sections *sections, const efface_params *params, uint32_t n_columns,
                             void **state, efface_error *error);
efface_status ef_forest_cut(const unsigned char *bytes, size_t n_bytes, ef_cuts *cuts,
                            efface_error *error);
void ef_forest_locate(const void *a, const void *b, efface_difference *difference);
efface_status ef_forest_check_params(const efface_params *params, efface_error *error);
efface_params *ef_forest_copy_params(const efface_params *params, uint32_t n_columns);
void ef_forest_write_params(ef_writer *writer, const efface_params *params, uint32_t n_columns);
efface_status ef_forest_read_params(ef_decoder *decoder, uint32_t n_columns, efface_params **out,
                                    efface_error *error);
void ef_forest_describe_params(const efface_params *params, ef_listener to);

/* Gains of splits by input, whole numbers, over all trees (importances.c). False if memory is
 * short. */
bool ef_forest_gains(const ef_forest *forest, uint64_t *gains);

/* What the trees say of rows (forest_answers.c): sums by class, n_classes numbers a row; or means;
 * or the number of the leaf in each tree, in preorder. */
efface_status ef_forest_vote(const ef_forest *forest, size_t n_rows, const float *values,
                             size_t stride, uint64_t *sums, efface_error *error);
efface_status ef_forest_mean(const ef_forest *forest, size_t n_rows, const float *values,
                             size_t stride, double *means, efface_error *error);
efface_status ef_forest_find_leaves(const ef_forest *forest, size_t n_rows, const float *values,
                                    size_t stride, uint32_t *leaves, efface_error *error);

/* Reads the branches of an opened forest that rows of a change are in; or all (NULL). */
efface_status ef_forest_read_branches(ef_forest *forest, const ef_change *change,
                                      efface_error *error);

/* The section that the top of a tree is; its branches follow. */
#define EF_BRANCHES (1 << EF_BRANCH_DEPTH)

static inline size_t ef_forest_section(uint32_t tree) {
    return 1 + (size_t)tree * (1 + EF_BRANCHES);
}

/* Bytes for prediction only (forest_predictor.c). */
void ef_forest_write_predictor(ef_writer *writer, const ef_forest *forest);
efface_status ef_forest_read_predictor(ef_decoder *decoder, uint32_t n_columns, ef_forest **out,
                                       efface_error *error);

/* Whether the forest is one of classes. */
static inline bool ef_forest_of_classes(const ef_forest *forest) {
    return forest->target == EFFACE_NO_COLUMN;
}

#endif
