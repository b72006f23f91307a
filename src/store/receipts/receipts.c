/*
 * Receipts: a line of JSON for each request, without a value of a row. Of the ids of rows it has
 * their number and the root of a tree of hashes under the receipt key (receipt_roots.c): whoever
 * has the key and the list of hashes can tell whether an id was among them, nobody else can. Each
 * receipt names the digest of the one before, and the head of the store has the number of receipts
 * and the digest of the last, so that none can be taken out unnoticed.
 *
 * A signature covers the line as it is without its last two fields, public_key and signature. If
 * receipts are signed, so is the number of them, in the fact "signature":
 *
 *     u64  receipts    32  digest of the last    32  public key    64  signature of the first 40
 *                                                                  bytes after "efface receipts"
 */
#include "store/receipts/receipts.h"

#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/transactions.h"
#include "store/parts.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_member(ef_writer *w, const char *text) {
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
    put_member(w, hex);
}

/* Zeros: there was no model, or is none. */
static bool is_state(const unsigned char commitment[EFFACE_DIGEST_BYTES]) {
    return sodium_is_zero(commitment, EFFACE_DIGEST_BYTES) == 0;
}

static void put_state(ef_writer *w, const unsigned char commitment[EFFACE_DIGEST_BYTES]) {
    if (is_state(commitment))
        put_hex(w, commitment, EFFACE_DIGEST_BYTES);
}

static const char *action_of(const efface_model_report *m) {
    return !is_state(m->before)  ? "added"
           : !is_state(m->after) ? "dropped"
                                 : efface_action_name(m->report.action);
}

/* Without `where`: how many trees changed, say, would tell guesses of a row apart. */
static void put_model(ef_writer *w, const efface_model_report *m) {
    put_format(w, "{\"name\":\"%s\",\"kind\":\"%s\",\"action\":\"%s\",\"reason\":\"%s\"", m->name,
               m->kind, action_of(m), m->report.reason);
    put_member(w, ",\"before\":\"");
    put_state(w, m->before);
    put_member(w, "\",\"after\":\"");
    put_state(w, m->after);
    put_member(w, "\"}");
}

static void put_body(ef_writer *w, const char *kind, const char *time,
                     const efface_store_report *report,
                     const unsigned char root[EFFACE_DIGEST_BYTES], const unsigned char *previous) {
    put_format(w, "{\"receipt\":%" PRIu64 ",", report->receipt);
    put_format(w, "\"time\":\"%s\"", time);
    put_format(w,
               ",\"kind\":\"%s\",\"requested\":%" PRIu64 ",\"missing\":%" PRIu64
               ",\"forgotten\":%" PRIu64 ",\"learned\":%" PRIu64 ",\"updated\":%" PRIu64
               ",\"rows\":{\"count\":%" PRIu64 ",\"root\":\"",
               kind, report->n_requested, report->n_missing, report->n_forgotten, report->n_learned,
               report->n_updated, report->n_row_hashes);
    put_hex(w, root, EFFACE_DIGEST_BYTES);
    put_member(w, "\"},\"models\":[");
    for (uint32_t i = 0; i < report->n_models; i++) {
        put_member(w, i != 0 ? "," : "");
        put_model(w, &report->models[i]);
    }
    put_member(w, "],");
    /* Without the length of the file: it grows with each class, and with each node of a tree. */
    if (report->n_published_bytes != 0) {
        put_member(w, "\"published\":{\"digest\":\"");
        put_hex(w, report->published, sizeof report->published);
        put_member(w, "\"},");
    }
    if (report->group != 0)
        put_format(w, "\"group\":%" PRIu64 ",", report->group);
    put_member(w, "\"previous\":\"");
    put_hex(w, previous, EFFACE_DIGEST_BYTES);
    put_member(w, "\"}");
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
    put_member(w, EF_SIGNED_FIELDS);
    put_hex(w, public_key, sizeof public_key);
    put_member(w, "\",\"signature\":\"");
    put_hex(w, signature, sizeof signature);
    put_member(w, "\"}");
}

