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
    CLI_DATA_OPTIONS((c).data),                      \
    CLI_CHANGE_OPTIONS((c).change)
/* clang-format on */

/* Reads DATA, asks where that is wanted, changes the store, and prints what became of it. Returns
 * the exit code. */
int cli_change_by_data(const cli_data_change *change);

#endif
