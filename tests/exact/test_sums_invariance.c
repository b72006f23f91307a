/*
 * What sums and their views must not depend on: the number of threads, the order of rows, and, by
 * frozen digests, the compiler, its options, the processor and the kernel table. A state has a
 * digest, and so has everything that its views say: predictions, scores, tables, and what each row
 * would be missed by, as bits.
 *
 * The frozen digests are part of the definition of the bits. EFFACE_PRINT_DIGESTS=1 prints their
 * table anew, for the day the definition is changed on purpose (CHANGELOG: Numerics). States are
 * compared with the oracle as well, and views with plain computations in sums/test_sums_views.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes/digest.h"
#include "law/draws.h"
#include "law/sums_buffers.h"
#include "law/sums_views.h"

#define EXIT_SKIPPED 77

/* ------------------------------------------------------------------ configurations */

typedef enum source {
    ORDINARY,  /* values around some means, which a target follows */
    DEPENDENT, /* some columns are constant, copies, or sums of others */
    LARGE,     /* of either sign, up to 2^121 */
    INTEGERS   /* small: ties */
} source;

typedef struct config {
    const char *name;
    source from;
    size_t n;
    uint32_t d;
    uint64_t n_classes, top_weight;
    efface_view view;
    uint32_t n_targets, n_fourier;
    double bound, alpha, shrinkage;
    int intercept, quadratic, whiten;
    efface_summed summed, by_class;
} config;

#define MEANS EFFACE_VIEW_MEANS
#define LINEAR EFFACE_VIEW_LINEAR
#define RIDGE EFFACE_VIEW_RIDGE
#define BAYES EFFACE_VIEW_BAYES
#define DISC EFFACE_VIEW_DISCRIMINANT
#define PARTS EFFACE_VIEW_COMPONENTS
#define FULL EFFACE_SUMMED_FULL

