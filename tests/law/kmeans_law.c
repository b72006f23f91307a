/*
 * K-means for tests that hold for every family: parameters and cases (tests/oracle/cases.h), the
 * oracle, the rows that an adversary would pick. What is checked beside the bytes is in
 * kmeans_notes.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "law/kmeans_names.h"
#include "law/kmeans_notes.h"
#include "oracle/cases.h"
#include "oracle/difference.h"

#include <math.h>

/* What is in the room of parameters. */
typedef struct kmeans_room {
    efface_kmeans_params params;
    float low[LAW_MOST_COLUMNS], high[LAW_MOST_COLUMNS];
    uint32_t depth_clusters[8];
} kmeans_room;

_Static_assert(sizeof(kmeans_room) <= sizeof(law_params), "room for parameters");

static kmeans_room *room_of(law_params *params) {
    return (kmeans_room *)(void *)params;
}

static const efface_kmeans_params *kmeans_of(const law_params *params) {
    return (const efface_kmeans_params *)(const void *)params;
}

/* ---------------------------------------------------------------- cases */

/* A handful of whole numbers on a lattice of few steps: losses of neighbouring levels are often the
 * same, and centroids in the middle between two points of the lattice. */
static void make_tiny(trial *t) {
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
    p->quantized.gamma = one_in(2) ? 0.0 : 1.0;
    p->iterations = 10;
}

/* A small sample of whole numbers, so that the starts come out alike, and the jury is soon of
 * another mind. */
static void make_close(trial *t) {
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
    p->pyramid.rate = scaled(1.0f, -1 - (int)below(4));
    p->epsilon = one_in(4) ? (double)(1 + below(6)) * 0x1p-23 : 0.0;
    p->pyramid.starts = 2 + (uint32_t)below(6);
    p->pyramid.passes = 1 + (uint32_t)below(3);
}

/* Leans a case towards what a change seldom does: empty a cluster, move a centroid by the threshold
 * alone, move the stopping point or the automatic lattice, make another start the best. */
static void lean(trial *t, uint64_t share) {
    efface_kmeans_params *const p = &t->params;
    const double d = t->rows.d, n = (double)t->rows.n * (double)share / 100.0;
    switch (below(12)) {
    case 0: /* a lattice so coarse that a loss often rises */
    case 1:
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -1 - (int)below(5));
        p->quantized.gamma = one_in(2) ? 0.0 : p->quantized.gamma;
        p->n_clusters = 2 + (uint32_t)below(8);
        p->empty = one_in(4) ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
        break;
    case 2: /* centroids that fall together */
    case 3:
    case 4: let_centroids_meet(t); break;
    case 5: /* small clusters on a fine lattice */
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -23 + (int)below(10));
        p->quantized.gamma = one_in(2) ? 1.0 : 0.5;
        p->n_clusters = 2 + (uint32_t)below(8);
        break;
    case 6: /* n / (k d^1.5) near a power of ten, to which the automatic width holds */
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = 0.0;
        p->n_clusters = 1 + (uint32_t)(n * sqrt(d < 10.0 ? 10.0 : 1000.0) / (d * sqrt(d)));
        break;
    case 7:
    case 8: make_tiny(t); break;
    case 9:
    case 10: make_close(t); break;
    default: break;
    }
}

/* Turns a case into one of a tree, and leans it towards what a change of trees seldom does: take
 * the last row of a leaf or of a whole branch, move the automatic width, stop half-way. */
