/* Texts as numbers, and the collection that keeps what numbers stand for. */
#define _POSIX_C_SOURCE 200809L

#include "load_scene.h"

#include "data/texts/text_id.h"
#include "data/texts/texts.h"

static efface_texts *make(void) {
    efface_texts *texts = NULL;
    assert_int_equal(efface_texts_create(&texts, NULL), EFFACE_OK);
    return texts;
}

static void add(efface_texts *texts, efface_text_kind kind, uint64_t number, const char *text) {
    assert_int_equal(efface_texts_add(texts, kind, number, text, strlen(text), NULL), EFFACE_OK);
}

static void assert_text(const efface_texts *texts, efface_text_kind kind, uint64_t number,
                        const char *right) {
    const char *const text = efface_texts_find(texts, kind, number);
    assert_non_null(text);
    assert_string_equal(text, right);
}

/* ---------------------------------------------------------------- the collection */

static void kinds_are_apart(void **state) {
    (void)state;
    efface_texts *const texts = make();
    assert_null(efface_texts_find(texts, EFFACE_TEXT_ID, 7));
    add(texts, EFFACE_TEXT_ID, 7, "north");
    add(texts, EFFACE_TEXT_LABEL, 7, "oak");
    assert_text(texts, EFFACE_TEXT_ID, 7, "north");
    assert_text(texts, EFFACE_TEXT_LABEL, 7, "oak");
    assert_null(efface_texts_find(texts, EFFACE_TEXT_OWNER, 7));
    assert_null(efface_texts_find(texts, EFFACE_TEXT_ID, 8));
    /* What is there stays, and another text is refused. */
    const char *const before = efface_texts_find(texts, EFFACE_TEXT_ID, 7);
    add(texts, EFFACE_TEXT_ID, 7, "north");
    static const char *const others[] = {"south", "nort", "north "};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            efface_texts_add(texts, EFFACE_TEXT_ID, 7, others[i], strlen(others[i]), NULL),
            EFFACE_E_DUPLICATE);
    assert_ptr_equal(efface_texts_find(texts, EFFACE_TEXT_ID, 7), before);
    assert_string_equal(before, "north");
    efface_texts_free(texts);
}

