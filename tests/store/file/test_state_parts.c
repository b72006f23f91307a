/*
 * States in parts (state_parts.c): how they are divided, what a request writes, what damage is
 * called, and that nothing of a part that shrank or went is left in the file.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/memory.h"
#include "store/file/transactions.h"
#include "store/models/state_parts.h"
#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <sodium.h>

/* ---------------------------------------------------------------- dividing */

/* A state of sections of these lengths, whose bytes say which section they are of. */
static ef_state divide(const size_t *lengths, size_t n) {
    ef_cuts cuts = {0};
    ef_writer w = {.cuts = &cuts};
    ef_state state = {0};
    for (size_t i = 0; i < n; i++) {
        ef_write_cut(&w);
        for (size_t b = 0; b < lengths[i]; b++)
            ef_write_bytes(&w, &(unsigned char){(unsigned char)(i * 7 + b % 5)}, 1);
    }
    assert_false(w.failed);
    assert_int_equal(cuts.n, n - 1); /* none before the first byte */
    REQUIRE_OK(ef_state_divide(w.bytes, w.n_bytes, &cuts, NULL, &state, error));
    ef_free(cuts.at);
    return state;
}

/* Parts follow each other without gaps, in the order of places, none empty or too large. */
static void check_parts(const ef_state *state) {
    size_t at = 0;
    for (size_t i = 0; i < state->n_parts; i++) {
        assert_int_equal(state->parts[i].begin, at);
        assert_true(state->parts[i].n_bytes > 0 && state->parts[i].n_bytes <= EF_PART_BYTES);
        assert_true(i == 0 || state->parts[i].place > state->parts[i - 1].place);
        at += state->parts[i].n_bytes;
    }
    assert_int_equal(at, state->n_bytes);
    assert_true(state->n_parts == 0 || state->parts[0].place == 0);
}

static const ef_state_part *part_at(const ef_state *state, uint64_t place) {
    for (size_t i = 0; i < state->n_parts; i++)
        if (state->parts[i].place == place)
            return &state->parts[i];
    return NULL;
}

/* Parts of one that are not in the other, with the same bytes at the same place. */
static size_t count_others(const ef_state *a, const ef_state *b) {
    size_t n = 0;
    for (size_t i = 0; i < a->n_parts; i++) {
        const ef_state_part *const p = &a->parts[i], *const q = part_at(b, p->place);
        n += q == NULL || p->n_bytes != q->n_bytes ||
             memcmp(a->bytes + p->begin, b->bytes + q->begin, p->n_bytes) != 0;
    }
    return n;
}