static void branch(trial *t, uint64_t share) {
    efface_kmeans_params *const p = &t->params;
    let_rows_branch(t);
    size_t most = t->rows.n;
    switch (below(8)) {
    case 0: /* about as many rows as leaves */
    case 1:
        p->tree.height = 1 + (uint32_t)below(3);
        p->tree.width = 2 + (uint32_t)below(p->tree.height == 1 ? 63 : 3);
        most = 1 + below(24);
        break;
    case 2: /* n about 4, about 32: there the automatic width moves */
    case 3:
        p->tree.height = p->tree.height == 0 || p->tree.height > 3 ? 1 : p->tree.height;
        p->tree.width = 0;
        most = (size_t)((one_in(4) ? 400 : 3200) / share + below(5));
        break;
    case 4: /* centroids that a row seldom moves */
        p->tree.height = 1 + (uint32_t)below(3);
        p->tree.width = 1 + (uint32_t)below(3);
        p->n_clusters = 1 + (uint32_t)below(3);
        p->tree.depth_clusters = NULL;
        p->tree.leaf_method = p->tree.node_method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -(int)below(6));
        p->quantized.gamma = one_in(2) ? 0.0 : p->quantized.gamma;
        p->tree.weigh_centroids = one_in(8);
        break;
    case 5: /* centroids of a few steps, which come back to where they were */
        make_tiny(t);
        p->method = EFFACE_METHOD_TREE;
        p->tree.height = 1 + (uint32_t)below(3);
        p->tree.width = 1 + (uint32_t)below(3);
        p->tree.leaf_method = one_in(3) ? p->tree.leaf_method : EFFACE_METHOD_QUANTIZED;
        p->tree.node_method = one_in(3) ? p->tree.node_method : EFFACE_METHOD_QUANTIZED;
        break;
    default: break;
    }
    /* As many clusters as before, but where the height has grown. */
    for (uint32_t l = 0; l < p->tree.height && p->tree.depth_clusters != NULL; l++)
        if (t->depth_clusters[l] == 0)
            t->depth_clusters[l] = 1 + (uint32_t)below(4);
    t->rows.n = t->rows.n < most ? t->rows.n : most;
}

/* Few values, each of many rows, and coarse lattices: most changes then reach nothing. */
static void calm_values(trial *t) {
    t->kind = "calm";
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = (float)below(3);
    t->params.column_min = t->params.column_max = NULL;
    t->params.bound = t->params.bound != 0.0 ? 4.0 : 0.0;
}

static void calm_parameters(trial *t) {
    efface_kmeans_params *const p = &t->params;
    p->n_clusters = 1 + (uint32_t)below(4);
    p->pyramid.rate = 1.0 / 16.0;
    p->epsilon = p->method == EFFACE_METHOD_LLOYD ? p->epsilon : 0.25;
    p->quantized.gamma = 0.2;
    t->rows.weights = NULL;
}

/* Puts the parameters of a trial, and what they refer to, where they belong. */
static void settle(law_params *params, const trial *t) {
    kmeans_room *const room = room_of(params);
    assert_true(t->rows.d <= LAW_MOST_COLUMNS);
    room->params = t->params;
    memmove(room->low, t->low, t->rows.d * sizeof *t->low);
    memmove(room->high, t->high, t->rows.d * sizeof *t->high);
    memmove(room->depth_clusters, t->depth_clusters, sizeof room->depth_clusters);
    if (t->params.column_min != NULL) {
        room->params.column_min = room->low;
        room->params.column_max = room->high;
    }
    if (t->params.tree.depth_clusters != NULL)
        room->params.tree.depth_clusters = room->depth_clusters;
}

static void draw(law_params *params, const law_rows *rows, bool calm, uint64_t *stream) {
    static const uint32_t candidates[] = {1, 2, 0, 5};
    kmeans_room *const room = room_of(params);
    memset(params, 0, sizeof *params);
    trial t = {.rows = {rows->n, rows->d, rows->values, rows->ids, rows->weights},
               .values = rows->values,
               .low = room->low,
               .high = room->high,
               .depth_clusters = room->depth_clusters};
    rng_state = *stream;
    choose_parameters(&t);
    t.params.candidates = candidates[below(4)];
    if (calm)
        calm_parameters(&t);
    if (one_in(4))
        let_rows_branch(&t);
    settle(params, &t);
    *stream = rng_state;
}

