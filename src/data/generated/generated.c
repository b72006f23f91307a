/* Generated sets: the part that has nothing to do with what is generated. */
#include "data/generated/generated.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"

#define BATCH_FLOATS 65536u

efface_status ef_data_generate(uint32_t n_columns, size_t n_rows, ef_row_maker make,
                               const void *context, efface_data **out, efface_error *error) {
    efface_data *data = NULL;
    efface_status status = efface_data_create(n_columns, &data, error);
    if (status != EFFACE_OK)
        return status; /* from here on n_columns is between 1 and EFFACE_MAX_COLUMNS */

    const size_t batch_rows = BATCH_FLOATS / n_columns; /* at least 2 */
    float *const values = ef_alloc(batch_rows * n_columns, sizeof *values);
    int64_t *const labels = ef_alloc(batch_rows, sizeof *labels);
    double *const kept = ef_alloc(n_columns, sizeof *kept);
    if (values == NULL || labels == NULL || kept == NULL) {
        status = ef_fail_memory(error);
        goto out;
    }
    status = ef_data_reserve(data, n_rows, error);

    for (size_t first = 0; status == EFFACE_OK && first < n_rows; first += batch_rows) {
        const size_t batch = n_rows - first < batch_rows ? n_rows - first : batch_rows;
        for (size_t i = 0; i < batch; i++)
            make(context, first + i, kept, values + i * n_columns, labels + i);
        const efface_rows rows = {.n_rows = batch, .values = values, .labels = labels};
        status = efface_data_add(data, &rows, error);
    }

out:
    ef_free(kept);
    ef_free(labels);
    ef_free(values);
    if (status == EFFACE_OK)
        *out = data;
    else
        efface_data_free(data);
    return status;
}
