/* What the program says on standard error, in the form of all commands of efface (efface(1)): text
 * after "efface: " or, with --json, an object on a line. */
#ifndef SV_SAYING_H
#define SV_SAYING_H

#include <jansson.h>
#include <stdio.h>

/* Exit codes, the same as those of efface. */
enum { SV_DONE = 0, SV_FAILED = 1, SV_USAGE = 2, SV_NOT_FOUND = 4 };

/* From now on every message is a JSON object on a line of its own. */
void sv_messages_as_json(void);

/* Says what went wrong, and returns the exit code. */
__attribute__((format(printf, 2, 3))) int sv_say(int code, const char *format, ...);
#define sv_failed(...) sv_say(SV_FAILED, __VA_ARGS__)
#define sv_wrong(...) sv_say(SV_USAGE, __VA_ARGS__)
#define sv_not_found(...) sv_say(SV_NOT_FOUND, __VA_ARGS__)
#define sv_warn(...) (void)sv_say(SV_DONE, __VA_ARGS__) /* a warning: it goes on */

/* Prints JSON, which this releases, as a line. */
void sv_print_json(FILE *out, json_t *json);

#endif
