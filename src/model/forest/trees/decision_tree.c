/* A tree of a forest: nodes, and chains of rows. */
#include "model/forest/trees/decision_tree.h"

#include "base/memory/memory.h"
#include "model/forest/growth/tallies.h"

#include <assert.h>
#include <string.h>

void ef_dtree_init(ef_dtree *tree, bool of_classes) {
    *tree = (ef_dtree){.first_free = EF_NO_NODE, .of_classes = of_classes};
}

void ef_dtree_free(ef_dtree *tree) {
    for (uint32_t i = 0; i < tree->n_used; i++)
        ef_dtree_drop_tally(tree, i);
    ef_free(tree->nodes);
    ef_free(tree->unsettled);
    ef_free(tree->next);
    ef_free(tree->before);
    ef_dtree_init(tree, tree->of_classes);
}

/* ---------------------------------------------------------------- nodes */

bool ef_dtree_chain(ef_dtree *tree, size_t n_slots) {
    if (n_slots <= tree->n_chained && tree->next != NULL)
        return true;
    uint32_t *const next = ef_realloc(tree->next, n_slots, sizeof *next);
    if (next == NULL)
        return false;
    tree->next = next;
    uint32_t *const before = ef_realloc(tree->before, n_slots, sizeof *before);
    if (before == NULL)
        return false;
    tree->before = before;
    tree->n_chained = n_slots;
    return true;
}

bool ef_dtree_reserve(ef_dtree *tree, uint32_t n_more) {
    if (n_more <= tree->n_free || n_more - tree->n_free <= tree->capacity - tree->n_used)
        return true;
    const uint64_t needed = (uint64_t)tree->n_used + (n_more - tree->n_free);
    uint64_t n = (uint64_t)tree->capacity + tree->capacity / 4 + 4;
    n = n < needed ? needed : n;
    n = n < EF_NO_NODE ? n : needed;
    if (n >= EF_NO_NODE)
        return false;
    ef_dnode *const nodes = ef_realloc(tree->nodes, n, sizeof *nodes);
    if (nodes == NULL)
        return false;
    tree->nodes = nodes;
    tree->capacity = (uint32_t)n;
    return true;
}

uint32_t ef_dtree_new(ef_dtree *tree) {
    if (!ef_dtree_reserve(tree, 1))
        return EF_NO_NODE;
    uint32_t node = tree->first_free;
    if (node != EF_NO_NODE) {
        tree->first_free = tree->nodes[node].first;
        tree->n_free--;
    } else {
        node = tree->n_used++;
    }
    tree->nodes[node] = (ef_dnode){.first = EF_NO_SLOT};
    return node;
}

void ef_dtree_drop_tally(ef_dtree *tree, uint32_t i) {
    ef_dnode *const node = &tree->nodes[i];
    if (!ef_is_split(node) || node->split.tally == NULL)
        return;
    tree->tally_bytes -= ef_tally_bytes(node->split.tally);
    ef_free(node->split.tally);
    node->split.tally = NULL;
}

/* Nothing is left of a node that is free but the next free one. */
static void free_node(ef_dtree *tree, uint32_t i) {
    ef_wipe(&tree->nodes[i], sizeof tree->nodes[i]);
    tree->nodes[i].first = tree->first_free;
    tree->nodes[i].kind = EF_LEAF;
    tree->first_free = i;
    tree->n_free++;
}

static void free_votes(ef_dtree *tree, ef_dnode *leaf) {
    if (!tree->of_classes || leaf->kind != EF_LEAF || leaf->unsettled || leaf->vote.n_classes < 2)
        return;
    for (uint32_t vote = leaf->vote.class_id; vote != EF_NO_NODE;) {
        const uint32_t after = tree->nodes[vote].first;
        free_node(tree, vote);
        vote = after;
    }
    leaf->vote.n_classes = 0;
}

/* Children that are to be freed make a chain by `first`, which they need no longer. */
void ef_dtree_clear(ef_dtree *tree, uint32_t root) {
    uint32_t waiting = EF_NO_NODE;
    for (uint32_t i = root;;) {
        ef_dnode *const node = &tree->nodes[i];
        ef_dtree_drop_tally(tree, i);
        if (node->unsettled && node->noted != 0)
            tree->n_unsettled--;
        if (ef_is_split(node)) {
            const uint32_t children[] = {node->split.left, node->split.right};
            for (int side = 0; side < 2; side++) {
                /* A node that waits keeps its votes; only its chain is lost, which the caller has
                 * collected. */
                tree->nodes[children[side]].first = waiting;
                waiting = children[side];
            }
        } else {
            free_votes(tree, node);
        }
        if (i != root)
            free_node(tree, i);
        if (waiting == EF_NO_NODE)
            break;
        i = waiting;
        waiting = tree->nodes[i].first;
    }
    ef_dnode *const node = &tree->nodes[root];
    *node = (ef_dnode){.first = EF_NO_SLOT};
}

void ef_dtree_drop(ef_dtree *tree, uint32_t node) {
    ef_dtree_clear(tree, node);
    free_node(tree, node);
}

void ef_dtree_move(ef_dtree *tree, uint32_t from, uint32_t to) {
    tree->nodes[to] = tree->nodes[from];
    free_node(tree, from);
}

/* ---------------------------------------------------------------- unsettled nodes */

