/*
 * The headline: after any sequence of forget, learn and update, one by one or in batches, a model's
 * canonical bytes are those of a fresh fit to the rows that are there, and those of the oracle.
 *
 * A case (tests/oracle/cases.h) gives rows and parameters. Some of the rows begin in the set, the
 * others wait outside; each step takes rows out, lets rows in, or gives rows the values of others.
 * Rows that go are now and then chosen by looking at the model, as an adversary would: its seeds,
 * and the rows that its empty clusters were reseeded with. A third of the cases are trees, of which
 * every node is looked at as well, and how far each request climbed.
 * EFFACE_TEST_CASES sets the number of cases, EFFACE_TEST_SEED runs one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/check_nodes.h"
#include "oracle/cases.h"
#include "oracle/difference.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#define FIRST_SEED UINT64_C(0xF0E60001)
#define DEFAULT_CASES 1200
#define STEPS 14

typedef struct walk {
    trial t;
    efface_data *data;
    efface_kmeans *model;
    bool *inside;     /* rows of the trial that are in the set */
    size_t *stands;   /* whose values each row has: itself, or after an update another */
    int64_t *weights; /* of each row; an update may lower it */
    size_t n_inside;
    char did[64]; /* the last step, for messages */
} walk;

#define N_REASONS 14
#define MOST_HEIGHT 8
#define MOST_WIDTH 64

static struct { unsigned long steps, actions[3], reasons[N_REASONS], verdicts; } seen;

/* The same for trees. */
static struct {
    unsigned long steps, actions[3], reasons[N_REASONS];
    unsigned long heights[MOST_HEIGHT + 1], widths[MOST_WIDTH + 1], weighed[2]; /* cases */
    unsigned long leaves[3], nodes[3];        /* cases by method */
    unsigned long at_leaves, inside, at_root; /* where requests stopped */
    unsigned long leaves_came, leaves_went, inner_came, inner_went;
} grown;

/* ---------------------------------------------------------------- comparisons */

static void fail_bytes(const walk *w, const char *with, const unsigned char *a, size_t n_a,
                       const unsigned char *b, size_t n_b, uint64_t seed) {
    difference d = {.a = a, .b = b, .n_a = n_a, .n_b = n_b};
    (void)find_difference(&d);
    fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: not the bytes of %s: %s", seed, w->did,
             with, d.text);
}

/* What a model of pyramid keeps to find the sample and the partition of level 0 again is no part of
 * the bytes, but follows from the rows as they do. Positions are those of the set in both. */
static void compare_what_is_kept(const walk *w, const efface_kmeans *fresh, uint64_t seed) {
    const efface_kmeans *const m = w->model;
    if (memcmp(&m->members, &fresh->members, sizeof m->members) != 0)
        fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: other members", seed, w->did);
    assert_true((m->guard.codes == NULL) == (fresh->guard.codes == NULL));
    for (size_t i = 0; m->guard.codes != NULL && i < w->n_inside; i++)
        if (kept_of(m, i) != kept_of(fresh, i))
            fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: the row at %zu has label %" PRIx32
                     ", not %" PRIx32,
                     seed, w->did, i, kept_of(m, i), kept_of(fresh, i));
    check_jury(m, w->data);
}

/* Nor are all answers: which columns are coarse, and the rest of what is known of a model. */
static void compare_info(const walk *w, const efface_kmeans *fresh, uint64_t seed) {
    const efface_kmeans_info a = efface_kmeans_get_info(w->model);
    const efface_kmeans_info b = efface_kmeans_get_info(fresh);
    const uint32_t d = w->t.rows.d;
    uint32_t *const columns = make(2 * (size_t)d, sizeof *columns);
    efface_kmeans_coarse_columns(w->model, columns, d);
    efface_kmeans_coarse_columns(fresh, columns + d, d);
    if (a.method != b.method || a.n_clusters != b.n_clusters || a.n_rows != b.n_rows ||
        a.iterations != b.iterations || a.stable != b.stable || a.epsilon != b.epsilon ||
        a.width != b.width || a.n_coarse_columns != b.n_coarse_columns ||
        memcmp(columns, columns + d, d * sizeof *columns) != 0)
        fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ", after %s: not the info of a fresh fit", seed,
                 w->did);
    free(columns);
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
    compare_what_is_kept(w, fresh, seed);
    compare_info(w, fresh, seed);
    check_nodes(w->model, w->data);
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
            weights[n++] = w->weights[i];
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

