/* Columns of values that load options are about, by their names or their numbers. */
#ifndef EF_VALUE_COLUMNS_H
#define EF_VALUE_COLUMNS_H

#include "efface/efface.h"

#include <stdbool.h>

/* Where to look: a set that has the names of its columns. */
typedef struct ef_value_columns {
    const efface_data *data;
    const bool *taken; /* n_columns: these have an offset already; NULL: none is to get one */
} ef_value_columns;

/* The column with a name or a number; or, if `place` is not 0, with that place or a name. Then a
 * column that does not exist is no error, and *found is n_columns. */
efface_status ef_value_column_find(const ef_value_columns *among, const char *column,
                                   uint32_t place, uint32_t *found, efface_error *error);

/* Marks the columns of a set that load options list. `chosen` has n_columns elements, or is NULL:
 * then it is only checked that there are such columns. */
efface_status ef_value_columns_mark(const efface_data *data, const efface_category *columns,
                                    size_t n, bool *chosen, efface_error *error);

#endif
