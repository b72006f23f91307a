/* A change of a set: made, noted, and undone. */
#include "model/change.h"

#include "base/checked.h"

#include <assert.h>
#include <string.h>

bool ef_change_init(ef_change *change, uint32_t n_columns, size_t n_rows) {
    *change = (ef_change){.n_columns = n_columns};
    size_t capacity;
    if (!ef_add_size(n_rows, EF_PANEL - 1, &capacity))
        return false;
    capacity -= capacity % EF_PANEL;
    change->capacity = capacity;
    change->leaves = ef_alloc_zero(capacity, sizeof *change->leaves);
    change->rows = ef_alloc(capacity, sizeof *change->rows);
    change->positions = ef_alloc(capacity, sizeof *change->positions);
    change->values = ef_alloc_aligned(capacity, n_columns * sizeof *change->values);
    change->row = ef_alloc(n_columns, sizeof *change->row);
    if (change->leaves == NULL || change->rows == NULL || change->positions == NULL ||
        change->values == NULL || change->row == NULL) {
        ef_change_free(change);
        return false;
    }
    memset(change->values, 0, capacity * n_columns * sizeof *change->values);
    return true;
}

void ef_change_free(ef_change *change) {
    ef_free(change->leaves);
    ef_free(change->rows);
    ef_free(change->positions);
    ef_free(change->values);
    ef_free(change->row);
    *change = (ef_change){0};
}

/* Notes which set is to change, if this is the first part of a change. */
static void note_set(ef_change *change, const efface_data *data) {
    if (change->n_rows == 0)
        change->before = data->stamp;
}

/* Notes the row at a position of a set, as it is there now. */
static void note_row(ef_change *change, const efface_data *data, size_t position, bool leaves) {
    const size_t i = change->n_rows++;
    assert(i < change->capacity);
    change->leaves[i] = leaves;
    change->rows[i] = efface_data_row(data, position);
    change->positions[i] = position;
    const float *const from = ef_data_first(data, position);
    float *const to = change->values + i / EF_PANEL * EF_PANEL * change->n_columns + i % EF_PANEL;
    for (size_t j = 0; j < (size_t)change->n_columns * EF_PANEL; j += EF_PANEL)
        to[j] = from[j];
}

void ef_change_note(ef_change *change, const efface_row *row, const float *values, bool leaves) {
    const size_t i = change->n_rows++;
    assert(i < change->capacity);
    change->leaves[i] = leaves;
    change->rows[i] = *row;
    change->positions[i] = 0;
    float *const to = change->values + i / EF_PANEL * EF_PANEL * change->n_columns + i % EF_PANEL;
    for (uint32_t j = 0; j < change->n_columns; j++)
        to[(size_t)j * EF_PANEL] = values[j];
}

efface_status ef_change_forget(ef_change *change, efface_data *data, const uint64_t *ids,
                               size_t n_ids, efface_error *error) {
    const efface_status status = ef_data_prepare_remove(data, ids, n_ids, error);
    note_set(change, data);
    for (size_t i = 0; status == EFFACE_OK && i < n_ids; i++) {
        size_t position = 0;
        (void)efface_data_find(data, ids[i], &position);
        note_row(change, data, position, true);
        ef_data_take_out(data, position);
    }
    if (status == EFFACE_OK)
        ef_data_refresh_ranges(data);
    return status;
}

efface_status ef_change_learn(ef_change *change, efface_data *data, const efface_rows *rows,
                              efface_error *error) {
    const size_t n_before = data->n_rows;
    const uint64_t next_id = data->next_id;
    note_set(change, data);
    const efface_status status = efface_data_add(data, rows, error);
    if (status != EFFACE_OK)
        return status;
    change->next_id = next_id;
    for (size_t i = n_before; i < data->n_rows; i++)
        note_row(change, data, i, false);
    ef_data_refresh_ranges(data);
    return EFFACE_OK;
}

efface_status ef_change_update(ef_change *change, efface_data *data, const efface_rows *rows,
                               efface_error *error) {
    change->replaces = true;
    note_set(change, data);
    /* Rows that are not there, or come twice, are refused by efface_data_replace below. */
    for (size_t i = 0; i < rows->n_rows; i++) {
        size_t position;
        if (efface_data_find(data, rows->ids[i], &position) == EFFACE_OK)
            note_row(change, data, position, true);
    }
    const size_t n_old = change->n_rows;
    const efface_status status = efface_data_replace(data, rows, error);
    if (status != EFFACE_OK) {
        change->n_rows = 0;
        return status;
    }
    for (size_t i = 0; i < n_old; i++)
        note_row(change, data, change->positions[i], false);
    ef_data_refresh_ranges(data);
    return EFFACE_OK;
}

void ef_change_undo(const ef_change *change, efface_data *data) {
    for (size_t i = change->n_rows; i > 0; i--) {
        const float *const values = ef_change_first(change, i - 1);
        const efface_row *const row = &change->rows[i - 1];
        const size_t position = change->positions[i - 1];
        if (!change->leaves[i - 1]) {
            if (!change->replaces) {
                ef_data_take_out(data, position);
                data->next_id = change->next_id;
            }
            continue;
        }
        for (uint32_t j = 0; j < change->n_columns; j++)
            change->row[j] = values[(size_t)j * EF_PANEL];
        if (change->replaces)
            ef_data_overwrite(data, position, row, change->row);
        else
            ef_data_put_back(data, position, row, change->row);
    }
    if (change->n_rows != 0)
        data->stamp = change->before;
}
