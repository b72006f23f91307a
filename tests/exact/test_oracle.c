/*
 * The library against the oracle: thousands of random small sets, every one fitted by both and
 * compared as canonical bytes, then labels and losses.
 *
 *     EFFACE_TEST_CASES=100000   how many cases (default 3,000)
 *     EFFACE_TEST_SEED=0x...     only the case with this seed, as a failure prints it
 *
 * The cases (oracle/cases.h) are made to be difficult. The test counts how often the rare paths of
 * the definition were taken and fails if one was not.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "efface/efface.h"
#include "model/report_scene.h"
#include "oracle/cases.h"
#include "oracle/difference.h"
#include "oracle/oracle.h"

#define FIRST_SEED UINT64_C(0x5EED0000)
#define DEFAULT_CASES 3000ul
#define MANY_CASES 80 /* of many clusters: seeds below that */

/* ------------------------------------------------------------------ one case */

/* How often the rarer paths of the definition were taken. */
static struct coverage {
    unsigned long duplicate_seed, reseeded_lloyd, reseeded_quantized, reseeded_twice, no_row_left,
        kept_empty, held_back, witness, stable, used_up, flat_column, fewer_rows, no_rows;
} seen;

/* The same for pyramid. */
static struct pyramid_coverage {
    unsigned long smaller, all_rows, automatic, cut, heavier, stable_sample, used_up_sample,
        first_start, later_start, equal_starts, lattice, two_passes, stable, used_up,
        reseeded_sample, reseeded_full;
} pyramid;

static void count_pyramid(const oracle_model *m) {
    const oracle_model *start = m->starts[m->chosen];
    int equal = 0;
    uint32_t n_passes = 0;
    for (uint32_t t = 0; t < m->n_levels; t++) {
        n_passes += m->levels[t].has_partition != 0;
        pyramid.reseeded_full += m->levels[t].n_reseeded > 0;
    }
    for (uint32_t r = 0; r < m->n_starts; r++)
        for (uint32_t t = 0; t < m->starts[r]->n_levels; t++)
            pyramid.reseeded_sample += m->starts[r]->levels[t].n_reseeded > 0;
    for (uint32_t r = m->chosen + 1; r < m->n_starts; r++)
        equal |= m->losses[r] == m->losses[m->chosen] &&
                 memcmp(oracle_centroids(m->starts[r]), oracle_centroids(start),
                        (size_t)m->n_clusters * m->d * 4) != 0;
    pyramid.smaller += m->n_in_sample < m->n;
    pyramid.all_rows += m->n_in_sample == m->n;
    pyramid.automatic += m->params.pyramid.rate == 0.0;
    pyramid.cut += m->jury_weight >> 40 != 0;
    pyramid.heavier += start->total_weight > m->total_weight;
    pyramid.stable_sample += start->levels[start->model_level].has_partition != 0;
    pyramid.used_up_sample += !start->levels[start->model_level].has_partition;
    pyramid.first_start += m->chosen == 0 && m->n_starts > 1;
    pyramid.later_start += m->chosen > 0;
    pyramid.equal_starts += (unsigned long)equal;
    pyramid.lattice += m->eps > 0;
    pyramid.two_passes += n_passes >= 2;
    pyramid.stable += m->levels[m->model_level].has_partition != 0;
    pyramid.used_up += !m->levels[m->model_level].has_partition;
}

/* And for trees, whose nodes are not counted above unless the height is 0: cases, then nodes. */
static struct tree_coverage {
    unsigned long heights[9], methods[3][3], widest, one_wide, automatic, held_back, weighed,
        given_clusters, no_rows;
    unsigned long empty_leaves, empty_inner, small_leaves, small_inner, fewer_asked, more_asked,
        reseeded_inner, equal_inner, sampled_leaves, sampled_inner;
    unsigned long massless; /* centroids that are no rows */
} trees;

