/* The classes of a model, for info. */
#ifndef CLI_CLASS_DETAILS_H
#define CLI_CLASS_DETAILS_H

#include "models/details/model_details.h"

/* Adds a list of the classes with `n_columns` columns: the rows and the weight of each and, as a
 * third, its prior, which is left to the caller. `table` is that of cli_section. NULL, after a
 * message, if it fails; `code` then has the exit code. */
cli_section *cli_add_classes(cli_model_details *details, uint32_t n_columns, const char *table,
                             int *code);

#endif
