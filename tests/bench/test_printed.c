/*
 * What the paper prints (bench/paper), by enumeration: every random choice comes with every value
 * it can have, so that the chance of each outcome is known, after a deletion and after training on
 * the rows that are left. Q-k-means is biased, DC-k-means is not. docs/why/shortcuts.md works the same
 * examples out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "paper/as_printed.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- enumeration */

#define MAX_CHOICES 32
#define MAX_WAYS 16
#define MAX_OUTCOMES 1024

/* The choices of one run, and which of its ways each took. */
typedef struct choice {
    double chances[MAX_WAYS];
    size_t n, taken;
} choice;

typedef struct course {
    choice choices[MAX_CHOICES];
    size_t n_known, n_made;
    double chance;
} course;

static size_t take_way(void *state, size_t n, const float *weights) {
    course *const c = state;
    choice *const now = &c->choices[c->n_made++];
    assert_true(c->n_made <= MAX_CHOICES && n <= MAX_WAYS);
    if (c->n_made > c->n_known) {
        double sum = 0.0;
        *now = (choice){.n = n};
        for (size_t i = 0; i < n; i++)
            sum += now->chances[i] = weights != NULL ? (double)weights[i] : 1.0;
        for (size_t i = 0; i < n; i++)
            now->chances[i] /= sum;
        while (now->chances[now->taken] == 0.0)
            now->taken++;
        c->n_known = c->n_made;
    }
    assert_int_equal(now->n, n); /* a run that is repeated goes the same way */
    c->chance *= now->chances[now->taken];
    return now->taken;
}

/* The next course: the last choice that has another way takes it. False if there is none. */
static bool next_course(course *c) {
    for (; c->n_known > 0; c->n_known--) {
        choice *const last = &c->choices[c->n_known - 1];
        do
            last->taken++;
        while (last->taken < last->n && last->chances[last->taken] == 0.0);
        if (last->taken < last->n)
            return true;
    }
    return false;
}

typedef struct distribution {
    int64_t outcomes[MAX_OUTCOMES];
    double chances[MAX_OUTCOMES];
    size_t n;
} distribution;

static double *chance_of(distribution *of, int64_t outcome) {
    size_t i = 0;
    while (i < of->n && of->outcomes[i] != outcome)
        i++;
    if (i == of->n) {
        assert_true(i < MAX_OUTCOMES);
        of->outcomes[i] = outcome;
        of->chances[of->n++] = 0.0;
    }
    return &of->chances[i];
}

/* Total variation; both must be whole. */
static double distance_of(distribution *a, distribution *b) {
    double sum = 0.0, of_a = 0.0, of_b = 0.0;
    for (size_t i = 0; i < a->n; i++)
        (void)chance_of(b, a->outcomes[i]);
    for (size_t i = 0; i < b->n; i++) {
        const double here = *chance_of(a, b->outcomes[i]);
        sum += fabs(here - b->chances[i]) / 2.0;
        of_a += here;
        of_b += b->chances[i];
    }
    assert_true(fabs(of_a - 1.0) < 1e-9 && fabs(of_b - 1.0) < 1e-9);
    return sum;
}

static int64_t code(const double *centroids, uint32_t k) {
    int64_t sum = 0;
    for (uint32_t c = 0; c < k; c++)
        sum = sum * 100003 + (int64_t)round(60.0 * centroids[c]);
    return sum * 10 + k;
}

/* ---------------------------------------------------------------- scenes */

/* Rows of one column with the ids 0, 1, ..., the one at `without` left out. */
static printed_rows *rows_of(const int32_t *values, size_t n, size_t without) {
    printed_rows *const rows = printed_rows_new(1, 0);
    for (size_t i = 0; i < n; i++)
        if (i != without)
            printed_rows_add(rows, i, &values[i]);
    return rows;
}

typedef struct scene {
    const int32_t *values;
    size_t n, gone; /* the row that is deleted */
    printed_quantized_params quantized;
    printed_tree_params tree;
    bool lattice; /* what is looked at is the last lattice point, not what the call returned */
} scene;

static int64_t run_quantized(const scene *s, bool deletes, printed_dice dice) {
    printed_rows *const rows = rows_of(s->values, s->n, deletes ? s->n : s->gone);
    printed_quantized *const q = printed_quantized_train(rows, &s->quantized, dice);
    if (deletes)
        (void)printed_quantized_delete(q, rows, s->gone, dice);
    const int64_t outcome = code(s->lattice ? q->saved[q->n_saved - 1].lattice : q->model, q->k);
    printed_quantized_free(q);
    printed_rows_free(rows);
    return outcome;
}

