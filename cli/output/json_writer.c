/* Writing JSON. */
#include "output/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* A byte that is no UTF-8 is written as the text \xHH, as in other output: JSON has no other way to
 * hold it. A text that has these characters by itself looks the same. */
static void write_json_text(FILE *out, const char *text) {
    fputc('"', out);
    while (*text != '\0') {
        const cli_character next = cli_next_character(text);
        const unsigned char first = (unsigned char)text[0];
        if (next.kind == CLI_NO_CHARACTER)
            fprintf(out, "\\\\x%02x", first);
        else if (next.kind == CLI_CONTROL)
            fprintf(out, "\\u%04x", next.n_bytes == 1 ? first : (unsigned char)text[1]);
        else if (first == '"' || first == '\\')
            fprintf(out, "\\%c", first);
        else
            (void)fwrite(text, 1, next.n_bytes, out);
        text += next.n_bytes;
    }
    fputc('"', out);
}

static void begin_value(cli_json *json, const char *key) {
    if (json->filled[json->depth])
        fputc(',', json->out);
    json->filled[json->depth] = true;
    if (key == NULL)
        return;
    write_json_text(json->out, key);
    fputc(':', json->out);
}

void cli_json_open(cli_json *json, const char *key, char bracket) {
    begin_value(json, key);
    fputc(bracket, json->out);
    assert(json->depth + 1 < CLI_JSON_DEPTH);
    json->filled[++json->depth] = false;
    json->end[json->depth] = bracket == '{' ? '}' : ']';
}

cli_json cli_json_object(FILE *out) {
    cli_json json = {.out = out};
    cli_json_open(&json, NULL, '{');
    return json;
}

void cli_json_close(cli_json *json) {
    fputc(json->end[json->depth], json->out);
    if (--json->depth == 0)
        fputc('\n', json->out);
}

void cli_json_close_all(cli_json *json) {
    while (json->depth > 0)
        cli_json_close(json);
}

void cli_json_text(cli_json *json, const char *key, const char *text) {
    begin_value(json, key);
    if (text == NULL)
        fputs("null", json->out);
    else
        write_json_text(json->out, text);
}

void cli_json_whole(cli_json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void cli_json_whole_or_null(cli_json *json, const char *key, uint64_t value) {
    if (value != 0)
        cli_json_whole(json, key, value);
    else
        cli_json_text(json, key, NULL);
}

void cli_json_real(cli_json *json, const char *key, double value) {
    begin_value(json, key);
    if (isfinite(value))
        fprintf(json->out, "%.17g", value);
    else
        fputs("null", json->out);
}

void cli_json_seconds(cli_json *json, const char *key, double value) {
    begin_value(json, key);
    fprintf(json->out, "%.6f", value);
}

void cli_json_bool(cli_json *json, const char *key, bool value) {
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_raw(cli_json *json, const char *key, const char *text) {
    begin_value(json, key);
    fputs(text, json->out);
}

void cli_json_line(cli_json *json) {
    /* The comma belongs to the line before. */
    if (json->filled[json->depth])
        fputc(',', json->out);
    json->filled[json->depth] = false;
    fputc('\n', json->out);
}
