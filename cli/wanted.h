/* Who is to be forgotten, as forget's options and files say it. */
#ifndef CLI_WANTED_H
#define CLI_WANTED_H

#include "options.h"

/* A text and the id that it has in the store, to say in messages which text an id was. */
typedef struct cli_named {
    uint64_t id;
    char *text;
} cli_named;

typedef struct cli_ids {
    uint64_t *items;
    size_t n, capacity;
} cli_ids;

typedef struct cli_wanted {
    cli_ids rows, owners;
    cli_named *named;
    size_t n_named, named_capacity;
} cli_wanted;

/* Each adds what one option or file says. They return CLI_DONE or, after a message, another exit
 * code. */
int cli_want_id(cli_wanted *wanted, const char *text);
int cli_want_key(cli_wanted *wanted, const efface_store *store, const char *text);
int cli_want_owner(cli_wanted *wanted, const efface_store *store, const char *text);
int cli_want_owner_key(cli_wanted *wanted, const efface_store *store, const char *text);
int cli_want_file(cli_wanted *wanted, const efface_store *store, const char *path);

/* Who was named twice is wanted once. */
void cli_wanted_sort(cli_wanted *wanted);

/* Says of ids that a message names and that were texts which texts they were. */
void cli_wanted_explain(const cli_wanted *wanted, const char *message);

void cli_wanted_free(cli_wanted *wanted);

#endif
