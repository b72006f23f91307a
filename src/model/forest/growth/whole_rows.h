/*
 * All columns of rows at once, where they are few: a row has its codes side by side, and to look at
 * eight of them takes no longer than at one. Where rows have many columns, of which a node draws
 * few, those columns are gathered instead (codes_of_width.h).
 */
#ifndef EF_WHOLE_ROWS_H
#define EF_WHOLE_ROWS_H

#include "kernel/kernels.h"
#include "model/forest/trees/forest_slots.h"

typedef struct ef_whole_rows {
    const ef_kernels *kernels;
    uint32_t n_codes; /* inputs, and what makes them whole vectors; 0: not to be used */
    int32_t *least, *most, *limits; /* by input */
    uint32_t *counts;               /* rows of up to the limit */
    int64_t *sums;                  /* of their targets */
} ef_whole_rows;

/* Room for rows of `n_inputs` codes. False if out of memory; `clear` in any case. */
bool ef_whole_rows_init(ef_whole_rows *whole, uint32_t n_inputs);
void ef_whole_rows_clear(ef_whole_rows *whole);

/* Whether rows have so few codes, all of numbers and in four bytes, that it is quicker to look at all
 * of them than to gather the columns that a node draws. */
bool ef_whole_rows_are_quicker(const ef_forest_slots *rows, const bool *are_categories,
                               uint32_t n_drawn);

/* Finds `least` and `most` of n rows, at least one. */
void ef_whole_rows_range(ef_whole_rows *whole, const ef_forest_slots *rows, const uint32_t *slots,
                         size_t n);

/* Finds `counts` and, unless targets are NULL, `sums` of n rows: of those of up to `limits`. */
void ef_whole_rows_count(ef_whole_rows *whole, const ef_forest_slots *rows, const uint32_t *slots,
                         const int32_t *targets, size_t n);

#endif
