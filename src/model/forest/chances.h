/*
 * The random choices of a forest (docs/forest.md): keys of nodes, the order of columns, thresholds,
 * sides of categories, and the trees of a row. Each is a function of a key and of the place where
 * it is needed.
 *
 * Values are compared as whole numbers, so that nothing depends on how a process treats subnormal
 * numbers: a value's key is its magnitude's bits, negative for negative values. Keys are in the
 * order of the values.
 */
#ifndef EF_CHANCES_H
#define EF_CHANCES_H

#include "efface/efface.h"

#include <stdbool.h>
#include <string.h>

#define EF_KEY_MISSING INT32_MIN
#define EF_KEY_INFINITE 0x7F800000
#define EF_KEY_LEAST 0x0D800000 /* 2^-100: what is smaller counts as 0 */

static inline int32_t ef_key_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int32_t size = (int32_t)(bits & 0x7FFFFFFF);
    if (size > EF_KEY_INFINITE)
        return EF_KEY_MISSING;
    if (size < EF_KEY_LEAST)
        return 0;
    return (bits >> 31) != 0 ? -size : size;
}

/* The float32 with a key, as bits and as a number. */
static inline uint32_t ef_key_bits(int32_t key) {
    if (key == EF_KEY_MISSING)
        return 0x7FC00000;
    return key < 0 ? 0x80000000U | (uint32_t)-key : (uint32_t)key;
}

static inline float ef_key_value(int32_t key) {
    const uint32_t bits = ef_key_bits(key);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The key of the root of a tree; and those of the children of a node, left and right. */
uint64_t ef_root_key(uint64_t seed, uint32_t tree);
void ef_child_keys(uint64_t key, uint64_t children[2]);

/* The order of columns of a node: 32 random bits for each place. */
typedef struct ef_shuffle {
    uint64_t key;
    uint32_t words[4];
} ef_shuffle;

/* The place, from i to n - 1, that place i is exchanged with; to be asked for i = 0, 1, ... */
uint32_t ef_shuffle_next(ef_shuffle *shuffle, uint32_t i, uint32_t n);

/* The key of a threshold t of a column, lo <= t < hi. */
int32_t ef_draw_threshold(uint64_t key, uint32_t column, int32_t lo, int32_t hi);

/* Whether missing values of a column go left. */
bool ef_draw_missing(uint64_t key, uint32_t column);

/* The salt of a draw of sides for the categories of a column; and whether a category goes left. */
uint32_t ef_draw_salt(uint64_t key, uint32_t column, uint32_t draw);

static inline bool ef_category_left(uint32_t salt, int32_t key) {
    uint32_t h = salt + ef_key_bits(key);
    h ^= h >> 16;
    h *= 0x7FEB352DU;
    h ^= h >> 15;
    h *= 0x846CA68BU;
    h ^= h >> 16;
    return (h & 1) != 0;
}

/* How often a row is in a tree, as in a bootstrap. */
uint32_t ef_draw_poisson(uint64_t seed, uint64_t id, uint32_t tree);

/* Sets the bits of the k trees, of n, that a row is in; `places` has room for n. */
void ef_draw_trees(uint64_t seed, uint64_t id, uint32_t k, uint32_t n, uint32_t *places,
                   uint64_t *bits);

#endif