static void sections_become_parts(void **state) {
    (void)state;
    const size_t half = EF_PART_BYTES / 2, whole = EF_PART_BYTES;
    const struct {
        size_t lengths[8], n, n_parts;
    } cases[] = {
        {{1}, 1, 1},
        {{whole}, 1, 1},
        {{whole + 1}, 1, 2},
        {{3 * whole}, 1, 3},
        {{half, half}, 2, 1},
        {{half, half + 1}, 2, 2},
        {{1, half, half, 1}, 4, 2}, /* 1 + half, half + 1: pairs begin at even places */
        {{1, whole, 1, 1}, 4, 3},
        {{whole, 1, 1, whole}, 4, 4}, /* the two in the middle are no pair */
        {{1, 1, 1, 1, 1, 1, 1, 1}, 8, 1},
        {{1, 1, 1, whole, 1, 1, 1, 1}, 8, 4},
        {{1, 1, 1, 1, 1, 1, 1}, 7, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ef_state s = divide(cases[i].lengths, cases[i].n);
        check_parts(&s);
        assert_int_equal(s.n_parts, cases[i].n_parts);
        ef_state_free(&s);
    }
}

/* A section that changes its length changes few parts, wherever it stands. */
static void a_change_stays_where_it_is(void **state) {
    (void)state;
    size_t lengths[300];
    for (size_t i = 0; i < 300; i++)
        lengths[i] = 1 + i * 37 % 900 + (i % 97 == 0 ? 40000 : 0);
    ef_state before = divide(lengths, 300);
    check_parts(&before);
    assert_true(before.n_parts > 20);
    for (size_t i = 0; i < 300; i += 7) {
        const size_t was = lengths[i];
        lengths[i] = i % 2 == 0 ? was + 1000 : 1 + was / 3;
        ef_state after = divide(lengths, 300);
        check_parts(&after);
        const size_t most = 2 + (was + 2000) / EF_PART_BYTES;
        assert_true(count_others(&after, &before) <= most);
        lengths[i] = was;
        ef_state_free(&after);
    }
    ef_state_free(&before);
}

/* ---------------------------------------------------------------- in a store */

/* A model of several parts: many clusters, each seed the best of several rows. */
static efface_kmeans_params large_params(void) {
    efface_kmeans_params params = params_of(EFFACE_METHOD_LLOYD);
    params.n_clusters = 55;
    params.candidates = 20;
    params.iterations = 8;
    return params;
}

static efface_store *make_large(void) {
    efface_store *const store = make_store();
    const efface_kmeans_params params = large_params();
    REQUIRE_OK(fit_plain(store, "large", &params, NULL, 0, error));
    fit(store, "small", EFFACE_METHOD_QUANTIZED);
    assert_true(sql_number(in_folder(STORE), "SELECT count(*) FROM states") >= 3);
    return store;
}

/* Only what changed is written, and what is written is what would be written anew. */
static void only_changes_are_written(void **state) {
    (void)state;
    size_t lengths[4] = {100, 50000, 300, 20000};
    ef_state before = divide(lengths, 4);
    lengths[2] = 17000;
    ef_state after = divide(lengths, 4);
    lengths[1] = 10;
    ef_state third = divide(lengths, 4);
    const ef_state nothing = {0}, *const states[] = {&nothing, &before, &before, &after, &third};
    const size_t wanted[] = {before.n_parts - 1, 0, 2, 4};
    efface_store *const store = make_store();
    REQUIRE_OK(ef_store_begin(store, true, error));
    for (size_t i = 0; i < 4; i++) {
        const int changes = sqlite3_total_changes(store->db);
        REQUIRE_OK(ef_state_write(store, 1, states[i], states[i + 1], error));
        assert_int_equal(sqlite3_total_changes(store->db) - changes, wanted[i]);
        unsigned char sum[EF_PARTS_BYTES];
        ef_state read = {0};
        (void)ef_state_sum(&store->head, 1, states[i + 1], sum);
        REQUIRE_OK(ef_state_read(store, 1, ef_state_first(states[i + 1]), sum, &read, error));
        assert_int_equal(read.n_bytes, states[i + 1]->n_bytes);
        assert_memory_equal(read.bytes, states[i + 1]->bytes, read.n_bytes);
        ef_state_free(&read);
    }
    (void)ef_store_end(store, EFFACE_E_ARGUMENT, NULL);
    efface_store_close(store);
    ef_state_free(&before);
    ef_state_free(&after);
    ef_state_free(&third);
}

/* The sections of a model of k-means are its levels, those of a tree its nodes: a root and two
 * leaves, after what stands before all nodes. */
static void sections_are_levels_and_nodes(void **state) {
    (void)state;
    const char *const last = "SELECT max(number >> 23 & 1048575) FROM states WHERE number >> 43 = ";
    char sql[100];
    efface_store *const store = make_store();
    efface_kmeans_params params = large_params();
    REQUIRE_OK(fit_plain(store, "levels", &params, NULL, 0, error));
    params.method = EFFACE_METHOD_TREE;
    params.tree.width = 2;
    REQUIRE_OK(fit_plain(store, "nodes", &params, NULL, 0, error));
    (void)snprintf(sql, sizeof sql, "%s1", last);
    assert_in_range(sql_number(in_folder(STORE), sql), 1, params.iterations + 1);
    (void)snprintf(sql, sizeof sql, "%s2", last);
    assert_int_equal(sql_number(in_folder(STORE), sql), 3);
    forget(store, 4);
    check_whole(store);
    assert_int_equal(sql_number(in_folder(STORE), sql), 3);
    efface_store_close(store);
}

/* However a store came to its rows, its parts are the same. */
static void parts_do_not_tell_what_was(void **state) {
    (void)state;
    efface_store *store = make_large();
    for (uint64_t id = 0; id < 20; id++)
        forget(store, id);
    efface_data *const data = make_rows(20, 0, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    check_whole(store);
    efface_store_close(store);
    text changed = {NULL, 0, 0}, fresh = {NULL, 0, 0};
    sqlite3 *db = open_sql(in_folder(STORE));
    add_models(&changed, db);
    (void)sqlite3_close(db);
    efface_store_close(make_large());
    db = open_sql(in_folder(STORE));
    add_models(&fresh, db);
    (void)sqlite3_close(db);
    assert_true(same(&changed, &fresh));
    free(changed.bytes);
    free(fresh.bytes);
}

/* ---------------------------------------------------------------- damage */

typedef struct heard {
    const char *words;
    unsigned n, n_right;
} heard;

static void hear(void *context, const char *problem) {
    heard *const h = context;
    h->n++;
    h->n_right += strstr(problem, h->words) != NULL;
}

static void check_says(const char *words, const char *sql) {
    heard h = {.words = words};
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REQUIRE_OK(efface_store_check(store, hear, &h, error));
    if (h.n_right == 0)
        fail_msg("%s: none of %u problems says \"%s\"", sql, h.n, words);
    efface_store_close(store);
}

static void damage_has_a_name(void **state) {
    (void)state;
    static const struct {
        const char *sql, *words;
        bool refused; /* by a request */
    } damages[] = {
        {"DELETE FROM states WHERE number = (SELECT max(number) FROM states)",
         "model large: the store is damaged: a part of the state of a model is missing", true},
        {"DELETE FROM states", "a part of the state of a model is missing", true},
        {"INSERT INTO states SELECT max(number) + 1, x'00' FROM states", "too many parts", true},
        {"UPDATE states SET number = number + 1 WHERE number = (SELECT max(number) FROM states)",
         "not in their places", true},
        {"UPDATE states SET bytes = substr(bytes, 2) WHERE number = (SELECT max(number) FROM"
         " states)",
         "wrong lengths", true},
        {"UPDATE states SET bytes = zeroblob(length(bytes))", "does not match its digest", true},
        {"UPDATE states SET bytes = CAST(bytes AS TEXT)", "wrong kind", true},
        {"UPDATE models SET number = 7 WHERE name = 'large'", "missing", true},
        {"UPDATE models SET number = -1 WHERE name = 'large'", "number of a model", true},
        {"INSERT INTO states VALUES (2 << 43 | 5, x'00')", "number of parts", false},
        {"INSERT INTO states VALUES (99 << 43, x'00')", "number of parts", false},
        {"INSERT INTO states VALUES (-1, x'00')", "number of parts", false},
    };
    efface_store_close(make_large());
    image whole = read_image(in_folder(STORE));
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
        run_sql(in_folder(STORE), damages[i].sql);
        check_says(damages[i].words, damages[i].sql);
        efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        if (damages[i].refused)
            REFUSED(EFFACE_E_CORRUPT, "",
                    forget_ids(store, &(uint64_t){5}, 1, EFFACE_MISSING_FAIL, NULL, error));
        efface_store_close(store);
    }
    free(whole.bytes);
}

/* Two parts under one number, which SQL does not make: the number of one is changed in the file. */
static void a_doubled_part_is_found(void **state) {
    (void)state;
    efface_store_close(make_large());
    run_sql(in_folder(STORE), "DELETE FROM receipts"); /* said too */
    const char *const ordered = "SELECT number FROM states ORDER BY number LIMIT 2";
    const uint64_t first = (uint64_t)sql_number(in_folder(STORE), ordered);
    const uint64_t second =
        (uint64_t)sql_number(in_folder(STORE), "SELECT number FROM states ORDER BY number LIMIT 1 "
                                               "OFFSET 1");
    unsigned char was[7], is[7]; /* numbers of SQLite's: seven bits a byte, the highest first */
    for (int b = 0; b < 7; b++) {
        was[b] = (unsigned char)((second >> (42 - 7 * b) & 127) | (b < 6 ? 128 : 0));
        is[b] = (unsigned char)((first >> (42 - 7 * b) & 127) | (b < 6 ? 128 : 0));
    }
    image file = read_image(in_folder(STORE));
    size_t n = 0;
    for (size_t at = 0; at + 7 <= file.n_bytes; at++)
        if (memcmp(file.bytes + at, was, 7) == 0) {
            memcpy(file.bytes + at, is, 7);
            n++;
        }
    assert_true(n != 0);
    write_image(in_folder(STORE), file.bytes, file.n_bytes);
    free(file.bytes);
    check_says("doubled, or in the wrong order", "one number twice");
}

/* ---------------------------------------------------------------- leftovers */

static size_t count_in(const image *file, const unsigned char *bytes, size_t n_bytes) {
    size_t n = 0;
    for (size_t at = 0; at + n_bytes <= file->n_bytes; at++)
        n += memcmp(file->bytes + at, bytes, n_bytes) == 0;
    return n;
}

#define PIECE 24

/* Pieces of a state that are in the file; its first bytes are those of every state. */
static size_t count_left(const image *old) {
    image file = read_image(in_folder(STORE));
    size_t n = 0;
    for (size_t at = 256; at + PIECE <= old->n_bytes; at += 256) {
        unsigned different = 0;
        for (size_t b = 1; b < PIECE; b++)
            different += old->bytes[at + b] != old->bytes[at];
        n += different > 8 && count_in(&file, old->bytes + at, PIECE) != 0;
    }
    free(file.bytes);
    return n;
}

/* A part that shrinks, or goes, leaves nothing: all rows but two are forgotten, the model is
 * dropped. */
static void parts_that_go_leave_nothing(void **state) {
    (void)state;
    efface_store *const store = make_large();
    image old = encode_model(store, "large");
    assert_true(count_left(&old) > 40);
    uint64_t ids[N_ROWS];
    for (uint64_t i = 0; i < N_ROWS; i++)
        ids[i] = i;
    REQUIRE_OK(forget_ids(store, ids, N_ROWS - 2, EFFACE_MISSING_FAIL, NULL, error));
    assert_int_equal(sql_number(in_folder(STORE), "SELECT count(*) FROM states"), 0);
    assert_int_equal(count_left(&old), 0);
    check_whole(store);
    efface_bytes_free(old.bytes);
    efface_data *const data = make_rows(N_ROWS, 3000, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    old = encode_model(store, "large");
    assert_true(count_left(&old) > 40);
    REQUIRE_OK(efface_store_rekey(store, "large", 4711, error));
    check_whole(store);
    image rekeyed = encode_model(store, "large");
    REQUIRE_OK(efface_store_drop(store, "large", error));
    assert_int_equal(sql_number(in_folder(STORE), "SELECT count(*) FROM states"), 0);
    assert_int_equal(count_left(&old), 0);
    assert_int_equal(count_left(&rekeyed), 0);
    efface_bytes_free(old.bytes);
    efface_bytes_free(rekeyed.bytes);
    efface_store_close(store);
}

/* Numbers of models that went are used again when there are no others. */
static void numbers_are_used_again(void **state) {
    (void)state;
    efface_store *const store = make_store();
    int64_t number = 0;
    fit(store, "a", EFFACE_METHOD_LLOYD);
    REQUIRE_OK(ef_store_begin(store, true, error));
    REQUIRE_OK(ef_state_number(store, &number, error));
    assert_int_equal(number, 2);
    REQUIRE_OK(ef_sql_run(store, "UPDATE models SET number = 1048575", error));
    REQUIRE_OK(ef_state_number(store, &number, error));
    assert_int_equal(number, 1);
    (void)ef_store_end(store, EFFACE_E_ARGUMENT, NULL);
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_become_parts),
        cmocka_unit_test(a_change_stays_where_it_is),
        cmocka_unit_test(only_changes_are_written),
        cmocka_unit_test(parts_do_not_tell_what_was),
        cmocka_unit_test(sections_are_levels_and_nodes),
        cmocka_unit_test(damage_has_a_name),
        cmocka_unit_test(a_doubled_part_is_found),
        cmocka_unit_test(parts_that_go_leave_nothing),
        cmocka_unit_test(numbers_are_used_again),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
