/* What a change makes of a tree: what tree_change.c, tree_edits.c and tree_nodes.c know of it. */
#ifndef EF_TREE_NODES_H
#define EF_TREE_NODES_H

#include "base/errors/status.h"
#include "base/workers/threads.h"
#include "model/kmeans/definition/tree.h"
#include "model/kmeans/following/revision.h"

/* A node that stays: what its set has lost and gained, and what its model makes of it. */
typedef struct ef_ongoing {
    ef_joint_change change;
    ef_revision revision;
} ef_ongoing;

/* One node's part in a change. There may be very many, so it is kept small. */
typedef struct ef_node_change {
    size_t number;       /* of the node at its depth */
    size_t first, end;   /* its changed rows in `order`; of an inner node, those of children */
    ef_ongoing *ongoing; /* or NULL */
    ef_node fresh;       /* a node that was not there */
    bool vanishes;       /* a node whose rows all leave */
    bool moves;          /* its parent is reached: its centroids change */
    ef_effort report;
} ef_node_change;

/* One of those who work on the nodes of a depth. */
typedef struct ef_node_worker {
    ef_tree_change *whole;
    bool made_call;       /* it is the thread that did: it may ask the user */
    efface_status status; /* what went wrong first */
    efface_error error;
} ef_node_worker;

struct ef_tree_change {
    ef_kmeans *model; /* whose nodes change: their sets at once, all else when it is committed */
    ef_tree *tree;
    const efface_data *data; /* the user's set after the change */
    const ef_change *change; /* or NULL: all rows come */
    size_t *order;           /* changed rows, by leaf and then as they come */
    ef_node_change *reached[EF_MOST_HEIGHT + 1];
    size_t n_reached[EF_MOST_HEIGHT + 1];
    uint32_t depth;          /* that is being worked on */
    unsigned n_threads;      /* for each node */
    ef_pool *pool;           /* whose workers share the nodes, or NULL */
    ef_node_worker *workers; /* the workers */
};

static inline uint64_t ef_changed_id(const ef_tree_change *t, size_t i) {
    return t->change != NULL ? t->change->rows[i].id : ef_data_id(t->data, i);
}

static inline bool ef_changed_leaves(const ef_tree_change *t, size_t i) {
    return t->change != NULL && t->change->leaves[i];
}

/* ---------------------------------------------------------------- tree_edits.c */

/* What a node hands to its parent, before or after the change. */
typedef struct ef_node_result {
    const ef_kmeans *model;      /* either, */
    const ef_revision *revision; /* or this one; neither: it has nothing */
} ef_node_result;

ef_node_result ef_node_result_after(const ef_node_change *c);

/* Whether the parent of a node has to look at its centroids. */
bool ef_node_centroids_move(const ef_tree_change *t, const ef_node_change *c);

/* What a node loses and gains. */
typedef struct ef_node_edit {
    size_t n_leave, n_come; /* on this rank */
    size_t all_leave, all_come;
    uint64_t *leave; /* ids */
    uint64_t *ids;   /* of rows that come, and what they have */
    int64_t *weights;
    float *values;
    void *block; /* these arrays; NULL if out of memory */
} ef_node_edit;

/* The rows that come to a leaf stand in the user's set. */
ef_node_edit ef_edit_leaf(const ef_tree_change *t, const ef_node_change *c);

/* The rows of any other node are centroids of its children. */
ef_node_edit ef_edit_inner(const ef_tree_change *t, const ef_node_change *c);

/* ---------------------------------------------------------------- tree_nodes.c */

/* Whether the nodes of the depth that is worked on have parts of a group's rows. Those of other
 * depths have centroids, and every rank has all of these. */
bool ef_nodes_have_parts(const ef_tree_change *t);

/* Works out some nodes of a depth: a task of a pool, whose context is the tree change. */
void ef_nodes_work_out(void *context, unsigned worker, size_t first, size_t last);

#endif