static void count_inner(const oracle_tree *tree, uint32_t l, size_t i) {
    const oracle_model *node = tree->nodes[l][i];
    size_t n_below = 0;
    int equal = 0;
    for (size_t c = i * tree->width; c < (i + 1) * tree->width; c++)
        n_below += tree->nodes[l + 1][c] != NULL ? tree->nodes[l + 1][c]->n_clusters : 0;
    trees.massless += n_below - node->n;
    trees.small_inner += node->n < tree->n_asked[l];
    trees.fewer_asked += tree->n_asked[l] < tree->n_asked[l + 1];
    trees.more_asked += tree->n_asked[l] > tree->n_asked[l + 1];
    trees.sampled_inner += node->n_starts > 0 && node->n_in_sample < node->n;
    for (uint32_t t = 0; t < node->n_levels; t++)
        trees.reseeded_inner += node->levels[t].n_reseeded > 0;
    for (uint32_t c = 1; c < node->n_clusters; c++)
        equal |= memcmp(oracle_centroids(node), oracle_centroids(node) + (size_t)c * node->d,
                        node->d * sizeof(int32_t)) == 0;
    trees.equal_inner += (unsigned long)equal;
}

static void count_tree(const oracle_model *m) {
    const oracle_tree *tree = m->tree;
    const efface_kmeans_params *p = &m->params;
    const uint32_t h = tree->height;
    trees.heights[h]++;
    trees.methods[p->tree.leaf_method][p->tree.node_method]++;
    trees.widest += tree->width == 64;
    trees.one_wide += tree->width == 1;
    trees.automatic += p->tree.width == 0;
    /* The width there would be without the limit is 8 or more, by a row count of 323 or more. */
    trees.held_back += p->tree.width == 0 && m->n >= 323 && tree->width < 8;
    trees.weighed += p->tree.weigh_centroids != 0;
    trees.given_clusters += p->tree.depth_clusters != NULL;
    trees.no_rows += m->n == 0;
    for (size_t i = 0; i < tree->n_nodes[h]; i++) {
        const oracle_model *leaf = tree->nodes[h][i];
        trees.empty_leaves += leaf == NULL;
        trees.small_leaves += leaf != NULL && leaf->n < tree->n_asked[h];
        trees.sampled_leaves += leaf != NULL && leaf->n_starts > 0 && leaf->n_in_sample < leaf->n;
    }
    for (uint32_t l = 0; l < h; l++)
        for (size_t i = 0; i < tree->n_nodes[l]; i++) {
            trees.empty_inner += tree->nodes[l][i] == NULL;
            if (tree->nodes[l][i] != NULL)
                count_inner(tree, l, i);
        }
}

/* And for many clusters: rows of all levels, and those that were looked at. */
static struct many_coverage { uint64_t rows, looked; } many;

/* And for greedy seeding: rounds. */
static struct greedy_coverage {
    unsigned long rounds, automatic, first_slot, later_slot, one_row, equal_potentials,
        among_equals;
} greedy;

static void count_rounds(const oracle_model *m) {
    const uint32_t c = m->n_slots;
    greedy.among_equals += c > 1 && m->n_rounds + 1 < m->n_clusters;
    greedy.automatic += m->params.candidates == 0 && m->n_rounds > 0;
    for (uint32_t l = 0; l < m->n_rounds; l++) {
        const oracle_slot *slots = m->slots + (size_t)l * c;
        uint32_t best = 0, n_equal = 0, n_same = 0;
        for (uint32_t s = 1; s < c; s++)
            best = slots[s].potential < slots[best].potential ? s : best;
        for (uint32_t s = best + 1; s < c; s++) {
            n_equal += slots[s].potential == slots[best].potential &&
                       memcmp(slots[s].point, slots[best].point, m->d * 4) != 0;
            n_same += slots[s].win.row == slots[best].win.row;
        }
        greedy.rounds++;
        greedy.first_slot += best == 0;
        greedy.later_slot += best > 0;
        greedy.one_row += n_same > 0;
        greedy.equal_potentials += n_equal > 0;
    }
}

