/* Writing JSON. */
#include "json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

static void write_text(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

static void begin(cli_json *json, const char *key) {
    if (json->filled[json->depth])
        fputc(',', json->out);
    json->filled[json->depth] = true;
    if (key == NULL)
        return;
    write_text(json->out, key);
    fputc(':', json->out);
}

void cli_json_open(cli_json *json, const char *key, char bracket) {
    begin(json, key);
    fputc(bracket, json->out);
    assert(json->depth + 1 < CLI_JSON_DEPTH);
    json->filled[++json->depth] = false;
}

void cli_json_close(cli_json *json, char bracket) {
    fputc(bracket, json->out);
    if (--json->depth == 0)
        fputc('\n', json->out);
}

void cli_json_text(cli_json *json, const char *key, const char *text) {
    begin(json, key);
    if (text == NULL)
        fputs("null", json->out);
    else
        write_text(json->out, text);
}

void cli_json_whole(cli_json *json, const char *key, uint64_t value) {
    begin(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void cli_json_real(cli_json *json, const char *key, double value) {
    begin(json, key);
    if (isfinite(value))
        fprintf(json->out, "%.17g", value);
    else
        fputs("null", json->out);
}

void cli_json_seconds(cli_json *json, const char *key, double value) {
    begin(json, key);
    fprintf(json->out, "%.6f", value);
}

void cli_json_bool(cli_json *json, const char *key, bool value) {
    begin(json, key);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_raw(cli_json *json, const char *key, const char *text) {
    begin(json, key);
    fputs(text, json->out);
}

void cli_json_line(cli_json *json) {
    /* The comma belongs to the line before. */
    if (json->filled[json->depth])
        fputc(',', json->out);
    json->filled[json->depth] = false;
    fputc('\n', json->out);
}