/* ---------------------------------------------------------------- the number of receipts, signed
 */

#define SIGNED_COUNT_BYTES (8 + EFFACE_DIGEST_BYTES)
#define SIGNATURE_BYTES (SIGNED_COUNT_BYTES + EFFACE_PUBLIC_KEY_BYTES + crypto_sign_BYTES)

static const char signed_as[] = "efface receipts";

/* What is signed of a number of receipts whose first bytes are `count`. */
static void signed_bytes(const unsigned char count[SIGNED_COUNT_BYTES],
                         unsigned char out[sizeof signed_as + SIGNED_COUNT_BYTES]) {
    memcpy(out, signed_as, sizeof signed_as);
    memcpy(out + sizeof signed_as, count, SIGNED_COUNT_BYTES);
}

static efface_status sign_count(efface_store *store, efface_error *error) {
    unsigned char fact[SIGNATURE_BYTES], bytes[sizeof signed_as + SIGNED_COUNT_BYTES];
    for (int i = 0; i < 8; i++)
        fact[i] = (unsigned char)(store->head.n_receipts >> (8 * i));
    memcpy(fact + 8, store->head.last_receipt, EFFACE_DIGEST_BYTES);
    (void)crypto_sign_ed25519_sk_to_pk(fact + SIGNED_COUNT_BYTES, store->secret_key);
    signed_bytes(fact, bytes);
    if (crypto_sign_detached(fact + SIGNED_COUNT_BYTES + EFFACE_PUBLIC_KEY_BYTES, NULL, bytes,
                             sizeof bytes, store->secret_key) != 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the secret key cannot sign; make a new pair of keys");
    sqlite3_stmt *statement = NULL;
    efface_status status = ef_sql_prepare(
        store, "INSERT OR REPLACE INTO facts VALUES ('signature', ?)", &statement, error);
    if (status == EFFACE_OK) {
        ef_sql_bind_bytes(statement, 1, fact, sizeof fact);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* How many receipts were signed, the digest of the last of them, and with which key. */
typedef struct signed_count {
    uint64_t number; /* 0: nothing was signed */
    unsigned char digest[EFFACE_DIGEST_BYTES];
    unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES];
} signed_count;

static efface_status read_signature(efface_store *store, signed_count *found, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    found->number = 0;
    efface_status status = ef_sql_prepare(store, "SELECT value FROM facts WHERE name = 'signature'",
                                          &statement, error);
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK && row) {
        const ef_decoder fact = ef_sql_bytes(statement, 0);
        unsigned char bytes[sizeof signed_as + SIGNED_COUNT_BYTES];
        bool ok = fact.n_bytes == SIGNATURE_BYTES;
        if (ok) {
            signed_bytes(fact.bytes, bytes);
            ok = crypto_sign_verify_detached(
                     fact.bytes + SIGNED_COUNT_BYTES + EFFACE_PUBLIC_KEY_BYTES, bytes, sizeof bytes,
                     fact.bytes + SIGNED_COUNT_BYTES) == 0;
        }
        if (ok) {
            ef_decoder reader = fact;
            found->number = ef_read_u64(&reader);
            ef_read_bytes(&reader, found->digest, sizeof found->digest);
            ef_read_bytes(&reader, found->public_key, sizeof found->public_key);
        } else {
            status =
                ef_store_corrupt(error, "the signature of the number of its receipts is invalid");
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* ---------------------------------------------------------------- append and check */

static efface_status insert_receipt(efface_store *store, uint64_t number, const ef_writer *w,
                                    efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status =
        ef_sql_prepare(store, "INSERT INTO receipts VALUES (?, ?)", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)number);
        (void)sqlite3_bind_text64(statement, 2, (const char *)w->bytes, w->n_bytes, SQLITE_STATIC,
                                  SQLITE_UTF8);
        status = ef_sql_do(store, statement, error);
        if (status == EFFACE_E_DUPLICATE)
            status = ef_store_corrupt(error, "it has more receipts than its head says");
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_receipt_append(efface_store *store, const char *kind, const uint64_t *ids,
                                size_t n_ids, efface_store_report *report, efface_error *error) {
    ef_head *const head = &store->head;
    unsigned char root[EFFACE_DIGEST_BYTES];
    report->row_hashes = ef_alloc(n_ids, EFFACE_ROW_HASH_BYTES);
    if (report->row_hashes == NULL)
        return ef_fail_memory(error);
    report->n_row_hashes = n_ids;
    for (size_t i = 0; i < n_ids; i++)
        ef_row_hash(store->receipt_key, ids[i], report->row_hashes + i * EFFACE_ROW_HASH_BYTES);
    ef_row_hashes_sort(report->row_hashes, n_ids);
    char time[EF_TIME_BYTES];
    efface_status status = efface_receipt_root(report->row_hashes, n_ids, root, error);
    EF_THEN(status, ef_receipt_time(store, time, error));
    if (status != EFFACE_OK)
        return status;
    report->receipt = head->n_receipts + 1;
    ef_writer w = {0};
    put_body(&w, kind, time, report, root, head->last_receipt);
    if (store->signs)
        sign(&w, store);
    status = w.failed ? ef_fail_memory(error) : insert_receipt(store, report->receipt, &w, error);
    if (status == EFFACE_OK) {
        head->n_receipts++;
        ef_digest(w.bytes, w.n_bytes, head->last_receipt);
        store->head_changed = true;
        status = ef_openings_keep(store, report, error);
    }
    ef_free(w.bytes);
    return status;
}

efface_status ef_receipt_of_models(efface_store *store, const char *kind,
                                   efface_model_report *models, uint32_t n_models,
                                   efface_error *error) {
    efface_store_report report = {.n_models = n_models, .models = models};
    const efface_status status = ef_receipt_append(store, kind, NULL, 0, &report, error);
    ef_free(report.row_hashes);
    return status == EFFACE_OK ? ef_receipts_sign(store, error) : status;
}

efface_status ef_receipts_sign(efface_store *store, efface_error *error) {
    return store->signs ? sign_count(store, error) : EFFACE_OK;
}

/* Checks that a receipt names `digest`, that of the receipt before, and puts its own there. */
static efface_status check_receipt(sqlite3_stmt *statement, uint64_t number,
                                   unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    if (!ef_sql_has(statement, "it") || (uint64_t)sqlite3_column_int64(statement, 0) != number)
        return ef_store_corrupt(error, "a receipt is missing");
    const ef_decoder body = ef_sql_bytes(statement, 1);
    if (!ef_receipt_follows(body, digest))
        return ef_store_corrupt(error, "a receipt does not name the receipt before it");
    ef_digest(body.bytes, body.n_bytes, digest);
    return EFFACE_OK;
}

/* Whether a signed receipt was signed with this key. */
static bool is_signed_with(ef_decoder body, const unsigned char key[EFFACE_PUBLIC_KEY_BYTES]) {
    char wanted[sizeof EF_SIGNED_FIELDS + 2 * EFFACE_PUBLIC_KEY_BYTES];
    memcpy(wanted, EF_SIGNED_FIELDS, sizeof EF_SIGNED_FIELDS - 1);
    (void)sodium_bin2hex(wanted + sizeof EF_SIGNED_FIELDS - 1, 2 * EFFACE_PUBLIC_KEY_BYTES + 1, key,
                         EFFACE_PUBLIC_KEY_BYTES);
    return ef_bytes_have(body, wanted);
}

/* How far a walk through the receipts is: from the first to what was the last when it began. It may
 * be interrupted, for receipts are only appended. */
typedef struct walked {
    bool begun;
    signed_count count;
    uint64_t n_receipts; /* when it began, and the digest of the last of them */
    unsigned char last_receipt[EFFACE_DIGEST_BYTES];
    uint64_t n; /* how many it has been through, and the digest of the last of them */
    unsigned char digest[EFFACE_DIGEST_BYTES];
    uint64_t last_signed; /* of these */
    uint64_t n_unsigned;  /* that the key has not signed, and the first of them */
    uint64_t first_unsigned;
} walked;

typedef struct receipts_walk {
    const unsigned char *public_key; /* NULL: signatures are not looked at */
    ef_state_list *states;
    walked at;
} receipts_walk;

static efface_status begin_walk(efface_store *store, receipts_walk *w, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    efface_status status = read_signature(store, &w->at.count, error);
    EF_THEN(status, ef_sql_prepare(store, "SELECT coalesce(max(number), 0) FROM receipts",
                                   &statement, error));
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK &&
        (!row || (uint64_t)sqlite3_column_int64(statement, 0) != store->head.n_receipts))
        status = ef_store_corrupt(error, "its receipts do not match their head");
    (void)sqlite3_finalize(statement);
    w->at.begun = true;
    w->at.n_receipts = store->head.n_receipts;
    memcpy(w->at.last_receipt, store->head.last_receipt, sizeof w->at.last_receipt);
    return status;
}

/* Verifies the signature of a receipt by itself: the last one, and the number of all, say nothing
 * of those before. */
static efface_status walk_signature(receipts_walk *w, const char *line, efface_error *error) {
    efface_error problem;
    if (w->public_key == NULL)
        return EFFACE_OK;
    const efface_status status = efface_receipt_verify(line, w->public_key, &problem);
    if (status == EFFACE_E_MEMORY)
        return ef_fail_memory(error);
    if (status != EFFACE_OK && w->at.n_unsigned++ == 0)
        w->at.first_unsigned = w->at.n;
    return EFFACE_OK;
}

static efface_status walk_receipt(efface_store *store, receipts_walk *w, sqlite3_stmt *statement,
                                  efface_error *error) {
    const char *line = NULL;
    bool fits = true;
    efface_status status = check_receipt(statement, ++w->at.n, w->at.digest, error);
    EF_THEN(status, ef_sql_text(store, statement, 1, &line, error));
    if (status != EFFACE_OK)
        return status;
    const ef_decoder body = ef_sql_bytes(statement, 1);
    if (ef_bytes_have(body, EF_SIGNED_FIELDS))
        w->at.last_signed = w->at.n;
    status = ef_states_follow(w->states, body, &fits, error);
    if (status == EFFACE_OK && !fits)
        return ef_store_corrupt(error, "a receipt does not find a model as it was left");
    if (status == EFFACE_OK && w->at.n == w->at.count.number &&
        (memcmp(w->at.digest, w->at.count.digest, sizeof w->at.digest) != 0 ||
         !is_signed_with(body, w->at.count.public_key)))
        return ef_store_corrupt(error, "its receipts do not match their signature");
    return status == EFFACE_OK ? walk_signature(w, line != NULL ? line : "", error) : status;
}

/* The signed number is that of the last signed receipt, and both have the same key. Somebody who
 * removes receipts would have to sign another number. */
static efface_status end_walk(const receipts_walk *w, efface_error *error) {
    if (w->at.count.number != w->at.last_signed)
        return ef_store_corrupt(error, "the number of its receipts does not match its signature");
    return memcmp(w->at.digest, w->at.last_receipt, sizeof w->at.digest) == 0
               ? EFFACE_OK
               : ef_store_corrupt(error, "its receipts do not match their head");
}

/* Goes through at most so many receipts more. */
static efface_status walk_some(efface_store *store, receipts_walk *w, uint64_t most,
                               efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    efface_status status = w->at.begun ? EFFACE_OK : begin_walk(store, w, error);
    EF_THEN(status, ef_sql_prepare(store,
                                   "SELECT number, body FROM receipts WHERE number > ?"
                                   " ORDER BY number",
                                   &statement, error));
    if (status == EFFACE_OK)
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)w->at.n);
    for (uint64_t i = 0; status == EFFACE_OK && i < most && w->at.n < w->at.n_receipts; i++) {
        status = ef_sql_step(store, statement, &row, error);
        if (status == EFFACE_OK && !row)
            status = ef_store_corrupt(error, "a receipt is missing");
        EF_THEN(status, walk_receipt(store, w, statement, error));
    }
    (void)sqlite3_finalize(statement);
    return status == EFFACE_OK && w->at.n == w->at.n_receipts ? end_walk(w, error) : status;
}

efface_status ef_receipts_check(efface_store *store, ef_state_list *states, efface_error *error) {
    receipts_walk w = {.states = states};
    return walk_some(store, &w, UINT64_MAX, error);
}

/* What a walk has to say of signatures when it has ended well. */
static efface_status judge_signatures(const receipts_walk *w, efface_error *error) {
    if (w->at.n_unsigned != 0)
        return ef_fail(error, EFFACE_E_FORMAT,
                       "receipts without a valid signature of this key: %" PRIu64 " of %" PRIu64
                       ", the first is receipt %" PRIu64
                       "; they were signed by nobody or with another key, or changed later",
                       w->at.n_unsigned, w->at.n_receipts, w->at.first_unsigned);
    return w->at.count.number == w->at.n_receipts &&
                   (w->at.count.number == 0 ||
                    memcmp(w->at.count.public_key, w->public_key, EFFACE_PUBLIC_KEY_BYTES) == 0)
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_FORMAT,
                         "the receipts of the store, or their number, were not signed with this "
                         "key");
}

