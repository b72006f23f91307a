/*
 * Memory runs out: for every call, the n-th allocation fails, for n = 1, 2, ... until none is left
 * to fail. After each failure the status is EFFACE_E_MEMORY with a message, outputs are untouched,
 * the model's canonical bytes and all that can be seen of the set, and of the sets of a tree's
 * nodes, are what they were; and the same call with memory then does what it does to a model that
 * never failed. The same for two models over one set. No block is lost on the way.
 *
 * The linker sends malloc and its kin through the functions below (--wrap, tests/CMakeLists.txt).
 * Only this program and the static library are so wrapped: a thread is created as always. A worker
 * whose small argument cannot be allocated is not an error: the call then succeeds with fewer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/kmeans/tree.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the failing allocator */

static atomic_long n_until_failure; /* 0: not armed; 1: the next allocation fails */
static atomic_bool has_failed;
static atomic_long n_blocks; /* that are allocated */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static bool fails(void) {
    if (atomic_load(&n_until_failure) == 0)
        return false;
    const bool now = atomic_fetch_sub(&n_until_failure, 1) == 1;
    if (now)
        atomic_store(&has_failed, true);
    return now;
}

static void *counted(void *memory) {
    atomic_fetch_add(&n_blocks, memory != NULL);
    return memory;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (fails())
        return NULL;
    return memory == NULL ? counted(__real_realloc(memory, size)) : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory) {
    atomic_fetch_sub(&n_blocks, memory != NULL);
    __real_free(memory);
}

static void arm(long n) {
    atomic_store(&has_failed, false);
    atomic_store(&n_until_failure, n);
}

/* Whether an allocation failed since arm(). */
static bool disarm(void) {
    atomic_store(&n_until_failure, 0);
    return atomic_load(&has_failed);
}

/* ---------------------------------------------------------------- scenes */

#define MOST_ROWS 220
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
    double rate;  /* of pyramid: the jury is all rows, or with a rate of 1/8 about half of them */
    bool watched; /* the model has watches of its levels */
} set_shape;

static const set_shape small = {60, 3, 5, 6, 1, true, false, 0.5, false};
static const set_shape wide = {200, 64, 24, 3, 2, false, false, 1.0, false};
static const set_shape brief = {60, 3, 5, 1, 1, true, false, 0.5, false};
static const set_shape derived = {60, 3, 5, 6, 1, true, true, 0.5, false};
/* For lloyd. */
static const set_shape watched = {90, 3, 5, 6, 1, true, false, 0.5, true};
/* One column, in which the starts of pyramid come out so alike that a row makes another the best.
 */
static const set_shape narrow = {60, 1, 2, 1, 1, true, false, 0.5, false};
/* So few rows in the sample that the jury is a copy too. */
static const set_shape sparse = {60, 3, 2, 2, 1, true, false, 0.125, false};
/* For trees: about as many rows as leaves. */
static const set_shape scattered = {8, 2, 2, 2, 1, true, false, 0.5, false};
/* For two models. */
static const set_shape two = {60, 3, 5, 6, 1, true, false, 0.5, false};

/* A row that a request brings in. */
typedef struct newcomer {
    float values[MOST_COLUMNS];
} newcomer;

/* The methods, the one that draws again, which is not exact but must fail as cleanly, and trees of
 * height 1 with leaves of lloyd or pyramid, and of height 2 with leaves of quantized. */
enum { LLOYD, QUANTIZED, PYRAMID, FRESH, TREE, SAMPLED_TREE, TALL_TREE, N_METHODS };

static const char *const method_names[] = {"lloyd", "quantized",       "pyramid",  "fresh",
                                           "tree",  "tree of samples", "tall tree"};

typedef struct scene {
    const set_shape *shape;
    efface_kmeans_params params;
    efface_data *data;
    efface_kmeans *model;
    efface_kmeans_params second_params;
    efface_kmeans *second; /* another model of the same set, or NULL */
    unsigned candidate;    /* which request, of many, so that each action can be looked for */
    unsigned char *bytes;  /* of the model */
    size_t n_bytes;
    size_t n_nodes; /* of the first, if it is a tree, before the call */

    /* What the call hands out. All bytes of it are compared. */
    struct {
        efface_kmeans *model;
        efface_data *data;
        unsigned char *bytes;
        size_t n_bytes;
        unsigned char digest[EFFACE_DIGEST_BYTES];
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
    static int32_t labels[MOST_ROWS];
    const size_t n = shape->n;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < shape->d; j++)
            values[i * shape->d + j] = whole_value(i, j);
        if (shape->derived && i == OUTLIER)
            values[i * shape->d] = 100.0F;
        owners[i] = i / 3;
        labels[i] = (int32_t)(i % 7);
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
    case TREE: return EFFACE_METHOD_LLOYD;
    case PYRAMID:
    case SAMPLED_TREE: return EFFACE_METHOD_PYRAMID;
    default: return EFFACE_METHOD_QUANTIZED;
    }
}

