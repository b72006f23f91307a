/* Writing JSON. A key is NULL for what stands in an array or alone. Texts may have any bytes: what
 * is no UTF-8 becomes the text \xHH. */
#ifndef CLI_JSON_WRITER_H
#define CLI_JSON_WRITER_H

#include "output/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CLI_JSON_DEPTH = 8 };

typedef struct cli_json {
    FILE *out;
    int depth;
    bool filled[CLI_JSON_DEPTH]; /* something stands there already: a comma comes first */
    char end[CLI_JSON_DEPTH];    /* the bracket that closes it */
} cli_json;

/* An object that is open. */
cli_json cli_json_object(FILE *out);

void cli_json_open(cli_json *json, const char *key, char bracket); /* '{' or '[' */
void cli_json_close(cli_json *json);
void cli_json_close_all(cli_json *json);
void cli_json_text(cli_json *json, const char *key, const char *text); /* NULL: null */
void cli_json_whole(cli_json *json, const char *key, uint64_t value);
void cli_json_whole_or_null(cli_json *json, const char *key, uint64_t value); /* 0: null */
void cli_json_real(cli_json *json, const char *key, double value);
void cli_json_seconds(cli_json *json, const char *key, double value);
void cli_json_bool(cli_json *json, const char *key, bool value);

/* Text that is JSON by itself. */
void cli_json_raw(cli_json *json, const char *key, const char *text);

/* Begins a line within an array, so that long ones can be read. */
void cli_json_line(cli_json *json);

#endif
