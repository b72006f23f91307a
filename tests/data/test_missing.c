/*
 * Missing values and categories: from files of every kind, in sets, and refused by models that do
 * not take them. test_rows goes through random operations with missing values.
 */
#define _XOPEN_SOURCE 700
#include "data/csv_scene.h"

#include "model/family.h"

#include <math.h>

#define MISSING NAN

#define CODE_OF_RED 0x1.d10bf2p+76F
#define CODE_OF_GREEN -0x1.524006p+76F

/* ---------------------------------------------------------------- sets */

static efface_data *make_set(size_t n, uint32_t d, const float *values) {
    efface_data *data = NULL;
    assert_int_equal(efface_data_create(d, &data, NULL), EFFACE_OK);
    efface_data_allow_missing(data);
    assert_int_equal(efface_data_add(data, &(efface_rows){.n_rows = n, .values = values}, NULL),
                     EFFACE_OK);
    return data;
}

static void sets_refuse_missing_values_unless_asked(void **state) {
    (void)state;
    const float good[] = {1, 2, 3, 4}, bad[] = {1, MISSING, 3, 4}, worse[] = {1, MISSING, INFINITY};
    const uint64_t ids[] = {0, 1};
    efface_rows rows = {.n_rows = 2, .values = good};
    efface_data *data = NULL;
    efface_error error;
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(data, &rows, NULL), EFFACE_OK);
    rows.values = bad;
    assert_int_equal(efface_data_add(data, &rows, &error), EFFACE_E_LIMIT);
    assert_non_null(strstr(error.message, "row 1, column 2"));
    assert_non_null(strstr(error.message, "a model that takes them"));
    rows.ids = ids;
    assert_int_equal(efface_data_replace(data, &rows, &error), EFFACE_E_LIMIT);
    assert_int_equal(efface_data_n_missing(data), 0);
    efface_data_allow_missing(data);
    assert_int_equal(efface_data_replace(data, &rows, &error), EFFACE_OK);
    assert_int_equal(efface_data_n_missing(data), 1);
    rows = (efface_rows){.n_rows = 1, .values = worse + 1};
    assert_int_equal(efface_data_add(data, &rows, &error), EFFACE_E_LIMIT);
    assert_non_null(strstr(error.message, "row 1, column 2"));
    assert_int_equal(efface_data_n_missing(data), 1);
    assert_int_equal(efface_data_remove(data, ids, 1, NULL), EFFACE_OK);
    assert_int_equal(efface_data_n_missing(data), 0);
    efface_data_free(data);
}

/* All of them are stored with the same bits, one by one and a panel at a time. */
static void there_is_one_missing_value(void **state) {
    (void)state;
    static const uint32_t nans[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF};
    float values[100];
    for (size_t i = 0; i < 100; i++)
        memcpy(&values[i], &nans[i % 4], sizeof values[i]);
    efface_data *const data = make_set(50, 2, values);
    for (size_t i = 0; i < 50; i++)
        for (uint32_t j = 0; j < 2; j++) {
            const float value = ef_data_value(data, i, j);
            const uint32_t right = EF_MISSING_BITS;
            assert_memory_equal(&value, &right, sizeof right);
        }
    assert_int_equal(efface_data_n_missing(data), 100);
    efface_data_free(data);
}

