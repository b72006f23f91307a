/* Columns of values that load options are about, by their names or their numbers. */
#ifndef EF_VALUE_COLUMNS_H
#define EF_VALUE_COLUMNS_H

#include "efface/efface.h"

#include <stdbool.h>

/* The columns of a file of which a set has only some. */
typedef struct ef_read_columns {
    efface_data *file; /* an empty set that has them all, with their names; or NULL: all are read */
    uint32_t *position; /* which column of the set each of them is; EFFACE_NO_COLUMN: none */
} ef_read_columns;

/* Marks which of n columns are read, `skipped` or not. */
efface_status ef_read_columns_begin(ef_read_columns *read, size_t n, const bool *skipped,
                                    efface_error *error);
void ef_read_columns_clear(ef_read_columns *read);

/* Tells the caller of a load which columns are not read. */
void ef_read_columns_tell(const ef_read_columns *read, const efface_load_options *options);

/* Where to look: a set that has the names of its columns. */
typedef struct ef_value_columns {
    const efface_data *data;
    const ef_read_columns *read; /* from which its columns are */
    const bool *taken; /* n_columns: these have an offset already; NULL: none is to get one */
} ef_value_columns;

/* The column with a name or a number, which counts those of the file; if it is not read, *found is
 * n_columns. Or, if `place` is not 0, with that place or a name. Then a column that does not exist
 * is no error, and *found is n_columns. */
efface_status ef_value_column_find(const ef_value_columns *among, const char *column,
                                   uint32_t place, uint32_t *found, efface_error *error);

/* Marks the columns of a set that load options list. `chosen` has n_columns elements, or is NULL:
 * then it is only checked that there are such columns. */
efface_status ef_value_columns_mark(const efface_data *data, const ef_read_columns *read,
                                    const efface_category *columns, size_t n, bool *chosen,
                                    efface_error *error);

#endif
