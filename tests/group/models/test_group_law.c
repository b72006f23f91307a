/*
 * The law in a group, for every family: after each request a model of parts, on every rank, is byte
 * for byte the model that one process has of all rows. Ranks are threads (thread_group.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group_walk.h"

static const uint32_t sizes[] = {1, 2, 3, 4, 7, 16};

#define N_SIZES (sizeof sizes / sizeof *sizes)

static uint64_t n_walks(void) {
    const char *const given = getenv("EFFACE_GROUP_WALKS");
    return given != NULL ? strtoull(given, NULL, 10) : 60;
}

static void a_model_of_parts_is_that_of_all_rows(void **state) {
    (void)state;
    const uint64_t n = n_walks();
    for (uint64_t seed = 1; seed <= n; seed++)
        for (size_t f = 0; f < law_n_families; f++) {
            recording r;
            begin_recording(&r, law_families[f], mix(seed << 24 | f), 10);
            thread_group_run(sizes[seed % N_SIZES], replay, &r);
            if (seed % 8 == 0) /* all numbers of ranks */
                for (size_t i = 0; i < N_SIZES; i++)
                    thread_group_run(sizes[i], replay, &r);
            end_recording(&r);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_model_of_parts_is_that_of_all_rows, say_walk),
    };
    return cmocka_run_group_tests_name("group law", tests, NULL, NULL);
}
