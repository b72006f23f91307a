/*
 * The law in a group for sets that are larger than those of walks: with samples, margins and labels
 * that are kept, rows near borders, several candidates for a seed, and trees of which a rank has no
 * row of some leaves. A model in one process follows requests, and its digest is noted after each;
 * then groups of several sizes, whose ranks work with different numbers of threads, do the same.
 * Now and then a rank loses what it keeps to be faster, as it would if memory were short.
 *
 * EFFACE_GROUP_ROWS is the number of rows, and then there are only two groups for each kind of
 * model, and half as many requests. EFFACE_GROUP_SET names a file with other rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/team/thread_group.h"
#include "law/draws.h"
#include "law/law_families.h"
#include "model/families.h"
#include "model/kmeans/definition/tree.h"
#include "model/kmeans/kept/kept.h"
#include "model/segmented/segmented.h"

#include <inttypes.h>
#include <string.h>

#define MOST_REQUESTS 30
#define MOST_BATCH 24

/* ---------------------------------------------------------------- models */

/* Parameters of any family. */
typedef union params {
    efface_params common;
    efface_kmeans_params kmeans;
    efface_sums_params sums;
    efface_segmented_params segmented;
} params;

static const uint32_t first_column[] = {0};

static void choose_lloyd(efface_kmeans_params *p) {
    efface_kmeans_params_init(p);
    p->method = EFFACE_METHOD_LLOYD;
    p->n_clusters = 6;
    p->common.seed = 7;
}

static void lloyd(params *p) {
    choose_lloyd(&p->kmeans);
}

static void plain_lloyd(params *p) {
    choose_lloyd(&p->kmeans);
    p->kmeans.candidates = 1;
    p->kmeans.n_clusters = 12;
    p->kmeans.scale = EFFACE_SCALE_MINMAX;
}

/* So many that each rank passes over rows that cannot move, by margins of its own; and too many for
 * margins that are kept for requests. */
static void many_levels(params *p) {
    choose_lloyd(&p->kmeans);
    p->kmeans.candidates = 1;
    p->kmeans.n_clusters = 42;
    p->kmeans.iterations = 34;
}

static void quantized(params *p) {
    choose_lloyd(&p->kmeans);
    p->kmeans.method = EFFACE_METHOD_QUANTIZED;
}

static void pyramid(params *p) {
    choose_lloyd(&p->kmeans);
    p->kmeans.method = EFFACE_METHOD_PYRAMID;
    p->kmeans.n_clusters = 3;
    p->kmeans.pyramid.rate = 0.03;
    p->kmeans.pyramid.starts = 5;
}

static void tall_pyramid(params *p) {
    pyramid(p);
    p->kmeans.pyramid.passes = 3;
    p->kmeans.candidates = 1;
}

static void coarse_pyramid(params *p) {
    pyramid(p);
    p->kmeans.epsilon = 0x1p-5;
    p->kmeans.pyramid.starts = 2;
}

static void tree(params *p) {
    choose_lloyd(&p->kmeans);
    p->kmeans.method = EFFACE_METHOD_TREE;
    p->kmeans.tree.height = 1;
}

static void sampled_tree(params *p) {
    tree(p);
    p->kmeans.tree.width = 2;
    p->kmeans.tree.height = 2;
    p->kmeans.n_clusters = 2;
    p->kmeans.pyramid.rate = 0.1;
    p->kmeans.tree.leaf_method = EFFACE_METHOD_PYRAMID;
    p->kmeans.tree.node_method = EFFACE_METHOD_QUANTIZED;
}

/* Most ranks have no row of most leaves. */
static void wide_tree(params *p) {
    tree(p);
    p->kmeans.tree.width = 500;
    p->kmeans.n_clusters = 3;
}

/* Labels that do not fit into a byte. */
static void many_clusters(params *p) {
    pyramid(p);
    p->kmeans.n_clusters = 260;
    p->kmeans.pyramid.rate = 0.5;
    p->kmeans.candidates = 1;
    p->kmeans.pyramid.starts = 1;
    p->kmeans.iterations = 2;
}

static void linear(params *p) {
    efface_sums_params_init(&p->sums);
    p->sums.view = EFFACE_VIEW_LINEAR;
    p->sums.targets = first_column;
    p->sums.n_targets = 1;
}