/* Columns in another order, rows copied, tails, offsets: a missing value stays one. */
static void other_users_of_values_pass_missing_ones_over(void **state) {
    (void)state;
    const float values[] = {1, MISSING, 5, 2, MISSING, MISSING, 3, MISSING, 7};
    const uint32_t turned[] = {2, 1, 0};
    const size_t positions[] = {1, 2};
    efface_data *data = make_set(3, 3, values), *copy = NULL;
    assert_int_equal(efface_data_order_columns(data, turned, NULL), EFFACE_OK);
    assert_int_equal(efface_data_n_missing(data), 4);
    assert_true(isnan(ef_data_value(data, 1, 0)) && ef_data_value(data, 1, 2) == 2.0F);
    float least[3], most[3];
    ef_data_column_ranges(data, least, most);
    assert_true(least[0] == 5 && most[0] == 7 && least[1] == 0 && most[1] == 0);
    assert_int_equal(ef_data_copy_rows(data, positions, 2, &copy, NULL), EFFACE_OK);
    assert_int_equal(efface_data_n_missing(copy), 3);
    efface_data_free(copy);
    efface_tails tails;
    assert_int_equal(efface_data_tails(data, EFFACE_SCALE_NONE, &tails, NULL), EFFACE_OK);
    assert_true(tails.loss == 4.0); /* two columns of which two values, and three, are there */
    assert_int_equal(efface_data_tails(data, EFFACE_SCALE_MINMAX, &tails, NULL), EFFACE_OK);
    assert_true(tails.loss == 1.0);
    efface_data_free(data);

    const double wide[] = {1000000001.0, MISSING, 1000000003.0, 5.0}, offsets[] = {1e9, 2.0};
    float rounded[4];
    efface_rows_round(2, 2, wide, 0, offsets, rounded);
    assert_true(rounded[0] == 1 && isnan(rounded[1]) && rounded[2] == 3 && rounded[3] == 3);
    double in_units[] = {0.0, MISSING};
    assert_int_equal(efface_data_create(2, &data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_set_offsets(data, offsets, NULL), EFFACE_OK);
    efface_data_add_offsets(data, in_units);
    assert_true(in_units[0] == 1e9 && isnan(in_units[1]));
    efface_data_free(data);
}

/* What is noticed of a column does not depend on missing values, be they the first. */
static void rounding_passes_them_over(void **state) {
    (void)state;
    const double with[] = {MISSING, MISSING, 1e9, MISSING, 1e9 + 20, MISSING};
    const double without[] = {1e9, 1e9 + 20};
    efface_rounding *a = NULL, *b = NULL;
    assert_int_equal(efface_rounding_create(&a, NULL), EFFACE_OK);
    assert_int_equal(efface_rounding_create(&b, NULL), EFFACE_OK);
    assert_int_equal(efface_rounding_add(a, 3, 2, with, 0, NULL, NULL), EFFACE_OK);
    assert_int_equal(efface_rounding_add(b, 2, 1, without, 0, NULL, NULL), EFFACE_OK);
    const efface_column_rounding in_a = efface_rounding_column(a, 0);
    const efface_column_rounding in_b = efface_rounding_column(b, 0);
    const efface_column_rounding other = efface_rounding_column(a, 1);
    assert_true(in_a.collapses && in_a.offset == in_b.offset && in_a.spread == 20.0);
    assert_true(!other.collapses && other.spread == 0.0 && other.offset == 0.0);
    efface_rounding_free(a);
    efface_rounding_free(b);
}

/* ---------------------------------------------------------------- files */

static efface_load_options with_missing(void) {
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.missing = 1;
    return options;
}

/* load_ok compares values with ==, which missing ones are not: so they are compared as bytes. */
static efface_data *load_same(const void *bytes, size_t n_bytes,
                              const efface_load_options *options) {
    efface_data *first = NULL;
    outcome o;
    for (int way = 0; load_way(way, bytes, n_bytes, options, &o); way++) {
        if (o.status != EFFACE_OK)
            fail_msg("way %d: %s", way, o.error.message);
        if (first == NULL) {
            first = o.data;
            continue;
        }
        assert_int_equal(efface_data_n_rows(first), efface_data_n_rows(o.data));
        assert_int_equal(efface_data_n_missing(first), efface_data_n_missing(o.data));
        for (size_t i = 0; i < efface_data_n_rows(first); i++)
            for (uint32_t j = 0; j < efface_data_n_columns(first); j++) {
                const float x = ef_data_value(first, i, j), y = ef_data_value(o.data, i, j);
                assert_memory_equal(&x, &y, sizeof x);
            }
        efface_data_free(o.data);
    }
    return first;
}

static efface_data *load_text(const char *text, const efface_load_options *options) {
    return load_same(text, strlen(text), options);
}

static void every_spelling_is_missing(void **state) {
    (void)state;
    static const char *const words[] = {"",     " ", "NA",   "N/A",  "NaN",     "nan",  "null",
                                        "NULL", "?", " NA ", "\"\"", "\" ? \"", "-nan", "NAN"};
    static const char *const none[] = {"na", "n/a", "Null", "??", "NA.", "none", "-", ".", "#N/A"};
    const efface_load_options options = with_missing();
    char text[64];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        (void)snprintf(text, sizeof text, "1;2\n3;%s\n%s;4\n", words[i], words[i]);
        efface_data *const data = load_text(text, &options);
        assert_int_equal(efface_data_n_missing(data), 2);
        assert_true(isnan(ef_data_value(data, 1, 1)) && isnan(ef_data_value(data, 2, 0)));
        assert_true(data->allows_missing);
        efface_data_free(data);
        bad(text, NULL, EFFACE_E_FORMAT, 2, 2, "allow missing values");
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        (void)snprintf(text, sizeof text, "1;2\n3;%s\n", none[i]);
        bad(text, &options, EFFACE_E_FORMAT, 2, 2, "is not a number");
    }
    bad("1;2\n3;inf\n", &options, EFFACE_E_FORMAT, 2, 2, "not a finite number");
    bad("1;2\n3;1e50\n", &options, EFFACE_E_LIMIT, 2, 2, "2^126");
    /* Ids, owners, weights and labels have rules of their own. */
    efface_load_options named = options_of("1", NULL, NULL, "3");
    named.missing = 1;
    bad("7,NA,5\n,1,2\n", &named, EFFACE_E_FORMAT, 2, 1, "the id is empty");
    bad("7,NA,5\n8,1,\n", &named, EFFACE_E_FORMAT, 2, 3, "the label is empty");
}

