/* What fit is told of columns, beside those of ids and the like: which a model has, which it
 * predicts, where classes come from, which are categories, and whether values may be missing. What
 * of that a family takes, its entry in the table of families says. */
#ifndef CLI_FIT_COLUMNS_H
#define CLI_FIT_COLUMNS_H

#include "input/columns/category_columns.h"
#include "models/families/family_table.h"

typedef struct cli_fit_columns {
    const char *list, *class_column;        /* --columns and --class, or NULL */
    cli_texts target_lists, category_lists; /* --target, --categories */
    bool missing;                           /* --missing */
    cli_categories to_read;                 /* the categories, for DATA */
    cli_named_columns targets, categories;  /* of the model */
} cli_fit_columns;

/* clang-format off */
#define CLI_FIT_COLUMNS_OPTIONS(c)                               \
    {"--columns", CLI_TEXT, &(c).list, NULL},                    \
    {"--class", CLI_TEXT, &(c).class_column, NULL},              \
    {"--target", CLI_TEXTS, &(c).target_lists, NULL},            \
    {"--categories", CLI_TEXTS, &(c).category_lists, NULL},      \
    {"--missing", CLI_FLAG, &(c).missing, NULL}
/* clang-format on */

/* Whether the family takes these options, and has those that it needs. The column of --class
 * becomes that of the labels; the columns of --columns, and the targets, are those that are read
 * of DATA. CLI_DONE or, after a message, another exit code. */
int cli_check_fit_columns(cli_fit_columns *columns, const cli_family *family, bool has_data,
                          cli_data_options *data);

/* Finds the columns among those that `chosen` chooses from, and hands them to the family. CLI_DONE
 * or, after a message, another exit code; `chosen->columns` is then to be freed in any case. */
int cli_choose_fit_columns(cli_fit_columns *columns, const cli_family *family, void *of_family,
                           cli_chosen *chosen);

/* Whether the model predicts classes. */
bool cli_fit_has_classes(const cli_fit_columns *columns, const cli_family *family);

void cli_fit_columns_free(cli_fit_columns *columns);

#endif
