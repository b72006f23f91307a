/*
 * What is counted of the rows of a set: how many there are, their weight, and the statistics that a
 * fit derives its domain from. A set has it (rows.h). It can also be kept without the rows: a model
 * that needs no more follows a change though the rows are not at hand.
 */
#ifndef EF_COUNTS_H
#define EF_COUNTS_H

#include "base/bytes/encode.h"
#include "base/numbers/grid.h"
#include "data/set/column_ranges.h"

/* The fields, which a set has as its own too. */
#define EF_COUNTS_FIELDS                                                                           \
    uint32_t n_columns;                                                                            \
    size_t n_rows;                                                                                 \
    int64_t total_weight;                                                                          \
    ef_exponent_counts exponents; /* of the rows */                                                \
    ef_ranges ranges;             /* of the columns; see there */

typedef struct ef_counts {
    EF_COUNTS_FIELDS
} ef_counts;

/* Of no rows; false if out of memory. */
bool ef_counts_init(ef_counts *counts, uint32_t n_columns);
void ef_counts_free(ef_counts *counts);

/* The ends of a column; 0 if it has no values. */
static inline float ef_counts_least(const ef_counts *counts, uint32_t column) {
    return counts->n_rows != 0 && !ef_ranges_empty(&counts->ranges, column)
               ? counts->ranges.least[column]
               : 0.0F;
}

static inline float ef_counts_most(const ef_counts *counts, uint32_t column) {
    return counts->n_rows != 0 && !ef_ranges_empty(&counts->ranges, column)
               ? counts->ranges.most[column]
               : 0.0F;
}

/* Writes counts of which no range is stale; reads them. An empty column is written as zeros.
 * Reading fails if the bytes do not suffice, or memory runs out (then reader->failed is false). */
void ef_counts_write(ef_writer *writer, const ef_counts *counts);
bool ef_counts_read(ef_decoder *reader, uint32_t n_columns, ef_counts *counts);

/* Counts a row that comes or leaves. */
void ef_counts_change(ef_counts *counts, const float *values, int64_t weight, bool leaves);

/* Whether a column's range is no longer known. */
bool ef_counts_stale(const ef_counts *counts);

#endif
