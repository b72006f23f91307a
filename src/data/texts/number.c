/*
 * Numbers in text.
 *
 * A number is digits * 10^exponent. With at most 19 significant digits they fit 64 bits, and for
 * the exponents that occur in practice the nearest double is found by
 *
 *   1. one multiplication or division of doubles, if digits and power are both exact as doubles
 *      (below 2^53; 10^22 and below): IEEE rounds the one operation correctly;
 *   2. 128-bit integers, if 5^|exponent| fits 64 bits: the product is exact; the quotient is taken
 *      to 64 bits and more, and a remainder sets its last bit, so that the rounding to 53 bits
 *      sees on which side of a tie it is;
 *   3. strtod for what is left, given digits and exponent without a decimal point: the point is
 *      the only thing in a number that the locale changes.
 */
#include "data/texts/number.h"

#include "base/numbers/wide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_DIGITS 19
/* No tie between two doubles has more than 767 digits; beyond these only "not zero" matters. */
#define MAX_DIGITS 800
#define MAX_EXPONENT 1000000000 /* larger ones mean zero or too large, whatever the digits */

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A number taken apart: significant digits as text (no leading zeros) and a power of ten. */
typedef struct decimal {
    bool negative;
    char digits[MAX_DIGITS + 1];
    size_t n_digits;
    bool cut; /* digits that are not all zeros were left out at the end */
    int64_t exponent;
} decimal;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Adds the digit at a place: before the point (after = false) or after it. */
static void add_digit(decimal *number, char digit, bool after) {
    if (number->n_digits == 0 && digit == '0') {
        number->exponent -= after;
    } else if (number->n_digits < MAX_DIGITS) {
        number->digits[number->n_digits++] = digit;
        number->exponent -= after;
    } else {
        number->cut |= digit != '0';
        number->exponent += !after;
    }
}

/* [sign] digits [. digits] [e [sign] digits], with a digit before or after the point. */
static bool take_apart(const char *at, const char *end, decimal *number) {
    number->n_digits = 0;
    number->cut = false;
    number->exponent = 0;
    number->negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    const char *const begin = at;
    for (; at < end && is_digit(*at); at++)
        add_digit(number, *at, false);
    size_t n_seen = (size_t)(at - begin);
    if (at < end && *at == '.') {
        const char *const point = at++;
        for (; at < end && is_digit(*at); at++)
            add_digit(number, *at, true);
        n_seen += (size_t)(at - point) - 1;
    }
    if (n_seen == 0)
        return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        const bool negative = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+'))
            at++;
        if (at == end)
            return false;
        int64_t exponent = 0;
        for (; at < end && is_digit(*at); at++)
            exponent = exponent < MAX_EXPONENT ? 10 * exponent + (*at - '0') : exponent;
        number->exponent += negative ? -exponent : exponent;
    }
    return at == end;
}

/* digits * 10^exponent with |exponent| <= 27, where 5^27 < 2^63. */
static double scale_exactly(uint64_t digits, int exponent) {
    uint64_t fives = 1;
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        fives *= 5;
    if (exponent >= 0)
        return ef_i128_to_double((ef_i128)((ef_u128)digits * fives)) * (double)(1 << exponent);
    /* Shifted to use all of 127 bits, the quotient has at least 127 - 63 = 64 of them. */
    const int shift = __builtin_clzll(digits) + 63;
    const ef_u128 numerator = (ef_u128)digits << shift;
    ef_u128 quotient = numerator / fives;
    if (numerator % fives != 0)
        quotient |= 1;
    /* The result is normal and far from the ends of the exponent range: scaling is exact. */
    double result = ef_i128_to_double((ef_i128)quotient);
    for (int left = shift - exponent; left > 0; left -= 32)
        result *= left >= 32 ? 0x1p-32 : 1.0 / (double)(UINT64_C(1) << left);
    return result;
}

static double nearest_double(const decimal *number) {
    if (number->n_digits <= SHORT_DIGITS && number->exponent >= -27 && number->exponent <= 27) {
        const int exponent = (int)number->exponent;
        uint64_t digits = 0;
        for (size_t i = 0; i < number->n_digits; i++)
            digits = 10 * digits + (uint64_t)(number->digits[i] - '0');
        if (digits >> 53 == 0 && exponent >= -22 && exponent <= 22)
            return exponent < 0 ? (double)digits / powers_of_ten[-exponent]
                                : (double)digits * powers_of_ten[exponent];
        return scale_exactly(digits, exponent);
    }
    char text[MAX_DIGITS + 32];
    memcpy(text, number->digits, number->n_digits);
    (void)snprintf(text + number->n_digits, sizeof text - number->n_digits, "%se%d",
                   number->cut ? "1" : "", (int)number->exponent - number->cut);
    return strtod(text, NULL);
}

/* Compares without regard to case; `word` is in lower case. */
static bool is_word(const char *at, const char *end, const char *word) {
    if ((size_t)(end - at) != strlen(word))
        return false;
    for (; at < end; at++, word++)
        if ((*at | 0x20) != *word)
            return false;
    return true;
}

static ef_parsed parse_word(const char *at, const char *end) {
    if (*at == '-' || *at == '+')
        at++;
    if (is_word(at, end, "nan"))
        return EF_NUMBER_NAN;
    if (is_word(at, end, "inf") || is_word(at, end, "infinity"))
        return EF_NUMBER_INFINITE;
    return EF_NUMBER_NONE;
}

ef_parsed ef_number_parse(const char *text, size_t n_bytes, double *value) {
    const char *at = text, *end = text + n_bytes;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (at == end)
        return EF_NUMBER_NONE;
    decimal number;
    if (!take_apart(at, end, &number))
        return parse_word(at, end);
    /* The number lies in [10^(magnitude - 1), 10^magnitude). */
    const int64_t magnitude = number.exponent + (int64_t)number.n_digits;
    if (number.n_digits > 0 && magnitude > 40)
        return EF_NUMBER_TOO_LARGE;
    const bool is_zero = number.n_digits == 0 || magnitude < -400;
    const double result = is_zero ? 0.0 : nearest_double(&number);
    *value = number.negative ? -result : result;
    return EF_NUMBER_OK;
}

bool ef_number_is_digits(const char *text, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++)
        if (!is_digit(text[i]))
            return false;
    return n_bytes > 0;
}

bool ef_number_is_padded(const char *text, size_t n_bytes) {
    return n_bytes > 1 && text[0] == '0';
}

bool ef_number_parse_digits(const char *text, size_t n_bytes, uint64_t *value) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n_bytes; i++)
        if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(text[i] - '0'), &sum))
            return false;
    *value = sum;
    return true;
}
