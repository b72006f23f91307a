/* What is said, and the exit codes that go with it. */
#ifndef CLI_MESSAGES_H
#define CLI_MESSAGES_H

#include "cli.h"

/* From now on every message is a JSON object on a line of its own. */
void cli_messages_as_json(void);

/* A line on standard error, after the name of the program and a colon. Messages are escaped as in
 * cli_put_text. */
__attribute__((format(printf, 1, 2))) void cli_say(const char *format, ...);

/* The same, of something to be looked at. */
__attribute__((format(printf, 1, 2))) void cli_warn(const char *format, ...);

/* The same, of what went wrong; they return CLI_FAILED, CLI_USAGE, CLI_DIFFERENT and
 * CLI_NOT_FOUND. */
__attribute__((format(printf, 1, 2))) int cli_failed(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_wrong(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_different(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_not_found(const char *format, ...);

/* Says what the library said; returns the exit code of that status. cli_outcome does the same for
 * what a call returned, where EFFACE_OK is CLI_DONE, and nothing is said. */
int cli_report_error(const efface_error *error);
int cli_outcome(efface_status status, const efface_error *error);

/* The same for an error in a value from the command line: returns CLI_USAGE for a wrong
 * argument. */
int cli_report_wrong(const efface_error *error);
int cli_out_of_memory(void);

/* Begins and ends a colour (31 red, 32 green, ...) where that is wanted: on a terminal, and unless
 * NO_COLOR is set. */
void cli_paint(FILE *out, int colour);
void cli_unpaint(FILE *out);

#endif
