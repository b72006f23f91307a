/* How values of rows are stored, in panels, and what is counted of them on the way. */
#ifndef EF_ROW_VALUES_H
#define EF_ROW_VALUES_H

#include "data/set/rows.h"

/* Copies a row in, as it is stored, and enters it in the statistics. */
void ef_row_write(efface_data *data, size_t position, const float *values);

/* The same for as many new rows as fill a panel, `stride` floats apart, in a set that has rows. To
 * go through the panel once, column by column, is several times faster than once for each row. */
void ef_row_write_panel(efface_data *data, size_t position, const float *values, size_t stride);

/* Takes the values of a row that will go, or change, out of the statistics. */
void ef_row_unwrite(efface_data *data, size_t position);

/* How many values of a row, `stride` floats apart, are missing. */
uint64_t ef_row_n_missing(const float *values, uint32_t n, size_t stride);

/* The first value of a row that a set cannot hold; n_columns if there is none. */
uint32_t ef_row_find_wrong(const efface_data *data, const float *values);

#endif
