/* What is said on standard error, and the exit codes that go with it. docs/use/man/efface.1 has the
 * form of messages with --json. */
#include "output/messages.h"

#include "output/held_messages.h"
#include "output/json_writer.h"
#include "output/progress.h"
#include "ranks.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_colour(FILE *out) {
    const char *const no_color = getenv("NO_COLOR");
    const char *const term = getenv("TERM");
    if (cli_group() != NULL) /* launchers give ranks a terminal whatever they write to themselves */
        return false;
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

static bool as_json;

void cli_messages_as_json(void) {
    as_json = true;
}

/* What a message is beside its words. */
typedef struct about {
    const char *kind; /* "error", "warning" or "note" */
    int code;         /* of an error */
    const char *status;
    const efface_error *place; /* or NULL */
} about;

static void say_json(const about *a, const char *message) {
    cli_json json = cli_json_object(stderr);
    cli_json_open(&json, a->kind, '{');
    if (a->status != NULL) {
        cli_json_whole(&json, "code", (uint64_t)a->code);
        cli_json_text(&json, "status", a->status);
    }
    cli_json_text(&json, "message", message);
    if (a->status != NULL) {
        const efface_error *const place = a->place;
        cli_json_text(&json, "file", place != NULL && place->file[0] != '\0' ? place->file : NULL);
        cli_json_whole_or_null(&json, "line", place != NULL ? place->line : 0);
        cli_json_whole_or_null(&json, "column", place != NULL ? place->column : 0);
    }
    cli_json_close_all(&json);
}

enum { RED = 31 };

static void say_text(const about *a, const char *message) {
    const bool coloured = a->status != NULL;
    if (coloured)
        cli_paint(stderr, RED);
    fprintf(stderr, "%s:", cli_program_name());
    if (coloured)
        cli_unpaint(stderr);
    fputs(strcmp(a->kind, "warning") == 0 ? " warning: " : " ", stderr);
    cli_put_text(stderr, message);
    fputc('\n', stderr);
}

static void print_message(const about *a, const char *message) {
    char *const named = cli_with_own_name(message);
    (as_json ? say_json : say_text)(a, named != NULL ? named : message);
    free(named);
}

/* ---- ranks */

static cli_message held[CLI_MAX_HELD];
static size_t n_held;

const cli_message *cli_held_messages(size_t *n) {
    *n = n_held;
    return held;
}

/* On a rank, errors wait for the end of the command, and so does what is said after them. All else
 * is said by rank 0. False: it is to be said now. */
static bool hold_message(const about *a, const char *message) {
    if (cli_group() == NULL)
        return false;
    if (cli_ranks_are_over())
        return true;
    if (a->status == NULL && n_held == 0)
        return !cli_is_first();
    if (n_held < CLI_MAX_HELD) {
        cli_message *const m = &held[n_held++];
        *m = (cli_message){.code = a->code, .has_place = a->place != NULL};
        snprintf(m->kind, sizeof m->kind, "%s", a->kind);
        snprintf(m->status, sizeof m->status, "%s", a->status != NULL ? a->status : "");
        snprintf(m->text, sizeof m->text, "%s", message);
        if (a->place != NULL)
            m->place = *a->place;
    }
    return true;
}

void cli_print_held(const cli_message *messages, size_t n, const char *before) {
    for (size_t i = 0; i < n; i++) {
        const cli_message *const m = &messages[i];
        const about a = {.kind = m->kind,
                         .code = m->code,
                         .status = m->status[0] != '\0' ? m->status : NULL,
                         .place = m->has_place ? &m->place : NULL};
        char text[CLI_HELD_PREFIX + sizeof m->text];
        snprintf(text, sizeof text, "%s%s", i == 0 ? before : "", m->text);
        print_message(&a, text);
    }
}

/* The message is put together first, so that whatever is in it can be escaped. */
static void say_message(const about *a, const char *format, va_list arguments) {
    char short_one[1024], *long_one = NULL;
    va_list again;
    va_copy(again, arguments);
    const int n = vsnprintf(short_one, sizeof short_one, format, arguments);
    if (n >= (int)sizeof short_one && (long_one = malloc((size_t)n + 1)) != NULL)
        (void)vsnprintf(long_one, (size_t)n + 1, format, again);
    va_end(again);
    const char *const message = long_one != NULL ? long_one : short_one;
    cli_progress_end();
    fflush(stdout);
    if (!hold_message(a, message))
        print_message(a, message);
    free(long_one);
}

/* Says the format and the arguments of a function that has them. */
#define SAY(format, ...)                                                                           \
    do {                                                                                           \
        const about what = {__VA_ARGS__};                                                          \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        say_message(&what, format, arguments);                                                     \
        va_end(arguments);                                                                         \
    } while (0)

void cli_say(const char *format, ...) {
    SAY(format, "note", 0, NULL, NULL);
}

void cli_warn(const char *format, ...) {
    SAY(format, "warning", 0, NULL, NULL);
}

int cli_failed(const char *format, ...) {
    SAY(format, "error", CLI_FAILED, "failed", NULL);
    return CLI_FAILED;
}

int cli_wrong(const char *format, ...) {
    SAY(format, "error", CLI_USAGE, "usage", NULL);
    return CLI_USAGE;
}

int cli_different(const char *format, ...) {
    SAY(format, "error", CLI_DIFFERENT, "different", NULL);
    return CLI_DIFFERENT;
}

int cli_not_found(const char *format, ...) {
    SAY(format, "error", CLI_NOT_FOUND, "not found", NULL);
    return CLI_NOT_FOUND;
}

/* What the library said, or, without a place, what is known by its status. */
__attribute__((format(printf, 4, 5))) static int
say_status(int code, efface_status status, const efface_error *place, const char *format, ...) {
    SAY(format, "error", code, efface_status_name(status), place);
    return code;
}

static int code_of(efface_status status) {
    switch (status) {
    case EFFACE_E_NOT_FOUND: return CLI_NOT_FOUND;
    case EFFACE_E_BUSY: return CLI_BUSY;
    case EFFACE_E_CORRUPT: return CLI_DAMAGED;
    case EFFACE_E_INTERRUPTED: return CLI_INTERRUPTED;
    default: return CLI_FAILED;
    }
}

static int report_as(const efface_error *error, int code) {
    return say_status(code, error->status, error, "%s", error->message);
}

int cli_report_error(const efface_error *error) {
    return report_as(error, code_of(error->status));
}

int cli_outcome(efface_status status, const efface_error *error) {
    return status == EFFACE_OK ? CLI_DONE : cli_report_error(error);
}

int cli_report_wrong(const efface_error *error) {
    return report_as(error,
                     error->status == EFFACE_E_ARGUMENT ? CLI_USAGE : code_of(error->status));
}

int cli_out_of_memory(void) {
    return say_status(CLI_FAILED, EFFACE_E_MEMORY, NULL, "out of memory");
}