/* Rows that a model names: `most` at most, of which `n` are there already. */
typedef struct names {
    uint64_t ids[200];
    size_t n, most;
} names;

/* The seeds of a model, of all its starts, or of all its leaves. */
static void name_seeds(const efface_kmeans *m, names *list) {
    if (m->tree != NULL) {
        const ef_tree *const tree = m->tree;
        for (size_t i = 0; i < tree->n_nodes[tree->height]; i++)
            if (tree->nodes[tree->height][i].model != NULL)
                name_seeds(tree->nodes[tree->height][i].model, list);
        return;
    }
    const bool starts = m->plan.method == EFFACE_METHOD_PYRAMID;
    const size_t n = (size_t)m->plan.n_clusters * (starts ? m->plan.starts : 1);
    for (size_t i = 0; i < n && list->n < list->most; i++)
        list->ids[list->n++] = starts ? m->starts.seeds[i].id : m->seeds[i].id;
}

/* Those that empty clusters were reseeded with. */
static void name_reseeded(const efface_kmeans *m, names *list) {
    const ef_tree *const tree = m->tree;
    for (size_t i = 0; tree != NULL && i < tree->n_nodes[tree->height]; i++)
        if (tree->nodes[tree->height][i].model != NULL)
            name_reseeded(tree->nodes[tree->height][i].model, list);
    for (uint32_t t = 0; t < m->n_levels; t++)
        for (uint32_t i = 0; i < m->levels[t].n_reseeded && list->n < list->most; i++)
            list->ids[list->n++] = m->levels[t].reseeded[i].winner.id;
}

/* A row that the model names: a seed, or one that an empty cluster was reseeded with. */
static bool pick_named(const walk *w, size_t *row) {
    names list = {.most = 100};
    if (one_in(4))
        name_seeds(w->model, &list);
    list.most = 200;
    name_reseeded(w->model, &list);
    const size_t n = list.n;
    const uint64_t id = n != 0 ? list.ids[below(n)] : 0;
    for (size_t i = 0; n != 0 && i < w->t.rows.n; i++)
        if (w->inside[i] && id_of(w, i) == id) {
            *row = i;
            return true;
        }
    return false;
}

static void gather(const walk *w, const size_t *rows, size_t n, bool values_too, float *values,
                   uint64_t *ids, int64_t *weights) {
    const uint32_t d = w->t.rows.d;
    for (size_t i = 0; i < n; i++) {
        ids[i] = id_of(w, rows[i]);
        weights[i] = w->weights[rows[i]];
        if (values_too)
            memcpy(values + i * d, w->t.values + w->stands[rows[i]] * d, d * sizeof *values);
    }
}

/* A verdict: no row of the sample changed, but rows of the jury did, and another start is the best.
 */
static void note(const walk *w, const efface_report *report, const uint64_t *ids, size_t n) {
    bool outside = true;
    if (w->t.params.method == EFFACE_METHOD_TREE)
        return;
    for (size_t i = 0; i < n; i++)
        outside &= efface_kmeans_in_sample(w->model, ids[i]) == 0;
    seen.steps++;
    seen.actions[report->action]++;
    seen.reasons[report->reason]++;
    seen.verdicts += report->reason == EFFACE_REASON_SAMPLE && outside;
}

/* How far a request climbed, and no farther than it had to: the nodes it says it reached are those
 * whose sets it changed. */
