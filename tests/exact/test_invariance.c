/*
 * What a state must not depend on: the number of threads, the order of rows, the history of the
 * set, and, by frozen digests, the compiler, its options, the processor and the kernel table. Sets
 * of medium size, so that threads and blocks of rows have something to divide.
 *
 * The frozen digests are part of the definition of the bits. EFFACE_PRINT_DIGESTS=1 prints their
 * table anew, for the day the definition is changed on purpose (CHANGELOG: Numerics). They are
 * not the library's word alone: each configuration is compared with the oracle as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "efface/efface.h"
#include "model/exact/passes.h"
#include "oracle/difference.h"
#include "oracle/oracle.h"

#define EXIT_SKIPPED 77

/* ------------------------------------------------------------------ configurations */

typedef enum source {
    GAUSSIAN, /* efface_data_make_gaussian with 4 clusters */
    INTEGERS, /* below `top`: ties and duplicates */
    ONES,     /* rare among zeros: with the bound 2^23 centroids meet and clusters go empty */
    LARGE     /* of either sign, up to 2^121 */
} source;

/* What only pyramid or tree has, or greedy seeding. */
typedef struct details {
    double rate;
    uint32_t passes, starts;
    uint32_t height, width;
    efface_method leaf_method, node_method;
    int weigh_centroids;
    const uint32_t *depth_clusters;
    int greedy;   /* as many candidates as are derived from k, not one */
    int as_lloyd; /* the rows are too few for a sample to pay */
} details;

typedef struct config {
    const char *name;
    source from;
    size_t n; /* a multiple of 4 */
    uint32_t d;
    uint64_t top, top_weight;
    efface_method method;
    uint32_t k, iterations;
    efface_scale scale;
    efface_empty empty;
    double epsilon, gamma, bound;
    const details *more; /* or NULL */
} config;

#define LLOYD EFFACE_METHOD_LLOYD
#define QUANTIZED EFFACE_METHOD_QUANTIZED
#define PYRAMID EFFACE_METHOD_PYRAMID
#define TREE EFFACE_METHOD_TREE
#define NONE EFFACE_SCALE_NONE
#define MINMAX EFFACE_SCALE_MINMAX
#define STANDARD EFFACE_SCALE_STANDARD
#define RESEED EFFACE_EMPTY_RESEED
#define KEEP EFFACE_EMPTY_KEEP

static const details five_starts = {.rate = 0.0, .passes = 1, .starts = 5};
static const details no_sample = {.rate = 0.0, .passes = 1, .starts = 5, .as_lloyd = 1};
static const details three_passes = {.rate = 0.125, .passes = 3, .starts = 3};
static const details one_start = {.rate = 0.3, .passes = 2, .starts = 1};

static const uint32_t fewer_below[3] = {5, 4, 3};
static const details low_tree = {
    .passes = 1, .starts = 5, .height = 1, .leaf_method = LLOYD, .node_method = LLOYD};
static const details wide_tree = {.passes = 1,
                                  .starts = 5,
                                  .height = 1,
                                  .width = 64,
                                  .leaf_method = QUANTIZED,
                                  .node_method = LLOYD,
                                  .weigh_centroids = 1};
static const details tall_tree = {.passes = 1,
                                  .starts = 5,
                                  .height = 3,
                                  .width = 3,
                                  .leaf_method = QUANTIZED,
                                  .node_method = QUANTIZED,
                                  .depth_clusters = fewer_below};
static const details tree_of_pyramids = {.rate = 0.25,
                                         .passes = 2,
                                         .starts = 3,
                                         .height = 2,
                                         .width = 5,
                                         .leaf_method = PYRAMID,
                                         .node_method = PYRAMID,
                                         .weigh_centroids = 1};

static const details greedy = {.passes = 1, .starts = 5, .greedy = 1};
static const details greedy_starts = {.passes = 1, .starts = 3, .rate = 0.3, .greedy = 1};
static const details greedy_tree = {.passes = 1,
                                    .starts = 5,
                                    .height = 2,
                                    .width = 3,
                                    .leaf_method = QUANTIZED,
                                    .node_method = LLOYD,
                                    .greedy = 1};

/* Those of efface_kmeans_params_init. */
static const details defaults = {.passes = 1, .starts = 4, .greedy = 1};
static const details few_rows = {.passes = 1, .starts = 4, .greedy = 1, .as_lloyd = 1};

