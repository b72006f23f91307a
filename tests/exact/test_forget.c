/*
 * The headline: after any sequence of forget, learn and update, one by one or in batches, a model's
 * canonical bytes are those of a fresh fit to the rows that are there, and those of the oracle.
 *
 * A case (tests/oracle/cases.h) gives rows and parameters. Some of the rows begin in the set, the
 * others wait outside; each step takes rows out, lets rows in, or gives rows the values of others.
 * EFFACE_TEST_CASES sets the number of cases, EFFACE_TEST_SEED runs one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/cases.h"
#include "oracle/difference.h"

#include <inttypes.h>
#include <stdbool.h>

#define FIRST_SEED UINT64_C(0xF0E60001)
#define DEFAULT_CASES 400
#define STEPS 14

typedef struct walk {
    trial t;
    efface_data *data;
    efface_kmeans *model;
    bool *inside;     /* rows of the trial that are in the set */
    size_t *stands;   /* whose values each row has: itself, or after an update another */
    size_t n_inside;
    char did[64];     /* the last step, for messages */
} walk;

static struct {
    unsigned long steps, actions[3], reasons[12];
} seen;

/* ---------------------------------------------------------------- comparisons */

static void fail_bytes(const walk *w, const char *with, const unsigned char *a, size_t n_a,
                       const unsigned char *b, size_t n_b, uint64_t seed) {
    difference d = {.a = a, .b = b, .n_a = n_a, .n_b = n_b};
    (void)find_difference(&d);
    fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: not the bytes of %s: %s", seed, w->did,
             with, d.text);
}

