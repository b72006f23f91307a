/* The arguments of the commands: --name VALUE, --name=VALUE, places, and -- before places that
 * begin with a dash. */
#ifndef SV_ARGUMENTS_H
#define SV_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What `value` of an option points to. */
typedef enum sv_kind {
    SV_FLAG,   /* bool */
    SV_TEXT,   /* const char * */
    SV_TEXTS,  /* sv_texts: may be given several times */
    SV_COUNT,  /* uint32_t, at least 1 */
    SV_BYTES,  /* size_t, at least 1; may end with k, M or G */
    SV_NUMBER, /* double, at least 0 */
    SV_PLACE,  /* const char *, an argument without a name */
    SV_PLACES  /* sv_texts: all further arguments without a name; at least one */
} sv_kind;

typedef struct sv_texts {
    char **items;
    size_t n;
} sv_texts;

typedef struct sv_argument {
    const char *name; /* "--name"; of a place, what help calls it; NULL ends a table */
    sv_kind kind;
    void *value;
} sv_argument;

/* Reads arguments into a table; false, after a message, if they do not fit. */
bool sv_parse(const char *command, const sv_argument *table, int n_arguments, char **arguments);

void sv_texts_free(sv_texts *texts);

#endif