static const config configs[] = {
    {"lloyd", GAUSSIAN, 1600, 25, 0, 1, LLOYD, 5, 10, NONE, RESEED, 0, 0, 0, NULL},
    {"quantized", GAUSSIAN, 1600, 25, 0, 1, QUANTIZED, 5, 10, NONE, RESEED, 0, 0.2, 0, NULL},
    {"quantized, minmax", GAUSSIAN, 1600, 25, 0, 1, QUANTIZED, 5, 10, MINMAX, RESEED, 0x1p-10, 1, 0,
     NULL},
    {"lloyd, minmax, until stable", GAUSSIAN, 1200, 7, 0, 4, LLOYD, 9, 0, MINMAX, RESEED, 0, 0, 0,
     NULL},
    {"wide", GAUSSIAN, 600, 130, 0, 1, LLOYD, 7, 10, NONE, RESEED, 0, 0, 0, NULL},
    {"wide, coarse lattice", GAUSSIAN, 600, 65, 0, 1, QUANTIZED, 6, 10, MINMAX, KEEP, 0.1, 0.9, 0,
     NULL},
    {"many rows", GAUSSIAN, 40000, 8, 0, 1, LLOYD, 8, 10, NONE, RESEED, 0, 0, 0, NULL},
    {"many rows, quantized", GAUSSIAN, 40000, 8, 0, 3, QUANTIZED, 8, 10, NONE, RESEED, 0, 0.2, 0,
     NULL},
    {"ties", INTEGERS, 2000, 3, 4, 5, LLOYD, 20, 10, NONE, RESEED, 0, 0, 0, NULL},
    {"ties, coarse lattice", INTEGERS, 2000, 3, 4, 5, QUANTIZED, 7, 10, NONE, RESEED, 0.1, 0.5, 0,
     NULL},
    {"more clusters than places", INTEGERS, 1000, 2, 2, 1, LLOYD, 12, 3, NONE, RESEED, 0, 0, 0,
     NULL},
    {"clusters go empty", ONES, 200, 70, 0, 1, LLOYD, 9, 10, NONE, RESEED, 0, 0, 0x1p23, NULL},
    {"quantized clusters go empty", INTEGERS, 120, 7, 8, 1, QUANTIZED, 5, 10, NONE, RESEED, 0x5p-23,
     0, 0x1p23, NULL},
    {"one column", INTEGERS, 5000, 1, 100000, 1, LLOYD, 50, 10, MINMAX, KEEP, 0, 0, 0, NULL},
    {"large and weighted", LARGE, 1000, 16, 0, 1 << 29, QUANTIZED, 6, 10, NONE, RESEED, 0, 0.2, 0,
     NULL},
    {"more clusters than rows", LARGE, 40, 17, 0, 1, LLOYD, 64, 10, MINMAX, RESEED, 0, 0, 0, NULL},
    {"many clusters", GAUSSIAN, 1200, 67, 0, 1, LLOYD, 75, 4, MINMAX, RESEED, 0, 0, 0, NULL},
    {"no rows", LARGE, 0, 3, 0, 1, QUANTIZED, 4, 10, MINMAX, RESEED, 0, 0.2, 0, NULL},
    {"pyramid", GAUSSIAN, 4800, 25, 0, 1, PYRAMID, 4, 10, NONE, RESEED, 0, 0, 0, &five_starts},
    {"pyramid as lloyd", GAUSSIAN, 1600, 25, 0, 1, PYRAMID, 5, 10, NONE, RESEED, 0, 0, 0,
     &no_sample},
    {"pyramid, minmax, three passes", GAUSSIAN, 1200, 7, 0, 4, PYRAMID, 9, 0, MINMAX, RESEED,
     0x1p-12, 0, 0, &three_passes},
    {"pyramid, ties", INTEGERS, 2000, 3, 4, 5, PYRAMID, 7, 3, NONE, KEEP, 0, 0, 0, &one_start},
    {"pyramid without rows", LARGE, 0, 3, 0, 1, PYRAMID, 4, 10, MINMAX, RESEED, 0, 0, 0,
     &no_sample},
    {"tree", GAUSSIAN, 1600, 25, 0, 1, TREE, 5, 10, NONE, RESEED, 0, 0, 0, &low_tree},
    {"many rows, tree", GAUSSIAN, 8000, 8, 0, 3, TREE, 8, 10, NONE, RESEED, 0, 0.2, 0, &wide_tree},
    {"tall tree, minmax", GAUSSIAN, 1200, 7, 0, 4, TREE, 6, 10, MINMAX, RESEED, 0x1p-10, 0.5, 0,
     &tall_tree},
    {"tree of pyramids, ties", INTEGERS, 2000, 3, 4, 5, TREE, 7, 10, NONE, KEEP, 0, 0, 0,
     &tree_of_pyramids},
    {"more leaves than rows", LARGE, 40, 17, 0, 1 << 20, TREE, 3, 10, MINMAX, RESEED, 0, 0, 0,
     &wide_tree},
    {"tree without rows", LARGE, 0, 3, 0, 1, TREE, 4, 10, NONE, RESEED, 0, 0, 0, &low_tree},
    {"greedy", GAUSSIAN, 1600, 25, 0, 1, LLOYD, 5, 10, NONE, RESEED, 0, 0, 0, &greedy},
    {"many rows, greedy, weighted", GAUSSIAN, 40000, 8, 0, 3, QUANTIZED, 8, 10, MINMAX, RESEED, 0,
     0.2, 0, &greedy},
    {"greedy, ties", INTEGERS, 2000, 3, 4, 5, LLOYD, 25, 10, NONE, RESEED, 0, 0, 0, &greedy},
    {"greedy, more clusters than places", INTEGERS, 1000, 2, 2, 1, LLOYD, 12, 3, NONE, RESEED, 0, 0,
     0, &greedy},
    {"greedy, large and weighted", LARGE, 1000, 16, 0, 1 << 29, QUANTIZED, 6, 10, NONE, RESEED, 0,
     0.2, 0, &greedy},
    {"greedy, no rows", LARGE, 0, 3, 0, 1, LLOYD, 4, 10, MINMAX, RESEED, 0, 0, 0, &greedy},
    {"greedy pyramid", GAUSSIAN, 1600, 25, 0, 1, PYRAMID, 5, 10, NONE, RESEED, 0, 0, 0,
     &greedy_starts},
    {"greedy tree", GAUSSIAN, 1200, 7, 0, 4, TREE, 6, 10, MINMAX, RESEED, 0x1p-10, 0.5, 0,
     &greedy_tree},
    {"defaults", GAUSSIAN, 8800, 8, 0, 3, PYRAMID, 8, 10, NONE, RESEED, 0, 0.2, 0, &defaults},
    {"defaults, few rows", GAUSSIAN, 1200, 7, 0, 1, PYRAMID, 8, 10, NONE, RESEED, 0, 0.2, 0,
     &few_rows},
    {"standard", GAUSSIAN, 1600, 25, 0, 3, LLOYD, 5, 10, STANDARD, RESEED, 0, 0, 0, NULL},
    {"standard, large and weighted", LARGE, 1000, 16, 0, 1 << 29, QUANTIZED, 6, 10, STANDARD,
     RESEED, 0, 0.2, 0, &greedy},
    {"standard, no rows", LARGE, 0, 3, 0, 1, LLOYD, 4, 10, STANDARD, RESEED, 0, 0, 0, NULL},
    {"standard pyramid", INTEGERS, 2000, 3, 4, 5, PYRAMID, 7, 10, STANDARD, RESEED, 0, 0, 0,
     &greedy_starts},
    {"standard tree", GAUSSIAN, 1200, 7, 0, 4, TREE, 6, 10, STANDARD, RESEED, 0, 0.5, 0,
     &tall_tree},
};
#define N_CONFIGS (sizeof configs / sizeof *configs)

