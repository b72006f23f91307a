/* What forget, learn and update have in common: how they open the store, the list of their receipt,
 * and what they print. */
#ifndef CLI_CHANGE_REPORT_H
#define CLI_CHANGE_REPORT_H

#include "input/options.h"
#include "output/fresh_file.h"

/* What the command line says of the receipt and of waiting; `wait` begins with -1. */
typedef struct cli_change_options {
    const char *sign, *receipt_key, *list;
    double wait;
} cli_change_options;

/* clang-format off */
#define CLI_CHANGE_OPTIONS(c)                               \
    {"--sign", CLI_TEXT, &(c).sign, NULL},                  \
    {"--receipt-key", CLI_TEXT, &(c).receipt_key, NULL},    \
    {"--list", CLI_TEXT, &(c).list, NULL},                  \
    {"--wait", CLI_SECONDS, &(c).wait, NULL}
/* clang-format on */

/* As cli_open_store, to write. */
bool cli_open_to_change(const char *path, const cli_change_options *options, efface_store **store,
                        int *code);

typedef enum cli_change_kind { CLI_FORGOTTEN, CLI_LEARNED, CLI_UPDATED } cli_change_kind;

typedef struct cli_change {
    cli_change_kind kind;
    bool look; /* nothing was changed */
    bool json;
} cli_change;

void cli_print_change(const cli_change *change, const efface_store_report *report);

/* Writes the hashes of a receipt to the file that was begun for them. CLI_DONE or, after a message
 * and with the hashes said, CLI_FAILED. */
int cli_write_hashes(cli_fresh *file, const efface_store_report *report);

/* The library's word for a request, with texts that are known in place of the numbers that stand
 * for ids and owners. Returns the exit code. */
int cli_report_named(const efface_error *error, const efface_texts *texts);

#endif
