/* Values as JSON (values.h). */
#include "api/values.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *sv_json_count(uint64_t count) {
    return json_integer(count <= INT64_MAX ? (json_int_t)count : INT64_MAX);
}

json_t *sv_json_number(uint64_t number) {
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, number);
    return json_string(digits);
}

json_t *sv_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *sv_json_reals(const double *values, size_t n) {
    json_t *const list = json_array();
    for (size_t i = 0; i < n; i++)
        sv_json_add(list, sv_json_real(values[i]));
    return list;
}

/* How many bytes the character at `text` has in UTF-8; 0 if there is none. Overlong forms and
 * surrogates are none. */
static size_t character_bytes(const unsigned char *text) {
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, n_bytes;
    } forms[] = {
        {0x01, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (text[0] < forms[i].first_low || text[0] > forms[i].first_high)
            continue;
        if (forms[i].n_bytes == 1)
            return 1;
        if (text[1] < forms[i].second_low || text[1] > forms[i].second_high)
            return 0;
        for (size_t j = 2; j < forms[i].n_bytes; j++)
            if ((text[j] & 0xc0) != 0x80) /* the 0 at the end is none, so this stops there */
                return 0;
        return forms[i].n_bytes;
    }
    return 0;
}

json_t *sv_json_text(const char *text) {
    static const char replacement[] = "\xef\xbf\xbd";
    if (text == NULL)
        return json_null();
    char *const clean = malloc(3 * strlen(text) + 1);
    if (clean == NULL)
        return NULL;
    size_t n_clean = 0;
    while (*text != 0) {
        const size_t n = character_bytes((const unsigned char *)text);
        memcpy(clean + n_clean, n != 0 ? text : replacement, n != 0 ? n : 3);
        n_clean += n != 0 ? n : 3;
        text += n != 0 ? n : 1;
    }
    json_t *const json = json_stringn(clean, n_clean);
    free(clean);
    return json;
}

json_t *sv_json_label(int64_t label, const char *text) {
    return text != NULL ? sv_json_text(text) : json_integer(label);
}

json_t *sv_json_hex(const unsigned char *bytes, size_t n_bytes) {
    char *const digits = malloc(2 * n_bytes + 1);
    if (digits == NULL)
        return NULL;
    (void)sodium_bin2hex(digits, 2 * n_bytes + 1, bytes, n_bytes);
    json_t *const json = json_stringn(digits, 2 * n_bytes);
    free(digits);
    return json;
}

json_t *sv_json_digest(const unsigned char digest[EFFACE_DIGEST_BYTES]) {
    return sv_json_hex(digest, EFFACE_DIGEST_BYTES);
}

json_t *sv_json_ids(efface_ids ids) {
    switch (ids) {
    case EFFACE_IDS_NUMBERS: return json_string("numbers");
    case EFFACE_IDS_TEXT: return json_string("texts");
    case EFFACE_IDS_DETECT: break;
    }
    return json_string("unknown");
}

json_t *sv_json_error(const efface_error *error) {
    const sv_problem problem = sv_problem_of(error);
    return json_pack("{s:s,s:s}", "code", problem.code, "message", problem.message);
}

bool sv_read_whole(const char *text, uint64_t *out) {
    uint64_t number = 0;
    if (*text == 0)
        return false;
    for (; *text != 0; text++) {
        if (*text < '0' || *text > '9')
            return false;
        const unsigned digit = (unsigned)(*text - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *out = number;
    return true;
}

bool sv_json_to_whole(const json_t *value, uint64_t *out) {
    const double real = json_real_value(value);
    efface_name name;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    if (json_is_real(value) && real >= 0.0 && real < 0x1p53 && real == (double)(uint64_t)real) {
        *out = (uint64_t)real;
        return true;
    }
    if (!json_is_string(value) ||
        efface_name_normalize(json_string_value(value), json_string_length(value),
                              EFFACE_IDS_NUMBERS, NULL, &name, NULL) != EFFACE_OK)
        return false;
    *out = name.number;
    return true;
}

bool sv_refuse_name(sv_request *request, const char *code, const efface_error *error) {
    char message[160] = "a name is empty";
    const char *const why = strstr(error->message, "\" ");
    if (error->status == EFFACE_E_MEMORY)
        return sv_refuse_memory(request);
    if (why != NULL)
        (void)snprintf(message, sizeof message, "a name %s", why + 2);
    return sv_refuse(request, 400, code, message);
}

bool sv_query_whole(sv_request *request, const char *name, uint64_t low, uint64_t high,
                    uint64_t fallback, uint64_t *out) {
    const char *const text = sv_query(request, name);
    uint64_t number = fallback;
    if (text != NULL && (!sv_read_whole(text, &number) || number < low || number > high)) {
        char message[160];
        (void)snprintf(message, sizeof message,
                       "the parameter %s must be a whole number from %" PRIu64 " to %" PRIu64, name,
                       low, high);
        return sv_refuse(request, 400, "parameter", message);
    }
    *out = number;
    return true;
}

bool sv_check_members(sv_request *request, const json_t *object, const char *const *names) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], key) != 0)
            i++;
        if (names[i] == NULL) {
            /* The name is not shown: a client may have put a value in its place. */
            return sv_refuse(
                request, 400, "member",
                "an object has a member that it must not have; /v1/openapi.json lists all");
        }
    }
    return true;
}
