/* The types of columns on the command line. */
#ifndef CLI_TYPED_COLUMNS_H
#define CLI_TYPED_COLUMNS_H

#include "input/data_files.h"

/* The words of the types, in the order of efface_column_type; ended by NULL. */
extern const char *const cli_type_words[];

/* What --type says, for load options. */
typedef struct cli_types {
    efface_typed_column *items;
    size_t n;
    char **names; /* what items point to */
} cli_types;

/* Reads COLUMN=TYPE. CLI_DONE or, after a message, another exit code; release with cli_types_free
 * either way. */
int cli_read_types(const cli_texts *texts, cli_types *types);
void cli_types_free(cli_types *types);

/* The type of a column. */
efface_column_type cli_column_type(const cli_columns *columns, uint32_t column);

#endif
