/*
 * After a thousand rows were forgotten, every node of every tree has the best split of the rows
 * that are there: the canonical bytes are walked beside the rows, and at each node the oracle's
 * plain code (law/forest_definition.c) looks for the best split anew. A forest whose best scores
 * were not kept up with its rows would have 2 to 5 % of its nodes wrong by then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forest/forest_scene.h"

#define N_ROWS 2100
#define N_FORGOTTEN 1000
#define N_NOISY 1070

typedef struct checking {
    const forest_set *set;
    const char *name;
    uint32_t tree;
    size_t n_nodes;
} checking;

static void check_leaf(const checking *c, const forest_node *leaf, const forest_member *members,
                       size_t n) {
    int64_t weight = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        weight += members[i].weight;
        sum += members[i].weight * c->set->targets[members[i].row];
    }
    if (weight != leaf->weight || sum != leaf->sum)
        fail_msg("%s, tree %u, leaf %u: W %" PRId64 ", S %" PRId64 " instead of %" PRId64
                 ", %" PRId64,
                 c->name, (unsigned)c->tree, (unsigned)leaf->number, leaf->weight, leaf->sum,
                 weight, sum);
    for (uint32_t k = 0; k < leaf->n_classes; k++) {
        weight = 0;
        for (size_t i = 0; i < n; i++)
            if (c->set->classes[members[i].row] == leaf->classes[k])
                weight += members[i].weight;
        assert_int_equal(weight, leaf->weights[k]);
    }
}

static void check_node(checking *c, const forest_node *node, uint64_t key, forest_member *members,
                       size_t n) {
    const forest_split best = forest_best_split(c->set, members, n, key, node->depth);
    c->n_nodes++;
    if (!forest_same_split(&best, &node->split))
        fail_msg("%s, tree %u, node %u of depth %u with %zu rows: kind %u, column %u, %.9g is not "
                 "the best split: kind %u, column %u, %.9g",
                 c->name, (unsigned)c->tree, (unsigned)node->number, (unsigned)node->depth, n,
                 node->split.kind, (unsigned)node->split.column, (double)node->split.threshold,
                 best.kind, (unsigned)best.column, (double)best.threshold);
    if (node->split.kind == 0) {
        check_leaf(c, node, members, n);
        return;
    }
    const size_t n_left = forest_part(c->set, &node->split, members, n);
    check_node(c, node->left, forest_child_key(key, false), members, n_left);
    check_node(c, node->right, forest_child_key(key, true), members + n_left, n - n_left);
}

static void check_all(const grove *g) {
    law_rows rows = rows_inside(g);
    const efface_forest_params *const p = forest_of(&g->params);
    forest_set *const set = forest_make_set(&rows, p);
    forest_plain *const forest = nodes_of(g->model);
    checking c = {.set = set, .name = g->name};
    for (c.tree = 0; c.tree < forest->n_trees; c.tree++) {
        size_t n = 0;
        forest_member *const members = forest_members(set, c.tree, &n);
        check_node(&c, forest->trees[c.tree], forest_root_key(p->common.seed, c.tree), members, n);
        free(members);
    }
    print_message("%s: %zu nodes are the best\n", g->name, c.n_nodes);
    forest_free(forest);
    forest_free_set(set);
    law_free_rows(&rows);
}

/* Rows that are copies now and then, columns that are categories, and a column that is a target. */
static law_rows make_rows(size_t n) {
    law_rows rows = draw_plain_rows(n, 7, 4);
    for (size_t i = 0; i < n; i++) {
        float *const row = rows.values + i * rows.d;
        row[4] = (float)below(6);
        row[5] = one_in(3) ? 0.0f : row[5];
        row[6] = row[0] * 2.0f + row[4] + unit();
        if (i > 0 && one_in(10))
            memcpy(row, rows.values + below(i) * rows.d, rows.d * sizeof *row);
        rows.weights[i] = one_in(5) ? 1 + (int64_t)below(9) : 1;
    }
    return rows;
}

