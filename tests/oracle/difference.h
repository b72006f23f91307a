/* Says in words where two encodings of docs/definition/format.md differ: field, node, level,
 * cluster, column. For tests, which include this file; a field is compared only while all before it
 * are equal, so one side's numbers give the layout of both. */
#ifndef EF_TESTS_DIFFERENCE_H
#define EF_TESTS_DIFFERENCE_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct difference {
    const unsigned char *a, *b; /* the library's and the oracle's bytes */
    size_t n_a, n_b;
    uint32_t candidates; /* the parameter of the fit */
    char text[400];      /* the answer */
    size_t at;
    long depth, node, level, cluster, column; /* -1: does not apply */
} difference;

static uint64_t number_at(const unsigned char *bytes, size_t size) {
    uint64_t x = 0;
    for (size_t i = size < 8 ? size : 8; i > 0; i--)
        x = x << 8 | bytes[i - 1];
    return x;
}

/* Steps over one field; the first one that differs is described in `text`. */
static uint64_t field(difference *d, size_t size, const char *name) {
    if (d->text[0] != '\0')
        return 0;
    char node[60] = "", place[160];
    if (d->depth >= 0)
        snprintf(node, sizeof node, "depth %ld, node %ld, ", d->depth, d->node);
    snprintf(place, sizeof place, "%s [%slevel %ld, cluster %ld, column %ld] at byte %zu", name,
             node, d->level, d->cluster, d->column, d->at);
    if (d->at + size > d->n_a || d->at + size > d->n_b) {
        snprintf(d->text, sizeof d->text, "%s: the library has %zu bytes, the oracle %zu", place,
                 d->n_a, d->n_b);
        return 0;
    }
    const unsigned char *a = d->a + d->at, *b = d->b + d->at;
    const uint64_t x = number_at(a, size), y = number_at(b, size);
    d->at += size;
    if (memcmp(a, b, size) == 0)
        return x;
    const int64_t s = size == 4 ? (int32_t)x : (int64_t)x, o = size == 4 ? (int32_t)y : (int64_t)y;
    double key_a, key_b;
    memcpy(&key_a, &x, sizeof key_a);
    memcpy(&key_b, &y, sizeof key_b);
    snprintf(d->text, sizeof d->text,
             "%s: library %" PRId64 " (0x%" PRIx64 ", %g), oracle %" PRId64 " (0x%" PRIx64 ", %g)",
             place, s, x, size == 8 ? key_a : 0.0, o, y, size == 8 ? key_b : 0.0);
    return 0;
}

/* The rounds of greedy seeding, if there are any. */
static void compare_rounds(difference *d, long k, long n_columns) {
    long n_slots = (long)d->candidates;
    if (n_slots == 0) {
        n_slots = 2;
        for (double power = 2.718281828459045; power < (double)k; power *= 2.718281828459045)
            n_slots++;
    }
    const long n_rounds = n_slots > 1 ? (long)field(d, 4, "number of rounds with slots") : 0;
    for (d->cluster = 1; d->cluster <= n_rounds; d->cluster++)
        for (long s = 0; s < n_slots; s++) {
            field(d, 8, "id of a slot");
            field(d, 8, "key of a slot");
            for (d->column = 0; d->column < n_columns; d->column++)
                field(d, 4, "point of a slot");
            d->column = -1;
            field(d, 16, "potential of a slot");
        }
    d->cluster = -1;
}

static void compare_level(difference *d, long k, long n_columns) {
    for (d->cluster = 0; d->cluster < k; d->cluster++)
        for (d->column = 0; d->column < n_columns; d->column++)
            field(d, 4, "centroid C");
    d->cluster = d->column = -1;
    if (field(d, 4, "has a partition") == 0)
        return;
    for (d->cluster = 0; d->cluster < k; d->cluster++)
        field(d, 8, "count N");
    for (d->cluster = 0; d->cluster < k; d->cluster++)
        for (d->column = 0; d->column < n_columns; d->column++)
            field(d, 8, "sum S");
    d->cluster = d->column = -1;
    for (uint64_t n = field(d, 4, "number of reseeded clusters"); n > 0; n--) {
        d->cluster = (long)field(d, 4, "reseeded cluster");
        field(d, 8, "id of a reseeding");
        field(d, 8, "key of a reseeding");
    }
}

