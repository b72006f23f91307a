/*
 * What is counted of a large node, so that a row can leave it or come to it without a look at the
 * others: for each candidate the extremes of its column, with the number of rows that have them,
 * and what goes left; and the weights of all.
 *
 * A tally is kept to be faster, and can be dropped at any time. Weights are kept in 32 bits: trees
 * of more weight have none.
 */
#ifndef EF_TALLIES_H
#define EF_TALLIES_H

#include "model/forest/growth/splitting.h"

typedef struct ef_tally {
    uint32_t n_candidates, n_skipped;
    uint32_t n_classes; /* numbers of classes that there is room for; 0: targets */
    uint32_t n_rows;
    int64_t weight, sum; /* of all rows; the sum of weighted targets */
    ef_i128 squares;     /* of targets, weighted */
    /* Behind it: candidates; then, for all rows and for each candidate, weights by class, or (8
     * bytes each) weight and sum; then columns that were skipped. */
} ef_tally;

/* A tally of what a chooser has just counted; NULL if out of memory. */
ef_tally *ef_tally_make(const ef_chooser *chooser, const ef_bunch *bunch);
size_t ef_tally_bytes(const ef_tally *tally);

/* A copy, for a change that is only looked at; NULL if out of memory. */
ef_tally *ef_tally_copy(const ef_tally *tally);

/* A row that comes to a node, or leaves it. */
typedef struct ef_traveller {
    uint32_t slot;
    bool leaves;
    int64_t weight; /* in the tree */
} ef_traveller;

/* Counts rows that come or leave. `sample` is a row that was in the node before, for rows that
 * come; `key` is that of the node. Afterwards the tally is as the rows are; or it says that it has
 * to be made anew (false). Candidates whose extremes are gone are found with `ef_tally_is_loose`.
 */
bool ef_tally_change(ef_tally *tally, const ef_rules *rules, const ef_forest_slots *rows,
                     const ef_traveller *travellers, size_t n, uint32_t sample, uint64_t key);

/* Counts candidates anew whose extremes are gone, or whose threshold has moved, from the rows of
 * the node. False if the tally has to be made anew: a column no longer divides the rows. */
bool ef_tally_is_loose(const ef_tally *tally);
bool ef_tally_fix(ef_tally *tally, const ef_rules *rules, const ef_forest_slots *rows,
                  const uint32_t *slots, const int64_t *weights, size_t n, uint64_t key);

/* The number of classes that rows of the node have. */
uint32_t ef_tally_classes(const ef_tally *tally);

/* The best candidate, or NULL. `room` is for 2 n_classes numbers. */
const ef_split_candidate *ef_tally_best(const ef_tally *tally, const ef_rules *rules,
                                        int64_t *room);

#endif
