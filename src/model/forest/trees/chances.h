/*
 * The random choices of a forest (docs/definition/forest.md): keys of nodes, the order of columns,
 * thresholds, sides of categories, and the trees of a row. Each is a function of a key and of the
 * place where it is needed.
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

/* What a number of a node is for. The values are part of every result: never renumber. */
typedef enum ef_node_purpose {
    EF_NODE_CHILDREN = 1,  /* index: 0 left, 1 right */
    EF_NODE_COLUMNS = 2,   /* index: half of the place */
    EF_NODE_THRESHOLD = 3, /* index: column, step: attempt */
    EF_NODE_MISSING = 4,   /* index: column */
    EF_NODE_CATEGORIES = 5 /* index: column, step: attempt */
} ef_node_purpose;

/* The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", 2014): every bit of the result depends on every bit of the number. */
static inline uint64_t ef_mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

#define EF_GOLDEN 0x9E3779B97F4A7C15U

/* Numbers of a node for a purpose and a step; and one of them. */
static inline uint64_t ef_node_stream(uint64_t key, ef_node_purpose purpose, uint32_t step) {
    return ef_mix(key + EF_GOLDEN * (uint64_t)(purpose + 8 * (uint64_t)step));
}

static inline uint64_t ef_stream_at(uint64_t stream, uint64_t index) {
    return ef_mix(stream + EF_GOLDEN * (index + 1));
}

/* The place, from i to n - 1, that place i is exchanged with when the n columns are shuffled. */
static inline uint32_t ef_shuffle_at(uint64_t stream, uint32_t i, uint32_t n) {
    const uint64_t bits = ef_stream_at(stream, i / 2) >> (i % 2 * 32);
    return i + (uint32_t)((bits & 0xFFFFFFFF) * (n - i) >> 32);
}

/* The key of a threshold t of a column, lo <= t < hi. A column with long tails has a unit, as the
 * exponent of a power of two, beyond which thresholds are drawn by octaves. */
#define EF_NO_UNIT INT32_MAX
int32_t ef_draw_threshold(uint64_t key, uint32_t column, int unit, int32_t lo, int32_t hi);

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
