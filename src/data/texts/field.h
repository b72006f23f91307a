/* A field of a file: bytes that should be text and need not be. */
#ifndef EF_FIELD_H
#define EF_FIELD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ef_csv_field {
    const char *text; /* not terminated; in CSV without quotes, or without the spaces around it */
    size_t n_bytes;
} ef_csv_field;

/* A copy of a field for messages: shortened, valid UTF-8, and without anything that could upset a
 * terminal. Bytes that are no UTF-8 and control characters are written as \xHH. */
typedef struct ef_field_shown {
    char text[48];
} ef_field_shown;

ef_field_shown ef_field_show(ef_csv_field field);

/* A field without the spaces and tabs around it. */
ef_csv_field ef_field_trim(ef_csv_field field);

/* Whether a field is UTF-8. */
bool ef_field_is_utf8(ef_csv_field field);

/* Nothing, or spaces, tabs and line ends only: as a name in a header, none. */
bool ef_field_is_blank(ef_csv_field field);

/* Whether a field stands for a value that is missing, spaces around it aside: it is empty, or NA,
 * N/A, null, NULL, ?, or a word for NaN. */
bool ef_field_is_missing(ef_csv_field field);

#endif
