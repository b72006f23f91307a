/* Messages of a rank that wait until all ranks have come to the end of a command (ranks.c). */
#ifndef CLI_HELD_MESSAGES_H
#define CLI_HELD_MESSAGES_H

#include "cli.h"

enum { CLI_MAX_HELD = 4, CLI_HELD_PREFIX = 32 };

/* As it goes from rank to rank. */
typedef struct cli_message {
    char kind[8];
    char status[24]; /* of an error; else empty */
    int code;
    bool has_place;
    efface_error place;
    char text[2048];
} cli_message;

/* An error and what was said after it; none if nothing went wrong here. */
const cli_message *cli_held_messages(size_t *n);

/* Says messages, the first with `before` in front of it. */
void cli_print_held(const cli_message *messages, size_t n, const char *before);

#endif
