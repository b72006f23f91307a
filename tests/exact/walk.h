/*
 * Walks: a case (tests/oracle/cases.h) gives rows and parameters. Some of the rows begin in the
 * set, the others wait outside, and a model follows as they go and come. At every step its
 * canonical bytes can be held against those of a fresh fit and of the oracle. A third of the cases
 * are trees, of which every node is looked at as well. For tests, which include this file after
 * cmocka.h.
 */
#ifndef EF_TESTS_WALK_H
#define EF_TESTS_WALK_H

#include "exact/check_nodes.h"
#include "oracle/cases.h"
#include "oracle/difference.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

typedef struct walk {
    trial t;
    efface_data *data;
    efface_kmeans *model;
    bool *inside;     /* rows of the trial that are in the set */
    size_t *stands;   /* whose values each row has: itself, or after an update another */
    int64_t *weights; /* of each row; an update may lower it */
    size_t n_inside;
    char did[64]; /* the last step, for messages */
    bool drops;   /* what is kept may be missing */
} walk;

/* ---------------------------------------------------------------- comparisons */

static inline void fail_bytes(const walk *w, const char *with, const unsigned char *a, size_t n_a,
                              const unsigned char *b, size_t n_b, uint64_t seed) {
    difference d = {.a = a, .b = b, .n_a = n_a, .n_b = n_b, .candidates = w->t.params.candidates};
    (void)find_difference(&d);
    fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: not the bytes of %s: %s", seed, w->did,
             with, d.text);
}

/* What a model of pyramid keeps to find the sample and the partition of level 0 again is no part of
 * the bytes, but follows from the rows as they do. Positions are those of the set in both. */
static inline void compare_what_is_kept(const walk *w, const efface_kmeans *fresh, uint64_t seed) {
    const efface_kmeans *const m = w->model;
    assert_true(w->drops || (ef_labels_kept(m) == NULL) == (ef_labels_kept(fresh) == NULL));
    for (size_t i = 0; ef_labels_kept(m) != NULL && i < w->n_inside; i++)
        if (kept_of(m, i) != kept_of(fresh, i))
            fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: the row at %zu has label %" PRIx32
                     ", not %" PRIx32,
                     seed, w->did, i, kept_of(m, i), kept_of(fresh, i));
}

/* Nor are all answers: which columns are coarse, and the rest of what is known of a model. */
static inline void compare_info(const walk *w, const efface_kmeans *fresh, uint64_t seed) {
    const efface_kmeans_info a = efface_kmeans_get_info(w->model);
    const efface_kmeans_info b = efface_kmeans_get_info(fresh);
    const uint32_t d = w->t.rows.d;
    uint32_t *const columns = make(2 * (size_t)d, sizeof *columns);
    efface_kmeans_coarse_columns(w->model, columns, d);
    efface_kmeans_coarse_columns(fresh, columns + d, d);
    if (a.method != b.method || a.n_clusters != b.n_clusters || a.n_rows != b.n_rows ||
        a.iterations != b.iterations || a.stable != b.stable || a.epsilon != b.epsilon ||
        a.width != b.width || a.n_coarse_columns != b.n_coarse_columns ||
        memcmp(columns, columns + d, d * sizeof *columns) != 0)
        fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: not the info of a fresh fit", seed,
                 w->did);
    free(columns);
}

