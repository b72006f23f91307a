/* The columns of DATA that a model needs for prediction: its inputs, and not its targets. */
#ifndef CLI_INPUT_COLUMNS_H
#define CLI_INPUT_COLUMNS_H

#include "models/answers/predictor_names.h"

/* DATA as it was read; `passed_over` is the error of a column of texts that was skipped, or has the
 * status EFFACE_OK. */
typedef struct cli_inputs {
    const char *path;
    const char *column_list; /* of --columns, or NULL */
    const efface_data *rows;
    const efface_error *passed_over;
} cli_inputs;

/* For each column of the model, the column of DATA, or EFFACE_NO_COLUMN where the model does not
 * look: those of --columns, or by name if both have names, or in their order. CLI_DONE or, after a
 * message, another exit code if they do not fit. Release with free in any case. */
int cli_match_inputs(const cli_inputs *from, const cli_named_predictor *by, uint32_t **columns);

#endif
