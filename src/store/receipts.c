/*
 * Receipts: a line of JSON for each request, without a value of a row, and with ids only as hashes
 * under a key of the store: who has the store can tell whether an id is among them, nobody else
 * can. Each names the digest of the one before, so that none can be taken out unnoticed.
 *
 * A signature covers the line as it is without its last two fields, public_key and signature.
 */
#define _POSIX_C_SOURCE 200809L
#include "base/checked.h"
#include "base/digest.h"
#include "base/status.h"
#include "store/store.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ID_HASH_BYTES 16
#define SIGNED_FIELDS ",\"public_key\":\""

static void put(ef_writer *w, const char *text) {
    ef_write_bytes(w, text, strlen(text));
}

static void put_format(ef_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_format(ef_writer *w, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < sizeof text)
        ef_write_bytes(w, text, (size_t)n);
    else
        w->failed = true;
}

static void put_hex(ef_writer *w, const unsigned char *bytes, size_t n_bytes) {
    char hex[2 * EFFACE_SECRET_KEY_BYTES + 1];
    (void)sodium_bin2hex(hex, sizeof hex, bytes, n_bytes);
    put(w, hex);
}

static void put_id_hash(ef_writer *w, const efface_store *store, uint64_t id) {
    unsigned char bytes[8], hash[ID_HASH_BYTES];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(id >> (8 * i));
    (void)crypto_generichash(hash, sizeof hash, bytes, sizeof bytes, store->receipt_key,
                             sizeof store->receipt_key);
    put_hex(w, hash, sizeof hash);
}

static void put_time(ef_writer *w) {
    const time_t now = time(NULL);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    put_format(w, "\"time\":\"%s\"", text);
}

static void put_model(ef_writer *w, const efface_model_report *m) {
    put_format(w, "{\"name\":\"%s\",\"action\":\"%s\",\"reason\":\"%s\",\"level\":%" PRIu32,
               m->name, efface_action_name(m->report.action), efface_reason_name(m->report.reason),
               m->report.level);
    put(w, ",\"before\":\"");
    put_hex(w, m->before, sizeof m->before);
    put(w, "\",\"after\":\"");
    put_hex(w, m->after, sizeof m->after);
    put(w, "\"}");
}

