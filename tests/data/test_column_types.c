/* Types of columns: what fields of each type are as numbers, and as texts again. Dates are checked
 * against a calendar that counts one day after the other. */
#define _POSIX_C_SOURCE 200809L

#include "csv_scene.h"

#include "data/texts/dates.h"
#include "data/texts/field_types.h"

#include <math.h>

/* ---------------------------------------------------------------- the oracle */

typedef struct day {
    int year, month, day;
} day;

static int length_of(day d) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = d.year % 400 == 0 || (d.year % 4 == 0 && d.year % 100 != 0);
    return lengths[d.month - 1] + (d.month == 2 && leap ? 1 : 0);
}

static day next_day(day d) {
    if (++d.day > length_of(d)) {
        d.day = 1;
        d.month++;
    }
    if (d.month > 12) {
        d.month = 1;
        d.year++;
    }
    return d;
}

static void test_all_days(void **state) {
    (void)state;
    day d = {1, 1, 1};
    int64_t first = 0, number = 0;
    assert_true(ef_date_read("0001-01-01", 10, &first));
    for (int64_t i = first; d.year <= 9999; i++, d = next_day(d)) {
        char text[64], again[EF_DATE_BYTES];
        (void)snprintf(text, sizeof text, "%04d-%02d-%02d", d.year, d.month, d.day);
        assert_true(ef_date_read(text, 10, &number));
        assert_int_equal(number, i);
        assert_true(ef_date_write(i, again));
        assert_string_equal(again, text);
        if (d.year == 1970 && d.month == 1 && d.day == 1)
            assert_int_equal(i, 0);
        number = i;
    }
    char text[EF_DATE_BYTES];
    assert_false(ef_date_write(first - 1, text));
    assert_false(ef_date_write(number + 1, text));
}

static void test_times(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {
        {"1970-01-01", 0},
        {"1970-01-01T00:00", 0},
        {"1970-01-01 00:00:01", 1},
        {"1970-01-02T00:00:00Z", 86400},
        {"2024-02-29T12:30:00.5Z", 1709209800.5},
        {"2024-02-29T12:30:00.500000000", 1709209800.5},
        {"2024-02-29T12:30+01:00", 1709206200},
        {"2024-02-29T12:30-0130", 1709215200},
        {"2024-02-29T12:30+02", 1709202600},
        {"1969-12-31T23:59:59.25", -0.75},
    };
    static const char *const wrong[] = {
        "",
        "2024",
        "2024-2-29",
        "2023-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-01-00",
        "2024-04-31",
        "0000-01-01",
        "2024-02-29T",
        "2024-02-29T12",
        "2024-02-29T24:00",
        "2024-02-29T12:60",
        "2024-02-29T12:30:60",
        "2024-02-29T12:30:00.",
        "2024-02-29X12:30",
        "2024-02-29T12:30:00.1234567890",
        "2024-02-29T12:30+",
        "2024-02-29T12:30+1",
        "2024-02-29T12:30+24:00",
        "2024-02-29T12:30+01:",
        "2024-02-29T12:30Zz",
        "29.02.2024",
        "2024-02-29T12:30:00,5",
        "-2024-02-29",
        "2024/02/29",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double seconds = -1;
        if (!ef_time_read(good[i].text, strlen(good[i].text), &seconds) ||
            seconds != good[i].seconds)
            fail_msg("%s: %.17g", good[i].text, seconds);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double seconds = -1;
        if (ef_time_read(wrong[i], strlen(wrong[i]), &seconds) || seconds != -1)
            fail_msg("%s: %.17g", wrong[i], seconds);
    }
}

/* ---------------------------------------------------------------- files */

static efface_load_options typed(const efface_typed_column *types, size_t n) {
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.types = types;
    options.n_types = n;
    return options;
}

