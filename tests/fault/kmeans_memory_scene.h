/*
 * Scenes for failing calls: small sets and models of every method, and all that can be seen of them
 * from outside and from inside, to be compared before and after.
 */
#ifndef KMEANS_MEMORY_SCENE_H
#define KMEANS_MEMORY_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/check_kept.h"
#include "law/kmeans_notes.h"
#include "model/kmeans/definition/levels.h"
#include "model/kmeans/definition/tree.h"
#include "model/report_scene.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 1060
#define MOST_COLUMNS 64
#define MOST_REQUEST 5
#define OUTLIER 5 /* the row that is far out */

/* How large the set is: so small that every failure can start from a new scene, or so wide that
 * passes over it have work for two threads. */
typedef struct set_shape {
    size_t n;
    uint32_t d, k, iterations, n_threads;
    bool thorough;
    bool derived; /* the bound follows from the rows, of which one is far out */
    double rate;  /* of pyramid; 0: derived, and so few rows have no sample then */
    bool margins; /* the model keeps margins of its levels */
} set_shape;

static const set_shape small = {60, 3, 5, 6, 1, true, false, 0.5, false};
static const set_shape wide = {200, 64, 24, 3, 2, false, false, 0.25, false};
static const set_shape brief = {100, 3, 5, 1, 1, true, false, 0.125, false};
static const set_shape derived = {60, 3, 5, 6, 1, true, true, 0.5, false};
/* For lloyd: passes from level to level have margins of rows. */
static const set_shape many = {200, 32, 33, 20, 1, false, false, 0.5, false};
/* For lloyd. */
static const set_shape with_margins = {90, 3, 5, 6, 1, true, false, 0.5, true};
/* The same, but the margins are dropped and no new ones wanted. */
static const set_shape no_margins = {90, 3, 5, 6, 1, true, false, 0.5, true};
/* For pyramid: a third of the rows are in the sample, and two thirds in the jury, more or less. */
static const set_shape sampled = {100, 3, 5, 6, 1, true, false, 0.125, false};
/* The same, and the labels that it keeps are dropped, or not. */
static const set_shape with_labels = {100, 3, 5, 6, 1, true, false, 0.125, false};
static const set_shape no_labels = {100, 3, 5, 6, 1, true, false, 0.125, false};
/* The same, and the model keeps the trial of its starts; or everything that it keeps is dropped. */
static const set_shape with_trial = {100, 3, 5, 6, 1, true, false, 0.125, false};
static const set_shape no_trial = {100, 3, 5, 6, 1, true, false, 0.125, false};
/* Two clusters for seven places: the starts of pyramid come out so alike that a row makes another
 * the best. */
static const set_shape alike = {100, 3, 2, 2, 1, true, false, 0.0625, false};
/* All rows are in the sample. */
static const set_shape whole = {60, 3, 2, 2, 1, true, false, 1.0, false};
/* For pyramid, which works as lloyd here. */
static const set_shape unsampled = {60, 3, 5, 6, 1, true, false, 0.0, false};
/* With a row less there is no sample; with a row more there is one. */
static const set_shape last_sampled = {1024, 2, 1, 2, 1, true, false, 0.0, false};
static const set_shape next_sampled = {1023, 2, 1, 2, 1, true, false, 0.0, false};
/* For trees: about as many rows as leaves. */
static const set_shape scattered = {8, 2, 2, 2, 1, true, false, 0.5, false};
/* For two models; the first is pyramid or not. */
static const set_shape two = {60, 3, 5, 6, 1, true, false, 0.5, false};
static const set_shape two_sampled = {100, 3, 5, 6, 1, true, false, 0.125, false};

/* A row that a request brings in. */
typedef struct newcomer {
    float values[MOST_COLUMNS];
} newcomer;

/* The methods, lloyd with greedy seeding, and trees of height 1 with leaves of lloyd or pyramid, and of height 2 with
 * leaves of quantized. */
enum { LLOYD, QUANTIZED, PYRAMID, GREEDY, TREE, SAMPLED_TREE, TALL_TREE, N_METHODS };

static const char *const method_names[] = {"lloyd", "quantized",       "pyramid",  "greedy",
                                           "tree",  "tree of samples", "tall tree"};

typedef struct scene {
    const set_shape *shape;
    efface_kmeans_params params;
    efface_data *data;
    efface_model *model;
    efface_kmeans_params second_params;
    efface_model *second; /* another model of the same set, or NULL */
    unsigned candidate;   /* which request, of many, so that each action can be looked for */
    unsigned char *bytes; /* of the model */
    size_t n_bytes;
    size_t n_nodes; /* of the first, if it is a tree, before the call */

    /* What the call hands out. All bytes of it are compared. */
    struct {
        efface_model *model;
        efface_report reports[2];
        efface_difference difference;
        double number;
        uint32_t labels[MOST_ROWS];
    } out;
} scene;

