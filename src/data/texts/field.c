/* How messages show fields: as UTF-8 without anything that controls a terminal. And fields that
 * have no value. */
#include "data/texts/field.h"

#include "data/texts/number.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the character at the front, or 0 if they are no UTF-8. */
static size_t read_character(const unsigned char *at, size_t n_bytes, uint32_t *character) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = *at;
    const size_t n = first < 0x80             ? 1
                     : (first & 0xE0) == 0xC0 ? 2
                     : (first & 0xF0) == 0xE0 ? 3
                     : (first & 0xF8) == 0xF0 ? 4
                                              : 0;
    if (n == 0 || n > n_bytes)
        return 0;
    uint32_t c = n == 1 ? first : first & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (at[i] & 0x3Fu);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *character = c;
    return n;
}

/* What moves a cursor, ends a line or turns the direction of writing around. */
static bool is_control(uint32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

ef_field_shown ef_field_show(ef_csv_field field) {
    ef_field_shown shown;
    const unsigned char *const text = (const unsigned char *)field.text;
    const size_t room = sizeof shown.text - sizeof "...";
    size_t used = 0;
    for (size_t i = 0; i < field.n_bytes;) {
        char piece[4 * sizeof "\\xFF"];
        uint32_t c = 0;
        size_t n = read_character(text + i, field.n_bytes - i, &c), n_piece = n;
        if (n != 0 && !is_control(c)) {
            memcpy(piece, text + i, n);
        } else {
            n_piece = 0;
            n = n != 0 ? n : 1;
            for (size_t j = 0; j < n; j++)
                n_piece += (size_t)snprintf(piece + n_piece, sizeof piece - n_piece, "\\x%02X",
                                            text[i + j]);
        }
        if (used + n_piece > room) {
            memcpy(shown.text + used, "...", sizeof "...");
            return shown;
        }
        memcpy(shown.text + used, piece, n_piece);
        used += n_piece;
        i += n;
    }
    shown.text[used] = '\0';
    return shown;
}

ef_csv_field ef_field_trim(ef_csv_field field) {
    while (field.n_bytes > 0 && (*field.text == ' ' || *field.text == '\t')) {
        field.text++;
        field.n_bytes--;
    }
    while (field.n_bytes > 0 &&
           (field.text[field.n_bytes - 1] == ' ' || field.text[field.n_bytes - 1] == '\t'))
        field.n_bytes--;
    return field;
}

bool ef_field_is_utf8(ef_csv_field field) {
    const unsigned char *const text = (const unsigned char *)field.text;
    uint32_t ignored;
    for (size_t i = 0, n; i < field.n_bytes; i += n)
        if ((n = read_character(text + i, field.n_bytes - i, &ignored)) == 0)
            return false;
    return true;
}

bool ef_field_is_blank(ef_csv_field field) {
    for (size_t i = 0; i < field.n_bytes; i++)
        if (field.text[i] == '\0' || strchr(" \t\r\n", field.text[i]) == NULL)
            return false;
    return true;
}

bool ef_field_is_missing(ef_csv_field field) {
    static const char *const words[] = {"NA", "N/A", "null", "NULL", "?"};
    field = ef_field_trim(field);
    if (field.n_bytes == 0)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (field.n_bytes == strlen(words[i]) && memcmp(field.text, words[i], field.n_bytes) == 0)
            return true;
    double ignored;
    return (*field.text == '-' || *field.text == '+' || *field.text == 'n' || *field.text == 'N') &&
           ef_number_parse(field.text, field.n_bytes, &ignored) == EF_NUMBER_NAN;
}
