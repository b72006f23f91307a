/*
 * Margins of rows from level to level: every partition is that of plain integers whatever centers
 * do, and where they move little, few rows are looked at. The rows that matter are those whose
 * margin is used up to the last: on a line, where centers that move together move a border by as
 * much as margins allow.
 */
#include "model/kmeans/definition/row_margins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/memory.h"
#include "model/kmeans/definition/levels.h"

#include <string.h>

#define CLUSTERS 32
#define MOST_COLUMNS 8
#define MOST_LEVELS 40
#define BEFORE 6 /* levels until margins have been measured */
#define MOST_VALUES (CLUSTERS * MOST_COLUMNS)

static uint64_t state;

static uint32_t below(uint32_t limit) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % limit;
}

/* A set on a grid of step 1, and the levels that it went through. */
typedef struct scene {
    efface_data *data;
    ef_map map;
    float low[MOST_COLUMNS], step[MOST_COLUMNS];
    ef_workspace space;
    ef_row_margins kept;
    ef_level levels[MOST_LEVELS];
    uint32_t n_levels;
    uint32_t *labels;
} scene;

static void begin(scene *s, size_t n, uint32_t d, const float *values, unsigned n_threads) {
    *s = (scene){.map = {.n_columns = d, .low = s->low, .step = s->step}};
    for (uint32_t j = 0; j < d; j++)
        s->step[j] = 1.0F;
    int64_t *const weights = test_malloc(n * sizeof *weights);
    for (size_t i = 0; i < n; i++)
        weights[i] = 1 + (int64_t)(i % 3);
    const efface_rows rows = {.n_rows = n, .values = values, .weights = weights};
    assert_int_equal(efface_data_create(d, &s->data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(s->data, &rows, NULL), EFFACE_OK);
    test_free(weights);
    const ef_kmeans_plan plan = {.n_clusters = CLUSTERS, .n_threads = n_threads};
    assert_int_equal(ef_workspace_init(&s->space, s->data, &s->map, &plan, NULL), EFFACE_OK);
    s->labels = test_malloc(n * sizeof *s->labels);
}

static void end(scene *s) {
    for (uint32_t t = 0; t < s->n_levels; t++) {
        test_free(s->levels[t].centers);
        test_free(s->levels[t].counts);
        test_free(s->levels[t].sums);
    }
    test_free(s->labels);
    ef_row_margins_free(&s->kept);
    ef_workspace_free(&s->space);
    efface_data_free(s->data);
}

/* ---------------------------------------------------------------- what must hold */

static uint32_t nearest(const scene *s, const int32_t *centers, const int32_t *point) {
    const uint32_t d = s->map.n_columns;
    uint32_t best = 0;
    for (uint32_t c = 1; c < CLUSTERS; c++)
        if (ef_grid_sqdist(point, centers + (size_t)c * d, d) <
            ef_grid_sqdist(point, centers + (size_t)best * d, d))
            best = c;
    return best;
}

/* The partition of the last level is that of plain integers. */
static void check(const scene *s) {
    const ef_level *const level = &s->levels[s->n_levels - 1];
    const uint32_t d = s->map.n_columns;
    int64_t counts[CLUSTERS] = {0}, sums[MOST_VALUES] = {0};
    for (size_t i = 0; i < s->data->n_rows; i++) {
        int32_t point[MOST_COLUMNS];
        for (uint32_t j = 0; j < d; j++)
            point[j] = (int32_t)ef_data_value(s->data, i, j);
        const uint32_t c = nearest(s, level->centers, point);
        assert_int_equal(s->labels[i], c);
        counts[c] += ef_data_weight(s->data, i);
        for (uint32_t j = 0; j < d; j++)
            sums[c * d + j] += ef_data_weight(s->data, i) * point[j];
    }
    assert_memory_equal(level->counts, counts, sizeof counts);
    assert_memory_equal(level->sums, sums, (size_t)CLUSTERS * d * sizeof *sums);
}

/* Goes on to a level with these centers; returns how many rows that took a look at. */
static uint64_t go_to(scene *s, const int32_t *centers) {
    const size_t n_values = (size_t)CLUSTERS * s->map.n_columns;
    const uint32_t t = s->n_levels++;
    ef_level *const level = &s->levels[t];
    assert_in_range(t, 0, MOST_LEVELS - 1);
    level->centers = test_malloc(n_values * sizeof *level->centers);
    level->counts = test_calloc(CLUSTERS, sizeof *level->counts);
    level->sums = test_calloc(n_values, sizeof *level->sums);
    memcpy(level->centers, centers, n_values * sizeof *centers);
    s->space.rows_assigned = 0;
    const efface_status status =
        t == 0 ? ef_partition(&s->space, level, NULL, s->labels, NULL, NULL, NULL)
               : ef_partition_by_margins(&s->space, level, level - 1, s->labels, &s->kept, NULL);
    assert_int_equal(status, EFFACE_OK);
    check(s);
    return s->space.rows_assigned;
}

/* ---------------------------------------------------------------- on a line */

#define APART 32768 /* from center to center */
#define NEAR 512    /* rows are no farther from a border in the beginning */

/* Rows near the borders of 32 centers on a line, which move along it together: hundreds of
 * rows have margins that just do, or just do not. A margin that is a tenth too large, measured or
 * carried over from an anchor to another, takes rows for safe that are not. */
static void margins_may_be_used_up_to_the_last(void **context) {
    (void)context;
    static const int32_t slopes[][3] = {{1, 0, 0}, {3, 4, 0}, {1, 2, 2}};
    for (uint32_t round = 0; round < 24; round++) {
        const int32_t *const slope = slopes[round % 3];
        const uint32_t d = 1 + round % 3;
        const size_t n = (size_t)(CLUSTERS - 1) * NEAR;
        scene s;
        int32_t centers[MOST_VALUES];
        state = 300 + round;
        float *const values = test_malloc(n * d * sizeof *values);
        for (size_t i = 0; i < n; i++) {
            const size_t border = 1 + i / NEAR;
            const int32_t off = 2 * (int32_t)(i % NEAR) - NEAR + (int32_t)below(2);
            for (uint32_t j = 0; j < d; j++)
                values[i * d + j] = (float)(slope[j] * ((int32_t)border * APART + off));
        }
        begin(&s, n, d, values, 1 + round % 2);
        test_free(values);
        int32_t at = 0;
        uint64_t n_looked = 0;
        const int32_t step = 10 + (int32_t)below(60);
        const int turn = 1 + (int)below(30);
        for (int t = 0; t < MOST_LEVELS; t++) {
            for (uint32_t i = 0; i < CLUSTERS * d; i++)
                centers[i] = slope[i % d] * ((int32_t)(i / d) * APART + APART / 2 + at);
            const uint64_t looked = go_to(&s, centers);
            n_looked += t < BEFORE ? 0 : looked;
            at += t / turn % 2 == 0 ? step : -step;
        }
        /* They do spare rows, or this would show nothing. */
        assert_in_range(n_looked, 1, (MOST_LEVELS - BEFORE) * n / 2);
        end(&s);
    }
}

/* ---------------------------------------------------------------- anywhere */

static void draw_centers(const scene *s, uint32_t range, int32_t *centers) {
    for (uint32_t i = 0; i < CLUSTERS * s->map.n_columns; i++)
        centers[i] = (int32_t)below(range);
}

/* Ties, rows and centers at the same place, centers that jump, few rows. */
static void partitions_are_exact(void **context) {
    (void)context;
    static const uint32_t ranges[] = {4, 1000, EF_GRID_MAX};
    for (uint32_t round = 0; round < 48; round++) {
        scene s;
        int32_t centers[MOST_VALUES];
        state = 4000 + round;
        const uint32_t d = 1 + below(MOST_COLUMNS), range = ranges[round % 3];
        const size_t n = 1 + below(round % 4 == 0 ? 40 : 1500);
        float *const values = test_malloc(n * d * sizeof *values);
        for (size_t i = 0; i < n * d; i++)
            values[i] = (float)below(range);
        begin(&s, n, d, values, 1 + round % 3);
        test_free(values);
        draw_centers(&s, range, centers);
        for (int t = 0; t < MOST_LEVELS; t++) {
            (void)go_to(&s, centers);
            const uint32_t far = below(12) == 0 ? range : 1 + range / 300;
            for (uint32_t c = 0; c < CLUSTERS; c++)
                for (uint32_t j = 0; j < d && below(3) != 0; j++) {
                    const int32_t x = centers[c * d + j] + (int32_t)below(2 * far) - (int32_t)far;
                    centers[c * d + j] = x < 0 ? 0 : x < EF_GRID_MAX ? x : EF_GRID_MAX;
                }
        }
        end(&s);
    }
}

static void centers_that_stay_need_no_look(void **context) {
    (void)context;
    scene s;
    int32_t centers[MOST_VALUES];
    float values[4000];
    state = 11;
    for (size_t i = 0; i < 4000; i++)
        values[i] = (float)below(100000);
    begin(&s, 1000, 4, values, 1);
    draw_centers(&s, 100000, centers);
    for (int t = 0; t < MOST_LEVELS; t++)
        assert_int_equal(go_to(&s, centers), t < BEFORE ? 1000 : 0);
    end(&s);
}

/* Where centers jump about, passes go on without margins, and measure them less and less often. */
static void margins_of_no_use_are_dropped(void **context) {
    (void)context;
    scene s;
    int32_t centers[MOST_VALUES];
    float values[4000];
    state = 12;
    for (size_t i = 0; i < 4000; i++)
        values[i] = (float)below(100000);
    begin(&s, 1000, 4, values, 1);
    uint32_t n_measured = 0;
    for (int t = 0; t < MOST_LEVELS; t++) {
        draw_centers(&s, 100000, centers);
        assert_int_equal(go_to(&s, centers), 1000);
        n_measured += t != 0 && s.kept.n_anchors != 0;
    }
    assert_in_range(n_measured, 3, 6);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margins_may_be_used_up_to_the_last),
        cmocka_unit_test(partitions_are_exact),
        cmocka_unit_test(centers_that_stay_need_no_look),
        cmocka_unit_test(margins_of_no_use_are_dropped),
    };
    return cmocka_run_group_tests_name("margins of rows", tests, NULL, NULL);
}
