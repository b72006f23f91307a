/*
 * The one form of a name. A name is what people call a row or an owner: a number or a text. All
 * doors bring names into this form before they do anything with them, so that a person has one
 * number, whoever asks.
 */
#ifndef EF_NAME_FORM_H
#define EF_NAME_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ef_name_fault {
    EF_NAME_OK,
    EF_NAME_EMPTY,
    EF_NAME_NOT_UTF8,
    EF_NAME_CONTROL,
    EF_NAME_UNKNOWN,
    EF_NAME_LONG,
    EF_NAME_NOT_WHOLE,
    EF_NAME_PADDED,
    EF_NAME_TOO_LARGE,
    EF_NAME_NO_MEMORY
} ef_name_fault;

/* What is wrong, as it follows the name in a message. Not for EF_NAME_OK and EF_NAME_NO_MEMORY. */
const char *ef_name_fault_text(ef_name_fault fault);

/* A text in its one form: UTF-8 in NFC, without white space around it and without characters that
 * nobody sees; of a UUID, the plain form. It stands in the text given, or in memory of its own. */
typedef struct ef_name_form {
    const char *text; /* not terminated */
    size_t n_bytes;
    char *own;       /* to be released with ef_free; or NULL */
    size_t fault_at; /* the byte where the text goes wrong */
} ef_name_form;

ef_name_fault ef_name_form_of(const char *text, size_t n_bytes, ef_name_form *form);

/* The number that a name is: digits, perhaps with a point and zeros after it. */
ef_name_fault ef_name_number(const char *text, size_t n_bytes, uint64_t *number);

/* What is left of a text without capitals, accents and spaces: two names that share it are easily
 * taken for each other. False for a text that is too long to look at. */
typedef struct ef_name_fold {
    int32_t characters[256];
    size_t n;
} ef_name_fold;

bool ef_name_fold_of(const char *text, size_t n_bytes, ef_name_fold *fold);

#endif
