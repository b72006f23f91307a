/* Which columns of a file are not read: those that the options leave out. */
#ifndef EF_SKIPPED_COLUMNS_H
#define EF_SKIPPED_COLUMNS_H

#include "data/texts/field.h"
#include "efface/efface.h"

#include <stdbool.h>

/* The columns of a file that may be values. */
typedef struct ef_file_columns {
    size_t n;
    const ef_csv_field *names; /* n of them, of which some may be blank; or NULL: there are none */
    bool guessed;              /* the names may be a row */
} ef_file_columns;

/* Whether the options may leave a column out. */
bool ef_options_skip(const efface_load_options *options);

/* Marks the columns that are not read; `skipped` has n elements, all false. *by_name is set if a
 * column was found by a name that is no number. */
efface_status ef_skip_columns(const ef_file_columns *file, const efface_load_options *options,
                              bool *skipped, bool *by_name, efface_error *error);

#endif
