/*
 * Requests together (efface_store_change_all), case by case: what becomes of rows that several
 * requests of a group are about, of requests that fail among others that do not, of receipts and
 * their signature, and of a group that fails as a whole. test_store_resident.c compares groups with
 * single calls at random, test_store_faults.c lets disks and memory fail.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"

#include <inttypes.h>

#define MAX_CHANGES 8

/* ---------------------------------------------------------------- groups of requests */

typedef struct group {
    efface_store_change changes[MAX_CHANGES];
    efface_request requests[MAX_CHANGES];
    uint64_t ids[MAX_CHANGES][2];
    size_t n;
} group;

static efface_store_change *ask(group *g, efface_change_kind kind) {
    assert_true(g->n < MAX_CHANGES);
    efface_store_change *const change = &g->changes[g->n++];
    *change = (efface_store_change){.kind = kind, .status = EFFACE_E_IO};
    return change;
}

/* To forget an id, or two. */
static efface_store_change *ask_to_forget(group *g, uint64_t a, uint64_t b,
                                          efface_missing missing) {
    efface_request *const request = &g->requests[g->n];
    uint64_t *const ids = g->ids[g->n];
    ids[0] = a;
    ids[1] = b;
    *request = (efface_request){.ids = ids, .n_ids = a == b ? 1 : 2, .missing = missing};
    efface_store_change *const change = ask(g, EFFACE_CHANGE_FORGET);
    change->request = request;
    return change;
}

static efface_store_change *ask_with(group *g, efface_change_kind kind, const efface_data *data) {
    efface_store_change *const change = ask(g, kind);
    change->data = data;
    return change;
}

static void do_group(efface_store *store, group *g) {
    REQUIRE_OK(efface_store_change_all(store, g->changes, g->n, error));
}

static void free_group(group *g) {
    for (size_t i = 0; i < g->n; i++)
        efface_store_report_free(&g->changes[i].report);
    g->n = 0;
}

