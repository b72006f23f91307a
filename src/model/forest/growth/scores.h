/* How good a split is, and how much better a later one has to be (docs/definition/forest.md). */
#ifndef EF_SCORES_H
#define EF_SCORES_H

#include "base/numbers/wide.h"

#include <stdbool.h>
#include <stddef.h>

#define EF_MARGIN_ROWS 512 /* nodes of fewer have no margin */

/* The score of a split of classes: `left` and `all` are weights by class, in the order of classes.
 * And of targets. */
double ef_score_classes(bool by_entropy, const int64_t *left, const int64_t *all, uint32_t n,
                        int64_t left_weight, int64_t weight);
double ef_score_targets(int64_t left_weight, int64_t left_sum, int64_t weight, int64_t sum);

/* How much more than the best so far a later candidate has to score: nothing in a small node. Of
 * classes, where `all` are the weights by class, in the order of classes; and of targets, where
 * `squares` is the sum of weight times the square of the target. */
double ef_margin_classes(bool by_entropy, const int64_t *all, uint32_t n, int64_t weight,
                         size_t n_rows);
double ef_margin_targets(int64_t weight, int64_t sum, ef_i128 squares, size_t n_rows);

#endif
