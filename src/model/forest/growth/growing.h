/*
 * Growing a tree, or a part of it, from its rows.
 *
 * The rows of a node are a stretch of one list, which is parted when the node is split. When all is
 * grown, the rows of a leaf stand side by side in the list, and the leaf knows where they begin
 * (`first`); they are chained later.
 *
 * Growing may go along a part of a tree that is there: as long as a node comes out as it is, only
 * its children that rows come to or leave from are looked at; from the first that does not, a new
 * subtree is grown. Nothing of the tree changes: what is to be done is noted in a plan
 * (forest_plan.h).
 */
#ifndef EF_GROWING_H
#define EF_GROWING_H

#include "base/errors/interrupt.h"
#include "model/forest/growth/first_rows.h"
#include "model/forest/growth/tallies.h"
#include "model/forest/trees/forest_plan.h"

/* Room to grow in, of one thread. */
typedef struct ef_grower {
    const ef_rules *rules;
    const ef_forest_slots *rows;
    ef_chooser chooser;
    uint32_t tally_rows; /* nodes with so many rows get tallies; 0: none does */
    ef_bunch bunch;      /* all rows */
    size_t capacity;     /* of the lists of the bunch */
    size_t segments_capacity;
    uint32_t *slots_apart; /* those that go right, while a stretch is parted */
    int64_t *weights_apart;
    int32_t *targets_apart;
    uint32_t *class_begins; /* n_classes + 1 */
    size_t class_begins_capacity;
    struct ef_sprout *waiting; /* nodes that are to be grown */
    size_t n_waiting, waiting_capacity;
    unsigned char *kept; /* what they need, one behind the other */
    size_t n_kept, kept_capacity;
    uint64_t *constants;
    ef_segment *segments, *left_segments;
    const ef_first_rows *first_rows; /* that all trees begin with; NULL: each has rows of its own */
    ef_forest_plan *plan;            /* what comes of it; NULL: a whole tree is grown */
    bool lazy;                       /* new subtrees are left unsettled */
    ef_traveller *travellers;        /* rows that come or leave; owned by the caller */
    ef_traveller *travellers_apart;
    size_t travellers_capacity;
} ef_grower;

/* False if out of memory; `clear` in any case. */
bool ef_grower_init(ef_grower *grower, const ef_rules *rules, const ef_forest_slots *rows,
                    uint32_t tally_rows);
void ef_grower_clear(ef_grower *grower);

/* How often a row counts in a tree, times its weight. */
int64_t ef_weight_in_tree(const ef_rules *rules, const ef_forest_slots *rows, uint32_t tree,
                          uint32_t slot);

/* Takes n rows into the grower's bunch, in the order of classes. False if out of memory. */
bool ef_grower_take(ef_grower *grower, uint32_t tree_number, const uint32_t *slots, size_t n);

/* Takes the rows that all trees begin with. False if out of memory. */
bool ef_grower_take_first(ef_grower *grower);

/* Grows a whole tree of the rows that were taken; its root is node 0. False if out of memory. */
bool ef_grow_tree(ef_grower *grower, ef_dtree *tree, uint64_t key);

/* Grows along the subtree at a node, of which the grower has the rows as they are after the change,
 * and to which n of the travellers, from `first` on, come or leave from. False if out of memory;
 * the plan then has to be dropped. */
typedef struct ef_place {
    uint32_t node, depth;
    uint64_t key;
    size_t first, n; /* travellers */
} ef_place;

bool ef_grow_along(ef_grower *grower, ef_dtree *tree, uint32_t tree_number, ef_place place);

/* The same for a node that is known to become another one: all below it is grown. */
bool ef_grow_anew(ef_grower *grower, ef_dtree *tree, uint32_t tree_number, ef_place place);

/* Parts travellers by a split: those that go left come first. Returns how many these are; the order
 * stays. There is room for them in travellers_apart. */
size_t ef_part_travellers(ef_grower *grower, const ef_dnode *split, size_t first, size_t n);
bool ef_grower_make_way(ef_grower *grower, size_t n_travellers);

/* Whether a node is the split that a candidate would make. */
bool ef_same_split(const ef_dnode *node, const ef_split_candidate *candidate);

/* Notes that travellers come to the chain of a node, or leave it. */
bool ef_note_travellers(ef_forest_plan *plan, uint32_t tree, uint32_t node, const ef_traveller *who,
                        size_t n);

/* Makes a leaf of a node, with the rows of a bunch. False if out of memory. */
bool ef_make_leaf(const ef_rules *rules, ef_dtree *tree, uint32_t node, const ef_bunch *bunch);

#endif