static void check_status(const efface_store_change *change, efface_status status,
                         const char *words) {
    if (change->status != status)
        fail_msg("status %d, not %d: %s", (int)change->status, (int)status, change->error.message);
    assert_int_equal(change->error.status, status);
    if (strstr(change->error.message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", change->error.message, words);
    if (status != EFFACE_OK)
        assert_true(change->report.receipt == 0 && change->report.models == NULL &&
                    change->report.row_hashes == NULL);
}

/* Each model has a receipt of its own. */
#define N_ADDED 2

static efface_store *make_store_with_models(void) {
    efface_store *const store = make_store();
    fit(store, "lloyd", EFFACE_METHOD_LLOYD);
    fit(store, "pyramid", EFFACE_METHOD_PYRAMID);
    return store;
}

static bool has_row(efface_store *store, uint64_t id) {
    const efface_request request = {.ids = &id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
    efface_data *rows = NULL;
    REQUIRE_OK(efface_store_find(store, &request, &rows, error));
    const bool there = efface_data_n_rows(rows) == 1;
    efface_data_free(rows);
    return there;
}

static bool receipt_says(efface_store *store, uint64_t number, const char *words) {
    char *const json = receipt_of(store, number);
    const bool says = strstr(json, words) != NULL;
    efface_text_free(json);
    return says;
}

static void fail_line(void *context, size_t line, const char *problem) {
    (void)context;
    fail_msg("receipt %zu: %s", line, problem);
}

/* All receipts, as somebody outside of the store verifies them. */
static void check_chain(efface_store *store, const unsigned char *public_key) {
    const size_t n = (size_t)info_of(store).n_receipts;
    char *lines[2 * MAX_CHANGES];
    assert_true(n <= 2 * MAX_CHANGES);
    for (size_t i = 0; i < n; i++)
        lines[i] = receipt_of(store, i + 1);
    REQUIRE_OK(
        efface_receipts_verify((const char *const *)lines, n, public_key, fail_line, NULL, error));
    for (size_t i = 0; i < n; i++)
        efface_text_free(lines[i]);
}

/* ---------------------------------------------------------------- rows of several requests */

/* A row belongs to the request that names it first. */
static void a_row_is_forgotten_once(void **state) {
    (void)state;
    efface_store *const store = make_store_with_models();
    group g = {.n = 0};
    const efface_store_change *const first = ask_to_forget(&g, 1, 2, EFFACE_MISSING_FAIL);
    const efface_store_change *const second = ask_to_forget(&g, 2, 2, EFFACE_MISSING_FAIL);
    const efface_store_change *const third = ask_to_forget(&g, 3, 2, EFFACE_MISSING_SKIP);
    const efface_store_change *const fourth = ask_to_forget(&g, 2, 2, EFFACE_MISSING_SKIP);
    do_group(store, &g);
    check_status(first, EFFACE_OK, "");
    check_status(second, EFFACE_E_NOT_FOUND, "there is no row with id 2 (1 in all)");
    check_status(third, EFFACE_OK, "");
    check_status(fourth, EFFACE_OK, "");
    assert_true(first->report.n_forgotten == 2 && first->report.n_missing == 0);
    assert_true(third->report.n_forgotten == 1 && third->report.n_missing == 1);
    assert_true(third->report.n_requested == 2 && third->report.n_row_hashes == 1);
    assert_true(fourth->report.n_forgotten == 0 && fourth->report.n_missing == 1);
    assert_true(first->report.receipt == 3 && third->report.receipt == 4 &&
                fourth->report.receipt == 5);
    assert_true(first->report.group == 3 && third->report.group == 3 && fourth->report.group == 3);
    assert_true(first->report.n_models == 2 && third->report.n_models == 2 &&
                fourth->report.n_models == 0);
    assert_int_equal(info_of(store).n_rows, N_ROWS - 3);
    assert_int_equal(info_of(store).n_receipts, N_ADDED + 3);
    for (uint64_t number = N_ADDED + 1; number <= N_ADDED + 3; number++)
        assert_true(receipt_says(store, number, "\"group\":3,\"previous\":"));
    assert_true(receipt_says(store, 3, "\"rows\":{\"count\":2,"));
    assert_true(receipt_says(store, 4, "\"missing\":1,\"forgotten\":1,"));
    assert_true(receipt_says(store, 5, "\"models\":[]"));
    free_group(&g);
    /* One alone is no group. */
    (void)ask_to_forget(&g, 10, 10, EFFACE_MISSING_FAIL);
    (void)ask_to_forget(&g, 2, 2, EFFACE_MISSING_FAIL);
    do_group(store, &g);
    assert_true(g.changes[0].report.group == 0 && g.changes[0].report.receipt == 6);
    assert_false(receipt_says(store, 6, "group"));
    free_group(&g);
    check_chain(store, NULL);
    check_whole(store);
    efface_store_close(store);
}

/* An owner whose rows are all taken is not there any more. */
static void owners_share_rows_with_ids(void **state) {
    (void)state;
    efface_store *const store = make_store_with_models();
    const uint64_t owner = 1004; /* of the rows 12, 13 and 14 */
    const uint64_t nobody = EFFACE_NO_OWNER;
    const efface_request by_owner = {.owners = &owner, .n_owners = 1};
    const efface_request by_nobody = {.owners = &nobody, .n_owners = 1};
    group g = {.n = 0};
    (void)ask_to_forget(&g, 13, 13, EFFACE_MISSING_FAIL);
    ask(&g, EFFACE_CHANGE_FORGET)->request = &by_owner;
    ask(&g, EFFACE_CHANGE_FORGET)->request = &by_nobody;
    (void)ask_to_forget(&g, 12, 12, EFFACE_MISSING_FAIL);
    ask(&g, EFFACE_CHANGE_FORGET)->request = &by_owner;
    do_group(store, &g);
    check_status(&g.changes[0], EFFACE_OK, "");
    check_status(&g.changes[1], EFFACE_OK, "");
    assert_true(g.changes[1].report.n_forgotten == 2 && g.changes[1].report.n_missing == 0);
    check_status(&g.changes[2], EFFACE_E_ARGUMENT, "EFFACE_NO_OWNER");
    check_status(&g.changes[3], EFFACE_E_NOT_FOUND, "id 12");
    check_status(&g.changes[4], EFFACE_E_NOT_FOUND, "owner 1004");
    assert_int_equal(info_of(store).n_owners, N_ROWS / 3 - 1);
    free_group(&g);
    check_whole(store);
    efface_store_close(store);
}

/* Learned, changed and forgotten; forgotten and learned again: in the order of requests. */
static void requests_see_those_before_them(void **state) {
    (void)state;
    efface_store *const store = make_store_with_models();
    efface_data *const newcomer = make_rows(1, 200, true), *const known = make_rows(1, 7, true);
    efface_data *const nameless = make_rows(2, 300, false);
    group g = {.n = 0};
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, newcomer);
    (void)ask_with(&g, EFFACE_CHANGE_UPDATE, newcomer);
    (void)ask_to_forget(&g, 200, 200, EFFACE_MISSING_FAIL);
    (void)ask_with(&g, EFFACE_CHANGE_UPDATE, newcomer);
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, known);
    (void)ask_to_forget(&g, 7, 7, EFFACE_MISSING_FAIL);
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, known);
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, nameless);
    do_group(store, &g);
    check_status(&g.changes[0], EFFACE_OK, "");
    check_status(&g.changes[1], EFFACE_OK, "");
    check_status(&g.changes[2], EFFACE_OK, "");
    check_status(&g.changes[3], EFFACE_E_NOT_FOUND, "id 200");
    check_status(&g.changes[4], EFFACE_E_DUPLICATE, "id 7 exists already");
    check_status(&g.changes[5], EFFACE_OK, "");
    check_status(&g.changes[6], EFFACE_OK, "");
    check_status(&g.changes[7], EFFACE_OK, "");
    assert_true(has_row(store, 7) && !has_row(store, 200));
    const uint64_t *const drawn = g.changes[7].report.new_ids;
    assert_true(drawn != NULL && drawn[0] != drawn[1]);
    assert_true(has_row(store, drawn[0]) && has_row(store, drawn[1]));
    assert_true(g.changes[6].report.new_ids == NULL);
    assert_int_equal(info_of(store).n_rows, N_ROWS + 2);
    assert_int_equal(info_of(store).n_receipts, N_ADDED + 6);
    /* No state in between: all have the commitments from before and after the group. */
    for (size_t i = 0; i < g.n; i++)
        for (uint32_t k = 0; k < g.changes[i].report.n_models; k++) {
            const efface_model_report *const m = &g.changes[i].report.models[k];
            assert_memory_equal(m->before, g.changes[0].report.models[k].before,
                                EFFACE_DIGEST_BYTES);
            assert_memory_equal(m->after, g.changes[7].report.models[k].after, EFFACE_DIGEST_BYTES);
        }
    efface_stored_model model;
    REQUIRE_OK(model_at(store, 0, &model, error));
    assert_memory_equal(model.commitment, g.changes[0].report.models[0].after, EFFACE_DIGEST_BYTES);
    free_group(&g);
    efface_data_free(newcomer);
    efface_data_free(known);
    efface_data_free(nameless);
    check_whole(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- requests that fail */

static void wrong_requests_hinder_no_others(void **state) {
    (void)state;
    efface_store *const store = make_store_with_models();
    static const float values[N_COLUMNS] = {1.0F, 2.0F, 3.0F, 4.0F};
    const int64_t heavy = EFFACE_MAX_WEIGHT - 1;
    const uint64_t id = 500;
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &id, .weights = &heavy};
    efface_data *const too_heavy = make_data(N_COLUMNS, &row);
    efface_data *const too_narrow = make_data(N_COLUMNS - 1, &row);
    const efface_request no_list = {.n_ids = 1};
    group g = {.n = 0};
    (void)ask_to_forget(&g, 1, 1, EFFACE_MISSING_FAIL);
    (void)ask(&g, EFFACE_CHANGE_FORGET);
    ask(&g, EFFACE_CHANGE_FORGET)->request = &no_list;
    (void)ask(&g, EFFACE_CHANGE_UPDATE);
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, too_narrow);
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, too_heavy);
    (void)ask(&g, (efface_change_kind)7);
    (void)ask_to_forget(&g, 2, 2, EFFACE_MISSING_FAIL);
    do_group(store, &g);
    check_status(&g.changes[0], EFFACE_OK, "");
    for (size_t i = 1; i < 7; i++)
        check_status(&g.changes[i], i != 5 ? EFFACE_E_ARGUMENT : EFFACE_E_LIMIT, "");
    check_status(&g.changes[7], EFFACE_OK, "");
    assert_true(g.changes[7].report.receipt == 4 && g.changes[7].report.group == 3);
    free_group(&g);
    efface_data_free(too_heavy);
    efface_data_free(too_narrow);
    check_whole(store);
    efface_store_close(store);
}

