/*
 * The headline: after any sequence of forget, learn and update, one by one or in batches, a model's
 * canonical bytes are those of a fresh fit to the rows that are there, and those of the oracle.
 *
 * Each step of a walk (walk.h) takes rows out, lets rows in, or gives rows the values of others.
 * Rows that go are now and then chosen by looking at the model, as an adversary would: its seeds,
 * and the rows that its empty clusters were reseeded with. Of trees it is noted how far each
 * request climbed. EFFACE_TEST_CASES sets the number of cases, EFFACE_TEST_SEED runs one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/walk.h"
#include "unit/report_ways.h"

#define FIRST_SEED UINT64_C(0xF0E60001)
#define DEFAULT_CASES 1200
#define STEPS 14

#define N_REASONS 14
#define MOST_HEIGHT 8
#define MOST_WIDTH 64

static struct { unsigned long steps, actions[3], reasons[N_REASONS]; } seen;

/* The steps of models that have a sample. */
static struct { unsigned long steps, untouched, of_sample, of_jury, other, refitted; } sampled;

/* The same for trees. */
static struct {
    unsigned long steps, actions[3], reasons[N_REASONS];
    unsigned long heights[MOST_HEIGHT + 1], widths[MOST_WIDTH + 1], weighed[2]; /* cases */
    unsigned long leaves[3], nodes[3];        /* cases by method */
    unsigned long at_leaves, inside, at_root; /* where requests stopped */
    unsigned long leaves_came, leaves_went, inner_came, inner_went;
} grown;

/* ---------------------------------------------------------------- steps */

/* A row that the model names: a seed, a row that was tried as one, one that an empty cluster was
 * reseeded with, or one of a jury. */
static bool pick_named(const walk *w, size_t *row) {
    names list = {.most = 100};
    if (one_in(4))
        name_seeds(inside(w->model), &list);
    list.most = 150;
    if (one_in(4))
        name_candidates(inside(w->model), &list);
    list.most = 200;
    name_reseeded(inside(w->model), &list);
    if (list.n == 0)
        name_jury(w->model, w->data, &list);
    const size_t n = list.n;
    const uint64_t id = n != 0 ? list.ids[below(n)] : 0;
    for (size_t i = 0; n != 0 && i < w->t.rows.n; i++)
        if (w->inside[i] && id_of(w, i) == id) {
            *row = i;
            return true;
        }
    return false;
}

/* The number of a report's reason. */
static int reason_of(const efface_report *report) {
    int r = 0;
    while (r < N_REASONS && !is_because(report, (ef_reason)r))
        r++;
    assert_true(r < N_REASONS);
    return r;
}

static void note(const walk *w, const efface_report *report) {
    if (w->t.params.method == EFFACE_METHOD_TREE)
        return;
    seen.steps++;
    seen.actions[report->action]++;
    seen.reasons[reason_of(report)]++;
}

/* What a step did to a model that had a sample before it and has one after it: its starts ran again
 * (then they are elsewhere in memory), or the jury alone took another. */
static void note_sample(const walk *w, const efface_report *report, const int32_t *starts) {
    const int32_t *const now = inside(w->model)->starts.centers;
    if (starts == NULL || now == NULL)
        return;
    const bool by_sample = is_because(report, EF_REASON_SAMPLE);
    sampled.steps++;
    if (report->action == EFFACE_ACTION_REFITTED)
        sampled.refitted++;
    else if (report->action == EFFACE_ACTION_UNTOUCHED)
        sampled.untouched++;
    else
        ++*(!by_sample ? &sampled.other : now != starts ? &sampled.of_sample : &sampled.of_jury);
}

/* How far a request climbed, and no farther than it had to: the nodes it says it reached are those
 * whose sets it changed. */