/* The digest of the last receipt; zeros if there is none. And its number. */
static efface_status read_last(efface_store *store, uint64_t *number,
                               unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    memset(digest, 0, EFFACE_DIGEST_BYTES);
    *number = 0;
    efface_status status = ef_sql_prepare(
        store, "SELECT number, body FROM receipts ORDER BY number DESC LIMIT 1", &statement, error);
    if (status == EFFACE_OK)
        status = ef_sql_step(store, statement, &row, error);
    if (status == EFFACE_OK && row) {
        const ef_reader body = ef_sql_bytes(statement, 1);
        *number = (uint64_t)sqlite3_column_int64(statement, 0);
        ef_digest(body.bytes, body.n_bytes, digest);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static void put_body(ef_writer *w, const efface_store *store, const char *kind, const uint64_t *ids,
                     size_t n_ids, const efface_store_report *report,
                     const unsigned char *previous) {
    put_format(w, "{\"receipt\":%" PRIu64 ",", report->receipt);
    put_time(w);
    put_format(w,
               ",\"kind\":\"%s\",\"requested\":%" PRIu64 ",\"missing\":%" PRIu64
               ",\"forgotten\":%" PRIu64 ",\"learned\":%" PRIu64 ",\"rows\":[",
               kind, report->n_requested, report->n_missing, report->n_forgotten,
               report->n_learned);
    for (size_t i = 0; i < n_ids; i++) {
        put(w, i != 0 ? ",\"" : "\"");
        put_id_hash(w, store, ids[i]);
        put(w, "\"");
    }
    put(w, "],\"models\":[");
    for (uint32_t i = 0; i < report->n_models; i++) {
        put(w, i != 0 ? "," : "");
        put_model(w, &report->models[i]);
    }
    put(w, "],\"previous\":\"");
    put_hex(w, previous, EFFACE_DIGEST_BYTES);
    put(w, "\"}");
}

/* Puts public key and signature before the closing brace. */
static void sign(ef_writer *w, const efface_store *store) {
    unsigned char signature[crypto_sign_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    if (w->failed ||
        crypto_sign_detached(signature, NULL, w->bytes, w->n_bytes, store->secret_key) != 0) {
        w->failed = true;
        return;
    }
    (void)crypto_sign_ed25519_sk_to_pk(public_key, store->secret_key);
    w->n_bytes--;
    put(w, SIGNED_FIELDS);
    put_hex(w, public_key, sizeof public_key);
    put(w, "\",\"signature\":\"");
    put_hex(w, signature, sizeof signature);
    put(w, "\"}");
}

efface_status ef_receipt_append(efface_store *store, const char *kind, const uint64_t *ids,
                                size_t n_ids, efface_store_report *report, efface_error *error) {
    unsigned char previous[EFFACE_DIGEST_BYTES];
    uint64_t last = 0;
    efface_status status = read_last(store, &last, previous, error);
    if (status != EFFACE_OK)
        return status;
    report->receipt = last + 1;
    ef_writer w = {0};
    put_body(&w, store, kind, ids, n_ids, report, previous);
    if (store->signs)
        sign(&w, store);
    sqlite3_stmt *statement = NULL;
    status = w.failed
                 ? ef_fail_memory(error)
                 : ef_sql_prepare(store, "INSERT INTO receipts VALUES (?, ?)", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)report->receipt);
        (void)sqlite3_bind_text64(statement, 2, (const char *)w.bytes, w.n_bytes, SQLITE_STATIC,
                                  SQLITE_UTF8);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    ef_free(w.bytes);
    return status;
}

/* Whether a receipt names a digest as that of the one before. */
static bool names_previous(ef_reader body, const unsigned char digest[EFFACE_DIGEST_BYTES]) {
    static const char field[] = "\"previous\":\"";
    char wanted[sizeof field + 2 * EFFACE_DIGEST_BYTES];
    memcpy(wanted, field, sizeof field - 1);
    (void)sodium_bin2hex(wanted + sizeof field - 1, 2 * EFFACE_DIGEST_BYTES + 1, digest,
                         EFFACE_DIGEST_BYTES);
    const size_t n = strlen(wanted);
    for (size_t at = 0; at + n <= body.n_bytes; at++)
        if (memcmp(body.bytes + at, wanted, n) == 0)
            return true;
    return false;
}

efface_status ef_receipts_check(efface_store *store, efface_error *error) {
    unsigned char digest[EFFACE_DIGEST_BYTES] = {0};
    sqlite3_stmt *statement = NULL;
    bool row = true;
    efface_status status = ef_sql_prepare(
        store, "SELECT number, body FROM receipts ORDER BY number", &statement, error);
    for (int64_t number = 1; status == EFFACE_OK; number++) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const ef_reader body = ef_sql_bytes(statement, 1);
        if (sqlite3_column_int64(statement, 0) != number)
            status = ef_store_corrupt(error, "a receipt is missing");
        else if (!names_previous(body, digest))
            status = ef_store_corrupt(error, "a receipt does not name the one before it");
        ef_digest(body.bytes, body.n_bytes, digest);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status efface_store_receipt(efface_store *store, uint64_t number, char **json,
                                   efface_error *error) {
    if (store == NULL || json == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and json must not be NULL");
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status =
        ef_sql_prepare(store, "SELECT body FROM receipts WHERE number = ?", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)number);
        status = ef_sql_step(store, statement, &row, error);
    }
    if (status == EFFACE_OK && !row)
        status = ef_fail(error, EFFACE_E_NOT_FOUND, "there is no receipt %" PRIu64, number);
    if (status == EFFACE_OK) {
        ef_reader body = ef_sql_bytes(statement, 0);
        const size_t n = body.n_bytes;
        char *const text = ef_alloc(n + 1, 1);
        if (text == NULL) {
            status = ef_fail_memory(error);
        } else {
            ef_read_bytes(&body, text, n);
            text[n] = '\0';
            *json = text;
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* ---------------------------------------------------------------- keys */

efface_status efface_keys_make(unsigned char secret_key[EFFACE_SECRET_KEY_BYTES],
                               unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                               efface_error *error) {
    if (sodium_init() < 0 || crypto_sign_keypair(public_key, secret_key) != 0)
        return ef_fail(error, EFFACE_E_IO, "the system has no random numbers for keys");
    return EFFACE_OK;
}

void efface_store_sign_with(efface_store *store,
                            const unsigned char secret_key[EFFACE_SECRET_KEY_BYTES]) {
    memcpy(store->secret_key, secret_key, sizeof store->secret_key);
    store->signs = true;
}

/* Reads `n` bytes of hexadecimal text that ends with a quote. Capitals are not what was signed. */
static bool read_hex(const char *hex, unsigned char *bytes, size_t n) {
    size_t n_read = 0;
    const char *end = NULL;
    return strspn(hex, "0123456789abcdef") == 2 * n &&
           sodium_hex2bin(bytes, n, hex, 2 * n, NULL, &n_read, &end) == 0 && n_read == n &&
           end[0] == '"';
}

efface_status efface_receipt_verify(const char *json,
                                    const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                                    efface_error *error) {
    if (json == NULL || public_key == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "json and public_key must not be NULL");
    const char *const fields = strstr(json, SIGNED_FIELDS);
    if (fields == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the receipt is not signed");
    if (sodium_init() < 0)
        return ef_fail_memory(error);
    const char *const key = fields + strlen(SIGNED_FIELDS);
    const char *const between = "\",\"signature\":\"";
    unsigned char signer[EFFACE_PUBLIC_KEY_BYTES], signature[crypto_sign_BYTES];
    const size_t n_body = (size_t)(fields - json) + 1;
    char *const body = ef_alloc(n_body, 1);
    if (body == NULL)
        return ef_fail_memory(error);
    memcpy(body, json, n_body - 1);
    body[n_body - 1] = '}';
    bool right = read_hex(key, signer, sizeof signer);
    const char *const rest = right ? key + 2 * sizeof signer : "";
    right = right && strncmp(rest, between, strlen(between)) == 0 &&
            read_hex(rest + strlen(between), signature, sizeof signature) &&
            strcmp(rest + strlen(between) + 2 * sizeof signature, "\"}") == 0 &&
            memcmp(signer, public_key, sizeof signer) == 0 &&
            crypto_sign_verify_detached(signature, (const unsigned char *)body, n_body,
                                        public_key) == 0;
    ef_free(body);
    return right ? EFFACE_OK
                 : ef_fail(error, EFFACE_E_FORMAT,
                           "the receipt was changed, or signed with another key");
}