/* A request that fails among others leaves nothing in the head either: the weight of all rows and
 * what kind the ids are. */
static void what_fails_leaves_no_trace(void **state) {
    (void)state;
    efface_store *const store = make_store_with_models();
    efface_data *const again = make_rows(3, 58, true);
    for (int with = 0; with < 2; with++) {
        group g = {.n = 0};
        image before = read_image(in_folder(STORE));
        (void)ask_with(&g, EFFACE_CHANGE_LEARN, again);
        (void)ask_to_forget(&g, 999, 999, EFFACE_MISSING_FAIL);
        if (with != 0)
            (void)ask_to_forget(&g, 5, 5, EFFACE_MISSING_FAIL);
        do_group(store, &g);
        check_status(&g.changes[0], EFFACE_E_DUPLICATE, "58");
        check_status(&g.changes[1], EFFACE_E_NOT_FOUND, "999");
        image after = read_image(in_folder(STORE));
        if (with == 0)
            check_same_image(&before, &after);
        free(before.bytes);
        free(after.bytes);
        free_group(&g);
        assert_int_equal(info_of(store).n_receipts, N_ADDED + with);
        check_whole(store);
    }
    efface_data_free(again);
    efface_store_close(store);
}

/* Damage of one row fails the request that meets it. */
static void damage_is_of_whom_it_concerns(void **state) {
    (void)state;
    efface_store *store = make_store_with_models();
    efface_store_close(store);
    /* 54 is in another bucket than 1 and 2. */
    run_sql(in_folder(STORE), "UPDATE rows SET weight = 3 WHERE id = 54");
    for (int order = 0; order < 2; order++) {
        store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        group g = {.n = 0};
        const uint64_t healthy = order == 0 ? 1 : 3;
        if (order == 0)
            (void)ask_to_forget(&g, 54, 54, EFFACE_MISSING_FAIL);
        (void)ask_to_forget(&g, healthy, healthy, EFFACE_MISSING_FAIL);
        (void)ask_to_forget(&g, healthy, healthy, EFFACE_MISSING_FAIL);
        if (order != 0)
            (void)ask_to_forget(&g, 54, 54, EFFACE_MISSING_FAIL);
        do_group(store, &g);
        const efface_store_change *const sound = &g.changes[order == 0 ? 1 : 0];
        check_status(&g.changes[order == 0 ? 0 : 2], EFFACE_E_CORRUPT, "the store is damaged");
        /* Whether the other is done depends on whether a model has to load all rows. */
        if (sound->status != EFFACE_OK)
            check_status(sound, EFFACE_E_CORRUPT, "the store is damaged");
        assert_int_equal(has_row(store, healthy), sound->status != EFFACE_OK);
        check_status(&g.changes[order == 0 ? 2 : 1],
                     sound->status == EFFACE_OK ? EFFACE_E_NOT_FOUND : EFFACE_E_CORRUPT, "");
        free_group(&g);
        efface_store_close(store);
    }
}

