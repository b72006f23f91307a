/*
 * Texts of classes in published files: those of the classes that the model has, and no others. The
 * reader takes files without them, which are older, and refuses lists that make no sense. Memory
 * may run out anywhere.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/report_scene.h"
#include "store/scenes/plain_store.h"
#include "store/scenes/short_memory.h"

#include <sodium.h>

#define FILE_NAME "out.model"

static void publish(efface_store *store, const char *name) {
    const efface_publishing asked = {.name = name, .path = in_folder(FILE_NAME), .replace = 1};
    REQUIRE_OK(efface_store_publish(store, &asked, NULL, error));
}

static bool has_text(const image *file, const char *text) {
    const size_t n = strlen(text);
    for (size_t at = 0; at + n <= file->n_bytes; at++)
        if (memcmp(file->bytes + at, text, n) == 0)
            return true;
    return false;
}

/* ---------------------------------------------------------------- what is published */

static const char *const kinds[] = {"cat", "dog", "emu"};

static int64_t kind_label(size_t i) {
    return efface_text_label(kinds[i], strlen(kinds[i]));
}

/* Rows of four classes: texts, and the number 7. The class "emu" has the ids 2, 6, 10, ... */
static efface_store *make_classes(void) {
    float values[N_ROWS * N_COLUMNS];
    uint64_t ids[N_ROWS];
    int64_t labels[N_ROWS];
    efface_texts *texts = NULL;
    efface_store *store = NULL;
    efface_sums_params params;
    REQUIRE_OK(efface_texts_create(&texts, error));
    for (size_t i = 0; i < 3; i++)
        REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_LABEL, (uint64_t)kind_label(i), kinds[i],
                                    strlen(kinds[i]), error));
    for (size_t i = 0; i < N_ROWS; i++) {
        ids[i] = i;
        labels[i] = i % 4 < 3 ? kind_label(i % 4) : 7;
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = value_of(i, j) + (float)(i % 4);
    }
    const efface_rows rows = {.n_rows = N_ROWS, .values = values, .ids = ids, .labels = labels};
    efface_data *const data = make_data(N_COLUMNS, &rows);
    efface_sums_params_init(&params);
    params.view = EFFACE_VIEW_BAYES;
    const efface_new_model model = {.name = "m", .params = &params.common};
    empty_folder();
    REQUIRE_OK(efface_store_create(in_folder(STORE), data, texts, NULL, &model, 1, &store, error));
    efface_texts_free(texts);
    efface_data_free(data);
    return store;
}

static void classes_have_their_texts(void **state) {
    (void)state;
    efface_store *const store = make_classes();
    efface_predictor *p = NULL;
    publish(store, "m");
    REQUIRE_OK(efface_predictor_load(in_folder(FILE_NAME), &p, error));
    const efface_predictor_info info = efface_predictor_get_info(p);
    assert_int_equal(info.format, 4);
    assert_int_equal(info.n_classes, 4);
    for (size_t i = 0; i < 3; i++) {
        const char *const text = efface_predictor_class_text(p, kind_label(i));
        assert_non_null(text);
        assert_string_equal(text, kinds[i]);
    }
    assert_null(efface_predictor_class_text(p, 7));
    assert_null(efface_predictor_class_text(p, EFFACE_NO_LABEL));
    efface_predictor_free(p);
    efface_store_close(store);
}

static void a_class_that_is_gone_has_no_text(void **state) {
    (void)state;
    efface_store *const store = make_classes();
    publish(store, "m");
    image file = read_image(in_folder(FILE_NAME));
    assert_true(has_text(&file, "emu"));
    free(file.bytes);
    for (uint64_t id = 2; id < N_ROWS; id += 4)
        forget(store, id);
    publish(store, "m");
    file = read_image(in_folder(FILE_NAME));
    assert_true(has_text(&file, "cat") && has_text(&file, "dog"));
    assert_false(has_text(&file, "emu"));
    free(file.bytes);
    efface_store_close(store);
}

