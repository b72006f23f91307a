/*
 * Sequences of forget and learn that are chosen to hurt, for every family: rows that the model
 * names, one after the other; the same rows in another order or in batches; there and back. After
 * each the model is that of a fresh fit (walk.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/walk.h"

static void change_one_by_one(walk *w, const size_t *rows, size_t n, bool forget) {
    for (size_t i = 0; i < n; i++) {
        if (forget)
            forget_rows(w, &rows[i], 1);
        else
            learn_rows(w, &rows[i], 1);
    }
}

static void shuffle(size_t *rows, size_t n) {
    for (size_t i = n; i > 1; i--) {
        const size_t other = below(i), last = rows[i - 1];
        rows[i - 1] = rows[other];
        rows[other] = last;
    }
}

static void compare_walks(const walk *a, const walk *b) {
    unsigned char *bytes_a = NULL, *bytes_b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(efface_model_encode(a->model, &bytes_a, &n_a, NULL), EFFACE_OK);
    assert_int_equal(efface_model_encode(b->model, &bytes_b, &n_b, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(bytes_a, bytes_b, n_a) != 0)
        fail_bytes(a, "another order", bytes_a, n_a, bytes_b, n_b);
    efface_bytes_free(bytes_a);
    efface_bytes_free(bytes_b);
}

/* Whom the model names goes, again and again. */
static void forget_named(const law_family *family, uint64_t seed) {
    walk w;
    begin_walk(&w, family, mix(seed << 20), 100);
    for (size_t turn = 0; turn < 12 && w.n_inside > 0; turn++) {
        uint64_t ids[200];
        const size_t n = law_name_ids(family, w.model, w.data, ids, 200, &rng_state);
        size_t row = 0;
        if (n == 0)
            (void)pick(&w, true, 1, &row);
        else
            row = row_of(&w, ids[turn % n]);
        forget_rows(&w, &row, 1);
        compare_with_fresh_fit(&w);
    }
    compare_with_oracle(&w);
    end_walk(&w);
}

/* Rows that go one by one, all at once, or in another order leave the same model behind; so do rows
 * that come. */
static void try_orders(const law_family *family, uint64_t seed) {
    const uint64_t case_seed = mix(seed << 28);
    const bool forget = seed % 2 != 0;
    walk one, batch, other;
    begin_walk(&one, family, case_seed, forget ? 100 : 60);
    begin_walk(&batch, family, case_seed, forget ? 100 : 60);
    begin_walk(&other, family, case_seed, forget ? 100 : 60);
    size_t *const rows = make(one.c.rows.n, sizeof *rows);
    const size_t n = pick(&one, forget, 1 + below(15), rows);
    change_one_by_one(&one, rows, n, forget);
    if (forget)
        forget_rows(&batch, rows, n);
    else
        learn_rows(&batch, rows, n);
    shuffle(rows, n);
    const size_t half = n / 2;
    if (forget)
        forget_rows(&other, rows, half);
    else
        learn_rows(&other, rows, half);
    change_one_by_one(&other, rows + half, n - half, forget);
    compare_walks(&one, &batch);
    compare_walks(&one, &other);
    compare_with_fresh_fit(&one);
    free(rows);
    end_walk(&one);
    end_walk(&batch);
    end_walk(&other);
}

/* What is learned and forgotten again, or forgotten and learned again, was never there, or never
 * gone. */
static void go_there_and_back(const law_family *family, uint64_t seed) {
    unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
    const bool forget_first = seed % 2 != 0;
    walk w;
    begin_walk(&w, family, mix(seed << 32), 70);
    assert_int_equal(efface_model_digest(w.model, before, NULL), EFFACE_OK);
    for (int turn = 0; turn < 4; turn++) {
        size_t *const rows = make(w.c.rows.n, sizeof *rows);
        const size_t n = pick(&w, forget_first, 1 + below(turn < 2 ? 2 : 12), rows);
        if (forget_first)
            forget_rows(&w, rows, n);
        else
            learn_rows(&w, rows, n);
        shuffle(rows, n);
        change_one_by_one(&w, rows, n, !forget_first);
        free(rows);
        assert_int_equal(efface_model_digest(w.model, after, NULL), EFFACE_OK);
        if (memcmp(before, after, sizeof before) != 0)
            fail_msg("not back");
    }
    end_walk(&w);
}

static void for_all(void (*run)(const law_family *, uint64_t seed), uint64_t n_seeds) {
    for (uint64_t seed = 1; seed <= n_seeds; seed++)
        for (size_t f = 0; f < law_n_families; f++)
            run(law_families[f], seed);
}

static void whoever_is_named_can_be_forgotten(void **state) {
    (void)state;
    for_all(forget_named, 40);
}

static void order_and_batches_do_not_matter(void **state) {
    (void)state;
    for_all(try_orders, 60);
}

static void there_and_back(void **state) {
    (void)state;
    for_all(go_there_and_back, 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(whoever_is_named_can_be_forgotten, say_walk),
        cmocka_unit_test_teardown(order_and_batches_do_not_matter, say_walk),
        cmocka_unit_test_teardown(there_and_back, say_walk),
    };
    return cmocka_run_group_tests_name("sequences", tests, NULL, NULL);
}
