/* How a file that was looked at could be loaded: what its columns could be, and the command. */
#ifndef CLI_LOOK_ADVICE_H
#define CLI_LOOK_ADVICE_H

#include "cli.h"

#include <stdbool.h>

typedef enum cli_use {
    CLI_USE_VALUE,
    CLI_USE_ID,
    CLI_USE_OWNER,
    CLI_USE_CLASS,
    CLI_USE_CATEGORY,
    CLI_USE_NONE /* it is left out */
} cli_use;

const char *cli_use_name(cli_use use);

typedef struct cli_column_advice {
    bool may_be_id, may_be_owner, may_be_class;
    cli_use use; /* in the command */
} cli_column_advice;

/* Fills in what each column of a look could be and what the command makes of it. False if no column
 * of values is left, so that there is no command. */
bool cli_advise_columns(const efface_file_look *look, cli_column_advice *columns);

/* Writes the command for a shell. */
void cli_put_fit_command(FILE *out, const char *path, const efface_file_look *look,
                         const cli_column_advice *columns);

#endif
