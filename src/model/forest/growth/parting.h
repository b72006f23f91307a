/*
 * Parting the rows of a node by its split.
 *
 * Which side a row is on cannot be foretold, so the usual case, a threshold and rows of weight 1,
 * has no branch for it.
 */
#ifndef EF_PARTING_H
#define EF_PARTING_H

#include "model/forest/growth/splitting.h"

/* Parts the rows of a bunch by a split: those that go left come first. Returns how many these are;
 * `left` gets the segments on the left, as many as there are, of no rows where none goes left. The
 * three lists are room for as many rows. */
size_t ef_part(const ef_forest_slots *rows, const ef_dnode *split, ef_bunch *bunch,
               ef_segment *left, uint32_t *slots, int64_t *weights, int32_t *targets);

/* The same where the rows of one side are all that matter: they come first, those of the other are
 * lost. Returns how many stay; `staying` gets the segments of these. */
size_t ef_part_off(const ef_forest_slots *rows, const ef_dnode *split, bool left, ef_bunch *bunch,
                   ef_segment *staying);

#endif
