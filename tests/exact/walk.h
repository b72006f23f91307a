/*
 * Walks: a case of a family (tests/law/law_families.h) gives rows and parameters. Some of the rows
 * begin in the set, the others wait outside, and a model follows as they go and come. At every step
 * its canonical bytes can be held against those of a fresh fit and of the oracle, and what the
 * family has beside them is checked as well. For tests, which include this file after cmocka.h.
 */
#ifndef EF_TESTS_WALK_H
#define EF_TESTS_WALK_H

#include "law/draws.h"
#include "law/law_families.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

typedef struct walk {
    const law_family *family;
    law_case c;
    efface_data *data;
    efface_model *model;
    bool *inside;     /* rows of the case that are in the set */
    size_t *stands;   /* whose values each row has: itself, or after an update another */
    int64_t *weights; /* of each row; an update may lower it */
    size_t n_inside;
} walk;

/* The walk that is under way, and its last step. */
static struct {
    uint64_t seed;
    const walk *walk;
    const char *family;
    char did[64];
} now;

/* A teardown, which says where a test failed. */
static inline int say_walk(void **state) {
    (void)state;
    if (now.walk != NULL)
        print_message("failed: EFFACE_TEST_SEED=0x%" PRIx64 ", %s, after %s\n", now.seed,
                      now.family, now.did);
    now.walk = NULL;
    return 0;
}

static inline void did(const char *what, size_t n) {
    (void)snprintf(now.did, sizeof now.did, "%s %zu", what, n);
}

/* ---------------------------------------------------------------- rows */

static inline uint64_t id_of(const walk *w, size_t i) {
    return w->c.rows.ids[i];
}

/* Up to `most` rows of the case that are inside, or outside; returns how many. */
static inline size_t pick(const walk *w, bool inside, size_t most, size_t *rows) {
    size_t n = 0;
    for (size_t i = 0; i < w->c.rows.n; i++)
        if (w->inside[i] == inside) {
            /* A reservoir: every row has the same chance. */
            const size_t seat = n < most ? n : below(n + 1);
            if (seat < most)
                rows[seat] = i;
            n++;
        }
    return n < most ? n : most;
}

/* Puts row i of the case, as it is now, at a place of other rows. */
static inline void copy_row(const walk *w, size_t i, law_rows *rows, size_t at) {
    const uint32_t d = w->c.rows.d;
    memcpy(rows->values + at * d, w->c.rows.values + w->stands[i] * d, d * sizeof *rows->values);
    rows->ids[at] = id_of(w, i);
    rows->weights[at] = w->weights[i];
    rows->labels[at] = w->c.rows.labels[w->stands[i]];
}

static inline law_rows gather(const walk *w, const size_t *which, size_t n) {
    law_rows rows = law_make_rows(n, w->c.rows.d);
    for (size_t i = 0; i < n; i++)
        copy_row(w, which[i], &rows, i);
    return rows;
}

static inline efface_rows batch_of(const law_rows *rows) {
    return (efface_rows){.n_rows = rows->n,
                         .values = rows->values,
                         .ids = rows->ids,
                         .weights = rows->weights,
                         .labels = rows->labels};
}

/* ---------------------------------------------------------------- comparisons */

static inline void fail_bytes(const walk *w, const char *with, const unsigned char *a, size_t n_a,
                              const unsigned char *b, size_t n_b) {
    char text[LAW_TEXT_BYTES] = "";
    law_difference(w->family, &w->c.params, a, n_a, b, n_b, text);
    fail_msg("not the bytes of %s: %s", with, text);
}

