/*
 * Margins of levels: after every change of rows and every move of centers the partition is that of
 * the exact search, counts and sums are those of its clusters, and small moves look at few rows.
 */
#include "model/kmeans/kept/level_margins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 600
#define MOST_CLUSTERS 9
#define MOST_COLUMNS 20

static uint64_t state;

static uint32_t below(uint32_t limit) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % limit;
}

/* A set on a grid of step 1, centers, and margins that have followed them. */
typedef struct scene {
    uint32_t d, k;
    int32_t range; /* of values */
    efface_data *data;
    ef_map map;
    float low[MOST_COLUMNS], step[MOST_COLUMNS];
    int32_t centers[MOST_CLUSTERS * MOST_COLUMNS];
    int64_t counts[MOST_CLUSTERS], sums[MOST_CLUSTERS * MOST_COLUMNS];
    ef_level_margins kept;
    uint64_t next_id;
    uint64_t n_looked, n_remade;
} scene;

static void draw_values(const scene *s, size_t n, float *values) {
    for (size_t i = 0; i < n * s->d; i++)
        values[i] = (float)below((uint32_t)s->range);
}

/* ---------------------------------------------------------------- what must hold */

static uint32_t nearest(const scene *s, size_t position) {
    int32_t point[MOST_COLUMNS];
    float row[MOST_COLUMNS];
    efface_data_values(s->data, position, row);
    for (uint32_t j = 0; j < s->d; j++)
        point[j] = (int32_t)row[j];
    uint32_t best = 0;
    for (uint32_t c = 1; c < s->k; c++)
        if (ef_grid_sqdist(point, s->centers + (size_t)c * s->d, s->d) <
            ef_grid_sqdist(point, s->centers + (size_t)best * s->d, s->d))
            best = c;
    return best;
}

static void check(const scene *s) {
    uint32_t labels[MOST_ROWS];
    int64_t counts[MOST_CLUSTERS] = {0}, sums[MOST_CLUSTERS * MOST_COLUMNS] = {0};
    const size_t n = efface_data_n_rows(s->data);
    assert_int_equal(s->kept.n_rows, n);
    ef_level_margins_labels(&s->kept, labels);
    for (size_t i = 0; i < n; i++) {
        float row[MOST_COLUMNS];
        const uint32_t c = nearest(s, i);
        const int64_t weight = efface_data_row(s->data, i).weight;
        assert_int_equal(labels[i], c);
        efface_data_values(s->data, i, row);
        counts[c] += weight;
        for (uint32_t j = 0; j < s->d; j++)
            sums[(size_t)c * s->d + j] += weight * (int64_t)row[j];
    }
    assert_memory_equal(s->counts, counts, s->k * sizeof *counts);
    assert_memory_equal(s->sums, sums, (size_t)s->k * s->d * sizeof *sums);
}

/* ---------------------------------------------------------------- making */

/* Margins by what a pass over all rows would find. */
static void make(scene *s) {
    uint32_t labels[MOST_ROWS];
    float *const margins = ef_alloc_aligned(MOST_ROWS + EF_PANEL, sizeof *margins);
    float *const panel = ef_alloc_aligned(EF_PANEL * MOST_COLUMNS, sizeof *panel);
    const ef_kernels *const kernels = ef_kernels_get();
    const size_t n = efface_data_n_rows(s->data);
    ef_centers centers;
    assert_true(ef_centers_init(&centers, s->centers, s->k, s->d, kernels->tile));
    for (size_t i = 0; i < n; i += EF_PANEL) {
        const float *const values = ef_data_panel(s->data, i / EF_PANEL);
        uint32_t found[EF_PANEL];
        const unsigned rows = n - i < EF_PANEL ? (unsigned)(n - i) : EF_PANEL;
        (void)kernels->nearest(&centers, &s->map, values, rows, values, panel, found, margins + i);
        memcpy(labels + i, found, rows * sizeof *found);
    }
    ef_centers_free(&centers);
    const ef_level level = {.centers = s->centers};
    assert_true(
        ef_level_margins_make(&s->kept, s->data, &s->map, &level, s->k, labels, margins, 2.0));
    memset(s->counts, 0, sizeof s->counts);
    memset(s->sums, 0, sizeof s->sums);
    for (size_t i = 0; i < n; i++) {
        const int64_t weight = ef_data_weight(s->data, i);
        s->counts[labels[i]] += weight;
        kernels->move_row(&s->map, ef_data_first(s->data, i), weight,
                          s->sums + (size_t)labels[i] * s->d, NULL);
    }
    free(margins);
    free(panel);
}

