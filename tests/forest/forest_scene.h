/*
 * What tests of forests share: rows of all kinds, of which some are in a set and the others wait
 * outside, a model that follows as they go, come and change, and its bytes against those of a fresh
 * fit and of the oracle (law/forest_plain.h). For tests, which include this file after cmocka.h.
 */
#ifndef FOREST_SCENE_H
#define FOREST_SCENE_H

#include "law/draws.h"
#include "law/forest_plain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A call that must succeed. */
#define REQUIRE_OK(call)                                                                           \
    do {                                                                                           \
        efface_error failure = {.message = ""};                                                    \
        efface_error *const error = &failure;                                                      \
        if ((call) != EFFACE_OK)                                                                   \
            fail_msg("%s: %s", #call, failure.message);                                            \
        (void)error;                                                                               \
    } while (0)

/* ---------------------------------------------------------------- parameters, rows, models */

/* Defaults but for few trees and one thread. */
static inline efface_forest_params *begin_params(law_params *params, uint32_t n_trees,
                                                 uint64_t seed) {
    memset(params, 0, sizeof *params);
    efface_forest_params *const p = &forest_room_of(params)->params;
    efface_forest_params_init(p);
    p->common.n_threads = 1;
    p->common.seed = seed;
    p->n_trees = n_trees;
    return p;
}

/* One more column of categories. */
static inline void add_category(law_params *params, uint32_t column) {
    forest_room *const room = forest_room_of(params);
    room->categories[room->params.n_categories++] = column;
    room->params.categories = room->categories;
}

static inline efface_rows batch_of(const law_rows *rows) {
    return (efface_rows){.n_rows = rows->n,
                         .values = rows->values,
                         .ids = rows->ids,
                         .weights = rows->weights,
                         .labels = rows->labels};
}

static inline efface_data *data_of(const law_rows *rows, bool missing) {
    efface_data *data = NULL;
    const efface_rows batch = batch_of(rows);
    REQUIRE_OK(efface_data_create(rows->d, &data, error));
    if (missing)
        efface_data_allow_missing(data);
    REQUIRE_OK(efface_data_add(data, &batch, error));
    return data;
}

/* Rows of whole numbers, for hand-made cases: labels, and d values a row. */
static inline law_rows table_of(size_t n, uint32_t d, const float *values, const int64_t *labels) {
    law_rows rows = law_make_rows(n, d);
    memcpy(rows.values, values, n * d * sizeof *values);
    memcpy(rows.labels, labels, n * sizeof *labels);
    return rows;
}

static inline efface_model *fit(const efface_data *data, const law_params *params) {
    efface_model *model = NULL;
    REQUIRE_OK(efface_forest_fit(data, forest_of(params), &model, error));
    return model;
}

typedef struct encoding {
    unsigned char *bytes;
    size_t n;
} encoding;

static inline encoding encode(const efface_model *model) {
    encoding e = {NULL, 0};
    REQUIRE_OK(efface_model_encode(model, &e.bytes, &e.n, error));
    return e;
}

static inline bool same_encoding(const encoding *a, const encoding *b) {
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* The nodes of a model. */
static inline forest_plain *nodes_of(const efface_model *model) {
    encoding e = encode(model);
    forest_plain *const forest = forest_read(e.bytes, e.n);
    if (forest == NULL)
        fail_msg("the bytes of a forest are not well formed");
    efface_bytes_free(e.bytes);
    return forest;
}

static inline void require_same_bytes(const law_params *params, const encoding *is,
                                      const encoding *should_be, const char *with,
                                      const char *what) {
    char text[LAW_TEXT_BYTES] = "";
    if (same_encoding(is, should_be))
        return;
    forest_differ(params, is->bytes, is->n, should_be->bytes, should_be->n, text);
    fail_msg("%s: not the bytes of %s: %s", what, with, text);
}

static inline void require_fresh(const efface_model *model, const efface_data *data,
                                 const law_params *params, const char *what) {
    efface_model *const fresh = fit(data, params);
    encoding a = encode(model), b = encode(fresh);
    require_same_bytes(params, &a, &b, "a fresh fit", what);
    efface_bytes_free(a.bytes);
    efface_bytes_free(b.bytes);
    efface_model_free(fresh);
}

static inline void require_oracle(const efface_model *model, const law_rows *rows,
                                  const law_params *params, const char *what) {
    encoding a = encode(model), b;
    b.bytes = forest_oracle(rows, params, &b.n);
    require_same_bytes(params, &a, &b, "the oracle", what);
    unsigned char is[EFFACE_DIGEST_BYTES], should[EFFACE_DIGEST_BYTES];
    forest_plain *const plain = forest_read(b.bytes, b.n);
    assert_non_null(plain);
    forest_digest(plain, should);
    assert_int_equal(efface_model_digest(model, is, NULL), EFFACE_OK);
    assert_memory_equal(is, should, sizeof is);
    forest_free(plain);
    efface_bytes_free(a.bytes);
    free(b.bytes);
}

/* ---------------------------------------------------------------- a set in motion */

typedef struct grove {
    const char *name;
    law_rows all; /* those inside, and those that wait */
    bool *inside;
    size_t n_inside;
    bool missing; /* values may be missing */
    law_params params;
    efface_data *data;
    efface_model *model;
} grove;

static inline law_rows rows_inside(const grove *g) {
    const uint32_t d = g->all.d;
    law_rows rows = law_make_rows(g->n_inside, d);
    size_t n = 0;
    for (size_t i = 0; i < g->all.n; i++)
        if (g->inside[i]) {
            memcpy(rows.values + n * d, g->all.values + i * d, d * sizeof *rows.values);
            rows.ids[n] = g->all.ids[i];
            rows.weights[n] = g->all.weights[i];
            rows.labels[n++] = g->all.labels[i];
        }
    return rows;
}

/* `all` belongs to it from then on; so many of a hundred rows begin inside. The parameters are in
 * place. */
static inline void begin_grove(grove *g, law_rows all, unsigned share) {
    g->all = all;
    g->inside = make(all.n, sizeof *g->inside);
    g->n_inside = 0;
    for (size_t i = 0; i < all.n; i++) {
        g->inside[i] = below(100) < share;
        g->n_inside += g->inside[i];
    }
    law_rows rows = rows_inside(g);
    g->data = data_of(&rows, g->missing);
    g->model = fit(g->data, &g->params);
    law_free_rows(&rows);
}

static inline void end_grove(grove *g) {
    efface_model_free(g->model);
    efface_data_free(g->data);
    free(g->inside);
    law_free_rows(&g->all);
}

/* Up to `most` rows that are inside, or outside, beginning anywhere; returns how many. */
static inline size_t pick_some(const grove *g, bool inside, size_t most, size_t *which) {
    const size_t n = g->all.n, first = n != 0 ? below(n) : 0, stride = 1 + below(7);
    size_t n_picked = 0;
    for (size_t turn = 0; turn < stride && n_picked < most; turn++)
        for (size_t k = turn; k < n && n_picked < most; k += stride)
            if (g->inside[(first + k) % n] == inside)
                which[n_picked++] = (first + k) % n;
    return n_picked;
}

static inline law_rows rows_of(const grove *g, const size_t *which, size_t n) {
    const uint32_t d = g->all.d;
    law_rows rows = law_make_rows(n, d);
    for (size_t i = 0; i < n; i++) {
        memcpy(rows.values + i * d, g->all.values + which[i] * d, d * sizeof *rows.values);
        rows.ids[i] = g->all.ids[which[i]];
        rows.weights[i] = g->all.weights[which[i]];
        rows.labels[i] = g->all.labels[which[i]];
    }
    return rows;
}

static inline void forget_these(grove *g, const size_t *which, size_t n) {
    law_rows rows = rows_of(g, which, n);
    const efface_request request = {.ids = rows.ids, .n_ids = n};
    REQUIRE_OK(efface_model_forget(g->model, g->data, &request, NULL, error));
    for (size_t i = 0; i < n; i++)
        g->inside[which[i]] = false;
    g->n_inside -= n;
    law_free_rows(&rows);
}

static inline void learn_these(grove *g, const size_t *which, size_t n) {
    law_rows rows = rows_of(g, which, n);
    const efface_rows batch = batch_of(&rows);
    REQUIRE_OK(efface_model_learn(g->model, g->data, &batch, NULL, error));
    for (size_t i = 0; i < n; i++)
        g->inside[which[i]] = true;
    g->n_inside += n;
    law_free_rows(&rows);
}

/* Each row gets some values of another one, or all, and perhaps its label or another weight. */
static inline void update_these(grove *g, const size_t *which, size_t n) {
    const uint32_t d = g->all.d;
    for (size_t i = 0; i < n; i++) {
        const size_t other = below(g->all.n);
        const uint64_t how = below(4);
        for (uint32_t j = 0; j < d; j++)
            if (how == 0 || one_in(4))
                g->all.values[which[i] * d + j] = g->all.values[other * d + j];
        if (how < 2)
            g->all.labels[which[i]] = g->all.labels[other];
        if (how == 2)
            g->all.weights[which[i]] = 1 + (int64_t)below(5);
    }
    law_rows rows = rows_of(g, which, n);
    const efface_rows batch = batch_of(&rows);
    REQUIRE_OK(efface_model_update(g->model, g->data, &batch, NULL, error));
    law_free_rows(&rows);
}

/* One request: rows go, come, or change, one of them or a batch. */
static inline void step_grove(grove *g, size_t most_of_batch) {
    size_t *const which = make(most_of_batch, sizeof *which);
    const size_t most = one_in(8) ? 1 + below(most_of_batch) : 1;
    const uint64_t kind = below(5);
    if (kind < 2 && 3 * g->n_inside > g->all.n) {
        const size_t n = pick_some(g, true, most, which);
        forget_these(g, which, n);
    } else if (kind < 4) {
        const size_t n = pick_some(g, false, most, which);
        learn_these(g, which, n);
    } else {
        const size_t n = pick_some(g, true, most, which);
        update_these(g, which, n);
    }
    free(which);
}

static inline void check_grove(const grove *g) {
    require_fresh(g->model, g->data, &g->params, g->name);
}

static inline void check_grove_plainly(const grove *g) {
    law_rows rows = rows_inside(g);
    require_oracle(g->model, &rows, &g->params, g->name);
    law_free_rows(&rows);
}

/* ---------------------------------------------------------------- rows */

/* Rows of a set that the library makes. */
static inline law_rows rows_of_set(efface_data *data) {
    law_rows rows = law_make_rows(efface_data_n_rows(data), efface_data_n_columns(data));
    for (size_t i = 0; i < rows.n; i++) {
        const efface_row row = efface_data_row(data, i);
        efface_data_values(data, i, rows.values + i * rows.d);
        rows.ids[i] = row.id;
        rows.weights[i] = row.weight;
        rows.labels[i] = row.label;
    }
    efface_data_free(data);
    return rows;
}

/* n rows whose label follows from the first columns, most of the time. Values have all bits of a
 * float32 in use. */
static inline law_rows draw_plain_rows(size_t n, uint32_t d, unsigned n_classes) {
    law_rows rows = law_make_rows(n, d);
    for (size_t i = 0; i < n; i++) {
        float *const row = rows.values + i * d;
        for (uint32_t j = 0; j < d; j++)
            row[j] = sign(spread_out(1.0f, -4, 8));
        const float about = row[0] + (d > 1 ? row[1] : 0.0f) + 4.0f * unit();
        rows.labels[i] =
            one_in(10) ? (int64_t)below(n_classes) : (int64_t)fmodf(fabsf(about), (float)n_classes);
        rows.ids[i] = mix(i + 11);
    }
    return rows;
}

#endif
