/*
 * Forests and threads: how many grow a forest does not matter, and several may ask one at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forest/forest_scene.h"

#include <pthread.h>

enum { N_TWINS = 6 };

/* Forests that differ in threads and laziness only follow the same requests, and one of them is
 * encoded and decoded before each. */
static void threads_and_laziness(void **state) {
    static const uint32_t n_threads[N_TWINS] = {1, 2, 3, 1, 3, 1};
    static const int lazy[N_TWINS] = {0, 0, 0, 1, 1, 0};
    (void)state;
    for (int target = 0; target < 2; target++) {
        grove twins[N_TWINS];
        encoding first = {NULL, 0};
        for (int t = 0; t < N_TWINS; t++) {
            twins[t] = (grove){.name = "twins"};
            rng_state = 31 + (uint64_t)target;
            efface_forest_params *const p = begin_params(&twins[t].params, 7, 12);
            p->target = target ? 3 : EFFACE_NO_COLUMN;
            p->common.n_threads = n_threads[t];
            p->lazy = lazy[t];
            begin_grove(&twins[t], draw_plain_rows(200, 5, 3), 70);
        }
        for (uint64_t round = 0; round < 40; round++)
            for (int t = 0; t < N_TWINS; t++) {
                grove *const g = &twins[t];
                rng_state = mix(round * 2 + (uint64_t)target);
                if (t == N_TWINS - 1) {
                    encoding e = encode(g->model);
                    efface_model_free(g->model);
                    g->model = NULL;
                    REQUIRE_OK(efface_model_decode(e.bytes, e.n, &g->params.common, g->data,
                                                   &g->model, error));
                    efface_bytes_free(e.bytes);
                }
                for (int i = 0; i < 5; i++)
                    step_grove(g, 10);
                if (round % 8 != 7)
                    continue;
                encoding e = encode(g->model);
                if (t != 0)
                    require_same_bytes(&g->params, &e, &first, "the first twin", "twins");
                efface_bytes_free(t == 0 ? first.bytes : e.bytes);
                first = t == 0 ? e : first;
            }
        efface_bytes_free(first.bytes);
        for (int t = 0; t < N_TWINS; t++) {
            check_grove(&twins[t]);
            end_grove(&twins[t]);
        }
    }
}

typedef struct asker {
    const grove *g;
    efface_number *numbers;
    uint32_t *leaves;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    bool failed;
} asker;

/* Assertions are for the main thread. */
static void *ask_all(void *context) {
    asker *const a = context;
    const law_rows *const all = &a->g->all;
    const efface_forest_info before = efface_forest_get_info(a->g->model);
    const size_t n_bytes = efface_model_state_bytes(a->g->model);
    a->failed =
        before.n_nodes == 0 || n_bytes == 0 ||
        efface_predictor_predict(efface_model_predictor(a->g->model), all->n, all->values, 0,
                                 a->numbers, NULL) != EFFACE_OK ||
        efface_forest_leaves(a->g->model, all->n, all->values, 0, a->leaves, NULL) != EFFACE_OK ||
        efface_model_digest(a->g->model, a->digest, NULL) != EFFACE_OK ||
        efface_forest_get_info(a->g->model).n_unsettled != 0;
    return NULL;
}

/* Several threads may read a model at once, and a lazy one grows meanwhile. */
static void threads_that_ask_at_once(void **state) {
    enum { N_ASKERS = 4, N_ROWS = 300 };
    (void)state;
    for (int target = 0; target < 2; target++) {
        grove g = {.name = "askers"};
        rng_state = 18;
        efface_forest_params *const p = begin_params(&g.params, 6, 5);
        p->lazy = 1;
        p->target = target ? 2 : EFFACE_NO_COLUMN;
        begin_grove(&g, draw_plain_rows(N_ROWS, 4, 4), 80);
        for (int round = 0; round < 12; round++) {
            asker askers[N_ASKERS];
            pthread_t threads[N_ASKERS];
            for (int i = 0; i < 6; i++)
                step_grove(&g, 20);
            for (int i = 0; i < N_ASKERS; i++) {
                askers[i] = (asker){.g = &g,
                                    .numbers = make(N_ROWS, sizeof *askers[i].numbers),
                                    .leaves = make((size_t)N_ROWS * 6, sizeof *askers[i].leaves)};
                assert_int_equal(pthread_create(&threads[i], NULL, ask_all, &askers[i]), 0);
            }
            for (int i = 0; i < N_ASKERS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
            for (int i = 0; i < N_ASKERS; i++) {
                assert_false(askers[i].failed);
                assert_memory_equal(askers[i].numbers, askers[0].numbers,
                                    N_ROWS * sizeof *askers[i].numbers);
                assert_memory_equal(askers[i].leaves, askers[0].leaves,
                                    (size_t)N_ROWS * 6 * sizeof *askers[i].leaves);
                assert_memory_equal(askers[i].digest, askers[0].digest, EFFACE_DIGEST_BYTES);
            }
            for (int i = 0; i < N_ASKERS; i++) {
                free(askers[i].numbers);
                free(askers[i].leaves);
            }
            check_grove(&g);
        }
        end_grove(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_laziness),
        cmocka_unit_test(threads_that_ask_at_once),
    };
    return cmocka_run_group_tests_name("threads of forests", tests, NULL, NULL);
}
