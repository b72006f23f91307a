/* Names in their one form, which is Unicode's NFC; and the doors' way to it (efface_name). */
#include "data/texts/name_form.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/texts/field.h"
#include "data/texts/number.h"
#include "data/texts/text_id.h"

#include <string.h>
#include <utf8proc.h>

/* Marks are put in order in quadratic time, so that a text must not be a million of them. */
#define MAX_UNICODE_BYTES 1024
/* A code point that this library does not know yet may have another form for one that does. */
#define NFC (UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_REJECTNA)

const char *ef_name_fault_text(ef_name_fault fault) {
    switch (fault) {
    case EF_NAME_EMPTY: return "is empty";
    case EF_NAME_NOT_UTF8: return "is not valid UTF-8; write names in UTF-8";
    case EF_NAME_CONTROL:
        return "has a control or format character inside, which nobody sees; take it out";
    case EF_NAME_UNKNOWN: return "has a character that Unicode does not define; correct it";
    case EF_NAME_LONG: return "has more than 1024 bytes and is not ASCII; use shorter names";
    case EF_NAME_NOT_WHOLE: return "is not a whole number";
    case EF_NAME_PADDED:
        return "begins with a zero, and without the zero it could belong to someone else; read "
               "such ids and owners as text";
    case EF_NAME_TOO_LARGE: return "is larger than 2^64 - 1; read such ids as text";
    case EF_NAME_OK:
    case EF_NAME_NO_MEMORY: break;
    }
    return "";
}

/* ---------------------------------------------------------------- characters */