static size_t count_nodes(const efface_kmeans *model) {
    size_t n = 0;
    for (uint32_t l = 0; model->tree != NULL && l <= model->tree->height; l++)
        for (size_t i = 0; i < model->tree->n_nodes[l]; i++)
            n += model->tree->nodes[l][i].model != NULL;
    return n;
}

/* Turns the parameters into those of a tree. */
static void make_tree(scene *s, int method) {
    static const uint32_t fewer[2] = {2, 3};
    s->params.leaf_method = s->params.method;
    s->params.node_method = method == TALL_TREE ? EFFACE_METHOD_QUANTIZED : EFFACE_METHOD_LLOYD;
    s->params.method = EFFACE_METHOD_TREE;
    s->params.height = method == TALL_TREE ? 2 : 1;
    s->params.width = s->shape == &scattered ? (method == TALL_TREE ? 5 : 8) : 2;
    s->params.weigh_centroids = method == SAMPLED_TREE;
    s->params.starts = 2;
    s->params.depth_clusters = method == TALL_TREE ? fewer : NULL;
}

/* Some rows leave that are not needed, until levels have been made anew. */
static void make_watches(scene *s) {
    uint64_t id = s->shape->n;
    s->model->was_rebuilt = true;
    while (s->model->watches == NULL && id > s->shape->n - 20) {
        id--;
        assert_int_equal(
            efface_kmeans_forget(s->model, s->data, &id, 1, EFFACE_MISSING_FAIL, NULL, NULL),
            EFFACE_OK);
    }
    assert_non_null(s->model->watches);
}

static void begin(scene *s, const set_shape *shape, int method, unsigned candidate) {
    memset(s, 0, sizeof *s);
    s->shape = shape;
    s->candidate = candidate;
    efface_kmeans_params_init(&s->params);
    s->params.method = flat_method(method);
    s->params.redraw = method == FRESH ? EFFACE_REDRAW_FRESH : EFFACE_REDRAW_SAME;
    s->params.n_clusters = shape->k;
    s->params.iterations = shape->iterations;
    s->params.n_threads = shape->n_threads;
    s->params.seed = 20191105;
    s->params.bound = shape->derived ? 0.0 : 0x1p23;
    s->params.epsilon = s->params.method == EFFACE_METHOD_QUANTIZED ? 6 * 0x1p-23 : 0.0;
    s->params.rate = shape->rate;
    s->params.passes = 2;
    if (method >= TREE)
        make_tree(s, method);
    s->data = make_set(shape);
    assert_int_equal(efface_kmeans_fit(s->data, &s->params, &s->model, NULL), EFFACE_OK);
    if (shape->watched)
        make_watches(s);
    assert_int_equal(efface_kmeans_encode(s->model, &s->bytes, &s->n_bytes, NULL), EFFACE_OK);
    s->n_nodes = count_nodes(s->model);
    if (shape == &two) {
        /* The sample of the one and the levels of the other are not reached by the same rows. */
        s->second_params = s->params;
        s->second_params.method = method == PYRAMID ? EFFACE_METHOD_TREE : EFFACE_METHOD_PYRAMID;
        s->second_params.redraw = EFFACE_REDRAW_SAME;
        s->second_params.seed++;
        assert_int_equal(efface_kmeans_fit(s->data, &s->second_params, &s->second, NULL),
                         EFFACE_OK);
    }
    memset(&s->out, 0xA5, sizeof s->out);
}

static void end(scene *s) {
    efface_bytes_free(s->bytes);
    efface_kmeans_free(s->second);
    efface_kmeans_free(s->model);
    efface_data_free(s->data);
}

/* ---------------------------------------------------------------- what can be seen */

typedef struct snapshot {
    unsigned char *bytes;
    size_t n_bytes;
    uint32_t labels[MOST_ROWS]; /* that pyramid keeps */
    ef_members members;
    int64_t total_weight;
    uint64_t next_id;
    size_t n_rows;
    efface_row rows[MOST_ROWS]; /* by position */
    float values[MOST_ROWS][MOST_COLUMNS];
    float least[MOST_COLUMNS], most[MOST_COLUMNS];
    uint64_t nodes; /* a hash of the sets of all nodes, and of the labels that they keep */
    unsigned char second[EFFACE_DIGEST_BYTES]; /* the other model, */
    uint64_t second_nodes;                     /* and what it has beside its bytes */
} snapshot;

