/* What is said of a model of sums: by info (family_sums_details.c), and after a fit
 * (family_sums_warnings.c). */
#ifndef CLI_FAMILY_SUMS_DETAILS_H
#define CLI_FAMILY_SUMS_DETAILS_H

#include "models/details/model_details.h"

/* As cli_family.add_details. */
int cli_sums_add_details(cli_model_details *details);

/* Warns of too few rows, of columns that are kept too coarsely, of features that were left out, of
 * rows without a class, and of classes with one row. */
void cli_sums_warn(const efface_model *model, const cli_chosen *chosen);

/* Whether a model can predict; else `why` says what it lacks. */
bool cli_sums_can_predict(const cli_named_predictor *of, efface_error *why);

/* Whether a view is one of classes. */
bool cli_view_has_classes(efface_view view);

/* The columns, or features, that efface_sums_dropped or efface_sums_coarse_columns lists. Release
 * with free; NULL if out of memory. */
typedef uint32_t cli_sums_list(const efface_model *model, uint32_t *items, uint32_t capacity);
uint32_t *cli_sums_listed(const efface_model *model, cli_sums_list *list, uint32_t *n);

#endif