/* Leaves of a tree with the scale standard have the grid of the tree. */
static void compare_bounds(difference *d, long n_columns, uint64_t scale) {
    for (d->column = 0; scale == 1 && d->column < n_columns; d->column++) {
        field(d, 4, "low");
        field(d, 4, "high");
    }
    for (d->column = 0; scale == 2 && d->depth < 0 && d->column < n_columns; d->column++) {
        field(d, 4, "exponent e of a column");
        field(d, 8, "sum S of a column");
        field(d, 16, "sum Q of a column");
    }
    d->column = -1;
}

/* From the number of columns to the end of a model, or of a node, of a method that is no tree. */
static void compare_state(difference *d, uint64_t method) {
    static const char *const header[] = {
        "columns d",  "clusters asked for k", "limit T", "scale",        "empty clusters",
        "exponent e", "lattice width eps",    "q",       "centroids k'", "number of levels"};
    static const char *const sample[] = {"exponent j of the sample", "passes F", "starts R",
                                         "chosen start"};
    uint64_t value[10];
    for (size_t i = 0; i < 10; i++)
        value[i] = field(d, 4, header[i]);
    field(d, 4, "level of the model");
    field(d, 8, "number of rows n");
    field(d, 8, "total weight W");
    field(d, 16, "sum of w |g|^2");
    uint64_t of_sample[4] = {0, 0, 1, 0};
    for (size_t i = 0; method == 2 && i < 4; i++)
        of_sample[i] = field(d, 4, sample[i]);
    for (size_t j = 0; method == 2 && j <= 40; j++)
        field(d, 8, "rows of a member exponent");
    const long n_columns = (long)value[0], k = (long)value[8], n_levels = (long)value[9];
    compare_bounds(d, n_columns, value[3]);
    for (uint64_t r = 0; k > 0 && r < of_sample[2]; r++) {
        for (d->cluster = 0; d->cluster < k; d->cluster++) {
            field(d, 8, "id of a seed");
            field(d, 8, "key of a seed");
        }
        d->cluster = -1;
        for (long i = 0; method == 2 && i < k * n_columns; i++)
            field(d, 4, "centroid of a start");
        if (method == 2)
            field(d, 16, "loss of a start");
    }
    if (method != 2)
        compare_rounds(d, k, n_columns);
    for (d->level = 0; d->level < n_levels; d->level++)
        compare_level(d, k, n_columns);
    d->level = -1;
}

static uint64_t compare_start(difference *d) {
    field(d, 8, "magic");
    field(d, 4, "version");
    return field(d, 4, "method");
}

static void compare_tree(difference *d) {
    const long n_columns = (long)field(d, 4, "columns d");
    const long height = (long)field(d, 4, "height h"), width = (long)field(d, 4, "width w");
    field(d, 4, "method of leaves");
    field(d, 4, "method of inner nodes");
    field(d, 4, "centroids are weighed");
    for (long l = 0; l <= height; l++)
        field(d, 4, "clusters asked for at a depth");
    const uint64_t scale = field(d, 4, "scale");
    field(d, 4, "exponent e");
    field(d, 8, "number of rows n");
    field(d, 8, "total weight W");
    compare_bounds(d, n_columns, scale);
    for (d->depth = height; d->depth >= 0; d->depth--) {
        long n_nodes = 1;
        for (long l = 0; l < d->depth; l++)
            n_nodes *= width;
        for (d->node = 0; d->node < n_nodes; d->node++)
            if (field(d, 4, "node is there") == 1)
                compare_state(d, compare_start(d));
    }
}

/* Returns 1 and says where in `text`, or 0 if the encodings are equal. */
static int find_difference(difference *d) {
    if (d->n_a == d->n_b && memcmp(d->a, d->b, d->n_a) == 0)
        return 0;
    d->depth = d->node = d->level = d->cluster = d->column = -1;
    const uint64_t method = compare_start(d);
    if (method == 3)
        compare_tree(d);
    else
        compare_state(d, method);
    if (d->text[0] == '\0')
        snprintf(d->text, sizeof d->text, "after the last field: %zu bytes against %zu", d->n_a,
                 d->n_b);
    return 1;
}

#endif
