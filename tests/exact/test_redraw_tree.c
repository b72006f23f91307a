/*
 * A tree with redraw fresh: every change fits the leaves of its rows again and all nodes above
 * them, each with randomness of its own that was never used before, and no other node.
 *
 * A ledger counts the draws from outside: for each request, once for each node on the way of one of
 * its rows. The oracle makes a tree with the ledger's draws, and after every request the library's
 * bytes must be the oracle's. That is all of it: which nodes were drawn anew, how often, from which
 * seed, and that each is the fit of its rows. EFFACE_TEST_CASES sets the number of walks,
 * EFFACE_TEST_SEED runs one.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random/tape.h"
#include "exact/check_nodes.h"
#include "fault/failing_memory.h"
#include "model/report_scene.h"
#include "oracle/oracle.h"
#include "oracle/oracle_parts.h"
#include "store/scenes/store_scene.h"

#define FIRST_SEED UINT64_C(0x7ee0d5a0)
#define DEFAULT_CASES 60ul
#define MOST_ROWS 60
#define MOST_COLUMNS 3
#define MOST_NODES 96 /* widths up to 4, heights up to 3 */
#define MOST_REQUEST 4
#define REQUESTS 24

/* What all walks together have come to. */
static struct { unsigned long refits, vanished, returned, decoded, failures, batches; } seen;

static uint64_t dice_seed, dice_step;

static uint64_t below(uint64_t limit) {
    return ef_tape_below(ef_tape(dice_seed, EF_TAPE_GAUSSIAN, 1, dice_step++, 0), limit);
}

/* ---------------------------------------------------------------- a walk */

typedef struct walk {
    efface_kmeans_params params;
    efface_data *data;
    efface_model *model;
    efface_model *other; /* of the same set, and under the law */
    uint64_t next_id;
    uint32_t all; /* the ledger: draws of the whole, and since then of the nodes from the root on */
    uint64_t draws[MOST_NODES];
} walk;

/* One request: rows leave, come, or get other values. */
typedef enum what { FORGET, LEARN, UPDATE, N_WHATS } what;

typedef struct request {
    what call;
    size_t n;
    uint64_t ids[MOST_REQUEST];
    float values[MOST_REQUEST * MOST_COLUMNS];
} request;

static float draw_value(void) {
    /* Seldom one that moves the bound of the grid, or the range of a column. */
    return (float)(below(4) * 100 + below(16)) + (below(40) == 0 ? 1000.0F : 0.0F);
}

static efface_kmeans_params draw_params(void) {
    static const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                            EFFACE_METHOD_PYRAMID};
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    p.method = EFFACE_METHOD_TREE;
    p.redraw = EFFACE_REDRAW_FRESH;
    p.n_clusters = 1 + (uint32_t)below(4);
    p.iterations = 1 + (uint32_t)below(4);
    p.common.seed = below(UINT64_MAX);
    p.scale = below(3) == 0 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
    p.candidates = (uint32_t)below(3);
    p.pyramid.rate = 0.5;
    p.pyramid.starts = 2;
    p.tree.height = 1 + (uint32_t)below(3);
    p.tree.width = (uint32_t)below(5);
    p.tree.leaf_method = methods[below(3)];
    p.tree.node_method = methods[below(3)];
    p.tree.weigh_centroids = (int)below(2);
    p.common.n_threads = 1 + (uint32_t)below(2);
    return p;
}

static walk begin(uint64_t seed) {
    dice_seed = seed;
    dice_step = 0;
    walk w = {.params = draw_params()};
    float values[MOST_ROWS * MOST_COLUMNS];
    const uint32_t d = 1 + (uint32_t)below(MOST_COLUMNS);
    const size_t n = below(5) == 0 ? 1 + below(6) : 20 + below(MOST_ROWS - 30);
    for (size_t i = 0; i < n * d; i++)
        values[i] = draw_value();
    w.data = make_data(d, &(efface_rows){.n_rows = n, .values = values});
    w.next_id = n;
    REQUIRE_OK(efface_kmeans_fit(w.data, &w.params, &w.model, error));
    efface_kmeans_params lloyd = w.params;
    lloyd.method = EFFACE_METHOD_LLOYD;
    lloyd.redraw = EFFACE_REDRAW_SAME;
    REQUIRE_OK(efface_kmeans_fit(w.data, &lloyd, &w.other, error));
    return w;
}

static void end(walk *w) {
    efface_model_free(w->model);
    efface_model_free(w->other);
    efface_data_free(w->data);
}