static void draw_case(law_case *c, const law_wish *wish, uint64_t *stream) {
    trial t;
    make_trial(wish->seed, &t);
    if (wish->calm) {
        calm_values(&t);
        calm_parameters(&t);
    } else {
        if (!t.is_large)
            lean(&t, wish->share);
        if (wish->seed % 3 == 0)
            branch(&t, wish->share);
    }
    settle(&c->params, &t);
    c->rows = law_make_rows(t.rows.n, t.rows.d);
    c->rows.kind = t.kind;
    for (size_t i = 0; i < t.rows.n; i++) {
        memcpy(c->rows.values + i * t.rows.d, t.values + i * t.rows.d, t.rows.d * sizeof *t.values);
        c->rows.ids[i] = t.rows.ids != NULL ? t.rows.ids[i] : i;
        c->rows.weights[i] = t.rows.weights != NULL ? t.rows.weights[i] : 1;
        c->rows.labels[i] = (int64_t)(mix(i) % 5); /* which make no difference */
    }
    free_trial(&t);
    *stream = rng_state;
}

/* ---------------------------------------------------------------- from bytes */

/*
 *     byte 0   method
 *     byte 1   clusters - 1 (4 bits), iterations (3 bits, from a list), empty clusters keep
 *     byte 2   scale, bounds (2 bits), weighed, the scale standard, candidates (2 bits)
 *     byte 3   epsilon (4 bits), gamma (2 bits)
 *     byte 4   rate (3 bits), passes - 1 (2 bits), starts - 1 (3 bits)
 *     byte 5   seed
 *     byte 6   tree: height (2 bits), method of leaves and of nodes (2 bits each)
 *     byte 7   tree: width, from a list
 *     byte 8   tree: clusters of depths, if it is not 0
 */
static void read_tree(kmeans_room *room, law_bytes *in) {
    static const uint32_t widths[] = {0, 1, 2, 3, 4, 5, 8, 10, 17, 64};
    static const uint32_t most[] = {64, 64, 10, 5}; /* so that there are at most 125 leaves */
    efface_kmeans_params *const p = &room->params;
    const unsigned a = law_take(in), b = law_take(in), c = law_take(in);
    p->tree.height = a & 3;
    p->tree.leaf_method = (efface_method)((a >> 2 & 3) % 3);
    p->tree.node_method = (efface_method)((a >> 4 & 3) % 3);
    p->tree.width = widths[b % 10];
    if (p->tree.width > most[p->tree.height])
        p->tree.width = 2 + p->tree.width % 3;
    if (c == 0)
        return;
    for (unsigned l = 0; l < 3; l++)
        room->depth_clusters[l] = 1 + (c >> 2 * l & 3);
    p->tree.depth_clusters = room->depth_clusters;
}

static void read_bounds(kmeans_room *room, uint32_t d, unsigned which) {
    static const double bounds[] = {0.0, 4.0, 0x1p23, 4e6};
    efface_kmeans_params *const p = &room->params;
    if (p->scale == EFFACE_SCALE_NONE)
        p->bound = bounds[which];
    else if (which != 0) {
        for (uint32_t j = 0; j < d; j++) {
            room->low[j] = which == 1 ? -4.0f : -1e7f;
            room->high[j] = which != 1 ? 1e7f : j == 0 ? 0x1p20f : 4.0f;
        }
        p->column_min = room->low;
        p->column_max = room->high;
    }
}