/* A value that is missing is no sign of a header; a name among numbers and such values is. */
static void headers_are_told_from_missing_values(void **state) {
    (void)state;
    const efface_load_options options = with_missing();
    efface_load_options named = options_of("1", NULL, NULL, NULL);
    named.missing = 1;
    static const struct {
        const char *text;
        size_t n_rows;
        uint64_t n_missing;
    } cases[] = {{"1,,3\n4,5,6\n", 2, 1}, {"NA,NA\n1,2\n", 2, 2}, {"x,NA\n1,2\n", 1, 0},
                 {"x,\n1,\n", 1, 1},      {",\n,\n", 2, 4},       {"?,y\n?,1\n", 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        efface_data *const data = load_text(cases[i].text, &options);
        assert_int_equal(efface_data_n_rows(data), cases[i].n_rows);
        assert_int_equal(efface_data_n_missing(data), cases[i].n_missing);
        efface_data_free(data);
    }
    /* The first line could have the name 1, if it were a header; NA does not make it one. */
    efface_data *const data = load_text("2,1,NA\n3,4,5\n", &named);
    assert_int_equal(efface_data_n_rows(data), 2);
    assert_int_equal(efface_data_row(data, 0).id, 2);
    efface_data_free(data);
    /* Where nothing may be missing, an empty field makes the line a header, as ever. */
    efface_data *const headed = load_ok(BYTES("1,\n4,5\n"), NULL);
    assert_int_equal(efface_data_n_rows(headed), 1);
    efface_data_free(headed);
}

static void offsets_and_rounding_see_files_with_missing_values(void **state) {
    (void)state;
    const efface_offset offset = {.column = "1", .value = 1e9};
    efface_load_options options = with_missing();
    options.offsets = &offset;
    options.n_offsets = 1;
    efface_data *data = load_text("a,b\nNA,?\n1000000020,\n1000000001,1e-60\n", &options);
    assert_true(isnan(ef_data_value(data, 0, 0)) && ef_data_value(data, 1, 0) == 20.0F);
    assert_int_equal(efface_data_n_missing(data), 3);
    efface_data_free(data);
    assert_int_equal(efface_rounding_create(&options.rounding, NULL), EFFACE_OK);
    options.n_offsets = 0;
    const outcome o = load_memory(BYTES("NA,?\n1000000020,\n1000000001,1e-60\n"), 64, &options);
    assert_int_equal(o.status, EFFACE_OK);
    assert_true(efface_rounding_column(options.rounding, 0).collapses);
    assert_int_equal(efface_rounding_column(options.rounding, 1).n_vanished, 1);
    efface_data_free(o.data);
    efface_rounding_free(options.rounding);
}

/* An .npy file of three rows of two columns. */
static size_t make_npy(unsigned char *file, const char *descr, const void *numbers,
                       size_t n_bytes) {
    char text[128];
    const int n = snprintf(text, sizeof text,
                           "{'descr': '%s', 'fortran_order': False, 'shape': (3, 2), }\n", descr);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)n;
    file[9] = 0;
    memcpy(file + 10, text, (size_t)n);
    memcpy(file + 10 + n, numbers, n_bytes);
    return 10 + (size_t)n + n_bytes;
}

