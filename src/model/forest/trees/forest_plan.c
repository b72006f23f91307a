/* What is to be done to trees when a change is committed. */
#include "model/forest/trees/forest_plan.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <string.h>

bool ef_forest_plan_step(ef_forest_plan *plan, ef_step step) {
    if (!ef_list_reserve(&plan->steps, &plan->steps_capacity, plan->n_steps, 1, sizeof step))
        return false;
    plan->n_grafts += step.kind == EF_GRAFT;
    plan->steps[plan->n_steps++] = step;
    return true;
}

bool ef_forest_plan_slots(ef_forest_plan *plan, const uint32_t *slots, size_t n) {
    if (!ef_list_reserve(&plan->slots, &plan->slots_capacity, plan->n_slots, n, sizeof *slots))
        return false;
    if (n != 0)
        memcpy(plan->slots + plan->n_slots, slots, n * sizeof *slots);
    plan->n_slots += n;
    return true;
}

bool ef_forest_plan_leaf_of(ef_forest_plan *plan, uint32_t node, size_t first) {
    if (!ef_list_reserve(&plan->leaves, &plan->leaves_capacity, plan->n_leaves, 1,
                         sizeof *plan->leaves))
        return false;
    plan->leaves[plan->n_leaves++] = (ef_forest_plan_leaf){node, first};
    return true;
}

/* ---------------------------------------------------------------- doing it */

/* Puts the subtree at `made` in the place of a node, and chains its rows. */
static void graft(const ef_forest_plan *plan, ef_dtree *tree, const ef_step *step) {
    ef_dtree_clear(tree, step->node);
    ef_dtree_move(tree, step->made, step->node);
    for (size_t i = 0; i < step->n; i++) {
        const ef_forest_plan_leaf *const leaf = &plan->leaves[step->leaves + i];
        const uint32_t node = leaf->node == step->made ? step->node : leaf->node;
        tree->nodes[node].first = EF_NO_SLOT;
        for (uint32_t r = 0; tree->next != NULL && r < tree->nodes[node].n_rows; r++)
            ef_dtree_link(tree, node, plan->slots[leaf->first + r]);
        if (tree->nodes[node].unsettled)
            ef_dtree_note_unsettled(tree, node);
    }
}

/* Gives a leaf other votes or sums. */
static void renew_leaf(ef_dtree *tree, const ef_step *step) {
    const uint32_t first = tree->nodes[step->node].first;
    ef_dtree_clear(tree, step->node);
    ef_dtree_move(tree, step->made, step->node);
    tree->nodes[step->node].first = first;
}

static void release_plan(ef_forest_plan *plan) {
    ef_free(plan->steps);
    ef_free(plan->slots);
    ef_free(plan->leaves);
    *plan = (ef_forest_plan){0};
}

void ef_forest_plan_commit(ef_forest_plan *plan, ef_dtree *trees) {
    for (size_t i = 0; i < plan->n_steps; i++) {
        const ef_step *const step = &plan->steps[i];
        ef_dtree *const tree = &trees[step->tree];
        switch (step->kind) {
        case EF_COUNT: tree->nodes[step->node].n_rows = step->n; break;
        case EF_RENEW: renew_leaf(tree, step); break;
        case EF_LINK:
            if (tree->next != NULL)
                ef_dtree_link(tree, step->node, step->n);
            break;
        case EF_UNLINK:
            if (tree->next != NULL)
                ef_dtree_unlink(tree, step->node, step->n);
            break;
        case EF_GRAFT: graft(plan, tree, step); break;
        case EF_TOUCHED: break;
        }
    }
    release_plan(plan);
}

void ef_forest_plan_drop(ef_forest_plan *plan, ef_dtree *trees) {
    for (size_t i = 0; i < plan->n_steps; i++) {
        const ef_step *const step = &plan->steps[i];
        ef_dtree *const tree = &trees[step->tree];
        if (step->kind == EF_RENEW || step->kind == EF_GRAFT)
            ef_dtree_drop(tree, step->made);
        else if (step->kind == EF_TOUCHED)
            ef_dtree_drop_tally(tree, step->node);
    }
    release_plan(plan);
}
