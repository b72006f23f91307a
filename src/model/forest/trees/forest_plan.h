/*
 * What is to be done to trees when a change is committed, which cannot fail: all memory is taken
 * while the plan is made. New nodes are in the trees already, but nothing refers to them.
 */
#ifndef EF_FOREST_PLAN_H
#define EF_FOREST_PLAN_H

#include "model/forest/trees/decision_tree.h"

typedef enum ef_step_kind {
    EF_COUNT,   /* a split, or an unsettled node, has n rows now */
    EF_RENEW,   /* a leaf becomes what node `made` is, and keeps its chain */
    EF_LINK,    /* row n comes to the chain of a node */
    EF_UNLINK,  /* row n leaves it */
    EF_GRAFT,   /* a subtree is replaced by the one at `made`; leaves from `leaves` on, n of them */
    EF_TOUCHED, /* the tally of a split was changed: if the plan is dropped, it is of no use */
} ef_step_kind;

typedef struct ef_step {
    ef_step_kind kind;
    uint32_t tree, node, made, n;
    size_t leaves;
} ef_step;

/* A leaf of a graft, or a node that is not settled, and where its rows are in `slots`. */
typedef struct ef_forest_plan_leaf {
    uint32_t node;
    size_t first;
} ef_forest_plan_leaf;

typedef struct ef_forest_plan {
    ef_step *steps;
    size_t n_steps, steps_capacity;
    uint32_t *slots;
    size_t n_slots, slots_capacity;
    ef_forest_plan_leaf *leaves;
    size_t n_leaves, leaves_capacity;
    uint64_t n_grafts;
} ef_forest_plan;

/* Note something; false if out of memory. */
bool ef_forest_plan_step(ef_forest_plan *plan, ef_step step);
bool ef_forest_plan_slots(ef_forest_plan *plan, const uint32_t *slots, size_t n);
bool ef_forest_plan_leaf_of(ef_forest_plan *plan, uint32_t node, size_t first);

/* Do it, or undo what was prepared; both release the plan. */
void ef_forest_plan_commit(ef_forest_plan *plan, ef_dtree *trees);
void ef_forest_plan_drop(ef_forest_plan *plan, ef_dtree *trees);

#endif
