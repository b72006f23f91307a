/*
 * The family `sums`: exact sums of the rows are the state, and what is wanted of them, a view, is
 * computed when it is asked for (views.h).
 *
 * The coordinates of a row are whole numbers (coordinates.h). So a sum does not depend on the order
 * of the rows, and a row is taken out by subtracting what it had added. Only an exponent that moves
 * takes a pass over the rows. If there are sums by class, rows without a label take no part.
 */
#ifndef EF_SUMS_H
#define EF_SUMS_H

#include "model/exact/moments.h"
#include "model/family.h"
#include "model/sums/coordinates/coordinates.h"

#include <stdatomic.h>

struct ef_view;

typedef struct ef_sums {
    efface_sums_params *params; /* a copy of its own, with what they refer to */
    efface_summed summed;       /* over all rows: MEANS, DIAGONAL or FULL */
    efface_summed by_class;     /* the same, or NEEDED for none */
    ef_coordinates coordinates;
    ef_totals totals;
    ef_moments all;     /* of the rows that take part */
    uint32_t n_classes; /* that rows have, in the order of labels: */
    int64_t *labels;    /* n_classes each */
    ef_moments *classes;
    /* Kept until the next change, or NULL: the view, and the view with standard errors or
     * directions. */
    _Atomic(struct ef_view *) *views;
} ef_sums;

/* What a view needs to be summed. */
efface_summed ef_sums_needed(const efface_sums_params *params);
efface_summed ef_sums_needed_by_class(const efface_sums_params *params);

/* As in family.h: sums.c and sums_bytes.c; sums_params.c. */
efface_status ef_sums_fit(const efface_data *data, const efface_params *params, void **state,
                          efface_error *error);
void ef_sums_free(void *state);
efface_status ef_sums_follow(void *state, const ef_news *news, void **next, bool *done,
                             efface_report *report, efface_error *error);
void ef_sums_commit(void *state, void *next);
void ef_sums_drop(void *next);
void ef_sums_write(ef_writer *writer, const void *state);
efface_status ef_sums_read(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                           void **state, efface_error *error);
efface_status ef_sums_attach(void *state, const efface_data *data, efface_error *error);
void ef_sums_locate(const void *a, const void *b, efface_difference *difference);

efface_status ef_sums_check_params(const efface_params *params, efface_error *error);
efface_params *ef_sums_copy_params(const efface_params *params, uint32_t n_columns);
void ef_sums_write_params(ef_writer *writer, const efface_params *params, uint32_t n_columns);
efface_status ef_sums_read_params(ef_decoder *decoder, uint32_t n_columns, efface_params **out,
                                  efface_error *error);
void ef_sums_describe_params(const efface_params *params, ef_listener to);

/* Checks of the parameters of views. */
efface_status ef_linear_check(const efface_linear_params *params, efface_error *error);
efface_status ef_bayes_check(const efface_bayes_params *params, efface_error *error);
efface_status ef_discriminant_check(const efface_discriminant_params *params, efface_error *error);
efface_status ef_components_check(const efface_components_params *params, efface_error *error);

/* Sums of no rows. Errors: MEMORY; KERNELS; ARGUMENT. */
efface_status ef_sums_make(const efface_sums_params *params, uint32_t n_columns, ef_sums **out,
                           efface_error *error);

/* The number of a class; n_classes if there is none with this label. */
uint32_t ef_sums_find_class(const int64_t *labels, uint32_t n, int64_t label);

#endif