static void note_climb(const walk *w, const efface_report *report, const node_marks *before,
                       size_t n) {
    if (w->t.params.method != EFFACE_METHOD_TREE)
        return;
    grown.steps++;
    grown.actions[report->action]++;
    grown.reasons[report->reason]++;
    if (w->model->tree == NULL || n == 0)
        return;
    if (report->action == EFFACE_ACTION_REFITTED) {
        assert_true(report->reason == EFFACE_REASON_BOUND ||
                    report->reason == EFFACE_REASON_SCALE || report->reason == EFFACE_REASON_WIDTH);
        assert_int_equal(report->depth, 0);
        return;
    }
    node_marks now = mark_nodes(w->model);
    assert_int_equal(report->depth, depth_that_changed(before, &now));
    assert_true(report->action != EFFACE_ACTION_UNTOUCHED || report->rows_visited == 0);
    grown.at_leaves += report->depth == now.height;
    grown.inside += report->depth > 0 && report->depth < now.height;
    grown.at_root += report->depth == 0;
    const size_t n_inner = now.n - w->model->tree->n_nodes[now.height];
    for (size_t i = 0; i < now.n; i++) {
        const bool came = now.there[i] && !before->there[i];
        const bool went = !now.there[i] && before->there[i];
        *(i < n_inner ? &grown.inner_came : &grown.leaves_came) += came;
        *(i < n_inner ? &grown.inner_went : &grown.leaves_went) += went;
    }
    free_marks(&now);
}

static void compare_reports(const walk *w, const efface_report *preview,
                            const efface_report *report) {
    assert_int_equal(preview->action, report->action);
    assert_int_equal(preview->level, report->level);
    assert_int_equal(preview->reason, report->reason);
    assert_int_equal(preview->depth, report->depth);
    const efface_kmeans_params *const p = &w->model->params;
    const bool is_tree = w->model->tree != NULL;
    /* A preview of such a tree leaves less behind of what keeps requests short. */
    const bool forgets = is_tree && (p->leaf_method == EFFACE_METHOD_PYRAMID ||
                                     p->node_method == EFFACE_METHOD_PYRAMID);
    assert_true(forgets || preview->rows_visited >= report->rows_visited);
    assert_true(preview->levels_replayed >= report->levels_replayed);
    if (is_tree) /* which does all the work to say it */
        assert_true((forgets || preview->rows_visited == report->rows_visited) &&
                    preview->levels_replayed == report->levels_replayed);
}

static void step(walk *w, size_t most) {
    const size_t room = w->t.rows.n + 1;
    const uint32_t d = w->t.rows.d;
    size_t *const rows = make(room, sizeof *rows);
    float *const values = make(room * d, sizeof *values);
    uint64_t *const ids = make(room, sizeof *ids);
    int64_t *const weights = make(room, sizeof *weights);
    efface_report report = {.action = EFFACE_ACTION_UNTOUCHED};
    node_marks before = mark_nodes(w->model);
    const uint64_t kind = below(5);
    size_t n = 0;
    efface_error error = {.message = ""};
    efface_status status = EFFACE_OK;
    if (kind < 2) {
        n = one_in(2) && pick_named(w, rows) ? 1 : pick(w, true, most, rows);
        gather(w, rows, n, false, values, ids, weights);
        efface_report preview = {.action = EFFACE_ACTION_UNTOUCHED};
        assert_int_equal(
            efface_kmeans_preview(w->model, w->data, ids, n, EFFACE_MISSING_FAIL, &preview, &error),
            EFFACE_OK);
        status =
            efface_kmeans_forget(w->model, w->data, ids, n, EFFACE_MISSING_FAIL, &report, &error);
        compare_reports(w, &preview, &report);
        snprintf(w->did, sizeof w->did, "forgetting %zu", n);
        for (size_t i = 0; i < n; i++)
            w->inside[rows[i]] = false;
        w->n_inside -= n;
    } else if (kind < 4) {
        n = pick(w, false, most, rows);
        gather(w, rows, n, true, values, ids, weights);
        const efface_rows batch = {.n_rows = n, .values = values, .ids = ids, .weights = weights};
        status = efface_kmeans_learn(w->model, w->data, &batch, &report, &error);
        snprintf(w->did, sizeof w->did, "learning %zu", n);
        for (size_t i = 0; i < n; i++)
            w->inside[rows[i]] = true;
        w->n_inside += n;
    } else {
        n = pick(w, true, most, rows);
        const bool lighter = one_in(3);
        for (size_t i = 0; i < n; i++) {
            w->stands[rows[i]] = below(w->t.rows.n);
            if (lighter)
                w->weights[rows[i]] = 1 + (int64_t)below((uint64_t)w->weights[rows[i]]);
        }
        gather(w, rows, n, true, values, ids, weights);
        const efface_rows batch = {
            .n_rows = n, .values = values, .ids = ids, .weights = lighter ? weights : NULL};
        status = efface_kmeans_update(w->model, w->data, &batch, &report, &error);
        snprintf(w->did, sizeof w->did, "updating %zu", n);
    }
    if (status != EFFACE_OK)
        fail_msg("%s: %s", w->did, error.message);
    note(w, &report, ids, n);
    note_climb(w, &report, &before, n);
    free_marks(&before);
    free(rows);
    free(values);
    free(ids);
    free(weights);
}