static void test_files(void **state) {
    (void)state;
    static const efface_typed_column types[] = {{"paid", 0, EFFACE_TYPE_TRUTH},
                                                {"since", 0, EFFACE_TYPE_DATE},
                                                {"3", 0, EFFACE_TYPE_TIME},
                                                {"price", 0, EFFACE_TYPE_COMMA}};
    efface_load_options options = typed(types, 4);
    efface_data *data = expect(
        "paid;since;at;price;x\n"
        "TRUE; 1970-01-02 ;1970-01-01T00:01;3,25;1\n"
        "no;1969-12-31;1970-01-02;-1;2\n"
        "0;2024-02-29;1970-01-01 00:00:02Z;1,5e2;3\n",
        &options, 3, 5, (double[]){1, 1, 60, 3.25, 1, 0, -1, 86400, -1, 2, 0, 19782, 2, 150, 3});
    const efface_column_type *const found = efface_data_types(data);
    assert_int_equal(found[0], EFFACE_TYPE_TRUTH);
    assert_int_equal(found[4], EFFACE_TYPE_NUMBER);
    const uint32_t turned[] = {4, 3, 2, 1, 0};
    assert_int_equal(efface_data_order_columns(data, turned, NULL), EFFACE_OK);
    assert_int_equal(efface_data_types(data)[4], EFFACE_TYPE_TRUTH);
    assert_int_equal(efface_data_types(data)[1], EFFACE_TYPE_COMMA);
    efface_data_free(data);
    /* Missing values are missing in all types. */
    options.missing = 1;
    const outcome o = load_memory(BYTES("paid;since;at;price;x\n;NA;?;null;nan\n"), 5, &options);
    assert_int_equal(o.status, EFFACE_OK);
    assert_int_equal(efface_data_n_missing(o.data), 5);
    efface_data_free(o.data);
    /* Offsets are in the units of the numbers. */
    const efface_offset offset = {"since", 0, 19000};
    options.offsets = &offset;
    options.n_offsets = 1;
    data = load_ok(BYTES("paid;since;at;price;x\nt;2024-02-29;1970-01-01;1;1\n"), &options);
    assert_true(ef_data_value(data, 0, 1) == 782);
    efface_data_free(data);
}