typedef enum way { GINI, ENTROPY, TARGET, SOME, POISSON, LIMITS } way;

static void forget_and_check(const char *name, way how, bool batches) {
    grove g = {.name = name};
    rng_state = mix((uint64_t)how + 77);
    efface_forest_params *const p = begin_params(&g.params, 6, 4 + (uint64_t)how);
    p->criterion = how == ENTROPY ? EFFACE_CRITERION_ENTROPY : EFFACE_CRITERION_GINI;
    p->target = how == TARGET || how == SOME ? 6 : EFFACE_NO_COLUMN;
    p->rows = how == SOME      ? EFFACE_FOREST_SOME
              : how == POISSON ? EFFACE_FOREST_POISSON
                               : EFFACE_FOREST_ALL;
    p->trees_of_row = 2;
    p->lazy = how == SOME || how == POISSON;
    if (how == LIMITS) {
        p->min_leaf = 4;
        p->min_split = 12;
        p->n_candidates = 3;
        p->max_depth = 9;
    }
    if (how == ENTROPY || how == TARGET || how == LIMITS)
        add_category(&g.params, 4);
    begin_grove(&g, make_rows(N_ROWS), 100);
    check_all(&g);
    for (size_t n_forgotten = 0; n_forgotten < N_FORGOTTEN;) {
        size_t which[50];
        size_t most = batches ? 50 : 1;
        most = most < N_FORGOTTEN - n_forgotten ? most : N_FORGOTTEN - n_forgotten;
        const size_t n = pick_some(&g, true, most, which);
        forget_these(&g, which, n);
        n_forgotten += n;
    }
    check_all(&g);
    end_grove(&g);
}

static void best_by_gini(void **state) {
    (void)state;
    forget_and_check("gini", GINI, false);
    forget_and_check("gini, in batches", GINI, true);
}

static void best_by_entropy(void **state) {
    (void)state;
    forget_and_check("entropy, a column of categories", ENTROPY, false);
}

static void best_for_targets(void **state) {
    (void)state;
    forget_and_check("a target, a column of categories", TARGET, false);
    forget_and_check("a target, rows in some trees", SOME, true);
}

static void best_of_poisson(void **state) {
    (void)state;
    forget_and_check("poisson", POISSON, false);
}

static void best_within_limits(void **state) {
    (void)state;
    forget_and_check("limits", LIMITS, false);
}

/* Labels and targets that no column tells: margins decide. The number of rows goes back and forth
 * across one from which on the margin is larger. */
static void best_where_no_column_helps(void **state) {
    (void)state;
    for (way how = GINI; how <= TARGET; how++) {
        grove g = {.name = "no column helps"};
        rng_state = mix((uint64_t)how + 99);
        efface_forest_params *const p = begin_params(&g.params, 4, 20 + (uint64_t)how);
        p->criterion = how == ENTROPY ? EFFACE_CRITERION_ENTROPY : EFFACE_CRITERION_GINI;
        p->target = how == TARGET ? 6 : EFFACE_NO_COLUMN;
        law_rows rows = make_rows(N_NOISY);
        for (size_t i = 0; i < rows.n; i++) {
            rows.labels[i] = (int64_t)below(3);
            rows.values[i * rows.d + 6] = unit();
        }
        begin_grove(&g, rows, 100);
        for (size_t i = 0; i < 40; i++) {
            size_t which[50];
            const bool leaves = g.n_inside > N_NOISY - 100;
            const size_t n = pick_some(&g, leaves, i % 2 == 0 ? 50 : 1, which);
            if (leaves)
                forget_these(&g, which, n);
            else
                learn_these(&g, which, n);
        }
        check_all(&g);
        check_grove(&g);
        end_grove(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_by_gini),       cmocka_unit_test(best_by_entropy),
        cmocka_unit_test(best_for_targets),   cmocka_unit_test(best_of_poisson),
        cmocka_unit_test(best_within_limits), cmocka_unit_test(best_where_no_column_helps),
    };
    return cmocka_run_group_tests_name("best splits", tests, NULL, NULL);
}