/* As EFFACE_PRINT_DIGESTS=1 prints them. */
static const char *const frozen[N_CONFIGS] = {
    /* lloyd */ "f14db54bca9a48911e1869bd613bc55835866c5b19739eff8cf2530e321931e9",
    /* quantized */ "93967c9f4662a24acae3c5c797dc732aae4c508bfada50966a354189bb4295bb",
    /* quantized, minmax */ "abda6474f9b85bcced2dcb1463452f2ab5f5d6f409423b33a3d8f5f2e947f2bd",
    /* lloyd, minmax, until stable */
    "9c3da8ca8f18958c6cebc81c935480c7278683decf7522d94de45bff9239a13d",
    /* wide */ "c2365176a5809bedbfdc284939d3e82561c2612fe8a68951119cce0dd660bea0",
    /* wide, coarse lattice */ "8d4a86492a028c25dcd25253710d32fb6f4cb815ca4b92b92186cb8935a35097",
    /* many rows */ "1b7d9fc66431d7c9c340c2214b5d26471117057955c808bfc91c8f7953672faf",
    /* many rows, quantized */ "659c6ef66b1a381bfcf5f0a4fd9eed355242962a82b0eab9c5bc81421a09bc0c",
    /* ties */ "514cd67e67d5ff3ccfa1b1eacabeebe78d1c105c353a281df307730b7287a88d",
    /* ties, coarse lattice */ "6a6f31e9517f86d4eda0bcd42f2cd3070daa05d202cc97190fa2689661e240cf",
    /* more clusters than places */
    "8392e70fdfbd8672146e45c1b7dd7739f12da998341f2f507159c7753200f7cd",
    /* clusters go empty */ "b9839487340211f574464a46187e50974e6910dff4f1e0732f7ff9119ccd3031",
    /* quantized clusters go empty */
    "1727f5a8bdb4b8e34e6034bc2dbf7d793391e1638153181e3d30420012bf1bb8",
    /* one column */ "6d68afab9f4bb32927a87fb5834df3d3a6b20774a9667a0bd5dbbdca19c04b7b",
    /* large and weighted */ "b3fe49ef9593c161fd1feba417a649c5b66d4e19c4df79bc4a5abea2dd52dab4",
    /* more clusters than rows */
    "f7974ba85d54f361bffcf9588606a74e29b80ac18cb4d2ab7625bbda1ecca4b3",
    /* many clusters */ "78c4603bfbb24e4729cf3dd0a03e80219134d12d730459f1e0239a6e07142230",
    /* no rows */ "3255bf4968c893d8a5394b73c194e90bb00dfadad5684dbf1945b354ac7fed29",
    /* pyramid */ "5a1f4bad9d6a73cdde927482ce1538ab69f23c36f54ce48480ee7715839562f8",
    /* pyramid as lloyd */ "f14db54bca9a48911e1869bd613bc55835866c5b19739eff8cf2530e321931e9",
    /* pyramid, minmax, three passes */
    "2e6ba58f8bccae17fffb9b81e871329fb9c2d9873d88ad397986807148974c9f",
    /* pyramid, ties */ "95a5e7e4bfdcec58245e5ec570ab981d777e7845a8c4b5da0d83038c922dac6e",
    /* pyramid without rows */ "6bcd31dea92b384afa57213d88863bb50a677bcf7640588043bd98ea00f6d1dd",
    /* tree */ "d688f1802d251fe59b460fa29772cc3be0ef131a1be63c48f7fd6985e4186e68",
    /* many rows, tree */ "da0d2dc1e5cbe961ec74c26671991395122128613a81f6b2afaa94459c6f864e",
    /* tall tree, minmax */ "8d237220b8cd3c00d11a91c01e095455fb0005b852e8b0437257c96b1e10a2f3",
    /* tree of pyramids, ties */ "28cf69242d1bfcd1ab287059aec9681bd90b2fbf1f2c4398ab8ae02613c9ac5a",
    /* more leaves than rows */ "8f6a64e0745993ed75226833a417e37ed5fc906884083f76334d07d4f7da679b",
    /* tree without rows */ "b33d98af997dc1259124708109aaeb1836cf9f27ff7a2852a168e3711595d941",
    /* greedy */ "164b3533239d5d056f2a65600f897386e88cd6096e8d8dd9191ef068f9fd8b57",
    /* many rows, greedy, weighted */
    "b71f57cba795112601b08e97bca657e1f5d5cbf4873b94f15130d673e2b916ed",
    /* greedy, ties */ "962f45d104c2b4c27e2d3f3df09e7f5c08d5ca48998cc5441c2764164ef2ac3a",
    /* greedy, more clusters than places */
    "b53999a052816a03c0083e1f83bcd839f77b78fdca876b210fb77509c7dcd596",
    /* greedy, large and weighted */
    "fa6d6dd6a1ebe7be86430c26587d3a0fcb584ae8fddda69a341db536d98cc994",
    /* greedy, no rows */ "5155c7a51ce4db2c7b699d99096b6eb804ad186c4828980d2bf72287102e9729",
    /* greedy pyramid */ "97ab48ead3662971d4eb3ff34d71d943e7a4fb08d99d2737e6a5b7d0da5b5b9f",
    /* greedy tree */ "acc4156a36d3766f1c895de6a02e3ef6b5d06422ffa1342eb680f5e32f609bf2",
    /* defaults */ "bb78828947f23165ffc161c708bd61436dfb9058ec7167562aab07a1ea612505",
    /* defaults, few rows */ "dbbf249a3116cb3a05e504be6234f6a73aab81b6144b304812440379b623dc90",
    /* standard */ "8bde5b65e45e46e999a054382b4b90b3421ad4cbc1edd00b384345784f930778",
    /* standard, large and weighted */
    "cf25a9f439463de1bd8db4220dffcc470f84fc66194ce3a7005c74854dd67f8b",
    /* standard, no rows */ "8791f37c9888e43944e9da045b3f64bd9b3d1260973b1c0cfd1301fa9fe11d53",
    /* standard pyramid */ "7b17b487eca6df9ac1469dfffeb4dae8dbf1624c3432aabf280000f490cc7a02",
    /* standard tree */ "5bc9b729f96e59a76c46cbbed2aa98d1e6ee130a6d553242871e376cec8e882d",
};

