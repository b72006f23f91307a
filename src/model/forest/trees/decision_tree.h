/*
 * A tree of a forest: its nodes, and which rows are where.
 *
 * Nodes are numbered; the root is node 0. A split has two children. A leaf has what it says of
 * rows: the weight of each class, or the weight and the sum of targets. Rows are in chains (`next`,
 * `before`, by slot) that begin at nodes that *hold* rows: leaves do; a split does while the rows
 * below it were not told apart yet, as after reading a forest from bytes; and a node that is
 * *unsettled* does, which stands for a subtree that is to be grown when it is needed.
 *
 * The rows of a node are those that it holds, or those of its children. A leaf of several classes
 * has the weights in a chain of nodes of their own (votes), in the order of classes.
 */
#ifndef EF_DECISION_TREE_H
#define EF_DECISION_TREE_H

#include "model/forest/trees/chances.h"
#include "model/forest/trees/forest_slots.h"

#define EF_NO_NODE UINT32_MAX
/* Where the branches of the canonical bytes begin (docs/definition/format.md). */
#define EF_BRANCH_DEPTH 6

typedef enum ef_dkind {
    EF_LEAF = 0,
    EF_THRESHOLD = 1,  /* left: key <= cut */
    EF_CATEGORIES = 2, /* left: ef_category_left with cut as salt */
    EF_VOTE = 3,       /* no node: the weight of one class in a leaf of several */
    EF_UNREAD = 4      /* stands for a subtree of an opened forest that is still in bytes */
} ef_dkind;

struct ef_tally;

typedef struct ef_dnode {
    uint8_t kind;
    bool missing_left;
    bool holds;      /* rows */
    bool unsettled;  /* a leaf for the time being */
    uint16_t input;  /* of a split: the number of its column among the inputs */
    uint16_t noted;  /* of an unsettled node: it is in the list of them */
    uint32_t n_rows; /* unknown (0) below a split that holds rows */
    uint32_t first;  /* of the rows it holds, or EF_NO_SLOT; of a free node or a vote: the next */
    int32_t cut;
    union {
        struct {
            uint32_t left, right;
            struct ef_tally *tally; /* what is counted of it (tallies.h), or NULL */
        } split;
        struct {
            int64_t weight;
            uint32_t class_id; /* its class; or, if it has several, its first vote */
            uint32_t n_classes;
        } vote;
        struct {
            int64_t weight, sum;
        } mean;
        struct {
            uint64_t key;
            uint32_t depth;
        } later; /* of an unsettled node: what growing it needs */
        struct {
            uint64_t begin, n_bytes; /* in its branch, if that was read */
        } unread;
    };
} ef_dnode;

typedef struct ef_dtree {
    ef_dnode *nodes;
    uint32_t n_used, capacity; /* of nodes; those that are free count */
    uint32_t first_free;       /* or EF_NO_NODE */
    uint32_t n_free;
    uint32_t n_unsettled;
    uint32_t *unsettled; /* all of these, and perhaps some that no longer are */
    size_t n_noted, noted_capacity;
    bool of_classes;         /* leaves have votes; else means */
    uint32_t *next, *before; /* by slot: in the chain of the same node; NULL if it has no chains */
    size_t n_chained;        /* slots that there is room for */
    size_t tally_bytes;      /* of all tallies */
} ef_dtree;

/* Makes a tree of no nodes. */
void ef_dtree_init(ef_dtree *tree, bool of_classes);
void ef_dtree_free(ef_dtree *tree);

/* Memory for chains of so many slots; and for so many more nodes. False if out of memory. */
bool ef_dtree_chain(ef_dtree *tree, size_t n_slots);
bool ef_dtree_reserve(ef_dtree *tree, uint32_t n_more);

/* A node that is not in use, all 0; EF_NO_NODE if out of memory. Nodes may move. */
uint32_t ef_dtree_new(ef_dtree *tree);

/* Frees a node's votes and tally, and all nodes below it; and the node too. */
void ef_dtree_clear(ef_dtree *tree, uint32_t node);
void ef_dtree_drop(ef_dtree *tree, uint32_t node);
void ef_dtree_drop_tally(ef_dtree *tree, uint32_t node);

/* Node `to`, which is clear, becomes what node `from` is, and `from` is freed. */
void ef_dtree_move(ef_dtree *tree, uint32_t from, uint32_t to);

/* Room to note one more unsettled node, and noting it. False if out of memory. */
bool ef_dtree_may_unsettle(ef_dtree *tree, size_t n_more);
void ef_dtree_note_unsettled(ef_dtree *tree, uint32_t node);

/* Takes a row into the chain of a node, or out of it; they do not count it. */
void ef_dtree_link(ef_dtree *tree, uint32_t node, uint32_t slot);
void ef_dtree_unlink(ef_dtree *tree, uint32_t node, uint32_t slot);

/* Whether a row goes left at a split. */
static inline bool ef_dnode_left(const ef_dnode *node, int32_t key) {
    if (node->kind == EF_CATEGORIES)
        return ef_category_left((uint32_t)node->cut, key);
    return key == EF_KEY_MISSING ? node->missing_left : key <= node->cut;
}

/* A split that holds rows passes them on to its children, which then hold them. Returns how many.
 */
uint32_t ef_dtree_pass_on(ef_dtree *tree, uint32_t node, const ef_forest_slots *rows);

/* Nodes that wait for their turn: a tree may be as deep as it has rows, so nothing here is
 * recursive. Begin with {0}; release `at` with ef_free. */
typedef struct ef_waiting {
    struct {
        uint32_t node, depth;
    } * at;
    size_t n, capacity;
} ef_waiting;

bool ef_wait(ef_waiting *waiting, uint32_t node, uint32_t depth);

/* Writes the rows of a node that are not leaving; there is room for all. False if out of memory.
 */
bool ef_dtree_collect(const ef_dtree *tree, uint32_t node, const ef_forest_slots *rows,
                      ef_waiting *waiting, uint32_t *slots, size_t *n);

/* Nodes in preorder: from a node on, which is at some depth. The next one is handed out; false at
 * the end, or if out of memory (failed). */
typedef struct ef_walk {
    const ef_dtree *tree;
    ef_waiting waiting;
    uint32_t node, depth;
    bool skips; /* what is below the node that was handed out last */
    bool begun, failed;
} ef_walk;

ef_walk ef_walk_from(const ef_dtree *tree, uint32_t node, uint32_t depth);
bool ef_walk_next(ef_walk *walk);
void ef_walk_end(ef_walk *walk);

static inline bool ef_is_split(const ef_dnode *node) {
    return node->kind == EF_THRESHOLD || node->kind == EF_CATEGORIES;
}

#endif
