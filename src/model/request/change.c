/* A change of a set: made, noted, and undone. */
#include "model/request/change.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

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
    change->positions[i] = EF_NO_POSITION;
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
    const efface_status status = ef_data_add(data, rows, error);
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
    const efface_status status = ef_data_replace(data, rows, error);
    if (status != EFFACE_OK) {
        change->n_rows = 0;
        return status;
    }
    for (size_t i = 0; i < n_old; i++)
        note_row(change, data, change->positions[i], false);
    ef_data_refresh_ranges(data);
    return EFFACE_OK;
}

/* The values of a row, side by side. */
static void copy_values(const ef_change *change, size_t i, float *to) {
    const float *const from = ef_change_first(change, i);
    for (uint32_t j = 0; j < change->n_columns; j++)
        to[j] = from[(size_t)j * EF_PANEL];
}

void ef_change_undo(const ef_change *change, efface_data *data) {
    for (size_t i = change->n_rows; i > 0; i--) {
        const efface_row *const row = &change->rows[i - 1];
        const size_t position = change->positions[i - 1];
        if (!change->leaves[i - 1]) {
            if (!change->replaces) {
                ef_data_take_out(data, position);
                data->next_id = change->next_id;
            }
            continue;
        }
        copy_values(change, i - 1, change->row);
        if (change->replaces)
            ef_data_overwrite(data, position, row, change->row);
        else
            ef_data_put_back(data, position, row, change->row);
    }
    if (change->n_rows != 0)
        data->stamp = change->before;
}

/* ---------------------------------------------------------------- in a group */

/* A row as ranks send it to each other; its values come behind it. */
typedef struct parcel {
    efface_row row;
    uint64_t leaves;
} parcel;

static size_t parcel_bytes(uint32_t n_columns) {
    return sizeof(parcel) + n_columns * sizeof(float);
}

/* NULL if out of memory. */
static unsigned char *write_parcels(const ef_change *change) {
    const size_t n_bytes = parcel_bytes(change->n_columns);
    unsigned char *const parcels = ef_alloc(change->n_rows, n_bytes);
    for (size_t i = 0; parcels != NULL && i < change->n_rows; i++) {
        const parcel p = {change->rows[i], change->leaves[i]};
        memcpy(parcels + i * n_bytes, &p, sizeof p);
        copy_values(change, i, (float *)(void *)(parcels + i * n_bytes + sizeof p));
    }
    return parcels;
}

/* Notes those of all parcels that leave, or those that come; this rank's own have positions. */
static void note_parcels(ef_joint_change *c, const ef_gathered *parcels, const ef_team *team,
                         bool leaves) {
    const size_t n_bytes = parcel_bytes(c->own.n_columns);
    const uint32_t rank = team->group.rank;
    for (size_t at = 0; at < parcels->begins[team->group.size]; at += n_bytes) {
        parcel p;
        memcpy(&p, parcels->bytes + at, sizeof p);
        if ((p.leaves != 0) != leaves)
            continue;
        ef_change_note(&c->all, &p.row, (const float *)(void *)(parcels->bytes + at + sizeof p),
                       leaves);
        if (at >= parcels->begins[rank] && at < parcels->begins[rank + 1])
            c->all.positions[c->all.n_rows - 1] =
                c->own.positions[(at - parcels->begins[rank]) / n_bytes];
    }
}

/* Makes c->all of the changes of all ranks. */
static efface_status gather_change(ef_joint_change *c, ef_team *team, efface_error *error) {
    const size_t n_bytes = parcel_bytes(c->own.n_columns);
    ef_gathered parcels = {0};
    unsigned char *const own = write_parcels(&c->own);
    efface_status status = own != NULL ? ef_team_gather(team, own, c->own.n_rows * n_bytes,
                                                        EFFACE_EVERY_RANK, &parcels, error)
                                       : ef_fail_memory(error);
    if (status == EFFACE_OK &&
        !ef_change_init(&c->all, c->own.n_columns, parcels.begins[team->group.size] / n_bytes))
        status = ef_fail_memory(error);
    if (status == EFFACE_OK) {
        note_parcels(c, &parcels, team, true);
        note_parcels(c, &parcels, team, false);
        c->all.replaces = c->own.replaces;
        c->all.before = c->own.before;
    }
    ef_gathered_free(&parcels);
    ef_free(own);
    return status;
}

efface_status ef_joint_share(ef_joint_change *c, efface_data *data, efface_error *error) {
    ef_team *const team = ef_data_team(data);
    if (team == NULL)
        return EFFACE_OK;
    const efface_status status = gather_change(c, team, error);
    if (status != EFFACE_OK)
        return status;
    c->counted = true;
    ef_shard_begin_change(data);
    for (size_t i = 0; i < c->all.n_rows; i++) {
        copy_values(&c->all, i, c->all.row);
        ef_shard_take(data, c->all.row, c->all.rows[i].weight, c->all.leaves[i]);
    }
    return ef_shard_end_change(data, error);
}

void ef_joint_undo(const ef_joint_change *c, efface_data *data) {
    ef_change_undo(&c->own, data);
    if (c->counted)
        ef_shard_undo_change(data);
}

void ef_joint_keep(const ef_joint_change *c, efface_data *data) {
    if (c->counted)
        ef_shard_keep_change(data);
}

void ef_joint_free(ef_joint_change *c) {
    ef_change_free(&c->own);
    ef_change_free(&c->all);
}
