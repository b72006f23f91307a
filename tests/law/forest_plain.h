/*
 * Forests, written down from docs/definition/forest.md ("Definition") and docs/definition/format.md
 * ("Forests") as plainly as C allows, to compare the library with. It shares no code with src/:
 * there are no counts that are kept, no columns that are sorted and no threads; each node looks at
 * all its rows for each candidate. Inputs must be valid. Out of memory, it ends the program.
 *
 *     forest_definition.c     the pieces of the definition, up to the best split of a node
 *     forest_oracle.c         trees of rows
 *     forest_plain_bytes.c    trees to canonical bytes, and back; where bytes differ
 *     forest_plain_answers.c  what trees predict, and what their splits have gained
 */
#ifndef EF_TESTS_FOREST_PLAIN_H
#define EF_TESTS_FOREST_PLAIN_H

#include "law/law_families.h"

__extension__ typedef __int128 plain_i128;
__extension__ typedef unsigned __int128 plain_u128;

/* It is in the room of law_params. */
typedef struct forest_room {
    efface_forest_params params;
    uint32_t categories[LAW_MOST_COLUMNS];
} forest_room;

_Static_assert(sizeof(forest_room) <= sizeof(law_params), "the room is too small");

static inline forest_room *forest_room_of(law_params *params) {
    return (forest_room *)(void *)params;
}

static inline const efface_forest_params *forest_of(const law_params *params) {
    return (const efface_forest_params *)(const void *)params;
}

/* ---------------------------------------------------------------- pieces of the definition */

/* Output word i of tape(purpose, 0, index, step), and words 0 and 1 as one number. */
uint32_t forest_word(uint64_t seed, uint32_t purpose, uint64_t index, uint32_t step, unsigned i);
uint64_t forest_tape(uint64_t seed, uint32_t purpose, uint64_t index, uint32_t step);

/* A number of a node with a key. */
uint64_t forest_number(uint64_t key, uint64_t purpose, uint64_t index, uint64_t step);

/* How often row `id` is in tree `tree`. */
unsigned forest_multiplicity(const efface_forest_params *params, uint64_t id, uint32_t tree);

/* floor(2^64 P_j). */
uint64_t forest_poisson_bound(unsigned j);

uint64_t forest_root_key(uint64_t seed, uint32_t tree);
uint64_t forest_child_key(uint64_t key, bool right);

/* What a value counts as: 0 if it is tiny. */
float forest_value(float x);

/* The unit of n values of a column, as an exponent; FOREST_NO_UNIT: it has none. Values are
 * `stride` floats apart, and as they count. */
#define FOREST_NO_UNIT 1000
int forest_unit(const float *values, size_t n, size_t stride);

/* The box of lo < h, and the threshold of a column between lo and hi. */
void forest_box(float lo, float h, double *left, double *right);
float forest_threshold(uint64_t key, uint32_t column, int unit, float lo, float hi);

/* Whether a category goes left. */
bool forest_mixed_left(uint32_t s, float x);

typedef struct forest_split {
    unsigned kind; /* 0: none, the node is a leaf; 1: threshold; 2: categories */
    uint32_t column;
    bool missing_left;
    float threshold;
    uint32_t s;
} forest_split;

bool forest_goes_left(const forest_split *split, float x);
bool forest_same_split(const forest_split *a, const forest_split *b);

/* The rows that take part. */
typedef struct forest_set {
    const efface_forest_params *params;
    uint32_t d, n_inputs;
    uint32_t *inputs; /* columns, ascending */
    size_t n;
    float *values; /* n * d, as they count */
    uint64_t *ids;
    int64_t *weights;
    uint32_t *classes; /* of each row the number of its class, from 0; with a target 0 */
    int64_t *targets;  /* of each row its g; with classes 0 */
    uint64_t n_classes;
    int64_t *labels; /* of the classes, ascending */
    int exponent;    /* e, with a target */
    int *units;      /* of columns */
} forest_set;

forest_set *forest_make_set(const law_rows *rows, const efface_forest_params *params);
void forest_free_set(forest_set *set);

/* A row in a node. */
typedef struct forest_member {
    size_t row;
    int64_t weight; /* m w */
} forest_member;

/* The rows of a tree; released with free(). */
forest_member *forest_members(const forest_set *set, uint32_t tree, size_t *n);

/* What a node with these rows does. */
forest_split forest_best_split(const forest_set *set, const forest_member *members, size_t n,
                               uint64_t key, uint32_t depth);

/* Puts the members that go left before the others; returns how many do. */
size_t forest_part(const forest_set *set, const forest_split *split, forest_member *members,
                   size_t n);

/* ---------------------------------------------------------------- trees */

typedef struct forest_node {
    forest_split split;
    struct forest_node *left, *right; /* NULL for a leaf */
    uint32_t number;                  /* in preorder, from 0 */
    uint32_t depth;
    uint32_t n_classes; /* leaf of classes: those that it has, ascending */
    uint32_t *classes;
    int64_t *weights; /* of these classes */
    int64_t weight;   /* leaf: of all its rows */
    int64_t sum;      /* leaf of targets: S */
} forest_node;

typedef struct forest_plain {
    uint32_t d, n_trees;
    bool has_target;
    uint64_t n_rows;
    int64_t total_weight;
    uint64_t n_taking_part;
    int32_t exponent;
    uint64_t n_classes;
    int64_t *labels;
    forest_node **trees;
} forest_plain;

forest_plain *forest_grow(const law_rows *rows, const efface_forest_params *params);
void forest_free(forest_plain *forest);

/* As in law_family. */
unsigned char *forest_oracle(const law_rows *rows, const law_params *params, size_t *n_bytes);

/* ---------------------------------------------------------------- bytes */

/* Canonical bytes, to be released with free(). */
unsigned char *forest_write(const forest_plain *forest, size_t *n_bytes);

/* The digest of the forest of these bytes (docs/definition/format.md). */
void forest_digest(const forest_plain *forest, unsigned char digest[32]);

/* The forest of canonical bytes; NULL if they are not well formed. */
forest_plain *forest_read(const unsigned char *bytes, size_t n_bytes);

/* As in law_family. */
void forest_differ(const law_params *params, const unsigned char *a, size_t n_a,
                   const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]);

/* ---------------------------------------------------------------- answers */

const forest_node *forest_find_leaf(const forest_node *tree, const float *row);
uint32_t forest_count_nodes(const forest_node *tree);
uint32_t forest_count_leaves(const forest_node *tree);
uint32_t forest_deepest(const forest_node *tree);

/* Whether some tree has rows, so that there is a prediction. */
bool forest_predicts(const forest_plain *forest);

/* Of a forest that predicts: the sums of classes, n_classes of them, and which is the largest; or
 * the value. */
uint64_t forest_vote(const forest_plain *forest, const float *row, uint64_t *sums);
double forest_mean(const forest_plain *forest, const float *row);

/* What splits by each column have gained, each as its part of the gains of its tree, times 2^40:
 * long doubles that are not rounded down, d of them; and by how many splits. */
void forest_gains(const forest_plain *forest, efface_criterion criterion, long double *gains,
                  uint64_t *n_splits);

#endif
