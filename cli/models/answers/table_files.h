/* The tables of a model, or of a published one, as files. */
#ifndef CLI_TABLE_FILES_H
#define CLI_TABLE_FILES_H

#include "models/answers/predictor_names.h"
#include "output/output.h"

/* Writes a table in the units of the data. CLI_DONE or, after a message, another exit code. */
int cli_write_table(FILE *out, cli_format format, const cli_named_predictor *of,
                    const efface_table *table);

/* What a column of a table is called: by a name of its own, by that of a column of the model, or by
 * its number. */
const char *cli_table_column(const cli_named_predictor *of, const efface_table *table,
                             uint32_t column, char made_up[CLI_MADE_UP]);

#endif