static void count_paths(const oracle_model *m) {
    const size_t d = m->d;
    const efface_method method = m->params.method;
    if (m->tree != NULL) {
        count_tree(m);
        return;
    }
    count_rounds(m);
    seen.no_rows += m->n == 0;
    seen.fewer_rows += m->n < m->params.n_clusters;
    for (size_t j = 0; j < d; j++)
        seen.flat_column += m->params.scale == EFFACE_SCALE_MINMAX && m->step[j] == 0.0f;
    for (uint32_t a = 0; method != EFFACE_METHOD_PYRAMID && a < m->n_clusters; a++)
        for (uint32_t b = 0; b < a; b++)
            seen.duplicate_seed +=
                memcmp(m->levels[0].centroids + a * d, m->levels[0].centroids + b * d, d * 4) == 0;
    for (uint32_t t = 0; t < m->n_levels; t++) {
        const oracle_level *level = &m->levels[t];
        unsigned long empty = 0;
        for (uint32_t c = 0; level->has_partition && c < m->n_clusters; c++) {
            empty += level->counts[c] == 0;
            seen.held_back += level->counts[c] > 0 && (double)level->counts[c] * m->n_clusters <
                                                          m->q * 0x1p-16 * (double)m->total_weight;
        }
        /* Whether C[t + 1] was made from it. */
        const int went_on = method == EFFACE_METHOD_PYRAMID ? level->has_partition
                                                            : t < m->limit && t <= m->model_level;
        if (went_on && m->params.empty == EFFACE_EMPTY_KEEP)
            seen.kept_empty += empty;
        else if (went_on)
            seen.no_row_left += empty - level->n_reseeded;
        seen.reseeded_lloyd += method == EFFACE_METHOD_LLOYD && level->n_reseeded > 0;
        seen.reseeded_quantized += method == EFFACE_METHOD_QUANTIZED && level->n_reseeded > 0;
        seen.reseeded_twice += level->n_reseeded > 1;
    }
    if (method == EFFACE_METHOD_PYRAMID) {
        if (m->n > 0)
            count_pyramid(m);
        return;
    }
    seen.witness += m->n_levels > m->model_level + 1;
    seen.used_up += m->model_level == m->limit;
    seen.stable += m->n > 0 && m->n_levels == m->model_level + 1 && m->model_level < m->limit;
}

/* Adds the rows to a set in several calls; in another order if they have ids of their own. */
static efface_status add_rows(const trial *t, efface_data *data, efface_error *error) {
    const size_t n = t->rows.n;
    const uint32_t d = t->rows.d;
    float *values = make(n * d, sizeof *values);
    uint64_t *ids = make(n, sizeof *ids);
    int64_t *weights = make(n, sizeof *weights);
    size_t *order = make(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const size_t other = t->rows.ids != NULL ? (size_t)below(i + 1) : i;
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(values + i * d, t->values + order[i] * d, d * sizeof *values);
        ids[i] = t->ids[order[i]];
        weights[i] = t->weights[order[i]];
    }
    efface_status status = EFFACE_OK;
    for (size_t at = 0, some; at < n && status == EFFACE_OK; at += some) {
        some = 1 + (size_t)below(n - at);
        const efface_rows part = {.n_rows = some,
                                  .values = values + at * d,
                                  .ids = t->rows.ids != NULL ? ids + at : NULL,
                                  .weights = t->rows.weights != NULL ? weights + at : NULL};
        status = efface_data_add(data, &part, error);
    }
    free(values);
    free(ids);
    free(weights);
    free(order);
    return status;
}

typedef struct outcome {
    efface_data *data;
    efface_model *model;
    oracle_model *oracle;
    unsigned char *bytes, *oracle_bytes;
    uint32_t *labels, *oracle_labels;
} outcome;

