/* A new OpenDSR request: whether it is in order, and its acknowledgement. */
#include "access/times.h"
#include "dsr/register.h"
#include "wiping.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_BODY_BYTES 65536
#define MAX_IDENTITIES 100
#define MAX_VALUE_BYTES 1024
#define EXPECTED_SECONDS 86400 /* usually it takes less than one; but a store may be busy */

/* ------------------------------------------------------------------ forms of texts */

/* Whether a text has the form: 0 is a digit, x a hexadecimal digit in small letters, and every
 * other letter stands for itself. Returns what follows, or NULL. */
static const char *skip(const char *text, const char *form) {
    for (; *form != 0; form++, text++) {
        const bool digit = *text >= '0' && *text <= '9';
        const bool ok = *form == '0'   ? digit
                        : *form == 'x' ? digit || (*text >= 'a' && *text <= 'f')
                                       : *text == *form;
        if (!ok)
            return NULL;
    }
    return text;
}

/* A UUID of version 4 in small letters. */
static bool is_uuid(const char *text) {
    const char *const end = skip(text, "xxxxxxxx-xxxx-4xxx-xxxx-xxxxxxxxxxxx");
    return end != NULL && *end == 0 && strchr("89ab", text[19]) != NULL;
}

static int number_of(const char *digits) {
    return 10 * (digits[0] - '0') + digits[1] - '0';
}

/* A date and time of RFC 3339, with an offset or Z. */
static bool is_time(const char *text) {
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *rest = skip(text, "0000-00-00");
    if (rest == NULL || (*rest != 'T' && *rest != 't'))
        return false;
    const int year = 100 * number_of(text) + number_of(text + 2);
    const int month = number_of(text + 5), day = number_of(text + 8);
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (month < 1 || month > 12 || day < 1 || day > days[month - 1] ||
        (month == 2 && day == 29 && !leap))
        return false;
    const char *const clock = rest + 1;
    rest = skip(clock, "00:00:00");
    if (rest == NULL || number_of(clock) > 23 || number_of(clock + 3) > 59 ||
        number_of(clock + 6) > 60)
        return false;
    if (*rest == '.') {
        const size_t n = strspn(++rest, "0123456789");
        if (n == 0)
            return false;
        rest += n;
    }
    if (*rest == 'Z' || *rest == 'z')
        return rest[1] == 0;
    if (*rest != '+' && *rest != '-')
        return false;
    const char *const end = skip(rest + 1, "00:00");
    return end != NULL && *end == 0 && number_of(rest + 1) <= 23 && number_of(rest + 4) <= 59;
}

/* "2", or "2." and digits. */
static bool is_our_version(const char *text) {
    if (text[0] != '2' || text[1] == 0)
        return text[0] == '2';
    return text[1] == '.' && text[2] != 0 && text[2 + strspn(text + 2, "0123456789")] == 0;
}

/* ------------------------------------------------------------------ what a request says */

/* The text of a field, or NULL: it is missing or no text. */
static const char *text_of(const json_t *json, const char *name) {
    return json_string_value(json_object_get(json, name));
}

/* What is wrong with the fields that do not name people; NULL if nothing is. */
static const char *check_fields(const json_t *json) {
    const char *const id = text_of(json, "subject_request_id");
    const char *const type = text_of(json, "subject_request_type");
    const char *const submitted = text_of(json, "submitted_time");
    const json_t *const regulation = json_object_get(json, "regulation");
    const json_t *const version = json_object_get(json, "api_version");
    const json_t *const callbacks = json_object_get(json, "status_callback_urls");
    const json_t *const extensions = json_object_get(json, "extensions");
    if (id == NULL || !is_uuid(id))
        return "subject_request_id must be a UUID of version 4 in small letters";
    if (type == NULL || strcmp(type, "erasure") != 0)
        return "subject_request_type must be erasure; no other type is supported";
    if (submitted == NULL || !is_time(submitted))
        return "submitted_time must be a date and time as in RFC 3339";
    if (regulation != NULL &&
        (!json_is_string(regulation) || (strcmp(json_string_value(regulation), "gdpr") != 0 &&
                                         strcmp(json_string_value(regulation), "ccpa") != 0)))
        return "regulation must be gdpr or ccpa";
    if (version != NULL &&
        (!json_is_string(version) || !is_our_version(json_string_value(version))))
        return "api_version must be 2.0";
    if (callbacks != NULL && (!json_is_array(callbacks) || json_array_size(callbacks) != 0))
        return "status_callback_urls must be left out: no callbacks are made, so ask for the "
               "status";
    if (extensions != NULL && !json_is_object(extensions))
        return "extensions must be an object";
    return NULL;
}

