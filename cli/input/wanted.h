/* The rows that a command is about: the options and files of forget, show and receipt has. */
#ifndef CLI_WANTED_H
#define CLI_WANTED_H

#include "input/options.h"

/* A text and the id that it has in the store, to say in messages which text an id was. */
typedef struct cli_named {
    uint64_t id;
    char *text;
} cli_named;

typedef struct cli_ids {
    uint64_t *items;
    size_t n;
} cli_ids;

typedef struct cli_wanted {
    cli_ids rows, owners;
    cli_named *named;
    size_t n_named;
    efface_texts *texts; /* the same as the store takes them; or NULL */
} cli_wanted;

/* What the command line says. */
typedef struct cli_who {
    cli_texts ids, keys, owners, owner_keys, files;
} cli_who;

/* clang-format off */
#define CLI_WHO_OPTIONS(w)                             \
    {"--id", CLI_TEXTS, &(w).ids, NULL},               \
    {"--key", CLI_TEXTS, &(w).keys, NULL},             \
    {"--owner", CLI_TEXTS, &(w).owners, NULL},         \
    {"--owner-key", CLI_TEXTS, &(w).owner_keys, NULL}, \
    {"--from", CLI_TEXTS, &(w).files, NULL}
/* clang-format on */

/* What the help of commands says of them. */
#define CLI_WHO_HELP                                                                               \
    "  --id X, --owner X    rows by id, or all rows of an owner. N,N,... are whole\n"              \
    "                       numbers; anything else (a UUID) is one text; number:N\n"               \
    "                       is a text by the number that efface shows for it\n"                    \
    "  --key TEXT, --owner-key TEXT\n"                                                             \
    "                       an id or an owner that is always a text, such as \"007\"\n"            \
    "  --from FILE          one per line: X, key:TEXT, owner:X or owner-key:TEXT;\n"               \
    "                       - is standard input\n"

bool cli_who_given(const cli_who *who);
bool cli_who_reads_stdin(const cli_who *who);
void cli_who_free(cli_who *who);

/* Reads and sorts it all; who was named twice is wanted once. Rank 0 reads, and all ranks get the
 * ids; it alone knows the texts. `store` NULL: texts are an error.
 * CLI_DONE or, after a message, another exit code; release with cli_wanted_free either way. */
int cli_read_who(const cli_who *who, const efface_store *store, cli_wanted *wanted);

/* The text that an id or an owner was given as; NULL if it was a number, or not given. */
const char *cli_wanted_text(const cli_wanted *wanted, uint64_t id);

/* Whether an id or an owner was given, as a number or a text. */
bool cli_wanted_has(const cli_wanted *wanted, uint64_t id);

/* The request for them. */
efface_request cli_wanted_request(const cli_wanted *wanted, efface_missing missing);

/* Who is wanted and not in the store. */
typedef struct cli_missing {
    cli_ids rows, owners;
} cli_missing;

/* False if that cannot be found out; release it either way. */
bool cli_find_missing(const cli_wanted *wanted, efface_store *store, cli_missing *missing);
void cli_missing_free(cli_missing *missing);

/* Says who is not there, as they were given, and `rest` behind it: as an error, whose exit code it
 * returns, or as a note. */
int cli_say_missing(const cli_missing *missing, const cli_wanted *wanted, efface_store *store,
                    bool is_error, const char *rest);

/* The same of a request that the library refused with `error`; what comes behind is `of_all` if
 * nobody is there, else `of_some`. */
int cli_wanted_missing(const cli_wanted *wanted, efface_store *store, const efface_error *error,
                       const char *of_all, const char *of_some);

/* What to do about a text that was not found, after "; ", or "". */
const char *cli_advice_on_text(const char *text);

void cli_wanted_free(cli_wanted *wanted);

#endif