static void note_climb(const walk *w, const efface_report *report, const node_marks *before,
                       size_t n) {
    if (w->t.params.method != EFFACE_METHOD_TREE)
        return;
    grown.steps++;
    grown.actions[report->action]++;
    grown.reasons[reason_of(report)]++;
    if (inside(w->model)->tree == NULL || n == 0)
        return;
    if (report->action == EFFACE_ACTION_REFITTED) {
        assert_true(is_because(report, EF_REASON_BOUND) || is_because(report, EF_REASON_SCALE) ||
                    is_because(report, EF_REASON_WIDTH));
        assert_int_equal(depth_of(report), 0);
        return;
    }
    node_marks now = mark_nodes(w->model);
    assert_int_equal(depth_of(report), depth_that_changed(before, &now));
    assert_true(report->action != EFFACE_ACTION_UNTOUCHED || report->rows_visited == 0);
    grown.at_leaves += depth_of(report) == now.height;
    grown.inside += depth_of(report) > 0 && depth_of(report) < now.height;
    grown.at_root += depth_of(report) == 0;
    const size_t n_inner = now.n - inside(w->model)->tree->n_nodes[now.height];
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
    assert_string_equal(preview->where, report->where);
    assert_string_equal(preview->reason, report->reason);
    const efface_kmeans_params *const p = &inside(w->model)->params;
    const bool is_tree = inside(w->model)->tree != NULL;
    /* A preview of such a tree leaves less behind of what keeps requests short. */
    const bool forgets = is_tree && (p->leaf_method == EFFACE_METHOD_PYRAMID ||
                                     p->node_method == EFFACE_METHOD_PYRAMID);
    assert_true(forgets || preview->rows_visited >= report->rows_visited);
    if (is_tree) /* which does all the work to say it */
        assert_true(forgets || preview->rows_visited == report->rows_visited);
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
    const int32_t *const starts = inside(w->model)->starts.centers;
    const uint64_t kind = below(5);
    size_t n = 0;
    efface_error error = {.message = ""};
    efface_status status = EFFACE_OK;
    if (kind < 2) {
        n = one_in(2) && pick_named(w, rows) ? 1 : pick(w, true, most, rows);
        gather(w, rows, n, false, values, ids, weights);
        efface_report preview = {.action = EFFACE_ACTION_UNTOUCHED};
        assert_int_equal(efface_model_preview(w->model, w->data,
                                              &(efface_request){.ids = ids, .n_ids = n}, &preview,
                                              &error),
                         EFFACE_OK);
        status = efface_model_forget(w->model, w->data, &(efface_request){.ids = ids, .n_ids = n},
                                     &report, &error);
        compare_reports(w, &preview, &report);
        snprintf(w->did, sizeof w->did, "forgetting %zu", n);
        for (size_t i = 0; i < n; i++)
            w->inside[rows[i]] = false;
        w->n_inside -= n;
    } else if (kind < 4) {
        n = pick(w, false, most, rows);
        gather(w, rows, n, true, values, ids, weights);
        const efface_rows batch = {.n_rows = n, .values = values, .ids = ids, .weights = weights};
        status = efface_model_learn(w->model, w->data, &batch, &report, &error);
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
        status = efface_model_update(w->model, w->data, &batch, &report, &error);
        snprintf(w->did, sizeof w->did, "updating %zu", n);
    }
    if (status != EFFACE_OK)
        fail_msg("%s: %s", w->did, error.message);
    note(w, &report);
    note_sample(w, &report, starts);
    note_climb(w, &report, &before, n);
    free_marks(&before);
    free(rows);
    free(values);
    free(ids);
    free(weights);
}

/* ---------------------------------------------------------------- walks */

static void count_case(const efface_model *model, const efface_kmeans_params *p) {
    if (p->method != EFFACE_METHOD_TREE)
        return;
    grown.heights[p->height]++;
    grown.widths[inside(model)->plan.width <= MOST_WIDTH ? inside(model)->plan.width : 0]++;
    grown.weighed[p->weigh_centroids != 0]++;
    grown.leaves[p->leaf_method]++;
    grown.nodes[p->node_method]++;
}

static void run_walk(uint64_t seed) {
    walk w;
    begin_walk(&w, seed, 70);
    count_case(w.model, &w.t.params);
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
        print_message("%s %s %lu", r != 0 ? "," : "", ef_reason_name((ef_reason)r), reasons[r]);
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
    assert_true(grown.reasons[EF_REASON_WIDTH] >= 10);
    assert_true(grown.reasons[EF_REASON_BOUND] >= 5);
    assert_true(grown.reasons[EF_REASON_SCALE] >= 5);
}

static void every_step_is_a_fresh_fit(void **state) {
    (void)state;
    const unsigned long n = run_cases(FIRST_SEED, DEFAULT_CASES, run_walk);
    if (n == 0)
        return;
    print_steps(seen.steps, seen.actions, seen.reasons);
    print_message(
        "\nwith a sample %lu: untouched %lu, by the sample %lu, by the jury %lu, other repairs "
        "%lu, refitted %lu\n",
        sampled.steps, sampled.untouched, sampled.of_sample, sampled.of_jury, sampled.other,
        sampled.refitted);
    print_trees();
    if (n < DEFAULT_CASES)
        return;
    for (int r = 0; r < N_REASONS; r++)
        assert_true(seen.reasons[r] > 0 || r == EF_REASON_WIDTH || r == EF_REASON_REDRAW);
    assert_true(sampled.untouched >= 500 && sampled.of_sample >= 300 && sampled.of_jury >= 10);
    assert_true(sampled.other >= 50 && 2 * sampled.refitted < sampled.steps);
    check_that_trees_were_seen();
}

/* Fewer where there are fewer walks, too. */
static uint64_t count_descents(void) {
    const char *const given = getenv("EFFACE_TEST_CASES");
    const unsigned long n = given != NULL ? strtoul(given, NULL, 0) : DEFAULT_CASES;
    return n < DEFAULT_CASES ? 60 * n / DEFAULT_CASES : 60;
}

/* Down to the last row and to none, one by one where a hundred are left, then up again. */
static void everything_can_be_forgotten(void **state) {
    (void)state;
    const uint64_t last = count_descents();
    for (uint64_t seed = 1; seed <= last; seed++) {
        walk w;
        begin_walk(&w, mix(seed), 100);
        while (w.n_inside > 0) {
            size_t rows[20];
            forget_rows(&w, rows, pick(&w, true, 1 + w.n_inside / 80, rows));
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
