/* Columns that options name in lists such as "income,7". */
#ifndef CLI_NAMED_COLUMNS_H
#define CLI_NAMED_COLUMNS_H

#include "input/data_files.h"

/* Columns, from 0, in the order in which they were named, each once. */
typedef struct cli_named_columns {
    uint32_t *columns;
    uint32_t n;
} cli_named_columns;

/* Finds the columns of the lists that an option was given, by names or numbers from 1. CLI_DONE or,
 * after a message about the option, another exit code. Release with cli_named_columns_free in any
 * case. */
int cli_find_named(const char *option, const cli_texts *lists, const cli_columns *columns,
                   cli_named_columns *out);
void cli_named_columns_free(cli_named_columns *named);

#endif
