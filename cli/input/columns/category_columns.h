/* Columns whose values are categories, as --categories names them. */
#ifndef CLI_CATEGORY_COLUMNS_H
#define CLI_CATEGORY_COLUMNS_H

#include "input/columns/named_columns.h"

/* The same columns as load options have them: of a file whose columns are not known yet. */
typedef struct cli_categories {
    efface_category *items;
    size_t n;
    char *names; /* what items point to */
} cli_categories;

/* Reads lists such as "city,7". CLI_DONE or, after a message, another exit code; release with
 * cli_categories_free either way. */
int cli_read_categories(const cli_texts *lists, cli_categories *categories);
void cli_categories_free(cli_categories *categories);

/* The categories of a published model. Release in the same way. */
int cli_published_categories(const efface_predictor *published, cli_categories *categories);

/* Finds the columns of the lists among those of the model, in ascending order. One that the model
 * does not have is left out: it is a category for other models. As cli_find_named. */
int cli_find_categories(const cli_texts *lists, const cli_chosen *chosen,
                        cli_named_columns *categories);

/* The same for a model that is added to a store: the columns that are categories there already. */
int cli_stored_categories(const efface_load_options *of_store, const cli_chosen *chosen,
                          cli_named_columns *categories);

#endif
