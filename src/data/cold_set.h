/*
 * A set without its rows: how many there are, their weight, and the statistics a fit derives its
 * domain from. A model that needs no more can follow a change without the rows being loaded.
 */
#ifndef EF_COLD_SET_H
#define EF_COLD_SET_H

#include "base/encode.h"
#include "data/rows.h"

/* Writes what is counted of a set; reads it into a set without rows. NULL if the bytes do not
 * suffice, or memory is short (then reader->failed is false). */
void ef_counts_write(ef_writer *writer, const efface_data *data);
efface_data *ef_counts_read(ef_decoder *reader, uint32_t n_columns);

/* Counts a row that comes to, or leaves, a set without rows. */
void ef_counts_change(efface_data *data, const float *values, int64_t weight, bool leaves);

/* Whether a column's range is no longer known. */
bool ef_counts_stale(const efface_data *data);

#endif
