/* What info says of a forest. */
#ifndef CLI_FAMILY_FOREST_DETAILS_H
#define CLI_FAMILY_FOREST_DETAILS_H

#include "models/details/model_details.h"

/* As cli_family.add_details. */
int cli_forest_add_details(cli_model_details *details);

#endif
