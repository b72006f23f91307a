/* Columns of a file that are not read: by lists, by names that are known; and what numbers of
 * columns mean then. */
#define _POSIX_C_SOURCE 200809L

#include "csv_scene.h"

#include <math.h>

static efface_load_options reading(const char *const *list) {
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.columns = list;
    options.n_columns = 1;
    return options;
}

static efface_load_options ignoring(const char *const *list) {
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.ignored = list;
    options.n_ignored = 1;
    return options;
}

static void refused(const char *text, const efface_load_options *options, const char *words) {
    const outcome o = load_memory(text, strlen(text), 1 << 20, options);
    assert_int_equal(o.status, EFFACE_E_ARGUMENT);
    assert_ptr_equal(o.data, untouched());
    if (strstr(o.error.message, words) == NULL)
        fail_msg("expected \"%s\", got %s", words, o.error.message);
}

/* Four columns, of which two hold no numbers. */
static const char people[] = "name,age,since,size\nann,31,2020-01-31,170\nbob,47,never,181\n";

static void test_lists(void **state) {
    (void)state;
    const double both[] = {31, 170, 47, 181}, size[] = {170, 181};
    const struct {
        const char *list;
        bool ignored;
        const double *values;
        uint32_t n;
    } cases[] = {
        {"age,size", false, both, 2},  {"size,age", false, both, 2}, {"2,4", false, both, 2},
        {"4,age", false, both, 2},     {"4-4", false, size, 1},      {"size", false, size, 1},
        {"name,since", true, both, 2}, {"1,3", true, both, 2},       {"1-3", true, size, 1},
        {"since,1-2", true, size, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const efface_load_options options =
            cases[i].ignored ? ignoring(&cases[i].list) : reading(&cases[i].list);
        efface_data *const data = expect(people, &options, 2, cases[i].n, cases[i].values);
        assert_string_equal(efface_data_column_name(data, cases[i].n - 1), "size");
        efface_data_free(data);
    }
    /* Several lists are one, and what is ignored is not read. */
    static const char *const lists[] = {"age", "3-4"}, *const less[] = {"since"};
    efface_load_options options = reading(lists);
    options.n_columns = 2;
    options.ignored = less;
    options.n_ignored = 1;
    efface_data_free(expect(people, &options, 2, 2, both));
}

/* Ids, owners, weights and labels are no columns of values: lists neither count nor find them. */
static void test_roles(void **state) {
    (void)state;
    const double size[] = {170, 181};
    static const char *const list = "2", *const name = "name";
    efface_load_options options = reading(&list);
    options.id_column = "age";
    options.owner_column = "name";
    efface_data *const data = expect(people, &options, 2, 1, size);
    assert_int_equal(efface_data_row(data, 1).id, 47);
    efface_data_free(data);
    options.columns = &name;
    refused(people, &options, "there is no column 'name' to read");
}

static void test_wrong_lists(void **state) {
    (void)state;
    static const struct {
        const char *list, *words;
    } cases[] = {
        {"weight", "there is no column 'weight' to read; columns of values have names, and all "
                   "have numbers, here from 1 to 4"},
        {"age,5", "there is no column '5'"},
        {"0", "there is no column '0'"},
        {"3-2", "there is no column '3-2'"},
        {"2-9", "there is no column '2-9'"},
        {"age,", "there is no column ''"},
        {"age,2", "'2' names a column that was named before"},
        {"1-2,age", "'age' names a column that was named before"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const efface_load_options options = reading(&cases[i].list);
        refused(people, &options, cases[i].words);
    }
    static const char *const weight = "weight", *const all = "1-4", *const twin = "b";
    efface_load_options options = ignoring(&weight);
    refused(people, &options, "there is no column 'weight' to leave out");
    options = ignoring(&all);
    options.header = EFFACE_HEADER_YES;
    bad(people, &options, EFFACE_E_FORMAT, 1, 0, "no column is left for the values");
    options = reading(&twin);
    refused("a,b,b\n1,2,3\n", &options, "several columns have the name 'b'");
    options = ignoring(NULL);
    refused(people, &options, "must not be NULL");
}

/* A name may have commas, be a number, or look like a range. */
static void test_odd_names(void **state) {
    (void)state;
    const double second[] = {2, 5};
    static const char *const names[] = {"b,c", "7", "1-2", "2"};
    for (size_t i = 0; i < 4; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "a,\"%s\",d\n1,2,3\n4,5,6\n", names[i]);
        efface_load_options options = reading(&names[i]);
        options.header = EFFACE_HEADER_YES;
        efface_data *const data = expect(text, &options, 2, 1, second);
        assert_string_equal(efface_data_column_name(data, 0), names[i]);
        efface_data_free(data);
    }
    /* The name of one column and the number of another: only who knows that there is a header can
     * say which. */
    static const char *const one = "1";
    efface_load_options options = reading(&one);
    refused("a,1\n1,2\n", &options, "set the option header");
    options.header = EFFACE_HEADER_YES;
    const double two[] = {2};
    efface_data_free(expect("a,1\n1,2\n", &options, 1, 1, two));
}

/* A line that only a column which is not read makes no row of numbers is no header for certain. */
static void test_headers(void **state) {
    (void)state;
    static const char *const third = "3", *const named = "c";
    const double four[] = {1, 2, 3, 4};
    efface_load_options options = ignoring(&third);
    bad("1,2,ann\n3,4,bob\n", &options, EFFACE_E_FORMAT, 1, 0, "header");
    options.header = EFFACE_HEADER_NO;
    efface_data_free(expect("1,2,ann\n3,4,bob\n", &options, 2, 2, four));
    options = ignoring(&third);
    efface_data_free(expect("a,b,c\n1,2,ann\n3,4,bob\n", &options, 2, 2, four));
    /* An empty field says nothing. */
    efface_data_free(expect("1,2,\n3,4,bob\n", &options, 2, 2, four));
    options = ignoring(&named);
    efface_data_free(expect("a,b,c\n1,2,ann\n3,4,bob\n", &options, 2, 2, four));
    efface_data_free(expect("1,2,c\n1,2,ann\n3,4,bob\n", &options, 2, 2, four));
}

/* Columns that a model knows: others are passed over where all of these are found. */
static void test_known(void **state) {
    (void)state;
    static const efface_category known[] = {{"size", 1}, {"age", 2}};
    const double both[] = {31, 170, 47, 181}, four[] = {1, 2, 3, 4};
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    options.known = known;
    options.n_known = 2;
    efface_data_free(expect(people, &options, 2, 2, both));
    /* A column without a name, too, such as that of row numbers. */
    efface_data_free(expect(",age,size\n0,31,170\n1,47,181\n", &options, 2, 2, both));
    /* If one is missing, what else has a name is left out, unless something has none. */
    efface_data *data = expect("name,age\nann,1\nbob,2\n", &options, 2, 1, four);
    assert_string_equal(efface_data_column_name(data, 0), "age");
    efface_data_free(data);
    efface_data_free(
        expect("x,,age\n9,1,2\n9,3,4\n", &options, 2, 3, (double[]){9, 1, 2, 9, 3, 4}));
    /* If none is there, all is read. */
    efface_data_free(expect("x,y\n1,2\n3,4\n", &options, 2, 2, four));
    efface_data_free(expect("1,2\n3,4\n", &options, 2, 2, four));
    bad("x,y\n1,2\nann,4\n", &options, EFFACE_E_FORMAT, 3, 1, "the column \"x\"");
    /* Both columns of one name are read: who knows the columns refuses them. */
    efface_data_free(expect("age,b,age,size\n1,x,2,3\n", &options, 1, 3, (double[]){1, 2, 3}));
}

typedef struct told {
    size_t n;
    uint32_t numbers[8];
    char names[8][16];
} told;

static void tell(void *context, uint32_t number, const char *name) {
    told *const t = context;
    t->numbers[t->n] = number;
    (void)snprintf(t->names[t->n++], 16, "%s", name != NULL ? name : "-");
}

static void test_told(void **state) {
    (void)state;
    static const char *const list = "age";
    told t = {.n = 0};
    efface_load_options options = reading(&list);
    options.label_column = "name";
    options.skipped = tell;
    options.skipped_context = &t;
    const char text[] = "name,,age,since\nann,x,1,y\n";
    const outcome o = load_memory(text, strlen(text), 64, &options);
    assert_int_equal(o.status, EFFACE_OK);
    efface_data_free(o.data);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.numbers[0], 1);
    assert_int_equal(t.numbers[1], 3);
    assert_string_equal(t.names[0], "-");
    assert_string_equal(t.names[1], "since");
}

