/* The offsets of columns on the command line, and warnings about losses in float32. */
#ifndef CLI_COLUMN_OFFSETS_H
#define CLI_COLUMN_OFFSETS_H

#include "input/data_files.h"

/* What --offset says, for load options. */
typedef struct cli_offsets {
    efface_offset *items;
    size_t n;
    bool propose; /* --offset auto */
    char **names; /* what items point to */
} cli_offsets;

/* Reads COLUMN=VALUE and "auto". CLI_DONE or, after a message, CLI_USAGE; release with
 * cli_offsets_free either way. */
int cli_read_offsets(const cli_texts *texts, cli_offsets *offsets);
void cli_offsets_free(cli_offsets *offsets);

/* Adds an offset for each column of a set that collapses and has none, and says which. CLI_DONE or,
 * after a message, another exit code. */
int cli_propose_offsets(const cli_columns *columns, const efface_rounding *rounding,
                        cli_offsets *offsets);

/* Warns about columns of a set that lose too much in float32, and says what to do. */
void cli_warn_rounding(const cli_columns *columns, const efface_rounding *rounding);

/* The smallest and largest value of a column that are there; false if there is none. */
bool cli_column_range(const efface_data *data, uint32_t column, double *min, double *max);

/* The option that gives a column of a set an offset near the middle of its values: a round number,
 * which hardly depends on any row. False if there are no rows, or all values are the same. */
#define CLI_OFFSET_OPTION 128
bool cli_offset_option(char text[CLI_OFFSET_OPTION], const efface_data *data, uint32_t column);

/* The name of a column in brackets, or nothing: " (age)". */
void cli_name_in_brackets(char text[80], const char *name);

#endif