/* Of a multiple of 4 bytes. */
static void hash(uint64_t *sum, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i, sizeof word);
        *sum = mix(*sum + word + 1);
    }
}

/* All that can be seen of a node beside its model's bytes; positions and ranges too. */
static void hash_node(uint64_t *sum, const ef_node *node) {
    const efface_data *const set = node->data;
    float values[MOST_COLUMNS], least[MOST_COLUMNS], most[MOST_COLUMNS];
    const size_t n = efface_data_n_rows(set), n_bytes = set->n_columns * sizeof *values;
    hash(sum, &n, sizeof n);
    hash(sum, &set->total_weight, sizeof set->total_weight);
    hash(sum, &set->next_id, sizeof set->next_id);
    for (size_t i = 0; i < n; i++) {
        const efface_row row = efface_data_row(set, i);
        size_t position = SIZE_MAX;
        assert_int_equal(efface_data_find(set, row.id, &position), EFFACE_OK);
        assert_int_equal(position, i);
        efface_data_values(set, i, values);
        hash(sum, &row.id, sizeof row.id);
        hash(sum, &row.weight, sizeof row.weight);
        hash(sum, values, n_bytes);
    }
    ef_data_column_ranges(set, least, most);
    hash(sum, least, n_bytes);
    hash(sum, most, n_bytes);
    hash(sum, &node->model->members, sizeof node->model->members);
    hash(sum, node->model->labels, node->model->labels != NULL ? n * sizeof(uint32_t) : 0);
}

static uint64_t hash_nodes(const efface_kmeans *model) {
    const ef_tree *const tree = model->tree;
    uint64_t sum = 1;
    for (uint32_t l = 0; tree != NULL && l <= tree->height; l++)
        for (size_t i = 0; i < tree->n_nodes[l]; i++) {
            const uint32_t there = tree->nodes[l][i].model != NULL;
            hash(&sum, &there, sizeof there);
            if (there != 0)
                hash_node(&sum, &tree->nodes[l][i]);
        }
    return sum;
}

static void look(const scene *s, snapshot *sight) {
    memset(sight, 0, sizeof *sight);
    assert_int_equal(efface_kmeans_encode(s->model, &sight->bytes, &sight->n_bytes, NULL),
                     EFFACE_OK);
    sight->members = s->model->members;
    sight->n_rows = efface_data_n_rows(s->data);
    sight->total_weight = efface_data_total_weight(s->data);
    sight->next_id = s->data->next_id;
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
    if (s->model->labels != NULL)
        memcpy(sight->labels, s->model->labels, (size_t)s->model->n_rows * sizeof *sight->labels);
    ef_data_column_ranges(s->data, sight->least, sight->most);
    sight->nodes = hash_nodes(s->model);
    if (s->second == NULL)
        return;
    assert_int_equal(efface_kmeans_digest(s->second, sight->second, NULL), EFFACE_OK);
    sight->second_nodes = hash_nodes(s->second);
    hash(&sight->second_nodes, &s->second->members, sizeof s->second->members);
    hash(&sight->second_nodes, s->second->labels,
         s->second->labels != NULL ? sight->n_rows * sizeof(uint32_t) : 0);
}

/* Positions are compared too: nothing that failed has moved a row. */
static bool same_sight(const snapshot *a, const snapshot *b) {
    return a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0 &&
           a->n_rows == b->n_rows && a->total_weight == b->total_weight &&
           a->next_id == b->next_id && memcmp(a->rows, b->rows, sizeof a->rows) == 0 &&
           memcmp(a->values, b->values, sizeof a->values) == 0 &&
           memcmp(a->labels, b->labels, sizeof a->labels) == 0 &&
           memcmp(&a->members, &b->members, sizeof a->members) == 0 &&
           memcmp(a->least, b->least, sizeof a->least) == 0 &&
           memcmp(a->most, b->most, sizeof a->most) == 0 && a->nodes == b->nodes &&
           memcmp(a->second, b->second, sizeof a->second) == 0 &&
           a->second_nodes == b->second_nodes;
}

static void free_sight(snapshot *sight) {
    efface_bytes_free(sight->bytes);
}

