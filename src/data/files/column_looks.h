/* What the fields of a column look like, counted one by one. */
#ifndef EF_COLUMN_LOOKS_H
#define EF_COLUMN_LOOKS_H

#include "data/set/distinct_values.h"
#include "data/texts/field.h"
#include "efface/efface.h"

/* Begins as zeros, but for distinct.n_kept. */
typedef struct ef_column_counts {
    uint64_t n_missing, n_not_utf8, n_beyond;
    uint64_t n_of[EFFACE_LOOKS_TEXTS + 1]; /* fields of each look */
    uint64_t first_other;                  /* the line of the first that is no number */
    double least, most;                    /* of the numbers */
    ef_distinct distinct;
} ef_column_counts;

/* A field of a line. False if out of memory. */
bool ef_column_count_field(ef_column_counts *counts, ef_csv_field field, uint64_t line);

/* A number of an array. */
bool ef_column_count_number(ef_column_counts *counts, double value);

efface_column_look ef_column_look_of(ef_column_counts *counts);

/* Whether a field is a number that a set can hold. */
bool ef_field_is_number(ef_csv_field field);

#endif
