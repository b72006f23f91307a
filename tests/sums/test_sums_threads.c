/*
 * Several threads ask one model at once. A view is computed by whoever asks first, and kept; all
 * of them must get the same answers, each time a change has put an end to what was kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "law/sums_views.h"
#include "sums/sums_scene.h"

#include <pthread.h>

#define N_ASKERS 4
#define N_TURNS 30

typedef struct asker {
    pthread_t thread;
    const efface_model *model;
    const efface_data *data;
    sums_said *said;
} asker;

static void *ask_all(void *context) {
    asker *const a = context;
    sums_ask(a->model, a->data, true, true, a->said);
    return NULL;
}

static void ask_at_once(const efface_model *model, const efface_data *data) {
    asker askers[N_ASKERS];
    for (int i = 0; i < N_ASKERS; i++)
        askers[i] = (asker){.model = model, .data = data, .said = make(1, sizeof *askers[i].said)};
    for (int i = 0; i < N_ASKERS; i++)
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_all, &askers[i]), 0);
    for (int i = 0; i < N_ASKERS; i++)
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
    for (int i = 0; i < N_ASKERS; i++) {
        const char *const what = sums_said_differently(askers[0].said, askers[i].said);
        if (what != NULL)
            fail_msg("two threads are told different things: %s", what);
    }
    for (int i = 0; i < N_ASKERS; i++) {
        free(askers[i].said->bytes);
        free(askers[i].said);
    }
}

static void threads_are_told_the_same(void **state) {
    (void)state;
    static const efface_view views[] = {EFFACE_VIEW_LINEAR, EFFACE_VIEW_RIDGE, EFFACE_VIEW_BAYES,
                                        EFFACE_VIEW_DISCRIMINANT, EFFACE_VIEW_COMPONENTS};
    static sums_set s;
    const uint32_t target = 2;
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        draw_set(&s, 60, 6, 70 + v);
        draw_classes(&s, 3, false);
        make_data(&s);
        efface_sums_params params = params_of(views[v]);
        params.targets = &target;
        params.n_targets = 1;
        params.n_fourier = v == 4 ? 8 : 0;
        efface_model *const model = fit_sums(&s, &params);
        for (uint64_t turn = 0; turn < N_TURNS; turn++) {
            ask_at_once(model, s.data);
            assert_int_equal(efface_model_forget(model, s.data,
                                                 &(efface_request){.ids = &turn, .n_ids = 1}, NULL,
                                                 NULL),
                             EFFACE_OK);
        }
        efface_model_free(model);
        free_set(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_are_told_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
