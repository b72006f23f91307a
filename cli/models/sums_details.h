/* What is said of a model of sums: after a fit, and by info. */
#ifndef CLI_SUMS_DETAILS_H
#define CLI_SUMS_DETAILS_H

#include "input/data_files.h"
#include "models/model_details.h"

/* Warns of columns that are kept too coarsely, of features that were left out, of rows without a
 * class, and of classes with one row. */
void cli_sums_warn(const efface_model *model, const cli_chosen *chosen);

/* As cli_family.add_details. */
int cli_sums_add_details(cli_model_details *details);

#endif