static void arrays_have_missing_values(void **state) {
    (void)state;
    const float singles[] = {1, MISSING, -MISSING, 4, 5, 6}, beyond[] = {1, 2, 3, INFINITY, 5, 6};
    const double doubles[] = {1, MISSING, -MISSING, 4, 5, 6};
    const efface_offset offset = {.place = 2, .value = 2.0};
    const efface_category category = {.column = "2"}, nowhere = {.column = "3"};
    unsigned char file[256];
    efface_load_options options = with_missing();
    for (int wide = 0; wide < 2; wide++)
        for (int shifted = 0; shifted < 2; shifted++) {
            const size_t n_bytes = wide ? make_npy(file, "<f8", doubles, sizeof doubles)
                                        : make_npy(file, "<f4", singles, sizeof singles);
            options.offsets = &offset;
            options.n_offsets = (size_t)shifted;
            efface_data *const data = load_same(file, n_bytes, &options);
            assert_int_equal(efface_data_n_missing(data), 2);
            assert_true(isnan(ef_data_value(data, 0, 1)) && isnan(ef_data_value(data, 1, 0)));
            assert_true(ef_data_value(data, 2, 1) == (shifted ? 4.0F : 6.0F));
            efface_data_free(data);
            load_bad(file, n_bytes, NULL, EFFACE_E_FORMAT, 1, 2, "allow missing values");
        }
    options = with_missing();
    const size_t n_bytes = make_npy(file, "<f4", beyond, sizeof beyond);
    load_bad(file, n_bytes, &options, EFFACE_E_FORMAT, 2, 2, "infinite");
    options.categories = &nowhere;
    options.n_categories = 1;
    outcome o = load_memory(file, make_npy(file, "<f4", singles, sizeof singles), 64, &options);
    assert_int_equal(o.status, EFFACE_E_ARGUMENT);
    options.categories = &category;
    o = load_memory(file, make_npy(file, "<f4", singles, sizeof singles), 64, &options);
    assert_int_equal(o.status, EFFACE_OK);
    efface_data_free(o.data);
}

/* ---------------------------------------------------------------- categories */

static float code_of(const char *text) {
    return efface_text_category(text, strlen(text));
}

/* Fixed for all time: stores have these codes, and a model may not change with them. */
static void codes_are_fixed(void **state) {
    (void)state;
    static const char *const texts[] = {"red", "green", "Red", "red ", "", "\xC3\xA9"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const float code = code_of(texts[i]);
        const uint64_t hash = (uint64_t)efface_text_label(texts[i], strlen(texts[i]));
        uint32_t bits;
        memcpy(&bits, &code, sizeof bits);
        assert_true(fabsf(code) >= 0x1p64F && fabsf(code) < 0x1p96F);
        assert_int_equal(bits & 0x7FFFFF, hash & 0x7FFFFF);
        assert_int_equal((bits >> 23 & 0xFF) - 191, hash >> 23 & 31);
        assert_int_equal(bits >> 31, hash >> 28 & 1);
        for (size_t j = 0; j < i; j++)
            assert_true(code != code_of(texts[j]));
    }
    assert_true(code_of("red") == CODE_OF_RED);
    assert_true(code_of("green") == CODE_OF_GREEN);
}