static inline void compare_with_fresh_fit(const walk *w, uint64_t seed) {
    efface_kmeans *fresh = NULL;
    unsigned char *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(efface_kmeans_fit(w->data, &w->t.params, &fresh, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_encode(w->model, &a, &n_a, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_encode(fresh, &b, &n_b, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_bytes(w, "a fresh fit", a, n_a, b, n_b, seed);
    compare_what_is_kept(w, fresh, seed);
    compare_info(w, fresh, seed);
    check_nodes(w->model, w->data);
    efface_bytes_free(a);
    efface_bytes_free(b);
    efface_kmeans_free(fresh);
}

/* The oracle gets the rows from the trial, not from the set. */
static inline void compare_with_oracle(const walk *w, uint64_t seed) {
    const trial *const t = &w->t;
    const uint32_t d = t->rows.d;
    float *const values = make(w->n_inside * d, sizeof *values);
    uint64_t *const ids = make(w->n_inside, sizeof *ids);
    int64_t *const weights = make(w->n_inside, sizeof *weights);
    size_t n = 0;
    for (size_t i = 0; i < t->rows.n; i++)
        if (w->inside[i]) {
            memcpy(values + n * d, t->values + w->stands[i] * d, d * sizeof *values);
            ids[n] = t->rows.ids != NULL ? t->rows.ids[i] : i;
            weights[n++] = w->weights[i];
        }
    const oracle_rows rows = {n, d, values, ids, weights};
    oracle_model *const oracle = oracle_fit(&rows, &t->params);
    unsigned char *a = NULL;
    size_t n_a = 0, n_b = 0;
    unsigned char *const b = oracle_encode(oracle, &n_b);
    assert_int_equal(efface_kmeans_encode(w->model, &a, &n_a, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_bytes(w, "the oracle", a, n_a, b, n_b, seed);
    efface_bytes_free(a);
    free(b);
    oracle_free(oracle);
    free(values);
    free(ids);
    free(weights);
}

/* ---------------------------------------------------------------- rows */

static inline uint64_t id_of(const walk *w, size_t i) {
    return w->t.rows.ids != NULL ? w->t.rows.ids[i] : i;
}

/* Up to `most` rows of the trial that are inside, or outside; returns how many. */
static inline size_t pick(const walk *w, bool inside, size_t most, size_t *rows) {
    size_t n = 0;
    for (size_t i = 0; i < w->t.rows.n; i++)
        if (w->inside[i] == inside) {
            /* A reservoir: every row has the same chance. */
            const size_t seat = n < most ? n : below(n + 1);
            if (seat < most)
                rows[seat] = i;
            n++;
        }
    return n < most ? n : most;
}

/* Rows that a model names: `most` at most, of which `n` are there already. */
typedef struct names {
    uint64_t ids[200];
    size_t n, most;
} names;

/* The seeds of a model, or of all its leaves. */
static inline void name_seeds(const efface_kmeans *m, names *list) {
    if (m->tree != NULL) {
        const ef_tree *const tree = m->tree;
        for (size_t i = 0; i < tree->n_nodes[tree->height]; i++)
            if (tree->nodes[tree->height][i].model != NULL)
                name_seeds(tree->nodes[tree->height][i].model, list);
        return;
    }
    for (size_t i = 0; i < m->plan.n_clusters && list->n < list->most; i++)
        list->ids[list->n++] = ef_kmeans_seeds(m)[i].id;
}

/* Rows that were tried in the seeding and did not become seeds, among others. */
static inline void name_candidates(const efface_kmeans *m, names *list) {
    const ef_tree *const tree = m->tree;
    for (size_t i = 0; tree != NULL && i < tree->n_nodes[tree->height]; i++)
        if (tree->nodes[tree->height][i].model != NULL)
            name_candidates(tree->nodes[tree->height][i].model, list);
    const size_t n = (size_t)m->rounds.n_rounds * m->plan.candidates;
    for (size_t i = 0; i < n && list->n < list->most; i++)
        list->ids[list->n++] = m->rounds.winners[i].id;
}

/* Those that empty clusters were reseeded with. */
static inline void name_reseeded(const efface_kmeans *m, names *list) {
    const ef_tree *const tree = m->tree;
    for (size_t i = 0; tree != NULL && i < tree->n_nodes[tree->height]; i++)
        if (tree->nodes[tree->height][i].model != NULL)
            name_reseeded(tree->nodes[tree->height][i].model, list);
    for (uint32_t t = 0; t < m->n_levels; t++)
        for (uint32_t i = 0; i < m->levels[t].n_reseeded && list->n < list->most; i++)
            list->ids[list->n++] = m->levels[t].reseeded[i].winner.id;
}

/* Some of those that are of the jury of pyramid and not of its sample. */
static inline void name_jury(const efface_kmeans *m, const efface_data *data, names *list) {
    const ef_kept_labels *const kept = ef_labels_kept(m);
    const size_t n = kept != NULL ? data->n_rows : 0, first = n != 0 ? below(n) : 0;
    for (size_t i = 0; i < n && list->n < list->most; i++) {
        const size_t position = (first + i) % n;
        if ((kept->codes[position] & EF_MARKS) == EF_IN_JURY)
            list->ids[list->n++] = ef_data_id(data, position);
    }
}

static inline void gather(const walk *w, const size_t *rows, size_t n, bool values_too,
                          float *values, uint64_t *ids, int64_t *weights) {
    const uint32_t d = w->t.rows.d;
    for (size_t i = 0; i < n; i++) {
        ids[i] = id_of(w, rows[i]);
        weights[i] = w->weights[rows[i]];
        if (values_too)
            memcpy(values + i * d, w->t.values + w->stands[rows[i]] * d, d * sizeof *values);
    }
}

/* ---------------------------------------------------------------- cases */

/* A handful of whole numbers on a lattice of few steps: losses of neighbouring levels are often the
 * same, and centroids in the middle between two points of the lattice. */
static inline void make_tiny(trial *t) {
    efface_kmeans_params *const p = &t->params;
    const size_t most = 4 + below(10);
    const uint64_t range = 2 + below(20);
    t->rows.n = t->rows.n < most ? t->rows.n : most;
    t->rows.d = t->rows.d > 1 && one_in(3) ? 2 : 1;
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = (float)below(range);
    p->n_clusters = 1 + (uint32_t)below(3);
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
    p->column_min = p->column_max = NULL;
    p->epsilon = (double)(1 + below(6)) * 0x1p-23;
    p->gamma = one_in(2) ? 0.0 : 1.0;
    p->iterations = 10;
}

/* A small sample of whole numbers, so that the starts come out alike, and the jury is soon of
 * another mind. */
static inline void make_close(trial *t) {
    efface_kmeans_params *const p = &t->params;
    const uint64_t range = 4 + below(30);
    t->rows.d = t->rows.d > 1 && one_in(2) ? 2 : 1;
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = (float)below(range);
    p->method = EFFACE_METHOD_PYRAMID;
    p->n_clusters = 2 + (uint32_t)below(3);
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
    p->column_min = p->column_max = NULL;
    p->iterations = 1 + (uint32_t)below(2);
    p->rate = scaled(1.0f, -1 - (int)below(4));
    p->epsilon = one_in(4) ? (double)(1 + below(6)) * 0x1p-23 : 0.0;
    p->starts = 2 + (uint32_t)below(6);
    p->passes = 1 + (uint32_t)below(3);
}

/* Leans a case towards what a change seldom does: empty a cluster, move a centroid by the threshold
 * alone, move the stopping point or the automatic lattice, make another start the best. */
static inline void lean(walk *w, uint64_t share) {
    efface_kmeans_params *const p = &w->t.params;
    const double d = w->t.rows.d, n = (double)w->t.rows.n * (double)share / 100.0;
    switch (below(12)) {
    case 0: /* a lattice so coarse that a loss often rises */
    case 1:
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -1 - (int)below(5));
        p->gamma = one_in(2) ? 0.0 : p->gamma;
        p->n_clusters = 2 + (uint32_t)below(8);
        p->empty = one_in(4) ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
        break;
    case 2: /* centroids that fall together */
    case 3:
    case 4: let_centroids_meet(&w->t); break;
    case 5: /* small clusters on a fine lattice */
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -23 + (int)below(10));
        p->gamma = one_in(2) ? 1.0 : 0.5;
        p->n_clusters = 2 + (uint32_t)below(8);
        break;
    case 6: /* n / (k d^1.5) near a power of ten, to which the automatic width holds */
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = 0.0;
        p->n_clusters = 1 + (uint32_t)(n * sqrt(d < 10.0 ? 10.0 : 1000.0) / (d * sqrt(d)));
        break;
    case 7:
    case 8: make_tiny(&w->t); break;
    case 9:
    case 10: make_close(&w->t); break;
    default: break;
    }
}

/* Turns a case into one of a tree, and leans it towards what a change of trees seldom does: take
 * the last row of a leaf or of a whole branch, move the automatic width, stop half-way. */
static inline void branch(walk *w, uint64_t share) {
    efface_kmeans_params *const p = &w->t.params;
    let_rows_branch(&w->t);
    size_t most = w->t.rows.n;
    switch (below(8)) {
    case 0: /* about as many rows as leaves */
    case 1:
        p->height = 1 + (uint32_t)below(3);
        p->width = 2 + (uint32_t)below(p->height == 1 ? 63 : 3);
        most = 1 + below(24);
        break;
    case 2: /* n about 4, about 32: there the automatic width moves */
    case 3:
        p->height = p->height == 0 || p->height > 3 ? 1 : p->height;
        p->width = 0;
        most = (size_t)((one_in(4) ? 400 : 3200) / share + below(5));
        break;
    case 4: /* centroids that a row seldom moves */
        p->height = 1 + (uint32_t)below(3);
        p->width = 1 + (uint32_t)below(3);
        p->n_clusters = 1 + (uint32_t)below(3);
        p->depth_clusters = NULL;
        p->leaf_method = p->node_method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -(int)below(6));
        p->gamma = one_in(2) ? 0.0 : p->gamma;
        p->weigh_centroids = one_in(8);
        break;
    case 5: /* centroids of a few steps, which come back to where they were */
        make_tiny(&w->t);
        p->method = EFFACE_METHOD_TREE;
        p->height = 1 + (uint32_t)below(3);
        p->width = 1 + (uint32_t)below(3);
        p->leaf_method = one_in(3) ? p->leaf_method : EFFACE_METHOD_QUANTIZED;
        p->node_method = one_in(3) ? p->node_method : EFFACE_METHOD_QUANTIZED;
        break;
    default: break;
    }
    /* As many clusters as before, but where the height has grown. */
    for (uint32_t l = 0; l < p->height && p->depth_clusters != NULL; l++)
        if (w->t.depth_clusters[l] == 0)
            w->t.depth_clusters[l] = 1 + (uint32_t)below(4);
    w->t.rows.n = w->t.rows.n < most ? w->t.rows.n : most;
}

static inline void begin_walk(walk *w, uint64_t seed, uint64_t share) {
    memset(w, 0, sizeof *w);
    make_trial(seed, &w->t);
    if (!w->t.is_large)
        lean(w, share);
    if (seed % 3 == 0)
        branch(w, share);
    const size_t n = w->t.rows.n;
    const uint32_t d = w->t.rows.d;
    w->inside = make(n, sizeof *w->inside);
    w->stands = make(n, sizeof *w->stands);
    w->weights = make(n, sizeof *w->weights);
    float *const values = make(n * d, sizeof *values);
    uint64_t *const ids = make(n, sizeof *ids);
    int64_t *const weights = make(n, sizeof *weights);
    size_t *const rows = make(n, sizeof *rows);
    for (size_t i = 0; i < n; i++) {
        w->stands[i] = i;
        w->weights[i] = w->t.rows.weights != NULL ? w->t.rows.weights[i] : 1;
        w->inside[i] = below(100) < share;
        if (w->inside[i])
            rows[w->n_inside++] = i;
    }
    gather(w, rows, w->n_inside, true, values, ids, weights);
    assert_int_equal(efface_data_create(d, &w->data, NULL), EFFACE_OK);
    const efface_rows batch = {
        .n_rows = w->n_inside, .values = values, .ids = ids, .weights = weights};
    assert_int_equal(efface_data_add(w->data, &batch, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(w->data, &w->t.params, &w->model, NULL), EFFACE_OK);
    snprintf(w->did, sizeof w->did, "the fit");
    free(values);
    free(ids);
    free(weights);
    free(rows);
}

static inline void end_walk(walk *w) {
    efface_kmeans_free(w->model);
    efface_data_free(w->data);
    free(w->inside);
    free(w->stands);
    free(w->weights);
    free_trial(&w->t);
}

static inline void forget_rows(walk *w, const size_t *rows, size_t n) {
    uint64_t *const ids = make(n, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        ids[i] = id_of(w, rows[i]);
        w->inside[rows[i]] = false;
    }
    assert_int_equal(
        efface_kmeans_forget(w->model, w->data, ids, n, EFFACE_MISSING_FAIL, NULL, NULL),
        EFFACE_OK);
    w->n_inside -= n;
    snprintf(w->did, sizeof w->did, "forgetting down to %zu", w->n_inside);
    free(ids);
}

#endif
