/* The jury of pyramid, kept from one request to the next (jury.h). */
#include "model/kmeans/jury.h"

#include "base/checked.h"

#include <string.h>

/* Bytes that a jury may take: for each row of the set, and in any case. */
#define MOST_BYTES_A_ROW 4.0
#define MOST_BYTES 4096.0

bool ef_jury_is_small(size_t n_jury, size_t n_rows, uint32_t n_starts, uint32_t k, uint32_t d) {
    const double a_row = 4.0 + 2.0 * n_starts;
    const double a_value = sizeof(int64_t) + sizeof(int32_t);
    return ef_positions_are_short(n_rows) && a_row * (double)n_jury + a_value * n_starts * k * d <=
                                                 MOST_BYTES + MOST_BYTES_A_ROW * (double)n_rows;
}

void ef_jury_free(ef_jury *jury) {
    for (uint32_t r = 0; r < jury->n_starts; r++)
        ef_guard_free(&jury->guards[r]);
    ef_free(jury->positions);
    ef_free(jury->guards);
    ef_free(jury->counts);
    ef_free(jury->sums);
    *jury = (ef_jury){0};
}

static bool take_memory(ef_jury *jury, size_t capacity, uint32_t n_starts, uint32_t k, uint32_t d) {
    *jury = (ef_jury){.capacity = capacity, .n_clusters = k};
    jury->positions = ef_alloc(capacity, sizeof *jury->positions);
    jury->counts = ef_alloc_zero((size_t)n_starts * k, sizeof *jury->counts);
    jury->sums = ef_alloc_zero((size_t)n_starts * k * d, sizeof *jury->sums);
    jury->guards = ef_alloc_zero(n_starts, sizeof *jury->guards);
    if (jury->positions != NULL && jury->counts != NULL && jury->sums != NULL &&
        jury->guards != NULL) {
        jury->n_starts = n_starts;
        return true;
    }
    ef_jury_free(jury);
    return false;
}

bool ef_jury_init(ef_jury *jury, const size_t *positions, size_t n_rows, size_t n_sample,
                  uint32_t n_starts, uint32_t k, uint32_t d) {
    bool fits = take_memory(jury, n_rows, n_starts, k, d);
    for (uint32_t r = 0; fits && r < n_starts; r++)
        fits = ef_guard_init(&jury->guards[r], n_rows, k, d);
    if (!fits) {
        ef_jury_free(jury);
        return false;
    }
    jury->n_rows = n_rows;
    jury->n_sample = n_sample;
    for (size_t i = 0; i < n_rows; i++)
        jury->positions[i] = (uint32_t)positions[i];
    return true;
}

bool ef_jury_copy(ef_jury *jury, const ef_jury *from, uint32_t d) {
    const uint32_t k = from->n_clusters;
    const size_t n_counts = (size_t)from->n_starts * k;
    bool fits = take_memory(jury, from->capacity, from->n_starts, k, d);
    for (uint32_t r = 0; fits && r < from->n_starts; r++)
        fits =
            ef_guard_copy(&jury->guards[r], &from->guards[r], from->n_rows, from->capacity, k, d);
    if (!fits) {
        ef_jury_free(jury);
        return false;
    }
    memcpy(jury->positions, from->positions, from->n_rows * sizeof *jury->positions);
    memcpy(jury->counts, from->counts, n_counts * sizeof *jury->counts);
    memcpy(jury->sums, from->sums, n_counts * d * sizeof *jury->sums);
    jury->n_rows = from->n_rows;
    jury->n_sample = from->n_sample;
    jury->square_sum = from->square_sum;
    jury->sample_square_sum = from->sample_square_sum;
    return true;
}

size_t ef_jury_bytes(const ef_jury *jury, size_t d) {
    const size_t k = jury->n_clusters;
    size_t n = jury->capacity * sizeof *jury->positions;
    for (uint32_t r = 0; r < jury->n_starts; r++)
        n += sizeof *jury->guards + ef_guard_bytes(&jury->guards[r], jury->capacity, k, d) +
             k * sizeof *jury->counts + k * d * sizeof *jury->sums;
    return n;
}

/* ---------------------------------------------------------------- rows that leave and come */

