/* Progress: what a fit tells never falls, ends with 1, and comes on the thread that made the call;
 * to be told changes nothing. */
#include "efface/efface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static _Thread_local int makes_calls;

typedef struct listener {
    double part;
    unsigned n_told, n_elsewhere;
    int fell;
} listener;

static void listen(void *context, double part) {
    listener *const l = context;
    l->n_elsewhere += !makes_calls;
    l->fell |= !(part > l->part) || part > 1.0;
    l->part = part;
    l->n_told++;
}

static void fit_and_compare(efface_method method, uint32_t iterations, uint32_t candidates,
                            uint32_t n_threads) {
    efface_data *data = NULL;
    efface_model *silent = NULL, *told = NULL;
    unsigned char a[EFFACE_DIGEST_BYTES], b[EFFACE_DIGEST_BYTES];
    listener l = {.part = 0.0};
    efface_kmeans_params params;
    makes_calls = 1;
    efface_kmeans_params_init(&params);
    params.method = method;
    params.n_clusters = 10;
    params.iterations = iterations;
    params.candidates = candidates;
    params.common.n_threads = n_threads;
    assert_int_equal(efface_data_make_gaussian(10, 20, 700, 3, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(data, &params, &silent, NULL), EFFACE_OK);
    params.common.progress = listen;
    params.common.interrupt_context = &l;
    assert_int_equal(efface_kmeans_fit(data, &params, &told, NULL), EFFACE_OK);
    assert_true(l.n_told > 2);
    assert_true(l.part == 1.0);
    assert_int_equal(l.fell, 0);
    assert_int_equal(l.n_elsewhere, 0);
    assert_int_equal(efface_model_digest(silent, a, NULL), EFFACE_OK);
    assert_int_equal(efface_model_digest(told, b, NULL), EFFACE_OK);
    assert_memory_equal(a, b, sizeof a);

    /* Verify fits again, and tells as well. */
    efface_difference difference;
    const unsigned before = l.n_told;
    l.part = 0.0;
    assert_int_equal(efface_model_verify(told, data, &difference, NULL), EFFACE_OK);
    assert_int_equal(difference.identical, 1);
    assert_true(l.n_told > before && l.part == 1.0 && !l.fell);

    /* What a tree tells its nodes must not outlive the fit. */
    const uint64_t id = 5;
    assert_int_equal(
        efface_model_forget(told, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    efface_model_free(silent);
    efface_model_free(told);
    efface_data_free(data);
}

static void every_method_tells(void **state) {
    (void)state;
    for (uint32_t n_threads = 1; n_threads <= 3; n_threads++) {
        fit_and_compare(EFFACE_METHOD_LLOYD, 10, 1, n_threads);
        fit_and_compare(EFFACE_METHOD_LLOYD, 0, 1, n_threads);
        fit_and_compare(EFFACE_METHOD_LLOYD, 10, 4, n_threads);
        fit_and_compare(EFFACE_METHOD_QUANTIZED, 10, 1, n_threads);
        fit_and_compare(EFFACE_METHOD_PYRAMID, 10, 1, n_threads);
        fit_and_compare(EFFACE_METHOD_TREE, 10, 1, n_threads);
        fit_and_compare(EFFACE_METHOD_TREE, 10, 0, n_threads);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_method_tells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