static int compare_bytes(outcome *o, char *text, size_t capacity) {
    efface_error error = {0};
    difference d = {0};
    if (efface_model_encode(o->model, &o->bytes, &d.n_a, &error) != EFFACE_OK) {
        snprintf(text, capacity, "encode: %s", error.message);
        return 1;
    }
    o->oracle_bytes = oracle_encode(o->oracle, &d.n_b);
    d.candidates = o->oracle->params.candidates;
    d.a = o->bytes;
    d.b = o->oracle_bytes;
    if (!find_difference(&d))
        return 0;
    snprintf(text, capacity, "%s", d.text);
    return 1;
}

static int compare_labels_and_loss(const trial *t, outcome *o, char *text, size_t capacity) {
    const size_t n = t->rows.n;
    efface_error error = {0};
    o->labels = make(n, sizeof *o->labels);
    o->oracle_labels = make(n, sizeof *o->oracle_labels);
    const efface_status status = predict_labels(o->model, n, t->values, 0, o->labels, &error);
    if (n == 0) { /* no centroids */
        snprintf(text, capacity, "predict without centroids: %s", efface_status_name(status));
        return status != EFFACE_E_ARGUMENT;
    }
    if (status != EFFACE_OK) {
        snprintf(text, capacity, "predict: %s", error.message);
        return 1;
    }
    oracle_predict(o->oracle, n, t->values, o->oracle_labels);
    for (size_t i = 0; i < n; i++)
        if (o->labels[i] != o->oracle_labels[i]) {
            snprintf(text, capacity, "label of row %zu: library %u, oracle %u", i, o->labels[i],
                     o->oracle_labels[i]);
            return 1;
        }
    if (efface_kmeans_labels(o->model, o->data, o->labels, &error) != EFFACE_OK) {
        snprintf(text, capacity, "labels: %s", error.message);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = n;
        const uint64_t id = t->rows.ids != NULL ? t->rows.ids[i] : i;
        if (efface_data_find(o->data, id, &at) != EFFACE_OK ||
            o->labels[at] != o->oracle_labels[i]) {
            snprintf(text, capacity, "row %zu has another label as a row of the set", i);
            return 1;
        }
    }
    double loss = -1.0;
    if (efface_kmeans_loss(o->model, o->data, &loss, &error) != EFFACE_OK) {
        snprintf(text, capacity, "loss: %s", error.message);
        return 1;
    }
    const double expected = oracle_loss_in_units(o->oracle, &t->rows);
    snprintf(text, capacity, "loss: library %a, oracle %a", loss, expected);
    return loss != expected;
}

/* Runs the case with a seed; returns 1 and says what differs if the two disagree. */
static int run_case(uint64_t seed, char *text, size_t capacity) {
    static const char *const method_names[] = {"lloyd", "quantized", "pyramid", "tree"};
    trial t;
    outcome o = {0};
    efface_error error = {0};
    int failed = 1;
    if (seed < MANY_CASES)
        make_trial_of_many(seed, &t);
    else if (seed % 3 == 0)
        make_tree_trial(seed, &t);
    else
        make_trial(seed, &t);
    if (efface_data_create(t.rows.d, &o.data, &error) != EFFACE_OK ||
        add_rows(&t, o.data, &error) != EFFACE_OK ||
        efface_kmeans_fit(o.data, &t.params, &o.model, &error) != EFFACE_OK) {
        snprintf(text, capacity, "the library refuses: %s", error.message);
    } else {
        o.oracle = oracle_fit(&t.rows, &t.params);
        count_paths(o.oracle);
        if (seed < MANY_CASES && t.params.method == EFFACE_METHOD_LLOYD) {
            many.looked += efface_kmeans_get_info(o.model).rows_assigned;
            many.rows += t.rows.n * o.oracle->n_levels;
        }
        trees.heights[0] += t.params.method == EFFACE_METHOD_TREE && t.params.tree.height == 0;
        failed =
            compare_bytes(&o, text, capacity) || compare_labels_and_loss(&t, &o, text, capacity);
    }
    if (failed) {
        print_error("case 0x%" PRIx64 ": n %zu, d %u, values %s, ids %s, weights %s, k %u, %s, "
                    "iterations %u, scale %s, bound %g, given columns %d, empty %s, epsilon %g, "
                    "gamma %g, rate %g, passes %u, starts %u, candidates %u, threads %u\n",
                    seed, t.rows.n, t.rows.d, t.kind, t.rows.ids != NULL ? "given" : "default",
                    t.rows.weights != NULL ? "given" : "1", t.params.n_clusters,
                    method_names[t.params.method], t.params.iterations,
                    t.params.scale == EFFACE_SCALE_NONE ? "none" : "minmax", t.params.bound,
                    t.params.column_min != NULL,
                    t.params.empty == EFFACE_EMPTY_RESEED ? "reseed" : "keep", t.params.epsilon,
                    t.params.quantized.gamma, t.params.pyramid.rate, t.params.pyramid.passes,
                    t.params.pyramid.starts, t.params.candidates, t.params.common.n_threads);
        if (t.params.method == EFFACE_METHOD_TREE)
            print_error("tree: height %u, width %u, leaves %s, inner nodes %s, clusters %s, "
                        "centroids %s\n",
                        t.params.tree.height, t.params.tree.width,
                        method_names[t.params.tree.leaf_method],
                        method_names[t.params.tree.node_method],
                        t.params.tree.depth_clusters != NULL ? "given" : "k",
                        t.params.tree.weigh_centroids ? "weighed" : "not weighed");
    }
    efface_bytes_free(o.bytes);
    efface_model_free(o.model);
    efface_data_free(o.data);
    oracle_free(o.oracle);
    free(o.oracle_bytes);
    free(o.labels);
    free(o.oracle_labels);
    free_trial(&t);
    return failed;
}

