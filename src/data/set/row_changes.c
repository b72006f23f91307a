/*
 * Changes of a set of rows: add, remove and replace by id, all or none.
 *
 * Each of the three checks everything and takes all memory first, and changes the set only when
 * nothing can fail any more. Statistics that a fit needs (exponents, column ranges, total weight)
 * are kept as rows come and go, so that a fit need not look at the rows for them.
 */
#include "data/set/row_values.h"
#include "data/set/shards.h"

#include "base/bytes/ids.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---------------------------------------------------------------- room */

/* Room for n_more rows, growing by half so that many small additions stay cheap. */
static efface_status reserve_more(efface_data *data, size_t n_more, efface_error *error) {
    size_t wanted;
    if (!ef_add_size(data->n_rows, n_more, &wanted))
        return ef_fail_memory(error);
    if (wanted <= data->capacity)
        return EFFACE_OK;
    const size_t generous = data->capacity + data->capacity / 2;
    return ef_data_reserve(data, wanted > generous ? wanted : generous, error);
}

/* Gives every row its own weight, owner, label or mark where they were all alike. */
static efface_status spell_out_weights(efface_data *data, efface_error *error) {
    if (data->weights != NULL)
        return EFFACE_OK;
    data->weights = ef_alloc(data->capacity, sizeof *data->weights);
    if (data->weights == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->weights[i] = 1;
    return EFFACE_OK;
}

static efface_status spell_out_owners(efface_data *data, efface_error *error) {
    if (data->owners != NULL)
        return EFFACE_OK;
    data->owners = ef_alloc(data->capacity, sizeof *data->owners);
    if (data->owners == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->owners[i] = EFFACE_NO_OWNER;
    return EFFACE_OK;
}

static efface_status spell_out_labels(efface_data *data, efface_error *error) {
    if (data->labels != NULL)
        return EFFACE_OK;
    data->labels = ef_alloc(data->capacity, sizeof *data->labels);
    if (data->labels == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->labels[i] = EFFACE_NO_LABEL;
    return EFFACE_OK;
}

static efface_status spell_out_marks(efface_data *data, efface_error *error) {
    if (data->marks != NULL)
        return EFFACE_OK;
    data->marks = ef_alloc(data->capacity, sizeof *data->marks);
    if (data->marks == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < data->n_rows; i++)
        data->marks[i] = 0;
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- add, remove, replace */

static const float *source_row(const efface_data *data, const efface_rows *rows, size_t i) {
    return rows->values + i * (rows->stride != 0 ? rows->stride : data->n_columns);
}

static efface_status fail_value(size_t row, uint32_t column, float value, efface_error *error) {
    return value != value
               ? ef_fail(
                     error, EFFACE_E_LIMIT,
                     "row %zu, column %" PRIu32
                     ": the value is missing (NaN), and the set allows no missing values; leave "
                     "the row out, give it a value, or allow missing values with a model that "
                     "takes them",
                     row + 1, column + 1)
               : ef_fail(error, EFFACE_E_LIMIT,
                         "row %zu, column %" PRIu32
                         ": the value %g is not a finite number of magnitude 2^126 or less; "
                         "leave the row out or correct it",
                         row + 1, column + 1, (double)value);
}

/* Checks values and weights; `replaced` is the weight that the rows take the place of. */
static efface_status check_rows(const efface_data *data, const efface_rows *rows, int64_t replaced,
                                int64_t *total_weight, efface_error *error) {
    const uint32_t d = data->n_columns;
    if (rows->stride != 0 && rows->stride < d)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the stride of %zu is smaller than the number of columns, %" PRIu32,
                       rows->stride, d);
    if (rows->n_rows != 0 && rows->values == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "values must not be NULL");
    int64_t total = data->total_weight - replaced;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const float *const values = source_row(data, rows, i);
        const uint32_t wrong = ef_row_find_wrong(data, values);
        if (wrong < d)
            return fail_value(i, wrong, values[wrong], error);
        const int64_t weight = rows->weights != NULL ? rows->weights[i] : 1;
        if (weight < 1 || weight >= EFFACE_MAX_WEIGHT - total)
            return ef_fail(
                error, EFFACE_E_LIMIT,
                "row %zu: the weight %" PRId64
                " is not allowed: a weight is at least 1, and the sum of all weights is below 2^40",
                i + 1, weight);
        total += weight;
    }
    *total_weight = total;
    return EFFACE_OK;
}

static bool needs_weights(const efface_rows *rows) {
    if (rows->weights != NULL)
        for (size_t i = 0; i < rows->n_rows; i++)
            if (rows->weights[i] != 1)
                return true;
    return false;
}

/* Spells out what rows that are to be added or replaced have beside their values. */
static efface_status spell_out_beside(efface_data *data, const efface_rows *rows,
                                      efface_error *error) {
    efface_status status = EFFACE_OK;
    if (needs_weights(rows))
        status = spell_out_weights(data, error);
    if (status == EFFACE_OK && rows->owners != NULL)
        status = spell_out_owners(data, error);
    if (status == EFFACE_OK && rows->labels != NULL)
        status = spell_out_labels(data, error);
    if (status == EFFACE_OK && rows->marks != NULL)
        status = spell_out_marks(data, error);
    return status;
}

/* Whether the ids of new rows are just their positions in a set where that holds for all. */
static bool adds_positions(const efface_data *data, const efface_rows *rows) {
    if (!ef_data_ids_are_positions(data))
        return false;
    if (rows->ids != NULL)
        for (size_t i = 0; i < rows->n_rows; i++)
            if (rows->ids[i] != data->n_rows + i)
                return false;
    return true;
}

static efface_status enter_ids(efface_data *data, const efface_rows *rows, uint64_t *next_id,
                               efface_error *error) {
    for (size_t i = 0; i < rows->n_rows; i++) {
        const size_t position = data->n_rows + i;
        const uint64_t id = rows->ids != NULL ? rows->ids[i] : *next_id;
        if (ef_row_ids_find(&data->ids, position, id) != EF_NO_POSITION) {
            for (size_t back = i; back > 0; back--)
                ef_row_ids_drop(&data->ids, data->n_rows + back - 1);
            return ef_fail(error, EFFACE_E_DUPLICATE,
                           "row %zu: another row has the id %" PRIu64 " already; ids are unique",
                           i + 1, id);
        }
        ef_row_ids_set(&data->ids, position, id);
        if (id >= *next_id)
            *next_id = id + 1 != 0 ? id + 1 : id;
    }
    return EFFACE_OK;
}

efface_status ef_rows_check(const efface_data *data, const efface_rows *rows, efface_error *error) {
    int64_t total_weight;
    return check_rows(data, rows, data->total_weight, &total_weight, error);
}

efface_status ef_data_check_whole(const efface_data *data, efface_error *error) {
    return data->part == NULL
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "the set is a part of a group's set; change its columns before it joins "
                         "and its rows by requests to its models, on all ranks");
}

efface_status efface_data_add(efface_data *data, const efface_rows *rows, efface_error *error) {
    if (data == NULL || rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and rows must not be NULL");
    const efface_status status = ef_data_check_whole(data, error);
    return status == EFFACE_OK ? ef_data_add(data, rows, error) : status;
}

efface_status ef_data_add(efface_data *data, const efface_rows *rows, efface_error *error) {
    int64_t total_weight;
    efface_status status = check_rows(data, rows, 0, &total_weight, error);
    EF_THEN(status, reserve_more(data, rows->n_rows, error));
    EF_THEN(status, spell_out_beside(data, rows, error));
    if (status != EFFACE_OK)
        return status;

    uint64_t next_id = data->next_id;
    if (adds_positions(data, rows)) {
        next_id += rows->n_rows;
    } else {
        if (rows->ids == NULL && UINT64_MAX - next_id < rows->n_rows)
            return ef_fail(error, EFFACE_E_LIMIT,
                           "no ids are free above %" PRIu64 "; give each row an id", next_id);
        if (!ef_row_ids_reserve(&data->ids, data->capacity, data->n_rows, rows->n_rows))
            return ef_fail_memory(error);
        status = enter_ids(data, rows, &next_id, error);
        if (status != EFFACE_OK)
            return status;
    }

    const size_t begin = data->n_rows, stride = rows->stride != 0 ? rows->stride : data->n_columns;
    while (data->n_rows - begin < rows->n_rows) {
        const size_t position = data->n_rows, i = position - begin;
        if (position != 0 && position % EF_PANEL == 0 && rows->n_rows - i >= EF_PANEL) {
            ef_row_write_panel(data, position, source_row(data, rows, i), stride);
            data->n_rows += EF_PANEL;
        } else {
            ef_row_write(data, position, source_row(data, rows, i));
            data->n_rows++;
        }
    }
    for (size_t i = 0; i < rows->n_rows; i++) {
        const size_t position = begin + i;
        if (data->weights != NULL)
            data->weights[position] = rows->weights != NULL ? rows->weights[i] : 1;
        if (data->owners != NULL)
            data->owners[position] = rows->owners != NULL ? rows->owners[i] : EFFACE_NO_OWNER;
        if (data->labels != NULL)
            data->labels[position] = rows->labels != NULL ? rows->labels[i] : EFFACE_NO_LABEL;
        if (data->marks != NULL)
            data->marks[position] = rows->marks != NULL ? rows->marks[i] : 0;
    }
    data->next_id = next_id;
    data->named |= rows->ids != NULL && rows->n_rows != 0;
    data->weighed |= rows->weights != NULL && rows->n_rows != 0;
    data->stamp.generation += rows->n_rows != 0;
    data->total_weight = total_weight;
    return EFFACE_OK;
}

static size_t position_of(const efface_data *data, uint64_t id) {
    return ef_row_ids_find(&data->ids, data->n_rows, id);
}

/* Every id is there, and none comes twice. */
static efface_status check_ids(const efface_data *data, const uint64_t *ids, size_t n_ids,
                               efface_error *error) {
    if (n_ids != 0 && ids == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "ids must not be NULL");
    for (size_t i = 0; i < n_ids; i++)
        if (position_of(data, ids[i]) == EF_NO_POSITION)
            return ef_fail(error, EFFACE_E_NOT_FOUND, "there is no row with the id %" PRIu64,
                           ids[i]);
    if (n_ids < 2)
        return EFFACE_OK;
    uint64_t *sorted = ef_alloc(n_ids, sizeof *sorted);
    if (sorted == NULL)
        return ef_fail_memory(error);
    memcpy(sorted, ids, n_ids * sizeof *sorted);
    ef_ids_sort(sorted, n_ids);
    const uint64_t *const repeat = ef_ids_find_repeat(sorted, n_ids);
    efface_status status = EFFACE_OK;
    if (repeat != NULL)
        status = ef_fail(error, EFFACE_E_DUPLICATE,
                         "the id %" PRIu64 " is twice in one request; name it once", *repeat);
    ef_free(sorted);
    return status;
}

/* Gives the row at a position what stands beside its values. */
static void write_beside(efface_data *data, size_t position, const efface_row *row) {
    if (data->weights != NULL)
        data->weights[position] = row->weight;
    if (data->owners != NULL)
        data->owners[position] = row->owner;
    if (data->labels != NULL)
        data->labels[position] = row->label;
    if (data->marks != NULL)
        data->marks[position] = row->mark;
}

void ef_data_take_out(efface_data *data, size_t position) {
    const size_t last = data->n_rows - 1;
    ef_row_unwrite(data, position);
    data->total_weight -= ef_data_weight(data, position);
    float *const freed = ef_data_first(data, position), *const from = ef_data_first(data, last);
    for (size_t j = 0; j < (size_t)data->n_columns * EF_PANEL; j += EF_PANEL) {
        freed[j] = from[j];
        from[j] = 0.0F;
    }
    const efface_row moved = efface_data_row(data, last);
    ef_row_ids_drop(&data->ids, last);
    if (position != last) {
        ef_row_ids_drop(&data->ids, position);
        ef_row_ids_set(&data->ids, position, moved.id);
        write_beside(data, position, &moved);
    }
    write_beside(data, last, &(efface_row){.id = 0});
    data->n_rows = last;
    data->stamp.generation++;
}

void ef_data_put_back(efface_data *data, size_t position, const efface_row *row,
                      const float *values) {
    const size_t last = data->n_rows;
    assert(last < data->capacity && position <= last);
    if (position != last) { /* the row that came from the end goes back there */
        const efface_row moved = efface_data_row(data, position);
        float *const to = ef_data_first(data, last), *const from = ef_data_first(data, position);
        if (last % EF_PANEL == 0)
            memset(to, 0, (size_t)data->n_columns * EF_PANEL * sizeof *to);
        for (size_t j = 0; j < (size_t)data->n_columns * EF_PANEL; j += EF_PANEL)
            to[j] = from[j];
        ef_row_ids_drop(&data->ids, position);
        ef_row_ids_set(&data->ids, last, moved.id);
        write_beside(data, last, &moved);
    }
    ef_row_ids_set(&data->ids, position, row->id);
    ef_row_write(data, position, values);
    write_beside(data, position, row);
    data->total_weight += row->weight;
    data->n_rows++;
}

void ef_data_overwrite(efface_data *data, size_t position, const efface_row *row,
                       const float *values) {
    data->total_weight += row->weight - ef_data_weight(data, position);
    ef_row_unwrite(data, position);
    ef_row_write(data, position, values);
    write_beside(data, position, row);
}

efface_status ef_data_copy_rows(const efface_data *data, const size_t *positions, size_t n,
                                efface_data **out, efface_error *error) {
    efface_data *copy = NULL;
    efface_status status = efface_data_create(data->n_columns, &copy, error);
    EF_THEN(status, ef_data_reserve(copy, n, error));
    if (status == EFFACE_OK) {
        copy->ids.own = ef_alloc(copy->capacity, sizeof *copy->ids.own);
        status = copy->ids.own != NULL ? EFFACE_OK : ef_fail_memory(error);
    }
    if (status == EFFACE_OK && data->weights != NULL)
        status = spell_out_weights(copy, error);
    if (status == EFFACE_OK && data->labels != NULL)
        status = spell_out_labels(copy, error);
    if (status != EFFACE_OK) {
        efface_data_free(copy);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        const float *const from = ef_data_first(data, positions[i]);
        float *const to = ef_data_first(copy, i);
        if (i % EF_PANEL == 0)
            memset(to, 0, (size_t)data->n_columns * EF_PANEL * sizeof *to);
        for (size_t j = 0; j < (size_t)data->n_columns * EF_PANEL; j += EF_PANEL)
            to[j] = from[j];
        copy->ids.own[i] = ef_data_id(data, positions[i]);
        if (copy->weights != NULL)
            copy->weights[i] = data->weights[positions[i]];
        if (copy->labels != NULL)
            copy->labels[i] = data->labels[positions[i]];
        copy->total_weight += ef_data_weight(data, positions[i]);
        if (data->n_missing != 0)
            copy->n_missing += ef_row_n_missing(to, data->n_columns, EF_PANEL);
    }
    copy->n_rows = n;
    copy->allows_missing = data->allows_missing;
    *out = copy;
    return EFFACE_OK;
}

efface_status ef_data_prepare_remove(efface_data *data, const uint64_t *ids, size_t n_ids,
                                     efface_error *error) {
    const efface_status status = check_ids(data, ids, n_ids, error);
    if (status != EFFACE_OK || n_ids == 0)
        return status;
    /* Each makes the id of one row other than its position, of the row that is moved. */
    return ef_row_ids_reserve(&data->ids, data->capacity, data->n_rows, n_ids)
               ? EFFACE_OK
               : ef_fail_memory(error);
}

efface_status efface_data_remove(efface_data *data, const uint64_t *ids, size_t n_ids,
                                 efface_error *error) {
    if (data == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data must not be NULL");
    efface_status status = ef_data_check_whole(data, error);
    EF_THEN(status, ef_data_prepare_remove(data, ids, n_ids, error));
    if (status != EFFACE_OK)
        return status;
    for (size_t i = 0; i < n_ids; i++)
        ef_data_take_out(data, position_of(data, ids[i]));
    return EFFACE_OK;
}

efface_status efface_data_replace(efface_data *data, const efface_rows *rows, efface_error *error) {
    if (data == NULL || rows == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and rows must not be NULL");
    const efface_status status = ef_data_check_whole(data, error);
    return status == EFFACE_OK ? ef_data_replace(data, rows, error) : status;
}

efface_status ef_data_replace(efface_data *data, const efface_rows *rows, efface_error *error) {
    efface_status status = check_ids(data, rows->ids, rows->n_rows, error);
    if (status != EFFACE_OK)
        return status;
    int64_t replaced = 0;
    for (size_t i = 0; i < rows->n_rows; i++)
        replaced += ef_data_weight(data, position_of(data, rows->ids[i]));
    /* Without new weights the old ones stay: the check then counts 1 a row, and is not used. */
    int64_t total_weight;
    status = check_rows(data, rows, replaced, &total_weight, error);
    EF_THEN(status, spell_out_beside(data, rows, error));
    if (status != EFFACE_OK)
        return status;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const size_t position = position_of(data, rows->ids[i]);
        ef_row_unwrite(data, position);
        ef_row_write(data, position, source_row(data, rows, i));
        if (rows->weights != NULL && data->weights != NULL)
            data->weights[position] = rows->weights[i];
        if (rows->owners != NULL)
            data->owners[position] = rows->owners[i];
        if (rows->labels != NULL)
            data->labels[position] = rows->labels[i];
        if (rows->marks != NULL)
            data->marks[position] = rows->marks[i];
    }
    if (rows->weights != NULL)
        data->total_weight = total_weight;
    data->stamp.generation += rows->n_rows != 0;
    return EFFACE_OK;
}

efface_status ef_data_set_labels(efface_data *data, const int64_t *labels, efface_error *error) {
    const efface_status status = spell_out_labels(data, error);
    if (status == EFFACE_OK && data->n_rows != 0)
        memcpy(data->labels, labels, data->n_rows * sizeof *labels);
    return status;
}
