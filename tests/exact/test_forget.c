/*
 * The headline: after any sequence of forget, learn and update, one by one or in batches, a model's
 * canonical bytes are those of a fresh fit to the rows that are there, and those of the oracle.
 *
 * Each step of a walk (walk.h) takes rows out, lets rows in, or gives rows the values of others.
 * Rows that go are now and then chosen by looking at the model, as an adversary would. Every seed
 * is a walk of each family. EFFACE_TEST_CASES sets the number of seeds, EFFACE_TEST_SEED runs one
 * of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/walk.h"
#include "model/family.h"

#define FIRST_SEED UINT64_C(0xF0E60001)
#define DEFAULT_CASES 560
#define STEPS 14
#define MOST_NAMED 200

/* ---------------------------------------------------------------- steps */

/* A row that the model names, if it is there. */
static bool pick_named(const walk *w, size_t *row) {
    uint64_t ids[MOST_NAMED];
    const size_t n = law_name_ids(w->family, w->model, w->data, ids, MOST_NAMED, &rng_state);
    const uint64_t id = n != 0 ? ids[below(n)] : 0;
    for (size_t i = 0; n != 0 && i < w->c.rows.n; i++)
        if (w->inside[i] && id_of(w, i) == id) {
            *row = i;
            return true;
        }
    return false;
}

static void mark(walk *w, const size_t *which, size_t n, bool inside) {
    for (size_t i = 0; i < n; i++) {
        w->n_inside += inside && !w->inside[which[i]];
        w->n_inside -= !inside && w->inside[which[i]];
        w->inside[which[i]] = inside;
    }
}

/* The preview says what the request then does. */
static void compare_reports(const efface_report *preview, const efface_report *report) {
    assert_int_equal(preview->action, report->action);
    assert_string_equal(preview->where, report->where);
    assert_string_equal(preview->reason, ef_reason_told(report->reason, true));
}

static efface_status forget_some(walk *w, const size_t *which, size_t n, efface_report *preview,
                                 efface_report *report, efface_error *error) {
    law_rows rows = gather(w, which, n);
    const efface_request request = {.ids = rows.ids, .n_ids = n};
    did("forgetting", n);
    assert_int_equal(efface_model_preview(w->model, w->data, &request, preview, error), EFFACE_OK);
    const efface_status status = efface_model_forget(w->model, w->data, &request, report, error);
    compare_reports(preview, report);
    mark(w, which, n, false);
    law_free_rows(&rows);
    return status;
}

static efface_status learn_some(walk *w, const size_t *which, size_t n, efface_report *report,
                                efface_error *error) {
    law_rows rows = gather(w, which, n);
    const efface_rows batch = batch_of(&rows);
    did("learning", n);
    const efface_status status = efface_model_learn(w->model, w->data, &batch, report, error);
    mark(w, which, n, true);
    law_free_rows(&rows);
    return status;
}

/* Rows get the values and the labels of others, and may get lighter. */
static efface_status update_some(walk *w, const size_t *which, size_t n, efface_report *report,
                                 efface_error *error) {
    const bool lighter = one_in(3);
    for (size_t i = 0; i < n; i++) {
        w->stands[which[i]] = below(w->c.rows.n);
        if (lighter)
            w->weights[which[i]] = 1 + (int64_t)below((uint64_t)w->weights[which[i]]);
    }
    law_rows rows = gather(w, which, n);
    efface_rows batch = batch_of(&rows);
    batch.weights = lighter ? rows.weights : NULL;
    did("updating", n);
    const efface_status status = efface_model_update(w->model, w->data, &batch, report, error);
    law_free_rows(&rows);
    return status;
}

static void step(walk *w, size_t most) {
    size_t *const which = make(w->c.rows.n + 1, sizeof *which);
    efface_report preview = {.action = EFFACE_ACTION_ADJUSTED}, report = preview;
    efface_error error = {.message = ""};
    efface_status status;
    void *const before = w->family->look != NULL ? w->family->look(w->model) : NULL;
    const uint64_t kind = below(5);
    size_t n;
    if (kind < 2) {
        n = one_in(2) && pick_named(w, which) ? 1 : pick(w, true, most, which);
        status = forget_some(w, which, n, &preview, &report, &error);
    } else if (kind < 4) {
        n = pick(w, false, most, which);
        status = learn_some(w, which, n, &report, &error);
    } else {
        n = pick(w, true, most, which);
        status = update_some(w, which, n, &report, &error);
    }
    if (status != EFFACE_OK)
        fail_msg("%s", error.message);
    if (w->family->note != NULL)
        w->family->note(before, &(law_step){.params = &w->c.params,
                                            .model = w->model,
                                            .preview = kind < 2 ? &preview : NULL,
                                            .report = &report,
                                            .n_rows = n});
    free(which);
}

/* ---------------------------------------------------------------- walks */

static void run_walk(const law_family *family, uint64_t seed) {
    walk w;
    begin_walk(&w, family, seed, 70);
    if (family->meet != NULL)
        family->meet(&w.c.params, w.model);
    for (int s = 0; s < STEPS; s++) {
        step(&w, one_in(3) ? 1 + below(20) : 1);
        compare_with_fresh_fit(&w);
        compare_with_oracle(&w);
    }
    end_walk(&w);
}

static void run_walks(uint64_t seed) {
    for (size_t f = 0; f < law_n_families; f++)
        run_walk(law_families[f], seed);
}

static void every_step_is_a_fresh_fit(void **state) {
    (void)state;
    const unsigned long n = run_cases(FIRST_SEED, DEFAULT_CASES, run_walks);
    for (size_t f = 0; n != 0 && f < law_n_families; f++)
        if (law_families[f]->tell != NULL)
            law_families[f]->tell(n >= DEFAULT_CASES);
}

/* Fewer where there are fewer walks, too. */
static uint64_t count_descents(void) {
    const char *const given = getenv("EFFACE_TEST_CASES");
    const unsigned long n = given != NULL ? strtoul(given, NULL, 0) : DEFAULT_CASES;
    return n < DEFAULT_CASES ? 60 * n / DEFAULT_CASES : 60;
}

/* Down to the last row and to none, one by one where a hundred are left, then up again. */
static void forget_everything(const law_family *family, uint64_t seed) {
    walk w;
    begin_walk(&w, family, seed, 100);
    while (w.n_inside > 0) {
        size_t rows[20];
        forget_rows(&w, rows, pick(&w, true, 1 + w.n_inside / 80, rows));
        compare_with_fresh_fit(&w);
    }
    compare_with_oracle(&w);
    for (int s = 0; s < 5; s++) {
        step(&w, 10);
        compare_with_fresh_fit(&w);
    }
    end_walk(&w);
}

static void everything_can_be_forgotten(void **state) {
    (void)state;
    const uint64_t last = count_descents();
    for (uint64_t seed = 1; seed <= last; seed++)
        for (size_t f = 0; f < law_n_families; f++)
            forget_everything(law_families[f], mix(seed));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_step_is_a_fresh_fit, say_walk),
        cmocka_unit_test_teardown(everything_can_be_forgotten, say_walk),
    };
    return cmocka_run_group_tests_name("forget", tests, NULL, NULL);
}