/* ------------------------------------------------------------------ tests */

static void library_equals_oracle(void **state) {
    (void)state;
    const char *only = getenv("EFFACE_TEST_SEED"), *count = getenv("EFFACE_TEST_CASES");
    const unsigned long n_cases = count != NULL ? strtoul(count, NULL, 10) : DEFAULT_CASES;
    char text[600];
    if (only != NULL) {
        if (run_case(strtoull(only, NULL, 0), text, sizeof text))
            fail_msg("%s", text);
        return;
    }
    for (unsigned long i = 0; i < n_cases; i++)
        if (run_case(FIRST_SEED + i, text, sizeof text))
            fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ": %s", FIRST_SEED + i, text);
    print_message(
        "seeds at one place %lu, reseeded %lu + %lu (several %lu), no row left %lu, kept empty "
        "%lu, held back %lu, witnesses %lu, stable %lu, used up %lu, flat columns %lu\n",
        seen.duplicate_seed, seen.reseeded_lloyd, seen.reseeded_quantized, seen.reseeded_twice,
        seen.no_row_left, seen.kept_empty, seen.held_back, seen.witness, seen.stable, seen.used_up,
        seen.flat_column);
    print_message(
        "pyramid: samples of all rows %lu, of some %lu (automatic %lu, cut down %lu, heavier %lu), "
        "stable in the "
        "sample %lu, limit reached %lu, first start chosen %lu, a later one %lu, losses equal %lu, "
        "lattices %lu, two passes %lu, stable %lu, passes used up %lu, reseeded in the sample %lu, "
        "in a pass %lu\n",
        pyramid.all_rows, pyramid.smaller, pyramid.automatic, pyramid.cut, pyramid.heavier,
        pyramid.stable_sample, pyramid.used_up_sample, pyramid.first_start, pyramid.later_start,
        pyramid.equal_starts, pyramid.lattice, pyramid.two_passes, pyramid.stable, pyramid.used_up,
        pyramid.reseeded_sample, pyramid.reseeded_full);
    print_message(
        "trees: of height 0 %lu, 1 %lu, 2 %lu, 3 %lu, 7 %lu, 8 %lu, width 1 %lu, 64 %lu, automatic "
        "%lu "
        "(held back %lu), weighed %lu, clusters given %lu, without rows %lu; leaves: empty %lu, "
        "fewer rows than k %lu, sampled %lu; inner nodes: empty %lu, fewer rows than k %lu, fewer "
        "clusters than below %lu, more %lu, reseeded %lu, equal centroids %lu, sampled %lu; "
        "centroids without mass %lu\n",
        trees.heights[0], trees.heights[1], trees.heights[2], trees.heights[3], trees.heights[7],
        trees.heights[8], trees.one_wide, trees.widest, trees.automatic, trees.held_back,
        trees.weighed, trees.given_clusters, trees.no_rows, trees.empty_leaves, trees.small_leaves,
        trees.sampled_leaves, trees.empty_inner, trees.small_inner, trees.fewer_asked,
        trees.more_asked, trees.reseeded_inner, trees.equal_inner, trees.sampled_inner,
        trees.massless);
    print_message(
        "greedy seeding: rounds %lu, models with an automatic number of candidates %lu, the "
        "best in the first slot %lu, in a later one %lu, one row in several slots %lu, "
        "equal potentials %lu, models with rounds among equals %lu\n",
        greedy.rounds, greedy.automatic, greedy.first_slot, greedy.later_slot, greedy.one_row,
        greedy.equal_potentials, greedy.among_equals);
    if (n_cases < DEFAULT_CASES)
        return;
    assert_true(greedy.automatic > 0 && greedy.first_slot > 0 && greedy.later_slot > 0);
    assert_true(greedy.one_row > 0 && greedy.equal_potentials > 0 && greedy.among_equals > 0);
    assert_true(seen.duplicate_seed > 0 && seen.no_row_left > 0 && seen.kept_empty > 0);
    assert_true(seen.reseeded_lloyd > 0 && seen.reseeded_quantized > 0 && seen.reseeded_twice > 0);
    assert_true(seen.held_back > 0 && seen.witness > 0 && seen.stable > 0 && seen.used_up > 0);
    assert_true(seen.flat_column > 0 && seen.fewer_rows > 0 && seen.no_rows > 0);
    assert_true(pyramid.all_rows > 0 && pyramid.smaller > 0 && pyramid.automatic > 0);
    assert_true(pyramid.cut > 0 && pyramid.heavier > 0 && pyramid.lattice > 0 &&
                pyramid.two_passes > 0);
    assert_true(pyramid.stable_sample > 0 && pyramid.used_up_sample > 0);
    assert_true(pyramid.stable > 0 && pyramid.used_up > 0);
    assert_true(pyramid.first_start > 0 && pyramid.later_start > 0 && pyramid.equal_starts > 0);
    assert_true(pyramid.reseeded_sample > 0 && pyramid.reseeded_full > 0);
    assert_true(trees.heights[0] > 0 && trees.heights[1] > 0 && trees.heights[2] > 0);
    assert_true(trees.heights[3] > 0 && trees.heights[7] > 0 && trees.heights[8] > 0);
    for (int leaf = 0; leaf < 3; leaf++)
        for (int inner = 0; inner < 3; inner++)
            assert_true(trees.methods[leaf][inner] > 0);
    assert_true(trees.one_wide > 0 && trees.widest > 0 && trees.automatic > 0);
    assert_true(trees.held_back > 0 && trees.given_clusters > 0 && trees.no_rows > 0);
    assert_true(trees.empty_leaves > 0 && trees.empty_inner > 0 && trees.small_leaves > 0);
    assert_true(trees.small_inner > 0 && trees.fewer_asked > 0 && trees.more_asked > 0);
    assert_true(trees.reseeded_inner > 0 && trees.equal_inner > 0 && trees.massless > 0);
    assert_true(trees.sampled_leaves > 0 && trees.sampled_inner > 0 && trees.weighed > 0);
}

