/*
 * Values as JSON, in the forms of openapi.json; and whole numbers out of queries and bodies.
 *
 * Each function hands out a new value, or NULL if out of memory: json_pack's 'o' and
 * json_object_set_new take either, and a reply of NULL says that there is no memory.
 */
#ifndef SV_VALUES_H
#define SV_VALUES_H

#include "http/http.h"

/* Adds a new value to an array; and sets a member of an object. */
static inline void sv_json_add(json_t *array, json_t *value) {
    (void)json_array_append_new(array, value);
}
static inline void sv_json_set(json_t *object, const char *name, json_t *value) {
    (void)json_object_set_new(object, name, value);
}

/* How many there are. */
json_t *sv_json_count(uint64_t count);

/* An id or an owner: a string of decimal digits, for numbers of JavaScript have 53 bits. */
json_t *sv_json_number(uint64_t number);

/* A real number; null if it is not finite, which JSON cannot write. */
json_t *sv_json_real(double value);

json_t *sv_json_reals(const double *values, size_t n); /* an array of them */

/* A text, or null for NULL. Bytes that are not UTF-8 become U+FFFD. */
json_t *sv_json_text(const char *text);

/* A class: its text, or its number if it has none (NULL). */
json_t *sv_json_label(int64_t label, const char *text);

/* Bytes as hexadecimal digits; and a digest. */
json_t *sv_json_hex(const unsigned char *bytes, size_t n_bytes);
json_t *sv_json_digest(const unsigned char digest[EFFACE_DIGEST_BYTES]);

/* Whether ids are "numbers", "texts" or "unknown". */
json_t *sv_json_ids(efface_ids ids);

/* {"code", "message"} of an error of the library, without values, as sv_refuse_error replies. */
json_t *sv_json_error(const efface_error *error);

/* Reads decimal digits, and nothing else. */
bool sv_read_whole(const char *text, uint64_t *out);

/* Refuses a name that cannot be one: says why, and not which. */
bool sv_refuse_name(sv_request *request, const char *code, const efface_error *error);

/* A whole number in the query, within limits; `fallback` if it is not there. False, with a reply,
 * if it is something else. */
bool sv_query_whole(sv_request *request, const char *name, uint64_t low, uint64_t high,
                    uint64_t fallback, uint64_t *out);

/* Whether an object has members of these names only, which a NULL ends; if not, there is a reply.
 */
bool sv_check_members(sv_request *request, const json_t *object, const char *const *names);

/* A name that is a number, as a number or as text: 7, 7.0, "7" and " 7.0 " are 7. */
bool sv_json_to_whole(const json_t *value, uint64_t *out);

#endif
