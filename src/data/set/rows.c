/* The life of a set of rows, its memory, and looking at it. row_changes.c adds, removes and
 * replaces rows; row_values.c knows how values are stored and what is counted of them. */
#include "data/set/shards.h"

#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

size_t ef_most_short_positions = UINT32_MAX - 1;

/* How many sets this process has made. */
static atomic_uint_fast64_t n_sets;

efface_status efface_data_create(uint32_t n_columns, efface_data **out, efface_error *error) {
    if (out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "out must not be NULL");
    if (n_columns == 0 || n_columns > EFFACE_MAX_COLUMNS)
        return ef_fail(error, EFFACE_E_LIMIT, "a set needs 1 to %u columns, not %" PRIu32,
                       EFFACE_MAX_COLUMNS, n_columns);
    efface_data *data = ef_alloc_zero(1, sizeof *data);
    if (data == NULL)
        return ef_fail_memory(error);
    data->stamp.set = (uint64_t)atomic_fetch_add_explicit(&n_sets, 1, memory_order_relaxed) + 1;
    if (!ef_counts_init(&data->counts, n_columns)) {
        efface_data_free(data);
        return ef_fail_memory(error);
    }
    *out = data;
    return EFFACE_OK;
}

void efface_data_free(efface_data *data) {
    if (data == NULL)
        return;
    if (data->names != NULL)
        for (uint32_t j = 0; j < data->n_columns; j++)
            ef_free(data->names[j]);
    ef_free(data->names);
    ef_free(data->offsets);
    ef_free(data->types);
    ef_row_ids_free(&data->ids);
    ef_free(data->values);
    ef_free(data->weights);
    ef_free(data->owners);
    ef_free(data->labels);
    ef_free(data->marks);
    ef_counts_free(&data->counts);
    ef_shard_free(data->part);
    ef_free(data);
}

/* ---------------------------------------------------------------- room */

/* Panels stand on a cache line's boundary, so that vector loads never straddle two. */
static efface_status grow_values(efface_data *data, size_t n_rows, efface_error *error) {
    const size_t row_bytes = data->n_columns * sizeof *data->values;
    float *const values = ef_alloc_aligned(n_rows, row_bytes);
    if (values == NULL)
        return ef_fail_memory(error);
    if (data->capacity != 0)
        memcpy(values, data->values, data->capacity * row_bytes);
    ef_free(data->values);
    data->values = values;
    return EFFACE_OK;
}

/* Arrays that grew before one that could not are merely larger than they must be. */
#define GROW(array, size)                                                                          \
    do {                                                                                           \
        void *const larger = ef_realloc(array, n_rows, size);                                      \
        if (larger == NULL)                                                                        \
            return ef_fail_memory(error);                                                          \
        (array) = larger;                                                                          \
    } while (0)

efface_status ef_data_reserve(efface_data *data, size_t n_rows, efface_error *error) {
    if (n_rows <= data->capacity)
        return EFFACE_OK;
    if (!ef_add_size(n_rows, EF_PANEL - 1, &n_rows))
        return ef_fail_memory(error);
    n_rows -= n_rows % EF_PANEL;
    const efface_status status = grow_values(data, n_rows, error);
    if (status != EFFACE_OK)
        return status;
    if (!ef_row_ids_grow(&data->ids, data->capacity, n_rows))
        return ef_fail_memory(error);
    if (data->weights != NULL)
        GROW(data->weights, sizeof *data->weights);
    if (data->owners != NULL)
        GROW(data->owners, sizeof *data->owners);
    if (data->labels != NULL)
        GROW(data->labels, sizeof *data->labels);
    if (data->marks != NULL)
        GROW(data->marks, sizeof *data->marks);
    data->capacity = n_rows;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- looking */

efface_status efface_data_find(const efface_data *data, uint64_t id, size_t *position) {
    const size_t found = ef_row_ids_find(&data->ids, data->n_rows, id);
    if (found == EF_NO_POSITION)
        return EFFACE_E_NOT_FOUND;
    *position = found;
    return EFFACE_OK;
}

efface_row efface_data_row(const efface_data *data, size_t position) {
    return (efface_row){
        .id = ef_data_id(data, position),
        .weight = ef_data_weight(data, position),
        .owner = data->owners != NULL ? data->owners[position] : EFFACE_NO_OWNER,
        .label = data->labels != NULL ? data->labels[position] : EFFACE_NO_LABEL,
        .mark = data->marks != NULL ? data->marks[position] : 0,
    };
}

void efface_data_values(const efface_data *data, size_t position, float *values) {
    const float *const row = ef_data_first(data, position);
    for (uint32_t j = 0; j < data->n_columns; j++)
        values[j] = row[(size_t)j * EF_PANEL];
}

size_t efface_data_n_rows(const efface_data *data) {
    return data->n_rows;
}

uint32_t efface_data_n_columns(const efface_data *data) {
    return data->n_columns;
}

int64_t efface_data_total_weight(const efface_data *data) {
    return data->total_weight;
}

void efface_data_allow_missing(efface_data *data) {
    data->allows_missing = true;
}

uint64_t efface_data_n_missing(const efface_data *data) {
    return data->n_missing;
}

const char *efface_data_column_name(const efface_data *data, uint32_t column) {
    return data->names != NULL && column < data->n_columns ? data->names[column] : NULL;
}

efface_status efface_data_name_column(efface_data *data, uint32_t column, const char *name,
                                      efface_error *error) {
    if (data == NULL || column >= data->n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there is no column %" PRIu32, column + 1);
    if (name != NULL && *name == '\0')
        name = NULL; /* an empty name is none */
    if (name == NULL && data->names == NULL)
        return EFFACE_OK;
    if (data->names == NULL)
        data->names = ef_alloc_zero(data->n_columns, sizeof *data->names);
    if (data->names == NULL)
        return ef_fail_memory(error);
    char *copy = NULL;
    if (name != NULL) {
        const size_t n_bytes = strlen(name) + 1;
        copy = ef_alloc(n_bytes, 1);
        if (copy == NULL)
            return ef_fail_memory(error);
        memcpy(copy, name, n_bytes);
    }
    ef_free(data->names[column]);
    data->names[column] = copy;
    return EFFACE_OK;
}

void efface_data_get_kinds(const efface_data *data, efface_ids *ids, efface_ids *owners) {
    *ids = data != NULL ? data->id_kind : EFFACE_IDS_DETECT;
    *owners = data != NULL ? data->owner_kind : EFFACE_IDS_DETECT;
}

void efface_data_set_kinds(efface_data *data, efface_ids ids, efface_ids owners) {
    data->id_kind = ids;
    data->owner_kind = owners;
}

size_t ef_data_bytes(const efface_data *data) {
    const size_t a_row = data->n_columns * sizeof *data->values +
                         (data->weights != NULL ? sizeof *data->weights : 0) +
                         (data->owners != NULL ? sizeof *data->owners : 0) +
                         (data->labels != NULL ? sizeof *data->labels : 0) +
                         (data->marks != NULL ? sizeof *data->marks : 0);
    return sizeof *data + data->capacity * a_row + ef_row_ids_bytes(&data->ids, data->capacity);
}
