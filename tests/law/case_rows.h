/*
 * Rows of all kinds, for tests that draw cases. They lean towards what goes wrong: ties,
 * duplicates, values at half a grid step, zeros, huge and tiny magnitudes, weights near the limit.
 * For tests, which include this file.
 */
#ifndef EF_TESTS_CASE_ROWS_H
#define EF_TESTS_CASE_ROWS_H

#include "../bench/program/bench_skewed.h"
#include "law/draws.h"
#include "law/law_families.h"

#include <string.h>

static inline float blob_value(size_t row, uint32_t column) {
    return (float)(mix(row % 4 * 1000 + column) % 10) + 0.125f * unit();
}

/* A value of a kind that needs no more than its place. */
static inline float plain_value(uint64_t kind, size_t row, uint32_t column) {
    switch (kind) {
    case 0: return unit();
    case 1: return 200.0f * unit() - 100.0f;
    case 2: return blob_value(row, column);
    case 3: return (float)below(4) - 1.0f;          /* ties without end */
    case 4: return sign(spread_out(1.0f, 100, 26)); /* below 2^126 */
    case 5: return one_in(3) ? 0x1p126f : sign(scaled(unit(), 126));
    case 6: return sign((float)below(200000) * 0x1p-149f); /* about 1e-40 */
    case 7: return sign(spread_out(1.0f, -145, 270));
    case 8: return one_in(6) ? 1.0f : sign(0.0f);
    case 9: return row < 2 ? sign(1e6f * unit()) : unit();           /* others fall on few steps */
    case 10: return sign(((float)below(8388608) + 0.5f) * 0x1p-23f); /* half a step at e = 0 */
    default: return 1.0f - (float)below(2000) * 0x1p-24f; /* distances far below the norms */
    }
}

/* Fills row i with the middle between two rows before it, at times one grid step aside: the
 * nearest of two seeds is then decided by the last bit. */
static inline void fill_midpoint(law_rows *t, size_t i) {
    const uint32_t d = t->d;
    const float *a = t->values + below(i) * d, *b = t->values + below(i) * d;
    for (uint32_t j = 0; j < d; j++)
        t->values[i * d + j] = 0.5f * a[j] + 0.5f * b[j];
    if (one_in(2)) {
        const uint64_t column = below(d);
        t->values[i * d + column] += sign(0x1p-22f);
    }
}

static inline void fill_values(law_rows *t) {
    const size_t n = t->n;
    const uint32_t d = t->d;
    static const char *const row_kinds[] = {"unit",  "wide",     "blobs",        "integers",
                                            "huge",  "largest",  "tiny",         "mixed",
                                            "zeros", "outliers", "halves",       "far from zero",
                                            "equal", "line",     "few distinct", "midpoints"};
    const uint64_t kind = below(16), base = below(12);
    t->kind = row_kinds[kind];
    for (size_t i = 0; i < n; i++) {
        float *row = t->values + i * d;
        const float along = one_in(2) ? (float)below(9) : 9.0f * unit();
        const int equal = i > 0 && (kind == 12 || (kind == 14 && (i >= 5 || one_in(2))));
        const size_t from = kind == 12 ? 0 : (size_t)below(1 + (i < 5 ? i : 5));
        if (kind == 15 && i > 4) {
            fill_midpoint(t, i);
            continue;
        }
        for (uint32_t j = 0; j < d; j++) {
            if (equal)
                row[j] = t->values[from * d + j];
            else if (kind == 13)
                row[j] = along * ((float)(mix(j) % 7) - 3.0f) + 1.0f;
            else if (kind == 15)
                row[j] = 2.0f * unit() - 1.0f;
            else
                row[j] = plain_value(kind < 12 ? kind : base, i, j);
        }
    }
    if (one_in(4)) {
        const uint32_t column = (uint32_t)below(d);
        const float x = plain_value(base, 5, column);
        for (size_t i = 0; i < n; i++)
            t->values[i * d + column] = x;
    }
    if (one_in(4) && n > 0)
        for (size_t copies = below(n); copies > 0; copies--)
            memmove(t->values + below(n) * d, t->values + (copies - 1) * d, d * sizeof(float));
}

/* Puts the values of a generated set that is skewed in the place of the others. */
static inline void fill_skewed(law_rows *t, uint64_t seed) {
    static const char *const skews[] = {"scales", "tails", "duplicates"};
    const uint64_t skew = mix(seed) % 3;
    const uint32_t n_clusters = 4 + (uint32_t)(mix(seed + 1) % 5);
    efface_data *data = NULL;
    if (bench_make_skewed((bench_skew)skew, n_clusters, t->d, t->n, seed, &data, NULL) !=
        EFFACE_OK) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    for (size_t i = 0; i < t->n; i++)
        efface_data_values(data, i, t->values + i * t->d);
    efface_data_free(data);
    t->kind = skews[skew];
}

/* Whether ids and weights should be given; if not, they are 0, 1, 2, ..., and 1. */
typedef struct given_parts {
    bool ids, weights;
} given_parts;

static inline given_parts fill_ids_and_weights(law_rows *t) {
    const size_t n = t->n;
    const uint64_t salt = next(), id_kind = below(5), weight_kind = below(6);
    const int64_t room = EFFACE_MAX_WEIGHT - 1;
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        t->ids[i] = id_kind == 1   ? UINT64_MAX - i
                    : id_kind == 2 ? (uint64_t)i << 32
                    : id_kind == 3 ? 1000 - i
                                   : mix(salt + i); /* mix is one to one */
        t->weights[i] = weight_kind == 1   ? 1 + (int64_t)below(5)
                        : weight_kind == 2 ? 1 + (int64_t)below((uint64_t)room / n)
                        : weight_kind == 3 ? 1 + (int64_t)(below(3) * 999)
                                           : 1;
        total += t->weights[i];
    }
    if (weight_kind == 4 && n > 0)
        t->weights[below(n)] += room - total; /* all the weight there can be, on one row */
    return (given_parts){id_kind != 0, weight_kind != 0};
}

#endif
