/*
 * Loads without enough memory: the n-th allocation fails, for n = 1, 2, ... until none does. Each
 * load must say so, hand out nothing, add no text to the caller's collection and lose no block.
 */
#define _POSIX_C_SOURCE 200809L

#include "fault/failing_memory.h"

#include "data/files/loaders.h"
#include "efface/efface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct source {
    const char *what;
    const void *bytes;
    size_t n_bytes;
    efface_load_options options;
} source;

static efface_status load(const source *s, efface_data **out, efface_error *error) {
    ef_reader reader;
    efface_status status =
        ef_reader_open_memory(&reader, "rows", s->bytes, s->n_bytes, 1 << 16, error);
    if (status == EFFACE_OK) {
        status = ef_load(&reader, &s->options, out, error);
        ef_reader_close(&reader);
    }
    return status;
}

/* Whether the collection has the text of an owner. */
static bool has_text(const source *s, const char *text) {
    const uint64_t number = efface_text_id(text, strlen(text), s->options.hash_key);
    return efface_texts_find(s->options.texts, EFFACE_TEXT_OWNER, number) != NULL;
}

/* A collection with a text of its own, and one that the source brings again. */
static void make_texts(source *s) {
    efface_texts *texts = NULL;
    const uint64_t bob = efface_text_id("bob", 3, s->options.hash_key);
    assert_int_equal(efface_texts_create(&texts, NULL), EFFACE_OK);
    assert_int_equal(efface_texts_add(texts, EFFACE_TEXT_OWNER, 1, "before", 6, NULL), EFFACE_OK);
    assert_int_equal(efface_texts_add(texts, EFFACE_TEXT_OWNER, bob, "bob", 3, NULL), EFFACE_OK);
    s->options.texts = texts;
}

static void fail_each(source *s, size_t n_rows) {
    const long blocks = atomic_load(&n_blocks);
    make_texts(s);
    const long blocks_before = atomic_load(&n_blocks);
    long n_failed = 0;
    for (long n = 1;; n++) {
        efface_data *data = NULL;
        efface_error error;
        arm(n);
        const efface_status status = load(s, &data, &error);
        const bool reached = disarm();
        if (status == EFFACE_OK) {
            /* Room that is only guessed at may be missing. */
            assert_int_equal(efface_data_n_rows(data), n_rows);
            efface_data_free(data);
            if (!reached)
                break;
            /* The texts are there now: begin with a fresh collection. */
            efface_texts_free(s->options.texts);
            make_texts(s);
            continue;
        }
        n_failed++;
        if (status != EFFACE_E_MEMORY || error.status != status)
            fail_msg("%s, allocation %ld: %s", s->what, n, error.message);
        assert_null(data);
        assert_false(has_text(s, "ann"));
        assert_string_equal(efface_texts_find(s->options.texts, EFFACE_TEXT_OWNER, 1), "before");
        /* The collection may keep larger arrays: two of them and an index for each kind. */
        if (atomic_load(&n_blocks) > blocks_before + 6)
            fail_msg("%s, allocation %ld: blocks were lost", s->what, n);
    }
    assert_true(n_failed > 3);
    efface_texts_free(s->options.texts);
    if (atomic_load(&n_blocks) != blocks)
        fail_msg("%s: %ld blocks were lost", s->what, atomic_load(&n_blocks) - blocks);
}

static void test_csv(void **state) {
    (void)state;
    static const char text[] = "id,who,w,kind,x,,z\na,ann,1,oak,1,2,3\nb,,2,elm,4,5,6\n"
                               "{123e4567-e89b-12d3-a456-426614174000},bob,3,oak,7,8,9\n";
    source s = {.what = "csv", .bytes = text, .n_bytes = sizeof text - 1};
    efface_load_options_init(&s.options);
    s.options.id_column = "id";
    s.options.owner_column = "who";
    s.options.weight_column = "w";
    s.options.label_column = "kind";
    fail_each(&s, 3);
}

/* More rows than a batch, and more texts than the first room for them. */
static void test_long_csv(void **state) {
    (void)state;
    enum { N = 3000 };
    char *const text = __real_malloc(N * 24 + 64);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, 64, "id,who,x\n");
    for (int i = 0; i < N; i++)
        n += (size_t)snprintf(text + n, 24, "r%d,p%d,%d\n", i, i / 300, i);
    source s = {.what = "long csv", .bytes = text, .n_bytes = n};
    efface_load_options_init(&s.options);
    s.options.owner_column = "who";
    s.options.id_column = "id";
    /* Texts of ids are left out of the collection, so that not all of thousands fail in turn. */
    const long blocks = atomic_load(&n_blocks);
    for (long i = 1;; i++) {
        efface_data *data = NULL;
        arm(i);
        const efface_status status = load(&s, &data, NULL);
        const bool reached = disarm();
        if (status == EFFACE_OK) {
            assert_int_equal(efface_data_n_rows(data), N);
            efface_data_free(data);
        } else {
            assert_int_equal(status, EFFACE_E_MEMORY);
            assert_null(data);
        }
        assert_int_equal(atomic_load(&n_blocks), blocks);
        if (!reached)
            break;
    }
    __real_free(text);
}

/* Each allocation of a load of three rows fails in turn; what looks on is as it was. */
static void fail_each_of(const source *s) {
    const long blocks = atomic_load(&n_blocks);
    long n_failed = 0;
    for (long i = 1;; i++) {
        efface_data *data = NULL;
        arm(i);
        const efface_status status = load(s, &data, NULL);
        const bool reached = disarm();
        assert_int_equal(status == EFFACE_OK, data != NULL);
        assert_true(status == EFFACE_OK || status == EFFACE_E_MEMORY);
        efface_data_free(data);
        n_failed += status != EFFACE_OK;
        if (!reached)
            break;
        assert_true(s->options.rounding == NULL || status == EFFACE_OK ||
                    efface_rounding_n_columns(s->options.rounding) == 0);
        assert_true(atomic_load(&n_blocks) == blocks || status == EFFACE_OK);
    }
    assert_true(n_failed > 1);
}

static void test_array(void **state) {
    (void)state;
    unsigned char bytes[16 + 6] = {0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6};
    const long blocks = atomic_load(&n_blocks);
    source s = {.what = "idx", .bytes = bytes, .n_bytes = 18};
    efface_load_options_init(&s.options);
    fail_each_of(&s);
    assert_int_equal(atomic_load(&n_blocks), blocks);
}

/* Offsets take memory of their own, and so does looking at what is rounded. */
static void test_offsets(void **state) {
    (void)state;
    static const char text[] = "x,y\n1,2\n3,4\n5,6\n";
    unsigned char bytes[12 + 48] = {0, 0, 0x0E, 2, 0, 0, 0, 3, 0, 0, 0, 2}; /* zeros, as float64 */
    const efface_offset offset = {.column = "1", .value = 0.5};
    const long blocks = atomic_load(&n_blocks);
    for (int way = 0; way < 2; way++) {
        source s = {.what = "offsets",
                    .bytes = way == 0 ? (const void *)text : bytes,
                    .n_bytes = way == 0 ? sizeof text - 1 : sizeof bytes};
        efface_load_options_init(&s.options);
        s.options.offsets = &offset;
        s.options.n_offsets = 1;
        assert_int_equal(efface_rounding_create(&s.options.rounding, NULL), EFFACE_OK);
        fail_each_of(&s);
        assert_int_equal(efface_rounding_n_columns(s.options.rounding), 2);
        efface_rounding_free(s.options.rounding);
        assert_int_equal(atomic_load(&n_blocks), blocks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_long_csv),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