/* ------------------------------------------------------------------ rows */

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t rng_state;

static uint64_t below(uint64_t limit) {
    rng_state += UINT64_C(0x9E3779B97F4A7C15);
    return mix(rng_state) % limit;
}

/* Rows with storage of their own, in the order of the ids' making. */
typedef struct table {
    size_t n;
    uint32_t d;
    float *values;
    uint64_t *ids;
    int64_t *weights;
} table;

static void *make(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}

static void fill_gaussian(table *t) {
    efface_data *data = NULL;
    assert_int_equal(efface_data_make_gaussian(4, t->d, t->n / 4, 11, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_n_rows(data), t->n);
    for (uint64_t i = 0; i < t->n; i++) {
        size_t position = 0;
        assert_int_equal(efface_data_find(data, i, &position), EFFACE_OK);
        efface_data_values(data, position, t->values + i * t->d);
    }
    efface_data_free(data);
}

static table make_table(const config *c) {
    table t = {.n = c->n, .d = c->d};
    t.values = make(t.n * t.d, sizeof *t.values);
    t.ids = make(t.n, sizeof *t.ids);
    t.weights = make(t.n, sizeof *t.weights);
    rng_state = 1;
    if (c->from == GAUSSIAN)
        fill_gaussian(&t);
    for (size_t i = 0; c->from != GAUSSIAN && i < t.n * t.d; i++)
        t.values[i] = c->from == INTEGERS ? (float)below(c->top)
                      : c->from == ONES   ? (float)(below(11) == 0)
                                          : ((float)below(1u << 24) - 0x1p23f) * 0x1p98f;
    for (size_t i = 0; i < t.n; i++) {
        t.ids[i] = mix(i + 5); /* one to one */
        t.weights[i] = 1 + (int64_t)below(c->top_weight);
    }
    return t;
}

static void free_table(table *t) {
    free(t->values);
    free(t->ids);
    free(t->weights);
}

/* Exchanges random pairs of rows. */
static void shuffle(table *t) {
    for (size_t i = t->n; i > 1; i--) {
        const size_t a = i - 1, b = below(i);
        for (uint32_t j = 0; j < t->d; j++) {
            const float x = t->values[a * t->d + j];
            t->values[a * t->d + j] = t->values[b * t->d + j];
            t->values[b * t->d + j] = x;
        }
        const uint64_t id = t->ids[a];
        const int64_t weight = t->weights[a];
        t->ids[a] = t->ids[b];
        t->ids[b] = id;
        t->weights[a] = t->weights[b];
        t->weights[b] = weight;
    }
}

static efface_rows part_of(const table *t, size_t first, size_t n) {
    return (efface_rows){.n_rows = n,
                         .values = t->values + first * t->d,
                         .ids = t->ids + first,
                         .weights = t->weights + first};
}

static void add(efface_data *data, const table *t, size_t first, size_t n) {
    const efface_rows rows = part_of(t, first, n);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
}

static efface_data *create(const table *t) {
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(t->d, &data, NULL), EFFACE_OK);
    return data;
}