static void test_what_does_not_fit(void **state) {
    (void)state;
    static const struct {
        efface_column_type type;
        const char *field, *words;
    } cases[] = {
        {EFFACE_TYPE_TRUTH, "maybe", "\"maybe\" is not true or false (t or f, yes or no, 1 or 0)"},
        {EFFACE_TYPE_TRUTH, "2", "\"2\" is not true or false"},
        {EFFACE_TYPE_DATE, "2023-02-29", "\"2023-02-29\" is not a date such as 2024-02-29"},
        {EFFACE_TYPE_DATE, "19000", "is not a date"},
        {EFFACE_TYPE_DATE, "2024-02-29T10:00", "is not a date"},
        {EFFACE_TYPE_TIME, "10:00", "is not a time such as"},
        {EFFACE_TYPE_COMMA, "1.5", "is not a number with a comma such as 3,14"},
        {EFFACE_TYPE_COMMA, "1,5,2", "is not a number with a comma"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const efface_typed_column type = {"x", 0, cases[i].type};
        const efface_load_options options = typed(&type, 1);
        char text[128];
        (void)snprintf(text, sizeof text, "y;x\n1;%s\n", cases[i].field);
        bad(text, &options, EFFACE_E_FORMAT, 2, 2, cases[i].words);
        bad(text, &options, EFFACE_E_FORMAT, 2, 2,
            "as which the column is read; correct it, or leave the row out");
    }
    const efface_typed_column unknown = {"z", 0, EFFACE_TYPE_DATE};
    const efface_load_options options = typed(&unknown, 1);
    const outcome o = load_memory(BYTES("y;x\n1;2\n"), 64, &options);
    assert_int_equal(o.status, EFFACE_E_ARGUMENT);
}

/* A row of dates and truth values is no header. */
static void test_headers(void **state) {
    (void)state;
    static const efface_typed_column types[] = {{"1", 0, EFFACE_TYPE_DATE},
                                                {NULL, 2, EFFACE_TYPE_TRUTH}};
    const efface_load_options options = typed(types, 2);
    efface_data_free(expect("1970-01-02,yes,5\n1970-01-03,no,6\n", &options, 2, 3,
                            (double[]){1, 1, 5, 2, 0, 6}));
    efface_data *const data =
        expect("day,ok,x\n1970-01-03,no,6\n", &options, 1, 3, (double[]){2, 0, 6});
    assert_string_equal(efface_data_column_name(data, 0), "day");
    efface_data_free(data);
}

/* ---------------------------------------------------------------- as texts again */

static void test_written(void **state) {
    (void)state;
    static const struct {
        efface_column_type type;
        double number, offset;
        const char *text; /* NULL: none */
    } cases[] = {
        {EFFACE_TYPE_TRUTH, 1, 0, "true"},
        {EFFACE_TYPE_TRUTH, 0, 0, "false"},
        {EFFACE_TYPE_TRUTH, 0.5, 0, NULL},
        {EFFACE_TYPE_TRUTH, 2, 0, NULL},
        {EFFACE_TYPE_DATE, 19782, 0, "2024-02-29"},
        {EFFACE_TYPE_DATE, 19782, 19000, "2024-02-29"},
        {EFFACE_TYPE_DATE, -1, 0, "1969-12-31"},
        {EFFACE_TYPE_DATE, 0.5, 0, NULL},
        {EFFACE_TYPE_DATE, 1e7, 0, NULL},
        {EFFACE_TYPE_TIME, 1709209800.5, 1709200000, "2024-02-29T12:30:00.500Z"},
        {EFFACE_TYPE_TIME, -1, 0, "1969-12-31T23:59:59Z"},
        {EFFACE_TYPE_TIME, 0.001, 0, "1970-01-01T00:00:00.001Z"},
        {EFFACE_TYPE_TIME, 1e30, 0, NULL},
        {EFFACE_TYPE_NUMBER, 1, 0, NULL},
        {EFFACE_TYPE_COMMA, 1, 0, NULL},
        {EFFACE_TYPE_DATE, NAN, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[EFFACE_TYPE_TEXT] = "untouched";
        const float value = (float)(cases[i].number - cases[i].offset);
        const int written = efface_type_write(cases[i].type, value, cases[i].offset, text);
        assert_int_equal(written, cases[i].text != NULL);
        if (!written)
            continue;
        assert_string_equal(text, cases[i].text);
        double again;
        const ef_csv_field field = {text, strlen(text)};
        assert_int_equal(ef_type_read(cases[i].type, field, &again), EF_NUMBER_OK);
        assert_true((float)(again - cases[i].offset) == value);
    }
}

static void test_sets(void **state) {
    (void)state;
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    assert_null(efface_data_types(data));
    const efface_column_type none[] = {EFFACE_TYPE_NUMBER, EFFACE_TYPE_NUMBER},
                             some[] = {EFFACE_TYPE_NUMBER, EFFACE_TYPE_TIME},
                             wrong[] = {EFFACE_TYPE_NUMBER, (efface_column_type)9};
    assert_int_equal(efface_data_set_types(data, some, NULL), EFFACE_OK);
    assert_int_equal(efface_data_set_types(data, wrong, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_data_types(data)[1], EFFACE_TYPE_TIME);
    assert_int_equal(efface_data_set_types(data, none, NULL), EFFACE_OK);
    assert_null(efface_data_types(data));
    assert_int_equal(efface_data_set_types(data, some, NULL), EFFACE_OK);
    assert_int_equal(efface_data_set_types(data, NULL, NULL), EFFACE_OK);
    assert_null(efface_data_types(data));
    assert_int_equal(efface_data_set_types(NULL, none, NULL), EFFACE_E_ARGUMENT);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_days), cmocka_unit_test(test_times),
        cmocka_unit_test(test_files),    cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_headers),  cmocka_unit_test(test_written),
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