static image encode(const efface_model *model) {
    image b = {NULL, 0};
    REQUIRE_OK(efface_model_encode(model, &b.bytes, &b.n_bytes, error));
    return b;
}

/* Compares, and releases the second. */
static void check_bytes(const efface_model *model, image right) {
    const image ours = encode(model);
    check_same_image(&ours, &right);
    efface_bytes_free(ours.bytes);
    free(right.bytes);
}

static image ask_oracle(const walk *w) {
    const uint32_t d = efface_data_n_columns(w->data);
    float values[MOST_ROWS * MOST_COLUMNS];
    uint64_t ids[MOST_ROWS];
    const oracle_rows rows = {efface_data_n_rows(w->data), d, values, ids, NULL};
    assert_true(rows.n <= MOST_ROWS);
    for (size_t i = 0; i < rows.n; i++) {
        ids[i] = efface_data_row(w->data, i).id;
        efface_data_values(w->data, i, values + i * d);
    }
    oracle_model *const right =
        oracle_fit_drawn(&rows, &w->params, (oracle_draws){w->all, w->draws});
    image b;
    b.bytes = oracle_encode(right, &b.n_bytes);
    oracle_free(right);
    return b;
}

static void check_walk(const walk *w) {
    efface_difference difference;
    check_bytes(w->model, ask_oracle(w));
    check_nodes(w->model, w->data);
    REQUIRE_OK(efface_model_verify(w->model, w->data, &difference, error));
    assert_true(difference.identical);
    REQUIRE_OK(efface_model_verify(w->other, w->data, &difference, error));
    assert_true(difference.identical);
}

/* ---------------------------------------------------------------- requests */

static request draw_request(const walk *w) {
    const size_t n_rows = efface_data_n_rows(w->data);
    request q = {.call = (what)below(N_WHATS)};
    if (q.call == LEARN && n_rows + MOST_REQUEST > MOST_ROWS)
        q.call = FORGET;
    if (q.call != LEARN && n_rows == 0)
        q.call = LEARN;
    q.n = below(2) == 0 ? 1 : 1 + below(MOST_REQUEST);
    if (q.call != LEARN && q.n > n_rows)
        q.n = n_rows;
    const size_t first = below(n_rows + 1);
    for (size_t i = 0; i < q.n; i++)
        q.ids[i] = q.call == LEARN ? w->next_id + i
                                   : efface_data_row(w->data, (first + i * 7) % n_rows).id;
    for (size_t i = 0; q.call != LEARN && i < q.n; i++) /* 7 may divide the number of rows */
        for (size_t j = 0; j < i; j++)
            if (q.ids[i] == q.ids[j]) {
                q.n = i;
                break;
            }
    for (size_t i = 0; i < MOST_REQUEST * MOST_COLUMNS; i++)
        q.values[i] = draw_value();
    return q;
}

static efface_status make(walk *w, const request *q, efface_report *report, efface_error *error) {
    efface_model *const both[2] = {w->model, w->other};
    const efface_rows rows = {.n_rows = q->n, .values = q->values, .ids = q->ids};
    efface_report reports[2];
    const efface_status status =
        q->call == FORGET
            ? efface_models_forget(both, 2, w->data,
                                   &(efface_request){.ids = q->ids, .n_ids = q->n}, reports, error)
        : q->call == LEARN ? efface_models_learn(both, 2, w->data, &rows, reports, error)
                           : efface_models_update(both, 2, w->data, &rows, reports, error);
    if (status == EFFACE_OK)
        *report = reports[0];
    return status;
}

/* Each node on the way of a row, from its leaf to the root, is drawn once more: once for all. */
static void enter(walk *w, const request *q, const efface_report *report) {
    if (q->call == LEARN)
        w->next_id += q->n;
    if (report->action == EFFACE_ACTION_REFITTED) { /* as a whole: see there that it had to be */
        w->all++;
        memset(w->draws, 0, sizeof w->draws);
        seen.refits++;
        return;
    }
    assert_int_equal(report->action, EFFACE_ACTION_REPAIRED);
    assert_int_equal(depth_of(report), 0);
    const uint32_t height = w->params.tree.height;
    const size_t width = inside(w->model)->tree->width;
    const uint64_t seed =
        w->all != 0 ? oracle_tape(w->params.common.seed, 7, 0, w->all, 0) : w->params.common.seed;
    bool reached[MOST_NODES] = {false};
    for (size_t i = 0; i < q->n; i++) {
        size_t first = 0, n_nodes = 1;
        for (uint32_t l = 0; l < height; l++, n_nodes *= width)
            first += n_nodes;
        const uint64_t r = oracle_tape(seed, 9, 0, q->ids[i], 0);
        size_t number = (size_t)((oracle_u128)r * n_nodes >> 64);
        for (uint32_t l = height; reached[first + number] = true, l > 0; l--) {
            number /= width;
            n_nodes /= width;
            first -= n_nodes;
        }
    }
    for (size_t i = 0; i < MOST_NODES; i++)
        w->draws[i] += reached[i];
}

