/*
 * The method tree (docs/definition/numerics.md, section 8): k-means of k-means.
 *
 * A node is a set of rows and a model of any other method. The rows of a leaf are rows of the
 * user's set, spread over the leaves by their ids; the rows of any other node are the centroids of
 * its children, as grid points. The root's centroids are the model.
 *
 * Nodes know nothing of each other. A change goes to the leaves of its rows, and from a node to its
 * parent as an update of those centroids that came out differently; where none did, it stops. A fit
 * is the change by which all rows come into a tree that has none.
 */
#ifndef EF_TREE_H
#define EF_TREE_H

#include "base/bytes/encode.h"
#include "model/kmeans/following/effort.h"
#include "model/kmeans/kmeans.h"
#include "model/request/change.h"

#define EF_MOST_HEIGHT 8
#define EF_MOST_LEAVES (UINT32_C(1) << 20)

/* Both NULL: the node has no rows, and is not there. A node from a file has no set at first. */
typedef struct ef_node {
    efface_data *data;
    ef_kmeans *model;
} ef_node;

typedef struct ef_tree {
    uint32_t height;
    uint32_t width;
    bool weighed;                          /* centroids count with the weight of their rows */
    uint32_t clusters[EF_MOST_HEIGHT + 1]; /* asked for at each depth */
    size_t n_nodes[EF_MOST_HEIGHT + 1];    /* at each depth */
    ef_node *nodes[EF_MOST_HEIGHT + 1];    /* by depth and number: one array, the root first, */
    size_t n_all;                          /* of so many */
    bool is_cold;                          /* nodes are from a file, and have no sets yet */
} ef_tree;

/* The automatic width: n^0.3 to the nearest power of two. */
uint32_t ef_tree_width(uint64_t n_rows, uint32_t height);

/* width^height, or 0 if that is more than EF_MOST_LEAVES. */
uint32_t ef_tree_leaves(uint32_t width, uint32_t height);

/* A tree without rows; NULL if out of memory. */
ef_tree *ef_tree_create(const ef_kmeans_plan *plan, const efface_kmeans_params *params);
void ef_tree_free(ef_tree *tree);

/* The root, if it is there. */
const ef_kmeans *ef_tree_root(const ef_tree *tree);

/* The leaf that a row belongs to, and its model; NULL if it has no rows. */
uint32_t ef_tree_leaf(const ef_tree *tree, uint64_t seed, uint64_t id);
const ef_kmeans *ef_tree_leaf_model(const ef_tree *tree, uint64_t seed, uint64_t id);

/* Makes all nodes of a model that has its plan, its domain and a tree without rows. */
efface_status ef_tree_fit(ef_kmeans *model, const efface_data *data, efface_error *error);

/* What a change of the set makes of the nodes of a tree that stays, in two steps as in revision.h:
 * making it changes only the sets of nodes, committing it cannot fail, and releasing one that was
 * not committed changes the sets back. */
typedef struct ef_tree_change ef_tree_change;
efface_status ef_tree_change_make(ef_tree_change **out, ef_kmeans *model, const efface_data *data,
                                  const ef_change *change, efface_error *error);
const int32_t *ef_tree_change_dividers(const ef_tree_change *change, uint32_t *n_clusters);
void ef_tree_change_report(const ef_tree_change *change, ef_effort *report);
void ef_tree_change_commit(ef_tree_change *change);
void ef_tree_change_free(ef_tree_change *change);

/* Reads all nodes, without their sets; makes the sets, and hands them the nodes that were read. */
efface_status ef_tree_read(ef_decoder *reader, ef_kmeans *model, uint32_t n_columns,
                           efface_error *error);
efface_status ef_tree_attach(ef_kmeans *model, const efface_data *data, efface_error *error);

/* Parameters of a node, which refer to those of the model. */
efface_kmeans_params ef_node_params(const ef_kmeans *model, uint32_t depth, size_t number);

/* The columns that a node ignores: the rows of a leaf are the user's. */
const bool *ef_node_ignored(const ef_kmeans *model, uint32_t depth);

void ef_tree_write(ef_writer *writer, const ef_kmeans *model);

/* Memory of all nodes. */
size_t ef_tree_bytes(const ef_tree *tree);

#endif