static efface_data *data_of(const table *t) {
    efface_data *data = create(t);
    add(data, t, 0, t->n);
    return data;
}

/* ------------------------------------------------------------------ states */

typedef struct digest {
    char hex[2 * EFFACE_DIGEST_BYTES + 1];
} digest;

static efface_kmeans_params params_of(const config *c) {
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    p.method = c->method;
    p.n_clusters = c->k;
    p.iterations = c->iterations;
    p.common.seed = UINT64_C(0x0123456789ABCDEF);
    p.scale = c->scale;
    p.empty = c->empty;
    p.epsilon = c->epsilon;
    p.quantized.gamma = c->gamma;
    p.bound = c->bound;
    p.common.n_threads = 2;
    p.candidates = c->more != NULL && c->more->greedy ? 0 : 1;
    if (c->more != NULL) {
        p.pyramid.rate = c->more->rate;
        p.pyramid.passes = c->more->passes;
        p.pyramid.starts = c->more->starts;
        p.tree.height = c->more->height;
        p.tree.width = c->more->width;
        p.tree.leaf_method = c->more->leaf_method;
        p.tree.node_method = c->more->node_method;
        p.tree.weigh_centroids = c->more->weigh_centroids;
        p.tree.depth_clusters = c->more->depth_clusters;
    }
    return p;
}

static efface_model *fit(const config *c, const efface_data *data, uint32_t n_threads) {
    efface_kmeans_params p = params_of(c);
    efface_model *model = NULL;
    efface_error error = {0};
    p.common.n_threads = n_threads;
    if (efface_kmeans_fit(data, &p, &model, &error) != EFFACE_OK)
        fail_msg("%s: %s", c->name, error.message);
    return model;
}

static digest digest_of_model(const efface_model *model) {
    unsigned char bytes[EFFACE_DIGEST_BYTES];
    digest d;
    assert_int_equal(efface_model_digest(model, bytes, NULL), EFFACE_OK);
    for (size_t i = 0; i < EFFACE_DIGEST_BYTES; i++)
        snprintf(d.hex + 2 * i, 3, "%02x", bytes[i]);
    return d;
}

static digest digest_of(const config *c, const efface_data *data, uint32_t n_threads) {
    efface_model *model = fit(c, data, n_threads);
    const digest d = digest_of_model(model);
    efface_model_free(model);
    return d;
}