static const config configs[] = {
    {"means", ORDINARY, 3000, 25, 0, 1, MEANS, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"linear", ORDINARY, 3000, 25, 0, 1, LINEAR, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"linear, weights", ORDINARY, 1000, 17, 0, 5, LINEAR, 3, 0, 0, 0.5, 0, 1, 0, 0, 0, 0},
    {"linear, no intercept", ORDINARY, 1000, 16, 0, 1, LINEAR, 2, 0, 1024, 0, 0, 0, 0, 0, 0, 0},
    {"linear, dependent", DEPENDENT, 500, 20, 0, 1, LINEAR, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"linear, few rows", ORDINARY, 12, 33, 0, 1, LINEAR, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"linear, large", LARGE, 700, 9, 0, 1 << 29, LINEAR, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"linear, wide", ORDINARY, 400, 130, 0, 1, LINEAR, 2, 0, 0, 1, 0, 1, 0, 0, 0, 0},
    {"linear, one column", ORDINARY, 50, 2, 0, 1, LINEAR, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"linear, no rows", ORDINARY, 0, 4, 0, 1, LINEAR, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"ridge", ORDINARY, 2000, 20, 4, 1, RIDGE, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0},
    {"ridge, two classes", INTEGERS, 900, 7, 2, 3, RIDGE, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"ridge, many classes", ORDINARY, 2000, 6, 200, 1, RIDGE, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0},
    {"bayes", ORDINARY, 2000, 25, 5, 1, BAYES, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"bayes, weights", INTEGERS, 1500, 9, 30, 7, BAYES, 0, 0, 64, 0, 0, 1, 0, 0, 0, 0},
    {"discriminants", ORDINARY, 2000, 20, 4, 1, DISC, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"discriminants, shrunk", ORDINARY, 800, 40, 3, 2, DISC, 0, 0, 0, 0, 0.25, 1, 0, 0, 0, 0},
    {"discriminants, dependent", DEPENDENT, 600, 12, 3, 1, DISC, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"quadratic", ORDINARY, 2000, 12, 4, 1, DISC, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0},
    {"quadratic, shrunk", DEPENDENT, 600, 12, 3, 2, DISC, 0, 0, 0, 0, 0.1, 1, 1, 0, 0, 0},
    {"components", ORDINARY, 1500, 33, 0, 1, PARTS, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"components, whitened", ORDINARY, 1500, 8, 0, 4, PARTS, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0},
    {"components, dependent", DEPENDENT, 300, 12, 0, 1, PARTS, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
    {"components, few rows", ORDINARY, 7, 20, 0, 1, PARTS, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0},
    {"all views", ORDINARY, 1000, 10, 3, 2, LINEAR, 1, 0, 0, 0.1, 0, 1, 0, 0, FULL, FULL},
    {"all views, large", LARGE, 500, 8, 3, 1 << 20, LINEAR, 1, 0, 0, 0.1, 0, 1, 0, 0, FULL, FULL},
    {"fourier", ORDINARY, 1500, 9, 0, 1, LINEAR, 2, 50, 0, 0.01, 0, 1, 0, 0, 0, 0},
    {"fourier, ridge", ORDINARY, 1000, 6, 3, 3, RIDGE, 0, 33, 0, 1, 0, 1, 0, 0, 0, 0},
    {"fourier, large", LARGE, 200, 5, 3, 1, LINEAR, 1, 20, 0, 1, 0, 1, 0, 0, FULL, FULL},
};
#define N_CONFIGS (sizeof configs / sizeof *configs)

/* Of the state, and of what views say; as EFFACE_PRINT_DIGESTS=1 prints them. */
static const char *const frozen[N_CONFIGS][2] = {
    {/* means */ "2a5ff9fab7215066725ed7f39d40a85baa5429d49fd62789a2d857abf7c748a0",
     "e6ab248483a3bbb3550d0f7d5943cd5b46ab67f0a39bfdbabbd7d206e2be9e8b"},
    {/* linear */ "e8f21d5062f87713fea0e0f8ce6c3c4b4f67bcdacd1bbe281d87f51035f416be",
     "d51b38054e87e194a16f2dfb3d12819765967ccdcbd7da1c8e2c089a1227a302"},
    {/* linear, weights */ "cfce3b3396e8d2949d3a70dbd3cb21f92dd200d810ff74066bf29daa0273b713",
     "692c7805158f9e63856db3085bb6d77b69e6c91821c058968290518235bc3e8b"},
    {/* linear, no intercept */ "dad3e9860edc86e7b7546b8c45f72fbd0ce5387760163dc88318e5b903913081",
     "940b2ca8e8a6956308577b88d9a6d35b7f3d9c06632b0da7a80bbee3fbf910c8"},
    {/* linear, dependent */ "5de0096a6b5255d2cf5355507fdb33005715d6aa84e7d5d2409cb1fc23b96bc4",
     "e411e87cc5e9904e5ef773feb1c2308492282d8ba5494e4ee4177f827a42271f"},
    {/* linear, few rows */ "6c709d0f2d074d63daf0c5c3f56c182d04110ff3fd435ca8d5f897a513b40c97",
     "49fdadc5d8797ee8f6de552636832225e18f71faf8608171fac5350d374cdb0b"},
    {/* linear, large */ "9f96576d4ed9df062e0ea5d3e3688b250138b4265219f7a08e1089ae1ba27330",
     "bb2def4bf292bea789f4999687a804dc8f30cc014b0fefab3f4dcc99cb4fdeb8"},
    {/* linear, wide */ "9e5ecdbd1ea1ab86c8799f3a588d524b188c4a850f7b2249c00d1807a7a69fed",
     "1762d25f3eaee5b0fb4b2cf9afd06445287bcbc412f6496ddb6b5a45a8d56010"},
    {/* linear, one column */ "caac5d630ec8d288425d45a98ed26c8389711c0080cc62637513737ce22fdafb",
     "2ae30f2b06b28e508492c9ef853c8a8faf25e1fc3286da09ffe083f6b2d7886d"},
    {/* linear, no rows */ "ee40f29ea9d13a0079cc82197affcfaa1dd24c306f0b3e8ec43483454c850bbb",
     "ba8e0269e1bcabf1a5b17046e500cfae7b0720ef9416eadecc04d27fd265dfcd"},
    {/* ridge */ "3b336bad9f14a52f0789046ec9b2ccd8f5ee9c787fd3f6ecb01fc961474a8607",
     "3001bb2e423def555656f4e1d4b46378265cf6826f6c5943b8bfed5602929ef7"},
    {/* ridge, two classes */ "2d658aa0b0ae155e7b9fadcc67decfe00a2f8e9b9e1be35d81f4567a3ded43ff",
     "81fab6eb88927315066d52f8338e8cc01bf52b5c808f3061b35de27865104408"},
    {/* ridge, many classes */ "fa8364b3940a3b186dad5298df97d131ee2c28b2508f6bea797f92265a091fc7",
     "30ed85cb742587ef4f1a8337b18cea6e967c83ba87a34409aaddb339c830180a"},
    {/* bayes */ "1fda38c92fc6198b1f75071e536479c0f44576e94ed8c1c5e2ac42741a926598",
     "18c8e10143751a732a6af672a028aa29aed03f57db90f6a99f0cd19067f85b0b"},
    {/* bayes, weights */ "e12aa78dd6a7bae294b7a1df5ee1e14988525ba3e646e6bab12c3ba66bf98f03",
     "0a84b7c4e1470ca1bf83017fe388616dab6e13318660393ae0225ae7ef2eb061"},
    {/* discriminants */ "3b336bad9f14a52f0789046ec9b2ccd8f5ee9c787fd3f6ecb01fc961474a8607",
     "d9eed385113e57e25f51aa7ba6760556c3e936d569d039beba25dce6a21ceeec"},
    {/* discriminants, shrunk */ "6828542b4df3d368b3bbdeb09b3a1048896f18f20b1037b20ae01ac4a64e19b6",
     "96321845a945ae0adf527cfb431156ef9c5f86a7a37af644ae20038dab28762e"},
    {/* discriminants, dependent */ "4c167d3c3d47174e01110e36cef683f5493dc51778335ced6c7dc9f7c1c172"
                                    "1d",
     "8b5164c080049f6c613b40cbd75b4c25be9fa6a252bab1694e55759022e8490f"},
    {/* quadratic */ "d13d24b7ce1c3f5f66b5df6831a4cc4167cb8d06f45eddd88de173f808cd593d",
     "749921a132aab97ef9179def40f80a556ab1aefb88b3fbc5e5616e3c860dd517"},
    {/* quadratic, shrunk */ "2083bf13d6d9a602a48b96d4aa68ec01830ce155595a65d7a8d78e698b798475",
     "8af88bb1996e416dafeb2cea2114d439d64d99282e3b38a667e7a26c9b6fba9a"},
    {/* components */ "277d2bb9e7426b3a92957ed718404f95a207e8dd50285dbb3d8f05df6ad62ecb",
     "732cb4312ad9bab7cceabf639267629874576fe48b69fecf054b1ae73198934a"},
    {/* components, whitened */ "a26f224787f9793ed35248488f0934287e34212fc3c98eb22f0682a68330d2b6",
     "e2bc1e9ba8833f8e430de68c905208e9ac00da14333c20918a14643a7592bb7b"},
    {/* components, dependent */ "e5829369734031217b5e23db1f9084796a100e2625d2ad971474a88592af17a4",
     "72599b72d2986e2571ef126d325a62cc55894c0d93c4e003a0b4dc194cf587cc"},
    {/* components, few rows */ "2bd8f14a54e8574c05082727c2d8436a3543a8ef85d0633a6315a7eb8cd123a3",
     "89538a5a239cd66cfd5014aad69bf69df8cf22a0783ecf9d9193be5d86bc9712"},
    {/* all views */ "7c1265255c6fc5321ec2fb8867ab1087b9797fddb227dfdb1d8e36baedfae5ca",
     "3fdc8849e670c2ff80219c923a3252cac134719638dcf46051369e198e9658b3"},
    {/* all views, large */ "acdb042370483f55f5103ed19c15d4baef1f2c928fe9fbc87ecae5a0c7c20807",
     "d916eff19b89546f4dd562c6305e6500b3e17eedf84a7ca6e937128e8d7c87c3"},
    {/* fourier */ "0c234fa52ee3d8194175e6bdd76ce743c9d3a25a9baa4fb05639471d6bf4884c",
     "7ca22ae2e3540f57675775f71a3faf13aa6be375032342c12f5351a8812f450f"},
    {/* fourier, ridge */ "c87a1dd8b0b455970857c69e2e413f4f42e50f1f1c755f9b8aa57a60691f60ca",
     "9c024ebe71529156070ece8bd3106528f05dd6d033dca19528577b45f63f7869"},
    {/* fourier, large */ "e4a3ab0cbafbe10f61827f1a35f933f4fa91044bd1f37565d470a678f949485c",
     "fa58236bb73b3f27581db6a7c992c3f3a98a2d98b152bbf6154f40bc9ee72101"},
};

/* ------------------------------------------------------------------ rows */

static float around(float spread) {
    float sum = -2.0f;
    for (int i = 0; i < 4; i++)
        sum += unit();
    return sum * spread;
}

static void fill_row(const config *c, float *row, int64_t label) {
    const float aside = label > 0 ? (float)(label % 5) * 0.5f : 0.0f;
    for (uint32_t j = 0; j < c->d; j++)
        row[j] = c->from == INTEGERS ? (float)below(6) + aside
                 : c->from == LARGE  ? sign(scaled(unit(), 90 + (int)(j % 30)))
                                     : around(1.0f + (float)(j % 4)) + (float)(j % 7) * aside;
    for (uint32_t j = 3; c->from == DEPENDENT && j < c->d; j += 4) {
        row[j] = row[0] + row[1];
        row[j - 1] = j % 8 == 3 ? 2.5f : row[j - 2];
    }
    if (c->from == ORDINARY && c->d > 1) /* the last column follows the others */
        for (uint32_t j = 0; j + 1 < c->d; j++)
            row[c->d - 1] += row[j] * (0.5f - 0.125f * (float)(j % 8));
}

static law_rows make_table(const config *c) {
    law_rows t = law_make_rows(c->n, c->d);
    rng_state = 18 + c->n + c->d;
    for (size_t i = 0; i < c->n; i++) {
        t.ids[i] = mix(i + 5); /* one to one */
        t.weights[i] = 1 + (int64_t)below(c->top_weight);
        t.labels[i] = c->n_classes == 0 || one_in(20) ? EFFACE_NO_LABEL
                                                      : (int64_t)below(c->n_classes) * 7 - 7;
        fill_row(c, t.values + i * c->d, t.labels[i]);
    }
    return t;
}

/* Exchanges random pairs of rows. */
static void shuffle(law_rows *t) {
    for (size_t i = t->n; i > 1; i--) {
        const size_t a = i - 1, b = below(i);
        for (uint32_t j = 0; j < t->d; j++) {
            const float x = t->values[a * t->d + j];
            t->values[a * t->d + j] = t->values[b * t->d + j];
            t->values[b * t->d + j] = x;
        }
        const uint64_t id = t->ids[a];
        const int64_t weight = t->weights[a], label = t->labels[a];
        t->ids[a] = t->ids[b];
        t->ids[b] = id;
        t->weights[a] = t->weights[b];
        t->weights[b] = weight;
        t->labels[a] = t->labels[b];
        t->labels[b] = label;
    }
}

static efface_data *data_of(const law_rows *t) {
    efface_data *data = NULL;
    const efface_rows rows = {.n_rows = t->n,
                              .values = t->values,
                              .ids = t->ids,
                              .weights = t->weights,
                              .labels = t->labels};
    assert_int_equal(efface_data_create(t->d, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

/* ------------------------------------------------------------------ models */

/* Targets are the last columns, the very last first. */
static void params_of(const config *c, uint32_t n_threads, law_params *params) {
    memset(params, 0, sizeof *params);
    sums_room *const room = sums_room_of(params);
    efface_sums_params *const p = &room->params;
    efface_sums_params_init(p);
    p->common.seed = 20191105;
    p->common.n_threads = n_threads;
    p->bound = c->bound;
    p->view = c->view;
    p->summed = c->summed;
    p->by_class = c->by_class;
    p->n_fourier = c->n_fourier;
    p->gamma = 0.05;
    p->linear = (efface_linear_params){c->alpha, c->intercept, 1, EFFACE_SCALE_NONE};
    p->discriminant.shrinkage = c->shrinkage;
    p->discriminant.quadratic = c->quadratic;
    p->components.whiten = c->whiten;
    p->n_targets = c->n_targets;
    p->targets = c->n_targets != 0 ? room->targets : NULL;
    for (uint32_t t = 0; t < c->n_targets; t++)
        room->targets[t] = c->d - 1 - t;
}

static efface_model *fit(const config *c, const efface_data *data, uint32_t n_threads) {
    law_params params;
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    params_of(c, n_threads, &params);
    if (law_fit(data, &params, &model, &error) != EFFACE_OK)
        fail_msg("%s: %s", c->name, error.message);
    return model;
}

/* ------------------------------------------------------------------ digests */

typedef struct digests {
    char state[2 * EFFACE_DIGEST_BYTES + 1], views[2 * EFFACE_DIGEST_BYTES + 1];
} digests;

static void to_hex(const unsigned char digest[EFFACE_DIGEST_BYTES], char *hex) {
    for (int i = 0; i < EFFACE_DIGEST_BYTES; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

typedef struct missed {
    uint64_t id;
    double by[4];
} missed;

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = ((const missed *)a)->id, y = ((const missed *)b)->id;
    return (x > y) - (x < y);
}

/* What each row would be missed by, in the order of ids, as bits. */
static void add_misses(const config *c, const efface_model *model, const efface_data *data,
                       unsigned char *bytes, size_t *n_bytes) {
    double *const misses = make(c->n * c->n_targets, sizeof *misses);
    missed *const list = make(c->n, sizeof *list);
    if (c->n_targets != 0 &&
        efface_linear_leave_one_out(model, data, NULL, misses, NULL) == EFFACE_OK) {
        for (size_t i = 0; i < c->n; i++) {
            list[i].id = efface_data_row(data, i).id;
            for (uint32_t t = 0; t < c->n_targets; t++) {
                const double miss = misses[i * c->n_targets + t];
                list[i].by[t] = miss == miss ? miss : -123456789.0; /* all NaN are the same */
            }
        }
        qsort(list, c->n, sizeof *list, compare_ids);
        memcpy(bytes + *n_bytes, list, c->n * sizeof *list);
        *n_bytes += c->n * sizeof *list;
    }
    free(list);
    free(misses);
}

static digests digests_of(const config *c, const efface_model *model, const efface_data *data) {
    digests out;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    assert_int_equal(efface_model_digest(model, digest, NULL), EFFACE_OK);
    to_hex(digest, out.state);
    sums_said *const said = make(1, sizeof *said);
    sums_ask(model, data, true, false, said);
    unsigned char *const bytes = make(said->n + c->n * sizeof(missed), 1);
    size_t n_bytes = said->n;
    memcpy(bytes, said->bytes, n_bytes);
    add_misses(c, model, data, bytes, &n_bytes);
    ef_digest(bytes, n_bytes, digest);
    to_hex(digest, out.views);
    free(bytes);
    free(said->bytes);
    free(said);
    return out;
}

static void expect(const config *c, const digests *got, const digests *want, const char *what) {
    if (strcmp(got->state, want->state) != 0)
        fail_msg("%s, %s: another state", c->name, what);
    if (strcmp(got->views, want->views) != 0)
        fail_msg("%s, %s: the same state, but views say something else", c->name, what);
}

/* ------------------------------------------------------------------ tests */

static void state_equals_oracle(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        law_params params;
        unsigned char *bytes = NULL;
        size_t n = 0, n_plain = 0;
        law_rows t = make_table(&configs[i]);
        efface_data *const data = data_of(&t);
        efface_model *const model = fit(&configs[i], data, 2);
        params_of(&configs[i], 1, &params);
        unsigned char *const plain = sums_oracle(&t, &params, &n_plain);
        assert_int_equal(efface_model_encode(model, &bytes, &n, NULL), EFFACE_OK);
        if (n != n_plain || memcmp(bytes, plain, n) != 0) {
            char text[LAW_TEXT_BYTES] = "";
            sums_differ(&params, bytes, n, plain, n_plain, text);
            fail_msg("%s: %s", configs[i].name, text);
        }
        efface_bytes_free(bytes);
        free(plain);
        efface_model_free(model);
        efface_data_free(data);
        law_free_rows(&t);
    }
}

static void digests_are_the_frozen_ones(void **state) {
    (void)state;
    const int print = getenv("EFFACE_PRINT_DIGESTS") != NULL;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        law_rows t = make_table(&configs[i]);
        efface_data *const data = data_of(&t);
        efface_model *const model = fit(&configs[i], data, 1);
        const digests got = digests_of(&configs[i], model, data);
        if (print)
            printf("    {/* %s */ \"%s\", \"%s\"},\n", configs[i].name, got.state, got.views);
        else if (frozen[i][0] == NULL)
            fail_msg("%s has no frozen digests", configs[i].name);
        else if (strcmp(got.state, frozen[i][0]) != 0)
            fail_msg("%s: state %s instead of %s", configs[i].name, got.state, frozen[i][0]);
        else if (strcmp(got.views, frozen[i][1]) != 0)
            fail_msg("%s: views %s instead of %s", configs[i].name, got.views, frozen[i][1]);
        efface_model_free(model);
        efface_data_free(data);
        law_free_rows(&t);
    }
}

static void threads_and_order_do_not_matter(void **state) {
    (void)state;
    static const uint32_t n_threads[] = {2, 7, 0};
    for (size_t i = 0; i < N_CONFIGS; i++) {
        const config *const c = &configs[i];
        law_rows t = make_table(c);
        efface_data *data = data_of(&t);
        efface_model *model = fit(c, data, 1);
        const digests want = digests_of(c, model, data);
        efface_model_free(model);
        for (int k = 0; k < 3; k++) {
            model = fit(c, data, n_threads[k]);
            const digests got = digests_of(c, model, data);
            expect(c, &got, &want, "with other threads");
            efface_model_free(model);
        }
        efface_data_free(data);
        shuffle(&t);
        data = data_of(&t);
        model = fit(c, data, 2);
        const digests got = digests_of(c, model, data);
        expect(c, &got, &want, "in another order");
        efface_model_free(model);
        efface_data_free(data);
        law_free_rows(&t);
    }
}

/* A model that was fitted to a part of the rows and learned the rest, with detours. */
static void changed_models_are_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        const config *const c = &configs[i];
        law_rows t = make_table(c), part = t;
        efface_data *whole = data_of(&t);
        efface_model *model = fit(c, whole, 1);
        const digests want = digests_of(c, model, whole);
        efface_model_free(model);
        efface_data_free(whole);
        part.n = t.n / 3;
        efface_data *const data = data_of(&part);
        model = fit(c, data, 1 + (uint32_t)(i % 3));
        const size_t at = part.n;
        const efface_rows rest = {.n_rows = t.n - at,
                                  .values = t.values + at * t.d,
                                  .ids = t.ids + at,
                                  .weights = t.weights + at,
                                  .labels = t.labels + at};
        const efface_request leave = {.ids = t.ids + at, .n_ids = t.n - at};
        assert_int_equal(efface_model_learn(model, data, &rest, NULL, NULL), EFFACE_OK);
        assert_int_equal(efface_model_forget(model, data, &leave, NULL, NULL), EFFACE_OK);
        assert_int_equal(efface_model_learn(model, data, &rest, NULL, NULL), EFFACE_OK);
        const digests got = digests_of(c, model, data);
        expect(c, &got, &want, "after changes");
        efface_model_free(model);
        efface_data_free(data);
        law_free_rows(&t);
    }
}

/* Bytes and parameters are all that a model is. */
static void decoded_models_are_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CONFIGS; i++) {
        const config *const c = &configs[i];
        law_params params;
        unsigned char *bytes = NULL;
        size_t n = 0;
        law_rows t = make_table(c);
        efface_data *const data = data_of(&t);
        efface_model *const model = fit(c, data, 1), *again = NULL;
        const digests want = digests_of(c, model, data);
        params_of(c, 2, &params);
        assert_int_equal(efface_model_encode(model, &bytes, &n, NULL), EFFACE_OK);
        assert_int_equal(efface_model_decode(bytes, n, &params.common, data, &again, NULL),
                         EFFACE_OK);
        const digests got = digests_of(c, again, data);
        expect(c, &got, &want, "after decoding");
        efface_bytes_free(bytes);
        efface_model_free(again);
        efface_model_free(model);
        efface_data_free(data);
        law_free_rows(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_equals_oracle),
        cmocka_unit_test(digests_are_the_frozen_ones),
        cmocka_unit_test(threads_and_order_do_not_matter),
        cmocka_unit_test(changed_models_are_the_same),
        cmocka_unit_test(decoded_models_are_the_same),
    };
    if (efface_kernels_name() == NULL) {
        fprintf(stderr, "this processor has not got the kernels of EFFACE_KERNELS\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("invariance of sums", tests, NULL, NULL);
}
