/*
 * Receipts outside of a store, and what a store says of its own: roots, chains of lines, the key
 * that is kept outside, and the signature of how many there are.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes/digest.h"
#include "store/file/transactions.h"
#include "store/scenes/plain_store.h"
#include "store/scenes/receipt_scene.h"
#include "store/scenes/sql_scene.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>

#define N_LINES 8

static unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
static const unsigned char outside_key[EFFACE_RECEIPT_KEY_BYTES] =
    "a receipt key of 32 bytes, kept";

/* ---------------------------------------------------------------- roots */

static void roots_are_what_is_described(void **state) {
    (void)state;
    unsigned char hashes[70 * EFFACE_ROW_HASH_BYTES], root[32], right[32];
    uint64_t ids[70];
    for (size_t n = 0; n <= 70; n++) {
        for (size_t i = 0; i < n; i++) {
            ids[i] = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
            REQUIRE_OK(efface_store_row_hash(NULL, outside_key, ids[i],
                                             hashes + i * EFFACE_ROW_HASH_BYTES, error));
        }
        root_of_ids(outside_key, ids, n, right);
        REQUIRE_OK(efface_receipt_root(hashes, n, root, error)); /* in any order */
        assert_memory_equal(root, right, sizeof root);
        if (n != 0) {
            hashes[n * EFFACE_ROW_HASH_BYTES - 1] ^= 1;
            REQUIRE_OK(efface_receipt_root(hashes, n, root, error));
            assert_memory_not_equal(root, right, sizeof root);
        }
    }
    assert_int_equal(efface_receipt_root(NULL, 3, root, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_receipt_root(hashes, 3, NULL, NULL), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_store_row_hash(NULL, NULL, 3, hashes, NULL), EFFACE_E_ARGUMENT);
}

/* The hashes of a report, their root, and the receipt of the request. */
static void check_report(efface_store *store, const unsigned char key[32],
                         const efface_store_report *report, const uint64_t *ids, size_t n) {
    unsigned char root[32], hash[EFFACE_ROW_HASH_BYTES];
    char hex[65], field[120];
    assert_int_equal(report->n_row_hashes, n);
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        hash_of_id(key, ids[i], hash);
        for (size_t k = 0; k < n; k++)
            found |= memcmp(report->row_hashes + k * sizeof hash, hash, sizeof hash) == 0;
        assert_true(found);
        if (i > 0)
            assert_true(memcmp(report->row_hashes + (i - 1) * sizeof hash,
                               report->row_hashes + i * sizeof hash, sizeof hash) < 0);
    }
    root_of_ids(key, ids, n, root);
    (void)sodium_bin2hex(hex, sizeof hex, root, sizeof root);
    (void)snprintf(field, sizeof field, "\"rows\":{\"count\":%zu,\"root\":\"%s\"}", n, hex);
    char *const json = receipt_of(store, report->receipt);
    if (strstr(json, field) == NULL)
        fail_msg("%s is not in %s", field, json);
    efface_text_free(json);
}

static efface_store *make_with_key(void) {
    efface_store *store = NULL;
    efface_data *const data = make_rows(N_ROWS, 0, true);
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.receipt_key = outside_key;
    empty_folder();
    REQUIRE_OK(efface_store_create(in_folder(STORE), data, NULL, &options, NULL, 0, &store, error));
    efface_data_free(data);
    return store;
}

