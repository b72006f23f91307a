/* Reading the canonical bytes of a forest piece by piece (forest_bytes.c, opened_forest.c). */
#ifndef EF_FOREST_BYTES_H
#define EF_FOREST_BYTES_H

#include "model/forest/forest.h"

/* Reads what stands before the trees. */
efface_status ef_forest_read_head(ef_decoder *r, const efface_params *params, uint32_t d,
                                  ef_forest **out, efface_error *error);

/* Reads a node; or nodes in preorder, down to those that are deeper than `most`, which are made and
 * wait. False if the bytes are wrong; or if out of memory: then `memory` is false. */
bool ef_forest_read_node(ef_decoder *r, const ef_forest *f, ef_dtree *tree, uint32_t i,
                         bool *memory);
bool ef_forest_read_nodes(ef_decoder *r, const ef_forest *f, ef_dtree *tree, uint32_t root,
                          uint32_t most, ef_waiting *deeper, bool *memory);

/* How many bytes a subtree has with which bytes begin; SIZE_MAX if it does not end. */
size_t ef_forest_subtree_bytes(const unsigned char *bytes, size_t n_bytes, bool of_classes);

/* Whether rows of the set can be in leaves as these: below a split none is empty, targets are on
 * the grid, and together they weigh no more than all rows. So sums of leaves do not overflow. */
bool ef_forest_leaves_possible(const ef_forest *f, const ef_dtree *tree);

#endif