/* The number of the row at a position, which is in the jury. */
static size_t find(const ef_jury *jury, size_t position) {
    size_t row = 0;
    while (jury->positions[row] != position)
        row++;
    return row;
}

static void move_place(ef_jury *jury, size_t to, size_t from) {
    jury->positions[to] = jury->positions[from];
    for (uint32_t r = 0; r < jury->n_starts; r++)
        ef_guard_move_row(&jury->guards[r], to, from);
}

/* Takes a row out of the list, and leaves those of the sample in front. */
static void take_out(ef_jury *jury, size_t row) {
    if (row < jury->n_sample) {
        move_place(jury, row, --jury->n_sample);
        row = jury->n_sample;
    }
    move_place(jury, row, --jury->n_rows);
}

/* Makes room for one more row; false if memory is short. */
static bool make_room(ef_jury *jury) {
    if (jury->n_rows < jury->capacity)
        return true;
    const size_t capacity = jury->capacity + jury->capacity / 8 + EF_PANEL;
    uint32_t *const positions = ef_realloc(jury->positions, capacity, sizeof *positions);
    if (positions == NULL)
        return false;
    jury->positions = positions;
    for (uint32_t r = 0; r < jury->n_starts; r++)
        if (!ef_guard_grow(&jury->guards[r], jury->n_rows, capacity))
            return false;
    jury->capacity = capacity;
    return true;
}

/* Takes a row into the list, for which there is room. */
static size_t take_in(ef_jury *jury, size_t position, bool in_sample) {
    size_t row = jury->n_rows++;
    if (in_sample) {
        move_place(jury, row, jury->n_sample);
        row = jury->n_sample++;
    }
    jury->positions[row] = (uint32_t)position;
    for (uint32_t r = 0; r < jury->n_starts; r++)
        ef_guard_loosen(&jury->guards[r], row, 0);
    return row;
}

static int64_t square_of(const ef_map *map, const float *row) {
    int64_t square = 0;
    for (uint32_t j = 0; j < map->n_columns; j++) {
        const int64_t g = ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
        square += g * g;
    }
    return square;
}

/* Takes row i of a change out of the sums that number `row` counts in, or into them. */
static void correct(ef_jury *jury, const ef_change *change, size_t i, const ef_map *map,
                    const ef_kernels *kernels, size_t row) {
    const int64_t weight = ef_change_weight(change, i);
    const float *const values = ef_change_first(change, i);
    const ef_i128 square = (ef_i128)weight * square_of(map, values);
    jury->square_sum += square;
    jury->sample_square_sum += row < jury->n_sample ? square : 0;
    for (uint32_t r = 0; r < jury->n_starts; r++) {
        const size_t cluster = (size_t)r * jury->n_clusters + ef_guard_label(&jury->guards[r], row);
        jury->counts[cluster] += weight;
        kernels->move_row(map, values, weight, jury->sums + cluster * map->n_columns, NULL);
    }
}

void ef_jury_leave(ef_jury *jury, const ef_change *change, size_t i, const ef_map *map,
                   const ef_kernels *kernels) {
    const size_t row = find(jury, change->positions[i]);
    correct(jury, change, i, map, kernels, row);
    if (!change->replaces) {
        take_out(jury, row);
        return;
    }
    for (uint32_t r = 0; r < jury->n_starts; r++)
        ef_guard_loosen(&jury->guards[r], row, 0);
}

bool ef_jury_come(ef_jury *jury, const ef_change *change, size_t i, const ef_map *map,
                  const ef_kernels *kernels, bool in_sample) {
    const size_t position = change->positions[i];
    if (!change->replaces && !(ef_positions_are_short(position + 1) && make_room(jury)))
        return false;
    const size_t row = change->replaces ? find(jury, position) : take_in(jury, position, in_sample);
    correct(jury, change, i, map, kernels, row);
    return true;
}

void ef_jury_rename(ef_jury *jury, size_t from, size_t to) {
    jury->positions[find(jury, from)] = (uint32_t)to;
}

void ef_jury_forget(ef_jury *jury, const ef_change *change, size_t i, const ef_map *map) {
    for (uint32_t r = 0; r < jury->n_starts; r++)
        ef_guard_forget(&jury->guards[r], change, i, map, jury->n_clusters);
}