static void read(law_params *params, uint32_t d, law_bytes *in) {
    static const double epsilons[] = {0.0, 0x1p-23, 0x1p-20,     3 * 0x1p-23, 0.125,
                                      0.5, 0x1p-22, 5 * 0x1p-23, 0.02};
    static const double gammas[] = {0.0, 0.2, 0.5, 1.0};
    static const double rates[] = {0.0, 1.0, 0.5, 0.25, 0.1, 1e-9, 0.125, 0.0625};
    static const uint32_t iterations[] = {10, 1, 2, 3, 5, 0, 4, 7};
    static const uint32_t candidates[] = {1, 2, 0, 5};
    kmeans_room *const room = room_of(params);
    memset(params, 0, sizeof *params);
    efface_kmeans_params *const p = &room->params;
    efface_kmeans_params_init(p);
    const unsigned a = law_take(in), b = law_take(in), c = law_take(in), e = law_take(in);
    p->method = (efface_method)(a & 3);
    p->n_clusters = 1 + (b & 15);
    p->iterations = iterations[b >> 4 & 7];
    p->empty = b >= 128 ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
    p->scale = (c & 1) != 0 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
    read_bounds(room, d, c >> 1 & 3);
    if ((c >> 4 & 1) != 0) {
        p->scale = EFFACE_SCALE_STANDARD;
        p->bound = 0.0;
        p->column_min = p->column_max = NULL;
    }
    p->tree.weigh_centroids = c >> 3 & 1;
    p->candidates = candidates[c >> 5 & 3];
    p->epsilon = epsilons[(e & 15) % 9];
    p->quantized.gamma = gammas[e >> 4 & 3];
    const unsigned f = law_take(in);
    p->pyramid.rate = rates[f & 7];
    p->pyramid.passes = 1 + (f >> 3 & 3);
    p->pyramid.starts = 1 + (f >> 5);
    p->common.seed = law_take(in);
    p->common.n_threads = 1;
    read_tree(room, in);
}

/* ---------------------------------------------------------------- ways */

enum {
    LLOYD,
    MINMAX,
    GREEDY,
    QUANTIZED,
    PYRAMID,
    COARSE,
    TREE,
    TALL_TREE,
    STANDARD,
    STANDARD_TREE,
    N_WAYS
};

/* Coarse is pyramid on a lattice so wide that clusters have no rows. */
static const char *const way_names[N_WAYS] = {
    "lloyd", "lloyd with ranges", "greedy",   "quantized",    "pyramid", "coarse",
    "tree",  "tall tree",         "standard", "standard tree"};

static void choose(law_params *params, unsigned way, uint32_t d) {
    static const efface_method methods[N_WAYS] = {
        EFFACE_METHOD_LLOYD,   EFFACE_METHOD_LLOYD,   EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
        EFFACE_METHOD_PYRAMID, EFFACE_METHOD_PYRAMID, EFFACE_METHOD_TREE,  EFFACE_METHOD_TREE,
        EFFACE_METHOD_PYRAMID, EFFACE_METHOD_TREE};
    kmeans_room *const room = room_of(params);
    memset(params, 0, sizeof *params);
    efface_kmeans_params *const p = &room->params;
    efface_kmeans_params_init(p);
    p->method = methods[way];
    p->n_clusters = 4;
    p->iterations = 5;
    p->candidates = way == GREEDY ? 2 : 1;
    p->pyramid.rate = 0.25; /* or so few rows have no sample */
    p->pyramid.starts = 2;
    p->pyramid.passes = 2;
    p->epsilon = way == COARSE ? 1.0 : 0.0;
    p->tree.height = way == TALL_TREE ? 2 : 1;
    p->tree.width = way == TALL_TREE ? 2 : 3;
    p->tree.leaf_method = way == TALL_TREE ? EFFACE_METHOD_PYRAMID : EFFACE_METHOD_LLOYD;
    p->tree.node_method = EFFACE_METHOD_QUANTIZED;
    p->common.seed = 20191105;
    p->common.n_threads = 1;
    if (way == STANDARD || way == STANDARD_TREE)
        p->scale = EFFACE_SCALE_STANDARD;
    if (way != MINMAX && way != QUANTIZED && way != COARSE && way != TALL_TREE)
        return;
    p->scale = EFFACE_SCALE_MINMAX;
    for (uint32_t j = 0; j < d; j++) {
        room->low[j] = -0x1p20f;
        room->high[j] = 0x1p20f;
    }
    if (way == MINMAX) {
        p->column_min = room->low;
        p->column_max = room->high;
    }
}

/* ---------------------------------------------------------------- the rest of the table */