static void discriminant(params *p) {
    efface_sums_params_init(&p->sums);
    p->sums.view = EFFACE_VIEW_DISCRIMINANT;
}

static void choose_segmented(params *p, void (*divide)(params *p)) {
    params part;
    divide(&part);
    efface_segmented_params_init(&p->segmented);
    p->segmented.kmeans = part.kmeans;
    p->segmented.targets = first_column;
    p->segmented.n_targets = 1;
}

static void segments(params *p) {
    choose_segmented(p, lloyd);
}

static void sampled_segments(params *p) {
    choose_segmented(p, pyramid);
}

static const struct {
    void (*choose)(params *p);
    const char *name;
} ways[] = {
    {lloyd, "lloyd"},
    {plain_lloyd, "plain lloyd"},
    {quantized, "quantized"},
    {pyramid, "pyramid"},
    {tall_pyramid, "tall pyramid"},
    {coarse_pyramid, "coarse pyramid"},
    {many_clusters, "many clusters"},
    {tree, "tree"},
    {sampled_tree, "sampled tree"},
    {wide_tree, "wide tree"},
    {linear, "linear"},
    {discriminant, "discriminant"},
    {segments, "segments"},
    {sampled_segments, "sampled segments"},
    {many_levels, "many levels"},
};

static efface_status fit(const efface_data *data, const params *p, efface_model **out) {
    switch (p->common.family) {
    case EFFACE_FAMILY_KMEANS: return efface_kmeans_fit(data, &p->kmeans, out, NULL);
    case EFFACE_FAMILY_SUMS: return efface_sums_fit(data, &p->sums, out, NULL);
    default: return efface_segmented_fit(data, &p->segmented, out, NULL);
    }
}

/* ---------------------------------------------------------------- rows */

typedef struct row_list {
    size_t n;
    float *values;
    uint64_t *ids;
    int64_t *weights, *labels;
} row_list;

static uint32_t n_columns;
static row_list all; /* those of the set first, then those that wait */
static size_t n_begin;

static row_list make_list(size_t n) {
    return (row_list){.values = make(n * n_columns, sizeof(float)),
                      .ids = make(n, sizeof(uint64_t)),
                      .weights = make(n, sizeof(int64_t)),
                      .labels = make(n, sizeof(int64_t))};
}

static void free_list(row_list *list) {
    free(list->values);
    free(list->ids);
    free(list->weights);
    free(list->labels);
}

/* Adds a row of `all`, or, with the values of another, itself. */
static void put(row_list *list, size_t row, size_t stands) {
    const size_t at = list->n++, d = n_columns;
    memcpy(list->values + at * d, all.values + stands * d, d * sizeof *list->values);
    list->ids[at] = all.ids[row];
    list->weights[at] = all.weights[stands];
    list->labels[at] = all.labels[stands];
}

static efface_rows batch_of(const row_list *list) {
    return (efface_rows){.n_rows = list->n,
                         .values = list->values,
                         .ids = list->ids,
                         .weights = list->weights,
                         .labels = list->labels};
}

static size_t n_requests = MOST_REQUESTS;

static int read_rows(void **state) {
    (void)state;
    const char *const path = getenv("EFFACE_GROUP_SET"), *const given = getenv("EFFACE_GROUP_ROWS");
    const size_t n_rows = given != NULL ? strtoull(given, NULL, 10) : 20000;
    n_requests = given != NULL ? MOST_REQUESTS / 2 : MOST_REQUESTS;
    efface_data *data = NULL;
    const efface_status status = path != NULL
                                     ? efface_data_load(path, NULL, &data, NULL)
                                     : efface_data_make_gaussian(5, 25, n_rows / 5, 3, &data, NULL);
    assert_int_equal(status, EFFACE_OK);
    n_columns = efface_data_n_columns(data);
    const size_t n = efface_data_n_rows(data);
    all = make_list(n);
    all.n = n;
    for (size_t i = 0; i < n; i++) {
        efface_data_values(data, i, all.values + i * n_columns);
        all.ids[i] = mix(i) >> 20;
        all.weights[i] = 1 + (int64_t)(i % 11 == 0);
        all.labels[i] = (int64_t)(i % 3);
    }
    n_begin = n - n / 20;
    efface_data_free(data);
    return 0;
}

