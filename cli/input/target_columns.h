/* Columns that a model predicts, as --target names them. */
#ifndef CLI_TARGET_COLUMNS_H
#define CLI_TARGET_COLUMNS_H

#include "input/data_files.h"

/* Which columns of a model, from 0, are targets, in the order in which they were named. */
typedef struct cli_targets {
    uint32_t *columns;
    uint32_t n;
} cli_targets;

/* Finds the columns of lists such as "income,7" among those that `chosen` chooses from. A target
 * that is not chosen is added there. CLI_DONE or, after a message, another exit code: also if no
 * other column is left. Release with cli_targets_free in any case. */
int cli_find_targets(const cli_texts *lists, cli_chosen *chosen, cli_targets *targets);
void cli_targets_free(cli_targets *targets);

#endif
