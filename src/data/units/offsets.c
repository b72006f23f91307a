/*
 * The offsets of columns: what is taken from values in double before they are rounded to float32.
 *
 * They are fixed before the first row comes. So all rows of a set have the same coordinates, and
 * computations do not need the offsets.
 */
#include "data/units/offsets.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"
#include "data/units/rounding.h"

#include <inttypes.h>

static efface_status check_offsets(uint32_t n_columns, const double *offsets, bool *any,
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
    EF_THEN(status, check_offsets(data->n_columns, offsets, &any, error));
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

efface_status ef_offsets_choose(efface_data *data, const ef_read_columns *read,
                                const efface_load_options *options, efface_error *error) {
    if (options->n_offsets == 0)
        return EFFACE_OK;
    double *const values = ef_alloc_zero(data->n_columns, sizeof *values);
    bool *const taken = ef_alloc_zero(data->n_columns, sizeof *taken);
    efface_status status = values != NULL && taken != NULL ? EFFACE_OK : ef_fail_memory(error);
    const ef_value_columns among = {.data = data, .read = read, .taken = taken};
    for (size_t i = 0; status == EFFACE_OK && i < options->n_offsets; i++) {
        const efface_offset *const offset = &options->offsets[i];
        uint32_t column = data->n_columns;
        status = ef_value_column_find(&among, offset->column, offset->place, &column, error);
        if (status == EFFACE_OK && column < data->n_columns) {
            values[column] = offset->value;
            taken[column] = true;
        }
    }
    EF_THEN(status, efface_data_set_offsets(data, values, error));
    ef_free(values);
    ef_free(taken);
    return status;
}
