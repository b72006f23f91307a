/* Subtrees that a lazy forest left for later: grown when somebody asks. */
#include "model/forest/forest.h"

#include "base/memory/memory.h"

/* Grows what a node stands for, and puts it there. */
static bool settle_node(const ef_forest *f, ef_grower *g, uint32_t number, uint32_t node,
                        ef_waiting *waiting) {
    ef_dtree *const tree = &f->trees[number];
    ef_forest_plan plan = {0};
    size_t n = 0;
    uint32_t *const slots = ef_alloc((size_t)tree->nodes[node].n_rows + 1, sizeof *slots);
    bool ok = slots != NULL && ef_dtree_collect(tree, node, &f->rows, waiting, slots, &n) &&
              ef_grower_take(g, number, slots, n);
    g->plan = &plan;
    if (ok) {
        const ef_dnode *const later = &tree->nodes[node];
        const ef_place place = {.node = node, .depth = later->later.depth, .key = later->later.key};
        ok = ef_grow_anew(g, tree, number, place);
    }
    if (ok)
        ef_forest_plan_commit(&plan, f->trees);
    else
        ef_forest_plan_drop(&plan, f->trees);
    ef_free(slots);
    return ok;
}

static bool settle_tree(const ef_forest *f, ef_grower *g, uint32_t number, ef_waiting *waiting) {
    ef_dtree *const tree = &f->trees[number];
    bool ok = true;
    for (size_t i = 0; ok && i < tree->n_noted; i++)
        if (tree->nodes[tree->unsettled[i]].unsettled)
            ok = settle_node(f, g, number, tree->unsettled[i], waiting);
    if (ok)
        tree->n_noted = 0;
    return ok;
}

/* What is grown was there all along as far as anybody can tell: so a model that is only read may be
 * settled. */
bool ef_forest_settle_all(const ef_forest *f) {
    if (f->params == NULL || f->params->lazy == 0)
        return true;
    ef_lock_take(f->lock);
    ef_grower grower;
    ef_waiting waiting = {0};
    bool ok = true, begun = false;
    for (uint32_t t = 0; ok && t < f->n_trees; t++) {
        if (f->trees[t].n_unsettled == 0)
            continue;
        if (!begun)
            ok = ef_grower_init(&grower, &f->rules, &f->rows, ef_forest_tally_rows(f));
        begun = true;
        ok = ok && settle_tree(f, &grower, t, &waiting);
    }
    if (begun)
        ef_grower_clear(&grower);
    ef_free(waiting.at);
    ef_lock_leave(f->lock);
    return ok;
}
