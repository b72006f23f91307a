/* Texts of any bytes: names from files and stores may hold what a terminal would obey and what no
 * JSON may hold. */
#include "output/escape.h"

#include <stdbool.h>
#include <string.h>

static bool is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

/* The bytes of the UTF-8 character that a text begins with (RFC 3629: no overlong forms, no
 * surrogates, at most U+10FFFF); 0 if it begins with none. */
static size_t character_bytes(const unsigned char *c) {
    if (c[0] < 0x80)
        return 1;
    if (c[0] >= 0xC2 && c[0] <= 0xDF)
        return is_continuation(c[1]) ? 2 : 0;
    if (c[0] >= 0xE0 && c[0] <= 0xEF) {
        const unsigned char min = c[0] == 0xE0 ? 0xA0 : 0x80, max = c[0] == 0xED ? 0x9F : 0xBF;
        return c[1] >= min && c[1] <= max && is_continuation(c[2]) ? 3 : 0;
    }
    if (c[0] >= 0xF0 && c[0] <= 0xF4) {
        const unsigned char min = c[0] == 0xF0 ? 0x90 : 0x80, max = c[0] == 0xF4 ? 0x8F : 0xBF;
        return c[1] >= min && c[1] <= max && is_continuation(c[2]) && is_continuation(c[3]) ? 4 : 0;
    }
    return 0;
}

cli_character cli_next_character(const char *text) {
    const unsigned char *const c = (const unsigned char *)text;
    const size_t n = character_bytes(c);
    if (n == 0)
        return (cli_character){1, CLI_NO_CHARACTER};
    /* U+0080 to U+009F are controls as well: some terminals obey them. */
    const bool controls =
        (n == 1 && (c[0] < 0x20 || c[0] == 0x7F)) || (n == 2 && c[0] == 0xC2 && c[1] < 0xA0);
    return (cli_character){n, controls ? CLI_CONTROL : CLI_VISIBLE};
}

void cli_put_text(FILE *out, const char *text) {
    if (text == NULL)
        return;
    while (*text != '\0') {
        const cli_character next = cli_next_character(text);
        if (next.kind == CLI_VISIBLE)
            (void)fwrite(text, 1, next.n_bytes, out);
        else
            for (size_t i = 0; i < next.n_bytes; i++)
                fprintf(out, "\\x%02x", (unsigned char)text[i]);
        text += next.n_bytes;
    }
}

void cli_hex(const unsigned char *bytes, size_t n_bytes, char *hex) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n_bytes; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * n_bytes] = '\0';
}

cli_digits cli_hex_of(const unsigned char digest[EFFACE_DIGEST_BYTES]) {
    cli_digits digits;
    cli_hex(digest, EFFACE_DIGEST_BYTES, digits.text);
    return digits;
}

int cli_count_characters(const char *text) {
    int n = 0;
    for (; *text != '\0'; n++)
        text += cli_next_character(text).n_bytes;
    return n;
}

void cli_put_padded(FILE *out, const char *text, int width) {
    int used = 0;
    for (const char *at = text; *at != '\0' && used < width; used++) {
        const cli_character c = cli_next_character(at);
        char one[8] = "";
        memcpy(one, at, c.n_bytes < sizeof one ? c.n_bytes : sizeof one - 1);
        if (c.kind == CLI_VISIBLE)
            fputs(one, out);
        else
            fputc('?', out);
        at += c.n_bytes;
    }
    fprintf(out, "%*s", width - used, "");
}