static void many_clusters_equal_oracle(void **state) {
    (void)state;
    char text[600];
    for (uint64_t seed = 0; seed < MANY_CASES; seed++)
        if (run_case(seed, text, sizeof text))
            fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ": %s", seed, text);
    print_message("many clusters: looked at %" PRIu64 " of %" PRIu64 " rows of all levels\n",
                  many.looked, many.rows);
    assert_true(many.looked < many.rows / 10 * 9);
}

/* The known answers of the Random123 distribution. */
static void philox_has_its_known_answers(void **state) {
    (void)state;
    static const uint32_t known[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1}};
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        oracle_philox(known[i], known[i] + 4, out);
        assert_memory_equal(out, known[i] + 6, sizeof out);
    }
}

/* -log(1 - v) at both ends and in the middle: within a few units in the last place. */
static void exponential_is_a_logarithm(void **state) {
    (void)state;
    static const struct {
        uint64_t r;
        double e;
    } known[] = {
        {0, 0x1p-53},                                        /* v = 2^-53 */
        {UINT64_MAX, 36.736800569677101399},                 /* 1 - v = 2^-53 */
        {UINT64_C(0x8000000000000000), 0.69314718055994552}, /* v = 1/2 + 2^-53 */
        {UINT64_C(0xF000000000000000), 2.7725887222397828}   /* v = 15/16 + 2^-53 */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double error = oracle_exponential(known[i].r) / known[i].e - 1.0;
        assert_true(error < 0x1p-49 && error > -0x1p-49);
    }
}