static inline void compare_with_fresh_fit(const walk *w) {
    efface_model *fresh = NULL;
    unsigned char *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(law_fit(w->data, &w->c.params, &fresh, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(w->model, &a, &n_a, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(fresh, &b, &n_b, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_bytes(w, "a fresh fit", a, n_a, b, n_b);
    law_check(w->family, w->model, fresh, w->data);
    efface_bytes_free(a);
    efface_bytes_free(b);
    efface_model_free(fresh);
}

/* The oracle gets the rows from the case, not from the set. */
static inline void compare_with_oracle(const walk *w) {
    const uint32_t d = w->c.rows.d;
    law_rows rows = law_make_rows(w->n_inside, d);
    size_t n = 0;
    for (size_t i = 0; i < w->c.rows.n; i++)
        if (w->inside[i])
            copy_row(w, i, &rows, n++);
    unsigned char *a = NULL;
    size_t n_a = 0, n_b = 0;
    unsigned char *const b = w->family->oracle(&rows, &w->c.params, &n_b);
    assert_int_equal(efface_model_encode(w->model, &a, &n_a, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(a, b, n_a) != 0)
        fail_bytes(w, "the oracle", a, n_a, b, n_b);
    efface_bytes_free(a);
    free(b);
    law_free_rows(&rows);
}

/* ---------------------------------------------------------------- walks */

static inline void begin_walk(walk *w, const law_family *family, uint64_t seed, unsigned share) {
    const law_wish wish = {.seed = seed, .share = share};
    memset(w, 0, sizeof *w);
    w->family = family;
    now.seed = seed;
    now.walk = w;
    now.family = family->name;
    (void)snprintf(now.did, sizeof now.did, "the fit");
    law_draw_case(family, &w->c, &wish, &rng_state);
    const size_t n = w->c.rows.n;
    w->inside = make(n, sizeof *w->inside);
    w->stands = make(n, sizeof *w->stands);
    w->weights = make(n, sizeof *w->weights);
    size_t *const which = make(n, sizeof *which);
    for (size_t i = 0; i < n; i++) {
        w->stands[i] = i;
        w->weights[i] = w->c.rows.weights[i];
        w->inside[i] = below(100) < share;
        if (w->inside[i])
            which[w->n_inside++] = i;
    }
    law_rows rows = gather(w, which, w->n_inside);
    const efface_rows batch = batch_of(&rows);
    assert_int_equal(efface_data_create(rows.d, &w->data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(w->data, &batch, NULL), EFFACE_OK);
    assert_int_equal(law_fit(w->data, &w->c.params, &w->model, NULL), EFFACE_OK);
    law_free_rows(&rows);
    free(which);
}

static inline void end_walk(walk *w) {
    efface_model_free(w->model);
    efface_data_free(w->data);
    free(w->inside);
    free(w->stands);
    free(w->weights);
    law_free_rows(&w->c.rows);
    now.walk = NULL;
}

/* These rows of the case leave, or come. */

static inline void forget_rows(walk *w, const size_t *which, size_t n) {
    law_rows rows = gather(w, which, n);
    for (size_t i = 0; i < n; i++)
        w->inside[which[i]] = false;
    assert_int_equal(efface_model_forget(w->model, w->data,
                                         &(efface_request){.ids = rows.ids, .n_ids = n}, NULL,
                                         NULL),
                     EFFACE_OK);
    w->n_inside -= n;
    did("forgetting down to", w->n_inside);
    law_free_rows(&rows);
}

static inline void learn_rows(walk *w, const size_t *which, size_t n) {
    law_rows rows = gather(w, which, n);
    const efface_rows batch = batch_of(&rows);
    assert_int_equal(efface_model_learn(w->model, w->data, &batch, NULL, NULL), EFFACE_OK);
    for (size_t i = 0; i < n; i++)
        w->inside[which[i]] = true;
    w->n_inside += n;
    did("learning up to", w->n_inside);
    law_free_rows(&rows);
}

/* The row of the case with an id. There must be one. */
static inline size_t row_of(const walk *w, uint64_t id) {
    size_t row = 0;
    while (row < w->c.rows.n && id_of(w, row) != id)
        row++;
    assert_true(row < w->c.rows.n);
    return row;
}

#endif
