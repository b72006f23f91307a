/* The CSV loader: header lines, names of columns and columns by name, and how messages show them.
 */
#define _POSIX_C_SOURCE 200809L

#include "csv_scene.h"

#include "data/texts/field.h"

static void test_header(void **state) {
    (void)state;
    efface_load_options options = options_of(NULL, NULL, NULL, NULL);
    const double six[] = {1, 2, 3, 4, 5, 6};
    /* Told. */
    options.header = EFFACE_HEADER_YES;
    efface_data *data = expect("0,0\n1,2\n3,4\n", &options, 2, 2, six);
    assert_string_equal(efface_data_column_name(data, 1), "0");
    efface_data_free(data);
    options.header = EFFACE_HEADER_NO;
    efface_data_free(expect("1,2\n3,4\n", &options, 2, 2, six));
    bad("x,y\n1,2\n", &options, EFFACE_E_FORMAT, 1, 1, "not a number");
    /* Detected: one field that is not a number is enough, an empty one too. */
    options.header = EFFACE_HEADER_DETECT;
    data = expect("1, b ,\"c,\"\"d\"\"\"\n1,2,3\n4,5,6\n", &options, 2, 3, six);
    assert_string_equal(efface_data_column_name(data, 0), "1");
    assert_string_equal(efface_data_column_name(data, 1), "b");
    assert_string_equal(efface_data_column_name(data, 2), "c,\"d\"");
    efface_data_free(data);
    data = expect(",1,2\n1,2,3\n4,5,6\n", &options, 2, 3, six);
    assert_null(efface_data_column_name(data, 0));
    assert_string_equal(efface_data_column_name(data, 1), "1");
    efface_data_free(data);
    data = expect("1,2,3\n4,5,6\n", &options, 2, 3, six);
    assert_null(efface_data_column_name(data, 0));
    efface_data_free(data);
    /* Names of columns that are no values are left out. */
    options = options_of("who", NULL, "w", NULL);
    data = expect("a,who,b,w\n1,7,2,3\n", &options, 1, 2, six);
    assert_string_equal(efface_data_column_name(data, 0), "a");
    assert_string_equal(efface_data_column_name(data, 1), "b");
    efface_data_free(data);
}