/* A quadratic discriminant that has one row of a class. */
static void a_model_that_cannot_predict_is_refused(void **state) {
    (void)state;
    efface_store *const store = make_classes();
    efface_sums_params params;
    efface_sums_params_init(&params);
    params.view = EFFACE_VIEW_DISCRIMINANT;
    params.discriminant.quadratic = 1;
    const efface_new_model model = {.name = "q", .params = &params.common};
    for (uint64_t id = 6; id < N_ROWS; id += 4)
        forget(store, id);
    REQUIRE_OK(efface_store_fit(store, &model, NULL, error));
    const efface_publishing asked = {.name = "q", .path = in_folder("q.model")};
    efface_error error;
    assert_int_equal(efface_store_publish(store, &asked, NULL, &error), EFFACE_E_ARGUMENT);
    assert_non_null(strstr(error.message, "only one row"));
    assert_null(strstr(error.message, "no rows"));
    check_whole(store);
    efface_store_close(store);
}

/* The n-th allocation fails, for n = 1, 2, ...: nothing is published, or read, until all succeed.
 */
static void memory_runs_out(void **state) {
    (void)state;
    efface_store *const store = make_classes();
    const efface_publishing asked = {.name = "m", .path = in_folder(FILE_NAME), .replace = 1};
    unsigned n_failed = 0;
    for (long n = 1;; n++) {
        has_failed = false;
        allocations_left = n;
        const efface_status status = efface_store_publish(store, &asked, NULL, NULL);
        allocations_left = 0;
        n_failed += has_failed;
        assert_true(status == EFFACE_OK || (has_failed && status != EFFACE_E_CORRUPT));
        if (!has_failed)
            break;
    }
    for (long n = 1;; n++) {
        efface_predictor *p = NULL;
        has_failed = false;
        allocations_left = n;
        const efface_status status = efface_predictor_load(in_folder(FILE_NAME), &p, NULL);
        allocations_left = 0;
        n_failed += has_failed;
        assert_true((status == EFFACE_OK) == (p != NULL));
        assert_true(status == EFFACE_OK || (has_failed && status == EFFACE_E_MEMORY));
        efface_predictor_free(p);
        if (!has_failed)
            break;
    }
    assert_true(n_failed > 50);
    check_whole(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- what is read */

enum { FORMAT_AT = 16, FLAGS_AT = 60, LIST_AT = 72 };

static void put_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

/* The published file of a model without names and offsets, with `list` where texts of classes
 * stand, `format` and flags as they are given, and a digest that fits. */
static efface_status decode_with(const image *file, uint32_t format, uint32_t flags,
                                 const unsigned char *list, size_t n_list, efface_predictor **p) {
    const size_t n = file->n_bytes + n_list;
    unsigned char *const bytes = malloc(n);
    efface_error why = {.message = ""};
    assert_non_null(bytes);
    memcpy(bytes, file->bytes, LIST_AT);
    if (n_list != 0)
        memcpy(bytes + LIST_AT, list, n_list);
    memcpy(bytes + LIST_AT + n_list, file->bytes + LIST_AT, file->n_bytes - LIST_AT);
    put_u32(bytes + FORMAT_AT, format);
    put_u32(bytes + FLAGS_AT, flags);
    (void)crypto_generichash(bytes + n - 32, 32, bytes, n - 32, NULL, 0);
    *p = NULL;
    const efface_status status = efface_predictor_decode(bytes, n, p, &why);
    assert_true((status == EFFACE_OK) == (*p != NULL));
    assert_true(status == EFFACE_OK || (status == EFFACE_E_FORMAT && why.message[0] != '\0'));
    free(bytes);
    return status;
}

/* A file of another format is not taken for damage. */
static void other_formats_are_refused(void **state) {
    (void)state;
    efface_store *const store = make_classes();
    efface_predictor *p = NULL;
    efface_error why;
    publish(store, "m");
    efface_store_close(store);
    image file = read_image(in_folder(FILE_NAME));
    for (uint32_t format = 0; format < 7; format++) {
        if (format == 4)
            continue;
        put_u32(file.bytes + FORMAT_AT, format);
        (void)crypto_generichash(file.bytes + file.n_bytes - 32, 32, file.bytes, file.n_bytes - 32,
                                 NULL, 0);
        assert_int_equal(efface_predictor_decode(file.bytes, file.n_bytes, &p, &why),
                         EFFACE_E_FORMAT);
        assert_non_null(
            strstr(why.message, format < 4 ? "publish it again" : "use a newer program"));
        assert_null(p);
    }
    free(file.bytes);
}

static void lists_are_read_or_refused(void **state) {
    (void)state;
    /* Two texts: -1 is "no", 5 is "yes". */
    static const unsigned char list[] = {2,   0,   0,   0,                       /* */
                                         255, 255, 255, 255, 255, 255, 255, 255, /* */
                                         2,   0,   0,   0,   'n', 'o',           /* */
                                         5,   0,   0,   0,   0,   0,   0,   0,   /* */
                                         3,   0,   0,   0,   'y', 'e', 's'};
    enum { SECOND_CLASS = 18, FIRST_BYTES = 12, FIRST_TEXT = 16 };
    unsigned char other[sizeof list];
    efface_predictor *p = NULL;
    efface_store *const store = make_store();
    fit(store, "m", EFFACE_METHOD_LLOYD);
    publish(store, "m");
    efface_store_close(store);
    image file = read_image(in_folder(FILE_NAME));

    assert_int_equal(decode_with(&file, 4, 4, list, sizeof list, &p), EFFACE_OK);
    assert_string_equal(efface_predictor_class_text(p, -1), "no");
    assert_string_equal(efface_predictor_class_text(p, 5), "yes");
    assert_null(efface_predictor_class_text(p, 0));
    efface_predictor_free(p);

    /* Without a list. */
    assert_int_equal(decode_with(&file, 4, 0, NULL, 0, &p), EFFACE_OK);
    assert_int_equal(efface_predictor_get_info(p).format, 4);
    assert_null(efface_predictor_class_text(p, 5));
    efface_predictor_free(p);
    assert_int_equal(decode_with(&file, 3, 0, NULL, 0, &p), EFFACE_E_FORMAT);
    assert_int_equal(decode_with(&file, 5, 0, NULL, 0, &p), EFFACE_E_FORMAT);
    /* A list without its flag is something else. */
    assert_int_equal(decode_with(&file, 4, 0, list, sizeof list, &p), EFFACE_E_FORMAT);
    assert_int_equal(decode_with(&file, 4, 4, NULL, 0, &p), EFFACE_E_FORMAT);
    assert_int_equal(decode_with(&file, 4, 8, NULL, 0, &p), EFFACE_E_FORMAT);
    static const unsigned char none[4] = {0};
    assert_int_equal(decode_with(&file, 4, 4, none, sizeof none, &p), EFFACE_E_FORMAT);
    /* Cut off; no texts, too many; classes out of order, or twice; an empty text; a zero byte. */
    for (size_t n = 0; n < sizeof list; n++)
        assert_int_equal(decode_with(&file, 4, 4, list, n, &p), EFFACE_E_FORMAT);
    static const struct {
        size_t at;
        unsigned char byte;
    } changes[] = {{0, 0},  {0, 3},          {3, 255}, {SECOND_CLASS + 7, 255},
                   {12, 0}, {FIRST_TEXT, 0}, {12, 3},  {FIRST_BYTES + 3, 255}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        memcpy(other, list, sizeof list);
        other[changes[i].at] = changes[i].byte;
        assert_int_equal(decode_with(&file, 4, 4, other, sizeof other, &p), EFFACE_E_FORMAT);
    }
    memcpy(other, list, sizeof list);
    memcpy(other + SECOND_CLASS, list + 4, 8);
    assert_int_equal(decode_with(&file, 4, 4, other, sizeof other, &p), EFFACE_E_FORMAT);
    free(file.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_their_texts),
        cmocka_unit_test(a_class_that_is_gone_has_no_text),
        cmocka_unit_test(a_model_that_cannot_predict_is_refused),
        cmocka_unit_test(lists_are_read_or_refused),
        cmocka_unit_test(other_formats_are_refused),
        cmocka_unit_test(memory_runs_out),
    };
    return sodium_init() >= 0 && wrap_sqlite_memory() == 0
               ? cmocka_run_group_tests(tests, begin_folder, end_folder)
               : 1;
}
