/* The ids of rows: positions, but for strays; or spelled out. */
#include "data/set/row_ids.h"

#include "base/memory/memory.h"

#include <assert.h>
#include <string.h>

#define ROWS_A_STRAY 8 /* at least, or ids are spelled out */

static void free_strays(ef_row_ids *ids) {
    ef_free(ids->marks);
    ef_free(ids->positions);
    ef_free(ids->ids);
    ef_id_index_free(&ids->by_position);
    ef_id_index_free(&ids->by_id);
    ids->marks = NULL;
    ids->positions = ids->ids = NULL;
    ids->n_strays = ids->room = 0;
}

void ef_row_ids_free(ef_row_ids *ids) {
    free_strays(ids);
    ef_free(ids->own);
    ef_id_index_free(&ids->index);
    ids->own = NULL;
}

/* ---------------------------------------------------------------- room */

bool ef_row_ids_grow(ef_row_ids *ids, size_t before, size_t capacity) {
    if (ids->own != NULL) {
        uint64_t *const own = ef_realloc(ids->own, capacity, sizeof *own);
        ids->own = own != NULL ? own : ids->own;
        return own != NULL;
    }
    if (ids->marks == NULL)
        return true;
    uint16_t *const marks = ef_realloc(ids->marks, capacity / EF_PANEL, sizeof *marks);
    if (marks == NULL)
        return false;
    memset(marks + before / EF_PANEL, 0, (capacity - before) / EF_PANEL * sizeof *marks);
    ids->marks = marks;
    return true;
}

static bool spell_out(ef_row_ids *ids, size_t capacity, size_t n_rows) {
    uint64_t *const own = ef_alloc_zero(capacity, sizeof *own);
    for (size_t i = 0; own != NULL && i < n_rows; i++)
        own[i] = ef_row_ids_at(ids, i);
    if (own == NULL || !ef_id_index_reserve(&ids->index, own, n_rows, capacity)) {
        ef_free(own);
        return false;
    }
    free_strays(ids);
    ids->own = own;
    return true;
}

static bool reserve_strays(ef_row_ids *ids, size_t capacity, size_t n_strays) {
    if (ids->marks == NULL)
        ids->marks = ef_alloc_zero(capacity / EF_PANEL, sizeof *ids->marks);
    if (ids->marks == NULL)
        return false;
    if (n_strays > ids->room) {
        const size_t room = n_strays > 2 * ids->room ? n_strays : 2 * ids->room;
        uint64_t *const positions = ef_realloc(ids->positions, room, sizeof *positions);
        ids->positions = positions != NULL ? positions : ids->positions;
        uint64_t *const of = ef_realloc(ids->ids, room, sizeof *of);
        ids->ids = of != NULL ? of : ids->ids;
        if (positions == NULL || of == NULL)
            return false;
        ids->room = room;
    }
    return ef_id_index_reserve(&ids->by_position, ids->positions, ids->n_strays, n_strays) &&
           ef_id_index_reserve(&ids->by_id, ids->ids, ids->n_strays, n_strays);
}

bool ef_row_ids_reserve(ef_row_ids *ids, size_t capacity, size_t n_rows, size_t n_changes) {
    if (ids->own != NULL)
        return ef_id_index_reserve(&ids->index, ids->own, n_rows, capacity);
    const size_t most = n_rows / ROWS_A_STRAY;
    if (ids->n_strays > most || n_changes > most - ids->n_strays)
        return spell_out(ids, capacity, n_rows);
    return reserve_strays(ids, capacity, ids->n_strays + n_changes);
}

/* ---------------------------------------------------------------- looking */

uint64_t ef_row_ids_of_stray(const ef_row_ids *ids, size_t position) {
    return ids->ids[ef_id_index_find(&ids->by_position, ids->positions, position)];
}

void ef_row_ids_panel(const ef_row_ids *ids, size_t first, unsigned n_rows,
                      uint64_t out[EF_PANEL]) {
    for (unsigned i = 0; i < EF_PANEL; i++)
        out[i] = first + i;
    if (ids->own != NULL)
        memcpy(out, ids->own + first, n_rows * sizeof *out);
    else if (ids->marks != NULL)
        for (unsigned left = ids->marks[first / EF_PANEL]; left != 0; left &= left - 1) {
            const unsigned i = (unsigned)__builtin_ctz(left);
            out[i] = ef_row_ids_of_stray(ids, first + i);
        }
    for (unsigned i = n_rows; i < EF_PANEL; i++)
        out[i] = out[0];
}

size_t ef_row_ids_find(const ef_row_ids *ids, size_t n_rows, uint64_t id) {
    if (ids->own != NULL)
        return ef_id_index_find(&ids->index, ids->own, id);
    if (id < n_rows && !ef_row_ids_strays(ids, (size_t)id))
        return (size_t)id;
    const size_t stray = ef_id_index_find(&ids->by_id, ids->ids, id);
    return stray != EF_NO_POSITION ? (size_t)ids->positions[stray] : EF_NO_POSITION;
}

/* ---------------------------------------------------------------- changing */

void ef_row_ids_set(ef_row_ids *ids, size_t position, uint64_t id) {
    if (ids->own != NULL) {
        ids->own[position] = id;
        ef_id_index_insert(&ids->index, ids->own, position);
    } else if (id != position) {
        const size_t stray = ids->n_strays++;
        assert(stray < ids->room && !ef_row_ids_strays(ids, position));
        ids->positions[stray] = position;
        ids->ids[stray] = id;
        ef_id_index_insert(&ids->by_position, ids->positions, stray);
        ef_id_index_insert(&ids->by_id, ids->ids, stray);
        ids->marks[position / EF_PANEL] |= (uint16_t)(1u << position % EF_PANEL);
    }
}

void ef_row_ids_drop(ef_row_ids *ids, size_t position) {
    if (ids->own != NULL) {
        ef_id_index_remove(&ids->index, ids->own, ids->own[position]);
        ids->own[position] = 0;
    } else if (ef_row_ids_strays(ids, position)) {
        const size_t stray = ef_id_index_find(&ids->by_position, ids->positions, position);
        ef_id_index_remove(&ids->by_position, ids->positions, position);
        ef_id_index_remove(&ids->by_id, ids->ids, ids->ids[stray]);
        const size_t last = --ids->n_strays; /* takes its place */
        if (stray != last) {
            ef_id_index_move(&ids->by_position, ids->positions, ids->positions[last], stray);
            ef_id_index_move(&ids->by_id, ids->ids, ids->ids[last], stray);
        }
        ids->positions[stray] = ids->positions[last];
        ids->ids[stray] = ids->ids[last];
        ids->positions[last] = ids->ids[last] = 0;
        ids->marks[position / EF_PANEL] &= (uint16_t) ~(1u << position % EF_PANEL);
    }
}

size_t ef_row_ids_bytes(const ef_row_ids *ids, size_t capacity) {
    const size_t n_slots = ids->index.n_slots + ids->by_position.n_slots + ids->by_id.n_slots;
    return (ids->own != NULL ? capacity * sizeof *ids->own : 0) +
           (ids->marks != NULL ? capacity / EF_PANEL * sizeof *ids->marks : 0) +
           2 * ids->room * sizeof *ids->ids + n_slots * sizeof *ids->index.slots;
}