/* ------------------------------------------------------------------ many rounds */

/* Greedy seeding with so many rounds that in most of them few rows gain: the library then sifts
 * candidates, a tile of them at a time. Values are those of 40 blobs, in no order. */
static void fit_blobs(uint32_t d, uint32_t candidates, int weighed, efface_method method) {
    enum { N_ROWS = 300, MOST_COLUMNS = 40 };
    static float values[N_ROWS * MOST_COLUMNS];
    static int64_t weights[N_ROWS];
    efface_kmeans_params params;
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_kmeans_params_init(&params);
    params.method = method;
    params.n_clusters = 30;
    params.candidates = candidates;
    params.common.seed = 7;
    params.common.n_threads = 2;
    for (size_t i = 0; i < N_ROWS; i++) {
        const uint64_t blob = mix(i) % 40;
        weights[i] = 1 + (int64_t)(mix(i + 5000) % 7);
        for (uint32_t j = 0; j < d; j++)
            values[i * d + j] = (float)(mix(blob * 1000 + j) % 1000) +
                                (float)(mix(i * 64 + j + 100000) % 1000) * 0.03f;
    }
    const oracle_rows rows = {N_ROWS, d, values, NULL, weighed ? weights : NULL};
    const efface_rows all = {.n_rows = N_ROWS, .values = values, .weights = rows.weights};
    assert_int_equal(efface_data_create(d, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &all, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(data, &params, &model, NULL), EFFACE_OK);
    oracle_model *const oracle = oracle_fit(&rows, &params);
    unsigned char *a = NULL;
    size_t n_a = 0, n_b = 0;
    unsigned char *const b = oracle_encode(oracle, &n_b);
    assert_int_equal(efface_model_encode(model, &a, &n_a, NULL), EFFACE_OK);
    difference where = {.a = a, .b = b, .n_a = n_a, .n_b = n_b, .candidates = candidates};
    if (find_difference(&where))
        fail_msg("d %" PRIu32 ", %" PRIu32 " candidates: %s", d, candidates, where.text);
    efface_bytes_free(a);
    free(b);
    oracle_free(oracle);
    efface_model_free(model);
    efface_data_free(data);
}

static void many_rounds_equal_the_oracle(void **state) {
    (void)state;
    fit_blobs(3, 0, 0, EFFACE_METHOD_LLOYD);
    fit_blobs(3, 19, 1, EFFACE_METHOD_QUANTIZED);
    fit_blobs(40, 0, 1, EFFACE_METHOD_LLOYD);
    fit_blobs(40, 19, 0, EFFACE_METHOD_LLOYD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_has_its_known_answers),
        cmocka_unit_test(exponential_is_a_logarithm),
        cmocka_unit_test(library_equals_oracle),
        cmocka_unit_test(many_clusters_equal_oracle),
        cmocka_unit_test(many_rounds_equal_the_oracle),
    };
    return cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
}