static void expect(const config *c, const efface_data *data, digest want, const char *what) {
    const digest got = digest_of(c, data, 2);
    if (strcmp(got.hex, want.hex) != 0)
        fail_msg("%s, %s: digest %s instead of %s", c->name, what, got.hex, want.hex);
}

/* ------------------------------------------------------------------ tests of the bits */

static void state_equals_oracle(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        const config *c = &configs[i];
        table t = make_table(c);
        const oracle_rows rows = {t.n, t.d, t.values, t.ids, t.weights};
        const efface_kmeans_params p = params_of(c);
        difference d = {.candidates = p.candidates};
        unsigned char *got = NULL;
        efface_data *data = data_of(&t);
        efface_model *model = fit(c, data, 2);
        oracle_model *oracle = oracle_fit(&rows, &p);
        unsigned char *want = oracle_encode(oracle, &d.n_b);
        assert_int_equal(efface_model_encode(model, &got, &d.n_a, NULL), EFFACE_OK);
        d.a = got;
        d.b = want;
        if (find_difference(&d))
            fail_msg("%s: %s", c->name, d.text);
        efface_bytes_free(got);
        free(want);
        oracle_free(oracle);
        efface_model_free(model);
        efface_data_free(data);
        free_table(&t);
    }
}

/* Or else a digest would stand for another method than its name says. */
static void samples_are_where_they_pay(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        const config *c = &configs[i];
        table t = make_table(c);
        efface_data *data = data_of(&t);
        efface_model *model = fit(c, data, 1);
        const efface_kmeans_info info = efface_kmeans_get_info(model);
        const int as_lloyd = c->more != NULL && c->more->as_lloyd;
        if (info.method != c->method || info.actual != (as_lloyd ? LLOYD : c->method) ||
            (info.n_sampled != 0) != (c->method == PYRAMID && !as_lloyd))
            fail_msg("%s: works as method %d, with %llu rows in the sample", c->name,
                     (int)info.actual, (unsigned long long)info.n_sampled);
        efface_model_free(model);
        efface_data_free(data);
        free_table(&t);
    }
}

/* The config "defaults" is what its name says. */
static void defaults_are_the_documented_ones(void **state) {
    (void)state;
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    assert_true(p.method == PYRAMID && p.n_clusters == 8 && p.iterations == 10 &&
                p.common.seed == 0);
    assert_true(p.candidates == 0 && p.pyramid.rate == 0.0 && p.pyramid.passes == 1 &&
                p.pyramid.starts == 4);
    assert_true(p.scale == NONE && p.bound == 0.0 && p.empty == RESEED && p.epsilon == 0.0);
    assert_true(p.tree.leaf_method == LLOYD && p.tree.node_method == LLOYD && p.tree.height == 1 &&
                p.tree.width == 0);
}

static void digests_are_the_frozen_ones(void **state) {
    (void)state;
    const int print = getenv("EFFACE_PRINT_DIGESTS") != NULL;
    size_t n_wrong = 0;
    if (print)
        printf("static const char *const frozen[N_CONFIGS] = {\n");
    for (size_t i = 0; i < N_CONFIGS; i++) {
        table t = make_table(&configs[i]);
        efface_data *data = data_of(&t);
        const digest got = digest_of(&configs[i], data, 1);
        if (print) {
            printf("    /* %s */ \"%s\",\n", configs[i].name, got.hex);
        } else if (frozen[i] == NULL || strcmp(got.hex, frozen[i]) != 0) {
            print_error("%s: digest %s, frozen %s\n", configs[i].name, got.hex,
                        frozen[i] != NULL ? frozen[i] : "nothing");
            n_wrong++;
        }
        efface_data_free(data);
        free_table(&t);
    }
    if (print)
        printf("};\n");
    assert_int_equal(n_wrong, 0);
}

/* ------------------------------------------------------------------ tests of invariance */

static void threads_do_not_matter(void **state) {
    (void)state;
    static const uint32_t n_threads[] = {2, 3, 7, 0};
    for (size_t i = 0; i < N_CONFIGS; i++) {
        table t = make_table(&configs[i]);
        efface_data *data = data_of(&t);
        const digest one = digest_of(&configs[i], data, 1);
        for (size_t j = 0; j < 4; j++) {
            const digest more = digest_of(&configs[i], data, n_threads[j]);
            if (strcmp(one.hex, more.hex) != 0)
                fail_msg("%s: %u threads, another digest", configs[i].name, n_threads[j]);
        }
        efface_data_free(data);
        free_table(&t);
    }
}