/* ---------------------------------------------------------------- walks */

/* A handful of whole numbers on a lattice of few steps: losses of neighbouring levels are often the
 * same, and centroids in the middle between two points of the lattice. */
static void make_tiny(trial *t) {
    efface_kmeans_params *const p = &t->params;
    const size_t most = 4 + below(10);
    const uint64_t range = 2 + below(20);
    t->rows.n = t->rows.n < most ? t->rows.n : most;
    t->rows.d = t->rows.d > 1 && one_in(3) ? 2 : 1;
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = (float)below(range);
    p->n_clusters = 1 + (uint32_t)below(3);
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
    p->column_min = p->column_max = NULL;
    p->epsilon = (double)(1 + below(6)) * 0x1p-23;
    p->gamma = one_in(2) ? 0.0 : 1.0;
    p->iterations = 10;
}

/* A small sample of whole numbers, so that the starts come out alike, and the jury is soon of
 * another mind. */
static void make_close(trial *t) {
    efface_kmeans_params *const p = &t->params;
    const uint64_t range = 4 + below(30);
    t->rows.d = t->rows.d > 1 && one_in(2) ? 2 : 1;
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = (float)below(range);
    p->method = EFFACE_METHOD_PYRAMID;
    p->n_clusters = 2 + (uint32_t)below(3);
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
    p->column_min = p->column_max = NULL;
    p->iterations = 1 + (uint32_t)below(2);
    p->rate = scaled(1.0f, -1 - (int)below(4));
    p->epsilon = one_in(4) ? (double)(1 + below(6)) * 0x1p-23 : 0.0;
    p->starts = 2 + (uint32_t)below(6);
    p->passes = 1 + (uint32_t)below(3);
}

/* Leans a case towards what a change seldom does: empty a cluster, move a centroid by the threshold
 * alone, move the stopping point or the automatic lattice, make another start the best. */
static void lean(walk *w, uint64_t share) {
    efface_kmeans_params *const p = &w->t.params;
    const double d = w->t.rows.d, n = (double)w->t.rows.n * (double)share / 100.0;
    switch (below(12)) {
    case 0: /* a lattice so coarse that a loss often rises */
    case 1:
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -1 - (int)below(5));
        p->gamma = one_in(2) ? 0.0 : p->gamma;
        p->n_clusters = 2 + (uint32_t)below(8);
        p->empty = one_in(4) ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
        break;
    case 2: /* centroids that fall together */
    case 3:
    case 4: let_centroids_meet(&w->t); break;
    case 5: /* small clusters on a fine lattice */
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -23 + (int)below(10));
        p->gamma = one_in(2) ? 1.0 : 0.5;
        p->n_clusters = 2 + (uint32_t)below(8);
        break;
    case 6: /* n / (k d^1.5) near a power of ten, to which the automatic width holds */
        p->method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = 0.0;
        p->n_clusters = 1 + (uint32_t)(n * sqrt(d < 10.0 ? 10.0 : 1000.0) / (d * sqrt(d)));
        break;
    case 7:
    case 8: make_tiny(&w->t); break;
    case 9:
    case 10: make_close(&w->t); break;
    default: break;
    }
}

/* Turns a case into one of a tree, and leans it towards what a change of trees seldom does: take
 * the last row of a leaf or of a whole branch, move the automatic width, stop half-way. */
