/* Several arrays in one block (arrays.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/arrays.h"
#include "base/memory/memory.h"

#include <string.h>

static void arrays_lie_apart(void **state) {
    (void)state;
    unsigned char *bytes = NULL;
    uint64_t *numbers = NULL;
    float *none = NULL, *values = NULL;
    const ef_array arrays[] = {{&bytes, 65, 1},
                               {&numbers, 3, sizeof *numbers},
                               {&none, 0, sizeof *none},
                               {&values, 5, 7 * sizeof *values}};
    for (int cleared = 0; cleared < 2; cleared++) {
        void *const block = EF_ARRAYS_TAKE(arrays, cleared != 0);
        assert_non_null(block);
        assert_true((uintptr_t)bytes % 64 == 0 && (uintptr_t)numbers % 64 == 0 &&
                    (uintptr_t)values % 64 == 0);
        for (size_t i = 0; cleared && i < 35; i++)
            assert_true(values[i] == 0.0F && numbers[i % 3] == 0 && bytes[i] == 0);
        memset(bytes, 1, 65);
        memset(numbers, 2, 3 * sizeof *numbers);
        memset(values, 3, 35 * sizeof *values);
        for (size_t i = 0; i < 65; i++)
            assert_int_equal(bytes[i], 1);
        for (size_t i = 0; i < 3; i++)
            assert_true(numbers[i] == UINT64_C(0x0202020202020202));
        ef_free(block);
    }
}

static void sizes_that_do_not_fit(void **state) {
    (void)state;
    char *a = NULL, *b = NULL;
    const ef_array product[] = {{&a, SIZE_MAX / 2, 3}};
    const ef_array sum[] = {{&a, SIZE_MAX / 2, 1}, {&b, SIZE_MAX / 2 + 60, 1}};
    const ef_array rounded[] = {{&a, SIZE_MAX - 10, 1}};
    assert_null(EF_ARRAYS_TAKE(product, false));
    assert_null(EF_ARRAYS_TAKE(sum, false));
    assert_null(EF_ARRAYS_TAKE(rounded, false));
    assert_true(a == NULL && b == NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_lie_apart),
        cmocka_unit_test(sizes_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("arrays", tests, NULL, NULL);
}
