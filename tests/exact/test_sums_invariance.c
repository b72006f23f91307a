/*
 * What sums and their views must not depend on: the number of threads, the order of rows, and, by
 * frozen digests, the compiler, its options, the processor and the kernel table. A state has a
 * digest, and so has everything that its views say: predictions, scores, tables, and what each row
 * would be missed by, as bits.
 *
 * The frozen digests are part of the definition of the bits. EFFACE_PRINT_DIGESTS=1 prints their
 * table anew, for the day the definition is changed on purpose (CHANGELOG: Numerics). States are
 * compared with the oracle as well, and views with plain computations in unit/test_sums_views.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "law/draws.h"
#include "law/sums_room.h"
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
static const char *const frozen[N_CONFIGS][2] = {{NULL, NULL}};

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
    p->linear = (efface_linear_params){c->alpha, c->intercept};
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_equals_oracle),
        cmocka_unit_test(digests_are_the_frozen_ones),
        cmocka_unit_test(threads_and_order_do_not_matter),
        cmocka_unit_test(changed_models_are_the_same),
    };
    if (efface_kernels_name() == NULL) {
        fprintf(stderr, "this processor has not got the kernels of EFFACE_KERNELS\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("invariance of sums", tests, NULL, NULL);
}
