/*
 * Seeding where float distances are as wrong as they can be: every addition is rounded the same way,
 * so a bound on their error that is a tenth too small changes a key or a potential. What the races
 * come to is computed again by integers.
 */
#include "base/random/tape.h"
#include "model/kmeans/definition/levels.h"
#include "model/report_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_COLUMNS 2000
#define MOST_ROWS 18
#define MOST_SLOTS 2
#define LARGE (1 << 22) /* its square is 2^44, and half a step of floats from there on 1024^2 */

typedef struct scene {
    int32_t points[MOST_ROWS][N_COLUMNS];
    size_t n_rows;
    efface_data *data;
} scene;

/* Two large coordinates, one for each sum of the kernel, then n_small pairs of small ones. */
static void make_point(int32_t *point, int32_t large, int32_t small, size_t n_small) {
    for (size_t j = 0; j < N_COLUMNS; j++)
        point[j] = j < 2 ? large : j < 2 + 2 * n_small ? small : 0;
}

/* Whole numbers, which with the bound 2^23 are their own grid points. */
static void make_data(scene *s) {
    static float values[MOST_ROWS * N_COLUMNS];
    for (size_t i = 0; i < s->n_rows * N_COLUMNS; i++)
        values[i] = (float)s->points[i / N_COLUMNS][i % N_COLUMNS];
    const efface_rows rows = {.n_rows = s->n_rows, .values = values};
    assert_int_equal(efface_data_create(N_COLUMNS, &s->data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(s->data, &rows, NULL), EFFACE_OK);
}

static efface_model *fit(const scene *s, uint32_t k, uint32_t candidates, uint64_t seed) {
    efface_kmeans_params p;
    efface_model *model = NULL;
    efface_kmeans_params_init(&p);
    p.method = EFFACE_METHOD_LLOYD;
    p.n_clusters = k;
    p.candidates = candidates;
    p.common.seed = seed;
    p.bound = 0x1p23;
    p.iterations = 1;
    assert_int_equal(efface_kmeans_fit(s->data, &p, &model, NULL), EFFACE_OK);
    return model;
}

static int64_t apart(const scene *s, size_t a, size_t b) {
    return ef_grid_sqdist(s->points[a], s->points[b], N_COLUMNS);
}

/* Who wins a slot of a round, given the distances to the seeds before. */
static ef_winner winner_of(const scene *s, const int64_t *u, uint64_t seed, uint32_t slot,
                           uint32_t round) {
    ef_winner best = {UINT64_MAX, INFINITY};
    for (size_t i = 0; i < s->n_rows; i++) {
        const uint64_t bits = ef_tape(seed, EF_TAPE_SEED, slot, i, round);
        const double key = u[i] != 0 ? ef_race_key(bits, 1, u[i]) : INFINITY;
        best = key < best.key ? (ef_winner){i, key} : best;
    }
    return best;
}

static ef_i128 potential_of(const scene *s, const int64_t *u, size_t candidate) {
    ef_i128 sum = 0;
    for (size_t i = 0; i < s->n_rows; i++)
        sum += apart(s, i, candidate) < u[i] ? apart(s, i, candidate) : u[i];
    return sum;
}

static void check_winner(const ef_winner *got, ef_winner wanted) {
    assert_true(got->id == wanted.id);
    assert_memory_equal(&got->key, &wanted.key, sizeof wanted.key);
}

/* The races of a fit, by integers. */
static void check_races(const scene *s, const efface_model *model, uint64_t seed) {
    const ef_kmeans *const found = inside(model);
    const uint32_t c = found->plan.candidates;
    int64_t u[MOST_ROWS];
    for (size_t i = 0; i < s->n_rows; i++)
        u[i] = 1;
    for (uint32_t l = 0; l < found->plan.n_clusters; l++) {
        const size_t chosen = (size_t)found->seeds[l].id;
        if (l == 0 || c == 1)
            check_winner(&found->seeds[l], winner_of(s, u, seed, 0, l));
        for (uint32_t slot = 0; slot < c && l != 0 && c != 1; slot++) {
            const ef_winner *const tried = &found->rounds.winners[(l - 1) * c + slot];
            check_winner(tried, winner_of(s, u, seed, slot, l));
            assert_true(found->rounds.potentials[(l - 1) * c + slot] ==
                        potential_of(s, u, (size_t)tried->id));
        }
        for (size_t i = 0; i < s->n_rows; i++)
            u[i] = l == 0 || apart(s, i, chosen) < u[i] ? apart(s, i, chosen) : u[i];
    }
}

/* Row 0 is nearer to row 1 than to row 2, by a part of 10^9; floats say that row 2 is nearer, and
 * would have the bound say so too if it were smaller. */
static void the_nearest_seed_is_not_missed(void **state) {
    (void)state;
    static scene s = {.n_rows = 3};
    unsigned n_met = 0;
    make_point(s.points[0], 0, 0, 0);
    make_point(s.points[1], LARGE, 1025, 997);
    make_point(s.points[2], -LARGE, 1024, 999);
    make_data(&s);
    assert_true(apart(&s, 0, 1) < apart(&s, 0, 2));
    for (uint64_t seed = 0; seed < 20; seed++) {
        efface_model *const model = fit(&s, 3, 1, seed);
        check_races(&s, model, seed);
        n_met += inside(model)->seeds[2].id == 0;
        efface_model_free(model);
    }
    assert_true(n_met >= 3);
    efface_data_free(s.data);
}

/* A panel of rows that are just nearer to row 17 than to row 16; floats say that these two are as
 * far from each other as they could be at most. */
static void no_gain_is_missed(void **state) {
    (void)state;
    static scene s = {.n_rows = 18};
    unsigned n_met = 0;
    for (size_t i = 0; i < EF_PANEL; i++) {
        make_point(s.points[i], LARGE, 1025, 997);
        s.points[i][0]++;
    }
    make_point(s.points[16], 0, 0, 0);
    make_point(s.points[17], 2 * LARGE, 2 * 1025, 997);
    make_data(&s);
    assert_true(apart(&s, 0, 17) < apart(&s, 0, 16));
    for (uint64_t seed = 0; seed < 200; seed++) {
        efface_model *const model = fit(&s, 2, MOST_SLOTS, seed);
        const ef_winner *const tried = inside(model)->rounds.winners;
        check_races(&s, model, seed);
        n_met += inside(model)->seeds[0].id == 16 && (tried[0].id == 17 || tried[1].id == 17);
        efface_model_free(model);
    }
    assert_true(n_met >= 3);
    efface_data_free(s.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_seed_is_not_missed),
        cmocka_unit_test(no_gain_is_missed),
    };
    return cmocka_run_group_tests_name("seed bounds", tests, NULL, NULL);
}