/* A preview changes nothing. */
static efface_report preview(const walk *w, const request *q) {
    efface_report foreseen;
    const image before = encode(w->model);
    REQUIRE_OK(efface_model_preview(
        w->model, w->data, &(efface_request){.ids = q->ids, .n_ids = q->n}, &foreseen, error));
    check_bytes(w->model, before);
    return foreseen;
}

/* And what it says is what happens. */
static void check_foreseen(const efface_report *foreseen, const efface_report *report) {
    assert_int_equal(foreseen->action, report->action);
    assert_string_equal(foreseen->reason, report->reason);
    assert_int_equal(foreseen->rows_visited, report->rows_visited);
    assert_int_equal(foreseen->rows_forgotten, report->rows_forgotten);
}

/* The n-th allocation fails, for some n. Two numbers are drawn however many allocations there are,
 * so that what comes after does not depend on that. */
static efface_report fail_first(walk *w, const request *q) {
    efface_report report;
    const uint64_t rows = hash_set(w->data);
    const long step = 3 + (long)below(8);
    for (long n = 1 + (long)below(3);; n += step) {
        const image before = encode(w->model);
        node_marks old = mark_nodes(w->model);
        arm(n);
        const efface_status status = make(w, q, &report, NULL);
        const bool failed = disarm();
        node_marks now = mark_nodes(w->model);
        if (status != EFFACE_OK) {
            assert_true(failed);
            assert_int_equal(status, EFFACE_E_MEMORY);
            assert_true(hash_set(w->data) == rows);
            assert_memory_equal(now.hashes, old.hashes, now.n * sizeof *now.hashes);
            check_bytes(w->model, before);
            seen.failures++;
        } else {
            efface_bytes_free(before.bytes);
        }
        free_marks(&now);
        free_marks(&old);
        if (status == EFFACE_OK) /* or one failed that the call can do without */
            return report;
    }
}

/* From its bytes. */
static void decode(walk *w) {
    const image b = encode(w->model);
    efface_model *again = NULL;
    REQUIRE_OK(efface_model_decode(b.bytes, b.n_bytes, &w->params.common, w->data, &again, error));
    efface_bytes_free(b.bytes);
    efface_model_free(w->model);
    w->model = again;
    seen.decoded++;
}

static void count_nodes_that_go(const walk *w, const node_marks *before) {
    node_marks now = mark_nodes(w->model);
    for (size_t i = 0; now.n == before->n && i < now.n; i++) {
        seen.vanished += before->there[i] && !now.there[i];
        seen.returned += !before->there[i] && now.there[i] && w->draws[i] > 1;
    }
    free_marks(&now);
}

static void run_walk(uint64_t seed) {
    walk w = begin(seed);
    check_walk(&w);
    for (int i = 0; i < REQUESTS; i++) {
        const request q = draw_request(&w);
        efface_report report = {0};
        node_marks before = mark_nodes(w.model);
        seen.batches += q.n > 1;
        const bool foresees = q.call == FORGET && below(3) == 0;
        const efface_report foreseen = foresees ? preview(&w, &q) : report;
        if (below(6) == 0)
            report = fail_first(&w, &q);
        else
            REQUIRE_OK(make(&w, &q, &report, error));
        if (foresees)
            check_foreseen(&foreseen, &report);
        enter(&w, &q, &report);
        check_walk(&w);
        count_nodes_that_go(&w, &before);
        free_marks(&before);
        if (below(4) == 0)
            decode(&w);
    }
    end(&w);
}