static void texts_become_codes(void **state) {
    (void)state;
    static const efface_category ways[] = {
        {.column = "color"}, {.column = "2"}, {.place = 2}, {.column = "color", .place = 9}};
    efface_load_options options = options_of("id", NULL, NULL, NULL);
    const char *const text = "id,x,color,y\n1,0.5,red,7\n2,1,4.5,8\n3,2, green ,9\n"
                             "4,3,\"red\",0\n5,4,inf,0\n6,5,1e300,0\n7,6,\" red\",0\n";
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        options.categories = &ways[i];
        options.n_categories = 1;
        efface_data *const data = load_text(text, &options);
        const float right[] = {code_of("red"), 4.5F,           code_of("green"),
                               code_of("red"), code_of("inf"), code_of("1e300"),
                               code_of(" red")};
        for (size_t row = 0; row < 7; row++)
            assert_true(ef_data_value(data, row, 1) == right[row]);
        assert_true(ef_data_value(data, 2, 0) == 2 && ef_data_value(data, 2, 2) == 9);
        efface_data_free(data);
    }
    /* A text elsewhere is an error as ever, and so is a missing value that is not allowed. */
    bad("id,x,color\n1,one,red\n", &options, EFFACE_E_FORMAT, 2, 2, "is not a number");
    bad("id,x,color\n1,1,\n", &options, EFFACE_E_FORMAT, 2, 3, "the field is empty");
    bad("id,x,color\n1,1,NA\n", &options, EFFACE_E_FORMAT, 2, 3, "allow missing values");
    options.missing = 1;
    efface_data *const data = load_text("id,x,color\n1,1,\n2,NA,red\n3,?,NA\n", &options);
    assert_int_equal(efface_data_n_missing(data), 4);
    assert_true(isnan(ef_data_value(data, 0, 1)) && ef_data_value(data, 1, 1) == code_of("red"));
    efface_data_free(data);
}

/* Not by order of appearance: a file in another order has the same rows. */
static void codes_do_not_depend_on_the_order(void **state) {
    (void)state;
    const efface_category categories[] = {{.column = "a"}, {.column = "b"}};
    efface_load_options options = options_of("id", NULL, NULL, NULL);
    options.categories = categories;
    options.n_categories = 2;
    efface_data *const one = load_text("id,a,b\n1,x,y\n2,y,x\n3,z,5\n", &options);
    efface_data *const two = load_text("id,a,b\n3,z,5\n2,y,x\n1,x,y\n", &options);
    for (uint64_t id = 1; id <= 3; id++) {
        size_t i, k;
        assert_int_equal(efface_data_find(one, id, &i), EFFACE_OK);
        assert_int_equal(efface_data_find(two, id, &k), EFFACE_OK);
        for (uint32_t j = 0; j < 2; j++)
            assert_true(ef_data_value(one, i, j) == ef_data_value(two, k, j));
    }
    assert_true(ef_data_value(one, 0, 0) == ef_data_value(one, 1, 1));
    efface_data_free(one);
    efface_data_free(two);
}

/* An offset is for numbers. */
static void codes_have_no_offset(void **state) {
    (void)state;
    const efface_category category = {.column = "a"};
    const efface_offset offset = {.column = "a", .value = 0x1p80};
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.categories = &category;
    options.n_categories = 1;
    options.offsets = &offset;
    options.n_offsets = 1;
    efface_data *const data = load_text("a\nred\n0\n", &options);
    assert_true(ef_data_value(data, 0, 0) == code_of("red"));
    assert_true(ef_data_value(data, 1, 0) == -0x1p80F);
    efface_data_free(data);
}

/* A text in a column of categories tells nothing of a header; a name of one that was asked for, or
 * text in another column, does. */
static void headers_are_told_from_categories(void **state) {
    (void)state;
    static const efface_category by_number[] = {{.column = "2"}}, by_place[] = {{.place = 2}},
                                 by_both[] = {{.column = "color", .place = 2}};
    static const efface_category *const ways[] = {by_number, by_place, by_both};
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.n_categories = 1;
    for (size_t i = 0; i < 3; i++) {
        options.categories = ways[i];
        options.header = EFFACE_HEADER_DETECT;
        efface_data *data = load_text("1,4\n2,red\n", &options);
        assert_int_equal(efface_data_n_rows(data), 2);
        efface_data_free(data);
        data = load_text("x,color\n2,red\n", &options);
        assert_int_equal(efface_data_n_rows(data), 1);
        assert_true(ef_data_value(data, 0, 1) == code_of("red"));
        efface_data_free(data);
        bad("1,red\n2,red\n", &options, EFFACE_E_FORMAT, 1, 0, "could be a header or a row");
        options.header = EFFACE_HEADER_NO;
        data = load_text("1,red\n2,red\n", &options);
        assert_int_equal(efface_data_n_rows(data), 2);
        efface_data_free(data);
        options.header = EFFACE_HEADER_YES;
        data = load_text("1,color\n2,red\n", &options);
        assert_int_equal(efface_data_n_rows(data), 1);
        efface_data_free(data);
    }
    /* Found by its name, in a line that could otherwise be a row. */
    options.header = EFFACE_HEADER_DETECT;
    options.categories = by_both;
    efface_data *const data = load_text("1,color\n2,red\n", &options);
    assert_int_equal(efface_data_n_rows(data), 1);
    efface_data_free(data);
}

