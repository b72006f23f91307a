/* Missing values: sets and rows that a model does not take are refused. */
#include "model/request/missing_values.h"

#include "base/errors/status.h"
#include "data/texts/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

efface_status ef_fail_missing(const ef_family *family, size_t row, uint32_t column,
                              const char *name, efface_error *error) {
    char where[64] = "", called[64] = "";
    if (row != 0)
        (void)snprintf(where, sizeof where, "row %zu, ", row);
    if (name != NULL)
        (void)snprintf(called, sizeof called, " (%s)",
                       ef_field_show((ef_csv_field){name, strlen(name)}).text);
    return ef_fail(error, EFFACE_E_LIMIT,
                   "%scolumn %" PRIu32 "%s: a value is missing, and a model of the family %s with "
                   "these parameters takes no missing values; give it a value, leave the row or "
                   "the column out, or use a model that takes them (a forest)",
                   where, column + 1, called, family->name);
}

uint32_t ef_find_missing(const efface_data *data) {
    for (size_t i = 0; i < data->n_rows; i++)
        for (uint32_t j = 0; j < data->n_columns; j++)
            if (ef_data_value(data, i, j) != ef_data_value(data, i, j))
                return j;
    return 0;
}

efface_status ef_check_missing(const ef_family *family, const efface_params *params,
                               const efface_data *data, efface_error *error) {
    if (data->n_missing == 0 || ef_takes_missing(family, params))
        return EFFACE_OK;
    const uint32_t j = ef_find_missing(data);
    return ef_fail_missing(family, 0, j, efface_data_column_name(data, j), error);
}

efface_status ef_check_missing_rows(const ef_family *family, const efface_params *params,
                                    const efface_data *data, const efface_rows *rows,
                                    efface_error *error) {
    const uint32_t d = data->n_columns;
    /* What is wrong with rows otherwise is found when they come to the set. */
    if (!data->allows_missing || ef_takes_missing(family, params) || rows == NULL ||
        rows->values == NULL || (rows->stride != 0 && rows->stride < d))
        return EFFACE_OK;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const float *const values = rows->values + i * (rows->stride != 0 ? rows->stride : d);
        for (uint32_t j = 0; j < d; j++)
            if (values[j] != values[j])
                return ef_fail_missing(family, i + 1, j, efface_data_column_name(data, j), error);
    }
    return EFFACE_OK;
}
