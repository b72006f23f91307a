/*
 * Greedy seeding seen from inside: how many candidates there are, what the state keeps of them and
 * what not, and how parameters that know of them are kept in a store. That the seeds are the right
 * ones is the business of tests/exact.
 */
#include "model/kmeans/definition/levels.h"
#include "model/report_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ROWS 200
#define N_COLUMNS 3

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Whole numbers, which with the bound 2^23 are their own grid points; none is there twice. */
static efface_data *make_data(void) {
    static float values[N_ROWS * N_COLUMNS];
    efface_data *data = NULL;
    for (size_t i = 0; i < N_ROWS; i++)
        for (size_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] =
                (float)(mix(i % 5 * 10 + j) % 1000000 * 4 + mix(i * 16 + j + 1000) % 1000000);
    const efface_rows rows = {.n_rows = N_ROWS, .values = values};
    assert_int_equal(efface_data_create(N_COLUMNS, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

static efface_kmeans_params params_of(efface_method method, uint32_t candidates) {
    efface_kmeans_params p;
    efface_kmeans_params_init(&p);
    p.method = method;
    p.n_clusters = 6;
    p.candidates = candidates;
    p.common.seed = 20191105;
    p.bound = 0x1p23;
    p.iterations = 3;
    p.pyramid.rate = 0.5;
    return p;
}

static efface_model *fit(const efface_data *data, const efface_kmeans_params *params) {
    efface_model *model = NULL;
    assert_int_equal(efface_kmeans_fit(data, params, &model, NULL), EFFACE_OK);
    return model;
}

/* ---------------------------------------------------------------- how many */

/* The table against the logarithm, on both sides of every step. */
static void their_number_is_two_and_a_logarithm(void **state) {
    (void)state;
    assert_int_equal(ef_count_candidates(0, 0), 2);
    assert_int_equal(ef_count_candidates(0, 1), 2);
    for (int m = 1; exp(m) < EFFACE_MAX_CLUSTERS; m++) {
        const uint32_t first = (uint32_t)ceil(exp(m));
        assert_int_equal(ef_count_candidates(0, first - 1), 1 + m);
        assert_int_equal(ef_count_candidates(0, first), 2 + m);
    }
    assert_int_equal(ef_count_candidates(0, EFFACE_MAX_CLUSTERS), 18);
    assert_int_equal(ef_count_candidates(1, 1000), 1);
    assert_int_equal(ef_count_candidates(64, 2), 64);
}

static void too_many_are_refused(void **state) {
    (void)state;
    efface_data *const data = make_data();
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 65);
    efface_model *model = NULL;
    efface_error error;
    assert_int_equal(efface_kmeans_fit(data, &params, &model, &error), EFFACE_E_ARGUMENT);
    assert_non_null(strstr(error.message, "candidates must be 1 to 64"));
    params.candidates = 64;
    model = fit(data, &params);
    assert_int_equal(efface_kmeans_get_params(model).candidates, 64);
    assert_int_equal(inside(model)->rounds.n_rounds, 5);
    efface_model_free(model);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- what is kept */

/* One candidate is plain seeding; the paper's trees and pyramids keep none of theirs. */
static void only_greedy_models_keep_candidates(void **state) {
    (void)state;
    efface_data *const data = make_data();
    for (efface_method method = EFFACE_METHOD_LLOYD; method <= EFFACE_METHOD_TREE; method++)
        for (uint32_t candidates = 1; candidates < 4; candidates++) {
            const efface_kmeans_params params = params_of(method, candidates);
            efface_model *const model = fit(data, &params);
            const bool keeps = candidates > 1 && method < EFFACE_METHOD_PYRAMID;
            assert_int_equal(inside(model)->rounds.n_rounds, keeps ? 5 : 0);
            assert_true((inside(model)->rounds.potentials != NULL) == keeps);
            efface_model_free(model);
        }
    efface_data_free(data);
}

typedef struct encoding {
    unsigned char *bytes;
    size_t n_bytes;
} encoding;

static encoding encode(const efface_model *model) {
    encoding e = {NULL, 0};
    assert_int_equal(efface_model_encode(model, &e.bytes, &e.n_bytes, NULL), EFFACE_OK);
    return e;
}

/* Whether the grid point of a row, or its id with its key, is anywhere in the bytes. */
static bool has_point(const encoding *e, const int32_t *point) {
    for (size_t at = 0; at + N_COLUMNS * sizeof *point <= e->n_bytes; at++)
        if (memcmp(e->bytes + at, point, N_COLUMNS * sizeof *point) == 0)
            return true;
    return false;
}

static bool has_winner(const encoding *e, const ef_winner *winner) {
    for (size_t at = 0; at + sizeof *winner <= e->n_bytes; at++)
        if (memcmp(e->bytes + at, winner, sizeof *winner) == 0)
            return true;
    return false;
}

static bool is_chosen(const efface_model *model, uint64_t id) {
    for (uint32_t l = 0; l < inside(model)->plan.n_clusters; l++)
        if (inside(model)->seeds[l].id == id)
            return true;
    return false;
}

/* Every row that was tried and lost is in the state by its grid point, and leaves it when it is
 * forgotten. */
static void losers_leave_the_state(void **state) {
    (void)state;
    unsigned n_losers = 0;
    for (efface_method method = EFFACE_METHOD_LLOYD; method < EFFACE_METHOD_PYRAMID; method++)
        for (size_t i = 0; i < 5 * 4; i++) {
            efface_data *const data = make_data();
            const efface_kmeans_params params = params_of(method, 4);
            efface_model *const model = fit(data, &params);
            const ef_winner loser = inside(model)->rounds.winners[i];
            int32_t point[N_COLUMNS];
            memcpy(point, inside(model)->rounds.points + i * N_COLUMNS, sizeof point);
            encoding before = encode(model);
            assert_true(has_point(&before, point) && has_winner(&before, &loser));
            assert_int_equal(efface_kmeans_is_seed(model, loser.id), 1);
            n_losers += !is_chosen(model, loser.id);
            assert_int_equal(efface_model_forget(model, data,
                                                 &(efface_request){.ids = &loser.id, .n_ids = 1},
                                                 NULL, NULL),
                             EFFACE_OK);
            encoding after = encode(model);
            assert_false(has_point(&after, point));
            assert_false(has_winner(&after, &loser));
            assert_int_equal(efface_kmeans_is_seed(model, loser.id), 0);
            efface_bytes_free(before.bytes);
            efface_bytes_free(after.bytes);
            efface_model_free(model);
            efface_data_free(data);
        }
    assert_true(n_losers >= 10);
}

/* A row that was not tried changes potentials and nothing else, until another candidate of a round
 * has the smallest: then that is the seed. Both happen, and neither is left out of the bytes. */
static void potentials_follow(void **state) {
    (void)state;
    unsigned n_followed = 0, n_moved = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        efface_data *const data = make_data();
        efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 3);
        params.common.seed = seed;
        efface_model *const model = fit(data, &params);
        for (uint64_t id = 0; id < N_ROWS - 20; id++) {
            if (efface_kmeans_is_seed(model, id) != 0)
                continue;
            const ef_i128 potential = inside(model)->rounds.potentials[0];
            ef_winner winners[15];
            memcpy(winners, inside(model)->rounds.winners, 3 * sizeof *winners);
            efface_report report;
            efface_difference difference;
            assert_int_equal(efface_model_forget(model, data,
                                                 &(efface_request){.ids = &id, .n_ids = 1}, &report,
                                                 NULL),
                             EFFACE_OK);
            assert_true(inside(model)->rounds.potentials[0] < potential);
            assert_memory_equal(inside(model)->rounds.winners, winners, 3 * sizeof *winners);
            n_moved += is_because(&report, EF_REASON_SEED);
            n_followed += !is_because(&report, EF_REASON_SEED);
            if (!is_because(&report, EF_REASON_SEED) && id % 16 != 0)
                continue;
            assert_int_equal(efface_model_verify(model, data, &difference, NULL), EFFACE_OK);
            assert_true(difference.identical);
        }
        efface_model_free(model);
        efface_data_free(data);
    }
    assert_true(n_followed > 1000 && n_moved > 5);
}

/* ---------------------------------------------------------------- bytes that are wrong */

/* The seeds are the best of their rounds, in so many rounds; anything else is no state. */
static void wrong_rounds_are_refused(void **state) {
    (void)state;
    efface_data *const data = make_data();
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 3);
    for (int way = 0; way < 6; way++) {
        efface_model *const model = fit(data, &params);
        efface_model *decoded = NULL;
        const uint32_t best = ef_best_slot(inside(model)->rounds.potentials, 3);
        switch (way) {
        case 0: break;
        case 1:
            inside(model)->rounds.potentials[(best + 1) % 3] =
                inside(model)->rounds.potentials[best] - 1;
            break;
        case 2: inside(model)->rounds.potentials[best] = -1; break;
        case 3: inside(model)->rounds.n_rounds--; break;
        case 4: inside(model)->rounds.winners[best].id++; break;
        default: inside(model)->rounds.points[best * N_COLUMNS]++; break;
        }
        encoding e = encode(model);
        assert_int_equal(
            efface_model_decode(e.bytes, e.n_bytes, &params.common, data, &decoded, NULL),
            way == 0 ? EFFACE_OK : EFFACE_E_FORMAT);
        efface_model_free(decoded);
        efface_bytes_free(e.bytes);
        efface_model_free(model);
    }
    efface_data_free(data);
}