static void any_bytes_but_zero(void **state) {
    (void)state;
    efface_texts *const texts = make();
    efface_error error;
    add(texts, EFFACE_TEXT_OWNER, 0, "");
    add(texts, EFFACE_TEXT_OWNER, UINT64_MAX, "\xFF\xFE\x01 \n\xC3");
    assert_text(texts, EFFACE_TEXT_OWNER, 0, "");
    assert_text(texts, EFFACE_TEXT_OWNER, UINT64_MAX, "\xFF\xFE\x01 \n\xC3");
    /* A part of a longer text. */
    assert_int_equal(efface_texts_add(texts, EFFACE_TEXT_OWNER, 5, "annabel", 3, NULL), EFFACE_OK);
    assert_text(texts, EFFACE_TEXT_OWNER, 5, "ann");
    assert_int_equal(efface_texts_add(texts, EFFACE_TEXT_OWNER, 6, "a\0b", 3, &error),
                     EFFACE_E_ARGUMENT);
    assert_non_null(strstr(error.message, "zero byte"));
    assert_null(efface_texts_find(texts, EFFACE_TEXT_OWNER, 6));
    efface_texts_free(texts);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    efface_texts *const texts = make();
    const efface_text_kind none = (efface_text_kind)3;
    assert_int_equal(efface_texts_create(NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_texts_add(NULL, EFFACE_TEXT_ID, 1, "x", 1, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_texts_add(texts, EFFACE_TEXT_ID, 1, NULL, 0, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_texts_add(texts, none, 1, "x", 1, NULL), EFFACE_E_ARGUMENT);
    assert_null(efface_texts_find(NULL, EFFACE_TEXT_ID, 1));
    assert_null(efface_texts_find(texts, none, 1));
    efface_texts_free(texts);
    efface_texts_free(NULL);
}

static void many_are_found(void **state) {
    (void)state;
    enum { N = 5000 };
    efface_texts *const texts = make();
    const char *first = NULL;
    for (uint64_t i = 0; i < N; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "person %u", (unsigned)i);
        add(texts, (efface_text_kind)(i % 3), i * UINT64_C(0x9E3779B97F4A7C15), text);
        if (i == 0)
            first = efface_texts_find(texts, EFFACE_TEXT_ID, 0);
    }
    for (uint64_t i = 0; i < N; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "person %u", (unsigned)i);
        assert_text(texts, (efface_text_kind)(i % 3), i * UINT64_C(0x9E3779B97F4A7C15), text);
    }
    /* Texts stay where they are while the collection grows. */
    assert_ptr_equal(efface_texts_find(texts, EFFACE_TEXT_ID, 0), first);
    efface_texts_free(texts);
}

static void texts_move_from_one_to_another(void **state) {
    (void)state;
    efface_texts *const to = make(), *const from = make();
    add(to, EFFACE_TEXT_ID, 1, "first");
    add(to, EFFACE_TEXT_ID, 2, "second");
    for (uint64_t i = 2; i < 100; i++)
        add(from, EFFACE_TEXT_ID, i, i == 2 ? "second" : "more");
    add(from, EFFACE_TEXT_LABEL, 2, "oak");
    efface_texts *const other = make();
    add(other, EFFACE_TEXT_OWNER, 2, "ann");
    add(other, EFFACE_TEXT_ID, 2, "another");
    assert_int_equal(ef_texts_move(to, other, NULL), EFFACE_E_DUPLICATE);
    assert_null(efface_texts_find(to, EFFACE_TEXT_OWNER, 2));
    efface_texts_free(other);
    const char *const moved = efface_texts_find(from, EFFACE_TEXT_LABEL, 2);
    assert_int_equal(ef_texts_move(to, from, NULL), EFFACE_OK);
    efface_texts_free(from);
    assert_text(to, EFFACE_TEXT_ID, 1, "first");
    assert_text(to, EFFACE_TEXT_ID, 2, "second");
    for (uint64_t i = 3; i < 100; i++)
        assert_text(to, EFFACE_TEXT_ID, i, "more");
    assert_ptr_equal(efface_texts_find(to, EFFACE_TEXT_LABEL, 2), moved);
    add(to, EFFACE_TEXT_LABEL, 3, "elm");
    assert_text(to, EFFACE_TEXT_LABEL, 3, "elm");
    efface_texts_free(to);
}

/* ---------------------------------------------------------------- numbers of texts */

static void labels_have_no_key(void **state) {
    (void)state;
    static const unsigned char no_key[EFFACE_HASH_KEY_BYTES] = {0};
    assert_true((uint64_t)efface_text_label("oak", 3) == efface_text_id("oak", 3, no_key));
    assert_true(efface_text_label("oak", 3) != efface_text_label("elm", 3));
    assert_true(efface_text_label("", 0) != EFFACE_NO_LABEL);
}

#define UUID "123e4567-e89b-12d3-a456-426614174000"

static const char *const forms[] = {
    UUID,
    "123E4567-E89B-12D3-A456-426614174000",
    "123e4567-E89B-12d3-a456-426614174000",
    "{" UUID "}",
    "{123E4567-E89B-12D3-A456-426614174000}",
    "urn:uuid:" UUID,
    "URN:UUID:123E4567-E89B-12D3-A456-426614174000",
    "urn:uuid:{" UUID "}",
};

static void a_uuid_is_one_text(void **state) {
    (void)state;
    static const unsigned char key[EFFACE_HASH_KEY_BYTES] = {5, 6, 7};
    const ef_text_hash right = ef_hash_text(UUID, 36, key);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char plain[EF_UUID_BYTES];
        assert_true(ef_uuid_read(forms[i], strlen(forms[i]), plain));
        assert_memory_equal(plain, UUID, 36);
        const ef_text_hash hash = ef_hash_text(forms[i], strlen(forms[i]), key);
        assert_true(hash.id == right.id && hash.check == right.check);
        assert_true(efface_text_id(forms[i], strlen(forms[i]), key) == right.id);
        for (size_t j = 0; j < i; j++)
            assert_true(efface_text_label(forms[i], strlen(forms[i])) !=
                        efface_text_label(forms[j], strlen(forms[j])));
    }
    static const char *const others[] = {
        "",
        "123e4567",
        "123e4567e89b12d3a456426614174000",
        "123e4567-e89b-12d3-a456-42661417400",
        "123e4567-e89b-12d3-a456-4266141740000",
        "123e4567-e89b-12d3-a456-42661417400g",
        "123e4567-e89b-12d3-a4564-26614174000",
        "123e4567-e89b-12d3_a456-426614174000",
        "{" UUID,
        "{" UUID " ",
        UUID "}",
        "(" UUID ")",
        "{{" UUID "}}",
        "urn:uuid:",
        "urn:uuid:urn:uuid:" UUID,
        "{urn:uuid:" UUID "}",
        "urn:uuid" UUID,
        " " UUID,
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char plain[EF_UUID_BYTES];
        assert_false(ef_uuid_read(others[i], strlen(others[i]), plain));
        assert_true(efface_text_id(others[i], strlen(others[i]), key) != right.id);
    }
    /* What is no UUID keeps its capitals. */
    assert_true(efface_text_id("Ann", 3, key) != efface_text_id("ann", 3, key));
}

