/*
 * The smallest and largest value of each column, kept as rows come and go.
 *
 * With each extreme goes the number of rows that have it: a row that leaves changes a range only if
 * it was the last at an end. The column is then stale, which shows in a count of 0, and its range
 * has to be made anew from the rows. Until then the end is the farthest possible value, because the
 * old value may be that of a forgotten row.
 *
 * A missing value (NaN) has no part in a range. A column in which all values are missing is empty:
 * its ends are the farthest possible values the wrong way round, so that every value that comes is
 * beyond both. An empty column is not stale, for nothing in the rows could tell more of it.
 */
#ifndef EF_COLUMN_RANGES_H
#define EF_COLUMN_RANGES_H

#include "base/numbers/grid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ef_ranges {
    uint32_t n_columns;
    float *least; /* n_columns each */
    float *most;
    uint64_t *n_least; /* rows whose value is the least */
    uint64_t *n_most;
    void *block;    /* these arrays */
    bool any_stale; /* a column may be */
} ef_ranges;

/* False if out of memory. */
bool ef_ranges_init(ef_ranges *ranges, uint32_t n_columns);
void ef_ranges_free(ef_ranges *ranges);

/* Takes in the values of a row, `stride` floats apart; with `first` they replace all before. */
void ef_ranges_add(ef_ranges *ranges, const float *values, size_t stride, bool first);

/* Takes in a panel of EF_PANEL rows, when others have been. */
void ef_ranges_add_panel(ef_ranges *ranges, const float *panel);

/* Takes out the values of a row that was taken in. */
void ef_ranges_remove(ef_ranges *ranges, const float *values, size_t stride);

/* Makes a column empty. */
void ef_ranges_clear(ef_ranges *ranges, uint32_t column);

static inline bool ef_ranges_empty(const ef_ranges *ranges, uint32_t column) {
    return ranges->least[column] > ranges->most[column];
}

static inline bool ef_ranges_stale(const ef_ranges *ranges, uint32_t column) {
    return (ranges->n_least[column] == 0 || ranges->n_most[column] == 0) &&
           !ef_ranges_empty(ranges, column);
}

#endif
