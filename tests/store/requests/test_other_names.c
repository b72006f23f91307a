/*
 * Two texts with one number: found by search under the hash key 0, as somebody who has the key of a
 * store finds such texts. Whoever comes second under the number is refused, at every door.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/store_scene.h"
#include "store/seals/seals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWIN_A "fmhcijdookdjcmkd"
#define TWIN_B "bdipmkpndipjoogn"

static const unsigned char no_key[EFFACE_HASH_KEY_BYTES];
static uint64_t twins; /* their number */

static efface_texts *texts_of(efface_text_kind kind, const char *text) {
    efface_texts *texts = NULL;
    REQUIRE_OK(efface_texts_create(&texts, error));
    if (text != NULL)
        REQUIRE_OK(efface_texts_add(texts, kind, twins, text, strlen(text), error));
    return texts;
}

/* One row, of the owner `twins` or with that id. */
static efface_data *row_of(efface_text_kind kind, uint64_t other) {
    efface_data *data = NULL;
    const bool as_owner = kind == EFFACE_TEXT_OWNER, as_label = kind == EFFACE_TEXT_LABEL;
    const uint64_t id = kind == EFFACE_TEXT_ID ? twins : other;
    const int64_t label = (int64_t)twins;
    REQUIRE_OK(efface_data_create(1, &data, error));
    const efface_rows row = {.n_rows = 1,
                             .values = (const float[]){1.5F},
                             .ids = &id,
                             .owners = as_owner ? &twins : NULL,
                             .labels = as_label ? &label : NULL};
    REQUIRE_OK(efface_data_add(data, &row, error));
    efface_data_set_kinds(data, kind == EFFACE_TEXT_ID ? EFFACE_IDS_TEXT : EFFACE_IDS_NUMBERS,
                          as_owner ? EFFACE_IDS_TEXT : EFFACE_IDS_DETECT);
    return data;
}

static efface_store *make(efface_text_kind kind, bool keeps) {
    efface_store_options options;
    efface_store *store = NULL;
    efface_store_options_init(&options);
    memcpy(options.hash_key, no_key, sizeof no_key);
    options.keep_texts = keeps;
    efface_data *const data = row_of(kind, 1);
    efface_texts *const texts = texts_of(kind, TWIN_A);
    empty_folder();
    REQUIRE_OK(efface_store_create(in_folder("names.store"), data, texts, &options, NULL, 0, &store,
                                   error));
    efface_texts_free(texts);
    efface_data_free(data);
    return store;
}

static efface_status learn(efface_store *store, efface_text_kind kind, uint64_t id,
                           const char *text, bool update) {
    efface_error detail;
    efface_data *const data = row_of(kind, id);
    efface_texts *const texts = texts_of(kind, text);
    const efface_status status = update ? efface_store_update(store, data, texts, NULL, &detail)
                                        : efface_store_learn(store, data, texts, NULL, &detail);
    efface_texts_free(texts);
    efface_data_free(data);
    return status;
}

static efface_request request_for(efface_text_kind kind, const efface_texts *texts) {
    efface_request request = {.texts = texts};
    if (kind == EFFACE_TEXT_OWNER) {
        request.owners = &twins;
        request.n_owners = 1;
    } else {
        request.ids = &twins;
        request.n_ids = 1;
    }
    return request;
}

static efface_status find(efface_store *store, efface_text_kind kind, const char *text) {
    efface_data *found = NULL;
    efface_texts *const texts = texts_of(kind, text);
    const efface_request request = request_for(kind, texts);
    const efface_status status = efface_store_find(store, &request, &found, NULL);
    efface_data_free(found);
    efface_texts_free(texts);
    return status;
}

static efface_status forget(efface_store *store, efface_text_kind kind, const char *text,
                            bool only_look) {
    efface_texts *const texts = texts_of(kind, text);
    const efface_request request = request_for(kind, texts);
    const efface_status status = only_look ? efface_store_preview(store, &request, NULL, NULL)
                                           : efface_store_forget(store, &request, NULL, NULL);
    efface_texts_free(texts);
    return status;
}

static uint64_t rows_of(efface_store *store) {
    efface_store_info info;
    REQUIRE_OK(efface_store_get_info(store, &info, error));
    return info.n_rows;
}

