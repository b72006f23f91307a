/* The tables of a model, or of a published one, as files. */
#ifndef CLI_TABLE_FILES_H
#define CLI_TABLE_FILES_H

#include "output/output.h"

/* Whose tables they are: a model's, with its set of rows, or else a published one's. */
typedef struct cli_tabled {
    const char *name; /* of the model; NULL: a published one has none */
    const efface_model *model;
    const efface_data *data;
    const efface_predictor *published;
} cli_tabled;

/* The table with a name; `name` NULL: the first. CLI_DONE or, after a message, another exit code.
 */
int cli_find_table(const cli_tabled *of, const char *name, efface_table *table);

/* Writes a table in the units of the data. CLI_DONE or, after a message, another exit code. */
int cli_write_table(FILE *out, cli_format format, const cli_tabled *of, const efface_table *table);

#endif
