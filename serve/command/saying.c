/* Messages on standard error. */
#include "command/saying.h"

#include "wiping.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

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

void sv_print_json(FILE *out, json_t *json) {
    char *const line = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    if (line != NULL)
        fprintf(out, "%s\n", line);
    sv_wipe_free(line, line != NULL ? strlen(line) : 0);
    json_decref(json);
}

static const char *status_of(int code) {
    return code == SV_USAGE ? "usage" : code == SV_NOT_FOUND ? "not found" : "failed";
}

int sv_say(int code, const char *format, ...) {
    char message[2000];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    escape_controls(message);
    if (!as_json) {
        fprintf(stderr, "efface: %s%s\n", code == SV_DONE ? "warning: " : "", message);
        return code;
    }
    json_t *text = json_string(message);
    if (text == NULL)
        text = json_string("a message that is no UTF-8");
    sv_print_json(stderr, code != SV_DONE ? json_pack("{s:{s:i,s:s,s:o,s:n,s:n,s:n}}", "error",
                                                      "code", code, "status", status_of(code),
                                                      "message", text, "file", "line", "column")
                                          : json_pack("{s:{s:o}}", "warning", "message", text));
    return code;
}
