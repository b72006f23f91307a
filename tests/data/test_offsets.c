/*
 * Offsets of columns, and what rounding to float32 loses: from CSV and .npy, and by calls. Whatever
 * way rows come, a set with offsets holds what taking them away by hand gives, to the bit, and a
 * model of it is that of such rows.
 */
#define _XOPEN_SOURCE 700
#include "data/csv_scene.h"

#include <math.h>

#define N 300

static const double far_away = 1e9;

/* Two groups 20 apart at 10^9, and small numbers. */
static void make_groups(double *values) {
    for (size_t i = 0; i < N; i++) {
        values[2 * i] = far_away + 20.0 * (double)(i % 2) + (double)(i * 37 % 101) / 64.0;
        values[2 * i + 1] = (double)(i * 53 % 89) / 128.0;
    }
}

static efface_column_rounding rounding_of(const double *values, size_t n, double offset) {
    efface_rounding *rounding = NULL;
    assert_int_equal(efface_rounding_create(&rounding, NULL), EFFACE_OK);
    assert_int_equal(efface_rounding_add(rounding, n, 1, values, 0, &offset, NULL), EFFACE_OK);
    const efface_column_rounding found = efface_rounding_column(rounding, 0);
    efface_rounding_free(rounding);
    return found;
}

/* ---------------------------------------------------------------- what is noticed */

/* A column of one value that float32 changes; one that it does not change is as it should be. */
static void one_value_that_changes_is_noticed(void **state) {
    (void)state;
    const double seconds[] = {1700000001.0, 1700000001.0, 1700000001.0}, even[] = {1700000000.0};
    const efface_column_rounding found = rounding_of(seconds, 3, 0.0);
    assert_true(found.collapses && found.offset != 0.0 && found.offset != seconds[0]);
    assert_true((float)(seconds[0] - found.offset) + found.offset == seconds[0]);
    assert_false(rounding_of(seconds, 3, found.offset).collapses);
    assert_false(rounding_of(even, 1, 0.0).collapses);
}

static void collapse_is_noticed(void **state) {
    (void)state;
    static double values[N];
    for (size_t i = 0; i < N; i++)
        values[i] = far_away + 20.0 * (double)(i % 2);
    efface_column_rounding found = rounding_of(values, N, 0.0);
    assert_true(found.collapses);
    assert_true(found.step == 64.0 && found.spread == 20.0 && found.n_vanished == 0);
    assert_false(rounding_of(values, N, found.offset).collapses);
    values[N - 1] = far_away; /* float32 holds the last as it is */
    assert_true((double)(float)far_away == far_away);
    assert_true(rounding_of(values, N, 0.0).collapses);
    for (size_t i = 0; i < N; i++) /* a year of seconds */
        values[i] = 1.7e9 + (double)(i * 104729 % 31536000);
    found = rounding_of(values, N, 0.0);
    assert_true(found.collapses);
    assert_true(found.step == 128.0);
    assert_false(rounding_of(values, N, found.offset).collapses);
    /* An offset of the wrong sign does not help, and the same is proposed. */
    assert_true(rounding_of(values, N, -found.offset).collapses);
    assert_true(rounding_of(values, N, -found.offset).offset == found.offset);
}

static void what_loses_nothing_is_not_noticed(void **state) {
    (void)state;
    static double values[N];
    static const struct {
        double from, step;
    } cases[] = {{0.0, 0.1},  {-15.0, 0.1},  {1900.0, 1.0}, {300.1, 0.0}, {1e9 + 0.1, 0.0},
                 {0.0, 1e12}, {52.1, 0.001}, {0.0, 1e-30},  {1e30, 1e29}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (size_t i = 0; i < N; i++)
            values[i] = cases[c].from + cases[c].step * (double)i;
        const efface_column_rounding found = rounding_of(values, N, 0.0);
        if (found.collapses || found.n_vanished != 0)
            fail_msg("from %g by %g", cases[c].from, cases[c].step);
        assert_true(found.offset == 0.0);
    }
}

static void values_that_vanish_are_counted(void **state) {
    (void)state;
    const double values[] = {1.0, 1e-46, 0.0, -1e-60, 2.0, -0.0};
    efface_column_rounding found = rounding_of(values, 6, 0.0);
    assert_int_equal(found.n_vanished, 2);
    assert_false(found.collapses);
    /* All of them alike: there is no spread. */
    const double same[] = {1e-50, 1e-50};
    found = rounding_of(same, 2, 0.0);
    assert_int_equal(found.n_vanished, 2);
    /* Few bits are left of these, and no offset helps. */
    const double tiny[] = {1e-44, 2.3e-44, 3.1e-44};
    found = rounding_of(tiny, 3, 0.0);
    assert_true(found.collapses && found.offset == 0.0);
}

