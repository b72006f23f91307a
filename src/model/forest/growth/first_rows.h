/*
 * Rows that all trees begin with, where trees have the same ones: taken once for all of them, and
 * sorted by each column. So what goes left of a root is found without going through its rows.
 */
#ifndef EF_FIRST_ROWS_H
#define EF_FIRST_ROWS_H

#include "model/forest/growth/splitting.h"

/* The rows of a column in the order of its codes, segment by segment. */
typedef struct ef_sorted_column {
    int32_t *codes; /* NULL: it is not sorted */
    int64_t *sums;  /* of targets, up to and with this row; NULL: there are classes */
} ef_sorted_column;

typedef struct ef_first_rows {
    ef_bunch bunch;
    ef_sorted_column *columns; /* by input; NULL: none is sorted */
    uint32_t n_columns;
} ef_first_rows;

/* Copies the rows of a bunch, and sorts them if that is worth its while for so many trees. False if
 * memory runs out; to be freed in any case. */
bool ef_first_rows_make(ef_first_rows *first, const ef_bunch *bunch, const ef_rules *rules,
                        const ef_forest_slots *rows, uint32_t n_trees);
void ef_first_rows_free(ef_first_rows *first);

/* The rows of a bunch into the lists of another, which have room for them. */
void ef_copy_rows(ef_bunch *to, const ef_bunch *from);

/* How many of n codes in ascending order are at most `cut`. */
size_t ef_codes_up_to(const int32_t *codes, size_t n, int32_t cut);

#endif
