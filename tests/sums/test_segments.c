/* The segments of rows, as efface_segmented_segments tells them. */
#include "efface/efface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { N = 12, D = 3, TARGET = 1 };

/* Two groups of six rows, at 0 and at 100; the target is somewhere else. */
static efface_data *make_rows(void) {
    float values[N * D];
    for (size_t i = 0; i < N; i++) {
        values[i * D] = (i % 2 == 0 ? 0.0F : 100.0F) + (float)i;
        values[i * D + TARGET] = 1000.0F * (float)(i % 3);
        values[i * D + 2] = (float)(i % 5);
    }
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(D, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &(efface_rows){.n_rows = N, .values = values}, NULL),
                     EFFACE_OK);
    return data;
}

static efface_model *fit(const efface_data *data) {
    static const uint32_t targets[] = {TARGET};
    efface_segmented_params params;
    efface_segmented_params_init(&params);
    params.common.seed = 1;
    params.kmeans.n_clusters = 2;
    params.kmeans.method = EFFACE_METHOD_LLOYD;
    params.targets = targets;
    params.n_targets = 1;
    efface_model *model = NULL;
    assert_int_equal(efface_segmented_fit(data, &params, &model, NULL), EFFACE_OK);
    return model;
}

static void rows_near_each_other_have_one_segment(void **state) {
    (void)state;
    efface_data *const data = make_rows();
    efface_model *const model = fit(data);
    enum { STRIDE = D + 2, MANY = 5000 };
    static float values[MANY * STRIDE];
    static uint32_t segments[MANY];
    for (size_t i = 0; i < MANY; i++) {
        float *const row = values + i * STRIDE;
        row[0] = i % 3 == 0 ? 3.0F : 104.0F;
        row[TARGET] = i % 7 == 0 ? NAN : (float)i; /* nobody looks at it */
        row[2] = (float)(i % 4);
    }
    assert_int_equal(efface_segmented_segments(model, MANY, values, STRIDE, segments, NULL),
                     EFFACE_OK);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(segments[i], i % 3 == 0 ? segments[0] : 1 - segments[0]);
    assert_int_equal(efface_segmented_segments(model, 0, NULL, 0, NULL, NULL), EFFACE_OK);
    efface_model_free(model);
    efface_data_free(data);
}

static void what_cannot_be_told_is_an_error(void **state) {
    (void)state;
    efface_data *const data = make_rows();
    efface_model *const model = fit(data);
    efface_error error;
    uint32_t segment = 77;
    float row[D] = {1.0F, 0.0F, INFINITY};
    assert_int_equal(efface_segmented_segments(model, 1, row, 0, &segment, &error), EFFACE_E_LIMIT);
    row[2] = 0.0F;
    assert_int_equal(efface_segmented_segments(model, 1, row, 2, &segment, &error),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_segmented_segments(model, 1, row, 0, NULL, &error), EFFACE_E_ARGUMENT);

    const uint64_t ids[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    assert_int_equal(
        efface_model_forget(model, data, &(efface_request){.ids = ids, .n_ids = N}, NULL, NULL),
        EFFACE_OK);
    assert_int_equal(efface_segmented_segments(model, 1, row, 0, &segment, &error),
                     EFFACE_E_ARGUMENT);
    assert_non_null(strstr(error.message, "no rows"));
    efface_model_free(model);

    efface_sums_params params;
    efface_sums_params_init(&params);
    efface_model *other = NULL;
    assert_int_equal(efface_sums_fit(data, &params, &other, NULL), EFFACE_OK);
    assert_int_equal(efface_segmented_segments(other, 1, row, 0, &segment, &error),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(segment, 77);
    efface_model_free(other);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_near_each_other_have_one_segment),
        cmocka_unit_test(what_cannot_be_told_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