bool ef_dtree_may_unsettle(ef_dtree *tree, size_t n_more) {
    if (tree->n_noted + n_more <= tree->noted_capacity)
        return true;
    /* Nodes that are settled or gone, and those that are noted twice, go first. */
    size_t n = 0;
    for (size_t i = 0; i < tree->n_noted; i++) {
        ef_dnode *const node = &tree->nodes[tree->unsettled[i]];
        if (node->unsettled && node->noted == 1) {
            node->noted = 2;
            tree->unsettled[n++] = tree->unsettled[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        tree->nodes[tree->unsettled[i]].noted = 1;
    tree->n_noted = n;
    const size_t larger = 2 * (n + n_more) + 16;
    if (larger <= tree->noted_capacity)
        return true;
    uint32_t *const list = ef_realloc(tree->unsettled, larger, sizeof *list);
    if (list == NULL)
        return false;
    tree->unsettled = list;
    tree->noted_capacity = larger;
    return true;
}

void ef_dtree_note_unsettled(ef_dtree *tree, uint32_t node) {
    assert(tree->n_noted < tree->noted_capacity);
    tree->nodes[node].noted = 1;
    tree->n_unsettled++;
    tree->unsettled[tree->n_noted++] = node;
}

/* ---------------------------------------------------------------- chains */

void ef_dtree_link(ef_dtree *tree, uint32_t i, uint32_t slot) {
    ef_dnode *const node = &tree->nodes[i];
    assert(node->holds && slot < tree->n_chained);
    tree->next[slot] = node->first;
    tree->before[slot] = EF_NO_SLOT;
    if (node->first != EF_NO_SLOT)
        tree->before[node->first] = slot;
    node->first = slot;
}

void ef_dtree_unlink(ef_dtree *tree, uint32_t i, uint32_t slot) {
    ef_dnode *const node = &tree->nodes[i];
    const uint32_t after = tree->next[slot], before = tree->before[slot];
    assert(node->holds);
    if (before == EF_NO_SLOT)
        node->first = after;
    else
        tree->next[before] = after;
    if (after != EF_NO_SLOT)
        tree->before[after] = before;
    tree->next[slot] = tree->before[slot] = EF_NO_SLOT;
}

uint32_t ef_dtree_pass_on(ef_dtree *tree, uint32_t i, const ef_forest_slots *rows) {
    ef_dnode *const node = &tree->nodes[i];
    ef_dnode *const left = &tree->nodes[node->split.left];
    ef_dnode *const right = &tree->nodes[node->split.right];
    const uint32_t of_sides[] = {node->split.right, node->split.left};
    uint32_t n = 0;
    left->holds = right->holds = true;
    left->n_rows = right->n_rows = 0;
    for (uint32_t slot = node->first; slot != EF_NO_SLOT; n++) {
        const uint32_t after = tree->next[slot];
        const bool goes_left = ef_dnode_left(node, ef_slot_key(rows, slot, node->input));
        tree->nodes[of_sides[goes_left]].n_rows++;
        ef_dtree_link(tree, of_sides[goes_left], slot);
        slot = after;
    }
    node->first = EF_NO_SLOT;
    node->holds = false;
    return n;
}

/* ---------------------------------------------------------------- going through nodes */

bool ef_wait(ef_waiting *waiting, uint32_t node, uint32_t depth) {
    if (waiting->n == waiting->capacity) {
        const size_t n = 2 * waiting->capacity + 64;
        void *const larger = ef_realloc(waiting->at, n, sizeof *waiting->at);
        if (larger == NULL)
            return false;
        waiting->at = larger;
        waiting->capacity = n;
    }
    waiting->at[waiting->n].node = node;
    waiting->at[waiting->n++].depth = depth;
    return true;
}

bool ef_dtree_collect(const ef_dtree *tree, uint32_t root, const ef_forest_slots *rows,
                      ef_waiting *waiting, uint32_t *slots, size_t *n) {
    const size_t base = waiting->n;
    *n = 0;
    for (uint32_t i = root;;) {
        const ef_dnode *const node = &tree->nodes[i];
        if (node->holds) {
            for (uint32_t slot = node->first; slot != EF_NO_SLOT; slot = tree->next[slot]) {
                slots[*n] = slot;
                *n += !rows->leaving[slot];
            }
        } else if (ef_is_split(node)) {
            if (!ef_wait(waiting, node->split.right, 0))
                return false;
            i = node->split.left;
            continue;
        }
        if (waiting->n == base)
            return true;
        i = waiting->at[--waiting->n].node;
    }
}

ef_walk ef_walk_from(const ef_dtree *tree, uint32_t node, uint32_t depth) {
    return (ef_walk){.tree = tree, .node = node, .depth = depth};
}

bool ef_walk_next(ef_walk *walk) {
    const ef_dnode *const node = &walk->tree->nodes[walk->node];
    if (!walk->begun) {
        walk->begun = true;
        return true;
    }
    if (ef_is_split(node) && !walk->skips) {
        walk->failed = !ef_wait(&walk->waiting, node->split.right, walk->depth + 1);
        walk->node = node->split.left;
        walk->depth++;
        return !walk->failed;
    }
    walk->skips = false;
    if (walk->waiting.n == 0)
        return false;
    walk->waiting.n--;
    walk->node = walk->waiting.at[walk->waiting.n].node;
    walk->depth = walk->waiting.at[walk->waiting.n].depth;
    return true;
}

void ef_walk_end(ef_walk *walk) {
    ef_free(walk->waiting.at);
    walk->waiting = (ef_waiting){0};
}