/* Small sets are one thread's; here each of seven has enough to do. */
static void threads_do_not_matter_with_many_rows(void **state) {
    (void)state;
    static const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                            EFFACE_METHOD_PYRAMID};
    static const uint32_t n_threads[] = {2, 3, 7};
    efface_data *data = NULL;
    assert_int_equal(efface_data_make_gaussian(8, 20, 2000, 5, &data, NULL), EFFACE_OK);
    assert_true(ef_pass_threads(7, 1000, ef_pass_operations(20, 16)) == 7);
    for (size_t i = 0; i < 3; i++) {
        efface_kmeans_params p;
        efface_kmeans_params_init(&p);
        p.n_clusters = 16;
        p.method = methods[i];
        p.common.seed = 77;
        digest one = {{0}};
        for (size_t j = 0; j <= 3; j++) {
            efface_model *model = NULL;
            p.common.n_threads = j == 0 ? 1 : n_threads[j - 1];
            assert_int_equal(efface_kmeans_fit(data, &p, &model, NULL), EFFACE_OK);
            const digest d = digest_of_model(model);
            if (j == 0)
                one = d;
            assert_string_equal(one.hex, d.hex);
            efface_model_free(model);
        }
    }
    efface_data_free(data);
}

static void order_does_not_matter(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        table t = make_table(&configs[i]);
        efface_data *data = data_of(&t);
        const digest want = digest_of(&configs[i], data, 2);
        efface_data_free(data);
        for (int order = 0; order < 4; order++) {
            shuffle(&t);
            data = data_of(&t);
            expect(&configs[i], data, want, "rows in another order");
            efface_data_free(data);
        }
        free_table(&t);
    }
}

/* Rows that are not to stay: `n` of them, far outside in every column or in one. */
static table make_strangers(const config *c, size_t n) {
    table t = make_table(&(config){.from = LARGE, .n = n, .d = c->d, .top_weight = 3});
    for (size_t i = 0; i < n; i++) {
        t.ids[i] = mix(i + 1000000);
        for (uint32_t j = 0; j < c->d; j++)
            if (i % 3 == 1 && j != i % c->d)
                t.values[i * c->d + j] = 0.5f;
            else
                t.values[i * c->d + j] *= i % 2 == 0 ? 16.0f : -1.0f;
    }
    return t;
}

static void remove_ids(efface_data *data, const uint64_t *ids, size_t n) {
    assert_int_equal(efface_data_remove(data, ids, n, NULL), EFFACE_OK);
}

/* Strangers come before, between and after the rows, and leave together or one by one. */
static void strangers_leave_no_trace(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        table t = make_table(&configs[i]), s = make_strangers(&configs[i], 60);
        efface_data *fresh = data_of(&t), *data = create(&t);
        const digest want = digest_of(&configs[i], fresh, 2);
        add(data, &s, 0, 20);
        add(data, &t, 0, t.n / 2);
        add(data, &s, 20, 20);
        add(data, &t, t.n / 2, t.n - t.n / 2);
        add(data, &s, 40, 20);
        if (configs[i].bound == 0.0) /* with a bound, a fit would refuse them */
            assert_string_not_equal(digest_of(&configs[i], data, 2).hex, want.hex);
        remove_ids(data, s.ids + 10, 40);
        for (size_t j = 0; j < 10; j++) {
            remove_ids(data, s.ids + j, 1);
            remove_ids(data, s.ids + 50 + j, 1);
        }
        expect(&configs[i], data, want, "strangers removed");
        efface_data_free(data);
        efface_data_free(fresh);
        free_table(&t);
        free_table(&s);
    }
}

/* Rows get wrong values and weights first, are removed and come back, or the set is emptied. */
static void detours_leave_no_trace(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        table t = make_table(&configs[i]), wrong = make_strangers(&configs[i], t.n);
        const size_t half = t.n / 2, quarter = t.n / 4;
        efface_data *fresh = data_of(&t);
        const digest want = digest_of(&configs[i], fresh, 2);
        efface_data_free(fresh);
        memcpy(wrong.ids, t.ids, t.n * sizeof *t.ids);

        efface_data *data = data_of(&wrong);
        const efface_rows first = part_of(&t, 0, half), rest = part_of(&t, half, t.n - half);
        assert_int_equal(efface_data_replace(data, &rest, NULL), EFFACE_OK);
        assert_int_equal(efface_data_replace(data, &first, NULL), EFFACE_OK);
        expect(&configs[i], data, want, "rows replaced");

        remove_ids(data, t.ids + quarter, half);
        add(data, &t, quarter, half);
        expect(&configs[i], data, want, "rows removed and added again");

        remove_ids(data, t.ids, t.n);
        assert_int_equal(efface_data_n_rows(data), 0);
        add(data, &wrong, 0, half);
        add(data, &t, half, t.n - half);
        assert_int_equal(efface_data_replace(data, &first, NULL), EFFACE_OK);
        expect(&configs[i], data, want, "the set emptied and filled again");

        efface_data_free(data);
        free_table(&t);
        free_table(&wrong);
    }
}

