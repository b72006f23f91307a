/* What all generated sets share: rows that are made one after the other by a function. */
#ifndef EF_DATA_GENERATED_H
#define EF_DATA_GENERATED_H

#include "efface/efface.h"

#include <stddef.h>
#include <stdint.h>

/* Makes the values and the label of a row. Rows are asked for in ascending order, each once. `kept`
 * is room for n_columns doubles that stay as they are from one row to the next. */
typedef void (*ef_row_maker)(const void *context, size_t row, double *kept, float *values,
                             int64_t *label);

/* A set of rows made so, with the ids 0, 1, 2, ..., weight 1 and no owner. Errors: MEMORY, LIMIT.
 */
efface_status ef_data_generate(uint32_t n_columns, size_t n_rows, ef_row_maker make,
                               const void *context, efface_data **out, efface_error *error);

#endif