/* Without models no request loads all rows. */
static void damage_elsewhere_hinders_no_request(void **state) {
    (void)state;
    efface_store *store = make_store();
    efface_store_close(store);
    run_sql(in_folder(STORE), "UPDATE rows SET weight = 3 WHERE id = 54");
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    group g = {.n = 0};
    (void)ask_to_forget(&g, 1, 1, EFFACE_MISSING_FAIL);
    (void)ask_to_forget(&g, 54, 54, EFFACE_MISSING_FAIL);
    (void)ask_to_forget(&g, 1, 1, EFFACE_MISSING_SKIP);
    (void)ask_to_forget(&g, 2, 2, EFFACE_MISSING_FAIL);
    do_group(store, &g);
    check_status(&g.changes[0], EFFACE_OK, "");
    check_status(&g.changes[1], EFFACE_E_CORRUPT, "the store is damaged");
    check_status(&g.changes[2], EFFACE_OK, "");
    check_status(&g.changes[3], EFFACE_OK, "");
    assert_true(g.changes[0].report.n_forgotten == 1 && g.changes[2].report.n_missing == 1);
    assert_true(!has_row(store, 1) && !has_row(store, 2));
    assert_int_equal(info_of(store).n_receipts, 3);
    free_group(&g);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- groups that fail */

static void check_all_failed(const group *g, efface_status status, const char *words) {
    for (size_t i = 0; i < g->n; i++)
        check_status(&g->changes[i], status, words);
}

static int stop_at_once(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)context;
    (void)part;
    return 1;
}

