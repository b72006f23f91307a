/*
 * Missing values (NaN): which models take them. A model that does not take any never sees one: its
 * set has none when it is fitted or attached, and no request brings one.
 */
#ifndef EF_MISSING_VALUES_H
#define EF_MISSING_VALUES_H

#include "model/family.h"

static inline bool ef_takes_missing(const ef_family *family, const efface_params *params) {
    return family->takes_missing != NULL && family->takes_missing(params);
}

/* LIMIT, for a value of a column, counted from 0 (its name may be NULL), that a model of this
 * family does not take; `row` counts from 1, and 0 means a row that is there. */
efface_status ef_fail_missing(const ef_family *family, size_t row, uint32_t column,
                              const char *name, efface_error *error);

/* The first column of the first row that has a missing value; there is one. */
uint32_t ef_find_missing(const efface_data *data);

/* Whether a model of these parameters takes the rows of a set; and rows that are to come to it. */
efface_status ef_check_missing(const ef_family *family, const efface_params *params,
                               const efface_data *data, efface_error *error);
efface_status ef_check_missing_rows(const ef_family *family, const efface_params *params,
                                    const efface_data *data, const efface_rows *rows,
                                    efface_error *error);

#endif
