/*
 * Sequences of forget and learn that are chosen to hurt k-means: every seed, every row that an
 * empty cluster was reseeded with, all rows of a cluster; and requests between which what a model
 * keeps is dropped. After each the model is that of a fresh fit (walk.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/walk.h"
#include "law/kmeans_names.h"
#include "model/report_scene.h"

/* Whoever is a seed goes, again and again, each round of the seeding in its turn. */
static void every_seed_can_be_forgotten(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        walk w;
        begin_walk(&w, &law_kmeans, mix(seed << 20), 100);
        for (uint32_t turn = 0; turn < 12 && w.n_inside > 0; turn++) {
            names list = {.most = 200};
            name_seeds(inside(w.model), &list);
            const uint64_t id = list.ids[turn % list.n];
            size_t row = row_of(&w, id);
            forget_rows(&w, &row, 1);
            compare_with_fresh_fit(&w);
        }
        compare_with_oracle(&w);
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
        begin_walk(&w, &law_kmeans, trial_seed, 100);
        for (int turn = 0; turn < 6; turn++) {
            names list = {.most = 64};
            name_reseeded(inside(w.model), &list);
            if (list.n == 0)
                break;
            const uint64_t id = list.ids[below(list.n)];
            size_t row = row_of(&w, id);
            efface_report report;
            assert_int_equal(efface_model_preview(w.model, w.data,
                                                  &(efface_request){.ids = &id, .n_ids = 1},
                                                  &report, NULL),
                             EFFACE_OK);
            n_empty += is_because(&report, EF_REASON_EMPTY);
            forget_rows(&w, &row, 1);
            compare_with_fresh_fit(&w);
            compare_with_oracle(&w);
            if (turn % 2 == 0) {
                learn_rows(&w, &row, 1);
                compare_with_fresh_fit(&w);
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
        begin_walk(&w, &law_kmeans, mix(seed << 24), 90);
        uint32_t *const labels = make(w.n_inside, sizeof *labels);
        size_t *const rows = make(w.n_inside, sizeof *rows);
        size_t n = 0;
        assert_int_equal(efface_kmeans_labels(w.model, w.data, labels, NULL), EFFACE_OK);
        const uint32_t cluster = w.n_inside != 0 ? labels[below(w.n_inside)] : 0;
        for (size_t i = 0; i < w.c.rows.n; i++) {
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
                compare_with_fresh_fit(&w);
        }
        compare_with_fresh_fit(&w);
        compare_with_oracle(&w);
        free(labels);
        free(rows);
        end_walk(&w);
    }
}

/* ---------------------------------------------------------------- what is kept */

/* Drops what a model keeps, and its nodes. */
static void drop_kept(ef_kmeans *m, unsigned *n_labels) {
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
    const size_t n = w->c.rows.n;
    size_t any = 0;
    for (size_t i = 0, at = below(n); i < n; i++) {
        const size_t row = (at + i) % n;
        any = w->inside[row] ? row : any;
        if (w->inside[row] && efface_kmeans_in_sample(w->model, w->data, id_of(w, row)) &&
            !efface_kmeans_is_seed(w->model, id_of(w, row)))
            return row;
    }
    return any;
}

static void drop_and_change(uint64_t seed, unsigned *n_dropped, unsigned *n_back) {
    walk w;
    begin_walk(&w, &law_kmeans, mix(seed << 36), 80);
    for (int turn = 0; turn < 12 && w.n_inside > 2; turn++) {
        size_t *const rows = make(w.c.rows.n, sizeof *rows);
        const bool forget = !one_in(3);
        const size_t n = pick(&w, forget, 1 + below(3), rows);
        if (turn % 4 == 0)
            drop_kept(inside(w.model), n_dropped);
        if (turn % 2 == 0) {
            rows[0] = one_of_sample(&w);
            forget_rows(&w, rows, 1);
        } else if (forget) {
            forget_rows(&w, rows, n);
        } else {
            learn_rows(&w, rows, n);
        }
        if (turn % 4 == 0)
            *n_back += ef_labels_kept(inside(w.model)) != NULL;
        free(rows);
        compare_with_fresh_fit(&w);
    }
    end_walk(&w);
}

/* Between any two requests what is kept can be dropped, and what comes out is the same. The labels
 * of pyramid come back when the starts are run again. */
static void what_is_kept_can_be_dropped(void **state) {
    (void)state;
    unsigned n_dropped = 0, n_back = 0;
    for (uint64_t seed = 1; seed <= 120; seed++)
        drop_and_change(seed, &n_dropped, &n_back);
    print_message("labels were dropped %u times, and came back %u times\n", n_dropped, n_back);
    assert_true(n_dropped > 60 && n_back > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_seed_can_be_forgotten, say_walk),
        cmocka_unit_test_teardown(every_reseeding_can_be_undone, say_walk),
        cmocka_unit_test_teardown(every_row_of_a_cluster_can_be_forgotten, say_walk),
        cmocka_unit_test_teardown(what_is_kept_can_be_dropped, say_walk),
    };
    return cmocka_run_group_tests_name("kmeans sequences", tests, NULL, NULL);
}