static void branch(walk *w, uint64_t share) {
    efface_kmeans_params *const p = &w->t.params;
    let_rows_branch(&w->t);
    size_t most = w->t.rows.n;
    switch (below(8)) {
    case 0: /* about as many rows as leaves */
    case 1:
        p->height = 1 + (uint32_t)below(3);
        p->width = 2 + (uint32_t)below(p->height == 1 ? 63 : 3);
        most = 1 + below(24);
        break;
    case 2: /* n about 4, about 32: there the automatic width moves */
    case 3:
        p->height = p->height == 0 || p->height > 3 ? 1 : p->height;
        p->width = 0;
        most = (size_t)((one_in(4) ? 400 : 3200) / share + below(5));
        break;
    case 4: /* centroids that a row seldom moves */
        p->height = 1 + (uint32_t)below(3);
        p->width = 1 + (uint32_t)below(3);
        p->n_clusters = 1 + (uint32_t)below(3);
        p->depth_clusters = NULL;
        p->leaf_method = p->node_method = EFFACE_METHOD_QUANTIZED;
        p->epsilon = scaled(1.0f, -(int)below(6));
        p->gamma = one_in(2) ? 0.0 : p->gamma;
        p->weigh_centroids = one_in(8);
        break;
    case 5: /* centroids of a few steps, which come back to where they were */
        make_tiny(&w->t);
        p->method = EFFACE_METHOD_TREE;
        p->height = 1 + (uint32_t)below(3);
        p->width = 1 + (uint32_t)below(3);
        p->leaf_method = one_in(3) ? p->leaf_method : EFFACE_METHOD_QUANTIZED;
        p->node_method = one_in(3) ? p->node_method : EFFACE_METHOD_QUANTIZED;
        break;
    default: break;
    }
    /* As many clusters as before, but where the height has grown. */
    for (uint32_t l = 0; l < p->height && p->depth_clusters != NULL; l++)
        if (w->t.depth_clusters[l] == 0)
            w->t.depth_clusters[l] = 1 + (uint32_t)below(4);
    w->t.rows.n = w->t.rows.n < most ? w->t.rows.n : most;
}

static void count_case(const efface_kmeans *model, const efface_kmeans_params *p) {
    if (p->method != EFFACE_METHOD_TREE)
        return;
    grown.heights[p->height]++;
    grown.widths[model->plan.width <= MOST_WIDTH ? model->plan.width : 0]++;
    grown.weighed[p->weigh_centroids != 0]++;
    grown.leaves[p->leaf_method]++;
    grown.nodes[p->node_method]++;
}

