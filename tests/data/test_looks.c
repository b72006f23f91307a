/* A look at a file: what columns look like, and how many different fields they have. The count is
 * compared with one that keeps everything. */
#define _POSIX_C_SOURCE 200809L

#include "csv_scene.h"

#include "data/set/distinct_values.h"

/* ---------------------------------------------------------------- different values */

/* A number that looks as if it were random, and is the same for the same i. */
static uint64_t mixed(uint64_t i) {
    i = (i ^ i >> 31) * UINT64_C(0x9E3779B97F4A7C15);
    i = (i ^ i >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return i ^ i >> 32;
}

static uint64_t count_of(size_t n_kept, size_t n, size_t n_different, bool backwards, bool *twice,
                         bool *exact) {
    ef_distinct values = {.n_kept = n_kept};
    for (size_t i = 0; i < n; i++)
        assert_true(ef_distinct_add(
            &values, mixed((backwards ? n - 1 - i : i) % n_different + UINT64_C(12345))));
    const uint64_t count = ef_distinct_count(&values, twice);
    assert_int_equal(ef_distinct_count(&values, twice), count);
    *exact = !values.cut;
    ef_distinct_free(&values);
    return count;
}

static void test_distinct(void **state) {
    (void)state;
    bool twice, exact, twice_back, exact_back;
    for (size_t n_kept = 2; n_kept <= 300; n_kept += 149)
        for (size_t n_different = 1; n_different <= n_kept; n_different++) {
            assert_int_equal(count_of(n_kept, 2 * n_different, n_different, false, &twice, &exact),
                             n_different);
            assert_true(twice && exact);
            assert_int_equal(count_of(n_kept, n_different, n_different, true, &twice, &exact),
                             n_different);
            assert_true(!twice && exact);
        }
    for (size_t n = 1000; n <= 100000; n *= 10) {
        const uint64_t count = count_of(400, n, n, false, &twice, &exact);
        assert_int_equal(count, count_of(400, n, n, true, &twice_back, &exact_back));
        assert_true(!twice && !exact && !twice_back && !exact_back);
        assert_true((double)count > 0.75 * (double)n && (double)count < 1.25 * (double)n);
        assert_int_equal(count, count_of(400, 3 * n, n, false, &twice, &exact));
        assert_true(twice && !exact);
    }
    ef_distinct none = {.n_kept = 5};
    assert_int_equal(ef_distinct_count(&none, &twice), 0);
    assert_false(twice);
    ef_distinct_free(&none);
}

/* ---------------------------------------------------------------- files */

static efface_file_look *look_at_text(const char *text, const efface_load_options *options) {
    efface_file_look *look = NULL;
    efface_error error;
    if (efface_file_look_create(write_plain(text, strlen(text)), options, &look, &error) !=
        EFFACE_OK)
        fail_msg("%s", error.message);
    return look;
}

static void test_columns(void **state) {
    (void)state;
    static const struct {
        const char *fields[3];
        efface_looks looks;
        uint64_t n_missing, n_numbers, first_other, n_distinct;
    } cases[] = {
        {{"1", "2", "2.0"}, EFFACE_LOOKS_WHOLE, 0, 3, 0, 2},
        {{"1", "2.5", "-0"}, EFFACE_LOOKS_NUMBERS, 0, 3, 0, 3},
        {{"0", "-0", "0.0"}, EFFACE_LOOKS_WHOLE, 0, 3, 0, 1},
        {{"", "NA", "nan"}, EFFACE_LOOKS_EMPTY, 3, 0, 0, 0},
        {{"1e30", "", " 7 "}, EFFACE_LOOKS_NUMBERS, 1, 2, 0, 2},
        {{"T", "no", "False"}, EFFACE_LOOKS_TRUTH, 0, 0, 2, 3},
        {{"2024-01-01", "?", "2024-01-01"}, EFFACE_LOOKS_DATES, 1, 0, 2, 1},
        {{"2024-01-01", "2024-01-01 10:00", "null"}, EFFACE_LOOKS_TIMES, 1, 0, 2, 2},
        {{"1", "3,14", "2"}, EFFACE_LOOKS_COMMAS, 0, 2, 3, 3},
        {{"1", "x", "2024-01-01"}, EFFACE_LOOKS_TEXTS, 0, 1, 3, 3},
        {{"1", "2024-01-01", "3"}, EFFACE_LOOKS_TEXTS, 0, 2, 3, 3},
        {{"1", "1e39", "3"}, EFFACE_LOOKS_TEXTS, 0, 2, 3, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "name;y\n%s;1\n%s;2\n%s;3\n", cases[i].fields[0],
                       cases[i].fields[1], cases[i].fields[2]);
        efface_file_look *const look = look_at_text(text, NULL);
        const efface_column_look column = efface_file_look_column(look, 0);
        assert_int_equal(efface_file_look_n_rows(look), 3);
        assert_int_equal(efface_file_look_n_columns(look), 2);
        assert_string_equal(column.name, "name");
        if (column.looks != cases[i].looks || column.n_missing != cases[i].n_missing ||
            column.n_numbers != cases[i].n_numbers || column.first_other != cases[i].first_other ||
            column.n_distinct != cases[i].n_distinct || !column.n_distinct_is_exact)
            fail_msg("case %zu: %s, %llu, %llu, %llu, %llu", i, efface_looks_name(column.looks),
                     (unsigned long long)column.n_missing, (unsigned long long)column.n_numbers,
                     (unsigned long long)column.first_other, (unsigned long long)column.n_distinct);
        efface_file_look_free(look);
    }
}

static void test_headers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        efface_header asked;
        bool header, unclear;
    } cases[] = {
        {"a,b\n1,2\n", EFFACE_HEADER_DETECT, true, false},
        {"1,2\n3,4\n", EFFACE_HEADER_DETECT, false, false},
        {"1,x\n3,y\n", EFFACE_HEADER_DETECT, false, true},
        {"1,\n3,4\n", EFFACE_HEADER_DETECT, false, true},
        {",b\n1,2\n", EFFACE_HEADER_DETECT, true, false},
        {"1,x\n3,4\n", EFFACE_HEADER_YES, true, true},
        {"1,2\n3,4\n", EFFACE_HEADER_YES, true, true},
        {"a,b\n1,2\n", EFFACE_HEADER_NO, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        efface_load_options options = options_of(NULL, NULL, NULL, NULL);
        options.header = cases[i].asked;
        efface_file_look *const look = look_at_text(cases[i].text, &options);
        if (efface_file_look_has_header(look) != cases[i].header ||
            efface_file_look_is_unclear(look) != cases[i].unclear)
            fail_msg("%s", cases[i].text);
        assert_int_equal(efface_file_look_n_rows(look), cases[i].header ? 1 : 2);
        efface_file_look_free(look);
    }
}

static void test_failures(void **state) {
    (void)state;
    static const char *const cases[] = {"", "a,b\n", "a,b\n1\n", "a,b\n1,\"2\n"};
    efface_file_look *look = NULL;
    efface_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const path = write_plain(cases[i], strlen(cases[i]));
        assert_int_equal(efface_file_look_create(path, NULL, &look, &error), EFFACE_E_FORMAT);
        assert_null(look);
    }
    assert_int_equal(efface_file_look_create(NULL, NULL, &look, &error), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_file_look_create(path_of("nothing"), NULL, &look, &error), EFFACE_E_IO);
    efface_file_look_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
