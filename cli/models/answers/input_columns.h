/* The columns of DATA that a model needs for prediction: its inputs, and not its targets. */
#ifndef CLI_INPUT_COLUMNS_H
#define CLI_INPUT_COLUMNS_H

#include "models/answers/predictor_names.h"

/* DATA as it was read. */
typedef struct cli_inputs {
    const char *path;
    bool listed; /* --columns said which columns to read */
    const efface_data *rows;
} cli_inputs;

/* Has `load` read the inputs of a model and no other column, if DATA has them by name. What it
 * returns is to be freed; NULL if out of memory. */
efface_category *cli_read_inputs(const cli_named_predictor *by, efface_load_options *load);

/* For each column of the model, the column of DATA, or EFFACE_NO_COLUMN where the model does not
 * look: those of --columns, or by name if both have names, or in their order. CLI_DONE or, after a
 * message, another exit code if they do not fit. Release with free in any case. */
int cli_match_inputs(const cli_inputs *from, const cli_named_predictor *by, uint32_t **columns);

#endif
