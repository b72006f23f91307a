/*
 * Decoding: a model that went through its canonical bytes is the one that was encoded, and goes on
 * as it would have; bytes that are damaged are refused, or are the bytes of another model.
 *
 * The cases are the oracle's (cases.h), trees among them. EFFACE_TEST_CASES sets their number,
 * EFFACE_TEST_SEED runs one.
 */
#include "oracle/cases.h"

#include "efface/efface.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST_SEED UINT64_C(0xdec0de00)
#define DEFAULT_CASES 600ul

static struct { unsigned long methods[4], forgotten, truncated, flipped, accepted; } seen;

/* A set, a model fitted to it, and the model's bytes. */
typedef struct scene {
    trial t;
    efface_data *data;
    efface_model *model;
    unsigned char *bytes;
    size_t n_bytes;
} scene;

static void encode(scene *s) {
    efface_bytes_free(s->bytes);
    assert_int_equal(efface_model_encode(s->model, &s->bytes, &s->n_bytes, NULL), EFFACE_OK);
}

static void begin(scene *s, uint64_t seed) {
    *s = (scene){0};
    if (seed % 3 == 0)
        make_tree_trial(seed, &s->t);
    else
        make_trial(seed, &s->t);
    const efface_rows rows = {.n_rows = s->t.rows.n,
                              .values = s->t.rows.values,
                              .ids = s->t.rows.ids,
                              .weights = s->t.rows.weights};
    assert_int_equal(efface_data_create(s->t.rows.d, &s->data, NULL), EFFACE_OK);
    assert_int_equal(efface_data_add(s->data, &rows, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_fit(s->data, &s->t.params, &s->model, NULL), EFFACE_OK);
    encode(s);
    seen.methods[s->t.params.method]++;
}

static void end(scene *s) {
    efface_bytes_free(s->bytes);
    efface_model_free(s->model);
    efface_data_free(s->data);
    free_trial(&s->t);
}

static efface_model *decode(const scene *s) {
    efface_model *model = NULL;
    efface_error error;
    if (efface_model_decode(s->bytes, s->n_bytes, &s->t.params.common, s->data, &model, &error) !=
        EFFACE_OK)
        fail_msg("refused: %s", error.message);
    return model;
}

static void check_bytes(const scene *s, const efface_model *model) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    assert_int_equal(efface_model_encode(model, &bytes, &n_bytes, NULL), EFFACE_OK);
    assert_int_equal(n_bytes, s->n_bytes);
    assert_memory_equal(bytes, s->bytes, n_bytes);
    efface_bytes_free(bytes);
}

/* The decoded model takes the place of the other, and forgets a few rows; the law holds. */
static void check_that_it_goes_on(scene *s) {
    efface_model_free(s->model);
    s->model = decode(s);
    check_bytes(s, s->model);
    for (int i = 0; i < 3 && efface_data_n_rows(s->data) != 0; i++) {
        const uint64_t id = efface_data_row(s->data, (size_t)below(efface_data_n_rows(s->data))).id;
        efface_difference difference;
        assert_int_equal(efface_model_forget(s->model, s->data,
                                             &(efface_request){.ids = &id, .n_ids = 1}, NULL, NULL),
                         EFFACE_OK);
        assert_int_equal(efface_model_verify(s->model, s->data, &difference, NULL), EFFACE_OK);
        if (!difference.identical)
            fail_msg("after a decoded model forgot: %s, %s", difference.what, difference.where);
        encode(s);
        efface_model_free(s->model);
        s->model = decode(s);
        check_bytes(s, s->model);
        seen.forgotten++;
    }
}

/* Bytes that were cut, or of which a few are wrong. */
static void check_damage(scene *s) {
    const size_t whole = s->n_bytes;
    efface_model *model = NULL;
    for (int i = 0; i < 20; i++, seen.truncated++) {
        s->n_bytes = (size_t)below(whole);
        assert_int_equal(
            efface_model_decode(s->bytes, s->n_bytes, &s->t.params.common, s->data, &model, NULL),
            EFFACE_E_FORMAT);
    }
    s->n_bytes = whole;
    for (int i = 0; i < 40; i++, seen.flipped++) {
        unsigned char *const at = s->bytes + below(whole);
        const unsigned char flip = (unsigned char)(1u << below(8));
        *at ^= flip;
        const efface_status status =
            efface_model_decode(s->bytes, s->n_bytes, &s->t.params.common, s->data, &model, NULL);
        if (status == EFFACE_OK) {
            check_bytes(s, model);
            efface_model_free(model);
            seen.accepted++;
        } else {
            assert_int_equal(status, EFFACE_E_FORMAT);
        }
        *at ^= flip;
    }
}

static void run_case(uint64_t seed) {
    scene s;
    begin(&s, seed);
    check_damage(&s);
    check_that_it_goes_on(&s);
    end(&s);
}

static void a_decoded_model_is_the_one_that_was_encoded(void **state) {
    (void)state;
    const unsigned long n = run_cases(FIRST_SEED, DEFAULT_CASES, run_case);
    if (n == 0)
        return;
    print_message("lloyd %lu, quantized %lu, pyramid %lu, tree %lu; rows forgotten %lu; cut %lu, "
                  "changed %lu, of which %lu were other states\n",
                  seen.methods[0], seen.methods[1], seen.methods[2], seen.methods[3],
                  seen.forgotten, seen.truncated, seen.flipped, seen.accepted);
    for (int m = 0; m < 4; m++)
        assert_true(seen.methods[m] > 0);
    assert_true(seen.forgotten > 0 && seen.accepted > 0 && seen.accepted < seen.flipped);
}

/* Other parameters, or another set, than those of the bytes. */
static void strangers_are_refused(void **state) {
    (void)state;
    scene s;
    for (uint64_t seed = FIRST_SEED;; seed++) {
        begin(&s, seed);
        if (s.t.params.method == EFFACE_METHOD_PYRAMID && s.t.rows.n > 20)
            break;
        end(&s);
    }
    efface_model *model = NULL;
    efface_kmeans_params params = s.t.params;
    params.n_clusters++;
    assert_int_equal(efface_model_decode(s.bytes, s.n_bytes, &params.common, s.data, &model, NULL),
                     EFFACE_E_FORMAT);
    params = s.t.params;
    params.method = EFFACE_METHOD_LLOYD;
    assert_int_equal(efface_model_decode(s.bytes, s.n_bytes, &params.common, s.data, &model, NULL),
                     EFFACE_E_FORMAT);
    params = s.t.params;
    params.pyramid.passes = 11;
    assert_int_equal(efface_model_decode(s.bytes, s.n_bytes, &params.common, s.data, &model, NULL),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_model_decode(NULL, 0, &s.t.params.common, s.data, &model, NULL),
                     EFFACE_E_ARGUMENT);
    const uint64_t id = efface_data_row(s.data, 0).id;
    assert_int_equal(efface_data_remove(s.data, &id, 1, NULL), EFFACE_OK);
    assert_int_equal(
        efface_model_decode(s.bytes, s.n_bytes, &s.t.params.common, s.data, &model, NULL),
        EFFACE_E_FORMAT);
    assert_null(model);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decoded_model_is_the_one_that_was_encoded),
        cmocka_unit_test(strangers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
