/* Teams: every operation gives what a plain computation over all ranks gives, in one piece and in
 * many. */
#include "group/team/team_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_results(void **state) {
    (void)state;
    for (size_t g = 0; g < COUNT(group_sizes); g++)
        thread_group_run(group_sizes[g], check_all_shapes, NULL);
}

/* Pieces that hold a few items, one item, and not even one. */
static void test_results_in_pieces(void **state) {
    (void)state;
    const size_t all_at_once = ef_team_most_bytes, pieces[] = {96, 16, 1};
    assert_int_equal(all_at_once, (size_t)1 << 30);
    for (size_t g = 0; g < COUNT(group_sizes); g++) {
        thread_group_run(group_sizes[g], check_all_shapes, NULL);
        const uint64_t n_at_once = thread_group_n_operations();
        for (size_t p = 0; p < COUNT(pieces); p++) {
            ef_team_most_bytes = pieces[p];
            thread_group_run(group_sizes[g], check_all_shapes, NULL);
            ef_team_most_bytes = all_at_once;
            assert_true(thread_group_n_operations() > n_at_once);
        }
    }
}

/* What an operation costs: an agreement and itself; a gather has to ask for sizes as well. */
static void count_operations(const efface_group *group, void *context) {
    (void)context;
    ef_team team = {.group = *group};
    const shape s = {.n = 10, .width = 2, .root = 0};
    for (size_t o = 0; o < COUNT(operations); o++)
        RANK_ASSERT(operations[o](&team, &s, NULL) == EFFACE_OK);
}

static void test_counts(void **state) {
    (void)state;
    thread_group_run(3, count_operations, NULL);
    const thread_group_counts counts = thread_group_counted();
    const uint64_t operations_right[THREAD_GROUP_N_KINDS] = {2, 1, 2, 1, 1, 7};
    const uint64_t bytes_right[THREAD_GROUP_N_KINDS] = {80 + 24, 160, 80 + 8, 10 + 0 + 8, 10, 56};
    for (size_t k = 0; k < THREAD_GROUP_N_KINDS; k++) {
        assert_int_equal(counts.n_operations[k], operations_right[k]);
        assert_int_equal(counts.n_bytes[k], bytes_right[k]);
    }
    assert_int_equal(thread_group_n_operations(), 14);
}

/* Without a team nothing changes, and one process has all. */
static void test_alone(void **state) {
    (void)state;
    efface_error error;
    int64_t number = -3;
    ef_i128 wide = -5;
    uint64_t tuple[2] = {7, 8};
    char text[] = "as it was";
    bool all = false;
    ef_team_begin(NULL);
    assert_int_equal(ef_team_sum(NULL, &number, 1, &error), EFFACE_OK);
    assert_int_equal(ef_team_sum_wide(NULL, &wide, 1, &error), EFFACE_OK);
    assert_int_equal(ef_team_least(NULL, tuple, 1, 2, &error), EFFACE_OK);
    assert_int_equal(ef_team_broadcast(NULL, text, sizeof text, 0, &error), EFFACE_OK);
    assert_int_equal(ef_team_agree(NULL, EFFACE_E_LIMIT, &error), EFFACE_E_LIMIT);
    assert_true(number == -3 && wide == -5 && tuple[0] == 7 && tuple[1] == 8);
    assert_string_equal(text, "as it was");
    assert_int_equal(ef_team_all(NULL, true, &all, &error), EFFACE_OK);
    assert_true(all);
    assert_int_equal(ef_team_all(NULL, false, &all, &error), EFFACE_OK);
    assert_false(all);
}

static void test_orders(void **state) {
    (void)state;
    const float floats[] = {-0x1p126f, -3.5f,     -1.0f,  -1e-30f, -0x1p-149f, 0.0f,
                            0x1p-149f, 0x1p-126f, 1e-30f, 1.0f,    3.5f,       0x1p126f};
    for (size_t i = 0; i < COUNT(floats); i++) {
        const uint64_t order = ef_order_of_float(floats[i]);
        assert_true(i == 0 || ef_order_of_float(floats[i - 1]) < order);
        assert_true(order <= UINT32_MAX && ef_float_of_order(order) == floats[i]);
    }
    const double doubles[] = {0.0, 0x1p-1074, 1e-300, 0.5, 1.0, 1e300, INFINITY};
    for (size_t i = 0; i < COUNT(doubles); i++) {
        const uint64_t order = ef_order_of_double(doubles[i]);
        assert_true(i == 0 || ef_order_of_double(doubles[i - 1]) < order);
        assert_true(ef_double_of_order(order) == doubles[i]);
    }
}

static void check_groups(const efface_group *group, void *context) {
    (void)context;
    efface_error error;
    efface_group wrong[10];
    for (size_t i = 0; i < COUNT(wrong); i++)
        wrong[i] = *group;
    wrong[0].sum_64 = NULL;
    wrong[1].sum_128 = NULL;
    wrong[2].minimum = NULL;
    wrong[3].gather = NULL;
    wrong[4].broadcast = NULL;
    wrong[5].agree = NULL;
    wrong[6].size = 0;
    wrong[7].rank = wrong[7].size;
    wrong[8].size = EFFACE_MAX_RANKS + 1;
    wrong[9].rank = UINT32_MAX;
    for (size_t i = 0; i < COUNT(wrong); i++)
        RANK_ASSERT(ef_group_check(&wrong[i], &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(ef_group_check(NULL, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(ef_group_check(group, &error) == EFFACE_OK);
}

static void test_group_check(void **state) {
    (void)state;
    thread_group_run(1, check_groups, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results), cmocka_unit_test(test_results_in_pieces),
        cmocka_unit_test(test_counts),  cmocka_unit_test(test_alone),
        cmocka_unit_test(test_orders),  cmocka_unit_test(test_group_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
