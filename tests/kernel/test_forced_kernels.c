/*
 * EFFACE_KERNELS names a table that cannot be had. The table is chosen once in a process, so this
 * is a program of its own, run with the variable set to a name there is not. Everything that
 * computes must then fail in the same way, and nothing may crash or fall back in silence.
 */
#define _POSIX_C_SOURCE 200809L
#include "efface/efface.h"
#include "kernel/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EXIT_SKIPPED 77

static void no_table_has_a_name(void **state) {
    (void)state;
    assert_null(efface_kernels_name());
    assert_null(ef_kernels_get());
    assert_null(efface_kernels_name()); /* nor at the second asking */
}

static void check_fit(size_t n_rows, uint32_t n_threads, efface_method method) {
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_kmeans_params params;
    efface_error error;
    memset(&error, 0, sizeof error);
    efface_kmeans_params_init(&params);
    params.n_clusters = 2;
    params.common.n_threads = n_threads;
    params.method = method;
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    const efface_rows rows = {.n_rows = n_rows, .values = values};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(data, &params, &model, &error), EFFACE_E_KERNELS);
    assert_null(model);
    /* The message says what is wrong and what to do. */
    assert_int_equal(error.status, EFFACE_E_KERNELS);
    assert_non_null(strstr(error.message, "EFFACE_KERNELS"));
    assert_non_null(strstr(error.message, "unset"));
    assert_non_null(strstr(error.message, "ref"));
    assert_true(error.file[0] == '\0' && error.line == 0 && error.column == 0);
    assert_int_equal(efface_kmeans_fit(data, &params, &model, NULL), EFFACE_E_KERNELS);
    assert_null(model);
    /* The data is as it was, and mistakes of the caller are still told from this one. */
    assert_int_equal(efface_data_n_rows(data), n_rows);
    params.n_clusters = 0;
    assert_int_equal(efface_kmeans_fit(data, &params, &model, &error), EFFACE_E_ARGUMENT);
    efface_data_free(data);
}

static void fit_fails_and_says_why(void **state) {
    (void)state;
    for (uint32_t n_threads = 0; n_threads < 3; n_threads++) {
        check_fit(4, n_threads, EFFACE_METHOD_LLOYD);
        check_fit(1, n_threads, EFFACE_METHOD_QUANTIZED);
        check_fit(0, n_threads, EFFACE_METHOD_LLOYD); /* whether there are rows or not */
    }
}

/* Finding a table by name does not depend on the variable; names are compared whole. */
static void tables_can_be_found_by_name(void **state) {
    (void)state;
    assert_ptr_equal(ef_kernels_find("ref"), &ef_kernels_ref);
    assert_string_equal(ef_kernels_ref.name, "ref");
    assert_null(ef_kernels_find(""));
    assert_null(ef_kernels_find("re"));
    assert_null(ef_kernels_find("refs"));
    assert_null(ef_kernels_find("REF"));
    size_t n_names = 0, n_usable = 0;
    for (const char *const *name = ef_kernels_names(); *name != NULL; name++, n_names++) {
        const ef_kernels *const table = ef_kernels_find(*name);
        n_usable += table != NULL;
        if (table != NULL)
            assert_string_equal(table->name, *name);
    }
    assert_true(n_usable >= 1 && n_usable < n_names); /* none has both avx2 and neon */
}

static void the_status_has_a_name(void **state) {
    (void)state;
    for (int status = EFFACE_OK; status <= EFFACE_E_KERNELS; status++) {
        assert_true(strlen(efface_status_name((efface_status)status)) >= 2);
        for (int other = EFFACE_OK; other < status; other++)
            assert_string_not_equal(efface_status_name((efface_status)status),
                                    efface_status_name((efface_status)other));
    }
    assert_non_null(efface_status_name((efface_status)12345));
}

int main(void) {
    (void)setenv("EFFACE_KERNELS", "nonsense", 0);
    if (ef_kernels_find(getenv("EFFACE_KERNELS")) != NULL) {
        printf("EFFACE_KERNELS names a table that works; set it to nonsense\n");
        return EXIT_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_table_has_a_name),
        cmocka_unit_test(fit_fails_and_says_why),
        cmocka_unit_test(tables_can_be_found_by_name),
        cmocka_unit_test(the_status_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
