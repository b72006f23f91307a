/* Receipts: the list of a store, one of them byte for byte, and whether they are as they were made.
 */
#include "api/api.h"
#include "api/values.h"
#include "rooms/rooms.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECEIPTS 1000 /* in one reply */
#define MAX_PROBLEMS 1000 /* the same */
#define LINES_AT_ONCE 1000

/* Receipts are lines of JSON already: they are joined as they are. */
static efface_status write_receipts(FILE *out, efface_store *store, uint64_t before, uint64_t count,
                                    uint64_t of, efface_error *error) {
    fputs("{\"receipts\":[", out);
    for (uint64_t i = 1; i <= count && i < before; i++) {
        char *line = NULL;
        const efface_status status = efface_store_receipt(store, before - i, &line, error);
        if (status != EFFACE_OK)
            return status;
        fputs(i > 1 ? "," : "", out);
        fputs(line, out);
        efface_text_free(line);
    }
    fprintf(out, "],\"of\":%" PRIu64 "}", of);
    return EFFACE_OK;
}

sv_when sv_get_receipts(sv_request *request) {
    uint64_t before, count;
    efface_store *store = NULL;
    efface_store_info info;
    efface_error error;
    char *text = NULL;
    size_t n_text = 0;
    if (!sv_query_whole(request, "before", 1, UINT64_MAX, UINT64_MAX, &before) ||
        !sv_query_whole(request, "count", 1, MAX_RECEIPTS, 50, &count))
        return SV_NOW;
    efface_status status = sv_room_open(request->room, &store, &info, &error);
    FILE *const out = open_memstream(&text, &n_text);
    if (status == EFFACE_OK && out != NULL)
        status =
            write_receipts(out, store, before <= info.n_receipts ? before : info.n_receipts + 1,
                           count, info.n_receipts, &error);
    const bool written = out != NULL && fclose(out) == 0;
    efface_store_close(store);
    if (status == EFFACE_OK && written)
        return sv_reply_text(request, 200, "application/json", text, n_text);
    free(text);
    return sv_reply_result(request, NULL, status, &error);
}

sv_when sv_get_receipt(sv_request *request) {
    efface_store *store = NULL;
    efface_error error;
    char *line = NULL;
    uint64_t number;
    if (!sv_read_whole(request->parts[1], &number))
        return sv_refuse(request, 400, "parameter",
                         "the number of a receipt is a whole number, from 1");
    efface_status status = sv_room_open(request->room, &store, NULL, &error);
    if (status == EFFACE_OK)
        status = efface_store_receipt(store, number, &line, &error);
    efface_store_close(store);
    if (status != EFFACE_OK)
        return sv_refuse_error(request, &error);
    sv_reply_copy(request, line);
    efface_text_free(line);
    return SV_NOW;
}

/* ---------------------------------------------------------------- checking */

static void add_problem(json_t *problems, const char *text) {
    if (json_array_size(problems) < MAX_PROBLEMS)
        sv_json_add(problems, sv_json_text(text));
}

static void add_found(void *problems, size_t line, const char *problem) {
    (void)line; /* the problem names the receipt */
    add_problem(problems, problem);
}

/* Names the receipts that are missing or changed. They are read some at a time; the last of some
 * is the first of the next, so that the chain is looked at in one piece. */
static void name_damaged(efface_store *store, uint64_t n_receipts, json_t *problems) {
    char *lines[LINES_AT_ONCE];
    efface_error error;
    for (uint64_t first = 1; first <= n_receipts; first += LINES_AT_ONCE - 1) {
        size_t n = 0;
        efface_status status = EFFACE_OK;
        while (n < LINES_AT_ONCE && first + n <= n_receipts && status == EFFACE_OK) {
            status = efface_store_receipt(store, first + n, &lines[n], &error);
            n += status == EFFACE_OK;
        }
        (void)efface_receipts_verify((const char *const *)lines, n, NULL, add_found, problems,
                                     &error);
        for (size_t i = 0; i < n; i++)
            efface_text_free(lines[i]);
        if (status != EFFACE_OK) {
            char text[64];
            (void)snprintf(text, sizeof text, "receipt %" PRIu64 " cannot be read", first + n);
            add_problem(problems, text);
            return;
        }
    }
}

static const char no_match[] = "does not match", not_compared[] = "not compared",
                  not_signed[] = "not signed";

/* What there is to say of the signature of a line, of which it is known whether it has one and
 * whether anything is wrong with it. */
static const char *signature_of(const char *line, const unsigned char *key) {
    efface_error error;
    if (strstr(line, "\"signature\":\"") == NULL)
        return not_signed;
    if (key == NULL)
        return not_compared;
    return efface_receipt_verify(line, key, &error) == EFFACE_OK ? "valid" : no_match;
}

