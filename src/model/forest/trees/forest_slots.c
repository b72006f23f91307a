/* The rows of a forest, in slots. */
#include "model/forest/trees/forest_slots.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "kernel/kernels.h"

#include <assert.h>
#include <string.h>

void ef_forest_slots_free(ef_forest_slots *rows) {
    ef_free(rows->formats);
    ef_free(rows->by_row);
    ef_free(rows->by_column);
    ef_free(rows->values);
    ef_free(rows->weights);
    ef_free(rows->ids);
    ef_free(rows->leaving);
    ef_free(rows->free_slots);
    ef_free(rows->slot_of);
    *rows = (ef_forest_slots){0};
}

/* ---------------------------------------------------------------- formats */

ef_input_range ef_input_range_none(void) {
    return (ef_input_range){.is_whole = true, .least = EF_MOST_WHOLE, .most = -EF_MOST_WHOLE};
}

static bool is_whole(float value) {
    return value >= -EF_MOST_WHOLE && value <= EF_MOST_WHOLE && (float)(int32_t)value == value;
}

void ef_input_range_add(ef_input_range *range, float value) {
    if (!is_whole(value)) {
        range->is_whole = false;
        return;
    }
    range->least = value < range->least ? value : range->least;
    range->most = value > range->most ? value : range->most;
}

ef_input_format ef_format_for(const ef_input_range *range, bool is_category) {
    if (!range->is_whole || is_category)
        return (ef_input_format){.width = 4};
    if (range->least > range->most) /* no values */
        return (ef_input_format){.width = 1};
    const int32_t least = (int32_t)range->least, most = (int32_t)range->most;
    if (least >= 0 && most <= UINT8_MAX)
        return (ef_input_format){.width = 1};
    if (most - least <= UINT8_MAX)
        return (ef_input_format){.width = 1, .base = least};
    if (least >= INT16_MIN && most <= INT16_MAX)
        return (ef_input_format){.width = 2};
    if (most - least <= UINT16_MAX)
        return (ef_input_format){.width = 2, .base = least - INT16_MIN};
    return (ef_input_format){.width = 4};
}

bool ef_format_holds(const ef_input_format *format, float value) {
    if (format->width == 4)
        return true;
    if (!is_whole(value))
        return false;
    const int32_t code = (int32_t)value - format->base;
    return format->width == 1 ? code >= 0 && code <= UINT8_MAX
                              : code >= INT16_MIN && code <= INT16_MAX;
}

/* Where inputs stand in a row: the wide ones first, so that each is on a boundary of its width. */
static size_t place_inputs(ef_input_format *formats, uint32_t n) {
    size_t offset = 0;
    for (unsigned width = 4; width != 0; width /= 2)
        for (uint32_t i = 0; i < n; i++)
            if (formats[i].width == width) {
                formats[i].offset = (uint32_t)offset;
                offset += width;
            }
    return (offset + 3) / 4 * 4;
}

/* A code into both its places. */
static void set_code(const ef_input_format *format, unsigned char *in_row, unsigned char *in_column,
                     int32_t code) {
    const int16_t medium = (int16_t)code;
    if (format->width == 1) {
        *in_row = *in_column = (uint8_t)code;
    } else if (format->width == 2) {
        memcpy(in_row, &medium, sizeof medium);
        memcpy(in_column, &medium, sizeof medium);
    } else {
        memcpy(in_row, &code, sizeof code);
        memcpy(in_column, &code, sizeof code);
    }
}

static void set_key(ef_forest_slots *rows, uint32_t slot, uint32_t input, int32_t key) {
    const ef_input_format *const format = &rows->formats[input];
    const int32_t code = format->width == 4 ? key : (int32_t)ef_key_value(key) - format->base;
    set_code(format, rows->by_row + slot * rows->row_bytes + format->offset,
             rows->by_column + format->offset * rows->capacity + (size_t)slot * format->width,
             code);
}

void ef_slot_set(ef_forest_slots *rows, uint32_t slot, uint32_t input, float value) {
    assert(ef_format_holds(&rows->formats[input], value));
    set_key(rows, slot, input, ef_key_of(value));
}