static void the_second_is_refused(void **state) {
    (void)state;
    const efface_status other = EFFACE_E_DUPLICATE;
    for (int keeps = 0; keeps < 2; keeps++)
        for (int k = EFFACE_TEXT_ID; k <= EFFACE_TEXT_OWNER; k++) {
            const efface_text_kind kind = (efface_text_kind)k;
            efface_store *store = make(kind, keeps != 0);
            assert_int_equal(find(store, kind, TWIN_B), other);
            assert_int_equal(forget(store, kind, TWIN_B, true), other);
            assert_int_equal(forget(store, kind, TWIN_B, false), other);
            assert_int_equal(learn(store, kind, 2, TWIN_B, false), other);
            assert_int_equal(learn(store, kind, 1, TWIN_B, true), other);
            assert_int_equal(rows_of(store), 1);
            assert_int_equal(find(store, kind, TWIN_A), EFFACE_OK);
            assert_int_equal(find(store, kind, NULL), EFFACE_OK);
            assert_int_equal(learn(store, kind, 1, TWIN_A, true), EFFACE_OK);
            /* The mark is no text, and is never shown as one. */
            char *text = NULL;
            REQUIRE_OK(efface_store_text(store, kind, twins, &text, error));
            assert_true((text != NULL) == (keeps != 0));
            efface_text_free(text);
            /* It goes with the last row. */
            assert_int_equal(forget(store, kind, TWIN_A, true), EFFACE_OK);
            assert_int_equal(forget(store, kind, TWIN_A, false), EFFACE_OK);
            assert_int_equal(learn(store, kind, 2, TWIN_B, false), EFFACE_OK);
            assert_int_equal(find(store, kind, TWIN_A), other);
            assert_int_equal(find(store, kind, TWIN_B), EFFACE_OK);
            efface_store_close(store);
        }
}

/* Texts of labels are kept, whatever the store does with others. */
static void labels_are_compared(void **state) {
    (void)state;
    efface_store *const store = make(EFFACE_TEXT_LABEL, false);
    assert_int_equal(learn(store, EFFACE_TEXT_LABEL, 2, TWIN_B, false), EFFACE_E_DUPLICATE);
    assert_int_equal(learn(store, EFFACE_TEXT_LABEL, 2, TWIN_A, false), EFFACE_OK);
    efface_store_close(store);
}

static void a_collection_has_one_text_for_a_number(void **state) {
    (void)state;
    efface_texts *const a = texts_of(EFFACE_TEXT_OWNER, TWIN_A);
    assert_int_equal(efface_texts_add(a, EFFACE_TEXT_OWNER, twins, TWIN_B, 16, NULL),
                     EFFACE_E_DUPLICATE);
    assert_string_equal(efface_texts_find(a, EFFACE_TEXT_OWNER, twins), TWIN_A);
    efface_texts_free(a);
}

/* How many of the ids are in the fullest bucket, among the owners of the fullest, and in the
 * fullest of 64 parts. */
static void fullest(const ef_head *head, const uint64_t *ids, size_t n, size_t most[3]) {
    enum { N = 1 << 13 };
    size_t *const counts = calloc(3 * N, sizeof *counts);
    assert_non_null(counts);
    for (size_t i = 0; i < n; i++) {
        counts[ef_bucket_of(head, ids[i]) % N]++;
        counts[N + ef_member_bucket_of(head, EF_MEMBER_OWNER, ids[i]) % N]++;
        counts[2 * N + ef_part_of(head->cluster_id, ids[i], 64)]++;
    }
    memset(most, 0, 3 * sizeof *most);
    for (size_t i = 0; i < 3 * N; i++)
        most[i / N] = counts[i] > most[i / N] ? counts[i] : most[i / N];
    free(counts);
}

/* Ids that crowd in one store are nothing special in another. */
static void chosen_numbers_do_not_crowd(void **state) {
    (void)state;
    enum { N = 600 };
    ef_head known = {.dense = 1 << 13, .group_slots = 1 << 8}, other = known;
    memset(other.row_key, 1, sizeof other.row_key);
    memset(other.cluster_id, 1, sizeof other.cluster_id);
    uint64_t ids[N];
    size_t n = 0, most[3];
    for (uint64_t id = UINT64_MAX / 2; n < N; id++)
        if (ef_bucket_of(&known, id) == 300)
            ids[n++] = id;
    fullest(&known, ids, N, most);
    assert_true(most[0] == N && most[1] == N && most[2] >= N / 4);
    fullest(&other, ids, N, most);
    assert_true(most[0] < 20 && most[1] < 20 && most[2] < 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_is_refused),
        cmocka_unit_test(labels_are_compared),
        cmocka_unit_test(chosen_numbers_do_not_crowd),
        cmocka_unit_test(a_collection_has_one_text_for_a_number),
    };
    twins = efface_text_id(TWIN_A, 16, no_key);
    if (twins != efface_text_id(TWIN_B, 16, no_key))
        return 1;
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
