/* Texts of any bytes, as they come from files and stores, and bytes as digits. */
#ifndef CLI_ESCAPE_H
#define CLI_ESCAPE_H

#include "efface/efface.h"

#include <stddef.h>
#include <stdio.h>

/* Writes a text: valid UTF-8 as it is, control characters and other bytes as \xHH. NULL is
 * nothing. */
void cli_put_text(FILE *out, const char *text);

typedef struct cli_character {
    size_t n_bytes; /* at least 1 */
    enum { CLI_VISIBLE, CLI_CONTROL, CLI_NO_CHARACTER } kind;
} cli_character;

/* What a text that does not end here begins with. CLI_NO_CHARACTER: a byte that is no UTF-8. */
cli_character cli_next_character(const char *text);

/* The number of characters of a text. And the text cut off, and filled up with spaces, to so many;
 * what is not visible is a question mark. */
int cli_count_characters(const char *text);
void cli_put_padded(FILE *out, const char *text, int width);

/* Hexadecimal digits, and a zero byte behind them. */
#define CLI_HEX_BYTES (2 * EFFACE_DIGEST_BYTES + 1)
void cli_hex(const unsigned char *bytes, size_t n_bytes, char *hex);

/* The same of a digest, for the length of an expression: cli_hex_of(digest).text. */
typedef struct cli_digits {
    char text[CLI_HEX_BYTES];
} cli_digits;

cli_digits cli_hex_of(const unsigned char digest[EFFACE_DIGEST_BYTES]);

#endif
