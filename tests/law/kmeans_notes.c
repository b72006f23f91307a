/*
 * What tests check of k-means beside the bytes, and what walks note: which reasons, samples and
 * trees they have seen, and how far requests climbed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exact/check_nodes.h"
#include "law/draws.h"
#include "law/kmeans_notes.h"

/* ---------------------------------------------------------------- beside the bytes */

/* What a model of pyramid keeps to find the sample and the partition of level 0 again is no part of
 * the bytes, but follows from the rows as they do. It may be missing where a call has failed, or
 * what is kept was dropped. Positions are those of the set in both. */
static void compare_what_is_kept(const efface_model *m, const efface_model *fresh, size_t n) {
    const bool both = ef_labels_kept(inside(m)) != NULL && ef_labels_kept(inside(fresh)) != NULL;
    for (size_t i = 0; both && i < n; i++)
        if (kept_of(inside(m), i) != kept_of(inside(fresh), i))
            fail_msg("the row at %zu has label %" PRIx32 ", not %" PRIx32, i, kept_of(inside(m), i),
                     kept_of(inside(fresh), i));
}

/* Nor are all answers: which columns are coarse, and the rest of what is known of a model. */
static void compare_info(const efface_model *m, const efface_model *fresh) {
    const efface_kmeans_info a = efface_kmeans_get_info(m);
    const efface_kmeans_info b = efface_kmeans_get_info(fresh);
    uint32_t *const columns = make(2 * (size_t)a.n_columns, sizeof *columns);
    efface_kmeans_coarse_columns(m, columns, a.n_columns);
    efface_kmeans_coarse_columns(fresh, columns + a.n_columns, a.n_columns);
    if (a.method != b.method || a.n_clusters != b.n_clusters || a.n_rows != b.n_rows ||
        a.iterations != b.iterations || a.stable != b.stable || a.epsilon != b.epsilon ||
        a.width != b.width || a.n_coarse_columns != b.n_coarse_columns ||
        memcmp(columns, columns + a.n_columns, a.n_columns * sizeof *columns) != 0)
        fail_msg("not the info of a fresh fit");
    free(columns);
}

void kmeans_compare(const efface_model *model, const efface_model *fresh, const efface_data *data) {
    compare_what_is_kept(model, fresh, efface_data_n_rows(data));
    compare_info(model, fresh);
}

void kmeans_check(const efface_model *model, const efface_data *data) {
    check_nodes(model, data);
}

/* Of a multiple of 4 bytes. */
static void hash(uint64_t *sum, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i, sizeof word);
        *sum = mix(*sum + word + 1);
    }
}

/* All that can be seen of a node beside its model's bytes; positions and ranges too. */
static void hash_node(uint64_t *sum, const ef_node *node) {
    const efface_data *const set = node->data;
    float values[LAW_MOST_COLUMNS], least[LAW_MOST_COLUMNS], most[LAW_MOST_COLUMNS];
    const size_t n = efface_data_n_rows(set), n_bytes = set->n_columns * sizeof *values;
    hash(sum, &n, sizeof n);
    hash(sum, &set->total_weight, sizeof set->total_weight);
    hash(sum, &set->next_id, sizeof set->next_id);
    hash(sum, &set->stamp, sizeof set->stamp);
    for (size_t i = 0; i < n; i++) {
        const efface_row row = efface_data_row(set, i);
        size_t position = SIZE_MAX;
        assert_int_equal(efface_data_find(set, row.id, &position), EFFACE_OK);
        assert_int_equal(position, i);
        efface_data_values(set, i, values);
        hash(sum, &row.id, sizeof row.id);
        hash(sum, &row.weight, sizeof row.weight);
        hash(sum, values, n_bytes);
    }
    ef_data_column_ranges(set, least, most);
    hash(sum, least, n_bytes);
    hash(sum, most, n_bytes);
}

uint64_t kmeans_hash(const efface_model *model) {
    const ef_tree *const tree = inside(model)->tree;
    uint64_t sum = 1;
    for (uint32_t l = 0; tree != NULL && l <= tree->height; l++)
        for (size_t i = 0; i < tree->n_nodes[l]; i++) {
            const uint32_t there = tree->nodes[l][i].model != NULL;
            hash(&sum, &there, sizeof there);
            if (there != 0)
                hash_node(&sum, &tree->nodes[l][i]);
        }
    return sum;
}

/* ---------------------------------------------------------------- what walks have seen */

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

static const efface_kmeans_params *kmeans_of(const law_params *params) {
    return (const efface_kmeans_params *)(const void *)params;
}

/* The number of a report's reason. */
static int reason_of(const efface_report *report) {
    int r = 0;
    while (r < N_REASONS && !is_because(report, (ef_reason)r))
        r++;
    assert_true(r < N_REASONS);
    return r;
}

static void note(const law_step *step) {
    if (kmeans_of(step->params)->method == EFFACE_METHOD_TREE)
        return;
    seen.steps++;
    seen.actions[step->report->action]++;
    seen.reasons[reason_of(step->report)]++;
}

/* What a step did to a model that had a sample before it and has one after it: its starts ran again
 * (then they are elsewhere in memory), or the jury alone took another. */
