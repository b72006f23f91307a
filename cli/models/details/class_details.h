/* The classes of a model, for info. */
#ifndef CLI_CLASS_DETAILS_H
#define CLI_CLASS_DETAILS_H

#include "models/details/model_details.h"

/* Adds a list of the classes with `n_columns` columns: the rows and the weight of each and, as a
 * third, its prior, which is left to the caller. `table` is that of cli_section. CLI_DONE or, after
 * a message, another exit code. */
int cli_add_classes(cli_model_details *details, uint32_t n_columns, const char *table,
                    cli_section **section);

#endif