static void columns_that_are_not_there_are_refused(void **state) {
    (void)state;
    static const efface_category wrong[] = {{.column = "z"}, {.column = "3"}, {.column = "0"}, {0}};
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.n_categories = 1;
    for (size_t i = 0; i < 4; i++) {
        options.categories = &wrong[i];
        const outcome o = load_memory(BYTES("x,y\n1,2\n"), 64, &options);
        assert_int_equal(o.status, EFFACE_E_ARGUMENT);
    }
    const efface_category twice = {.column = "x"};
    options.categories = &twice;
    assert_int_equal(load_memory(BYTES("x,x\n1,2\n"), 64, &options).status, EFFACE_E_ARGUMENT);
    options.categories = NULL;
    assert_int_equal(load_memory(BYTES("x,y\n1,2\n"), 64, &options).status, EFFACE_E_ARGUMENT);
    /* By place it is no error. */
    const efface_category far_away = {.column = "z", .place = 7};
    options.categories = &far_away;
    efface_data *const data = load_text("x,y\n1,2\n", &options);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- models that do not take them */

static void fit_refused(efface_status status, const efface_error *error) {
    assert_int_equal(status, EFFACE_E_LIMIT);
    assert_non_null(strstr(error->message, "column 2 (age)"));
    assert_non_null(strstr(error->message, "a forest"));
}

static void models_are_not_fitted_to_them(void **state) {
    (void)state;
    const float values[] = {1, 2, 3, MISSING, 5, 6, 7, 8};
    efface_data *const data = make_set(4, 2, values);
    efface_kmeans_params kmeans;
    efface_sums_params sums;
    efface_segmented_params segmented;
    efface_model *model = NULL;
    efface_error error;
    efface_kmeans_params_init(&kmeans);
    efface_sums_params_init(&sums);
    efface_segmented_params_init(&segmented);
    const uint32_t target = 0;
    segmented.targets = &target;
    segmented.n_targets = 1;
    assert_int_equal(efface_data_name_column(data, 1, "age", NULL), EFFACE_OK);
    fit_refused(efface_kmeans_fit(data, &kmeans, &model, &error), &error);
    fit_refused(efface_sums_fit(data, &sums, &model, &error), &error);
    fit_refused(ef_model_fit(data, &segmented.common, &model, &error), &error);
    assert_null(model);

    /* What a fitted model is asked about such a set, it refuses too. */
    const float whole[] = {1, 2, 3, 4, 5, 6, 7, 8};
    efface_data *const other = make_set(4, 2, whole);
    assert_int_equal(efface_kmeans_fit(other, &kmeans, &model, NULL), EFFACE_OK);
    efface_difference difference;
    uint32_t labels[4];
    double number;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    fit_refused(efface_model_verify(model, data, &difference, &error), &error);
    fit_refused(efface_kmeans_labels(model, data, labels, &error), &error);
    fit_refused(efface_kmeans_loss(model, data, &number, &error), &error);
    fit_refused(efface_kmeans_silhouette(model, data, NULL, 0, &number, &error), &error);
    assert_int_equal(efface_kmeans_in_sample(model, data, 1), 0);
    assert_int_equal(efface_model_encode(model, &bytes, &n_bytes, NULL), EFFACE_OK);
    efface_model *decoded = NULL;
    fit_refused(efface_model_decode(bytes, n_bytes, &kmeans.common, data, &decoded, &error),
                &error);
    assert_null(decoded);
    efface_number answer;
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, values + 2, 0, &answer, &error),
        EFFACE_E_LIMIT);
    assert_non_null(strstr(error.message, "missing"));
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, whole, 0, &answer, NULL),
        EFFACE_OK);
    efface_bytes_free(bytes);
    efface_model_free(model);
    efface_data_free(other);
    efface_data_free(data);
}

