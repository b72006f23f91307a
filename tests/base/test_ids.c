/* Lists of ids (ids.h) and arrays that grow (list.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes/ids.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"

static void repeats_are_found_and_dropped(void **state) {
    (void)state;
    uint64_t ids[] = {7, UINT64_MAX, 3, 7, 0, 3, 3};
    uint64_t few[] = {5, 4};
    ef_ids_sort(few, 2);
    assert_true(few[0] == 4 && few[1] == 5);
    assert_null(ef_ids_find_repeat(few, 2));
    assert_int_equal(ef_ids_sort_once(ids, 7), 4);
    const uint64_t expected[] = {0, 3, 7, UINT64_MAX};
    assert_memory_equal(ids, expected, sizeof expected);
    assert_ptr_equal(ef_ids_find(ids, 4, 7), &ids[2]);
    assert_null(ef_ids_find(ids, 4, 8));
    const uint64_t twice[] = {1, 2, 2, 9};
    assert_ptr_equal(ef_ids_find_repeat(twice, 4), &twice[2]);
}

static void a_list_of_none_may_be_null(void **state) {
    (void)state;
    ef_ids_sort(NULL, 0);
    assert_int_equal(ef_ids_sort_once(NULL, 0), 0);
    assert_null(ef_ids_find(NULL, 0, 1));
    assert_null(ef_ids_find_repeat(NULL, 0));
}

static void lists_keep_what_is_in_them(void **state) {
    (void)state;
    uint32_t *list = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(ef_list_reserve(&list, &capacity, i, 1, sizeof *list));
        assert_true(capacity > i);
        list[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    const uint32_t *const was = list;
    const size_t before = capacity;
    assert_false(ef_list_reserve(&list, &capacity, 1000, SIZE_MAX / 4, sizeof *list));
    assert_true(list == was && capacity == before);
    ef_free(list);
}

static void scratch_grows_and_a_failure_leaves_it(void **state) {
    (void)state;
    double *scratch = NULL;
    size_t capacity = 0;
    assert_true(ef_scratch_reserve(&scratch, &capacity, 8, sizeof *scratch));
    assert_true(capacity >= 8);
    const double *const was = scratch;
    assert_true(ef_scratch_reserve(&scratch, &capacity, 8, sizeof *scratch));
    assert_ptr_equal(scratch, was);
    assert_false(ef_scratch_reserve(&scratch, &capacity, SIZE_MAX / 2, sizeof *scratch));
    assert_ptr_equal(scratch, was);
    assert_false(ef_array_renew(&scratch, SIZE_MAX, sizeof *scratch));
    assert_null(scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_are_found_and_dropped),
        cmocka_unit_test(a_list_of_none_may_be_null),
        cmocka_unit_test(lists_keep_what_is_in_them),
        cmocka_unit_test(scratch_grows_and_a_failure_leaves_it),
    };
    return cmocka_run_group_tests_name("ids and lists", tests, NULL, NULL);
}
