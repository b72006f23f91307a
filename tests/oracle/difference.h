/* Says in words where two encodings of docs/format.md differ: field, level, cluster, column. For
 * tests, which include this file; a field is compared only while all before it are equal, so one
 * side's numbers give the layout of both. */
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
    char text[400]; /* the answer */
    size_t at;
    long level, cluster, column; /* -1: does not apply */
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
    char place[100];
    snprintf(place, sizeof place, "%s [level %ld, cluster %ld, column %ld] at byte %zu", name,
             d->level, d->cluster, d->column, d->at);
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

static void compare_level(difference *d, int pyramid, long k, long n_columns) {
    if (pyramid)
        field(d, 4, "is sampled");
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

/* Returns 1 and says where in `text`, or 0 if the encodings are equal. */
static int find_difference(difference *d) {
    if (d->n_a == d->n_b && memcmp(d->a, d->b, d->n_a) == 0)
        return 0;
    static const char *const header[] = {
        "version",      "method",           "columns d",         "clusters asked for k", "limit T",
        "scale",        "empty clusters",   "exponent e",        "lattice width eps",    "q",
        "centroids k'", "number of levels", "level of the model"};
    uint64_t value[13];
    d->level = d->cluster = d->column = -1;
    field(d, 8, "magic");
    for (size_t i = 0; i < 13; i++)
        value[i] = field(d, 4, header[i]);
    field(d, 8, "number of rows n");
    field(d, 8, "total weight W");
    field(d, 16, "sum of w |g|^2");
    const int pyramid = value[1] == 2;
    if (pyramid) {
        field(d, 4, "exponent j of the sample");
        field(d, 4, "full passes F");
        field(d, 16, "sum of w |g|^2 over the sample");
    }
    const long n_columns = (long)value[2], k = (long)value[10], n_levels = (long)value[11];
    for (d->column = 0; value[5] == 1 && d->column < n_columns; d->column++) {
        field(d, 4, "low");
        field(d, 4, "high");
    }
    d->column = -1;
    for (d->cluster = 0; d->cluster < k; d->cluster++) {
        field(d, 8, "id of a seed");
        field(d, 8, "key of a seed");
    }
    for (d->level = 0; d->level < n_levels; d->level++)
        compare_level(d, pyramid, k, n_columns);
    if (d->text[0] == '\0')
        snprintf(d->text, sizeof d->text, "after the last level: %zu bytes against %zu", d->n_a,
                 d->n_b);
    return 1;
}

#endif