/* Other options count columns of the file, and pass over those that are not read. A place counts
 * those that are. */
static void test_other_options(void **state) {
    (void)state;
    static const char *const list = "2,4";
    const efface_offset offsets[] = {{"4", 0, 100}, {"since", 0, 5}, {"1", 0, 7}},
                        placed[] = {{NULL, 2, 100}}, none[] = {{"weight", 0, 1}};
    efface_load_options options = reading(&list);
    options.offsets = offsets;
    options.n_offsets = 3;
    efface_data *data = expect(people, &options, 2, 2, (double[]){31, 70, 47, 81});
    assert_true(efface_data_offsets(data)[0] == 0 && efface_data_offsets(data)[1] == 100);
    efface_data_free(data);
    options.offsets = placed;
    options.n_offsets = 1;
    efface_data_free(expect(people, &options, 2, 2, (double[]){31, 70, 47, 81}));
    options.offsets = none;
    refused(people, &options, "there is no column of values 'weight'");
    options.n_offsets = 0;
    /* Categories and columns in which nothing may be missing. */
    const efface_category categories[] = {{"4", 0}, {"name", 0}}, complete[] = {{"age", 0}};
    options.categories = categories;
    options.n_categories = 2;
    options.complete = complete;
    options.n_complete = 1;
    options.missing = 1;
    data = expect("name,age,since,size\nann,31,?,big\n", &options, 1, 2,
                  (double[]){31, (double)efface_text_category("big", 3)});
    efface_data_free(data);
    bad("name,age,since,size\nann,?,?,big\n", &options, EFFACE_E_FORMAT, 2, 2,
        "is not a number; give it a value");
}