static void begin(scene *s, uint32_t n, uint32_t d, uint32_t k, int32_t range) {
    float values[MOST_ROWS * MOST_COLUMNS];
    int64_t weights[MOST_ROWS];
    *s = (scene){.d = d, .k = k, .range = range, .next_id = n};
    s->map = (ef_map){.n_columns = d, .low = s->low, .step = s->step};
    for (uint32_t j = 0; j < d; j++)
        s->step[j] = 1.0F;
    draw_values(s, n, values);
    for (uint32_t i = 0; i < n; i++)
        weights[i] = 1 + below(3);
    const efface_rows rows = {.n_rows = n, .values = values, .weights = weights};
    assert_int_equal(efface_data_create(d, &s->data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(s->data, &rows, NULL), EFFACE_OK);
    for (uint32_t i = 0; i < k * d; i++)
        s->centers[i] = (int32_t)below((uint32_t)range);
    make(s);
    check(s);
}

static void end(scene *s) {
    ef_level_margins_free(&s->kept);
    efface_data_free(s->data);
}

/* ---------------------------------------------------------------- changing */

/* Lets margins follow a change, and takes the rows that left out of counts and sums. */
static void follow(scene *s, const ef_change *change, bool known) {
    uint32_t labels[MOST_ROWS];
    for (size_t i = 0; i < change->n_rows; i++)
        labels[i] = !change->leaves[i] && known ? nearest(s, change->positions[i]) : EF_NO_CLUSTER;
    assert_true(ef_level_margins_follow(&s->kept, change, labels));
    for (size_t i = 0; i < change->n_rows; i++) {
        if (!change->leaves[i] && !known)
            continue;
        const int64_t weight = ef_change_weight(change, i);
        s->counts[labels[i]] += weight;
        ef_kernels_get()->move_row(&s->map, ef_change_first(change, i), weight,
                                   s->sums + (size_t)labels[i] * s->d, NULL);
    }
}

static void change_rows(scene *s) {
    ef_change change;
    uint64_t ids[4];
    int64_t weights[4];
    float values[4 * MOST_COLUMNS];
    const size_t n = efface_data_n_rows(s->data), n_rows = 1 + below(4);
    const uint32_t kind = below(3);
    const bool known = below(2) == 0;
    assert_true(ef_change_init(&change, s->d, 2 * n_rows));
    draw_values(s, n_rows, values);
    for (size_t i = 0; i < n_rows; i++) {
        weights[i] = 1 + below(3);
        ids[i] = kind == 1 ? s->next_id++ : efface_data_row(s->data, (below(40) + 50 * i) % n).id;
    }
    const efface_rows rows = {.n_rows = n_rows, .values = values, .ids = ids, .weights = weights};
    if (kind == 0 && n > 300)
        assert_int_equal(ef_change_forget(&change, s->data, ids, n_rows, NULL), EFFACE_OK);
    else if (kind == 1 && n + n_rows <= MOST_ROWS)
        assert_int_equal(ef_change_learn(&change, s->data, &rows, NULL), EFFACE_OK);
    else if (kind == 2)
        assert_int_equal(ef_change_update(&change, s->data, &rows, NULL), EFFACE_OK);
    follow(s, &change, known);
    ef_change_free(&change);
}

/* Brings the centers to where they are now. */
static void move_to(scene *s, const int32_t *after) {
    ef_center_move move;
    assert_true(ef_center_move_init(&move, s->data, &s->map, ef_kernels_get(), s->k));
    move.before = s->centers;
    move.after = after;
    move.counts = s->counts;
    move.sums = s->sums;
    const bool few = ef_level_margins_move(&s->kept, &move);
    s->n_looked += few ? move.work.rows_assigned : efface_data_n_rows(s->data);
    ef_center_move_free(&move);
    memcpy(s->centers, after, s->k * s->d * sizeof *after);
    if (!few) {
        s->n_remade++;
        make(s);
    }
}

static void move_centers(scene *s, int32_t most) {
    int32_t after[MOST_CLUSTERS * MOST_COLUMNS];
    for (uint32_t i = 0; i < s->k * s->d; i++)
        after[i] = s->centers[i] + (int32_t)below((uint32_t)(2 * most + 1)) - most;
    move_to(s, after);
}

/* ---------------------------------------------------------------- tests */

static void partitions_are_exact(void **context) {
    (void)context;
    for (uint32_t round = 0; round < 60; round++) {
        scene s;
        state = 1000 + round;
        const uint32_t k = 1 + below(MOST_CLUSTERS), d = 1 + below(MOST_COLUMNS);
        /* A range of 4 has many ties and rows at the same place. */
        static const int32_t ranges[] = {4, 100000, EF_GRID_MAX};
        const int32_t range = ranges[round % 3], step = range / 50000;
        begin(&s, 301 + below(200), d, k, range);
        for (int i = 0; i < 60; i++) {
            if (below(2) == 0)
                change_rows(&s);
            const int32_t far = below(10) == 0 ? 15000 * step : (int32_t)below(100) * step;
            move_centers(&s, step == 0 ? (int32_t)below(2) : far);
            check(&s);
        }
        end(&s);
    }
}

/* Steps in one direction, so that what gaps and tiers are measured from is left behind, and back
 * again, to its other side. */
static void centers_may_go_far(void **context) {
    (void)context;
    for (uint32_t round = 0; round < 8; round++) {
        scene s;
        int32_t after[MOST_CLUSTERS * MOST_COLUMNS], way[MOST_CLUSTERS * MOST_COLUMNS];
        state = 50 + round;
        begin(&s, MOST_ROWS, 2 + 6 * (round % 3), 2 + round % 4, EF_GRID_MAX);
        for (uint32_t i = 0; i < s.k * s.d; i++)
            way[i] = (int32_t)below(3001) - 1500;
        const int turn = round % 2 == 0 ? 400 : 3 + (int)below(20);
        for (int step = 0; step < 400; step++) {
            for (uint32_t i = 0; i < s.k * s.d; i++)
                after[i] =
                    s.centers[i] + way[i] * (int32_t)below(3) * (step / turn % 2 == 0 ? 1 : -1);
            move_to(&s, after);
            check(&s);
        }
        end(&s);
    }
}

/* On a line, where a margin is used up by exactly what centers move: to one side of where a tier is
 * measured from, where rows come into it, and then to the other. */
static void centers_may_come_back(void **context) {
    (void)context;
    for (uint32_t round = 0; round < 40; round++) {
        scene s;
        state = 900 + round;
        begin(&s, MOST_ROWS, 1, 2, EF_GRID_MAX);
        const int32_t step = 200 + (int32_t)below(20000);
        const int swing = 1 + (int)below(40);
        for (int i = 0; i < 300; i++) {
            const int32_t way = i / swing % 2 == 0 ? step : -step;
            move_to(&s, (int32_t[]){s.centers[0] + way, s.centers[1] + way});
            check(&s);
        }
        end(&s);
    }
}

static void small_moves_look_at_few_rows(void **context) {
    (void)context;
    scene s;
    state = 7;
    begin(&s, MOST_ROWS, 5, 4, 100000);
    for (int i = 0; i < 400; i++)
        move_centers(&s, 20);
    check(&s);
    assert_int_equal(s.n_remade, 0);
    assert_in_range(s.n_looked, 1, 400 * MOST_ROWS / 20);
    end(&s);
}

static void centers_that_stay_need_no_look(void **context) {
    (void)context;
    scene s;
    state = 9;
    begin(&s, 400, 3, 4, 1000);
    move_centers(&s, 0); /* rows near borders are looked at once */
    const uint64_t n_looked = s.n_looked;
    for (int i = 0; i < 10; i++)
        move_centers(&s, 0);
    assert_int_equal(s.n_looked, n_looked);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_are_exact),
        cmocka_unit_test(centers_may_go_far),
        cmocka_unit_test(centers_may_come_back),
        cmocka_unit_test(small_moves_look_at_few_rows),
        cmocka_unit_test(centers_that_stay_need_no_look),
    };
    return cmocka_run_group_tests_name("margins of levels", tests, NULL, NULL);
}
