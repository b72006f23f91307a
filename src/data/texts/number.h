/*
 * Numbers in text. Independent of the locale, with '.' as the decimal point, and correctly
 * rounded, so that a file means the same numbers everywhere.
 */
#ifndef EF_NUMBER_H
#define EF_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ef_parsed {
    EF_NUMBER_OK,
    EF_NUMBER_NONE,     /* not a number at all */
    EF_NUMBER_NAN,      /* a word for NaN */
    EF_NUMBER_INFINITE, /* a word for infinity */
    EF_NUMBER_TOO_LARGE /* a number of 10^40 or more in magnitude, far above every float32 */
} ef_parsed;

/* Reads a decimal number that fills text[0 .. n_bytes), spaces around it aside: digits with an
 * optional sign, point and exponent. *value is the nearest double, written for EF_NUMBER_OK only.
 */
ef_parsed ef_number_parse(const char *text, size_t n_bytes, double *value);

/* Whether text[0 .. n_bytes) is one or more digits and nothing else. */
bool ef_number_is_digits(const char *text, size_t n_bytes);

/* Whether digits begin with a zero that adds nothing: 007 and 7 are one number, and may be two
 * people. */
bool ef_number_is_padded(const char *text, size_t n_bytes);

/* The value of such digits; false if it does not fit 64 bits. */
bool ef_number_parse_digits(const char *text, size_t n_bytes, uint64_t *value);

#endif