static bool allows(const law_params *params, const float *values, uint32_t d) {
    const efface_kmeans_params *const p = kmeans_of(params);
    for (uint32_t j = 0; j < d; j++) {
        if (p->scale == EFFACE_SCALE_NONE && p->bound > 0.0 && fabs((double)values[j]) > p->bound)
            return false;
        if (p->scale == EFFACE_SCALE_MINMAX && p->column_min != NULL &&
            (values[j] < p->column_min[j] || values[j] > p->column_max[j]))
            return false;
    }
    return true;
}

static const char *const method_names[] = {"lloyd", "quantized", "pyramid", "tree"};

/* A tree without height is the method of its leaves. */
static unsigned method_of(const law_params *params) {
    const efface_kmeans_params *const p = kmeans_of(params);
    return p->method == EFFACE_METHOD_TREE && p->tree.height == 0 ? p->tree.leaf_method : p->method;
}

static bool needs_rows(const law_params *params, bool range_lost) {
    return range_lost || method_of(params) == EFFACE_METHOD_TREE;
}

static unsigned char *encode_plainly(const law_rows *rows, const law_params *params,
                                     size_t *n_bytes) {
    const oracle_rows plain = {rows->n, rows->d, rows->values, rows->ids, rows->weights};
    oracle_model *const oracle = oracle_fit(&plain, kmeans_of(params));
    unsigned char *const bytes = oracle_encode(oracle, n_bytes);
    oracle_free(oracle);
    return bytes;
}

/* A seed, a row that was tried as one, one that an empty cluster was reseeded with, or one of a
 * jury. */
static size_t name_ids(const efface_model *model, const efface_data *data, uint64_t *ids,
                       size_t most, uint64_t *stream) {
    names list = {.most = (most + 1) / 2};
    assert_true(most <= sizeof list.ids / sizeof list.ids[0]);
    rng_state = *stream;
    if (one_in(4))
        name_seeds(inside(model), &list);
    list.most = most - most / 4;
    if (one_in(4))
        name_candidates(inside(model), &list);
    list.most = most;
    name_reseeded(inside(model), &list);
    if (list.n == 0)
        name_jury(model, data, &list);
    memcpy(ids, list.ids, list.n * sizeof *ids);
    *stream = rng_state;
    return list.n;
}

static void differ(const law_params *params, const unsigned char *a, size_t n_a,
                   const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]) {
    difference d = {
        .a = a, .b = b, .n_a = n_a, .n_b = n_b, .candidates = kmeans_of(params)->candidates};
    (void)find_difference(&d);
    (void)snprintf(text, LAW_TEXT_BYTES, "%s", d.text);
}

static void use(const efface_model *model, const efface_data *data) {
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    double loss, coordinates[LAW_MOST_COLUMNS];
    (void)efface_kmeans_loss(model, data, &loss, NULL);
    for (uint32_t c = 0; c < info.n_clusters && info.n_columns <= LAW_MOST_COLUMNS; c++)
        (void)efface_kmeans_centroid(model, c, coordinates, NULL);
    if (efface_data_n_rows(data) != 0)
        (void)efface_kmeans_is_seed(model, efface_data_row(data, 0).id);
}

const law_family law_kmeans = {.number = EFFACE_FAMILY_KMEANS,
                               .name = "kmeans",
                               .draw = draw,
                               .draw_case = draw_case,
                               .read = read,
                               .n_ways = N_WAYS,
                               .way_names = way_names,
                               .choose = choose,
                               .n_kinds = 4,
                               .kind_names = method_names,
                               .kind_of = method_of,
                               .allows = allows,
                               .needs_rows = needs_rows,
                               .oracle = encode_plainly,
                               .name_ids = name_ids,
                               .differ = differ,
                               .compare = kmeans_compare,
                               .check = kmeans_check,
                               .hash = kmeans_hash,
                               .use = use,
                               .spares = true,
                               .meet = kmeans_meet,
                               .look = kmeans_look,
                               .note = kmeans_note,
                               .tell = kmeans_tell};
