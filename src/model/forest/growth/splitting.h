/*
 * The best split of some rows: candidates are drawn, each is counted, and the one with the largest
 * score is chosen (docs/definition/forest.md).
 *
 * The rows come in the order of their classes, so that what goes left of each class is counted in
 * one run. Values are gathered a column at a time, for a stretch of rows that fits into a near
 * cache.
 */
#ifndef EF_SPLITTING_H
#define EF_SPLITTING_H

#include "model/forest/growth/scores.h"
#include "model/forest/growth/whole_rows.h"
#include "model/forest/trees/decision_tree.h"

/* What the parameters say of splits, and the classes that there are. */
typedef struct ef_rules {
    uint32_t n_inputs, n_candidates;
    const uint32_t *columns;    /* of the inputs */
    const bool *are_categories; /* by input */
    const int32_t *units;       /* by input: of one with long tails, else EF_NO_UNIT */
    uint32_t max_depth, min_split, min_leaf;
    bool of_classes, by_entropy, may_miss;
    bool bootstraps;       /* rows are in trees several times */
    uint64_t seed;         /* for that */
    uint32_t n_classes;    /* numbers of classes are below; some may have no rows */
    const uint32_t *ranks; /* of the classes, by their labels */
} ef_rules;

/* The rows of a node that have the same class. */
typedef struct ef_segment {
    uint32_t class_id, n_rows;
    int64_t weight;
} ef_segment;

/* Rows in the order of their classes. */
typedef struct ef_bunch {
    size_t n;
    uint32_t *slots;
    int64_t *weights;     /* in the tree, or NULL: 1 */
    int32_t *targets;     /* or NULL: there are classes */
    ef_segment *segments; /* one, if there are targets */
    uint32_t n_segments;
    int64_t weight, sum; /* of all; the sum of weighted targets */
} ef_bunch;

/* A column that could divide the rows, and how. */
typedef struct ef_split_candidate {
    uint16_t input;
    uint8_t kind; /* ef_dkind */
    bool missing_left;
    int32_t cut;         /* a key, EF_KEY_INFINITE where missing values are told apart, or a salt */
    int32_t lo, hi;      /* smallest and largest key that is not missing; lo: the draw of a salt */
    uint32_t n_lo, n_hi; /* rows that have them, if that was asked for */
    uint32_t n_left;     /* rows that go left */
} ef_split_candidate;

#define EF_FEW_ROWS 64 /* nodes with fewer are small */

/* Room to choose in. */
typedef struct ef_chooser {
    const ef_rules *rules;
    const ef_forest_slots *rows;
    bool counts_extremes;                  /* for tallies */
    const struct ef_sorted_column *sorted; /* of the node, by input (first_rows.h), or NULL */

    ef_whole_rows whole; /* if that is quicker */

    uint32_t n_drawn; /* the candidates, in the order in which they were drawn */
    ef_split_candidate *candidates;
    int64_t *left; /* of each candidate: weights that go left, by segment; with targets two numbers,
                      the weight and the sum */
    uint32_t left_stride;
    ef_i128 squares;    /* of targets, weighted, of all rows; where a margin needs them */
    uint32_t n_skipped; /* columns that were drawn and cannot divide */
    uint16_t *skipped;

    uint16_t *drawn, *order, *in_order;
    const unsigned char **row_at; /* where the rows of a node are */
    size_t row_at_capacity;
    unsigned char *differs; /* bytes of rows that differ */
    void *strip;            /* codes of a column */
    size_t strip_capacity;
    size_t left_capacity;
} ef_chooser;

/* False if out of memory; `clear` in any case. */
bool ef_chooser_init(ef_chooser *chooser, const ef_rules *rules, const ef_forest_slots *rows);
void ef_chooser_clear(ef_chooser *chooser);

#define EF_NO_CANDIDATE UINT32_MAX

/* Finds the best candidate of a node with this key; EF_NO_CANDIDATE if there is none. `constants`
 * has a bit for each input that is known to have one value, and gets more of them; NULL: none is
 * known. False if out of memory. */
bool ef_choose(ef_chooser *chooser, const ef_bunch *bunch, uint64_t key, uint64_t *constants,
               uint32_t *best);

/* Whether a node of these rows is a leaf without looking for a split. */
bool ef_is_leaf(const ef_rules *rules, const ef_bunch *bunch, uint32_t depth);

/* Words that a set of inputs takes. */
static inline size_t ef_input_words(const ef_rules *rules) {
    return ((size_t)rules->n_inputs + 63) / 64;
}

#endif