static void groups_that_cannot_be_done(void **state) {
    (void)state;
    efface_store *store = make_store_with_models();
    efface_data *const newcomer = make_rows(1, 200, true);
    efface_store_close(store);
    group g = {.n = 0};
    (void)ask_to_forget(&g, 1, 1, EFFACE_MISSING_FAIL);
    (void)ask_to_forget(&g, 2, 2, EFFACE_MISSING_FAIL);
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, newcomer);

    REFUSED(EFFACE_E_ARGUMENT, "store", efface_store_change_all(NULL, g.changes, g.n, error));
    check_all_failed(&g, EFFACE_E_ARGUMENT, "store");

    store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    REFUSED(EFFACE_E_ARGUMENT, "changes", efface_store_change_all(store, NULL, 1, error));
    REFUSED(EFFACE_E_ARGUMENT, "for reading only",
            efface_store_change_all(store, g.changes, g.n, error));
    check_all_failed(&g, EFFACE_E_ARGUMENT, "for reading only");
    efface_store_close(store);

    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.wait_seconds = 0.0;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    sqlite3 *const other = open_sql(in_folder(STORE));
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    REFUSED(EFFACE_E_BUSY, "busy", efface_store_change_all(store, g.changes, g.n, error));
    check_all_failed(&g, EFFACE_E_BUSY, "busy");
    (void)sqlite3_close(other);
    efface_store_close(store);

    options.progress = stop_at_once;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    REFUSED(EFFACE_E_INTERRUPTED, "nothing was changed",
            efface_store_change_all(store, g.changes, g.n, error));
    check_all_failed(&g, EFFACE_E_INTERRUPTED, "nothing was changed");
    assert_int_equal(info_of(store).n_rows, N_ROWS);
    efface_store_close(store);

    /* The same requests, and none at all. */
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REQUIRE_OK(efface_store_change_all(store, NULL, 0, error));
    assert_int_equal(info_of(store).n_receipts, N_ADDED);
    do_group(store, &g);
    check_all_failed(&g, EFFACE_OK, "");
    free_group(&g);
    efface_data_free(newcomer);
    check_whole(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- receipts and texts */

static void requests_for_no_row(void **state) {
    (void)state;
    efface_store *const store = make_store_with_models();
    efface_data *const nothing = make_rows(0, 0, true);
    const efface_request nobody = {.n_ids = 0};
    group g = {.n = 0};
    ask(&g, EFFACE_CHANGE_FORGET)->request = &nobody;
    (void)ask_with(&g, EFFACE_CHANGE_LEARN, nothing);
    (void)ask_with(&g, EFFACE_CHANGE_UPDATE, nothing);
    do_group(store, &g);
    for (uint64_t i = 0; i < 3; i++) {
        check_status(&g.changes[i], EFFACE_OK, "");
        assert_true(g.changes[i].report.receipt == i + 3 && g.changes[i].report.group == 3 &&
                    g.changes[i].report.n_models == 0);
        assert_true(receipt_says(store, i + 3, "\"models\":[],\"group\":3,"));
    }
    free_group(&g);
    efface_data_free(nothing);
    check_whole(store);
    efface_store_close(store);
}

/* Signed receipts of a group are signed each, and so is their number, once. */
static void signed_groups(void **state) {
    (void)state;
    unsigned char secret[EFFACE_SECRET_KEY_BYTES], public[EFFACE_PUBLIC_KEY_BYTES];
    REQUIRE_OK(efface_keys_make(secret, public, error));
    efface_store *store = make_store();
    efface_store_close(store);
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.secret_key = secret;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    fit(store, "lloyd", EFFACE_METHOD_LLOYD);
    fit(store, "pyramid", EFFACE_METHOD_PYRAMID);
    for (uint64_t round = 0; round < 2; round++) {
        group g = {.n = 0};
        for (uint64_t i = 0; i < 4; i++)
            (void)ask_to_forget(&g, 10 * round + i, 10 * round + i, EFFACE_MISSING_FAIL);
        (void)ask_to_forget(&g, 777, 777, EFFACE_MISSING_FAIL);
        do_group(store, &g);
        free_group(&g);
        REQUIRE_OK(efface_store_verify_receipts(store, public, error));
    }
    assert_int_equal(info_of(store).n_receipts, N_ADDED + 8);
    for (uint64_t number = N_ADDED + 1; number <= N_ADDED + 8; number++) {
        char *const json = receipt_of(store, number);
        REQUIRE_OK(efface_receipt_verify(json, public, error));
        char group_of[32];
        (void)snprintf(group_of, sizeof group_of, "\"group\":%d,", number <= N_ADDED + 4 ? 3 : 7);
        assert_non_null(strstr(json, group_of));
        efface_text_free(json);
    }
    check_chain(store, public);
    check_whole(store);
    efface_store_close(store);
}

/* Texts come and leave with rows, also within a group. */
static void texts_of_rows_that_came_and_left(void **state) {
    (void)state;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.keep_texts = 1;
    efface_data *data = make_rows(6, 0, true);
    efface_store *store = NULL;
    empty_folder();
    REQUIRE_OK(efface_store_create(in_folder(STORE), data, NULL, &options, NULL, 0, &store, error));
    efface_data_free(data);
    efface_texts *texts = NULL;
    REQUIRE_OK(efface_texts_create(&texts, error));
    REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_ID, 300, "Anselm", 6, error));
    REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_OWNER, 1100, "Berta", 5, error));
    REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_ID, 301, "Cosima", 6, error));
    efface_data *const first = make_rows(1, 300, true), *const second = make_rows(1, 301, true);
    group g = {.n = 0};
    ask_with(&g, EFFACE_CHANGE_LEARN, first)->texts = texts;
    ask_with(&g, EFFACE_CHANGE_LEARN, second)->texts = texts;
    (void)ask_to_forget(&g, 300, 300, EFFACE_MISSING_FAIL);
    do_group(store, &g);
    check_all_failed(&g, EFFACE_OK, "");
    free_group(&g);
    char *found = NULL;
    REQUIRE_OK(efface_store_text(store, EFFACE_TEXT_ID, 300, &found, error));
    assert_null(found);
    REQUIRE_OK(efface_store_text(store, EFFACE_TEXT_ID, 301, &found, error));
    assert_string_equal(found, "Cosima");
    efface_text_free(found);
    REQUIRE_OK(efface_store_text(store, EFFACE_TEXT_OWNER, 1100, &found, error));
    assert_string_equal(found, "Berta"); /* of both */
    efface_text_free(found);
    image file = read_image(in_folder(STORE));
    for (size_t i = 0; i + 6 <= file.n_bytes; i++)
        assert_true(memcmp(file.bytes + i, "Anselm", 6) != 0);
    free(file.bytes);
    efface_texts_free(texts);
    efface_data_free(first);
    efface_data_free(second);
    check_whole(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- the disk */

/* As many syncs for a group as for a request alone: that is what groups are for. */
static void a_group_waits_for_the_disk_once(void **state) {
    (void)state;
    efface_store *const store = make_store_with_models();
    group g = {.n = 0};
    (void)ask_to_forget(&g, 1, 1, EFFACE_MISSING_FAIL);
    n_syncs = 0;
    do_group(store, &g);
    const unsigned long alone = n_syncs;
    free_group(&g);
    for (uint64_t i = 0; i < MAX_CHANGES; i++)
        (void)ask_to_forget(&g, 2 + i, 2 + i, EFFACE_MISSING_FAIL);
    n_syncs = 0;
    do_group(store, &g);
    assert_true(alone > 0 && n_syncs == alone);
    free_group(&g);
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_forgotten_once),
        cmocka_unit_test(owners_share_rows_with_ids),
        cmocka_unit_test(requests_see_those_before_them),
        cmocka_unit_test(wrong_requests_hinder_no_others),
        cmocka_unit_test(what_fails_leaves_no_trace),
        cmocka_unit_test(damage_is_of_whom_it_concerns),
        cmocka_unit_test(damage_elsewhere_hinders_no_request),
        cmocka_unit_test(groups_that_cannot_be_done),
        cmocka_unit_test(requests_for_no_row),
        cmocka_unit_test(signed_groups),
        cmocka_unit_test(texts_of_rows_that_came_and_left),
        cmocka_unit_test(a_group_waits_for_the_disk_once),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
