/* Columns that a model predicts, as --target names them. */
#ifndef CLI_TARGET_COLUMNS_H
#define CLI_TARGET_COLUMNS_H

#include "input/columns/named_columns.h"

/* Finds the columns of lists such as "income,7" among those that `chosen` chooses from, as columns
 * of the model. A target that is not chosen is added there. CLI_DONE or, after a message, another
 * exit code: also if no other column is left. Release with cli_named_columns_free in any case. */
int cli_find_targets(const cli_texts *lists, cli_chosen *chosen, cli_named_columns *targets);

#endif