static bool is_white_ascii(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_white(int32_t c) {
    if (c < 0x80)
        return is_white_ascii((char)c);
    const utf8proc_category_t category = utf8proc_category(c);
    return c == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

static ef_name_fault fault_of(int32_t c) {
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return EF_NAME_CONTROL;
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CS: return EF_NAME_UNKNOWN;
    default: return EF_NAME_OK;
    }
}

/* Without white space around it; and whether the rest is printable ASCII, which is its own form. */
static bool trim_ascii(ef_name_form *form) {
    const char *at = form->text, *end = at + form->n_bytes;
    while (at < end && is_white_ascii(*at))
        at++;
    while (at < end && is_white_ascii(end[-1]))
        end--;
    unsigned other = 0;
    for (const char *c = at; c < end; c++)
        other |= (unsigned char)(*c - ' ') >= 0x7F - ' ';
    form->text = at;
    form->n_bytes = (size_t)(end - at);
    return other == 0;
}

/* The same of characters beyond ASCII; finds those that no name may have. */
static ef_name_fault trim(ef_name_form *form) {
    const utf8proc_uint8_t *const text = (const utf8proc_uint8_t *)form->text;
    size_t begin = form->n_bytes, end = 0, wrong_at = 0;
    ef_name_fault wrong = EF_NAME_OK;
    for (size_t at = 0; at < form->n_bytes;) {
        utf8proc_int32_t c;
        const utf8proc_ssize_t n =
            utf8proc_iterate(text + at, (utf8proc_ssize_t)(form->n_bytes - at), &c);
        form->fault_at = at;
        if (n <= 0)
            return EF_NAME_NOT_UTF8;
        const ef_name_fault fault = fault_of(c);
        const bool white = is_white(c);
        /* A line's end is white around a name, and a control character inside. */
        if (fault != EF_NAME_OK && wrong == EF_NAME_OK && (!white || begin < at)) {
            wrong = fault;
            wrong_at = at;
        }
        if (!white && begin > at)
            begin = at;
        at += (size_t)n;
        end = white ? end : at;
    }
    form->fault_at = wrong_at;
    if (wrong != EF_NAME_OK && wrong_at < end)
        return wrong;
    form->text += begin < end ? begin : 0;
    form->n_bytes = begin < end ? end - begin : 0;
    return EF_NAME_OK;
}

static ef_name_fault compose(ef_name_form *form) {
    const utf8proc_uint8_t *const text = (const utf8proc_uint8_t *)form->text;
    const utf8proc_ssize_t n_bytes = (utf8proc_ssize_t)form->n_bytes;
    const utf8proc_ssize_t n = utf8proc_decompose(text, n_bytes, NULL, 0, NFC);
    if (n <= 0)
        return EF_NAME_UNKNOWN;
    utf8proc_int32_t *const characters = ef_alloc((size_t)n + 1, sizeof *characters);
    if (characters == NULL)
        return EF_NAME_NO_MEMORY;
    (void)utf8proc_decompose(text, n_bytes, characters, n, NFC);
    const utf8proc_ssize_t n_out = utf8proc_reencode(characters, n, NFC);
    form->own = (char *)characters;
    form->text = form->own;
    form->n_bytes = n_out > 0 ? (size_t)n_out : 0;
    return n_out > 0 ? EF_NAME_OK : EF_NAME_UNKNOWN;
}

/* ---------------------------------------------------------------- texts and numbers */

static ef_name_fault make_plain_uuid(ef_name_form *form) {
    char plain[EF_UUID_BYTES];
    if (form->n_bytes < sizeof plain || !ef_uuid_read(form->text, form->n_bytes, plain) ||
        (form->n_bytes == sizeof plain && memcmp(form->text, plain, sizeof plain) == 0))
        return EF_NAME_OK;
    form->own = ef_alloc(sizeof plain, 1);
    if (form->own == NULL)
        return EF_NAME_NO_MEMORY;
    memcpy(form->own, plain, sizeof plain);
    form->text = form->own;
    form->n_bytes = sizeof plain;
    return EF_NAME_OK;
}

ef_name_fault ef_name_form_of(const char *text, size_t n_bytes, ef_name_form *form) {
    *form = (ef_name_form){.text = text, .n_bytes = n_bytes};
    if (trim_ascii(form))
        return form->n_bytes != 0 ? make_plain_uuid(form) : EF_NAME_EMPTY;
    const size_t before = (size_t)(form->text - text);
    ef_name_fault fault = trim(form);
    form->fault_at += before;
    if (fault == EF_NAME_OK && form->n_bytes == 0)
        fault = EF_NAME_EMPTY;
    if (fault == EF_NAME_OK && trim_ascii(form)) /* only the white space was not ASCII */
        return make_plain_uuid(form);
    if (fault == EF_NAME_OK && form->n_bytes > MAX_UNICODE_BYTES)
        fault = EF_NAME_LONG;
    if (fault == EF_NAME_OK)
        fault = compose(form);
    if (fault == EF_NAME_OK)
        return fault;
    ef_free(form->own);
    form->own = NULL;
    return fault;
}

ef_name_fault ef_name_number(const char *text, size_t n_bytes, uint64_t *number) {
    ef_name_form form = {.text = text, .n_bytes = n_bytes};
    if (!trim_ascii(&form))
        return EF_NAME_NOT_WHOLE;
    if (form.n_bytes == 0)
        return EF_NAME_EMPTY;
    const char *const point = memchr(form.text, '.', form.n_bytes);
    const size_t n_digits = point != NULL ? (size_t)(point - form.text) : form.n_bytes;
    for (size_t i = n_digits + 1; i < form.n_bytes; i++)
        if (form.text[i] != '0')
            return EF_NAME_NOT_WHOLE;
    if (!ef_number_is_digits(form.text, n_digits) || n_digits + 1 == form.n_bytes)
        return EF_NAME_NOT_WHOLE;
    if (ef_number_is_padded(form.text, n_digits))
        return EF_NAME_PADDED;
    return ef_number_parse_digits(form.text, n_digits, number) ? EF_NAME_OK : EF_NAME_TOO_LARGE;
}

bool ef_name_fold_of(const char *text, size_t n_bytes, ef_name_fold *fold) {
    const utf8proc_ssize_t room = sizeof fold->characters / sizeof *fold->characters;
    if (n_bytes > MAX_UNICODE_BYTES)
        return false;
    const utf8proc_ssize_t n = utf8proc_decompose(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n_bytes, fold->characters, room,
        UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
            UTF8PROC_STRIPMARK | UTF8PROC_IGNORE);
    fold->n = 0;
    if (n < 0 || n > room)
        return false;
    for (utf8proc_ssize_t i = 0; i < n; i++)
        if (!is_white(fold->characters[i]))
            fold->characters[fold->n++] = fold->characters[i];
    return fold->n != 0;
}

/* ---------------------------------------------------------------- for the doors */

static efface_status fail_name(const char *text, size_t n_bytes, ef_name_fault fault, size_t at,
                               efface_error *error) {
    if (fault == EF_NAME_NO_MEMORY)
        return ef_fail_memory(error);
    if (fault == EF_NAME_EMPTY)
        return ef_fail(error, EFFACE_E_ARGUMENT, "a name is empty");
    (void)ef_fail(error, EFFACE_E_ARGUMENT, "the name \"%s\" %s%s",
                  ef_field_show((ef_csv_field){text, n_bytes}).text, ef_name_fault_text(fault),
                  fault == EF_NAME_NOT_WHOLE ? ", and names are numbers here, not texts" : "");
    if (error != NULL)
        error->column = at + 1;
    return EFFACE_E_ARGUMENT;
}

efface_status efface_name_normalize(const char *text, size_t n_bytes, efface_ids kind,
                                    const unsigned char key[EFFACE_HASH_KEY_BYTES],
                                    efface_name *out, efface_error *error) {
    if (out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "out must not be NULL");
    *out = (efface_name){.kind = EFFACE_IDS_NUMBERS};
    if (text == NULL || (kind != EFFACE_IDS_NUMBERS && key == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "text and key must not be NULL");
    const ef_name_fault as_number =
        kind != EFFACE_IDS_TEXT ? ef_name_number(text, n_bytes, &out->number) : EF_NAME_NOT_WHOLE;
    if (as_number == EF_NAME_OK)
        return EFFACE_OK;
    if (kind == EFFACE_IDS_NUMBERS)
        return fail_name(text, n_bytes, as_number, 0, error);
    ef_name_form form;
    const ef_name_fault fault = ef_name_form_of(text, n_bytes, &form);
    if (fault != EF_NAME_OK)
        return fail_name(text, n_bytes, fault, form.fault_at, error);
    *out = (efface_name){.kind = EFFACE_IDS_TEXT,
                         .number = efface_text_id(form.text, form.n_bytes, key),
                         .text = form.text,
                         .n_bytes = form.n_bytes,
                         .own = form.own};
    return EFFACE_OK;
}

void efface_name_clear(efface_name *name) {
    if (name == NULL)
        return;
    ef_free(name->own);
    *name = (efface_name){.text = NULL};
}
