/*
 * Sets with more rows than positions of 32 bits can number: what a model keeps to be quicker steps
 * aside, no request fails for it, and the state has the same bytes. So it is if all of that is
 * dropped between requests. Such a set does not fit into a test, so the limit is lowered to where a
 * set of a few hundred rows grows beyond it and comes back.
 */
#define MOST_ROWS 512
#define MOST_COLUMNS 3
#include "model/change_scene.h"

#include "model/kmeans/definition/levels.h"
#include "model/report_scene.h"

#define FIRST_ROWS 300
#define N_REQUESTS 240

static uint64_t random_state;

static uint64_t draw(uint64_t below) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % below;
}

/* Near three places that touch, so that rows change their clusters often. */
static void draw_row(float *values) {
    const uint64_t place = draw(3);
    for (uint32_t j = 0; j < MOST_COLUMNS; j++)
        values[j] = (float)(place * (j + 1) * 3) + (float)draw(1000) * 0.01F;
}

static const size_t no_limit = (size_t)UINT32_MAX - 1;

static int restore_limit(void **state) {
    (void)state;
    ef_most_short_positions = no_limit;
    return 0;
}

static void the_limit_leaves_a_number_for_none(void **state) {
    (void)state;
    assert_int_equal(ef_most_short_positions, no_limit);
    assert_true(ef_positions_are_short(0) && ef_positions_are_short(no_limit));
    assert_false(ef_positions_are_short((size_t)UINT32_MAX));
    assert_false(ef_positions_are_short(SIZE_MAX));
}

/* ---------------------------------------------------------------- what is kept */

typedef struct tally {
    size_t with, without; /* requests after which margins of levels were kept, and were not */
} tally;

/* Nothing that is kept has a position beyond the limit. */
static void check_positions(const pair *p, tally *seen) {
    const ef_kmeans *const m = inside(p->model);
    bool any = false;
    for (uint32_t t = 0; m->kept != NULL && t < m->kept->n_margins; t++) {
        any |= m->kept->margins[t].tiers != NULL;
        assert_true(m->kept->margins[t].n_rows <= ef_most_short_positions);
    }
    if (any)
        assert_true(p->data->n_rows <= ef_most_short_positions);
    seen->with += any;
    seen->without += !any;
}

/* ---------------------------------------------------------------- requests */

/* One row leaves or comes, now and then some, or gets other values; the set grows and shrinks. */
static void change(pair *p, uint64_t number) {
    uint64_t ids[6];
    float values[6 * MOST_COLUMNS];
    const size_t n = 1 + (draw(4) == 0 ? draw(6) : 0);
    const bool grows = number / 40 % 2 == 0;
    const uint64_t kind = draw(8); /* most requests go with the tide */
    efface_error error;
    efface_status status;
    for (size_t i = 0; i < n; i++) {
        draw_row(values + i * MOST_COLUMNS);
        const size_t there = efface_data_n_rows(p->data);
        ids[i] = ef_data_id(p->data, (draw(there / 8) + i * (there / 8)) % there);
    }
    const efface_rows fresh = {.n_rows = n, .values = values};
    const efface_rows other = {.n_rows = n, .values = values, .ids = ids};
    if (kind == 0)
        status = efface_model_update(p->model, p->data, &other, NULL, &error);
    else if (grows != (kind == 1))
        status = efface_model_learn(p->model, p->data, &fresh, NULL, &error);
    else
        status = efface_model_forget(p->model, p->data, &(efface_request){.ids = ids, .n_ids = n},
                                     NULL, &error);
    if (status != EFFACE_OK)
        fail_msg("request %u: %s", (unsigned)number, error.message);
}

static void copy_digest(const pair *p, unsigned char *digest) {
    assert_int_equal(efface_model_digest(p->model, digest, NULL), EFFACE_OK);
}

/* The same rows and requests with a limit, or with all that is kept dropped before some requests
 * (0: none); the digests after each go to, or are those in, `all`. */
