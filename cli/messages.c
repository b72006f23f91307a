/* What is said on standard error, and the exit codes that go with it. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_colour(FILE *out) {
    const char *const no_color = getenv("NO_COLOR");
    const char *const term = getenv("TERM");
    return (no_color == NULL || no_color[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0 &&
           isatty(fileno(out)) != 0;
}

void cli_paint(FILE *out, int colour) {
    if (wants_colour(out))
        fprintf(out, "\033[%dm", colour);
}

void cli_unpaint(FILE *out) {
    if (wants_colour(out))
        fputs("\033[0m", out);
}

static void say(int colour, const char *format, va_list arguments) {
    cli_progress_end();
    fflush(stdout);
    if (colour != 0)
        cli_paint(stderr, colour);
    fputs("efface:", stderr);
    if (colour != 0)
        cli_unpaint(stderr);
    fputc(' ', stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

enum { NO_COLOUR = 0, RED = 31 };

void cli_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(NO_COLOUR, format, arguments);
    va_end(arguments);
}

int cli_failed(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(RED, format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(RED, format, arguments);
    va_end(arguments);
    return CLI_USAGE;
}

int cli_not_found(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(RED, format, arguments);
    va_end(arguments);
    return CLI_NOT_FOUND;
}

int cli_report_error(const efface_error *error) {
    (void)cli_failed("%s", error->message);
    switch (error->status) {
    case EFFACE_E_NOT_FOUND: return CLI_NOT_FOUND;
    case EFFACE_E_BUSY: return CLI_BUSY;
    case EFFACE_E_CORRUPT: return CLI_DAMAGED;
    default: return CLI_FAILED;
    }
}

int cli_out_of_memory(void) {
    return cli_failed("out of memory");
}
