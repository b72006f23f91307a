/* How a forest follows a change: what becomes of it, and what a worker follows a tree with. */
#ifndef EF_FOREST_REVISION_H
#define EF_FOREST_REVISION_H

#include "model/forest/forest.h"

/* What becomes of a forest. */
typedef struct ef_forest_revision {
    ef_forest *forest;
    ef_forest *fresh; /* takes its place; the rest is for one that is changed */
    ef_totals totals;
    const ef_change *change; /* which lives until the revision is committed or dropped */
    uint32_t *slots;         /* of each row of the change; EF_NO_SLOT: it takes no part */
    size_t *positions;       /* a copy: the change may be gone when the revision is dropped */
    bool *leaves;
    size_t n_rows, n_moved; /* of the change; of those, how many have changed slot_of */
    bool replaces;
    uint64_t n_taking_part;
    ef_forest_classes classes_before; /* if they are others now */
    bool has_classes;
    ef_forest_plan *plans; /* by worker */
    unsigned n_plans;
    bool sized; /* the sizes of values were counted */
    bool committed;
} ef_forest_revision;

/* slot_changes.c: the sizes of values are counted, or, to undo that, taken back. */
void ef_forest_count_sizes(const ef_forest_revision *r, const ef_change *change, bool undo);
bool ef_forest_units_stay(const ef_forest *f);

/* Gives the rows of a change slots, and those that moved their new positions. */
bool ef_forest_prepare_rows(ef_forest_revision *r, const ef_change *change);
void ef_forest_move_back(ef_forest_revision *r);

/* tree_following.c */
/* What a worker follows a tree with. */
typedef struct ef_tree_follower {
    const ef_forest_revision *r;
    const uint64_t *members;     /* the trees of each row of the change, or NULL: all */
    const uint64_t *all_members; /* of each slot, in an opened forest */
    size_t n_words;
    bool only_look;
    uint32_t tally_rows;
    ef_grower grower;
    ef_forest_plan *plan;
    ef_traveller *travellers;
    struct ef_place *waiting;
    size_t n_waiting, waiting_capacity;
    uint32_t *slots; /* of a node */
    size_t slots_capacity;
    ef_waiting below;
    int64_t *room; /* for scores */
    uint64_t n_visited;
    bool failed;
} ef_tree_follower;

/* After a failure, too, a follower is ended. */
bool ef_tree_follower_begin(ef_tree_follower *f, ef_forest_revision *r, ef_forest_plan *plan,
                            const ef_news *news, const uint64_t *members);
void ef_tree_follower_end(ef_tree_follower *f);

/* The rows that all trees of an opened forest begin with, where these are all rows. False if memory is
 * short; to be freed in any case. */
bool ef_tree_follower_find_first(ef_tree_follower *f, ef_first_rows *first);

/* Notes in the plan what the change makes of a tree; false if there is no memory. */
bool ef_tree_follower_follow(ef_tree_follower *f, uint32_t number);

#endif