static void note_sample(const law_step *step, const int32_t *starts) {
    const int32_t *const now = inside(step->model)->starts.centers;
    if (starts == NULL || now == NULL)
        return;
    const bool by_sample = is_because(step->report, EF_REASON_SAMPLE);
    sampled.steps++;
    if (step->report->action == EFFACE_ACTION_REFITTED)
        sampled.refitted++;
    else if (step->report->action == EFFACE_ACTION_ADJUSTED)
        sampled.untouched++;
    else
        ++*(!by_sample ? &sampled.other : now != starts ? &sampled.of_sample : &sampled.of_jury);
}

/* How far a request climbed, and no farther than it had to: the nodes it says it reached are those
 * whose sets it changed. */
static void note_climb(const law_step *step, const node_marks *before) {
    if (kmeans_of(step->params)->method != EFFACE_METHOD_TREE)
        return;
    grown.steps++;
    grown.actions[step->report->action]++;
    grown.reasons[reason_of(step->report)]++;
    if (inside(step->model)->tree == NULL || step->n_rows == 0)
        return;
    if (step->report->action == EFFACE_ACTION_REFITTED) {
        assert_true(is_because(step->report, EF_REASON_BOUND) ||
                    is_because(step->report, EF_REASON_SCALE) ||
                    is_because(step->report, EF_REASON_SPREAD) ||
                    is_because(step->report, EF_REASON_WIDTH));
        assert_int_equal(depth_of(step->report), 0);
        return;
    }
    node_marks now = mark_nodes(step->model);
    assert_int_equal(depth_of(step->report), depth_that_changed(before, &now));
    assert_true(step->report->action != EFFACE_ACTION_ADJUSTED || step->report->rows_visited == 0);
    grown.at_leaves += depth_of(step->report) == now.height;
    grown.inside += depth_of(step->report) > 0 && depth_of(step->report) < now.height;
    grown.at_root += depth_of(step->report) == 0;
    const size_t n_inner = now.n - inside(step->model)->tree->n_nodes[now.height];
    for (size_t i = 0; i < now.n; i++) {
        const bool came = now.there[i] && !before->there[i];
        const bool went = !now.there[i] && before->there[i];
        *(i < n_inner ? &grown.inner_came : &grown.leaves_came) += came;
        *(i < n_inner ? &grown.inner_went : &grown.leaves_went) += went;
    }
    free_marks(&now);
}

typedef struct sight_before {
    node_marks nodes;
    const int32_t *starts;
} sight_before;

void *kmeans_look(const efface_model *model) {
    sight_before *const before = make(1, sizeof *before);
    before->nodes = mark_nodes(model);
    before->starts = inside(model)->starts.centers;
    return before;
}

/* A preview says how many rows will be visited at most. */
static void compare_visits(const law_step *step) {
    const efface_kmeans_params *const p = &inside(step->model)->params;
    const bool is_tree = inside(step->model)->tree != NULL;
    const uint64_t said = step->preview->rows_visited, visited = step->report->rows_visited;
    /* A preview of such a tree leaves less behind of what keeps requests short. */
    const bool forgets = is_tree && (p->tree.leaf_method == EFFACE_METHOD_PYRAMID ||
                                     p->tree.node_method == EFFACE_METHOD_PYRAMID);
    assert_true(forgets || said >= visited);
    if (is_tree) /* which does all the work to say it */
        assert_true(forgets || said == visited);
}

void kmeans_note(void *before, const law_step *step) {
    sight_before *const then = before;
    if (step->preview != NULL)
        compare_visits(step);
    note(step);
    note_sample(step, then->starts);
    note_climb(step, &then->nodes);
    free_marks(&then->nodes);
    free(then);
}

void kmeans_meet(const law_params *params, const efface_model *model) {
    const efface_kmeans_params *const p = kmeans_of(params);
    if (p->method != EFFACE_METHOD_TREE)
        return;
    grown.heights[p->tree.height]++;
    grown.widths[inside(model)->plan.width <= MOST_WIDTH ? inside(model)->plan.width : 0]++;
    grown.weighed[p->tree.weigh_centroids != 0]++;
    grown.leaves[p->tree.leaf_method]++;
    grown.nodes[p->tree.node_method]++;
}

static void print_steps(unsigned long steps, const unsigned long *actions,
                        const unsigned long *reasons) {
    print_message("%lu steps: adjusted %lu, repaired %lu, refitted %lu; reasons", steps, actions[0],
                  actions[1], actions[2]);
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

void kmeans_tell(bool all) {
    print_steps(seen.steps, seen.actions, seen.reasons);
    print_message(
        "\nwith a sample %lu: untouched %lu, by the sample %lu, by the jury %lu, other repairs "
        "%lu, refitted %lu\n",
        sampled.steps, sampled.untouched, sampled.of_sample, sampled.of_jury, sampled.other,
        sampled.refitted);
    print_trees();
    if (!all)
        return;
    for (int r = 0; r < N_REASONS; r++)
        assert_true(seen.reasons[r] > 0 || r == EF_REASON_WIDTH);
    assert_true(sampled.untouched >= 500 && sampled.of_sample >= 300 && sampled.of_jury >= 10);
    assert_true(sampled.other >= 50 && 2 * sampled.refitted < sampled.steps);
    check_that_trees_were_seen();
}
