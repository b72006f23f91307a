/* What the numbers of columns stand for. It changes no number: a set of dates is a set of days. */
#include "data/units/column_types.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"
#include "data/texts/field_types.h"

#include <inttypes.h>
#include <string.h>

efface_status efface_data_set_types(efface_data *data, const efface_column_type *types,
                                    efface_error *error) {
    bool any = false;
    if (data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data must not be NULL");
    for (uint32_t j = 0; types != NULL && j < data->n_columns; j++) {
        if (!ef_type_is_known((int)types[j]))
            return ef_fail(error, EFFACE_E_ARGUMENT, "column %" PRIu32 ": there is no type %d",
                           j + 1, (int)types[j]);
        any |= types[j] != EFFACE_TYPE_NUMBER;
    }
    efface_column_type *copy = NULL;
    if (any) {
        copy = ef_alloc(data->n_columns, sizeof *copy);
        if (copy == NULL)
            return ef_fail_memory(error);
        memcpy(copy, types, data->n_columns * sizeof *copy);
    }
    ef_free(data->types);
    data->types = copy;
    return EFFACE_OK;
}

const efface_column_type *efface_data_types(const efface_data *data) {
    return data->types;
}

efface_status ef_types_choose(efface_data *data, const ef_read_columns *read,
                              const efface_load_options *options, efface_error *error) {
    if (options->n_types == 0)
        return EFFACE_OK;
    efface_column_type *const types = ef_alloc_zero(data->n_columns, sizeof *types);
    efface_status status = types != NULL ? EFFACE_OK : ef_fail_memory(error);
    const ef_value_columns among = {.data = data, .read = read};
    for (size_t i = 0; status == EFFACE_OK && i < options->n_types; i++) {
        const efface_typed_column *const typed = &options->types[i];
        uint32_t column = data->n_columns;
        status = ef_value_column_find(&among, typed->column, typed->place, &column, error);
        if (status == EFFACE_OK && column < data->n_columns)
            types[column] = typed->type;
    }
    EF_THEN(status, efface_data_set_types(data, types, error));
    ef_free(types);
    return status;
}