/* A single extreme value moves the bound or a column's range; when it is gone, they move back. */
static void ranges_move_back(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        const config *c = &configs[i];
        if (c->n == 0 || c->bound > 0.0)
            continue;
        table t = make_table(c);
        efface_data *data = data_of(&t);
        const digest want = digest_of(c, data, 2);
        for (int sign = -1; sign <= 1; sign += 2) {
            float *row = make(c->d, sizeof *row);
            const uint64_t id = 12345;
            const efface_rows one = {.n_rows = 1, .values = row, .ids = &id};
            memcpy(row, t.values, c->d * sizeof *row);
            row[c->d / 2] = (float)sign * 0x1p124f;
            assert_int_equal(efface_data_add(data, &one, NULL), EFFACE_OK);
            const digest moved = digest_of(c, data, 2);
            assert_string_not_equal(moved.hex, want.hex);
            remove_ids(data, &id, 1);
            expect(c, data, want, "an extreme row removed");

            const uint64_t theirs = t.ids[0]; /* the same by replacing a row and back */
            const efface_rows change = {
                .n_rows = 1, .values = row, .ids = &theirs, .weights = t.weights};
            const efface_rows back = part_of(&t, 0, 1);
            assert_int_equal(efface_data_replace(data, &change, NULL), EFFACE_OK);
            assert_string_not_equal(digest_of(c, data, 2).hex, want.hex);
            assert_int_equal(efface_data_replace(data, &back, NULL), EFFACE_OK);
            expect(c, data, want, "an extreme value replaced");
            free(row);
        }
        efface_data_free(data);
        free_table(&t);
    }
}

static void expect_model(const config *c, const efface_model *model, digest want,
                         const char *what) {
    const digest got = digest_of_model(model);
    if (strcmp(got.hex, want.hex) != 0)
        fail_msg("%s, %s: digest %s instead of %s", c->name, what, got.hex, want.hex);
}

/* A model that was fitted to a part of the rows, or to others as well, and has followed the set to
 * where it is now. */
static void changed_models_are_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        const config *c = &configs[i];
        table t = make_table(c), s = make_strangers(c, c->bound > 0.0 ? 0 : 6);
        efface_data *fresh = data_of(&t), *data = create(&t);
        const digest want = digest_of(c, fresh, 2);
        const size_t third = t.n / 3;
        add(data, &t, 0, third);
        efface_model *model = fit(c, data, 1 + (uint32_t)(i % 3));
        const efface_rows rest = part_of(&t, third, t.n - third), few = part_of(&s, 0, s.n);
        assert_int_equal(efface_model_learn(model, data, &few, NULL, NULL), EFFACE_OK);
        assert_int_equal(efface_model_learn(model, data, &rest, NULL, NULL), EFFACE_OK);
        assert_int_equal(efface_model_forget(model, data,
                                             &(efface_request){.ids = s.ids, .n_ids = s.n}, NULL,
                                             NULL),
                         EFFACE_OK);
        expect_model(c, model, want, "after changes of the model");

        /* Rows that many a leaf has, all at once, and again one by one. */
        const size_t n = t.n < 200 ? t.n / 2 : 100;
        const efface_rows again = part_of(&t, third / 2, n);
        assert_int_equal(
            efface_model_forget(
                model, data, &(efface_request){.ids = t.ids + third / 2, .n_ids = n}, NULL, NULL),
            EFFACE_OK);
        assert_int_equal(efface_model_learn(model, data, &again, NULL, NULL), EFFACE_OK);
        for (size_t j = 0; j < 3 && j < t.n; j++) {
            const efface_rows one = part_of(&t, j, 1);
            assert_int_equal(efface_model_forget(model, data,
                                                 &(efface_request){.ids = &t.ids[j], .n_ids = 1},
                                                 NULL, NULL),
                             EFFACE_OK);
            assert_int_equal(efface_model_learn(model, data, &one, NULL, NULL), EFFACE_OK);
        }
        expect_model(c, model, want, "after rows left and came back");
        efface_model_free(model);
        efface_data_free(data);
        efface_data_free(fresh);
        free_table(&t);
        free_table(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_equals_oracle),
        cmocka_unit_test(defaults_are_the_documented_ones),
        cmocka_unit_test(samples_are_where_they_pay),
        cmocka_unit_test(digests_are_the_frozen_ones),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(threads_do_not_matter_with_many_rows),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(strangers_leave_no_trace),
        cmocka_unit_test(detours_leave_no_trace),
        cmocka_unit_test(ranges_move_back),
        cmocka_unit_test(changed_models_are_the_same),
    };
    if (efface_kernels_name() == NULL) {
        fprintf(stderr, "this processor has not got the kernels of EFFACE_KERNELS\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("invariance", tests, NULL, NULL);
}
