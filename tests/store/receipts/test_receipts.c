/*
 * Receipts: one for each request, numbered and chained (invariant 5), without values and without
 * ids in clear (invariant 6), and signed if a key was given.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"
#include "store/scenes/receipt_scene.h"

#include <inttypes.h>
#include <sodium.h>
#include <sqlite3.h>

#define RECEIPT_KEY_AT 40 /* in the head: head.c */

static void check_has(const char *json, const char *part) {
    if (strstr(json, part) == NULL)
        fail_msg("%s is not in %s", part, json);
}

/* Numbers from 1 without gaps, and each names the digest of the one before (invariant 5). */
static void check_chain(efface_store *store) {
    unsigned char digest[EFFACE_DIGEST_BYTES] = {0};
    const uint64_t n = info_of(store).n_receipts;
    for (uint64_t i = 1; i <= n; i++) {
        char *const json = receipt_of(store, i);
        char begin[40], previous[100], hex[65];
        (void)snprintf(begin, sizeof begin, "{\"receipt\":%" PRIu64 ",", i);
        assert_memory_equal(json, begin, strlen(begin));
        (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
        (void)snprintf(previous, sizeof previous, "\"previous\":\"%s\"", hex);
        check_has(json, previous);
        (void)crypto_generichash(digest, sizeof digest, (const unsigned char *)json, strlen(json),
                                 NULL, 0);
        efface_text_free(json);
    }
    char *none = NULL;
    assert_int_equal(efface_store_receipt(store, 0, &none, NULL), EFFACE_E_NOT_FOUND);
    assert_int_equal(efface_store_receipt(store, n + 1, &none, NULL), EFFACE_E_NOT_FOUND);
    assert_null(none);
}

/* The field "rows" of a receipt about these ids, made with no help of the library: hashes under the
 * key that is in the head of the file, put in order, and the root of their tree
 * (docs/definition/store.md). */
static void rows_field(const uint64_t *ids, size_t n, char field[120]) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    unsigned char key[EFFACE_RECEIPT_KEY_BYTES], root[32];
    assert_int_equal(sqlite3_open_v2(in_folder(STORE), &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT value FROM facts WHERE name = 'head'", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    memcpy(key, (const char *)sqlite3_column_blob(statement, 0) + RECEIPT_KEY_AT, sizeof key);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    root_of_ids(key, ids, n, root);
    char hex[65];
    (void)sodium_bin2hex(hex, sizeof hex, root, sizeof root);
    (void)snprintf(field, 120, "\"rows\":{\"count\":%zu,\"root\":\"%s\"}", n, hex);
}

static void check_added(efface_store *store, uint64_t number, const char *name) {
    char part[80], *const json = receipt_of(store, number);
    check_has(json, "\"kind\":\"add\"");
    (void)snprintf(part, sizeof part, "{\"name\":\"%s\",\"kind\":\"k-means\",\"action\":\"added\"",
                   name);
    check_has(json, part);
    check_has(json, "\"before\":\"\"");
    efface_text_free(json);
}

static void requests_have_receipts(void **state) {
    (void)state;
    efface_store *store = make_store();
    fit(store, "a", EFFACE_METHOD_LLOYD);
    fit(store, "b", EFFACE_METHOD_PYRAMID);
    assert_int_equal(info_of(store).n_receipts, 2);
    check_added(store, 1, "a");
    check_added(store, 2, "b");
    const uint64_t big = UINT64_C(1311768467463790320), ids[] = {big, 999999999};
    efface_data *data = make_rows(1, big, true);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    efface_store_report report;
    REQUIRE_OK(forget_ids(store, ids, 2, EFFACE_MISSING_SKIP, &report, error));
    assert_int_equal(report.receipt, 4);
    char *json = receipt_of(store, 4);
    char hex[65], part[160], field[120];
    check_has(json, "\"kind\":\"forget\",\"requested\":2,\"missing\":1,\"forgotten\":1,"
                    "\"learned\":0,\"updated\":0,\"rows\":{\"count\":1,\"root\":\"");
    for (uint32_t i = 0; i < 2; i++) {
        (void)sodium_bin2hex(hex, sizeof hex, report.models[i].before, EFFACE_DIGEST_BYTES);
        (void)snprintf(part, sizeof part, "\"before\":\"%s\"", hex);
        check_has(json, part);
        (void)sodium_bin2hex(hex, sizeof hex, report.models[i].after, EFFACE_DIGEST_BYTES);
        (void)snprintf(part, sizeof part, "\"after\":\"%s\"", hex);
        check_has(json, part);
        (void)snprintf(part, sizeof part, "{\"name\":\"%s\",\"kind\":\"k-means\",\"action\":\"%s\"",
                       report.models[i].name,
                       report.models[i].report.action == EFFACE_ACTION_ADJUSTED   ? "untouched"
                       : report.models[i].report.action == EFFACE_ACTION_REPAIRED ? "repaired"
                                                                                  : "refitted");
        check_has(json, part);
    }
    rows_field(&big, 1, field);
    check_has(json, field);
    /* Neither ids, nor owners, nor values. */
    assert_null(strstr(json, "1311768467463790320"));
    assert_null(strstr(json, "123456789abcdef0"));
    assert_null(strstr(json, "f0debc9a78563412"));
    assert_null(strstr(json, "999999999"));
    (void)snprintf(part, sizeof part, "%" PRIu64, 1000 + big / 3);
    assert_null(strstr(json, part));
    for (uint32_t j = 0; j < N_COLUMNS; j++) {
        (void)snprintf(part, sizeof part, "%.4g", (double)value_of(big, j));
        assert_null(strstr(json, part));
    }
    efface_store_report_free(&report);
    efface_text_free(json);
    /* Rows that got their ids here are named by these. */
    data = make_rows(2, 0, false);
    REQUIRE_OK(efface_store_learn(store, data, NULL, &report, error));
    efface_data_free(data);
    json = receipt_of(store, 5);
    rows_field(report.new_ids, 2, field);
    check_has(json, field);
    efface_store_report_free(&report);
    check_has(json, "\"kind\":\"learn\",\"requested\":2,\"missing\":0,\"forgotten\":0,"
                    "\"learned\":2,");
    efface_text_free(json);
    assert_int_equal(forget_ids(store, ids + 1, 1, EFFACE_MISSING_FAIL, NULL, NULL),
                     EFFACE_E_NOT_FOUND);
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    forget(store, 4);
    REQUIRE_OK(efface_store_drop(store, "a", error));
    REQUIRE_OK(efface_store_rekey(store, "b", 9, error));
    assert_int_equal(info_of(store).n_receipts, 8);
    json = receipt_of(store, 7);
    check_has(json, "\"kind\":\"drop\"");
    check_has(json, "\"action\":\"dropped\"");
    check_has(json, "\"after\":\"\"}]");
    efface_text_free(json);
    json = receipt_of(store, 8);
    check_has(json, "\"kind\":\"rekey\"");
    check_has(json, "{\"name\":\"b\",\"kind\":\"k-means\",\"action\":\"refitted\"");
    efface_text_free(json);
    check_whole(store);
    check_chain(store);
    efface_store_close(store);
}

static void receipts_are_signed(void **state) {
    (void)state;
    unsigned char secret[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    unsigned char other_secret[EFFACE_SECRET_KEY_BYTES], other[EFFACE_PUBLIC_KEY_BYTES];
    efface_store *store = make_store();
    REQUIRE_OK(efface_keys_make(secret, public_key, error));
    REQUIRE_OK(efface_keys_make(other_secret, other, error));
    forget(store, 1);
    efface_store_close(store);
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.secret_key = secret;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    forget(store, 2);
    forget(store, 3);
    char *json = receipt_of(store, 1);
    assert_int_equal(efface_receipt_verify(json, public_key, NULL), EFFACE_E_ARGUMENT);
    efface_text_free(json);
    for (uint64_t number = 2; number <= 3; number++) {
        json = receipt_of(store, number);
        REQUIRE_OK(efface_receipt_verify(json, public_key, error));
        assert_int_equal(efface_receipt_verify(json, other, NULL), EFFACE_E_FORMAT);
        const size_t n = strlen(json);
        for (size_t i = 0; i < n; i++) {
            const char right = json[i];
            for (int bit = 0; bit < 8; bit++) {
                json[i] = (char)((unsigned char)right ^ (1u << bit));
                const efface_status status = efface_receipt_verify(json, public_key, NULL);
                if (status != EFFACE_E_FORMAT && status != EFFACE_E_ARGUMENT)
                    fail_msg("byte %zu of %zu, bit %d: '%c' in place of '%c' was not seen", i, n,
                             bit, json[i], right);
            }
            json[i] = right;
        }
        /* Cut short, or with something after it. */
        json[n - 1] = '\0';
        assert_int_equal(efface_receipt_verify(json, public_key, NULL), EFFACE_E_FORMAT);
        json[n - 1] = '}';
        char *const longer = malloc(n + 2);
        assert_non_null(longer);
        (void)snprintf(longer, n + 2, "%s ", json);
        assert_int_equal(efface_receipt_verify(longer, public_key, NULL), EFFACE_E_FORMAT);
        free(longer);
        efface_text_free(json);
    }
    check_chain(store);
    assert_int_equal(efface_receipt_verify(NULL, public_key, NULL), EFFACE_E_ARGUMENT);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- many of them */

enum { N_MANY = 250 };

static efface_store *reader; /* that verifies */
static size_t n_ends;        /* of its transactions */
static void (*meanwhile)(void);

efface_status __real_ef_store_end(efface_store *store, efface_status status, efface_error *e);
efface_status __wrap_ef_store_end(efface_store *store, efface_status status, efface_error *e);

efface_status __wrap_ef_store_end(efface_store *store, efface_status status, efface_error *e) {
    status = __real_ef_store_end(store, status, e);
    if (store == reader && n_ends++ == 0 && meanwhile != NULL)
        meanwhile();
    return status;
}

static efface_store *open_to_sign(const unsigned char *secret) {
    efface_store *store = NULL;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.secret_key = secret;
    options.wait_seconds = 0;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    return store;
}

static void forget_without_key(void) {
    efface_store *const store = open_to_sign(NULL);
    forget(store, 1);
    efface_store_close(store);
}

static efface_status verify_many(const unsigned char *public_key, void (*then)(void),
                                 efface_error *why) {
    const efface_store_options options = plain_options(EFFACE_ACCESS_READ);
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &reader, error));
    n_ends = 0;
    meanwhile = then;
    const efface_status status = efface_store_verify_receipts(reader, public_key, why);
    assert_in_range(n_ends, 1 + N_MANY / 100, N_MANY / 10);
    efface_store_close(reader);
    reader = NULL;
    return status;
}

/* Whoever writes does not wait until all were looked at; what comes meanwhile is not looked at. */
static void many_are_verified_some_at_a_time(void **state) {
    (void)state;
    unsigned char secret[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    efface_store_change changes[N_MANY];
    const uint64_t nobody = UINT64_C(1) << 40;
    const efface_request request = {.ids = &nobody, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
    efface_store_close(make_store());
    REQUIRE_OK(efface_keys_make(secret, public_key, error));
    efface_store *store = open_to_sign(secret);
    memset(changes, 0, sizeof changes);
    for (size_t i = 0; i < N_MANY; i++)
        changes[i].request = &request;
    REQUIRE_OK(efface_store_change_all(store, changes, N_MANY, error));
    for (size_t i = 0; i < N_MANY; i++)
        efface_store_report_free(&changes[i].report);
    efface_store_close(store);
    efface_error why;
    assert_int_equal(verify_many(public_key, forget_without_key, &why), EFFACE_OK);
    assert_int_equal(verify_many(public_key, NULL, &why), EFFACE_E_FORMAT);
    check_has(why.message, "1 of 251, the first is receipt 251;");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_receipts),
        cmocka_unit_test(receipts_are_signed),
        cmocka_unit_test(many_are_verified_some_at_a_time),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