static int forget_rows(void **state) {
    (void)state;
    free_list(&all);
    return 0;
}

static efface_data *make_set(const row_list *list) {
    efface_data *data = NULL;
    const efface_rows batch = batch_of(list);
    RANK_ASSERT(efface_data_create(n_columns, &data, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_data_add(data, &batch, NULL) == EFFACE_OK);
    return data;
}

/* ---------------------------------------------------------------- requests in one process */

typedef enum request_kind { FORGET, LEARN, UPDATE } request_kind;

typedef struct request {
    request_kind kind;
    row_list rows;
} request;

typedef unsigned char digest[EFFACE_DIGEST_BYTES];

typedef struct recording {
    params params;
    const char *name;
    request requests[MOST_REQUESTS];
    digest digests[MOST_REQUESTS + 1]; /* after the fit, and after each */
} recording;

/* A row that is there and matters to the model, or any. */
static uint64_t choose_id(const efface_model *model, const efface_data *data) {
    uint64_t ids[64];
    const law_family *const family = law_families[efface_model_get_info(model).family - 1];
    const size_t n = one_in(3) ? law_name_ids(family, model, data, ids, 64, &rng_state) : 0;
    return n != 0 ? ids[below(n)] : efface_data_row(data, below(efface_data_n_rows(data))).id;
}

static size_t row_of(uint64_t id) {
    size_t row = 0;
    while (all.ids[row] != id)
        row++;
    return row;
}

static bool is_in(const row_list *list, uint64_t id) {
    for (size_t i = 0; i < list->n; i++)
        if (list->ids[i] == id)
            return true;
    return false;
}

static request draw_request(const efface_model *model, const efface_data *data, size_t *n_learned) {
    request r = {.kind = one_in(2)   ? FORGET
                         : one_in(2) ? LEARN
                                     : UPDATE,
                 .rows = make_list(MOST_BATCH)};
    const size_t n = one_in(5) ? 1 + below(MOST_BATCH) : 1;
    if (n_begin + *n_learned + n > all.n)
        r.kind = FORGET;
    while (r.rows.n < n && r.kind == LEARN) {
        const size_t row = n_begin + (*n_learned)++;
        put(&r.rows, row, row);
    }
    while (r.rows.n < n) {
        const uint64_t id = choose_id(model, data);
        if (!is_in(&r.rows, id))
            put(&r.rows, row_of(id), r.kind == UPDATE ? below(all.n) : row_of(id));
    }
    return r;
}

static efface_status follow(efface_model *model, efface_data *data, const request *r,
                            const row_list *rows, efface_error *error) {
    const efface_rows batch = batch_of(rows);
    const efface_request which = {.ids = r->rows.ids, .n_ids = r->rows.n};
    return r->kind == FORGET  ? efface_model_forget(model, data, &which, NULL, error)
           : r->kind == LEARN ? efface_model_learn(model, data, &batch, NULL, error)
                              : efface_model_update(model, data, &batch, NULL, error);
}

static void record(recording *rec, size_t way) {
    size_t n_learned = 0;
    efface_model *model = NULL;
    rng_state = way + 1;
    ways[way].choose(&rec->params);
    rec->name = ways[way].name;
    row_list begin = all;
    begin.n = n_begin;
    efface_data *const data = make_set(&begin);
    assert_int_equal(fit(data, &rec->params, &model), EFFACE_OK);
    assert_int_equal(efface_model_digest(model, rec->digests[0], NULL), EFFACE_OK);
    for (size_t i = 0; i < n_requests; i++) {
        request *const r = &rec->requests[i];
        *r = draw_request(model, data, &n_learned);
        assert_int_equal(follow(model, data, r, &r->rows, NULL), EFFACE_OK);
        assert_int_equal(efface_model_digest(model, rec->digests[i + 1], NULL), EFFACE_OK);
    }
    efface_model_free(model);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- on a rank */

/* The first ranks have most rows. */
static uint32_t rank_of(uint64_t id, uint32_t size) {
    const uint64_t a = mix(id) % size, b = mix(id + 1) % size;
    return (uint32_t)(a < b ? a : b);
}

static row_list own_rows(const row_list *list, size_t n, const efface_group *group) {
    row_list own = make_list(n);
    for (size_t i = 0; i < n; i++) {
        if (rank_of(list->ids[i], group->size) != group->rank)
            continue;
        const size_t at = own.n++, d = n_columns;
        memcpy(own.values + at * d, list->values + i * d, d * sizeof *own.values);
        own.ids[at] = list->ids[i];
        own.weights[at] = list->weights[i];
        own.labels[at] = list->labels[i];
    }
    return own;
}

static void check_digest(const recording *rec, const efface_model *model, size_t at,
                         const efface_group *group) {
    digest is;
    RANK_ASSERT(efface_model_digest(model, is, NULL) == EFFACE_OK);
    if (memcmp(is, rec->digests[at], sizeof is) == 0)
        return;
    (void)fprintf(stderr, "%s, rank %" PRIu32 " of %" PRIu32 ": other bytes after request %zu\n",
                  rec->name, group->rank, group->size, at);
    abort();
}

static void lose_of(ef_kmeans *model, uint64_t how) {
    ef_kept *const kept = model->kept;
    if (kept == NULL)
        return;
    if (how % 3 == 0)
        ef_kept_drop(model);
    else if (how % 3 == 1 && kept->n_margins != 0)
        ef_level_margins_free(&kept->margins[how / 3 % kept->n_margins]);
    else
        ef_kept_labels_free(&kept->labels);
}

/* One rank loses something that it keeps. */
static void lose_kept(efface_model *model, uint64_t how) {
    ef_segmented *const segmented = model->family == &ef_segmented_family ? model->state : NULL;
    ef_kmeans *const kmeans = segmented != NULL                    ? segmented->kmeans
                              : model->family == &ef_kmeans_family ? model->state
                                                                   : NULL;
    if (segmented != NULL && how % 2 == 0)
        ef_segment_labels_free(&segmented->labels);
    if (kmeans != NULL && kmeans->tree == NULL)
        lose_of(kmeans, how);
    for (size_t i = 0; kmeans != NULL && kmeans->tree != NULL && i < kmeans->tree->n_all; i++)
        if (kmeans->tree->nodes[0][i].model != NULL)
            lose_of(kmeans->tree->nodes[0][i].model, mix(how + i));
}

static void replay(const efface_group *group, void *context) {
    const recording *const rec = context;
    efface_model *model = NULL;
    efface_error error = {0};
    params p = rec->params;
    p.common.n_threads = 1 + group->rank % 3;
    row_list own = own_rows(&all, n_begin, group);
    efface_data *const data = make_set(&own);
    free_list(&own);
    RANK_ASSERT(efface_data_join(data, group, &error) == EFFACE_OK);
    RANK_ASSERT(fit(data, &p, &model) == EFFACE_OK);
    check_digest(rec, model, 0, group);
    for (size_t i = 0; i < n_requests; i++) {
        const request *const r = &rec->requests[i];
        const uint64_t how = mix(i << 8 | group->rank);
        if (i % 3 == 2 && how % 4 == 0)
            lose_kept(model, how >> 8);
        row_list come = own_rows(&r->rows, r->kind == LEARN ? r->rows.n : 0, group);
        const efface_status status =
            follow(model, data, r, r->kind == LEARN ? &come : &r->rows, &error);
        free_list(&come);
        if (status != EFFACE_OK)
            (void)fprintf(stderr, "%s\n", error.message);
        RANK_ASSERT(status == EFFACE_OK);
        check_digest(rec, model, i + 1, group);
    }
    efface_difference difference;
    RANK_ASSERT(efface_model_verify(model, data, &difference, &error) == EFFACE_OK);
    RANK_ASSERT(difference.identical);
    efface_model_free(model);
    efface_data_free(data);
}

#define N_SIZES 5

static void large_sets_have_the_same_bytes(void **state) {
    (void)state;
    static const uint32_t sizes[N_SIZES] = {1, 2, 3, 7, 16};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        static recording rec;
        record(&rec, way);
        for (size_t i = 0; i < (getenv("EFFACE_GROUP_ROWS") != NULL ? 2 : N_SIZES); i++)
            thread_group_run(sizes[(way + 2 * i) % N_SIZES], replay, &rec);
        for (size_t i = 0; i < n_requests; i++)
            free_list(&rec.requests[i].rows);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(large_sets_have_the_same_bytes, read_rows, forget_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
