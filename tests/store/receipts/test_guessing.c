/*
 * Whoever has the files of a store cannot test guesses of rows that were forgotten or changed.
 *
 * The guessing program has every byte of the folder, the receipt key and the seed included, and
 * guesses best: it knows each state that a model was in before, which is what the right guess of
 * the rows and a fit would give. It takes every string of 32 bytes in the files, as bytes and as
 * hexadecimal digits, and looks for the digest of that state, and for its commitment under every
 * such string as a salt. It finds nothing. It does find the state that is there; and with an
 * opening, which only who asked has, it finds the states before: so it would have found them.
 *
 * The first case is the one that was broken: sums over rows of few values, where guesses are few.
 * EFFACE_TEST_CASES sets how many other cases there are, the families in turn.
 */
#define _XOPEN_SOURCE 700
#include "law/case_rows.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <sodium.h>
#include <cmocka.h>

#include "store/scenes/store_scene.h"
#include "store/seals/commitments.h"

#define NAME "guessed.efface"
#define MAX_STATES 16
#define FIRST_SEED UINT64_C(0x6e550000)

/* ---------------------------------------------------------------- the guessing program */

/* All strings of 32 bytes in the folder, by a table of their first bytes. */
typedef struct strings {
    unsigned char *bytes; /* 32 each */
    size_t n, capacity;
    uint32_t *table; /* n_slots of them: a string, from 1 */
    size_t n_slots;
} strings;

static void add_string(strings *s, const unsigned char *bytes) {
    if (s->n == s->capacity) {
        s->capacity = 2 * s->capacity + 1024;
        s->bytes = realloc(s->bytes, 32 * s->capacity);
        assert_non_null(s->bytes);
    }
    memcpy(s->bytes + 32 * s->n++, bytes, 32);
}

static void read_strings(const char *name, void *context) {
    strings *const s = context;
    image file = read_image(in_folder(name));
    for (size_t at = 0; at + 32 <= file.n_bytes; at++) {
        unsigned char decoded[32];
        size_t n = 0;
        add_string(s, (const unsigned char *)file.bytes + at);
        if (at + 64 <= file.n_bytes &&
            sodium_hex2bin(decoded, sizeof decoded, (const char *)file.bytes + at, 64, NULL, &n,
                           NULL) == 0 &&
            n == sizeof decoded)
            add_string(s, decoded);
    }
    free(file.bytes);
}

