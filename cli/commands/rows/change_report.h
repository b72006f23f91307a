/* What forget, learn and update have in common: the options of their receipt, its list, and what
 * they print. */
#ifndef CLI_CHANGE_REPORT_H
#define CLI_CHANGE_REPORT_H

#include "input/stores.h"
#include "input/wanted.h"
#include "output/fresh_file.h"

/* What the command line says of the receipt and of waiting. */
typedef struct cli_change_options {
    cli_open open;
    const char *list;
} cli_change_options;

#define CLI_CHANGE_DEFAULTS                                                                        \
    {                                                                                              \
        .open = {.access = EFFACE_ACCESS_WRITE, .wait = -1 }                                       \
    }

/* clang-format off */
#define CLI_CHANGE_OPTIONS(c)                               \
    {"--sign", CLI_TEXT, &(c).open.sign, NULL},                  \
    {"--receipt-key", CLI_TEXT, &(c).open.receipt_key, NULL},    \
    {"--opening", CLI_TEXT, &(c).open.opening, NULL},            \
    {"--list", CLI_TEXT, &(c).list, NULL}
/* clang-format on */

typedef enum cli_change_kind { CLI_FORGOTTEN, CLI_LEARNED, CLI_UPDATED } cli_change_kind;

typedef struct cli_change {
    cli_change_kind kind;
    bool look; /* nothing was changed */
    bool json;
    bool among_texts;         /* ids of the store are texts, but new ones are numbers */
    const cli_wanted *wanted; /* of a request to forget, and who of them is not there */
    const cli_missing *missing;
} cli_change;

void cli_print_change(const cli_change *change, const efface_store_report *report);

/* Writes the hashes of a receipt to the file that was begun for them. CLI_DONE or, after a message
 * and with the hashes said, CLI_FAILED. */
int cli_write_hashes(cli_fresh *file, const efface_store_report *report);

/* The library's word for a request, with texts that are known in place of the numbers that stand
 * for ids and owners. Returns the exit code. */
int cli_report_named(const efface_error *error, const efface_texts *texts);

#endif