#define WALK_AT_ONCE 100 /* receipts: whoever writes waits for the end of a transaction */

static efface_status walk_on(efface_store *store, void *walk, efface_error *error) {
    return walk_some(store, walk, WALK_AT_ONCE, error);
}

efface_status efface_store_verify_receipts(efface_store *store,
                                           const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                                           efface_error *error) {
    if (store == NULL || public_key == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and public_key must not be NULL");
    ef_state_list states = {NULL, 0, 0};
    receipts_walk walk = {.public_key = public_key, .states = &states};
    efface_status status = EFFACE_OK;
    do {
        status = ef_store_begin(store, false, error);
        if (status != EFFACE_OK)
            break;
        status = store->parts->lead(store, walk_on, &walk, &walk.at, sizeof walk.at, error);
        status = ef_store_end(store, status, error);
    } while (status == EFFACE_OK && walk.at.n < walk.at.n_receipts);
    ef_states_free(&states);
    return status == EFFACE_OK ? judge_signatures(&walk, error) : status;
}

static efface_status read_receipt(efface_store *store, const void *which, unsigned char **json,
                                  size_t *n_bytes, efface_error *error) {
    const uint64_t number = *(const uint64_t *)which;
    sqlite3_stmt *statement = NULL;
    bool row = false;
    if (number == 0 || number > store->head.n_receipts)
        return ef_fail(error, EFFACE_E_NOT_FOUND, "there is no receipt %" PRIu64, number);
    efface_status status =
        ef_sql_prepare(store, "SELECT body FROM receipts WHERE number = ?", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)number);
        status = ef_sql_step(store, statement, &row, error);
    }
    if (status == EFFACE_OK && (!row || !ef_sql_has(statement, "t")))
        status = ef_store_corrupt(error, "a receipt is missing");
    if (status == EFFACE_OK) {
        ef_decoder body = ef_sql_bytes(statement, 0);
        const size_t n = body.n_bytes;
        unsigned char *const text = ef_alloc(n + 1, 1);
        if (text == NULL) {
            status = ef_fail_memory(error);
        } else {
            ef_read_bytes(&body, text, n);
            text[n] = '\0';
            *json = text;
            *n_bytes = n + 1;
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status efface_store_receipt(efface_store *store, uint64_t number, char **json,
                                   efface_error *error) {
    if (store == NULL || json == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "store and json must not be NULL");
    unsigned char *text = NULL;
    size_t n_bytes;
    efface_status status = ef_store_begin(store, false, error);
    if (status != EFFACE_OK)
        return status;
    status = store->parts->share(store, read_receipt, &number, &text, &n_bytes, error);
    status = ef_store_end(store, status, error);
    if (status == EFFACE_OK)
        *json = (char *)text;
    else
        ef_free(text);
    return status;
}
