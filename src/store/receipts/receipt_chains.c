/* Receipts outside of a store: their signatures, and whether lines of them are a chain. */
#include "store/receipts/receipts.h"

#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- keys */

efface_status efface_keys_make(unsigned char secret_key[EFFACE_SECRET_KEY_BYTES],
                               unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                               efface_error *error) {
    if (sodium_init() < 0 || crypto_sign_keypair(public_key, secret_key) != 0)
        return ef_fail(error, EFFACE_E_IO, "the system gives no random numbers for keys");
    return EFFACE_OK;
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
    const char *const fields = strstr(json, EF_SIGNED_FIELDS);
    if (fields == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the receipt is not signed");
    if (sodium_init() < 0)
        return ef_fail_memory(error);
    const char *const key = fields + strlen(EF_SIGNED_FIELDS);
    const char *const between = "\",\"signature\":\"";
    unsigned char signer[EFFACE_PUBLIC_KEY_BYTES], signature[crypto_sign_BYTES];
    const size_t n_body = (size_t)(fields - json) + 1;
    char *const body = ef_alloc(n_body, 1);
    if (body == NULL)
        return ef_fail_memory(error);
    memcpy(body, json, n_body - 1);
    body[n_body - 1] = '}';
    bool ok = read_hex(key, signer, sizeof signer);
    const char *const rest = ok ? key + 2 * sizeof signer : "";
    ok = ok && strncmp(rest, between, strlen(between)) == 0 &&
         read_hex(rest + strlen(between), signature, sizeof signature) &&
         strcmp(rest + strlen(between) + 2 * sizeof signature, "\"}") == 0 &&
         memcmp(signer, public_key, sizeof signer) == 0 &&
         crypto_sign_verify_detached(signature, (const unsigned char *)body, n_body, public_key) ==
             0;
    ef_free(body);
    return ok ? EFFACE_OK
              : ef_fail(error, EFFACE_E_FORMAT,
                        "the signature does not match: the receipt was changed, or signed with "
                        "another key");
}

/* ---------------------------------------------------------------- chains */

bool ef_bytes_have(ef_decoder bytes, const char *wanted) {
    const size_t n = strlen(wanted);
    for (size_t at = 0; at + n <= bytes.n_bytes; at++)
        if (memcmp(bytes.bytes + at, wanted, n) == 0)
            return true;
    return false;
}

bool ef_receipt_follows(ef_decoder body, const unsigned char digest[EFFACE_DIGEST_BYTES]) {
    static const char field[] = "\"previous\":\"";
    char wanted[sizeof field + 2 * EFFACE_DIGEST_BYTES];
    memcpy(wanted, field, sizeof field - 1);
    (void)sodium_bin2hex(wanted + sizeof field - 1, 2 * EFFACE_DIGEST_BYTES + 1, digest,
                         EFFACE_DIGEST_BYTES);
    return ef_bytes_have(body, wanted);
}

/* The number of a receipt, which begins its line; 0 if it is none. */
static uint64_t receipt_number_of(const char *line) {
    static const char begin[] = "{\"receipt\":";
    if (strncmp(line, begin, sizeof begin - 1) != 0)
        return 0;
    uint64_t number = 0;
    const char *at = line + sizeof begin - 1;
    for (; *at >= '0' && *at <= '9' && number < UINT64_MAX / 10 - 1; at++)
        number = 10 * number + (uint64_t)(*at - '0');
    return *at == ',' ? number : 0;
}

typedef struct chain {
    void (*found)(void *context, size_t line, const char *problem);
    void *context;
    size_t line;
    uint64_t number;                           /* of the receipt before, 0 for none */
    unsigned char digest[EFFACE_DIGEST_BYTES]; /* its digest; zeros before the first */
} chain;

static void say_in_chain(const chain *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say_in_chain(const chain *c, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    c->found(c->context, c->line, text);
}

static void check_receipt_line(chain *c, const char *line) {
    const ef_decoder body = {.bytes = (const unsigned char *)line, .n_bytes = strlen(line)};
    const uint64_t number = receipt_number_of(line);
    if (number == 0) {
        say_in_chain(c, "this is not a receipt");
        return;
    }
    if (c->number != 0 && number == c->number)
        say_in_chain(c, "receipt %" PRIu64 " appears twice", number);
    else if (c->number != 0 && number < c->number)
        say_in_chain(c, "receipt %" PRIu64 " comes after receipt %" PRIu64, number, c->number);
    else if (c->number != 0 && number == c->number + 2)
        say_in_chain(c, "receipt %" PRIu64 " is missing before this line", c->number + 1);
    else if (c->number != 0 && number > c->number + 2)
        say_in_chain(c, "receipts %" PRIu64 " to %" PRIu64 " are missing before this line",
                     c->number + 1, number - 1);
    else if (number == c->number + 1 && !ef_receipt_follows(body, c->digest))
        say_in_chain(c,
                     number == 1
                         ? "receipt %" PRIu64 " is the first, but names a receipt before it"
                         : "receipt %" PRIu64
                           " does not name the receipt before it: one of the two was changed",
                     number);
    c->number = number;
    ef_digest(line, body.n_bytes, c->digest);
}

/* The public key that a line names; false if it is not signed. */
static bool read_signer(const char *line, unsigned char key[EFFACE_PUBLIC_KEY_BYTES]) {
    const char *const fields = strstr(line, EF_SIGNED_FIELDS);
    if (fields == NULL)
        return false;
    if (!read_hex(fields + strlen(EF_SIGNED_FIELDS), key, EFFACE_PUBLIC_KEY_BYTES))
        memset(key, 0, EFFACE_PUBLIC_KEY_BYTES);
    return true;
}

efface_status efface_receipts_verify(const char *const *lines, size_t n_lines,
                                     const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                                     void (*found)(void *context, size_t line, const char *problem),
                                     void *context, efface_error *error) {
    if ((lines == NULL && n_lines != 0) || found == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "lines and found must not be NULL");
    chain c = {.found = found, .context = context};
    for (size_t i = 0; i < n_lines; i++) {
        c.line = i + 1;
        check_receipt_line(&c, lines[i]);
        /* Without a key, a line that is signed is at least what the key that it names signed. */
        unsigned char own[EFFACE_PUBLIC_KEY_BYTES];
        if (public_key == NULL && !read_signer(lines[i], own))
            continue;
        efface_error problem;
        const efface_status status =
            efface_receipt_verify(lines[i], public_key != NULL ? public_key : own, &problem);
        if (status == EFFACE_E_MEMORY)
            return ef_fail_memory(error);
        if (status != EFFACE_OK)
            say_in_chain(&c, "%s", problem.message);
    }
    return EFFACE_OK;
}