/* A proposal is a multiple of a power of two of at least the spread, near the middle: so it hardly
 * changes with the rows. */
static void proposals_are_round(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int c = 0; c < 2000; c++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const double size = ldexp(1.0 + (double)(seed >> 40) * 0x1p-24, (int)(seed % 60) - 10);
        const double spread = size * ldexp(1.0, -(int)(seed >> 32) % 30 - 9);
        const double values[] = {seed & 64 ? -size : size, (seed & 64 ? -size : size) + spread,
                                 (seed & 64 ? -size : size) + spread / 3.0};
        const efface_column_rounding found = rounding_of(values, 3, 0.0);
        if (!found.collapses)
            continue;
        int exponent;
        const double power =
            frexp(found.spread, &exponent) == 0.5 ? found.spread : ldexp(1.0, exponent);
        assert_true(power >= found.spread);
        assert_true(fmod(found.offset, power) == 0.0);
        assert_true(fabs(found.offset - values[0] - found.spread / 2.0) <= power / 2.0 * 1.01);
        assert_false(rounding_of(values, 3, found.offset).collapses);
    }
}

/* ---------------------------------------------------------------- files */

static void expect_shifted(const efface_data *data, const double *values, const double *offsets) {
    const uint32_t d = efface_data_n_columns(data);
    for (size_t i = 0; i < efface_data_n_rows(data); i++)
        for (uint32_t j = 0; j < d; j++)
            assert_true(ef_data_value(data, i, j) == (float)(values[i * d + j] - offsets[j]));
}

static const char text[] = "id,when,b,c\n"
                           "1,1700000001.25,5,0.1\n"
                           "2,1700000003,6,0.2\n"
                           "3,1700000005,7,1e-50\n";
static const double in_text[] = {1700000001.25, 5, 0.1, 1700000003, 6, 0.2, 1700000005, 7, 1e-50};

static void csv_takes_offsets_by_name_and_number(void **state) {
    (void)state;
    const efface_offset offsets[] = {{.column = "when", .value = 1700000000.0},
                                     {.column = "3", .value = -2.0}};
    const double expected[] = {1700000000.0, 0.0, -2.0};
    efface_load_options options = options_of("id", NULL, NULL, NULL);
    options.offsets = offsets;
    options.n_offsets = 2;
    efface_data *const data = load_ok(BYTES(text), &options);
    expect_shifted(data, in_text, expected);
    assert_memory_equal(efface_data_offsets(data), expected, sizeof expected);
    double row[3] = {(double)ef_data_value(data, 0, 0), 1.0, 1.0};
    efface_data_add_offsets(data, row);
    assert_true(row[0] == 1700000001.25 && row[1] == 1.0 && row[2] == -1.0);
    efface_data_free(data);
}

