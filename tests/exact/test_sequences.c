/*
 * Sequences of forget and learn that are chosen to hurt: every seed, every row that an empty
 * cluster was reseeded with, all rows of a cluster; the same rows in another order or in batches;
 * there and back. After each the model is that of a fresh fit (walk.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/walk.h"

static void learn_rows(walk *w, const size_t *rows, size_t n) {
    float *const values = make(n * w->t.rows.d, sizeof *values);
    uint64_t *const ids = make(n, sizeof *ids);
    int64_t *const weights = make(n, sizeof *weights);
    gather(w, rows, n, true, values, ids, weights);
    const efface_rows batch = {.n_rows = n, .values = values, .ids = ids, .weights = weights};
    assert_int_equal(efface_kmeans_learn(w->model, w->data, &batch, NULL, NULL), EFFACE_OK);
    for (size_t i = 0; i < n; i++)
        w->inside[rows[i]] = true;
    w->n_inside += n;
    snprintf(w->did, sizeof w->did, "learning up to %zu", w->n_inside);
    free(values);
    free(ids);
    free(weights);
}

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

static void compare_walks(const walk *a, const walk *b, uint64_t seed) {
    unsigned char *bytes_a = NULL, *bytes_b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(efface_kmeans_encode(a->model, &bytes_a, &n_a, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_encode(b->model, &bytes_b, &n_b, NULL), EFFACE_OK);
    if (n_a != n_b || memcmp(bytes_a, bytes_b, n_a) != 0)
        fail_bytes(a, "another order", bytes_a, n_a, bytes_b, n_b, seed);
    efface_bytes_free(bytes_a);
    efface_bytes_free(bytes_b);
}

/* Whoever is a seed goes, again and again, each round of the seeding in its turn. */
static void every_seed_can_be_forgotten(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        walk w;
        begin_walk(&w, mix(seed << 20), 100);
        for (uint32_t turn = 0; turn < 12 && w.n_inside > 0; turn++) {
            names list = {.most = 200};
            name_seeds(w.model, &list);
            const uint64_t id = list.ids[turn % list.n];
            size_t row = 0;
            while (id_of(&w, row) != id)
                row++;
            forget_rows(&w, &row, 1);
            compare_with_fresh_fit(&w, mix(seed << 20));
        }
        compare_with_oracle(&w, mix(seed << 20));
        end_walk(&w);
    }
}

/* Where an empty cluster was reseeded: its winner goes, a later one has to take its place, and when
 * the first comes back it wins again. */
static void every_reseeding_can_be_undone(void **state) {
    (void)state;
    unsigned n_empty = 0;
    for (uint64_t seed = 1; seed <= 800; seed++) {
        const uint64_t trial_seed = mix(seed << 16);
        walk w;
        begin_walk(&w, trial_seed, 100);
        for (int turn = 0; turn < 6; turn++) {
            names list = {.most = 64};
            name_reseeded(w.model, &list);
            if (list.n == 0)
                break;
            const uint64_t id = list.ids[below(list.n)];
            size_t row = 0;
            while (id_of(&w, row) != id)
                row++;
            efface_report report;
            assert_int_equal(
                efface_kmeans_preview(w.model, w.data, &id, 1, EFFACE_MISSING_FAIL, &report, NULL),
                EFFACE_OK);
            n_empty += report.reason == EFFACE_REASON_EMPTY;
            forget_rows(&w, &row, 1);
            compare_with_fresh_fit(&w, trial_seed);
            compare_with_oracle(&w, trial_seed);
            if (turn % 2 == 0) {
                learn_rows(&w, &row, 1);
                compare_with_fresh_fit(&w, trial_seed);
            }
        }
        end_walk(&w);
    }
    print_message("%u times a cluster became empty or had another winner\n", n_empty);
    assert_true(n_empty >= 60);
}

/* A cluster loses its rows one by one or all at once. */
static void every_row_of_a_cluster_can_be_forgotten(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        walk w;
        begin_walk(&w, mix(seed << 24), 90);
        uint32_t *const labels = make(w.n_inside, sizeof *labels);
        size_t *const rows = make(w.n_inside, sizeof *rows);
        size_t n = 0;
        assert_int_equal(efface_kmeans_labels(w.model, w.data, labels, NULL), EFFACE_OK);
        const uint32_t cluster = w.n_inside != 0 ? labels[below(w.n_inside)] : 0;
        for (size_t i = 0; i < w.t.rows.n; i++) {
            size_t position = 0;
            if (w.inside[i] && efface_data_find(w.data, id_of(&w, i), &position) == EFFACE_OK &&
                labels[position] == cluster)
                rows[n++] = i;
        }
        if (one_in(4))
            forget_rows(&w, rows, n);
        for (size_t i = 0; i < n && w.inside[rows[i]]; i++) {
            forget_rows(&w, &rows[i], 1);
            if (i % 4 == 0)
                compare_with_fresh_fit(&w, mix(seed << 24));
        }
        compare_with_fresh_fit(&w, mix(seed << 24));
        compare_with_oracle(&w, mix(seed << 24));
        free(labels);
        free(rows);
        end_walk(&w);
    }
}