static void every_node_is_the_fit_of_its_rows_and_draw(void **state) {
    (void)state;
    const char *const one = getenv("EFFACE_TEST_SEED"), *const many = getenv("EFFACE_TEST_CASES");
    const unsigned long n_cases = many != NULL ? strtoul(many, NULL, 0) : DEFAULT_CASES;
    if (one != NULL) {
        run_walk(strtoull(one, NULL, 0));
        return;
    }
    for (unsigned long i = 0; i < n_cases; i++)
        run_walk(FIRST_SEED + i);
    if (n_cases >= DEFAULT_CASES)
        assert_true(seen.refits > 20 && seen.vanished > 20 && seen.returned > 10 &&
                    seen.decoded > 100 && seen.failures > 500 && seen.batches > 100);
}

/* ---------------------------------------------------------------- draws that are not the model's
 */

static bool is_verified(const efface_model *model, const efface_data *data) {
    efface_difference difference;
    REQUIRE_OK(efface_model_verify(model, data, &difference, error));
    return difference.identical;
}

/* A model whose draws someone has changed, and what is decoded from its bytes, if it is not refused
 * as of other rows. */
static void check_other(const walk *w) {
    const image b = encode(w->model);
    efface_model *again = NULL;
    assert_false(is_verified(w->model, w->data));
    if (efface_model_decode(b.bytes, b.n_bytes, &w->params.common, w->data, &again, NULL) ==
        EFFACE_OK)
        assert_false(is_verified(again, w->data));
    efface_model_free(again);
    efface_bytes_free(b.bytes);
}

static void other_draws_are_not_verified(void **state) {
    (void)state;
    size_t n_there = 0;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + 8; seed++) {
        walk w = begin(seed);
        for (int i = 0; i < 4; i++) {
            efface_report report;
            const request q = draw_request(&w);
            REQUIRE_OK(make(&w, &q, &report, error));
            enter(&w, &q, &report);
        }
        const ef_tree *const tree = inside(w.model)->tree;
        for (uint32_t l = 0; l <= tree->height; l++)
            for (size_t i = 0; i < tree->n_nodes[l]; i++) {
                ef_node *const node = &tree->nodes[l][i];
                if (node->model == NULL)
                    continue;
                node->draw++;
                check_other(&w);
                node->draw--;
                n_there++;
            }
        if (efface_data_n_rows(w.data) != 0) {
            inside(w.model)->draw++;
            check_other(&w);
            inside(w.model)->draw--;
        }
        assert_true(is_verified(w.model, w.data));
        end(&w);
    }
    assert_true(n_there > 40);
}

/* No draw of a node, nor of the whole, has the seed of another. */
static void check_seeds(efface_model *model) {
    uint64_t seeds[2400];
    size_t n = 0;
    for (inside(model)->draw = 0; inside(model)->draw < 4; inside(model)->draw++) {
        inside(model)->plan.seed =
            ef_seed_of_draw(inside(model)->params.common.seed, inside(model)->draw);
        for (uint32_t l = 0; l <= inside(model)->tree->height; l++)
            for (size_t i = 0; i < inside(model)->tree->n_nodes[l]; i++)
                for (uint64_t draw = 0; draw < 6; draw++) {
                    assert_true(n < sizeof seeds / sizeof *seeds);
                    seeds[n] = ef_node_params(inside(model), l, i, draw).common.seed;
                    for (size_t j = 0; j < n; j++)
                        assert_true(seeds[j] != seeds[n]);
                    n++;
                }
    }
}

static void no_seed_is_used_twice(void **state) {
    (void)state;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + 8; seed++) {
        walk w = begin(seed);
        check_seeds(w.model);
        end(&w);
    }
}

/* ---------------------------------------------------------------- the distribution */

#define RUNS 12000
#define CELLS 64

/* Leaves of quantized, as in test_redraw.c, whose models are often kept, so that it would be biased
 * to keep them: the centroid of the root after rows have left, or of a fit to the rest. */
static size_t root_after(uint64_t seed, bool leave) {
    static const float values[5] = {2.0F, 0.0F, 10.0F, 20.0F, 26.0F};
    static const uint64_t gone[2] = {0, 4};
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    p.method = EFFACE_METHOD_TREE;
    p.redraw = EFFACE_REDRAW_FRESH;
    p.tree.leaf_method = EFFACE_METHOD_QUANTIZED;
    p.n_clusters = 1;
    p.iterations = 1;
    p.tree.width = 2;
    p.common.seed = seed;
    p.bound = EF_GRID_MAX; /* values are grid points */
    p.epsilon = 8.0 / EF_GRID_MAX;
    p.quantized.gamma = 0.0;
    p.common.n_threads = 1;
    efface_data *const data = make_data(1, &(efface_rows){.n_rows = 5, .values = values});
    efface_model *model = NULL;
    if (!leave)
        REQUIRE_OK(efface_data_remove(data, gone, 2, error));
    REQUIRE_OK(efface_kmeans_fit(data, &p, &model, error));
    for (size_t i = 0; leave && i < 2; i++)
        REQUIRE_OK(efface_model_forget(model, data, &(efface_request){.ids = &gone[i], .n_ids = 1},
                                       NULL, error));
    const int32_t center = ef_kmeans_centers(inside(model))[0];
    assert_in_range(center + 16, 0, CELLS - 1);
    efface_model_free(model);
    efface_data_free(data);
    return (size_t)(center + 16);
}