static tally run(const efface_kmeans_params *params, size_t limit, uint64_t drop_every, bool first,
                 unsigned char (*all)[EFFACE_DIGEST_BYTES]) {
    static float values[FIRST_ROWS * MOST_COLUMNS];
    tally seen = {0};
    random_state = 11;
    for (size_t i = 0; i < FIRST_ROWS; i++)
        draw_row(values + i * MOST_COLUMNS);
    ef_most_short_positions = limit;
    pair p = make_pair(params, FIRST_ROWS, MOST_COLUMNS, values);
    for (uint64_t number = 0; number < N_REQUESTS; number++) {
        unsigned char digest[EFFACE_DIGEST_BYTES];
        if (drop_every != 0 && number % drop_every == 0)
            ef_kept_drop(inside(p.model));
        change(&p, number);
        copy_digest(&p, first ? all[number] : digest);
        if (!first)
            assert_memory_equal(digest, all[number], sizeof digest);
        check_positions(&p, &seen);
        if (number % 16 == 0)
            check_law(&p);
    }
    check_law(&p);
    free_pair(&p);
    ef_most_short_positions = no_limit;
    return seen;
}

static unsigned char digests[N_REQUESTS][EFFACE_DIGEST_BYTES];

static void lloyd_does_without_margins(void **state) {
    (void)state;
    const efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 4, 3);
    const tally all = run(&params, no_limit, 0, true, digests);
    const tally none = run(&params, 0, 0, false, digests);
    const tally some = run(&params, FIRST_ROWS + 20, 0, false, digests);
    const tally dropped = run(&params, no_limit, 24, false, digests);
    assert_true(all.with > N_REQUESTS / 2);
    assert_true(dropped.with > N_REQUESTS / 8 && dropped.without > all.without);
    assert_int_equal(none.with, 0);
    assert_true(some.with > N_REQUESTS / 8 && some.without > all.without + N_REQUESTS / 8);
}

static void pyramid_keeps_no_positions(void **state) {
    (void)state;
    efface_kmeans_params params = params_of(EFFACE_METHOD_PYRAMID, 4, 3);
    params.pyramid.rate = 0.125;
    params.pyramid.starts = 2;
    (void)run(&params, no_limit, 0, true, digests);
    (void)run(&params, 0, 0, false, digests);
    (void)run(&params, FIRST_ROWS + 20, 0, false, digests);
    (void)run(&params, no_limit, 3, false, digests);
}

/* A row comes to a set that has room for it within the limit, or none: the margins that are kept
 * follow, or go. On a coarse grid, where a row more often moves no center and no level is made
 * anew. */
static void margins_end_at_the_limit(void **state) {
    (void)state;
    size_t n_followed = 0, n_ended = 0;
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD, 4, 3);
    params.bound = 0x1p23;
    float values[100 * MOST_COLUMNS];
    random_state = 5;
    for (size_t i = 0; i < 100; i++)
        draw_row(values + i * MOST_COLUMNS);
    for (int round = 0; round < 200; round++) {
        const size_t room = (size_t)round % 2;
        pair p = make_pair(&params, 100, MOST_COLUMNS, values);
        ef_kept_get(inside(p.model))->was_rebuilt = true;
        tally before = {0}, after = {0};
        efface_report report;
        for (uint64_t id = 0; id < 40 && before.with == 0; id++) {
            assert_int_equal(efface_model_forget(p.model, p.data,
                                                 &(efface_request){.ids = &id, .n_ids = 1}, NULL,
                                                 NULL),
                             EFFACE_OK);
            check_positions(&p, &before);
        }
        assert_int_equal(before.with, 1);
        ef_most_short_positions = efface_data_n_rows(p.data) + room;
        float more[MOST_COLUMNS];
        draw_row(more);
        const efface_rows rows = {.n_rows = 1, .values = more};
        assert_int_equal(efface_model_learn(p.model, p.data, &rows, &report, NULL), EFFACE_OK);
        check_positions(&p, &after);
        check_law(&p);
        if (report.action == EFFACE_ACTION_ADJUSTED) {
            assert_int_equal(after.with, room);
            n_followed += room == 1;
            n_ended += room == 0;
        }
        ef_most_short_positions = no_limit;
        free_pair(&p);
    }
    assert_true(n_followed > 3 && n_ended > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_leaves_a_number_for_none),
        cmocka_unit_test_teardown(lloyd_does_without_margins, restore_limit),
        cmocka_unit_test_teardown(pyramid_keeps_no_positions, restore_limit),
        cmocka_unit_test_teardown(margins_end_at_the_limit, restore_limit),
    };
    return cmocka_run_group_tests_name("short positions", tests, NULL, NULL);
}