/* The model is that of a fresh fit, or, where randomness is drawn again, of one with that draw. */
static void check_model(const efface_kmeans *model, const efface_kmeans_params *params,
                        const efface_data *data, const char *what, long n) {
    efface_difference difference;
    assert_int_equal(efface_kmeans_verify(model, data, &difference, NULL), EFFACE_OK);
    if (!difference.identical)
        fail_msg("%s, allocation %ld: not the bytes of a fit afterwards", what, n);
    if (params->redraw == EFFACE_REDRAW_FRESH)
        return;
    efface_kmeans *fresh = NULL;
    unsigned char *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(efface_kmeans_fit(data, params, &fresh, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_encode(model, &a, &n_a, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_encode(fresh, &b, &n_b, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_msg("%s, allocation %ld: not the bytes of a fresh fit afterwards", what, n);
    if (fresh->labels != NULL &&
        memcmp(model->labels, fresh->labels, (size_t)fresh->n_rows * sizeof *fresh->labels) != 0)
        fail_msg("%s, allocation %ld: not the labels of a fresh fit afterwards", what, n);
    efface_bytes_free(a);
    efface_bytes_free(b);
    efface_kmeans_free(fresh);
}

static void check_law(const scene *s, const char *what, long n) {
    check_model(s->model, &s->params, s->data, what, n);
    if (s->second != NULL)
        check_model(s->second, &s->second_params, s->data, what, n);
}

/* ---------------------------------------------------------------- operations */

/* One model, or both. */

static efface_status forget(scene *s, const uint64_t *ids, size_t n, efface_missing missing,
                            efface_report *reports, efface_error *error) {
    efface_kmeans *const both[2] = {s->model, s->second};
    return s->second != NULL
               ? efface_models_forget(both, 2, s->data, ids, n, missing, reports, error)
               : efface_kmeans_forget(s->model, s->data, ids, n, missing, reports, error);
}

static efface_status learn_rows(scene *s, const efface_rows *rows, efface_error *error) {
    efface_kmeans *const both[2] = {s->model, s->second};
    return s->second != NULL ? efface_models_learn(both, 2, s->data, rows, s->out.reports, error)
                             : efface_kmeans_learn(s->model, s->data, rows, s->out.reports, error);
}

static efface_status update_rows(scene *s, const efface_rows *rows, efface_error *error) {
    efface_kmeans *const both[2] = {s->model, s->second};
    return s->second != NULL ? efface_models_update(both, 2, s->data, rows, s->out.reports, error)
                             : efface_kmeans_update(s->model, s->data, rows, s->out.reports, error);
}

static efface_status op_fit(scene *s, efface_error *error) {
    return efface_kmeans_fit(s->data, &s->params, &s->out.model, error);
}

/* With bounds of columns to be copied. */
static efface_status op_fit_ranges(scene *s, efface_error *error) {
    static const float low[MOST_COLUMNS];
    static float high[MOST_COLUMNS];
    for (uint32_t j = 0; j < MOST_COLUMNS; j++)
        high[j] = 200.0F;
    efface_kmeans_params params = s->params;
    params.scale = EFFACE_SCALE_MINMAX;
    params.column_min = low;
    params.column_max = high;
    return efface_kmeans_fit(s->data, &params, &s->out.model, error);
}

static efface_status op_forget(scene *s, efface_error *error) {
    const uint64_t id = s->candidate % s->shape->n;
    return forget(s, &id, 1, EFFACE_MISSING_FAIL, s->out.reports, error);
}

static efface_status op_forget_batch(scene *s, efface_error *error) {
    uint64_t ids[MOST_REQUEST];
    const size_t n = s->candidate % 2 != 0 ? MOST_REQUEST : 2;
    for (uint64_t i = 0; i < n; i++)
        ids[i] = (s->candidate + i * 11) % s->shape->n;
    return forget(s, ids, n, EFFACE_MISSING_SKIP, s->out.reports, error);
}

static efface_status op_forget_owner(scene *s, efface_error *error) {
    efface_kmeans *const both[2] = {s->model, s->second};
    const uint64_t owner = s->candidate % (s->shape->n / 3);
    if (s->second != NULL)
        return efface_models_forget_owner(both, 2, s->data, owner, EFFACE_MISSING_FAIL,
                                          s->out.reports, error);
    return efface_kmeans_forget_owner(s->model, s->data, owner, EFFACE_MISSING_FAIL, s->out.reports,
                                      error);
}

static efface_status op_preview(scene *s, efface_error *error) {
    const uint64_t ids[2] = {s->candidate % s->shape->n, (s->candidate + 17) % s->shape->n};
    return efface_kmeans_preview(s->model, s->data, ids, 2, EFFACE_MISSING_FAIL, &s->out.reports[0],
                                 error);
}

/* One row, or as many as need more room than there is; `ids` may be NULL. */
static efface_status learn(scene *s, size_t n, const uint64_t *ids, efface_error *error) {
    float values[20 * MOST_COLUMNS];
    for (size_t i = 0; i < n; i++) {
        const newcomer row = make_newcomer(s->candidate, i, s->shape->d);
        memcpy(values + i * s->shape->d, row.values, s->shape->d * sizeof *values);
    }
    const efface_rows rows = {.n_rows = n, .values = values, .ids = ids};
    return learn_rows(s, &rows, error);
}

static efface_status op_learn(scene *s, efface_error *error) {
    const uint64_t id = s->shape->n + s->candidate;
    return learn(s, 1, s->candidate % 2 != 0 ? &id : NULL, error);
}

static efface_status op_learn_batch(scene *s, efface_error *error) {
    return learn(s, 20, NULL, error);
}

/* Also gives weights for the first time. */
static efface_status op_update(scene *s, efface_error *error) {
    const newcomer row = make_newcomer(s->candidate, 0, s->shape->d);
    const uint64_t id = s->candidate % s->shape->n;
    const int64_t weight = 1 + (int64_t)(s->candidate % 3);
    const efface_rows rows = {.n_rows = 1, .values = row.values, .ids = &id, .weights = &weight};
    return update_rows(s, &rows, error);
}

static efface_status op_verify(scene *s, efface_error *error) {
    return efface_kmeans_verify(s->model, s->data, &s->out.difference, error);
}

static efface_status op_rekey(scene *s, efface_error *error) {
    const efface_status status =
        efface_kmeans_rekey(s->model, s->data, 99, &s->out.reports[0], error);
    if (status == EFFACE_OK)
        s->params.seed = 99;
    return status;
}

static efface_status op_loss(scene *s, efface_error *error) {
    return efface_kmeans_loss(s->model, s->data, &s->out.number, error);
}

static efface_status op_labels(scene *s, efface_error *error) {
    return efface_kmeans_labels(s->model, s->data, s->out.labels, error);
}

static efface_status op_predict(scene *s, efface_error *error) {
    const newcomer row = make_newcomer(3, 0, s->shape->d);
    return efface_kmeans_predict(s->model, 1, row.values, 0, s->out.labels, error);
}

static efface_status op_silhouette(scene *s, efface_error *error) {
    return efface_kmeans_silhouette(s->model, s->data, NULL, 0, &s->out.number, error);
}

static efface_status op_encode(scene *s, efface_error *error) {
    return efface_kmeans_encode(s->model, &s->out.bytes, &s->out.n_bytes, error);
}

static efface_status op_decode(scene *s, efface_error *error) {
    return efface_kmeans_decode(s->bytes, s->n_bytes, &s->params, s->data, &s->out.model, error);
}

static efface_status op_digest(scene *s, efface_error *error) {
    return efface_kmeans_digest(s->model, s->out.digest, error);
}

static efface_status op_create(scene *s, efface_error *error) {
    return efface_data_create(s->shape->d, &s->out.data, error);
}

/* What changes the set alone: the model no longer fits it afterwards. */

static efface_status op_add(scene *s, efface_error *error) {
    float values[20 * MOST_COLUMNS] = {0};
    const efface_rows rows = {.n_rows = 20, .values = values};
    return efface_data_add(s->data, &rows, error);
}

static efface_status op_add_all(scene *s, efface_error *error) {
    float values[20 * MOST_COLUMNS] = {0};
    uint64_t ids[20], owners[20];
    int64_t weights[20];
    int32_t labels[20];
    for (unsigned i = 0; i < 20; i++) {
        ids[i] = 1000 - i;
        weights[i] = 2 + i;
        owners[i] = i;
        labels[i] = -1;
    }
    const efface_rows rows = {20, values, 0, ids, weights, owners, labels};
    return efface_data_add(s->data, &rows, error);
}

static efface_status op_remove(scene *s, efface_error *error) {
    const uint64_t ids[3] = {0, s->shape->n - 1, 20};
    return efface_data_remove(s->data, ids, 3, error);
}

static efface_status op_replace(scene *s, efface_error *error) {
    float values[2 * MOST_COLUMNS] = {0};
    const uint64_t ids[2] = {3, s->shape->n - 1}, owners[2] = {8, 9};
    const int64_t weights[2] = {5, 6};
    const int32_t labels[2] = {1, 2};
    const efface_rows rows = {2, values, 0, ids, weights, owners, labels};
    return efface_data_replace(s->data, &rows, error);
}

/* ---------------------------------------------------------------- the loop */

static void release_outputs(scene *s, operation op) {
    if (op == op_fit || op == op_fit_ranges || op == op_decode)
        efface_kmeans_free(s->out.model);
    if (op == op_create)
        efface_data_free(s->out.data);
    if (op == op_encode)
        efface_bytes_free(s->out.bytes);
    memset(&s->out, 0xA5, sizeof s->out);
}

static bool changes_set_alone(operation op) {
    return op == op_add || op == op_add_all || op == op_remove || op == op_replace;
}

/* After a call that succeeded: the law, and once more after another change. */
static void check_success(scene *s, operation op, const char *what, long n) {
    if (changes_set_alone(op)) { /* the model knows nothing of it */
        efface_kmeans_free(s->model);
        s->model = NULL;
        assert_int_equal(efface_kmeans_fit(s->data, &s->params, &s->model, NULL), EFFACE_OK);
    }
    check_law(s, what, n);
    const uint64_t id = efface_data_row(s->data, 0).id;
    assert_int_equal(forget(s, &id, 1, EFFACE_MISSING_FAIL, NULL, NULL), EFFACE_OK);
    check_law(s, what, n);
}

/* One call whose n-th allocation fails. Returns whether it was reached. */
static bool fail_once(scene *s, operation op, const char *what, long n, bool *succeeded) {
    static snapshot before, after;
    unsigned char outputs[sizeof s->out];
    efface_error error;
    memset(&error, 0, sizeof error);
    look(s, &before);
    memcpy(outputs, &s->out, sizeof outputs);
    const long blocks = atomic_load(&n_blocks);
    arm(n);
    const efface_status status = op(s, &error);
    const bool reached = disarm();
    *succeeded = status == EFFACE_OK;
    if (status != EFFACE_OK) {
        look(s, &after);
        if (status != EFFACE_E_MEMORY || error.status != status || error.message[0] == '\0')
            fail_msg("%s, allocation %ld: status %d, message '%s'", what, n, (int)status,
                     error.message);
        if (!reached)
            fail_msg("%s: out of memory though no allocation failed", what);
        if (memcmp(outputs, &s->out, sizeof outputs) != 0)
            fail_msg("%s, allocation %ld: an output was written", what, n);
        if (!same_sight(&before, &after))
            fail_msg("%s, allocation %ld: the model or the set changed", what, n);
        free_sight(&after);
        /* A set may keep what it got: larger arrays, and ids, weights, ... spelled out. */
        const size_t n_sets = 1 + s->n_nodes + (s->second != NULL ? count_nodes(s->second) : 0);
        if (atomic_load(&n_blocks) > blocks + 6 * (long)n_sets)
            fail_msg("%s, allocation %ld: %ld blocks more than before", what, n,
                     atomic_load(&n_blocks) - blocks);
    }
    free_sight(&before);
    return reached;
}

static struct {
    long calls, failures, spared; /* spared: an allocation failed and the call succeeded */
} seen;

/* All failures of one call. Returns how many there are. */
static long fail_each(operation op, const char *what, const set_shape *shape, int method,
                      unsigned candidate) {
    const long blocks = atomic_load(&n_blocks);
    scene s;
    begin(&s, shape, method, candidate);
    long n = 1;
    for (bool reached = true; reached; n++) {
        bool succeeded;
        reached = fail_once(&s, op, what, n, &succeeded);
        /* A model can do without a watch, as it can with a thread less. */
        if (reached && succeeded && shape->n_threads == 1 && !shape->watched)
            fail_msg("%s, allocation %ld failed and nobody noticed", what, n);
        seen.failures += !succeeded;
        seen.spared += reached && succeeded;
        if (succeeded) {
            release_outputs(&s, op);
            check_success(&s, op, what, n);
        } else if (shape->thorough) {
            assert_int_equal(op(&s, NULL), EFFACE_OK);
            release_outputs(&s, op);
            check_success(&s, op, what, n);
        }
        if (succeeded || shape->thorough) {
            end(&s);
            begin(&s, shape, method, candidate);
        }
    }
    end(&s);
    if (atomic_load(&n_blocks) != blocks)
        fail_msg("%s: %ld blocks were lost", what, atomic_load(&n_blocks) - blocks);
    seen.calls++;
    return n - 2;
}

/* What a change took: nothing, the starts of pyramid, another of them by the jury alone, levels
 * from somewhere on, races for seeds, or a fit. In a tree: how far it climbed, or whether nodes
 * went or came. */
enum {
    UNTOUCHED,
    SAMPLE,
    JURY,
    FIRST,
    LATER,
    SEEDS,
    EVERYTHING,
    TO_LEAVES,
    INSIDE,
    TO_ROOT,
    FEWER_NODES,
    MORE_NODES,
    N_PLACES
};

static const char *const place_names[] = {"untouched",
                                          "repaired from the sample on",
                                          "repaired from another start on",
                                          "repaired",
                                          "repaired from a later level",
                                          "another seed",
                                          "refitted",
                                          "no farther than the leaves",
                                          "no farther than an inner node",
                                          "up to the root",
                                          "a node gone",
                                          "a node come"};

/* Five starts that run are judged by each row of the jury: by half the rows here, or by all. */
static bool visits_starts(const efface_report *report, const scene *s) {
    return report->rows_visited > (uint64_t)s->params.passes * efface_data_n_rows(s->data);
}

static int place_in_tree(const efface_report *report, const scene *s) {
    const size_t n_nodes = count_nodes(s->model);
    if (report->action == EFFACE_ACTION_REFITTED)
        return EVERYTHING;
    if (n_nodes != s->n_nodes)
        return n_nodes < s->n_nodes ? FEWER_NODES : MORE_NODES;
    return report->depth == s->model->tree->height ? TO_LEAVES
           : report->depth == 0                    ? TO_ROOT
                                                   : INSIDE;
}

static int place_of(const efface_report *report, const scene *s) {
    if (s->model->tree != NULL)
        return place_in_tree(report, s);
    if (report->action == EFFACE_ACTION_UNTOUCHED)
        return UNTOUCHED;
    if (report->action == EFFACE_ACTION_REPAIRED)
        return report->reason != EFFACE_REASON_SAMPLE ? (report->level == 0 ? FIRST : LATER)
               : visits_starts(report, s)             ? SAMPLE
                                                      : JURY;
    return report->reason == EFFACE_REASON_SEED && s->params.redraw == EFFACE_REDRAW_SAME
               ? SEEDS
               : EVERYTHING;
}

#define MOST_CANDIDATES 60

/* The first candidate for each place; MOST_CANDIDATES where there is none. */
static void find_candidates(operation op, const set_shape *shape, int method,
                            unsigned found[N_PLACES]) {
    for (int place = 0; place < N_PLACES; place++)
        found[place] = MOST_CANDIDATES;
    for (unsigned candidate = MOST_CANDIDATES; candidate-- > 0;) {
        scene s;
        begin(&s, shape, method, candidate);
        assert_int_equal(op(&s, NULL), EFFACE_OK);
        found[place_of(&s.out.reports[0], &s)] = candidate;
        end(&s);
    }
}

/* Some sets are for trees alone, some for other methods; one tree is enough for threads. */
static int first_method(const set_shape *shape) {
    return shape == &scattered ? TREE : 0;
}

static int end_of_methods(const set_shape *shape, operation op) {
    if (shape == &watched)
        return LLOYD + 1;
    if (shape == &brief || shape == &narrow || shape == &sparse || changes_set_alone(op))
        return TREE;
    return shape == &wide ? TREE + 1 : N_METHODS;
}

/* What the small sets must have a candidate for. */
static bool is_expected(const set_shape *shape, int method, int place, operation op) {
    if (shape->derived)
        return place == EVERYTHING;
    if (shape->watched)
        return place == LATER;
    if (method >= TREE && shape == &scattered)
        return (place == FEWER_NODES && op == op_forget) || (place == MORE_NODES && op == op_learn);
    if (method >= TREE)
        return place == TO_ROOT ||
               (method == TALL_TREE && shape == &small && (place == TO_LEAVES || place == INSIDE));
    if (shape == &narrow)
        return (place == JURY || place == SAMPLE) && method == PYRAMID;
    if (shape == &sparse)
        return place == SAMPLE && method == PYRAMID;
    if (method == FRESH)
        return place == UNTOUCHED || place == EVERYTHING;
    if (place == LATER)
        return method != PYRAMID && shape->iterations > 1;
    if (place == SAMPLE || place == SEEDS)
        return (place == SAMPLE) == (method == PYRAMID);
    return place == UNTOUCHED;
}

/* A change of the model, so that each place is among those that fail. */
static void fail_changes(operation op, const char *what, const set_shape *shape) {
    for (int method = first_method(shape); method < end_of_methods(shape, op); method++) {
        unsigned found[N_PLACES];
        find_candidates(op, shape, method, found);
        for (int place = 0; place < N_PLACES; place++) {
            char name[100];
            snprintf(name, sizeof name, "%s, %s, %s, %u threads", what, method_names[method],
                     place_names[place], shape->n_threads);
            if (found[place] < MOST_CANDIDATES)
                assert_true(fail_each(op, name, shape, method, found[place]) >= 5);
            else if (shape->thorough && is_expected(shape, method, place, op))
                fail_msg("no candidate for %s", name);
        }
    }
}

static void fail_others(operation op, const char *what, const set_shape *shape) {
    for (int method = first_method(shape); method < end_of_methods(shape, op); method++) {
        char name[100];
        snprintf(name, sizeof name, "%s, %s, %u threads", what, method_names[method],
                 shape->n_threads);
        assert_true(fail_each(op, name, shape, method, 0) >= 1);
    }
}

/* ---------------------------------------------------------------- tests */

static void for_both(void (*all)(operation, const char *, const set_shape *), operation op,
                     const char *what) {
    all(op, what, &small);
    all(op, what, &wide);
}

static void fit_fails(void **state) {
    (void)state;
    for_both(fail_others, op_fit, "fit");
    assert_true(seen.spared > 0); /* or else there never were two threads */
    fail_others(op_fit, "fit", &sparse);
    for_both(fail_others, op_fit_ranges, "fit with bounds");
}

static void forget_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_forget, "forget");
    fail_changes(op_forget_batch, "forget a batch", &small);
    fail_changes(op_forget_owner, "forget an owner", &small);
    fail_changes(op_forget, "forget", &watched);
    fail_changes(op_forget_batch, "forget a batch", &watched);
    fail_changes(op_forget, "forget", &derived);
    fail_changes(op_forget, "forget", &brief);
    fail_changes(op_forget, "forget", &narrow);
    fail_changes(op_forget, "forget", &sparse);
    fail_changes(op_forget, "forget", &scattered);
    fail_changes(op_forget_batch, "forget a batch", &scattered);
}

static void preview_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_preview, "preview");
    fail_changes(op_preview, "preview", &narrow);
    fail_changes(op_preview, "preview", &scattered);
}