static const char no_memory[] = "out of memory; try again later";

/* Takes the people out of identities; what is wrong with these, or NULL. */
static const char *take_people(const json_t *identities, sv_dsr_entry *entry) {
    const size_t n = json_array_size(identities);
    if (n == 0 || n > MAX_IDENTITIES)
        return "subject_identities must have between 1 and 100 identities";
    entry->people = calloc(n, sizeof *entry->people);
    if (entry->people == NULL)
        return no_memory;
    for (size_t i = 0; i < n; i++) {
        const json_t *const identity = json_array_get(identities, i);
        const char *const type = text_of(identity, "identity_type");
        const char *const format = text_of(identity, "identity_format");
        const char *const value = text_of(identity, "identity_value");
        if (type == NULL || format == NULL || value == NULL)
            return "an identity needs the texts identity_type, identity_format and identity_value";
        if (strcmp(type, "controller_customer_id") != 0 || strcmp(format, "raw") != 0)
            continue;
        if (value[0] == 0 || strlen(value) > MAX_VALUE_BYTES)
            return "an identity_value must have between 1 and 1024 bytes";
        entry->people[entry->n_people] = strdup(value);
        if (entry->people[entry->n_people] == NULL)
            return no_memory;
        entry->n_people++;
    }
    return entry->n_people != 0
               ? NULL
               : "subject_identities needs a controller_customer_id in the format raw; no other "
                 "identity is supported";
}

/* The entry for a request; NULL, with a reply, if the request is not in order. */
static sv_dsr_entry *read_request(sv_request *request, const json_t *json) {
    sv_dsr_entry *const entry = calloc(1, sizeof *entry);
    const char *wrong = entry != NULL ? check_fields(json) : no_memory;
    if (wrong == NULL)
        wrong = take_people(json_object_get(json, "subject_identities"), entry);
    if (wrong != NULL) {
        if (wrong == no_memory)
            sv_refuse(request, 503, "memory", wrong);
        else
            sv_refuse(request, 400, "invalid", wrong);
        sv_dsr_entry_free(entry);
        return NULL;
    }
    memcpy(entry->id, text_of(json, "subject_request_id"), sizeof entry->id);
    memcpy(entry->controller, request->caller.name, sizeof entry->controller);
    entry->received = (int64_t)time(NULL);
    entry->expected = entry->received + EXPECTED_SECONDS;
    return entry;
}

/* ------------------------------------------------------------------ the acknowledgement */

static json_t *encode_body(const sv_request *request) {
    const size_t n = sodium_base64_encoded_len(request->n_body, sodium_base64_VARIANT_ORIGINAL);
    char *const text = malloc(n);
    if (text == NULL)
        return NULL;
    (void)sodium_bin2base64(text, n, (const unsigned char *)request->body, request->n_body,
                            sodium_base64_VARIANT_ORIGINAL);
    json_t *const json = json_string(text);
    sv_wipe_free(text, n);
    return json;
}

/* These fields of an entry never change. */
static void acknowledge(sv_request *request, const sv_dsr_entry *entry) {
    char received[32], expected[32];
    sv_time_write(entry->received, received);
    sv_time_write(entry->expected, expected);
    sv_dsr_reply(request, 201,
                 json_pack("{s:s,s:s,s:s,s:o,s:s}", "controller_id", entry->controller,
                           "expected_completion_time", expected, "received_time", received,
                           "encoded_request", encode_body(request), "subject_request_id",
                           entry->id));
}

sv_when sv_dsr_create(sv_request *request) {
    if (request->n_body > MAX_BODY_BYTES)
        return sv_refuse(request, 413, "too_long", "a request must have at most 65536 bytes");
    json_t *const json = sv_body_json(request);
    sv_dsr_entry *entry = json != NULL ? read_request(request, json) : NULL;
    json_decref(json);
    if (entry == NULL)
        return SV_NOW;
    switch (
        sv_dsr_add(request->service->dsr, &entry, request->token, request->body, request->n_body)) {
    case SV_DSR_NEW:
    case SV_DSR_SAME: acknowledge(request, entry); break;
    case SV_DSR_OTHER:
        sv_refuse(
            request, 400, "conflict",
            "subject_request_id belongs to a request with another body, or from another token");
        break;
    case SV_DSR_FAILED:
        sv_reply_header(request, "Retry-After", "5");
        sv_refuse(request, 503, "unavailable",
                  "the request cannot be written to the disk now; try again");
        break;
    case SV_DSR_DISK_FULL:
        sv_refuse(request, 507, "full", "the disk is full; the request was not taken");
    }
    return SV_NOW;
}