typedef efface_status (*operation)(scene *s, efface_error *error);

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Whole numbers on a grid of step 1: means are rounded so much that many a row can go unnoticed. */
static float whole_value(uint64_t row, uint32_t column) {
    const uint64_t place = mix(row % 7 * 100 + column) % 40;
    return (float)(place + mix(row * 1000 + column) % 5);
}

static newcomer make_newcomer(unsigned candidate, size_t i, uint32_t d) {
    newcomer row;
    const uint64_t number = 5000 + candidate * 10 + i;
    for (uint32_t j = 0; j < d; j++)
        row.values[j] = whole_value(number, j) + (candidate % 4 == 3 ? 90.0F : 0.0F);
    return row;
}

static efface_data *make_set(const set_shape *shape) {
    static float values[MOST_ROWS * MOST_COLUMNS];
    static uint64_t owners[MOST_ROWS];
    static int64_t labels[MOST_ROWS];
    const size_t n = shape->n;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < shape->d; j++)
            values[i * shape->d + j] = whole_value(i, j);
        if (shape->derived && i == OUTLIER)
            values[i * shape->d] = 100.0F;
        owners[i] = i / 3;
        labels[i] = (int64_t)(i % 7);
    }
    const efface_rows rows = {.n_rows = n, .values = values, .owners = owners, .labels = labels};
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(shape->d, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

static efface_method flat_method(int method) {
    switch (method) {
    case LLOYD:
    case GREEDY:
    case TREE: return EFFACE_METHOD_LLOYD;
    case PYRAMID:
    case SAMPLED_TREE: return EFFACE_METHOD_PYRAMID;
    default: return EFFACE_METHOD_QUANTIZED;
    }
}

static size_t count_nodes(const efface_model *model) {
    size_t n = 0;
    for (uint32_t l = 0; inside(model)->tree != NULL && l <= inside(model)->tree->height; l++)
        for (size_t i = 0; i < inside(model)->tree->n_nodes[l]; i++)
            n += inside(model)->tree->nodes[l][i].model != NULL;
    return n;
}

/* Turns the parameters into those of a tree. */
static void make_tree(scene *s, int method) {
    static const uint32_t fewer[2] = {2, 3};
    s->params.tree.leaf_method = s->params.method;
    s->params.tree.node_method =
        method == TALL_TREE ? EFFACE_METHOD_QUANTIZED : EFFACE_METHOD_LLOYD;
    s->params.method = EFFACE_METHOD_TREE;
    s->params.tree.height = method == TALL_TREE ? 2 : 1;
    s->params.tree.width = s->shape == &scattered ? (method == TALL_TREE ? 5 : 8) : 2;
    s->params.tree.weigh_centroids = method == SAMPLED_TREE;
    s->params.pyramid.starts = 2;
    s->params.tree.depth_clusters = method == TALL_TREE ? fewer : NULL;
}

/* Some rows leave that are not needed, until levels have been made anew. */
static void make_margins(scene *s) {
    uint64_t id = s->shape->n;
    ef_kept_get(inside(s->model))->was_rebuilt = true;
    while (inside(s->model)->kept->margins == NULL && id > s->shape->n - 20) {
        id--;
        assert_int_equal(efface_model_forget(s->model, s->data,
                                             &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
                         EFFACE_OK);
    }
    assert_non_null(inside(s->model)->kept->margins);
}

/* The same until the starts have been run again. */
static void make_trial(scene *s) {
    uint64_t id = s->shape->n;
    while (inside(s->model)->kept->trial == NULL && id > s->shape->n - 20) {
        id--;
        assert_int_equal(efface_model_forget(s->model, s->data,
                                             &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
                         EFFACE_OK);
    }
    assert_non_null(inside(s->model)->kept->trial);
}

static void begin(scene *s, const set_shape *shape, int method, unsigned candidate) {
    memset(s, 0, sizeof *s);
    s->shape = shape;
    s->candidate = candidate;
    efface_kmeans_params_init(&s->params);
    s->params.method = flat_method(method);
    s->params.n_clusters = shape->k;
    s->params.iterations = shape->iterations;
    s->params.common.n_threads = shape->n_threads;
    s->params.common.seed = 20191105;
    s->params.bound = shape->derived ? 0.0 : 0x1p23;
    s->params.epsilon = s->params.method == EFFACE_METHOD_QUANTIZED ? 6 * 0x1p-23 : 0.0;
    s->params.pyramid.rate = shape->rate;
    s->params.pyramid.passes = 2;
    s->params.candidates = method == GREEDY ? 2 : 1;
    if (method >= TREE)
        make_tree(s, method);
    s->data = make_set(shape);
    assert_int_equal(efface_kmeans_fit(s->data, &s->params, &s->model, NULL), EFFACE_OK);
    if (shape->margins)
        make_margins(s);
    if (shape == &no_margins)
        inside(s->model)->params.lloyd.keep_margins = 0;
    if (shape == &with_trial || shape == &no_trial)
        make_trial(s);
    if (shape == &no_margins || shape == &no_labels || shape == &no_trial)
        ef_kept_drop(inside(s->model));
    assert_int_equal(efface_model_encode(s->model, &s->bytes, &s->n_bytes, NULL), EFFACE_OK);
    s->n_nodes = count_nodes(s->model);
    if (shape == &two || shape == &two_sampled) {
        /* The sample of the one and the levels of the other are not reached by the same rows. */
        s->second_params = s->params;
        s->second_params.method = method == PYRAMID ? EFFACE_METHOD_TREE : EFFACE_METHOD_PYRAMID;
        s->second_params.common.seed++;
        assert_int_equal(efface_kmeans_fit(s->data, &s->second_params, &s->second, NULL),
                         EFFACE_OK);
    }
    memset(&s->out, 0xA5, sizeof s->out);
}

static void end(scene *s) {
    efface_bytes_free(s->bytes);
    efface_model_free(s->second);
    efface_model_free(s->model);
    efface_data_free(s->data);
}

/* ---------------------------------------------------------------- what can be seen */

typedef struct snapshot {
    unsigned char *bytes;
    size_t n_bytes;
    int64_t total_weight;
    uint64_t next_id;
    ef_stamp stamps[3]; /* of the set and its models */
    size_t n_rows;
    efface_row rows[MOST_ROWS]; /* by position */
    float values[MOST_ROWS][MOST_COLUMNS];
    float least[MOST_COLUMNS], most[MOST_COLUMNS];
    uint64_t beside;                           /* what it has beside its bytes */
    unsigned char second[EFFACE_DIGEST_BYTES]; /* the other model, */
    uint64_t second_beside;                    /* and what it has beside its bytes */
} snapshot;

static void look(const scene *s, snapshot *sight) {
    memset(sight, 0, sizeof *sight);
    assert_int_equal(efface_model_encode(s->model, &sight->bytes, &sight->n_bytes, NULL),
                     EFFACE_OK);
    sight->n_rows = efface_data_n_rows(s->data);
    sight->total_weight = efface_data_total_weight(s->data);
    sight->next_id = s->data->next_id;
    sight->stamps[0] = s->data->stamp;
    sight->stamps[1] = s->model->stamp;
    assert_true(sight->n_rows <= MOST_ROWS);
    for (size_t i = 0; i < sight->n_rows; i++) {
        const efface_row row = efface_data_row(s->data, i);
        size_t position = SIZE_MAX;
        assert_int_equal(efface_data_find(s->data, row.id, &position), EFFACE_OK);
        assert_int_equal(position, i);
        sight->rows[i].id = row.id;
        sight->rows[i].weight = row.weight;
        sight->rows[i].owner = row.owner;
        sight->rows[i].label = row.label;
        efface_data_values(s->data, i, sight->values[i]);
    }
    ef_data_column_ranges(s->data, sight->least, sight->most);
    sight->beside = kmeans_hash(s->model);
    if (s->second == NULL)
        return;
    sight->stamps[2] = s->second->stamp;
    assert_int_equal(efface_model_digest(s->second, sight->second, NULL), EFFACE_OK);
    sight->second_beside = kmeans_hash(s->second);
}

/* Positions are compared too: nothing that failed has moved a row. */
static bool same_sight(const snapshot *a, const snapshot *b) {
    return a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0 &&
           a->n_rows == b->n_rows && a->total_weight == b->total_weight &&
           a->next_id == b->next_id && memcmp(a->stamps, b->stamps, sizeof a->stamps) == 0 &&
           memcmp(a->rows, b->rows, sizeof a->rows) == 0 &&
           memcmp(a->values, b->values, sizeof a->values) == 0 &&
           memcmp(a->least, b->least, sizeof a->least) == 0 &&
           memcmp(a->most, b->most, sizeof a->most) == 0 && a->beside == b->beside &&
           memcmp(a->second, b->second, sizeof a->second) == 0 &&
           a->second_beside == b->second_beside;
}

static void free_sight(snapshot *sight) {
    efface_bytes_free(sight->bytes);
}

/* The model is that of a fresh fit. */
static void check_model(const efface_model *model, const efface_kmeans_params *params,
                        const efface_data *data, const char *what, long n) {
    efface_difference difference;
    assert_int_equal(efface_model_verify(model, data, &difference, NULL), EFFACE_OK);
    if (!difference.identical)
        fail_msg("%s, allocation %ld: not the bytes of a fit afterwards", what, n);
    efface_model *fresh = NULL;
    unsigned char *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(efface_kmeans_fit(data, params, &fresh, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(model, &a, &n_a, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(fresh, &b, &n_b, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_msg("%s, allocation %ld: not the bytes of a fresh fit afterwards", what, n);
    if (!same_kept(inside(model), inside(fresh)))
        fail_msg("%s, allocation %ld: not the labels of a fresh fit afterwards", what, n);
    efface_bytes_free(a);
    efface_bytes_free(b);
    efface_model_free(fresh);
}

static void check_law(const scene *s, const char *what, long n) {
    check_model(s->model, &s->params, s->data, what, n);
    if (s->second != NULL)
        check_model(s->second, &s->second_params, s->data, what, n);
}

#endif