static void learn_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_learn, "learn");
    fail_changes(op_learn, "learn", &watched);
    fail_others(op_learn_batch, "learn a batch", &watched);
    fail_changes(op_learn, "learn", &derived);
    fail_changes(op_learn, "learn", &brief);
    fail_changes(op_learn, "learn", &narrow);
    fail_changes(op_learn, "learn", &scattered);
    for_both(fail_others, op_learn_batch, "learn a batch");
}

static void update_fails(void **state) {
    (void)state;
    for_both(fail_changes, op_update, "update");
    fail_changes(op_update, "update", &derived);
    fail_changes(op_update, "update", &narrow);
    fail_changes(op_update, "update", &scattered);
}

static void two_models_fail(void **state) {
    (void)state;
    fail_changes(op_forget, "forget in two models", &two);
    fail_changes(op_forget_owner, "forget an owner in two models", &two);
    fail_changes(op_learn, "learn in two models", &two);
    fail_changes(op_update, "update in two models", &two);
}

static void rekey_and_verify_fail(void **state) {
    (void)state;
    for_both(fail_others, op_rekey, "rekey");
    for_both(fail_others, op_verify, "verify");
}

static void questions_fail(void **state) {
    (void)state;
    for_both(fail_others, op_loss, "loss");
    for_both(fail_others, op_labels, "labels");
    for_both(fail_others, op_predict, "predict");
    for_both(fail_others, op_silhouette, "silhouette");
    for_both(fail_others, op_encode, "encode");
    for_both(fail_others, op_decode, "decode");
    fail_others(op_decode, "decode", &scattered);
    for_both(fail_others, op_digest, "digest");
}

static void set_fails(void **state) {
    (void)state;
    fail_others(op_create, "create", &small);
    for_both(fail_others, op_add, "add");
    for_both(fail_others, op_add_all, "add with ids, weights, owners and labels");
    for_both(fail_others, op_remove, "remove");
    for_both(fail_others, op_replace, "replace");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_fails),
        cmocka_unit_test(forget_fails),
        cmocka_unit_test(preview_fails),
        cmocka_unit_test(learn_fails),
        cmocka_unit_test(update_fails),
        cmocka_unit_test(two_models_fail),
        cmocka_unit_test(rekey_and_verify_fail),
        cmocka_unit_test(questions_fail),
        cmocka_unit_test(set_fails),
    };
    const int n_failed = cmocka_run_group_tests_name("memory", tests, NULL, NULL);
    printf("%ld calls failed %ld times; %ld times a call did with a thread less\n", seen.calls,
           seen.failures, seen.spared);
    return n_failed;
}
