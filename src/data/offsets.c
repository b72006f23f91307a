/*
 * The offsets of columns: what is taken from values in double before they are rounded to float32.
 *
 * They are fixed before the first row comes. So all rows of a set have the same coordinates, and
 * computations do not need the offsets.
 */
#include "data/offsets.h"

#include "base/checked.h"
#include "base/status.h"
#include "data/field.h"
#include "data/number.h"
#include "data/rounding.h"
#include "data/rows.h"

#include <inttypes.h>
#include <string.h>

static efface_status check(uint32_t n_columns, const double *offsets, bool *any,
                           efface_error *error) {
    *any = false;
    for (uint32_t j = 0; offsets != NULL && j < n_columns; j++) {
        if (!(offsets[j] >= -EFFACE_MAX_MAGNITUDE && offsets[j] <= EFFACE_MAX_MAGNITUDE))
            return ef_fail(error, EFFACE_E_LIMIT,
                           "column %" PRIu32 ": the offset %g is not a finite number of magnitude "
                           "2^126 or less",
                           j + 1, offsets[j]);
        *any |= offsets[j] != 0.0;
    }
    return EFFACE_OK;
}

efface_status efface_data_set_offsets(efface_data *data, const double *offsets,
                                      efface_error *error) {
    if (data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data must not be NULL");
    if (data->n_rows != 0)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "offsets must be set before the first row is added, but the set has rows already");
    bool any = false;
    efface_status status = ef_data_check_whole(data, error);
    if (status == EFFACE_OK)
        status = check(data->n_columns, offsets, &any, error);
    if (status != EFFACE_OK)
        return status;
    double *copy = NULL;
    if (any) {
        copy = ef_alloc(data->n_columns, sizeof *copy);
        if (copy == NULL)
            return ef_fail_memory(error);
        for (uint32_t j = 0; j < data->n_columns; j++)
            copy[j] = offsets[j] + 0.0; /* minus zero is zero */
    }
    ef_free(data->offsets);
    data->offsets = copy;
    return EFFACE_OK;
}

const double *efface_data_offsets(const efface_data *data) {
    return data->offsets;
}

void efface_data_add_offsets(const efface_data *data, double *values) {
    for (uint32_t j = 0; data->offsets != NULL && j < data->n_columns; j++)
        values[j] += data->offsets[j];
}

void efface_rows_round(size_t n_rows, uint32_t n_columns, const double *values, size_t stride,
                       const double *offsets, float *rounded) {
    for (size_t i = 0; i < n_rows; i++, rounded += n_columns) {
        const double *const row = values + i * (stride != 0 ? stride : n_columns);
        for (uint32_t j = 0; j < n_columns; j++)
            rounded[j] = ef_round_value(row[j], offsets != NULL ? offsets[j] : 0.0);
    }
}

/* ---------------------------------------------------------------- of load options */

/* Columns that an offset may be for. */
typedef struct candidates {
    const efface_data *data;
    const bool *taken;
} candidates;

/* The next column with a name that has no offset yet; n_columns if there is none. */
static uint32_t find_name(const candidates *c, const char *name, uint32_t from) {
    uint32_t j = from;
    while (j < c->data->n_columns) {
        const char *const known = efface_data_column_name(c->data, j);
        if (!c->taken[j] && known != NULL && strcmp(known, name) == 0)
            break;
        j++;
    }
    return j;
}

static uint32_t find_number(const candidates *c, const char *text) {
    uint64_t number = 0;
    return ef_number_parse_digits(text, strlen(text), &number) && number >= 1 &&
                   number <= c->data->n_columns
               ? (uint32_t)number - 1
               : c->data->n_columns;
}

/* For an offset of a column that is known by its place where names are missing. */
static uint32_t find_placed(const candidates *c, const efface_offset *offset) {
    const uint32_t d = c->data->n_columns, j = offset->place - 1;
    if (j < d && (offset->column == NULL || efface_data_column_name(c->data, j) == NULL))
        return c->taken[j] ? d : j;
    return offset->column != NULL ? find_name(c, offset->column, 0) : d;
}

/* For one that a person named. */
static efface_status find_named(const candidates *c, const char *column, uint32_t *found,
                                efface_error *error) {
    const uint32_t d = c->data->n_columns;
    const ef_field_shown shown = ef_field_show((ef_field){column, strlen(column)});
    *found = find_name(c, column, 0);
    if (*found < d && find_name(c, column, *found + 1) < d)
        return ef_fail(
            error, EFFACE_E_ARGUMENT,
            "several columns have the name '%s'; name the column by its number, from 1 to %" PRIu32,
            shown.text, d);
    if (*found == d && ef_number_is_digits(column, strlen(column)))
        *found = find_number(c, column);
    if (*found == d || c->taken[*found])
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       *found == d ? "there is no column of values '%s', or it has an offset "
                                     "already; columns have names, or numbers from 1 to %" PRIu32
                                   : "column '%s' has two offsets; give it one (columns have "
                                     "names, or numbers from 1 to %" PRIu32 ")",
                       shown.text, d);
    return EFFACE_OK;
}

efface_status ef_offsets_choose(efface_data *data, const efface_load_options *options,
                                efface_error *error) {
    if (options->n_offsets == 0)
        return EFFACE_OK;
    double *const values = ef_alloc_zero(data->n_columns, sizeof *values);
    bool *const taken = ef_alloc_zero(data->n_columns, sizeof *taken);
    efface_status status = values != NULL && taken != NULL ? EFFACE_OK : ef_fail_memory(error);
    const candidates among = {data, taken};
    for (size_t i = 0; status == EFFACE_OK && i < options->n_offsets; i++) {
        const efface_offset *const offset = &options->offsets[i];
        uint32_t column = data->n_columns;
        if (offset->place != 0)
            column = find_placed(&among, offset);
        else if (offset->column != NULL)
            status = find_named(&among, offset->column, &column, error);
        else
            status = ef_fail(error, EFFACE_E_ARGUMENT,
                             "an offset has no column; give its name or its place");
        if (status == EFFACE_OK && column < data->n_columns) {
            values[column] = offset->value;
            taken[column] = true;
        }
    }
    if (status == EFFACE_OK)
        status = efface_data_set_offsets(data, values, error);
    ef_free(values);
    ef_free(taken);
    return status;
}