/* Of the last receipt of a store. */
static const char *last_signature(efface_store *store, uint64_t n_receipts,
                                  const unsigned char *key) {
    char *line = NULL;
    efface_error error;
    const char *const found = efface_store_receipt(store, n_receipts, &line, &error) == EFFACE_OK
                                  ? signature_of(line, key)
                                  : not_signed;
    efface_text_free(line);
    return found;
}

/* Checks all receipts of a store. The library checks them against the head of the store first, and
 * against the key then: so a key of zeros, with which nothing is signed, checks the former alone.
 */
static efface_status check_all(const sv_room *room, const unsigned char *key, json_t *problems,
                               const char **signature, efface_error *error) {
    static const unsigned char no_key[EFFACE_PUBLIC_KEY_BYTES];
    efface_store *store = NULL;
    efface_store_info info;
    efface_status status = sv_room_open(room, &store, &info, error);
    if (status == EFFACE_OK) {
        status = efface_store_verify_receipts(store, key != NULL ? key : no_key, error);
        if (status == EFFACE_E_CORRUPT) {
            add_problem(problems, "the receipts are not those that the store has written");
            name_damaged(store, info.n_receipts, problems);
        } else if (status == EFFACE_E_FORMAT && key != NULL) {
            add_problem(problems, "the receipts, or their number, were not signed with this key");
        }
        *signature = last_signature(store, info.n_receipts, key);
        if (status == EFFACE_E_FORMAT && key != NULL && strcmp(*signature, "valid") == 0)
            *signature = no_match; /* of one before, or of their number */
        if (status == EFFACE_E_CORRUPT || status == EFFACE_E_FORMAT)
            status = EFFACE_OK;
    }
    efface_store_close(store);
    return status;
}

/* A line by itself is vouched for by its signature alone. */
static efface_status check_line(const char *line, const unsigned char *key, json_t *problems,
                                const char **signature, efface_error *error) {
    const efface_status status = efface_receipts_verify(&line, 1, key, add_found, problems, error);
    *signature = signature_of(line, key);
    if (key == NULL && *signature == not_signed)
        add_problem(problems, "the receipt is not signed: anyone can have written it");
    else if (key == NULL)
        add_problem(problems, "the key that the receipt names was not compared: give public_key");
    return status;
}

/* The key of a request; false, with a reply, if it is none. */
static bool read_key(sv_request *request, const json_t *body,
                     unsigned char key[EFFACE_PUBLIC_KEY_BYTES], const unsigned char **given) {
    const json_t *const value = json_object_get(body, "public_key");
    const char *const text = json_string_value(value);
    size_t n = 0;
    *given = NULL;
    if (value == NULL)
        return true;
    if (text == NULL || strlen(text) != 2 * EFFACE_PUBLIC_KEY_BYTES ||
        sodium_hex2bin(key, EFFACE_PUBLIC_KEY_BYTES, text, strlen(text), NULL, &n, NULL) != 0 ||
        n != EFFACE_PUBLIC_KEY_BYTES)
        return sv_refuse(request, 400, "invalid", "public_key must be 64 hexadecimal digits");
    *given = key;
    return true;
}

/* Whether a body has no members but these two. */
static bool is_check(sv_request *request, const json_t *body) {
    const json_t *const line = json_object_get(body, "receipt");
    const bool has_key = json_object_get(body, "public_key") != NULL;
    const size_t n_known = (size_t)(line != NULL) + (size_t)has_key;
    if (json_object_size(body) == n_known && (line == NULL || json_is_string(line)))
        return true;
    return sv_refuse(request, 400, "invalid",
                     "the body may have receipt, a line, and public_key, and nothing else");
}

/* All receipts are read in one go, and there may be many: that waits for its turn. */
static bool waits_to_read(const sv_request *request, const json_t *body) {
    return request->at != SV_ON_READER && json_object_get(body, "receipt") == NULL;
}

sv_when sv_post_verify_receipts(sv_request *request) {
    json_t *const body = sv_body_json(request);
    if (body != NULL && waits_to_read(request, body)) {
        json_decref(body);
        sv_move(request, SV_ON_READER);
        return SV_LATER;
    }
    json_t *const problems = json_array();
    unsigned char bytes[EFFACE_PUBLIC_KEY_BYTES];
    const unsigned char *key;
    efface_error error;
    if (body != NULL && is_check(request, body) && read_key(request, body, bytes, &key)) {
        const char *const line = json_string_value(json_object_get(body, "receipt"));
        const char *signature = not_compared;
        const efface_status status =
            line != NULL ? check_line(line, key, problems, &signature, &error)
                         : check_all(request->room, key, problems, &signature, &error);
        sv_reply_result(request,
                        json_pack("{s:b,s:s,s:O}", "valid", json_array_size(problems) == 0,
                                  "signature", signature, "problems", problems),
                        status, &error);
    }
    json_decref(problems);
    json_decref(body);
    return SV_NOW;
}