static void begin_walk(walk *w, uint64_t seed, uint64_t share) {
    memset(w, 0, sizeof *w);
    make_trial(seed, &w->t);
    lean(w, share);
    if (seed % 3 == 0)
        branch(w, share);
    const size_t n = w->t.rows.n;
    const uint32_t d = w->t.rows.d;
    w->inside = make(n, sizeof *w->inside);
    w->stands = make(n, sizeof *w->stands);
    w->weights = make(n, sizeof *w->weights);
    float *const values = make(n * d, sizeof *values);
    uint64_t *const ids = make(n, sizeof *ids);
    int64_t *const weights = make(n, sizeof *weights);
    size_t *const rows = make(n, sizeof *rows);
    for (size_t i = 0; i < n; i++) {
        w->stands[i] = i;
        w->weights[i] = w->t.rows.weights != NULL ? w->t.rows.weights[i] : 1;
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
    count_case(w->model, &w->t.params);
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
    free(w->weights);
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

static void print_steps(unsigned long steps, const unsigned long *actions,
                        const unsigned long *reasons) {
    print_message("%lu steps: untouched %lu, repaired %lu, refitted %lu; reasons", steps,
                  actions[0], actions[1], actions[2]);
    for (int r = 0; r < N_REASONS; r++)
        print_message("%s %s %lu", r != 0 ? "," : "", efface_reason_name((efface_reason)r),
                      reasons[r]);
}

static void print_trees(void) {
    print_message("trees of height");
    for (int h = 0; h <= MOST_HEIGHT; h++)
        print_message(" %lu", grown.heights[h]);
    print_message("; weighed %lu; leaves %lu %lu %lu; nodes %lu %lu %lu; ", grown.weighed[1],
                  grown.leaves[0], grown.leaves[1], grown.leaves[2], grown.nodes[0], grown.nodes[1],
                  grown.nodes[2]);
    print_steps(grown.steps, grown.actions, grown.reasons);
    print_message("; stopped at leaves %lu, inside %lu, at the root %lu; leaves came %lu, went "
                  "%lu; other nodes came %lu, went %lu\n",
                  grown.at_leaves, grown.inside, grown.at_root, grown.leaves_came,
                  grown.leaves_went, grown.inner_came, grown.inner_went);
}

static void check_that_trees_were_seen(void) {
    for (int h = 0; h <= 3; h++)
        assert_true(grown.heights[h] >= 5);
    for (int w = 1; w <= 4; w++)
        assert_true(grown.widths[w] >= 10);
    assert_true(grown.widths[5] > 0 && grown.widths[8] > 0 && grown.widths[10] > 0);
    assert_true(grown.widths[31] > 0 && grown.widths[64] > 0);
    assert_true(grown.weighed[0] >= 20 && grown.weighed[1] >= 20);
    for (int m = 0; m < 3; m++)
        assert_true(grown.leaves[m] >= 10 && grown.nodes[m] >= 10);
    assert_true(grown.at_leaves >= 200 && grown.inside >= 40 && grown.at_root >= 1000);
    assert_true(grown.leaves_came >= 300 && grown.leaves_went >= 300);
    assert_true(grown.inner_came >= 300 && grown.inner_went >= 300);
    for (int action = 0; action < 3; action++)
        assert_true(grown.actions[action] >= 20);
    assert_true(grown.reasons[EFFACE_REASON_WIDTH] >= 10);
    assert_true(grown.reasons[EFFACE_REASON_BOUND] >= 5);
    assert_true(grown.reasons[EFFACE_REASON_SCALE] >= 5);
}

static void every_step_is_a_fresh_fit(void **state) {
    (void)state;
    const unsigned long n = run_cases(FIRST_SEED, DEFAULT_CASES, run_walk);
    if (n == 0)
        return;
    print_steps(seen.steps, seen.actions, seen.reasons);
    print_message("; another start by the jury alone %lu\n", seen.verdicts);
    print_trees();
    if (n < DEFAULT_CASES)
        return;
    for (int r = 0; r < N_REASONS; r++)
        assert_true(seen.reasons[r] > 0 || r == EFFACE_REASON_REKEY || r == EFFACE_REASON_WIDTH);
    assert_true(seen.verdicts >= 5);
    check_that_trees_were_seen();
}

/* ---------------------------------------------------------------- chosen sequences */

static void forget_rows(walk *w, const size_t *rows, size_t n) {
    uint64_t *const ids = make(n, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        ids[i] = id_of(w, rows[i]);
        w->inside[rows[i]] = false;
    }
    assert_int_equal(
        efface_kmeans_forget(w->model, w->data, ids, n, EFFACE_MISSING_FAIL, NULL, NULL),
        EFFACE_OK);
    w->n_inside -= n;
    snprintf(w->did, sizeof w->did, "forgetting down to %zu", w->n_inside);
    free(ids);
}

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
    for (uint64_t seed = 1; seed <= 600; seed++) {
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

/* Down to the last row and to none, then up again. */
static void everything_can_be_forgotten(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        walk w;
        begin_walk(&w, mix(seed), 100);
        while (w.n_inside > 0) {
            size_t row = 0;
            (void)pick(&w, true, 1, &row);
            forget_rows(&w, &row, 1);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_a_fresh_fit),
        cmocka_unit_test(every_seed_can_be_forgotten),
        cmocka_unit_test(every_reseeding_can_be_undone),
        cmocka_unit_test(every_row_of_a_cluster_can_be_forgotten),
        cmocka_unit_test(everything_can_be_forgotten),
        cmocka_unit_test(order_and_batches_do_not_matter),
        cmocka_unit_test(there_and_back),
    };
    return cmocka_run_group_tests_name("forget", tests, NULL, NULL);
}
