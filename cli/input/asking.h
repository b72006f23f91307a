/* Asking people. */
#ifndef CLI_ASKING_H
#define CLI_ASKING_H

#include <stdbool.h>

/* Whether a command may make a change that cannot be undone. With --yes: CLI_DONE. Without a
 * terminal to ask at: CLI_USAGE, after a message. Else CLI_DONE as well, and `ask` is set: call
 * cli_ask. */
int cli_may_change(const char *command, bool yes, bool *ask);

/* Asks for a yes. False, after a message, for any other answer. */
__attribute__((format(printf, 1, 2))) bool cli_ask(const char *format, ...);

#endif