static void compare_with_fresh_fit(const walk *w, uint64_t seed) {
    efface_kmeans *fresh = NULL;
    unsigned char *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(efface_kmeans_fit(w->data, &w->t.params, &fresh, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_encode(w->model, &a, &n_a, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_encode(fresh, &b, &n_b, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_bytes(w, "a fresh fit", a, n_a, b, n_b, seed);
    efface_bytes_free(a);
    efface_bytes_free(b);
    efface_kmeans_free(fresh);
}

/* The oracle gets the rows from the trial, not from the set. */
static void compare_with_oracle(const walk *w, uint64_t seed) {
    const trial *const t = &w->t;
    const uint32_t d = t->rows.d;
    float *const values = make(w->n_inside * d, sizeof *values);
    uint64_t *const ids = make(w->n_inside, sizeof *ids);
    int64_t *const weights = make(w->n_inside, sizeof *weights);
    size_t n = 0;
    for (size_t i = 0; i < t->rows.n; i++)
        if (w->inside[i]) {
            memcpy(values + n * d, t->values + w->stands[i] * d, d * sizeof *values);
            ids[n] = t->rows.ids != NULL ? t->rows.ids[i] : i;
            weights[n++] = t->rows.weights != NULL ? t->rows.weights[i] : 1;
        }
    const oracle_rows rows = {n, d, values, ids, weights};
    oracle_model *const oracle = oracle_fit(&rows, &t->params);
    unsigned char *a = NULL;
    size_t n_a = 0, n_b = 0;
    unsigned char *const b = oracle_encode(oracle, &n_b);
    assert_int_equal(efface_kmeans_encode(w->model, &a, &n_a, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_bytes(w, "the oracle", a, n_a, b, n_b, seed);
    efface_bytes_free(a);
    free(b);
    oracle_free(oracle);
    free(values);
    free(ids);
    free(weights);
}

/* ---------------------------------------------------------------- steps */

static uint64_t id_of(const walk *w, size_t i) {
    return w->t.rows.ids != NULL ? w->t.rows.ids[i] : i;
}

/* Up to `most` rows of the trial that are inside, or outside; returns how many. */
static size_t pick(const walk *w, bool inside, size_t most, size_t *rows) {
    size_t n = 0;
    for (size_t i = 0; i < w->t.rows.n; i++)
        if (w->inside[i] == inside) {
            /* A reservoir: every row has the same chance. */
            const size_t seat = n < most ? n : below(n + 1);
            if (seat < most)
                rows[seat] = i;
            n++;
        }
    return n < most ? n : most;
}

static void gather(const walk *w, const size_t *rows, size_t n, bool values_too, float *values,
                   uint64_t *ids, int64_t *weights) {
    const uint32_t d = w->t.rows.d;
    for (size_t i = 0; i < n; i++) {
        ids[i] = id_of(w, rows[i]);
        weights[i] = w->t.rows.weights != NULL ? w->t.rows.weights[rows[i]] : 1;
        if (values_too)
            memcpy(values + i * d, w->t.values + w->stands[rows[i]] * d, d * sizeof *values);
    }
}

static void note(const efface_report *report) {
    seen.steps++;
    seen.actions[report->action]++;
    seen.reasons[report->reason]++;
}

static void step(walk *w, size_t most) {
    const size_t room = w->t.rows.n + 1;
    const uint32_t d = w->t.rows.d;
    size_t *const rows = make(room, sizeof *rows);
    float *const values = make(room * d, sizeof *values);
    uint64_t *const ids = make(room, sizeof *ids);
    int64_t *const weights = make(room, sizeof *weights);
    efface_report report = {.action = EFFACE_ACTION_UNTOUCHED};
    const uint64_t kind = below(5);
    efface_error error = {.message = ""};
    efface_status status = EFFACE_OK;
    if (kind < 2) {
        const size_t n = pick(w, true, most, rows);
        gather(w, rows, n, false, values, ids, weights);
        efface_report preview = {.action = EFFACE_ACTION_UNTOUCHED};
        assert_int_equal(efface_kmeans_preview(w->model, w->data, ids, n, EFFACE_MISSING_FAIL,
                                               &preview, &error),
                         EFFACE_OK);
        status = efface_kmeans_forget(w->model, w->data, ids, n, EFFACE_MISSING_FAIL, &report,
                                      &error);
        assert_int_equal(preview.action, report.action);
        assert_int_equal(preview.level, report.level);
        assert_int_equal(preview.reason, report.reason);
        assert_true(preview.rows_visited >= report.rows_visited);
        snprintf(w->did, sizeof w->did, "forgetting %zu", n);
        for (size_t i = 0; i < n; i++)
            w->inside[rows[i]] = false;
        w->n_inside -= n;
    } else if (kind < 4) {
        const size_t n = pick(w, false, most, rows);
        gather(w, rows, n, true, values, ids, weights);
        const efface_rows batch = {.n_rows = n, .values = values, .ids = ids, .weights = weights};
        status = efface_kmeans_learn(w->model, w->data, &batch, &report, &error);
        snprintf(w->did, sizeof w->did, "learning %zu", n);
        for (size_t i = 0; i < n; i++)
            w->inside[rows[i]] = true;
        w->n_inside += n;
    } else {
        const size_t n = pick(w, true, most, rows);
        for (size_t i = 0; i < n; i++)
            w->stands[rows[i]] = below(w->t.rows.n);
        gather(w, rows, n, true, values, ids, weights);
        const efface_rows batch = {.n_rows = n, .values = values, .ids = ids};
        status = efface_kmeans_update(w->model, w->data, &batch, &report, &error);
        snprintf(w->did, sizeof w->did, "updating %zu", n);
    }
    if (status != EFFACE_OK)
        fail_msg("%s: %s", w->did, error.message);
    note(&report);
    free(rows);
    free(values);
    free(ids);
    free(weights);
}

/* ---------------------------------------------------------------- walks */

static void begin_walk(walk *w, uint64_t seed, uint64_t share) {
    memset(w, 0, sizeof *w);
    make_trial(seed, &w->t);
    if (one_in(4)) {
        /* A lattice so coarse that centroids meet: clusters go empty and are reseeded. */
        w->t.params.method = EFFACE_METHOD_QUANTIZED;
        w->t.params.epsilon = scaled(1.0f, -1 - (int)below(5));
        w->t.params.gamma = one_in(2) ? 0.0 : w->t.params.gamma;
        w->t.params.n_clusters = 2 + (uint32_t)below(8);
        w->t.params.empty = one_in(4) ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
    }
    const size_t n = w->t.rows.n;
    const uint32_t d = w->t.rows.d;
    w->inside = make(n, sizeof *w->inside);
    w->stands = make(n, sizeof *w->stands);
    float *const values = make(n * d, sizeof *values);
    uint64_t *const ids = make(n, sizeof *ids);
    int64_t *const weights = make(n, sizeof *weights);
    size_t *const rows = make(n, sizeof *rows);
    for (size_t i = 0; i < n; i++) {
        w->stands[i] = i;
        w->inside[i] = below(100) < share;
        if (w->inside[i])
            rows[w->n_inside++] = i;
    }
    gather(w, rows, w->n_inside, true, values, ids, weights);
    assert_int_equal(efface_data_create(d, &w->data, NULL), EFFACE_OK);
    const efface_rows batch = {
        .n_rows = w->n_inside, .values = values, .ids = ids, .weights = weights};
    assert_int_equal(efface_data_add(w->data, &batch, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(w->data, &w->t.params, &w->model, NULL), EFFACE_OK);
    snprintf(w->did, sizeof w->did, "the fit");
    free(values);
    free(ids);
    free(weights);
    free(rows);
}

static void end_walk(walk *w) {
    efface_kmeans_free(w->model);
    efface_data_free(w->data);
    free(w->inside);
    free(w->stands);
    free_trial(&w->t);
}

static void run_walk(uint64_t seed) {
    walk w;
    begin_walk(&w, seed, 70);
    for (int s = 0; s < STEPS; s++) {
        step(&w, one_in(3) ? 1 + below(20) : 1);
        compare_with_fresh_fit(&w, seed);
        compare_with_oracle(&w, seed);
    }
    end_walk(&w);
}

static void every_step_is_a_fresh_fit(void **state) {
    (void)state;
    const char *const one = getenv("EFFACE_TEST_SEED"), *const many = getenv("EFFACE_TEST_CASES");
    if (one != NULL) {
        run_walk(strtoull(one, NULL, 0));
        return;
    }
    const unsigned long n = many != NULL ? strtoul(many, NULL, 0) : DEFAULT_CASES;
    for (unsigned long i = 0; i < n; i++)
        run_walk(FIRST_SEED + i);
    print_message("%lu steps: untouched %lu, repaired %lu, refitted %lu; reasons", seen.steps,
                  seen.actions[0], seen.actions[1], seen.actions[2]);
    for (int r = 0; r < 12; r++)
        print_message("%s %s %lu", r != 0 ? "," : "", efface_reason_name((efface_reason)r),
                      seen.reasons[r]);
    print_message("\n");
    if (n >= DEFAULT_CASES)
        for (int r = 0; r < 10; r++)
            assert_true(seen.reasons[r] > 0);
}

/* Down to the last row and to none, then up again. */
static void everything_can_be_forgotten(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        walk w;
        begin_walk(&w, mix(seed), 100);
        while (w.n_inside > 0) {
            size_t row = 0;
            (void)pick(&w, true, 1, &row);
            const uint64_t id = id_of(&w, row);
            assert_int_equal(efface_kmeans_forget(w.model, w.data, &id, 1, EFFACE_MISSING_FAIL,
                                                  NULL, NULL),
                             EFFACE_OK);
            w.inside[row] = false;
            w.n_inside--;
            snprintf(w.did, sizeof w.did, "forgetting down to %zu", w.n_inside);
            compare_with_fresh_fit(&w, mix(seed));
        }
        compare_with_oracle(&w, mix(seed));
        for (int s = 0; s < 5; s++) {
            step(&w, 10);
            compare_with_fresh_fit(&w, mix(seed));
        }
        end_walk(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_a_fresh_fit),
        cmocka_unit_test(everything_can_be_forgotten),
    };
    return cmocka_run_group_tests_name("forget", tests, NULL, NULL);
}
