/* Messages on standard error. */
#include "command/saying.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool as_json;

void sv_messages_as_json(void) {
    as_json = true;
}

/* Names of files may hold any bytes: control characters would reach the terminal. */
static void escape_controls(char *text) {
    for (; *text != 0; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

static void say_message(const char *kind, const char *status, int code, const char *format,
                        va_list arguments) {
    char message[2000];
    (void)vsnprintf(message, sizeof message, format, arguments);
    escape_controls(message);
    if (!as_json) {
        fprintf(stderr, "efface: %s%s\n", status == NULL && kind[0] == 'w' ? "warning: " : "",
                message);
        return;
    }
    json_t *text = json_string(message);
    if (text == NULL)
        text = json_string("a message that is no UTF-8");
    json_t *const json =
        status != NULL ? json_pack("{s:{s:i,s:s,s:o,s:n,s:n,s:n}}", kind, "code", code, "status",
                                   status, "message", text, "file", "line", "column")
                       : json_pack("{s:{s:o}}", kind, "message", text);
    char *const line = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    if (line != NULL)
        fprintf(stderr, "%s\n", line);
    free(line);
    json_decref(json);
}

void sv_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_message("warning", NULL, 0, format, arguments);
    va_end(arguments);
}

int sv_failed(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_message("error", "failed", SV_FAILED, format, arguments);
    va_end(arguments);
    return SV_FAILED;
}

int sv_wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_message("error", "usage", SV_USAGE, format, arguments);
    va_end(arguments);
    return SV_USAGE;
}

int sv_not_found(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_message("error", "not found", SV_NOT_FOUND, format, arguments);
    va_end(arguments);
    return SV_NOT_FOUND;
}