static int64_t run_tree(const scene *s, bool deletes, printed_dice dice) {
    printed_rows *const rows = rows_of(s->values, s->n, deletes ? s->n : s->gone);
    for (size_t i = 0; i < rows->n; i++)
        rows->ids[i] = i;
    printed_tree *const tree = printed_tree_train(rows, &s->tree, dice);
    if (deletes)
        printed_tree_delete(tree, s->gone, dice);
    const int64_t outcome = code(tree->nodes[0].centroids, tree->nodes[0].n_centroids);
    printed_tree_free(tree);
    printed_rows_free(rows);
    return outcome;
}

typedef int64_t run_scene(const scene *s, bool deletes, printed_dice dice);

static void enumerate(run_scene *run, const scene *s, bool deletes, distribution *of) {
    course *const c = calloc(1, sizeof *c);
    assert_non_null(c);
    do {
        c->n_made = 0;
        c->chance = 1.0;
        const int64_t outcome = run(s, deletes, (printed_dice){take_way, c});
        assert_int_equal(c->n_made, c->n_known);
        *chance_of(of, outcome) += c->chance;
    } while (next_course(c));
    free(c);
}

/* How far a deletion is from training on the rows that are left. */
static double bias_of(run_scene *run, const scene *s) {
    distribution *const after = calloc(2, sizeof *after);
    assert_non_null(after);
    enumerate(run, s, true, &after[0]);
    enumerate(run, s, false, &after[1]);
    const double distance = distance_of(&after[0], &after[1]);
    free(after);
    return distance;
}