static void reports_have_the_hashes_of_rows(void **state) {
    (void)state;
    efface_store *const store = make_with_key();
    const uint64_t ids[] = {3, 4, 5, 20, 21, 999}, owner = 1001; /* of rows 3, 4 and 5 */
    efface_store_report report;
    efface_request request = {.ids = ids + 1,
                              .n_ids = 5,
                              .owners = &owner,
                              .n_owners = 1,
                              .missing = EFFACE_MISSING_SKIP};
    REQUIRE_OK(efface_store_preview(store, &request, &report, error));
    assert_true(report.row_hashes == NULL && report.n_row_hashes == 0 && report.receipt == 0);
    efface_store_report_free(&report);
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    check_report(store, outside_key, &report, ids, 5); /* and not of the one that is missing */
    efface_store_report_free(&report);
    REQUIRE_OK(efface_store_forget(store, &request, &report, error));
    check_report(store, outside_key, &report, NULL, 0);
    efface_store_report_free(&report);
    efface_data *data = make_rows(7, 5000, false);
    REQUIRE_OK(efface_store_learn(store, data, NULL, &report, error));
    check_report(store, outside_key, &report, report.new_ids, 7);
    efface_store_report_free(&report);
    efface_data_free(data);
    data = make_rows(2, 30, true);
    REQUIRE_OK(efface_store_update(store, data, NULL, &report, error));
    check_report(store, outside_key, &report, (const uint64_t[]){30, 31}, 2);
    efface_store_report_free(&report);
    efface_data_free(data);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- a key outside */

static efface_status open_with(const unsigned char *key, efface_access access, efface_store **store,
                               efface_error *error) {
    efface_store_options options = plain_options(access);
    options.receipt_key = key;
    return efface_store_open(in_folder(STORE), &options, store, error);
}

static void a_key_is_kept_outside(void **state) {
    (void)state;
    unsigned char wrong[EFFACE_RECEIPT_KEY_BYTES], hash[EFFACE_ROW_HASH_BYTES],
        right[EFFACE_ROW_HASH_BYTES];
    memcpy(wrong, outside_key, sizeof wrong);
    wrong[31] ^= 1;
    efface_store *store = make_with_key();
    forget(store, 5);
    assert_true(info_of(store).receipt_key_outside);
    efface_store_close(store);
    image file = read_image(in_folder(STORE));
    for (size_t at = 0; at + 16 <= file.n_bytes; at++)
        assert_true(memcmp(file.bytes + at, outside_key, 16) != 0);
    free(file.bytes);
    store = NULL;
    REFUSED(EFFACE_E_ARGUMENT, "give the key", open_with(NULL, EFFACE_ACCESS_WRITE, &store, error));
    REFUSED(EFFACE_E_ARGUMENT, "another store",
            open_with(wrong, EFFACE_ACCESS_WRITE, &store, error));
    REFUSED(EFFACE_E_ARGUMENT, "another store",
            open_with(wrong, EFFACE_ACCESS_READ, &store, error));
    assert_null(store);
    hash_of_id(outside_key, 5, right);
    /* To read there is no need of it. */
    REQUIRE_OK(open_with(NULL, EFFACE_ACCESS_READ, &store, error));
    check_whole(store);
    efface_text_free(receipt_of(store, 1));
    assert_int_equal(efface_store_row_hash(store, NULL, 5, hash, NULL), EFFACE_E_ARGUMENT);
    REQUIRE_OK(efface_store_row_hash(store, outside_key, 5, hash, error));
    assert_memory_equal(hash, right, sizeof hash);
    efface_store_close(store);
    REQUIRE_OK(open_with(outside_key, EFFACE_ACCESS_WRITE, &store, error));
    REQUIRE_OK(efface_store_row_hash(store, NULL, 5, hash, error));
    assert_memory_equal(hash, right, sizeof hash);
    forget(store, 6);
    check_whole(store);
    efface_store_close(store);
    /* One that is inside is not to be given. */
    efface_store_close(make_store());
    store = NULL;
    REFUSED(EFFACE_E_ARGUMENT, "itself",
            open_with(outside_key, EFFACE_ACCESS_WRITE, &store, error));
}

/* ---------------------------------------------------------------- chains of lines */

static char *lines[N_LINES];

/* What was found: the lines, in the order of being told. */
typedef struct findings {
    size_t lines[40], n;
    char words[40][100];
} findings;

static void take_finding(void *context, size_t line, const char *problem) {
    findings *const f = context;
    assert_true(f->n < 40);
    f->lines[f->n] = line;
    (void)snprintf(f->words[f->n], sizeof f->words[0], "%.99s", problem);
    f->n++;
}

static findings find_in(char *const *chain, size_t n, const unsigned char *key) {
    findings f = {.n = 0};
    REQUIRE_OK(efface_receipts_verify((const char *const *)chain, n, key, take_finding, &f, error));
    return f;
}

static void check_finding(const findings *f, size_t line, const char *words) {
    for (size_t i = 0; i < f->n; i++)
        if (f->lines[i] == line && strstr(f->words[i], words) != NULL)
            return;
    fail_msg("line %zu: \"%s\" is not among %zu findings, of which the first is line %zu, %s", line,
             words, f->n, f->n != 0 ? f->lines[0] : 0, f->n != 0 ? f->words[0] : "");
}

static void begin_lines(void) {
    efface_store *store = NULL;
    efface_data *const data = make_rows(N_ROWS, 0, true);
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.secret_key = secret_key;
    empty_folder();
    REQUIRE_OK(efface_store_create(in_folder(STORE), data, NULL, &options, NULL, 0, &store, error));
    efface_data_free(data);
    fit(store, "a", EFFACE_METHOD_LLOYD);
    lines[0] = receipt_of(store, 1);
    for (uint64_t i = 1; i < N_LINES; i++) {
        forget(store, i);
        lines[i] = receipt_of(store, i + 1);
    }
    efface_store_close(store);
}

static void end_lines(void) {
    for (size_t i = 0; i < N_LINES; i++)
        efface_text_free(lines[i]);
}

static void chains_are_verified(void **state) {
    (void)state;
    char *chain[N_LINES + 1];
    unsigned char other_secret[EFFACE_SECRET_KEY_BYTES], other[EFFACE_PUBLIC_KEY_BYTES];
    REQUIRE_OK(efface_keys_make(other_secret, other, error));
    begin_lines();
    assert_int_equal(find_in(lines, N_LINES, NULL).n, 0);
    assert_int_equal(find_in(lines, N_LINES, public_key).n, 0);
    assert_int_equal(find_in(lines, 0, public_key).n, 0);
    assert_int_equal(find_in(lines + 3, N_LINES - 3, public_key).n, 0); /* any number is first */
    findings f = find_in(lines, N_LINES, other);
    assert_int_equal(f.n, N_LINES);
    for (size_t i = 1; i < N_LINES; i++) {
        /* Line i + 1 is missing: said of the one that follows. */
        memcpy(chain, lines, sizeof lines);
        memmove(chain + i, chain + i + 1, (N_LINES - i) * sizeof *chain);
        f = find_in(chain, N_LINES - 1, public_key);
        if (i + 1 < N_LINES)
            check_finding(&f, i + 1, "is missing before this line");
        assert_int_equal(f.n, i + 1 < N_LINES);
        /* Doubled. */
        memcpy(chain, lines, i * sizeof *chain);
        chain[i] = lines[i - 1];
        memcpy(chain + i + 1, lines + i, (N_LINES - i) * sizeof *chain);
        f = find_in(chain, N_LINES + 1, public_key);
        check_finding(&f, i + 1, "appears twice");
        assert_int_equal(f.n, 1);
        /* Two in the wrong order. */
        memcpy(chain, lines, sizeof lines);
        chain[i] = lines[i - 1];
        chain[i - 1] = lines[i];
        f = find_in(chain, N_LINES, public_key);
        check_finding(&f, i + 1, "comes after");
    }
    /* More than one missing. */
    chain[0] = lines[0];
    chain[1] = lines[5];
    f = find_in(chain, 2, NULL);
    check_finding(&f, 2, "receipts 2 to 5 are missing");
    /* One that was changed: the next does not name it; with a key it is found by itself. */
    for (size_t i = 0; i < N_LINES; i++) {
        char *const at = strstr(lines[i], "\"missing\":0") + strlen("\"missing\":");
        *at = '1';
        f = find_in(lines, N_LINES, NULL);
        if (i + 1 < N_LINES)
            check_finding(&f, i + 2, "does not name the receipt before");
        f = find_in(lines, N_LINES, public_key);
        check_finding(&f, i + 1, "was changed");
        *at = '0';
    }
    /* No receipt at all. */
    static char nonsense[] = "{\"receipts\":4}", empty[] = "";
    memcpy(chain, lines, sizeof lines);
    chain[2] = nonsense;
    chain[3] = empty;
    f = find_in(chain, N_LINES, NULL);
    check_finding(&f, 3, "not a receipt");
    check_finding(&f, 4, "not a receipt");
    assert_int_equal(efface_receipts_verify(NULL, 2, NULL, take_finding, &f, NULL),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_receipts_verify((const char *const *)lines, 2, NULL, NULL, NULL, NULL),
                     EFFACE_E_ARGUMENT);
    end_lines();
}

/* ---------------------------------------------------------------- the number of receipts, signed
 */

/* Takes receipts from a number on out and makes head and seal agree. */
static void forge_fewer(uint64_t left) {
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT body FROM receipts WHERE number = %" PRIu64, left);
    image body = sql_bytes(in_folder(STORE), sql);
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
    REQUIRE_OK(ef_store_begin(store, true, error));
    store->head.n_receipts = left;
    ef_digest(body.bytes, body.n_bytes, store->head.last_receipt);
    store->head_changed = true;
    (void)snprintf(sql, sizeof sql, "DELETE FROM receipts WHERE number > %" PRIu64, left);
    REQUIRE_OK(ef_sql_run(store, sql, error));
    REQUIRE_OK(ef_store_end(store, EFFACE_OK, error));
    efface_store_close(store);
    free(body.bytes);
}

static void count_problem(void *context, const char *problem) {
    assert_true(strstr(problem, "signature") != NULL || strstr(problem, "receipt") != NULL);
    ++*(unsigned *)context;
}

static unsigned problems(void) {
    unsigned n = 0;
    efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    REQUIRE_OK(efface_store_check(store, count_problem, &n, error));
    efface_store_close(store);
    return n;
}

static void receipts_that_were_taken_back(void **state) {
    (void)state;
    begin_lines();
    end_lines();
    assert_int_equal(problems(), 0);
    image whole = read_image(in_folder(STORE));
    for (uint64_t left = 1; left < N_LINES; left++) {
        write_image(in_folder(STORE), whole.bytes, whole.n_bytes);
        forge_fewer(left);
        assert_true(problems() != 0);
        /* Others in their place do not help who has not the key. */
        efface_store *const store = open_store(in_folder(STORE), EFFACE_ACCESS_WRITE);
        for (uint64_t number = left; number <= N_LINES; number++)
            forget(store, 20 + number);
        efface_store_close(store);
        assert_true(problems() != 0);
    }
    free(whole.bytes);
    /* Without signatures whoever knows efface can do it. */
    efface_store *const store = make_store();
    forget(store, 1);
    forget(store, 2);
    efface_store_close(store);
    forge_fewer(1);
    assert_int_equal(problems(), 0);
}

static int begin_all(void **state) {
    return sodium_init() >= 0 && efface_keys_make(secret_key, public_key, NULL) == EFFACE_OK
               ? begin_folder(state)
               : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_what_is_described),
        cmocka_unit_test(reports_have_the_hashes_of_rows),
        cmocka_unit_test(a_key_is_kept_outside),
        cmocka_unit_test(chains_are_verified),
        cmocka_unit_test(receipts_that_were_taken_back),
    };
    return cmocka_run_group_tests(tests, begin_all, end_folder);
}