/* A column that no prediction looks at may have anything. */
static void targets_may_be_missing_in_rows_to_predict(void **state) {
    (void)state;
    const float values[] = {1, 2, 3, 4, 5, 6}, asked[] = {2, MISSING};
    const uint32_t target = 1;
    efface_data *const data = make_set(3, 2, values);
    efface_sums_params sums;
    efface_model *model = NULL;
    efface_number answer;
    efface_sums_params_init(&sums);
    sums.view = EFFACE_VIEW_LINEAR;
    sums.targets = &target;
    sums.n_targets = 1;
    assert_int_equal(efface_sums_fit(data, &sums, &model, NULL), EFFACE_OK);
    assert_int_equal(
        efface_predictor_predict(efface_model_predictor(model), 1, asked, 0, &answer, NULL),
        EFFACE_OK);
    assert_true(fabs(answer.real - 3.0) < 1e-6);
    efface_model_free(model);
    efface_data_free(data);
}

static void requests_bring_none_to_a_model(void **state) {
    (void)state;
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8}, come[] = {9, 10, 11, MISSING};
    const uint64_t ids[] = {0, 1}, new_ids[] = {10, 11};
    efface_data *const data = make_set(4, 2, values);
    efface_model *models[2] = {NULL};
    efface_kmeans_params kmeans;
    efface_sums_params sums;
    efface_error error;
    unsigned char before[2][EFFACE_DIGEST_BYTES], after[EFFACE_DIGEST_BYTES];
    efface_kmeans_params_init(&kmeans);
    efface_sums_params_init(&sums);
    assert_int_equal(efface_data_name_column(data, 1, "age", NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(data, &kmeans, &models[0], NULL), EFFACE_OK);
    assert_int_equal(efface_sums_fit(data, &sums, &models[1], NULL), EFFACE_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(efface_model_digest(models[i], before[i], NULL), EFFACE_OK);
    efface_rows rows = {.n_rows = 2, .values = come, .ids = new_ids};
    fit_refused(efface_models_learn(models, 2, data, &rows, NULL, &error), &error);
    assert_non_null(strstr(error.message, "row 2"));
    rows.ids = ids;
    fit_refused(efface_models_update(models, 2, data, &rows, NULL, &error), &error);
    assert_int_equal(efface_data_n_rows(data), 4);
    assert_int_equal(efface_data_n_missing(data), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(efface_model_digest(models[i], after, NULL), EFFACE_OK);
        assert_memory_equal(before[i], after, sizeof after);
    }
    /* The set is that of the models still. */
    rows.n_rows = 1;
    assert_int_equal(efface_models_update(models, 2, data, &rows, NULL, &error), EFFACE_OK);
    for (int i = 0; i < 2; i++)
        efface_model_free(models[i]);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_refuse_missing_values_unless_asked),
        cmocka_unit_test(there_is_one_missing_value),
        cmocka_unit_test(other_users_of_values_pass_missing_ones_over),
        cmocka_unit_test(rounding_passes_them_over),
        cmocka_unit_test(every_spelling_is_missing),
        cmocka_unit_test(headers_are_told_from_missing_values),
        cmocka_unit_test(offsets_and_rounding_see_files_with_missing_values),
        cmocka_unit_test(arrays_have_missing_values),
        cmocka_unit_test(codes_are_fixed),
        cmocka_unit_test(texts_become_codes),
        cmocka_unit_test(codes_do_not_depend_on_the_order),
        cmocka_unit_test(codes_have_no_offset),
        cmocka_unit_test(headers_are_told_from_categories),
        cmocka_unit_test(columns_that_are_not_there_are_refused),
        cmocka_unit_test(models_are_not_fitted_to_them),
        cmocka_unit_test(targets_may_be_missing_in_rows_to_predict),
        cmocka_unit_test(requests_bring_none_to_a_model),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