/* ---------------------------------------------------------------- what a loader adds */

static void a_load_tells_what_numbers_stand_for(void **state) {
    (void)state;
    efface_load_options options;
    efface_load_options_init(&options);
    options.id_column = "id";
    options.owner_column = "who";
    options.label_column = "kind";
    options.hash_key[2] = 4;
    options.texts = make();
    efface_data *data = load_ok(BYTES("id,who,kind,x\na,ann,oak,1\nb,,elm,2\n\" c \",\"b\xC3\xB6"
                                      "b\",oak,3\n"),
                                &options);
    for (size_t i = 0; i < 3; i++) {
        static const char *const ids[] = {"a", "b", "c"}, *const kinds[] = {"oak", "elm", "oak"};
        const efface_row row = efface_data_row(data, i);
        assert_text(options.texts, EFFACE_TEXT_ID, row.id, ids[i]);
        assert_text(options.texts, EFFACE_TEXT_LABEL, (uint64_t)row.label, kinds[i]);
    }
    assert_text(options.texts, EFFACE_TEXT_OWNER, efface_data_row(data, 0).owner, "ann");
    assert_text(options.texts, EFFACE_TEXT_OWNER, efface_data_row(data, 2).owner,
                "b\xC3\xB6"
                "b");
    assert_null(efface_texts_find(options.texts, EFFACE_TEXT_OWNER, EFFACE_NO_OWNER));
    efface_data_free(data);
    efface_texts_free(options.texts);
    /* Numbers stand for themselves. */
    options.texts = make();
    data = load_ok(BYTES("id,who,kind,x\n5,7,-1,1\n6,0,2,2\n"), &options);
    assert_null(efface_texts_find(options.texts, EFFACE_TEXT_ID, 5));
    assert_null(efface_texts_find(options.texts, EFFACE_TEXT_OWNER, 7));
    assert_null(efface_texts_find(options.texts, EFFACE_TEXT_LABEL, 2));
    efface_data_free(data);
    efface_texts_free(options.texts);
}

/* Nor is a text kept of rows that nobody gets. */
static void a_load_that_fails_adds_nothing(void **state) {
    (void)state;
    efface_load_options options;
    efface_load_options_init(&options);
    options.owner_column = "who";
    options.texts = make();
    add(options.texts, EFFACE_TEXT_OWNER, 1, "before");
    load_bad(BYTES("who,x\nann,1\nbob,?\n"), &options, EFFACE_E_FORMAT, 3, 2, "not a number");
    assert_null(efface_texts_find(options.texts, EFFACE_TEXT_OWNER,
                                  efface_text_id("ann", 3, options.hash_key)));
    assert_text(options.texts, EFFACE_TEXT_OWNER, 1, "before");
    efface_texts_free(options.texts);
}

static void a_load_knows_all_forms_of_a_uuid(void **state) {
    (void)state;
    efface_load_options options;
    efface_load_options_init(&options);
    options.owner_column = "who";
    options.label_column = "kind";
    options.texts = make();
    efface_data *const data =
        load_ok(BYTES("who,kind,x\n"
                      "{123E4567-E89B-12D3-A456-426614174000},{" UUID "},1\n" UUID "," UUID ",2\n"),
                &options);
    const efface_row first = efface_data_row(data, 0), second = efface_data_row(data, 1);
    assert_true(first.owner == second.owner &&
                first.owner == efface_text_id(UUID, 36, options.hash_key));
    assert_text(options.texts, EFFACE_TEXT_OWNER, first.owner, UUID);
    assert_true(first.label != second.label);
    assert_text(options.texts, EFFACE_TEXT_LABEL, (uint64_t)first.label, "{" UUID "}");
    efface_data_free(data);
    efface_texts_free(options.texts);
    /* So they are duplicates as ids. */
    options.texts = NULL;
    options.id_column = "id";
    options.owner_column = options.label_column = NULL;
    load_bad(BYTES("id,x\n" UUID ",1\nb,2\nurn:uuid:" UUID ",3\n"), &options, EFFACE_E_DUPLICATE, 4,
             0, "same id as row 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_apart),
        cmocka_unit_test(any_bytes_but_zero),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(many_are_found),
        cmocka_unit_test(texts_move_from_one_to_another),
        cmocka_unit_test(labels_have_no_key),
        cmocka_unit_test(a_uuid_is_one_text),
        cmocka_unit_test(a_load_tells_what_numbers_stand_for),
        cmocka_unit_test(a_load_that_fails_adds_nothing),
        cmocka_unit_test(a_load_knows_all_forms_of_a_uuid),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
