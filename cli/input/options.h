/* Reading the arguments of a command. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "output/messages.h"

/* What `value` of an option points to. A flag takes no value; a place is an argument without a
 * name, in the order of the table. */
typedef enum cli_kind {
    CLI_FLAG,         /* bool */
    CLI_TEXT,         /* const char * */
    CLI_TEXTS,        /* cli_texts: may be given several times */
    CLI_COUNT,        /* uint32_t, at least 1 */
    CLI_WHOLE,        /* uint32_t, 0 allowed */
    CLI_NUMBER,       /* cli_number */
    CLI_REAL,         /* double */
    CLI_SECONDS,      /* double, at least 0 */
    CLI_WORD,         /* int, the place of the word in `words` */
    CLI_PLACE,        /* const char * */
    CLI_PLACE_OR_NOT, /* const char *, NULL if it is not there */
    CLI_PLACES,       /* cli_texts: all that come, perhaps none; the last place */
    CLI_MORE          /* const cli_option *: more options, none of them a place; it has no name */
} cli_kind;

typedef struct cli_texts {
    const char **items;
    size_t n;
} cli_texts;

typedef struct cli_number {
    uint64_t value;
    bool given;
} cli_number;

typedef struct cli_option {
    const char *name; /* "--name" or "-n"; of a place, what help calls it */
    cli_kind kind;
    void *value;
    const char *const *words; /* ended by NULL */
} cli_option;

/* Reads the arguments into the options, which end with a NULL name. CLI_DONE or, after a message,
 * CLI_USAGE if they do not fit. */
int cli_parse(const char *command, const cli_option *options, int n_arguments, char **arguments);

void cli_texts_free(cli_texts *texts);

/* A whole number and nothing else. */
bool cli_read_whole(const char *text, uint64_t max, uint64_t *out);

#endif