/* ---------------------------------------------------------------- parameters in a store */

static efface_status read_record(const unsigned char *bytes, size_t n, uint32_t *candidates) {
    efface_params *params = NULL;
    ef_decoder reader = {.bytes = bytes, .n_bytes = n};
    efface_status status = ef_params_read(&reader, N_COLUMNS, &params, NULL);
    if (status == EFFACE_OK)
        status = ef_kmeans_family.check_params(params, NULL);
    if (status == EFFACE_OK)
        *candidates = ((const efface_kmeans_params *)(const void *)params)->candidates;
    free(params);
    return status;
}

static void records_of_another_version_are_refused(void **state) {
    (void)state;
    const efface_kmeans_params params = params_of(EFFACE_METHOD_QUANTIZED, 5);
    uint32_t candidates = 99;
    ef_writer w = {0};
    ef_params_write(&w, &params.common, N_COLUMNS);
    assert_false(w.failed);
    assert_int_equal(w.bytes[0], 2);
    assert_int_equal(read_record(w.bytes, w.n_bytes, &candidates), EFFACE_OK);
    assert_int_equal(candidates, 5);
    const size_t at = w.n_bytes - 12; /* before the numbers of depths and of bounds, both 0 */
    assert_int_equal(w.bytes[at], 5);
    w.bytes[at] = 65;
    assert_int_equal(read_record(w.bytes, w.n_bytes, &candidates), EFFACE_E_ARGUMENT);
    assert_int_equal(read_record(w.bytes, w.n_bytes - 4, &candidates), EFFACE_E_FORMAT);
    w.bytes[at] = 5;
    for (unsigned version = 0; version < 256; version++) {
        w.bytes[0] = (unsigned char)version;
        assert_int_equal(read_record(w.bytes, w.n_bytes, &candidates),
                         version == 2 ? EFFACE_OK : EFFACE_E_FORMAT);
    }
    w.bytes[0] = 2;
    w.bytes[56] = 1; /* what must be 0, after gamma */
    assert_int_equal(read_record(w.bytes, w.n_bytes, &candidates), EFFACE_E_FORMAT);
    free(w.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(their_number_is_two_and_a_logarithm),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(only_greedy_models_keep_candidates),
        cmocka_unit_test(losers_leave_the_state),
        cmocka_unit_test(potentials_follow),
        cmocka_unit_test(wrong_rounds_are_refused),
        cmocka_unit_test(records_of_another_version_are_refused),
    };
    return cmocka_run_group_tests_name("greedy", tests, NULL, NULL);
}