/* Both blocks of codes, for rows of so many bytes. */
static bool make_blocks(ef_forest_slots *rows, size_t capacity, size_t row_bytes) {
    /* A row of 64 bytes should not begin in the middle of a line of the cache. Behind the last row
     * kernels read as many codes as they look at side by side. */
    const size_t n_behind = row_bytes != 0 ? EF_CODES * sizeof(int32_t) / row_bytes + 1 : 0;
    rows->by_row = ef_alloc_aligned(capacity + n_behind, row_bytes);
    rows->by_column = ef_alloc_zero(capacity, row_bytes);
    if (rows->by_row != NULL)
        memset(rows->by_row, 0, (capacity + n_behind) * row_bytes);
    rows->capacity = capacity;
    rows->row_bytes = row_bytes;
    return rows->by_row != NULL && rows->by_column != NULL;
}

/* Gives rows other formats, or room for others. */
static bool rebuild(ef_forest_slots *rows, const ef_input_format *formats, size_t capacity) {
    ef_forest_slots made = *rows;
    const uint32_t n = rows->n_inputs;
    made.formats = ef_alloc(n, sizeof *made.formats);
    made.by_row = made.by_column = NULL;
    bool ok = made.formats != NULL;
    if (ok) {
        memcpy(made.formats, formats, n * sizeof *formats);
        ok = make_blocks(&made, capacity, place_inputs(made.formats, n));
    }
    if (!ok) {
        ef_free(made.formats);
        ef_free(made.by_row);
        ef_free(made.by_column);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t slot = 0; slot < rows->n_slots; slot++)
            set_key(&made, slot, i, ef_slot_key(rows, slot, i));
    ef_free(rows->formats);
    ef_free(rows->by_row);
    ef_free(rows->by_column);
    *rows = made;
    return true;
}

bool ef_forest_slots_set_formats(ef_forest_slots *rows, const ef_input_format *formats) {
    return rebuild(rows, formats, rows->capacity);
}

/* ---------------------------------------------------------------- slots */

static size_t grown(size_t n, size_t needed) {
    const size_t more = n + n / 8 + 16;
    return n == 0 || more < needed ? needed : more;
}

bool ef_forest_slots_reserve(ef_forest_slots *rows, size_t n_more) {
    const size_t n_new = n_more > rows->n_free ? n_more - rows->n_free : 0;
    if (rows->n_positions + n_more > rows->positions_capacity) {
        const size_t n = grown(rows->positions_capacity, rows->n_positions + n_more);
        if (!ef_array_resize(&rows->slot_of, n, sizeof *rows->slot_of))
            return false;
        rows->positions_capacity = n;
    }
    if (rows->n_slots + n_new <= rows->capacity)
        return true;
    const size_t was = rows->capacity, n = grown(was, rows->n_slots + n_new);
    if (!ef_array_resize(&rows->values, n, sizeof *rows->values) ||
        (rows->weights != NULL && !ef_array_resize(&rows->weights, n, sizeof *rows->weights)) ||
        (rows->ids != NULL && !ef_array_resize(&rows->ids, n, sizeof *rows->ids)) ||
        !ef_array_resize(&rows->leaving, n, sizeof *rows->leaving) ||
        !ef_array_resize(&rows->free_slots, n, sizeof *rows->free_slots))
        return false;
    memset(rows->leaving + was, 0, (n - was) * sizeof *rows->leaving);
    return rebuild(rows, rows->formats, n);
}

uint32_t ef_forest_slots_take(ef_forest_slots *rows) {
    assert(rows->n_free != 0 || rows->n_slots < rows->capacity);
    return rows->n_free != 0 ? rows->free_slots[--rows->n_free] : (uint32_t)rows->n_slots++;
}

void ef_forest_slots_release(ef_forest_slots *rows, uint32_t slot) {
    for (uint32_t i = 0; i < rows->n_inputs; i++) {
        const ef_input_format *const format = &rows->formats[i];
        set_code(format, rows->by_row + slot * rows->row_bytes + format->offset,
                 rows->by_column + format->offset * rows->capacity + (size_t)slot * format->width,
                 0);
    }
    rows->values[slot] = 0;
    if (rows->weights != NULL)
        rows->weights[slot] = 0;
    if (rows->ids != NULL)
        rows->ids[slot] = 0;
    rows->leaving[slot] = false;
    rows->free_slots[rows->n_free++] = slot;
}

size_t ef_forest_slots_bytes(const ef_forest_slots *rows) {
    size_t each = 2 * rows->row_bytes + sizeof *rows->values + sizeof *rows->leaving +
                  sizeof *rows->free_slots;
    if (rows->weights != NULL)
        each += sizeof *rows->weights;
    if (rows->ids != NULL)
        each += sizeof *rows->ids;
    return rows->capacity * each + rows->n_inputs * sizeof *rows->formats +
           rows->positions_capacity * sizeof *rows->slot_of;
}
