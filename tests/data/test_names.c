/* Names have one form, whatever they come as; and what cannot be a name is refused. */
#define _POSIX_C_SOURCE 200809L

#include "load_scene.h"

#include "data/texts/name_form.h"

static const unsigned char key[EFFACE_HASH_KEY_BYTES] = {7, 1, 3};

static efface_name read_name(const char *text, size_t n, efface_ids kind) {
    efface_name name;
    efface_error error;
    if (efface_name_normalize(text, n, kind, key, &name, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    return name;
}

static void assert_form(const char *text, const char *form) {
    efface_name name = read_name(text, strlen(text), EFFACE_IDS_TEXT);
    assert_int_equal(name.n_bytes, strlen(form));
    assert_memory_equal(name.text, form, name.n_bytes);
    assert_true(name.number == efface_text_id(form, strlen(form), key));
    efface_name_clear(&name);
}

static void assert_refused(const char *text, size_t n, efface_ids kind, const char *why,
                           uint64_t column) {
    efface_name name;
    efface_error error;
    assert_int_equal(efface_name_normalize(text, n, kind, key, &name, &error), EFFACE_E_ARGUMENT);
    if (strstr(error.message, why) == NULL)
        fail_msg("\"%s\" is not in: %s", why, error.message);
    assert_int_equal(error.column, column);
    efface_name_clear(&name);
}

static void a_text_has_one_form(void **state) {
    (void)state;
    assert_form("p8", "p8");
    assert_form("p8 ", "p8");
    assert_form("\t p8\r\n", "p8");
    assert_form("a b", "a b");
    assert_form("\xC2\xA0p8\xE3\x80\x80", "p8");           /* a no-break and a wide space */
    assert_form("\xE2\x80\xA8p8\xC2\x85", "p8");           /* a line's end, and the old one */
    assert_form("Jose\xCC\x81", "Jos\xC3\xA9");            /* an accent of its own */
    assert_form("Jos\xC3\xA9", "Jos\xC3\xA9");             /* one with the letter */
    assert_form("\xE2\x84\xAB", "\xC3\x85");               /* the unit is the letter */
    assert_form("q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87"); /* marks have an order */
    assert_form(" {123E4567-E89B-12D3-A456-426614174000}", "123e4567-e89b-12d3-a456-426614174000");
    assert_form("\xC2\xA0{123E4567-E89B-12D3-A456-426614174000}\xE3\x80\x80",
                "123e4567-e89b-12d3-a456-426614174000"); /* pasted, with spaces of other scripts */
    /* What looks alike stays two people. */
    assert_form("p 8", "p 8");
    assert_form("P8", "P8");
    assert_form("\xEF\xBC\x98", "\xEF\xBC\x98"); /* a wide 8 */
}

static void what_nobody_sees_is_refused(void **state) {
    (void)state;
    const efface_ids text = EFFACE_IDS_TEXT;
    assert_refused("", 0, text, "empty", 0);
    assert_refused(" \t\xC2\xA0", 4, text, "empty", 0);
    assert_refused("a\0b", 3, text, "control", 2);
    assert_refused("a\nb", 3, text, "control", 2);
    assert_refused(" p\xE2\x80\x8B", 5, text, "control", 3); /* zero width */
    assert_refused("p\xE2\x80\xAE"
                   "8",
                   5, text, "control", 2);                  /* right to left */
    assert_refused("\xEF\xBB\xBFp", 4, text, "control", 1); /* a byte order mark */
    assert_refused("p\xC2\xAD", 3, text, "control", 2);     /* a soft hyphen */
    assert_refused("p\xFF"
                   "8",
                   3, text, "UTF-8", 2);
    assert_refused("p\xC0\xA0", 3, text, "UTF-8", 2);     /* a space, too long */
    assert_refused("p\xED\xA0\x80", 4, text, "UTF-8", 2); /* half a character */
    assert_refused("p\xC3", 2, text, "UTF-8", 2);
    assert_refused("ab\xCD\xB8", 4, text, "not define", 3); /* U+0378 */
    assert_refused("ab\xF4\x8F\xBF\xBF", 6, text, "not define", 3);
    /* Marks without end would be put in order for ever. */
    char *const marks = malloc(1 << 20);
    assert_non_null(marks);
    for (size_t i = 0; i < 1 << 20; i += 2)
        memcpy(marks + i, i % 4 != 0 ? "\xCC\x87" : "\xCC\xA3", 2);
    assert_refused(marks, 1 << 20, text, "1024 bytes", 1);
    free(marks);
}

static void a_number_has_one_form(void **state) {
    (void)state;
    static const char *const same[] = {"7", "7.0", " 7 ", "\t7.000\n"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        for (int kind = 0; kind < 2; kind++) {
            const efface_name name = read_name(same[i], strlen(same[i]),
                                               kind == 0 ? EFFACE_IDS_NUMBERS : EFFACE_IDS_DETECT);
            assert_true(name.kind == EFFACE_IDS_NUMBERS && name.text == NULL && name.number == 7);
        }
    assert_true(read_name("18446744073709551615", 20, EFFACE_IDS_NUMBERS).number == UINT64_MAX);
    static const char *const wrong[] = {"7.5", "-7",  "+7",  "7.",  ".0",       "7e0",
                                        "ann", "0x7", "7,0", "7 0", "\xD9\xA7", "7.00000001"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_refused(wrong[i], strlen(wrong[i]), EFFACE_IDS_NUMBERS, "not a whole number", 1);
        efface_name name = read_name(wrong[i], strlen(wrong[i]), EFFACE_IDS_DETECT);
        assert_true(name.kind == EFFACE_IDS_TEXT);
        efface_name_clear(&name);
    }
    assert_refused("007", 3, EFFACE_IDS_NUMBERS, "begins with a zero", 1);
    assert_refused("18446744073709551616", 20, EFFACE_IDS_NUMBERS, "2^64", 1);
    assert_refused("", 0, EFFACE_IDS_NUMBERS, "empty", 0);
    /* Texts stay texts. */
    assert_form("7.0", "7.0");
    assert_form("007", "007");
}

static void a_file_brings_names_into_their_form(void **state) {
    (void)state;
    efface_load_options options;
    efface_load_options_init(&options);
    options.owner_column = "who";
    const char *const text = "who,x\n\"p8 \",1\np8,2\n\"\tp8\",3\nJose\xCC\x81,4\nJos\xC3\xA9,5\n"
                             "\xC2\xA0,6\n\" \",7\n";
    efface_data *data = load_ok(text, strlen(text), &options);
    for (size_t i = 0; i < 3; i++)
        assert_true(efface_data_row(data, i).owner == efface_text_id("p8", 2, options.hash_key));
    assert_true(efface_data_row(data, 3).owner == efface_data_row(data, 4).owner);
    assert_true(efface_data_row(data, 5).owner == EFFACE_NO_OWNER &&
                efface_data_row(data, 6).owner == EFFACE_NO_OWNER);
    efface_data_free(data);
    data = load_ok(BYTES("who,x\n7.0,1\n7,2\n\" 7 \",3\n"), &options);
    for (size_t i = 0; i < 3; i++)
        assert_true(efface_data_row(data, i).owner == 7);
    efface_data_free(data);
    load_bad(BYTES("who,x\n7.0,1\n7.5,2\n"), &options, EFFACE_E_FORMAT, 3, 1, "not a whole number");
    load_bad(BYTES("who,x\np,1\np\xFF,2\n"), &options, EFFACE_E_FORMAT, 3, 1, "not valid UTF-8");
    options.owner_column = NULL;
    options.id_column = "id";
    load_bad(BYTES("id,x\np8,1\n\"p8 \",2\n"), &options, EFFACE_E_DUPLICATE, 3, 0, "same id");
    load_bad(BYTES("x,id\n1,p\n2,\" \"\n"), &options, EFFACE_E_FORMAT, 3, 2, "id is empty");
}

static bool look_alike(const char *a, const char *b) {
    ef_name_fold x, y;
    return ef_name_fold_of(a, strlen(a), &x) && ef_name_fold_of(b, strlen(b), &y) && x.n == y.n &&
           memcmp(x.characters, y.characters, x.n * sizeof *x.characters) == 0;
}

static void names_are_near_each_other(void **state) {
    (void)state;
    assert_true(look_alike("Jos\xC3\xA9 P.", "JOSE p."));
    assert_true(look_alike("p 8", "P8"));
    assert_true(look_alike("Stra\xC3\x9F"
                           "e",
                           "STRASSE"));
    assert_true(look_alike("\xEF\xBC\x98", "8"));
    assert_false(look_alike("p8", "p9"));
    assert_false(look_alike(" ", " "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_one_form),
        cmocka_unit_test(what_nobody_sees_is_refused),
        cmocka_unit_test(a_number_has_one_form),
        cmocka_unit_test(a_file_brings_names_into_their_form),
        cmocka_unit_test(names_are_near_each_other),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
