/* A shelf of rows that were looked at lately (shelf.h). */
#include "model/kmeans/shelf.h"

#include "base/checked.h"

#include <string.h>

/* The shelf takes about this many bytes for each row of the set, and has at most this part of the
 * rows. */
#define BYTES_A_ROW 64
#define MOST_PART 4

ef_shelf *ef_shelf_create(size_t n_rows, uint32_t n_columns) {
    ef_shelf *const shelf = ef_alloc(1, sizeof *shelf);
    if (shelf == NULL)
        return NULL;
    const size_t width = n_columns * sizeof *shelf->values;
    const size_t by_bytes = n_rows / ((width + BYTES_A_ROW - 1) / BYTES_A_ROW);
    const size_t most = by_bytes < n_rows / MOST_PART ? by_bytes : n_rows / MOST_PART;
    uint32_t n_places = 1;
    while (2 * (size_t)n_places <= most && n_places < UINT32_MAX / 4)
        n_places *= 2;
    *shelf = (ef_shelf){
        .tenants = ef_alloc(n_places, sizeof *shelf->tenants),
        .values = ef_alloc_zero(n_places, width),
        .n_columns = n_columns,
        .n_places = n_places,
    };
    if (shelf->tenants == NULL || shelf->values == NULL) {
        ef_shelf_free(shelf);
        return NULL;
    }
    memset(shelf->tenants, 0xFF, n_places * sizeof *shelf->tenants);
    return shelf;
}

void ef_shelf_free(ef_shelf *shelf) {
    if (shelf == NULL)
        return;
    ef_free(shelf->tenants);
    ef_free(shelf->values);
    ef_free(shelf);
}

void ef_shelf_clear(ef_shelf *shelf) {
    memset(shelf->tenants, 0xFF, shelf->n_places * sizeof *shelf->tenants);
    memset(shelf->values, 0, (size_t)shelf->n_places * shelf->n_columns * sizeof *shelf->values);
}

size_t ef_shelf_bytes(const ef_shelf *shelf) {
    return sizeof *shelf +
           shelf->n_places * (sizeof *shelf->tenants + shelf->n_columns * sizeof *shelf->values);
}

/* Fibonacci hashing: neighbours go far apart. */
static uint32_t place_of(const ef_shelf *shelf, size_t position) {
    return ((uint32_t)position * UINT32_C(2654435769) >> 7) & (shelf->n_places - 1);
}

void ef_shelf_gather(ef_shelf *shelf, const efface_data *data, size_t position, bool keep,
                     float *to) {
    const size_t d = data->n_columns;
    const uint32_t place = place_of(shelf, position);
    float *const values = shelf->values + place * d;
    if (shelf->tenants[place] == position) {
        for (size_t j = 0; j < d; j++)
            to[j * EF_PANEL] = values[j];
        return;
    }
    ef_data_gather(data, position, to);
    if (keep) {
        shelf->tenants[place] = (uint32_t)position;
        for (size_t j = 0; j < d; j++)
            values[j] = to[j * EF_PANEL];
    }
}

static void drop(ef_shelf *shelf, size_t position) {
    const uint32_t place = place_of(shelf, position);
    if (shelf->tenants[place] != position)
        return;
    shelf->tenants[place] = EF_NO_TENANT;
    memset(shelf->values + (size_t)place * shelf->n_columns, 0,
           shelf->n_columns * sizeof *shelf->values);
}

void ef_shelf_follow(ef_shelf *shelf, const ef_change *change, size_t n_rows) {
    for (size_t i = 0; i < change->n_rows; i++) {
        drop(shelf, change->positions[i]);
        if (change->leaves[i] && !change->replaces)
            drop(shelf, --n_rows); /* it is now where the other was */
    }
}