/* A field of the header that is empty, or spaces only, is no name. */
static void test_columns_without_names(void **state) {
    (void)state;
    const double six[] = {1, 2, 3, 4, 5, 6};
    const struct {
        const char *header, *names[3];
    } cases[] = {
        {"x,,y", {"x", NULL, "y"}},           {"x,y,", {"x", "y", NULL}},
        {",,y", {NULL, NULL, "y"}},           {",,", {NULL, NULL, NULL}},
        {"x,   ,y", {"x", NULL, "y"}},        {"x,\"  \",y", {"x", NULL, "y"}},
        {"x,\t,y", {"x", NULL, "y"}},         {"x,\" \r\n\",y", {"x", NULL, "y"}},
        {"\"\",\" y\",z", {NULL, " y", "z"}}, {"\xFF,\x1B,\xC3\xBC", {"\xFF", "\x1B", "\xC3\xBC"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s\n1,2,3\n4,5,6\n", cases[i].header);
        efface_data *const data = expect(text, NULL, 2, 3, six);
        for (uint32_t j = 0; j < 3; j++) {
            const char *const name = efface_data_column_name(data, j);
            assert_int_equal(name == NULL, cases[i].names[j] == NULL);
            if (name != NULL)
                assert_string_equal(name, cases[i].names[j]);
        }
        efface_data_free(data);
    }
    /* Nobody finds such a column by the name that it does not have, but by its number. */
    efface_load_options options = options_of("", NULL, NULL, NULL);
    bad("x,,y\n1,2,3\n", &options, EFFACE_E_FORMAT, 1, 0,
        "no id column \"\"; the file has the columns x, (no name), y");
    bad("x,\" \",\n1,2,3\n", &options, EFFACE_E_FORMAT, 1, 0, "x, (no name), (no name)");
    options.id_column = " ";
    bad("x,\" \",y\n1,2,3\n", &options, EFFACE_E_FORMAT, 1, 0, "no id column \" \"");
    options.id_column = "2";
    efface_data *const data = expect("x,,y\n1,7,2\n", &options, 1, 2, six);
    assert_int_equal(efface_data_row(data, 0).id, 7);
    assert_string_equal(efface_data_column_name(data, 0), "x");
    assert_string_equal(efface_data_column_name(data, 1), "y");
    efface_data_free(data);
    /* A comma at the end of a header is a column: rows need it too. */
    bad("x,y,\n1,2\n", NULL, EFFACE_E_FORMAT, 2, 0, "2 fields, but the first line has 3");
    bad("x,y,\n1,2,\n", NULL, EFFACE_E_FORMAT, 2, 3, "the field is empty");
}

static void assert_shown(const char *text, size_t n_bytes, const char *right) {
    const ef_field_shown shown = ef_field_show((ef_csv_field){text, n_bytes});
    assert_string_equal(shown.text, right);
}

/* What messages show of names and fields, which may be any bytes. */
static void test_shown(void **state) {
    (void)state;
    assert_shown(BYTES(""), "");
    assert_shown(BYTES("plain \\ \"text\""), "plain \\ \"text\"");
    assert_shown(BYTES("\xC3\xBC \xE2\x82\xAC \xF0\x9F\x8C\xB2"),
                 "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x8C\xB2");
    assert_shown(BYTES("a\nb\tc\0d\x7F"), "a\\x0Ab\\x09c\\x00d\\x7F");
    /* No UTF-8: bytes astray, cut short, too long, surrogates, beyond the last character. */
    assert_shown(BYTES("\x80-\xFF-\xC3"), "\\x80-\\xFF-\\xC3");
    assert_shown(BYTES("\xE2\x82-"), "\\xE2\\x82-");
    assert_shown(BYTES("\xC0\xAF"), "\\xC0\\xAF");
    assert_shown(BYTES("\xE0\x80\xAF"), "\\xE0\\x80\\xAF");
    assert_shown(BYTES("\xED\xA0\x80"), "\\xED\\xA0\\x80");
    assert_shown(BYTES("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
    /* Control characters of more than one byte: CSI, and one that turns the line around. */
    assert_shown(BYTES("\xC2\x9B"
                       "1m"),
                 "\\xC2\\x9B"
                 "1m");
    assert_shown(BYTES("\xE2\x80\xAE"), "\\xE2\\x80\\xAE");
    /* 44 bytes are shown; what is escaped is not cut in two. */
    char text[64], right[64];
    memset(text, 'a', sizeof text);
    (void)snprintf(right, sizeof right, "%.44s", text);
    assert_shown(text, 44, right);
    (void)snprintf(right, sizeof right, "%.44s...", text);
    assert_shown(text, 45, right);
    text[42] = '\x1B';
    (void)snprintf(right, sizeof right, "%.42s...", text);
    assert_shown(text, 43, right);
    /* In the messages about columns. */
    const efface_load_options options = options_of("\x1B[2J", NULL, NULL, NULL);
    bad("a\xFF,\x07\n1,2\n", &options, EFFACE_E_FORMAT, 1, 0,
        "no id column \"\\x1B[2J\"; the file has the columns a\\xFF, \\x07");
}

/* Lines that could be a header or a row are not guessed at: a row would be lost. */
static void test_unclear_header(void **state) {
    (void)state;
    efface_load_options options = options_of("1", NULL, NULL, NULL);
    const double values[] = {0.5, 0.25, 1, 2};
    const char *const people = "north,0.5,0.25\nsou,1,2\n";
    bad(people, &options, EFFACE_E_FORMAT, 1, 0, "option header");
    bad("north,1,2\nsou,3,4\n", &options, EFFACE_E_FORMAT, 1, 0, "option header");
    options.header = EFFACE_HEADER_NO;
    efface_data *data = expect(people, &options, 2, 2, values);
    assert_int_equal(efface_data_row(data, 0).id, efface_text_id("north", 5, options.hash_key));
    efface_data_free(data);
    options.header = EFFACE_HEADER_YES;
    data = expect("name,0.5,0.25\nsou,1,2\n", &options, 1, 2, values + 2);
    assert_int_equal(efface_data_row(data, 0).id, efface_text_id("sou", 3, options.hash_key));
    efface_data_free(data);
    /* A name that is found settles it, and so does a value that is no number. */
    options = options_of("name", NULL, NULL, NULL);
    efface_data_free(expect("name,0.5,0.25\nsou,1,2\n", &options, 1, 2, values + 2));
    options = options_of("1", NULL, NULL, NULL);
    efface_data_free(expect("name,x,0.25\nsou,1,2\n", &options, 1, 2, values + 2));
    efface_data_free(expect(",0.5,0.25\nsou,1,2\n", &options, 1, 2, values + 2));
    /* A weight is a number like a value. */
    options = options_of(NULL, NULL, "1", NULL);
    efface_data_free(expect("w,3,4\n1,1,2\n", &options, 1, 2, values + 2));
}

static void test_columns(void **state) {
    (void)state;
    const double two[] = {1, 2};
    const struct {
        const char *id, *owner, *weight, *label;
    } same[] = {{"id", "own", "w", "y"}, {"1", "3", "5", "6"}, {"id", "3", "w", "6"}};
    for (size_t i = 0; i < 3; i++) {
        const efface_load_options options =
            options_of(same[i].id, same[i].owner, same[i].weight, same[i].label);
        efface_data *const data = expect("id,a,own,b,w,y\n77,1,88,2,99,-66\n", &options, 1, 2, two);
        const efface_row row = efface_data_row(data, 0);
        assert_int_equal(row.id, 77);
        assert_int_equal(row.owner, 88);
        assert_int_equal(row.weight, 99);
        assert_int_equal(row.label, -66);
        assert_int_equal(efface_data_total_weight(data), 99);
        efface_data_free(data);
    }
    /* A header goes before a number. */
    efface_load_options options = options_of("2", NULL, NULL, NULL);
    options.header = EFFACE_HEADER_YES;
    efface_data *data = expect("2,x,y\n7,1,2\n", &options, 1, 2, two);
    assert_int_equal(efface_data_row(data, 0).id, 7);
    efface_data_free(data);

    const efface_status format = EFFACE_E_FORMAT;
    options = options_of("nr", NULL, NULL, NULL);
    bad("id,a,b\n1,2,3\n", &options, format, 1, 0,
        "no id column \"nr\"; the file has the columns id, a, b");
    bad("1,2,3\n", &options, format, 1, 0, "3 columns without names");
    options = options_of(NULL, "4", NULL, NULL);
    bad("id,a,b\n1,2,3\n", &options, format, 1, 0, "no owner column \"4\"");
    options = options_of(NULL, "0", NULL, NULL);
    bad("id,a,b\n1,2,3\n", &options, format, 1, 0, "no owner column \"0\"");
    options = options_of(NULL, NULL, "", NULL);
    bad("id,a,b\n1,2,3\n", &options, format, 1, 0, "no weight column \"\"");
    options = options_of("id", NULL, NULL, "1");
    bad("id,a,b\n1,2,3\n", &options, format, 1, 1, "both the id and the label column");
    options = options_of("a", NULL, NULL, NULL);
    bad("id,a,b,a\n1,2,3,4\n", &options, format, 1, 4,
        "columns 2 and 4 both have the name \"a\", which was given for the id column; rename one, "
        "or name the "
        "column by its number");
    options = options_of("3", NULL, NULL, NULL);
    data = expect("a,b,a\n1,2,7\n", &options, 1, 2, two);
    assert_int_equal(efface_data_row(data, 0).id, 7);
    efface_data_free(data);
    /* No number helps among numbers. */
    options.header = EFFACE_HEADER_YES;
    bad("3,3,x\n1,2,3\n", &options, format, 1, 2, "for the id column; rename one (the file");
    /* Nobody asked for the name. */
    data = load_ok(BYTES("a,a\n1,2\n"), NULL);
    assert_string_equal(efface_data_column_name(data, 0), "a");
    assert_string_equal(efface_data_column_name(data, 1), "a");
    efface_data_free(data);
    options = options_of("id", "a", "b", NULL);
    bad("id,a,b\n1,2,3\n", &options, format, 1, 0, "no column is left");
    /* Names do not fold, and long lists are cut. */
    options = options_of("ID", NULL, NULL, NULL);
    char text[2048] = "id";
    for (int i = 0; i < 100; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ",column%d", i);
    bad(text, &options, format, 1, 0, "the columns id, column0, column1");
    bad(text, &options, format, 1, 0, "...");
}

static void test_many_columns(void **state) {
    (void)state;
    const size_t most = EFFACE_MAX_COLUMNS;
    char *const text = malloc(2 * (most + 8));
    assert_non_null(text);
    for (size_t i = 0; i < most + 8; i++)
        memcpy(text + 2 * i, "1,", 2);
    outcome o = load_memory(text, 2 * most - 1, 1 << 20, NULL);
    assert_int_equal(o.status, EFFACE_OK);
    assert_int_equal(efface_data_n_columns(o.data), most);
    efface_data_free(o.data);
    o = load_memory(text, 2 * most + 1, 1 << 20, NULL);
    assert_int_equal(o.status, EFFACE_E_LIMIT);
    assert_non_null(strstr(o.error.message, "32768 columns of values"));
    const efface_load_options options = options_of("1", "2", "3", "4");
    o = load_memory(text, 2 * (most + 4) - 1, 1 << 20, &options);
    assert_int_equal(o.status, EFFACE_OK);
    efface_data_free(o.data);
    o = load_memory(text, 2 * (most + 5) - 1, 1 << 20, &options);
    assert_int_equal(o.status, EFFACE_E_LIMIT);
    assert_int_equal(o.error.column, most + 5);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),  cmocka_unit_test(test_unclear_header),
        cmocka_unit_test(test_columns), cmocka_unit_test(test_columns_without_names),
        cmocka_unit_test(test_shown),   cmocka_unit_test(test_many_columns),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