static size_t slot_of(const strings *s, const unsigned char *bytes) {
    uint64_t first;
    memcpy(&first, bytes, sizeof first);
    return (size_t)((first * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (s->n_slots - 1);
}

static strings gather_strings(void) {
    strings s = {.n_slots = 1};
    (void)visit_files(folder, read_strings, &s);
    while (s.n_slots < 2 * s.n)
        s.n_slots *= 2;
    s.table = calloc(s.n_slots, sizeof *s.table);
    assert_non_null(s.table);
    for (size_t i = 0; i < s.n; i++) {
        size_t slot = slot_of(&s, s.bytes + 32 * i);
        while (s.table[slot] != 0 &&
               memcmp(s.bytes + 32 * ((size_t)s.table[slot] - 1), s.bytes + 32 * i, 32) != 0)
            slot = (slot + 1) & (s.n_slots - 1);
        s.table[slot] = (uint32_t)i + 1;
    }
    return s;
}

static void free_strings(strings *s) {
    free(s->bytes);
    free(s->table);
}

static bool has_string(const strings *s, const unsigned char *bytes) {
    for (size_t slot = slot_of(s, bytes); s->table[slot] != 0; slot = (slot + 1) & (s->n_slots - 1))
        if (memcmp(s->bytes + 32 * ((size_t)s->table[slot] - 1), bytes, 32) == 0)
            return true;
    return false;
}

/* Whether a guess of a state can be told to be right. */
static bool finds(const strings *s, const unsigned char digest[EFFACE_DIGEST_BYTES]) {
    if (has_string(s, digest))
        return true;
    for (size_t i = 0; i < s->n_slots; i++) {
        unsigned char commitment[EFFACE_DIGEST_BYTES];
        if (s->table[i] == 0)
            continue;
        ef_commit(s->bytes + 32 * ((size_t)s->table[i] - 1), digest, commitment);
        if (has_string(s, commitment))
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- what was there */

typedef struct history {
    efface_store *store;
    unsigned char digests[MAX_STATES][EFFACE_DIGEST_BYTES]; /* of the states that there were */
    size_t n;
    efface_opening openings[MAX_STATES];
    size_t n_openings;
} history;

static void keep_opening(void *context, const efface_opening *opening) {
    history *const h = context;
    assert_true(h->n_openings < MAX_STATES);
    h->openings[h->n_openings++] = *opening;
}

static efface_stored_model now_of(const history *h) {
    efface_stored_model now;
    REQUIRE_OK(efface_store_find_model(h->store, "m", &now, error));
    return now;
}

/* Notes the state that a request is going to end. */
static void note_state(history *h) {
    assert_true(h->n < MAX_STATES);
    memcpy(h->digests[h->n++], now_of(h).digest, EFFACE_DIGEST_BYTES);
}

static void check_guesses(const history *h) {
    strings s = gather_strings();
    const efface_stored_model now = now_of(h);
    assert_true(finds(&s, now.digest)); /* and no wonder: the rows are there */
    for (size_t i = 0; i < h->n; i++)
        if (memcmp(h->digests[i], now.digest, sizeof now.digest) != 0 && finds(&s, h->digests[i]))
            fail_msg("state %zu of %zu can be guessed", i, h->n);
    /* Its power: the salts of openings are strings that are in no file. */
    for (size_t i = 0; i < h->n_openings; i++) {
        unsigned char commitment[EFFACE_DIGEST_BYTES];
        ef_commit(h->openings[i].salt, h->openings[i].digest, commitment);
        assert_true(has_string(&s, commitment));
        assert_true(i + 1 == h->n_openings || !has_string(&s, h->openings[i].salt));
    }
    free_strings(&s);
}

/* Openings open the receipts that they are of, and no others. */
static void check_openings(const history *h) {
    for (size_t i = 0; i < h->n_openings; i++) {
        efface_opening wrong = h->openings[i];
        char *line = NULL;
        REQUIRE_OK(efface_store_receipt(h->store, wrong.receipt, &line, error));
        REQUIRE_OK(efface_receipt_open(line, &wrong, error));
        wrong.salt[i % 32] ^= 1;
        assert_int_equal(efface_receipt_open(line, &wrong, NULL), EFFACE_E_FORMAT);
        wrong = h->openings[i];
        wrong.digest[i % 32] ^= 1;
        assert_int_equal(efface_receipt_open(line, &wrong, NULL), EFFACE_E_FORMAT);
        wrong = h->openings[i];
        wrong.receipt++;
        assert_int_equal(efface_receipt_open(line, &wrong, NULL), EFFACE_E_NOT_FOUND);
        wrong = h->openings[i];
        wrong.model[0] = 'n';
        assert_int_equal(efface_receipt_open(line, &wrong, NULL), EFFACE_E_NOT_FOUND);
        efface_text_free(line);
    }
}

/* ---------------------------------------------------------------- requests */

static void forget_first(history *h) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_store_load(h->store, NULL, &data, NULL, error));
    if (efface_data_n_rows(data) > 1) {
        const uint64_t id = efface_data_row(data, 0).id;
        const efface_request request = {.ids = &id, .n_ids = 1};
        note_state(h);
        REQUIRE_OK(efface_store_forget(h->store, &request, NULL, error));
    }
    efface_data_free(data);
}

/* Gives a row the values of another. */
static void change_last(history *h, uint32_t d) {
    efface_data *data = NULL;
    REQUIRE_OK(efface_store_load(h->store, NULL, &data, NULL, error));
    const size_t n = efface_data_n_rows(data);
    if (n == 0) {
        efface_data_free(data);
        return;
    }
    const uint64_t id = efface_data_row(data, n - 1).id;
    float *const values = calloc(d, sizeof *values);
    assert_non_null(values);
    efface_data_values(data, 0, values);
    efface_data_free(data);
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &id};
    data = make_data(d, &row);
    note_state(h);
    REQUIRE_OK(efface_store_update(h->store, data, NULL, NULL, error));
    efface_data_free(data);
    free(values);
}

static void open_history(history *h, bool asks) {
    efface_store_options options;
    efface_store_options_init(&options);
    options.access = EFFACE_ACCESS_WRITE;
    options.opened = asks ? keep_opening : NULL;
    options.opened_context = h;
    REQUIRE_OK(efface_store_open(in_folder(NAME), &options, &h->store, error));
}

static void walk_history(history *h, uint32_t d, bool asks) {
    open_history(h, asks);
    forget_first(h);
    check_guesses(h);
    change_last(h, d);
    check_guesses(h);
    forget_first(h);
    note_state(h);
    REQUIRE_OK(efface_store_rekey(h->store, "m", 17, error));
    forget_first(h);
    check_guesses(h);
    check_openings(h);
    check_whole(h->store);
    assert_true((h->n_openings != 0) == asks);
    efface_store_close(h->store);
}

static void make_guessed(const efface_data *data, const efface_params *params) {
    const efface_new_model model = {.name = "m", .params = params};
    efface_store *store = NULL;
    empty_folder();
    REQUIRE_OK(efface_store_create(in_folder(NAME), data, NULL, NULL, &model, 1, &store, error));
    efface_store_close(store);
}

/* ---------------------------------------------------------------- cases */

enum { N_FEW = 12, D_FEW = 3, N_VALUES = 5 };

static void few_values(float values[D_FEW], size_t number) {
    for (size_t j = 0; j < D_FEW; j++, number /= N_VALUES)
        values[j] = (float)(number % N_VALUES);
}

/* Sums over a few rows, with the row of `id` as it is guessed. */
static efface_data *guess_rows(uint64_t id, size_t number) {
    float values[N_FEW * D_FEW];
    uint64_t ids[N_FEW];
    for (size_t i = 0; i < N_FEW; i++) {
        ids[i] = i;
        few_values(values + D_FEW * i, i == id ? number : 7 * i + 3);
    }
    const efface_rows rows = {.n_rows = N_FEW, .values = values, .ids = ids};
    return make_data(D_FEW, &rows);
}

/* All rows that there may have been, one after the other. */
static void a_row_of_few_values_cannot_be_guessed(void **state) {
    (void)state;
    const uint64_t forgotten = 5;
    efface_sums_params params;
    efface_sums_params_init(&params);
    efface_data *data = guess_rows(forgotten, 7 * forgotten + 3);
    make_guessed(data, &params.common);
    efface_data_free(data);
    history h = {.n = 0};
    open_history(&h, false);
    const efface_request request = {.ids = &forgotten, .n_ids = 1};
    REQUIRE_OK(efface_store_forget(h.store, &request, NULL, error));
    efface_store_close(h.store);
    strings s = gather_strings();
    for (size_t number = 0; number < N_VALUES * N_VALUES * N_VALUES; number++) {
        efface_model *model = NULL;
        unsigned char digest[EFFACE_DIGEST_BYTES];
        data = guess_rows(forgotten, number);
        REQUIRE_OK(efface_sums_fit(data, &params, &model, error));
        REQUIRE_OK(efface_model_digest(model, digest, error));
        if (finds(&s, digest))
            fail_msg("row %zu of %d was guessed", number, N_VALUES * N_VALUES * N_VALUES);
        efface_model_free(model);
        efface_data_free(data);
    }
    free_strings(&s);
    empty_folder();
}

static void run_case(uint64_t seed) {
    law_case c;
    const law_wish wish = {.seed = seed, .share = 100};
    law_draw_case(law_family_at(seed - FIRST_SEED), &c, &wish, &rng_state);
    const efface_rows rows = {.n_rows = c.rows.n,
                              .values = c.rows.values,
                              .ids = c.rows.ids,
                              .weights = c.rows.weights,
                              .labels = c.rows.labels};
    efface_data *const data = make_data(c.rows.d, &rows);
    history h = {.n = 0};
    make_guessed(data, &c.params.common);
    efface_data_free(data);
    walk_history(&h, c.rows.d, seed % 2 == 0);
    law_free_rows(&c.rows);
    empty_folder();
}

static void states_of_any_family_cannot_be_guessed(void **state) {
    (void)state;
    (void)run_cases(FIRST_SEED, 2, run_case);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_few_values_cannot_be_guessed),
        cmocka_unit_test(states_of_any_family_cannot_be_guessed),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
