/*
 * Nothing drifts: after very many random learns, forgets and updates, one by one and in batches,
 * the digest of sums is that of a fresh fit. EFFACE_TEST_CASES says how many changes, 10,000 unless
 * told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "efface/efface.h"
#include "law/draws.h"

#define N_COLUMNS 5
#define N_IDS 60
#define N_MODELS 4
#define MOST_BATCH 4
#define DEFAULT_CHANGES 10000ul

static const uint32_t target = 2;

/* Sums of all kinds: full, by class, full by class, of Fourier features. */
static void fit_models(const efface_data *data, efface_model **models) {
    static const efface_view views[N_MODELS] = {EFFACE_VIEW_LINEAR, EFFACE_VIEW_BAYES,
                                                EFFACE_VIEW_DISCRIMINANT, EFFACE_VIEW_LINEAR};
    for (int m = 0; m < N_MODELS; m++) {
        efface_sums_params params;
        efface_sums_params_init(&params);
        params.common.n_threads = 1;
        params.common.seed = 5;
        params.view = views[m];
        params.discriminant.quadratic = 1;
        params.n_fourier = m == 3 ? 6 : 0;
        params.targets = &target;
        params.n_targets = views[m] == EFFACE_VIEW_LINEAR;
        assert_int_equal(efface_sums_fit(data, &params, &models[m], NULL), EFFACE_OK);
    }
}

/* Most values are ordinary; some move the exponent of their column. */
static float draw_value(void) {
    const float x = 2.0f * unit() - 1.0f;
    return one_in(200) ? x * 1e6f : one_in(50) ? scaled(x, -40) : x;
}

typedef struct batch {
    size_t n;
    float values[MOST_BATCH * N_COLUMNS];
    uint64_t ids[MOST_BATCH];
    int64_t weights[MOST_BATCH], labels[MOST_BATCH];
} batch;

/* Some ids that are inside, or outside, with new values. */
static batch draw_batch(const bool *inside, bool which) {
    batch b = {.n = 0};
    const size_t most = one_in(4) ? MOST_BATCH : 1;
    const uint64_t first = below(N_IDS);
    for (uint64_t i = 0; i < N_IDS && b.n < most; i++) {
        const uint64_t id = (first + 7 * i) % N_IDS;
        if (inside[id] != which)
            continue;
        b.ids[b.n] = id;
        b.weights[b.n] = one_in(10) ? INT64_C(1) << 30 : 1 + (int64_t)below(3);
        b.labels[b.n] = one_in(9)    ? EFFACE_NO_LABEL
                        : one_in(40) ? INT64_MAX - (int64_t)below(3) /* comes and goes */
                                     : (int64_t)below(4) - 1;
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            b.values[b.n * N_COLUMNS + j] = draw_value();
        b.n++;
    }
    return b;
}

static void change(efface_model **models, efface_data *data, bool *inside) {
    const uint64_t kind = below(5);
    const batch b = draw_batch(inside, kind >= 2);
    const efface_rows rows = {
        .n_rows = b.n, .values = b.values, .ids = b.ids, .weights = b.weights, .labels = b.labels};
    const efface_request request = {.ids = b.ids, .n_ids = b.n};
    efface_error error = {.message = ""};
    efface_status status;
    if (kind < 2)
        status = efface_models_learn(models, N_MODELS, data, &rows, NULL, &error);
    else if (kind < 4)
        status = efface_models_forget(models, N_MODELS, data, &request, NULL, &error);
    else
        status = efface_models_update(models, N_MODELS, data, &rows, NULL, &error);
    if (status != EFFACE_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < b.n && kind < 4; i++)
        inside[b.ids[i]] = kind < 2;
}

static void check(efface_model *const *models, const efface_data *data, unsigned long n) {
    efface_model *fresh[N_MODELS];
    fit_models(data, fresh);
    for (int m = 0; m < N_MODELS; m++) {
        unsigned char a[EFFACE_DIGEST_BYTES], b[EFFACE_DIGEST_BYTES];
        assert_int_equal(efface_model_digest(models[m], a, NULL), EFFACE_OK);
        assert_int_equal(efface_model_digest(fresh[m], b, NULL), EFFACE_OK);
        if (memcmp(a, b, sizeof a) != 0)
            fail_msg("model %d is not that of a fresh fit after %lu changes", m, n);
        efface_model_free(fresh[m]);
    }
}

static void nothing_drifts(void **state) {
    (void)state;
    const char *const many = getenv("EFFACE_TEST_CASES");
    const unsigned long n = many != NULL ? strtoul(many, NULL, 0) : DEFAULT_CHANGES;
    bool inside[N_IDS] = {false};
    efface_data *data = NULL;
    efface_model *models[N_MODELS];
    rng_state = 18;
    assert_int_equal(efface_data_create(N_COLUMNS, &data, NULL), EFFACE_OK);
    fit_models(data, models);
    for (unsigned long i = 0; i < n; i++) {
        change(models, data, inside);
        if (i % (n / 10 + 1) == 0)
            check(models, data, i + 1);
    }
    check(models, data, n);
    for (int m = 0; m < N_MODELS; m++)
        efface_model_free(models[m]);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_drifts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
