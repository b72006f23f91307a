/* What the program says on standard error, in the form of all commands of efface (efface(1)): text
 * after "efface: " or, with --json, an object on a line. */
#ifndef SV_SAYING_H
#define SV_SAYING_H

/* Exit codes, the same as those of efface. */
enum { SV_DONE = 0, SV_FAILED = 1, SV_USAGE = 2, SV_NOT_FOUND = 4 };

/* From now on every message is a JSON object on a line of its own. */
void sv_messages_as_json(void);

__attribute__((format(printf, 1, 2))) void sv_warn(const char *format, ...);

/* What went wrong; they return SV_FAILED, SV_USAGE and SV_NOT_FOUND. */
__attribute__((format(printf, 1, 2))) int sv_failed(const char *format, ...);
__attribute__((format(printf, 1, 2))) int sv_wrong(const char *format, ...);
__attribute__((format(printf, 1, 2))) int sv_not_found(const char *format, ...);

#endif
