/* The rows of a forest, in slots. */
#include "model/forest/forest_rows.h"

#include "base/checked.h"

#include <assert.h>
#include <string.h>

void ef_forest_rows_free(ef_forest_rows *rows) {
    ef_free(rows->keys);
    ef_free(rows->values);
    ef_free(rows->weights);
    ef_free(rows->ids);
    ef_free(rows->leaving);
    ef_free(rows->free_slots);
    ef_free(rows->slot_of);
    *rows = (ef_forest_rows){0};
}

/* Gives an array, unless it is NULL and stays so, another size. */
static bool resize(void *array, size_t n, size_t size) {
    void **const at = array;
    void *const larger = ef_realloc(*at, n, size);
    if (larger != NULL)
        *at = larger;
    return larger != NULL;
}

static size_t grown(size_t n, size_t needed) {
    const size_t more = n + n / 8 + 16;
    return n == 0 || more < needed ? needed : more;
}

bool ef_forest_rows_reserve(ef_forest_rows *rows, size_t n_more) {
    const size_t n_new = n_more > rows->n_free ? n_more - rows->n_free : 0;
    if (rows->n_positions + n_more > rows->positions_capacity) {
        const size_t n = grown(rows->positions_capacity, rows->n_positions + n_more);
        if (!resize(&rows->slot_of, n, sizeof *rows->slot_of))
            return false;
        rows->positions_capacity = n;
    }
    if (rows->n_slots + n_new <= rows->capacity)
        return true;
    const size_t was = rows->capacity, n = grown(was, rows->n_slots + n_new);
    size_t row_bytes;
    if (!ef_mul_size(rows->n_inputs, sizeof *rows->keys, &row_bytes) ||
        !resize(&rows->keys, n, row_bytes != 0 ? row_bytes : 1) ||
        !resize(&rows->values, n, sizeof *rows->values) ||
        (rows->weights != NULL && !resize(&rows->weights, n, sizeof *rows->weights)) ||
        (rows->ids != NULL && !resize(&rows->ids, n, sizeof *rows->ids)) ||
        !resize(&rows->leaving, n, sizeof *rows->leaving) ||
        !resize(&rows->free_slots, n, sizeof *rows->free_slots))
        return false;
    memset(rows->leaving + was, 0, (n - was) * sizeof *rows->leaving);
    rows->capacity = n;
    return true;
}

uint32_t ef_forest_rows_take(ef_forest_rows *rows) {
    assert(rows->n_free != 0 || rows->n_slots < rows->capacity);
    return rows->n_free != 0 ? rows->free_slots[--rows->n_free] : (uint32_t)rows->n_slots++;
}

void ef_forest_rows_release(ef_forest_rows *rows, uint32_t slot) {
    ef_wipe(rows->keys + (size_t)slot * rows->n_inputs, rows->n_inputs * sizeof *rows->keys);
    ef_wipe(rows->values + slot, sizeof *rows->values);
    if (rows->weights != NULL)
        ef_wipe(rows->weights + slot, sizeof *rows->weights);
    if (rows->ids != NULL)
        ef_wipe(rows->ids + slot, sizeof *rows->ids);
    rows->leaving[slot] = false;
    rows->free_slots[rows->n_free++] = slot;
}

size_t ef_forest_rows_bytes(const ef_forest_rows *rows) {
    size_t each = rows->n_inputs * sizeof *rows->keys + sizeof *rows->values +
                  sizeof *rows->leaving + sizeof *rows->free_slots;
    if (rows->weights != NULL)
        each += sizeof *rows->weights;
    if (rows->ids != NULL)
        each += sizeof *rows->ids;
    return rows->capacity * each + rows->positions_capacity * sizeof *rows->slot_of;
}