static void expect_refused(const char *csv, const efface_offset *offsets, size_t n,
                           efface_status status, const char *words) {
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.offsets = offsets;
    options.n_offsets = n;
    const outcome o = load_memory(csv, strlen(csv), 64, &options);
    assert_int_equal(o.status, status);
    assert_ptr_equal(o.data, untouched());
    if (strstr(o.error.message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", o.error.message, words);
}

static void wrong_offsets_are_refused(void **state) {
    (void)state;
    const efface_offset unknown = {.column = "d", .value = 1}, twice[] = {{"a", 0, 1}, {"1", 0, 2}},
                        zero = {.column = "0", .value = 1}, far = {.column = "3", .value = 1},
                        none = {.column = NULL}, nan = {.column = "a", .value = NAN},
                        huge = {.column = "a", .value = 1e300};
    expect_refused("a,b\n1,2\n", &unknown, 1, EFFACE_E_ARGUMENT, "no column of values 'd'");
    expect_refused("a,b\n1,2\n", &zero, 1, EFFACE_E_ARGUMENT, "no column of values '0'");
    expect_refused("a,b\n1,2\n", &far, 1, EFFACE_E_ARGUMENT, "no column of values '3'");
    expect_refused("a,b\n1,2\n", twice, 2, EFFACE_E_ARGUMENT, "two offsets");
    expect_refused("a,a\n1,2\n", twice, 1, EFFACE_E_ARGUMENT, "several columns");
    expect_refused("a,b\n1,2\n", &none, 1, EFFACE_E_ARGUMENT, "has no column");
    expect_refused("a,b\n1,2\n", &nan, 1, EFFACE_E_LIMIT, "offset");
    expect_refused("a,b\n1,2\n", &huge, 1, EFFACE_E_LIMIT, "offset");
    expect_refused("a,b\n1,2\n", NULL, 1, EFFACE_E_ARGUMENT, "must not be NULL");
}

/* As a store gives them: by name, or by place where a name is missing. */
static void placed_offsets_find_their_column(void **state) {
    (void)state;
    const efface_offset offsets[] = {{"b", 1, 10.0}, {NULL, 3, 30.0}, {"gone", 2, 20.0}};
    static const struct {
        const char *csv;
        double expected[3];
    } cases[] = {{"a,b,c\n1,2,3\n", {0.0, 10.0, 30.0}},
                 {"b,a,c\n1,2,3\n", {10.0, 0.0, 30.0}},
                 {"1,2,3\n", {10.0, 20.0, 30.0}}};
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.offsets = offsets;
    options.n_offsets = 3;
    for (size_t c = 0; c < 3; c++) {
        const double values[] = {1, 2, 3};
        efface_data *const data = load_ok(cases[c].csv, strlen(cases[c].csv), &options);
        expect_shifted(data, values, cases[c].expected);
        efface_data_free(data);
    }
}

/* An .npy file of n_rows rows in memory; release with free. */
static char *make_npy(const char *descr, size_t n_rows, size_t n_columns, const void *elements,
                      size_t size, size_t *n_bytes) {
    char *const file = malloc(128 + n_rows * n_columns * size);
    assert_non_null(file);
    memset(file, ' ', 128);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    const int n = snprintf(file + 10, 118,
                           "{'descr': '%s', 'fortran_order': False, 'shape': "
                           "(%zu, %zu), }",
                           descr, n_rows, n_columns);
    file[10 + n] = ' ';
    file[127] = '\n';
    memcpy(file + 128, elements, n_rows * n_columns * size);
    *n_bytes = 128 + n_rows * n_columns * size;
    return file;
}

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ORDER ">"
#else
#define ORDER "<"
#endif

static void npy_takes_offsets(void **state) {
    (void)state;
    static double f8[2 * N], wide[2 * N];
    static float f4[2 * N];
    static int64_t i8[2 * N];
    static int32_t i4[2 * N];
    make_groups(f8);
    for (size_t i = 0; i < 2 * N; i++) {
        f4[i] = (float)(i * 31 % 77) / 8.0F;
        i8[i] = INT64_C(1700000000) + (int64_t)(i * 7919 % 86400);
        i4[i] = 1700000000 + (int32_t)(i * 7919 % 86400);
    }
    const efface_offset offsets[] = {{.column = "1", .value = 1e9}, {.column = "2", .value = 0.5}};
    const double values[] = {1e9, 0.5};
    const struct {
        const char *descr;
        const void *elements;
        size_t size;
    } cases[] = {
        {ORDER "f8", f8, 8}, {ORDER "i8", i8, 8}, {ORDER "f4", f4, 4}, {ORDER "i4", i4, 4}};
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.offsets = offsets;
    options.n_offsets = 2;
    for (size_t c = 0; c < 4; c++) {
        for (size_t i = 0; i < 2 * N; i++)
            wide[i] = c == 0 ? f8[i] : c == 1 ? (double)i8[i] : c == 2 ? (double)f4[i] : i4[i];
        size_t n_bytes;
        char *const file =
            make_npy(cases[c].descr, N, 2, cases[c].elements, cases[c].size, &n_bytes);
        efface_data *const data = load_ok(file, n_bytes, &options);
        assert_int_equal(efface_data_n_rows(data), N);
        expect_shifted(data, wide, values);
        efface_data_free(data);
        free(file);
    }
}

/* Without offsets a whole number is rounded once, as ever, though it is looked at as a double. */
static void looking_changes_no_bit(void **state) {
    (void)state;
    const int64_t tie = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1, values[] = {tie, 5};
    assert_true((float)tie != (float)(double)tie);
    size_t n_bytes;
    char *const file = make_npy(ORDER "i8", 1, 2, values, 8, &n_bytes);
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    assert_int_equal(efface_rounding_create(&options.rounding, NULL), EFFACE_OK);
    efface_data *const data = load_ok(file, n_bytes, &options);
    assert_true(ef_data_value(data, 0, 0) == (float)tie);
    efface_rounding_free(options.rounding);
    efface_data_free(data);
    free(file);
}

static void loading_tells_what_is_lost(void **state) {
    (void)state;
    static double f8[2 * N];
    make_groups(f8);
    efface_load_options options = options_of("id", NULL, NULL, NULL);
    assert_int_equal(efface_rounding_create(&options.rounding, NULL), EFFACE_OK);
    assert_int_equal(efface_rounding_n_columns(options.rounding), 0);
    efface_data_free(load_ok(BYTES(text), &options));
    assert_int_equal(efface_rounding_n_columns(options.rounding), 3);
    assert_true(efface_rounding_column(options.rounding, 0).collapses);
    assert_false(efface_rounding_column(options.rounding, 1).collapses);
    assert_int_equal(efface_rounding_column(options.rounding, 2).n_vanished, 1);
    /* A load that fails tells nothing; one that succeeds starts anew. */
    load_bad(BYTES("id,a\n1,2\n2,x\n"), &options, EFFACE_E_FORMAT, 3, 2, "not a number");
    assert_int_equal(efface_rounding_n_columns(options.rounding), 3);
    size_t n_bytes;
    char *const file = make_npy(ORDER "f8", N, 2, f8, 8, &n_bytes);
    efface_data_free(load_ok(file, n_bytes, &options));
    assert_int_equal(efface_rounding_n_columns(options.rounding), 2);
    const efface_column_rounding found = efface_rounding_column(options.rounding, 0);
    assert_true(found.collapses);
    assert_false(efface_rounding_column(options.rounding, 1).collapses);
    const efface_offset offset = {.column = "1", .value = found.offset};
    options.offsets = &offset;
    options.n_offsets = 1;
    efface_data_free(load_ok(file, n_bytes, &options));
    assert_false(efface_rounding_column(options.rounding, 0).collapses);
    efface_rounding_free(options.rounding);
    free(file);
}

/* ---------------------------------------------------------------- calls */

static void offsets_come_before_rows(void **state) {
    (void)state;
    efface_data *data = NULL;
    efface_error error;
    const double offsets[] = {1e9, -0.0}, zeros[] = {0.0, -0.0}, bad[] = {0.0, INFINITY};
    const float values[] = {1, 2};
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    assert_null(efface_data_offsets(data));
    assert_int_equal(efface_data_set_offsets(data, zeros, NULL), EFFACE_OK);
    assert_null(efface_data_offsets(data));
    assert_int_equal(efface_data_set_offsets(data, offsets, NULL), EFFACE_OK);
    assert_true(efface_data_offsets(data)[0] == 1e9 && !signbit(efface_data_offsets(data)[1]));
    assert_int_equal(efface_data_set_offsets(data, bad, &error), EFFACE_E_LIMIT);
    assert_non_null(strstr(error.message, "column 2"));
    assert_true(efface_data_offsets(data)[0] == 1e9);
    const efface_rows rows = {.n_rows = 1, .values = values};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    assert_true(ef_data_value(data, 0, 0) == 1.0F); /* floats are as the set holds them */
    assert_int_equal(efface_data_set_offsets(data, NULL, &error), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_set_offsets(NULL, NULL, &error), EFFACE_E_ARGUMENT);
    assert_true(efface_data_offsets(data)[0] == 1e9);
    efface_data_free(data);
}

static efface_data *set_of(const double *values, const double *offsets) {
    static float rounded[2 * N];
    efface_data *data = NULL;
    efface_rows_round(N, 2, values, 0, offsets, rounded);
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_set_offsets(data, offsets, NULL), EFFACE_OK);
    const efface_rows rows = {.n_rows = N, .values = rounded};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    return data;
}

/* The state of a model that was fitted to these values, with these offsets, and forgot a row. */
static unsigned char *state_of(const double *values, const double *offsets, efface_method method,
                               size_t *n_bytes, double *centroid) {
    efface_kmeans_params params;
    efface_model *model = NULL;
    unsigned char *bytes = NULL;
    const uint64_t id = 7;
    efface_data *const data = set_of(values, offsets);
    efface_kmeans_params_init(&params);
    params.method = method;
    params.candidates = 1;
    params.pyramid.rate = 0.25; /* or pyramid would work as lloyd with so few rows */
    params.n_clusters = 2;
    params.common.seed = 5;
    assert_int_equal(efface_kmeans_fit(data, &params, &model, NULL), EFFACE_OK);
    assert_int_equal(
        efface_model_forget(model, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
        EFFACE_OK);
    assert_int_equal(efface_model_encode(model, &bytes, n_bytes, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_centroid(model, 0, centroid, NULL), EFFACE_OK);
    efface_data_add_offsets(data, centroid);
    efface_model_free(model);
    efface_data_free(data);
    return bytes;
}

/* What the model of a set with offsets is: that of the rows without them, byte for byte. */
static void models_see_shifted_rows(void **state) {
    (void)state;
    static double values[2 * N], shifted[2 * N];
    const double offsets[] = {1e9 - 7.0, 0.125};
    make_groups(values);
    for (size_t i = 0; i < 2 * N; i++)
        shifted[i] = (double)(float)(values[i] - offsets[i % 2]);
    for (int method = EFFACE_METHOD_LLOYD; method <= EFFACE_METHOD_TREE; method++) {
        size_t n_a, n_b;
        double a_center[2], b_center[2];
        unsigned char *const a = state_of(values, offsets, (efface_method)method, &n_a, a_center);
        unsigned char *const b = state_of(shifted, NULL, (efface_method)method, &n_b, b_center);
        assert_int_equal(n_a, n_b);
        assert_memory_equal(a, b, n_a);
        for (int j = 0; j < 2; j++)
            assert_true(a_center[j] == b_center[j] + offsets[j]);
        assert_true(a_center[0] > 9e8);
        efface_bytes_free(a);
        efface_bytes_free(b);
    }
}

static void columns_are_put_in_order(void **state) {
    (void)state;
    enum { D = 5 };
    static const uint32_t source[D] = {3, 1, 4, 0, 2}, twice[D] = {0, 1, 2, 3, 3},
                          beyond[D] = {0, 1, 2, 3, 5};
    const double offsets[D] = {10, 20, 0, 40, 50};
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(D, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_set_offsets(data, offsets, NULL), EFFACE_OK);
    assert_int_equal(efface_data_name_column(data, 4, "e", NULL), EFFACE_OK);
    static float values[41 * D];
    for (size_t i = 0; i < 41 * D; i++)
        values[i] = (float)(i * 7919 % 997);
    const efface_rows rows = {.n_rows = 41, .values = values};
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    assert_int_equal(efface_data_order_columns(data, twice, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_order_columns(data, beyond, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_order_columns(data, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_true(ef_data_value(data, 1, 0) == values[D]);
    float least[D], most[D], turned_least[D], turned_most[D];
    ef_data_column_ranges(data, least, most);
    assert_int_equal(efface_data_order_columns(data, source, NULL), EFFACE_OK);
    ef_data_column_ranges(data, turned_least, turned_most);
    for (uint32_t j = 0; j < D; j++) {
        for (size_t i = 0; i < 41; i++)
            assert_true(ef_data_value(data, i, j) == values[i * D + source[j]]);
        assert_true(efface_data_offsets(data)[j] == offsets[source[j]]);
        assert_true(turned_least[j] == least[source[j]] && turned_most[j] == most[source[j]]);
    }
    assert_string_equal(efface_data_column_name(data, 2), "e");
    assert_null(efface_data_column_name(data, 4));
    efface_data_free(data);
}

static void rounding_refuses_other_rows(void **state) {
    (void)state;
    efface_rounding *rounding = NULL;
    efface_error error;
    const double values[] = {1, 2};
    assert_int_equal(efface_rounding_create(NULL, &error), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_rounding_create(&rounding, &error), EFFACE_OK);
    assert_int_equal(efface_rounding_add(rounding, 1, 2, values, 0, NULL, &error), EFFACE_OK);
    assert_int_equal(efface_rounding_add(rounding, 1, 1, values, 0, NULL, &error),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_rounding_add(rounding, 1, 2, NULL, 0, NULL, &error), EFFACE_E_ARGUMENT);
    assert_false(efface_rounding_column(rounding, 7).collapses);
    efface_rounding_free(rounding);
    efface_rounding_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collapse_is_noticed),
        cmocka_unit_test(one_value_that_changes_is_noticed),
        cmocka_unit_test(what_loses_nothing_is_not_noticed),
        cmocka_unit_test(values_that_vanish_are_counted),
        cmocka_unit_test(proposals_are_round),
        cmocka_unit_test(csv_takes_offsets_by_name_and_number),
        cmocka_unit_test(wrong_offsets_are_refused),
        cmocka_unit_test(placed_offsets_find_their_column),
        cmocka_unit_test(npy_takes_offsets),
        cmocka_unit_test(looking_changes_no_bit),
        cmocka_unit_test(loading_tells_what_is_lost),
        cmocka_unit_test(offsets_come_before_rows),
        cmocka_unit_test(models_see_shifted_rows),
        cmocka_unit_test(columns_are_put_in_order),
        cmocka_unit_test(rounding_refuses_other_rows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
