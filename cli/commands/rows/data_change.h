/* What learn and update have in common: rows of DATA change a store. */
#ifndef CLI_DATA_CHANGE_H
#define CLI_DATA_CHANGE_H

#include "commands/rows/change_report.h"
#include "input/data_files.h"

typedef struct cli_data_change {
    cli_change_kind kind; /* CLI_LEARNED or CLI_UPDATED */
    const char *store_path, *data_path;
    const char *ids_out; /* a new file for ids that the store makes up, or NULL */
    cli_data_options data;
    cli_change_options change;
    bool ask, json;
} cli_data_change;

/* clang-format off */
#define CLI_DATA_CHANGE_OPTIONS(c)                   \
    CLI_STORE_OPTIONS((c).store_path, (c).change.open, (c).json),   \
    {"DATA", CLI_PLACE, &(c).data_path, NULL},       \
    {"--columns", CLI_TEXTS, &(c).data.columns, NULL},       \
    CLI_DATA_OPTIONS((c).data),                      \
    CLI_CHANGE_OPTIONS((c).change)
/* clang-format on */

/* What their help says of options. */
#define CLI_DATA_CHANGE_HELP(what)                                                                 \
    "  --columns LIST, --ignore LIST\n"                                                            \
    "                   which columns of values to read, or not; without them, those\n"            \
    "                   that the store has, if DATA names its columns\n"                           \
    "  --header yes|no  whether DATA begins with names, if that is not clear\n"                    \
    "  --ids numbers|text   what ids and owners are, if the first one misleads\n"                  \
    "  --sign FILE      sign the receipt with this secret key (efface receipt keys)\n"             \
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"              \
    "  --opening FILE   write what opens the receipt to a new file\n"                              \
    "  --list FILE      write the hashes of the " what " ids to a new file\n"                      \
    "  --wait SECONDS   how long to wait for a busy store (5)\n"

/* Reads DATA, asks where that is wanted, changes the store, and prints what became of it. Returns
 * the exit code. */
int cli_change_by_data(const cli_data_change *change);

#endif