/* Rows that go one by one, all at once, or in another order leave the same model behind; so do rows
 * that come. */
static void order_and_batches_do_not_matter(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const uint64_t trial_seed = mix(seed << 28);
        const bool forget = seed % 2 != 0;
        walk one, batch, other;
        begin_walk(&one, trial_seed, forget ? 100 : 60);
        begin_walk(&batch, trial_seed, forget ? 100 : 60);
        begin_walk(&other, trial_seed, forget ? 100 : 60);
        size_t *const rows = make(one.t.rows.n, sizeof *rows);
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
        compare_walks(&one, &batch, trial_seed);
        compare_walks(&one, &other, trial_seed);
        compare_with_fresh_fit(&one, trial_seed);
        free(rows);
        end_walk(&one);
        end_walk(&batch);
        end_walk(&other);
    }
}

/* What is learned and forgotten again, or forgotten and learned again, was never there, or never
 * gone. */
static void there_and_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        unsigned char before[EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
        const bool forget_first = seed % 2 != 0;
        walk w;
        begin_walk(&w, mix(seed << 32), 70);
        assert_int_equal(efface_kmeans_digest(w.model, before, NULL), EFFACE_OK);
        for (int turn = 0; turn < 4; turn++) {
            size_t *const rows = make(w.t.rows.n, sizeof *rows);
            const size_t n = pick(&w, forget_first, 1 + below(turn < 2 ? 2 : 12), rows);
            if (forget_first)
                forget_rows(&w, rows, n);
            else
                learn_rows(&w, rows, n);
            shuffle(rows, n);
            change_one_by_one(&w, rows, n, !forget_first);
            free(rows);
            assert_int_equal(efface_kmeans_digest(w.model, after, NULL), EFFACE_OK);
            if (memcmp(before, after, sizeof before) != 0)
                fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ": not back after %s", mix(seed << 32),
                         w.did);
        }
        end_walk(&w);
    }
}

/* ---------------------------------------------------------------- what is kept */

/* Drops what a model keeps, and its nodes. */
static void drop_kept(efface_kmeans *m, unsigned *n_labels) {
    const ef_tree *const tree = m->tree;
    for (uint32_t l = 0; tree != NULL && l <= tree->height; l++)
        for (size_t i = 0; i < tree->n_nodes[l]; i++)
            if (tree->nodes[l][i].model != NULL)
                drop_kept(tree->nodes[l][i].model, n_labels);
    *n_labels += ef_labels_kept(m) != NULL;
    ef_kept_drop(m);
    assert_null(m->kept);
}

/* A row of the sample of pyramid, so that starts are run again; any, if there is none. */
static size_t one_of_sample(const walk *w) {
    size_t any = 0;
    for (size_t i = 0, at = below(w->t.rows.n); i < w->t.rows.n; i++) {
        const size_t row = (at + i) % w->t.rows.n;
        any = w->inside[row] ? row : any;
        if (w->inside[row] && efface_kmeans_in_sample(w->model, w->data, id_of(w, row)) &&
            !efface_kmeans_is_seed(w->model, id_of(w, row)))
            return row;
    }
    return any;
}

/* Between any two requests what is kept can be dropped, and what comes out is the same. The labels
 * of pyramid come back when the starts are run again. */
static void what_is_kept_can_be_dropped(void **state) {
    (void)state;
    unsigned n_dropped = 0, n_back = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        const uint64_t trial_seed = mix(seed << 36);
        walk w;
        begin_walk(&w, trial_seed, 80);
        w.drops = true;
        for (int turn = 0; turn < 12 && w.n_inside > 2; turn++) {
            size_t *const rows = make(w.t.rows.n, sizeof *rows);
            const bool forget = !one_in(3);
            const size_t n = pick(&w, forget, 1 + below(3), rows);
            if (turn % 4 == 0)
                drop_kept(w.model, &n_dropped);
            if (turn % 2 == 0) {
                rows[0] = one_of_sample(&w);
                forget_rows(&w, rows, 1);
            } else if (forget) {
                forget_rows(&w, rows, n);
            } else {
                learn_rows(&w, rows, n);
            }
            if (turn % 4 == 0)
                n_back += ef_labels_kept(w.model) != NULL;
            free(rows);
            compare_with_fresh_fit(&w, trial_seed);
        }
        end_walk(&w);
    }
    print_message("labels were dropped %u times, and came back %u times\n", n_dropped, n_back);
    assert_true(n_dropped > 60 && n_back > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_seed_can_be_forgotten),
        cmocka_unit_test(every_reseeding_can_be_undone),
        cmocka_unit_test(every_row_of_a_cluster_can_be_forgotten),
        cmocka_unit_test(order_and_batches_do_not_matter),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_is_kept_can_be_dropped),
    };
    return cmocka_run_group_tests_name("sequences", tests, NULL, NULL);
}