/* Chi-square of two samples of the same size; cells with few are thrown together. */
static double chi_square(const unsigned long *a, const unsigned long *b, unsigned *n_cells) {
    double sum = 0.0, few[2] = {0.0, 0.0};
    *n_cells = 0;
    for (size_t c = 0; c <= CELLS; c++) {
        double x = c < CELLS ? (double)a[c] : few[0], y = c < CELLS ? (double)b[c] : few[1];
        if (c < CELLS && x + y < 20.0) {
            few[0] += x;
            few[1] += y;
        } else if (x + y > 0.0) {
            sum += (x - y) * (x - y) / (x + y);
            ++*n_cells;
        }
    }
    return sum;
}

/* With 7 degrees of freedom chi-square exceeds 40.5 with probability 1e-6. A leaf that is kept
 * while its centroid stays, and drawn anew otherwise, gives more than 100. */
#define CRITICAL 40.5

static void what_is_left_is_like_a_fresh_fit(void **state) {
    (void)state;
    unsigned long after[CELLS] = {0}, fits[CELLS] = {0};
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        after[root_after(seed, true)]++;
        fits[root_after(RUNS + seed, false)]++;
    }
    unsigned n_cells;
    const double found = chi_square(after, fits, &n_cells);
    assert_int_equal(n_cells, 8);
    assert_true(found < CRITICAL);
}

/* ---------------------------------------------------------------- in a store */

/* A model in a store goes the way of one in memory; one of quantized does the same beside it. */
static void a_store_keeps_draws(void **state) {
    (void)state;
    walk w = begin(FIRST_SEED + 1);
    w.params.common.n_threads = 1;
    efface_kmeans_params quantized = w.params;
    quantized.method = EFFACE_METHOD_QUANTIZED;
    efface_store *store = NULL;
    REQUIRE_OK(create_plain(in_folder("fresh.store"), w.data, &store, error));
    REQUIRE_OK(fit_plain(store, "q", &quantized, NULL, 0, error));
    REQUIRE_OK(fit_plain(store, "t", &w.params, NULL, 0, error));
    for (int i = 0; i < 12; i++) {
        const request q = draw_request(&w);
        const efface_rows rows = {.n_rows = q.n, .values = q.values, .ids = q.ids};
        const efface_request gone = {.ids = q.ids, .n_ids = q.n};
        efface_data *const more = make_data(efface_data_n_columns(w.data), &rows);
        efface_report report;
        if (q.call == FORGET)
            REQUIRE_OK(efface_store_forget(store, &gone, NULL, error));
        else if (q.call == LEARN)
            REQUIRE_OK(efface_store_learn(store, more, NULL, NULL, error));
        else
            REQUIRE_OK(efface_store_update(store, more, NULL, NULL, error));
        efface_data_free(more);
        REQUIRE_OK(make(&w, &q, &report, error));
        enter(&w, &q, &report);
        const image b = encode_model(store, "t");
        check_bytes(w.model, b);
        check_whole(store);
        efface_store_close(store);
        store = open_store(in_folder("fresh.store"), EFFACE_ACCESS_WRITE);
    }
    efface_data *rows = NULL;
    efface_model *model = NULL;
    REQUIRE_OK(efface_store_load(store, "t", &rows, &model, error));
    check_bytes(model, ask_oracle(&w));
    efface_model_free(model);
    efface_data_free(rows);
    efface_store_close(store);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_is_the_fit_of_its_rows_and_draw),
        cmocka_unit_test(other_draws_are_not_verified),
        cmocka_unit_test(no_seed_is_used_twice),
        cmocka_unit_test(what_is_left_is_like_a_fresh_fit),
        cmocka_unit_test_setup_teardown(a_store_keeps_draws, begin_folder, end_folder),
    };
    return cmocka_run_group_tests_name("redraw of trees", tests, NULL, NULL);
}