static void assert_near(double found, double expected) {
    if (fabs(found - expected) > 1e-9)
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* ---------------------------------------------------------------- Q-k-means */

static const printed_reading readings[] = {PRINTED_TEXT, PRINTED_PROGRAM};

/* One cluster, one iteration, a lattice of four phases. The rows that are left add up to 0, so that
 * c - p / N is their mean here: what is wrong is the fresh phase alone. It is off by
 * p (1 - p) = 3/16 where the deleted row is no seed, 2 times of 3. */
static void fresh_phases_are_biased(void **state) {
    (void)state;
    static const int32_t values[] = {3, -1, 1};
    for (size_t i = 0; i < 2; i++) {
        const scene s = {values, 3, 0, {1, 1, 4, 0.2, readings[i]}, .lattice = true};
        assert_near(bias_of(run_quantized, &s), 2.0 / 3.0 * 3.0 / 16.0);
    }
}

/* Seeds that are kept unless they are hit: without iterations they are the model. */
static void kept_seeds_are_biased(void **state) {
    (void)state;
    static const int32_t values[] = {0, 1, 2, 10};
    for (size_t i = 0; i < 2; i++) {
        const scene s = {values, 4, 3, {2, 0, 1, 0.2, readings[i]}, .lattice = false};
        assert_near(bias_of(run_quantized, &s), 2935.0 / 481068.0);
    }
}

/* c - p / N is the mean of the others only if they add up to 0: a row at 0 never moves a centroid,
 * and the model 1, which no training on 3 and 3 has, stays with a chance of 2/3 * 1/4. */
static void the_mean_without_a_row_is_not_a_mean(void **state) {
    (void)state;
    static const int32_t values[] = {0, 3, 3};
    for (size_t i = 0; i < 2; i++) {
        const scene s = {values, 3, 0, {1, 1, 4, 0.2, readings[i]}, .lattice = true};
        assert_near(bias_of(run_quantized, &s), 2.0 / 3.0 * 1.0 / 4.0);
    }
}

/* And what a call returns is biased: the text returns means where training ends early. */
static void models_are_biased(void **state) {
    (void)state;
    static const int32_t values[] = {0, 1, 2, 6, 7};
    for (size_t i = 0; i < 2; i++)
        for (size_t gone = 0; gone < 5; gone++) {
            const scene s = {values, 5, gone, {2, 1, 3, 0.2, readings[i]}, .lattice = false};
            assert_true(bias_of(run_quantized, &s) > 0.005);
        }
}

/* ---------------------------------------------------------------- what the readings do */

static size_t take_first(void *state, size_t n, const float *weights) {
    size_t i = 0;
    (void)state;
    while (weights != NULL && i + 1 < n && weights[i] <= 0.0F)
        i++;
    return i;
}

static const printed_dice first_ways = {take_first, NULL};

/* Seeds 0 and 8. The cluster {8} has one row where gamma n / k asks for 2.5: the text makes
 * 1 * 8 + 1.5 * 8 of it, which lowers no loss, so that the mean is returned; the program divides,
 * and returns the lattice point. */
static void readings_differ_in_the_correction(void **state) {
    (void)state;
    static const int32_t values[] = {0, 0, 0, 0, 8};
    for (size_t i = 0; i < 2; i++) {
        printed_rows *const rows = rows_of(values, 5, 5);
        const printed_quantized_params params = {2, 3, 5, 1.0, readings[i]};
        printed_quantized *const q = printed_quantized_train(rows, &params, first_ways);
        assert_true(q->model[0] == 0.0);
        assert_true(q->model[1] == (readings[i] == PRINTED_TEXT ? 20.0 : 10.0));
        assert_true(q->saved[0].lattice[1] == (readings[i] == PRINTED_TEXT ? 20.0 : 10.0));
        assert_int_equal(q->n_accepted, readings[i] == PRINTED_TEXT ? 0 : 1);
        /* saved: of the text the corrected mean, beside the sizes of the next partition */
        assert_true(q->saved[0].c[1] == (readings[i] == PRINTED_TEXT ? 20.0 : 8.0));
        assert_true(q->saved[0].sizes[1] == (readings[i] == PRINTED_TEXT ? 0.0 : 1.0));
        printed_quantized_free(q);
        printed_rows_free(rows);
    }
}

/* Where training ends early the text returns the mean, and a deletion the lattice point beside it:
 * two models of rows that did not change but for one that stands on the mean. */
static void training_and_deletion_return_different_things(void **state) {
    (void)state;
    static const int32_t values[] = {0, -1, 1, -1, 1};
    printed_rows *const rows = rows_of(values, 5, 5);
    const printed_quantized_params params = {1, 1, 16, 0.2, PRINTED_TEXT};
    printed_quantized *const q = printed_quantized_train(rows, &params, first_ways);
    assert_int_equal(q->n_saved, 1);
    assert_int_equal(q->n_accepted, 0);
    q->saved[0].lattice[0] = 8.0; /* as with the phase 8 */
    q->saved[0].theta[0] = 8;
    assert_true(q->model[0] == 0.0);
    assert_false(printed_quantized_delete(q, rows, 1, first_ways));
    assert_true(q->model[0] == 8.0);
    printed_quantized_free(q);
    printed_rows_free(rows);
}

/* ---------------------------------------------------------------- DC-k-means */

static void trees_are_not_biased(void **state) {
    (void)state;
    static const int32_t values[] = {0, 1, 4, 9};
    static const printed_tree_params trees[] = {{2, 1, 2, 1}, {1, 1, 2, 2}, {2, 2, 1, 1}};
    for (size_t t = 0; t < 3; t++)
        for (size_t gone = 0; gone < 4; gone++) {
            const scene s = {values, 4, gone, {0}, trees[t], false};
            assert_near(bias_of(run_tree, &s), 0.0);
        }
}

/* ---------------------------------------------------------------- partitions */

/* Centroids in and out of the grid, beside a search through all of them. */
static void every_row_finds_its_nearest_centroid(void **state) {
    (void)state;
    uint64_t bits = 1;
    for (unsigned round = 0; round < 200; round++) {
        printed_rows *const rows = printed_rows_new(3, round % 3 == 0 ? EF_GRID_MAX / 2 : 0);
        double centroids[15];
        for (uint64_t id = 0; id < 40; id++) {
            int32_t point[3];
            for (size_t j = 0; j < 3; j++) {
                bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
                point[j] = (int32_t)(bits >> 41);
            }
            printed_rows_add(rows, id, point);
        }
        for (size_t i = 0; i < 15; i++) {
            bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
            centroids[i] = (double)(bits >> 41) * (double)(1 + round % 4) / 2.0;
            centroids[i] = round % 5 == 0 ? centroids[i] * 1000.0 : floor(centroids[i]);
        }
        printed_partition pi;
        printed_partition_init(&pi, rows, 5);
        printed_divide(&pi, rows, centroids);
        double loss = 0.0;
        for (size_t i = 0; i < 40; i++) {
            double least = INFINITY, own = 0.0;
            for (uint32_t c = 0; c < 5; c++) {
                double away = 0.0;
                for (uint32_t j = 0; j < 3; j++)
                    away += pow(printed_coordinate(rows, i, j) - centroids[3 * c + j], 2.0);
                least = fmin(least, away);
                own = c == pi.labels[i] ? away : own;
            }
            assert_true(own == least);
            loss += least;
        }
        assert_true(fabs(printed_loss(&pi, rows, centroids) / loss - 1.0) < 1e-9);
        printed_partition_free(&pi);
        printed_rows_free(rows);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_finds_its_nearest_centroid),
        cmocka_unit_test(fresh_phases_are_biased),
        cmocka_unit_test(kept_seeds_are_biased),
        cmocka_unit_test(the_mean_without_a_row_is_not_a_mean),
        cmocka_unit_test(models_are_biased),
        cmocka_unit_test(readings_differ_in_the_correction),
        cmocka_unit_test(training_and_deletion_return_different_things),
        cmocka_unit_test(trees_are_not_biased),
    };
    return cmocka_run_group_tests_name("as printed", tests, NULL, NULL);
}