/* Columns of arrays have numbers. What stands in those that are not read need be no number. */
static void test_arrays(void **state) {
    (void)state;
    enum { N = 3000, D = 40 };
    static const char *const list = "2,40,5-6", *const all = "1-40", *const name = "x";
    static const uint32_t chosen[] = {1, 4, 5, 39};
    char header[128];
    const int n_header =
        snprintf(header, sizeof header,
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }\n", N, D);
    const size_t n_bytes = 10 + (size_t)n_header + (size_t)N * D * sizeof(double);
    unsigned char *const file = malloc(n_bytes);
    assert_non_null(file);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)n_header;
    file[9] = 0;
    memcpy(file + 10, header, (size_t)n_header);
    for (size_t i = 0; i < (size_t)N * D; i++) {
        const double x = i % D == 2 ? (i % 2 != 0 ? (double)NAN : 1e300) : (double)i;
        memcpy(file + 10 + (size_t)n_header + i * sizeof x, &x, sizeof x);
    }
    efface_rounding *rounding = NULL;
    assert_int_equal(efface_rounding_create(&rounding, NULL), EFFACE_OK);
    const efface_offset offsets[] = {{"40", 0, 64}, {"3", 0, 1}};
    for (int with = 0; with < 2; with++) {
        efface_load_options options = reading(&list);
        options.offsets = offsets;
        options.n_offsets = with == 0 ? 0 : 2;
        options.rounding = rounding;
        const outcome o = load_memory(file, n_bytes, 1000, &options);
        assert_int_equal(o.status, EFFACE_OK);
        assert_int_equal(efface_data_n_columns(o.data), 4);
        assert_int_equal(efface_rounding_n_columns(rounding), 4);
        for (size_t i = 0; i < N; i++)
            for (uint32_t j = 0; j < 4; j++) {
                const double x = (double)(i * D + chosen[j]) - (with == 1 && j == 3 ? 64 : 0);
                assert_true(ef_data_value(o.data, i, j) == (float)x);
            }
        efface_data_free(o.data);
    }
    efface_rounding_free(rounding);
    efface_load_options options = reading(&all);
    outcome o = load_memory(file, n_bytes, 1000, &options);
    assert_int_equal(o.error.column, 3);
    options = ignoring(&all);
    o = load_memory(file, n_bytes, 1000, &options);
    assert_int_equal(o.status, EFFACE_E_ARGUMENT);
    options = reading(&name);
    o = load_memory(file, n_bytes, 1000, &options);
    assert_non_null(
        strstr(o.error.message, "there is no column 'x' to read; columns have numbers"));
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),       cmocka_unit_test(test_roles),
        cmocka_unit_test(test_wrong_lists), cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_headers),     cmocka_unit_test(test_known),
        cmocka_unit_test(test_told),        cmocka_unit_test(test_other_options),
        cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
