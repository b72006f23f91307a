/*
 * The family `sums`: exact sums of the rows are the state, and what is wanted of them is computed
 * when it is asked for. In its smallest form these are the sums of the columns; the view is their
 * means.
 *
 * Values become integers on a grid of their column: 2^23 steps up to the power of two above the
 * largest magnitude. So a sum does not depend on the order of the rows, and a row is taken out by
 * subtracting what it had added. Only an exponent that moves takes a pass over the rows. There is
 * no randomness: a new seed changes nothing.
 */
#ifndef EF_SUMS_H
#define EF_SUMS_H

#include "model/family.h"

typedef struct ef_sums {
    efface_sums_params params;
    uint32_t n_columns;
    ef_totals totals;
    int32_t *exponents; /* of each column: no magnitude is above 2^exponent */
    int64_t *sums;      /* of each column: weight times grid coordinate, below 2^40 * 2^23 */
} ef_sums;

/* As in family.h (sums.c). */
efface_status ef_sums_fit(const efface_data *data, const efface_params *params, void **state,
                          efface_error *error);
void ef_sums_free(void *state);
efface_status ef_sums_follow(void *state, const ef_news *news, void **next, bool *done,
                             efface_report *report, efface_error *error);
void ef_sums_commit(void *state, void *next);
void ef_sums_write(ef_writer *writer, const void *state);
efface_status ef_sums_read(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                           void **state, efface_error *error);
efface_status ef_sums_attach(void *state, const efface_data *data, efface_error *error);
void ef_sums_locate(const void *a, const void *b, efface_difference *difference);

/* The mean of a column in the units of the data; there is a row at least. */
double ef_sums_mean(const ef_sums *sums, uint32_t column);

#endif
