/* The rows that leave or come in one request. */
#include "model/kmeans/change.h"

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
    if (change->leaves == NULL || change->rows == NULL || change->positions == NULL ||
        change->values == NULL) {
        ef_change_free(change);
        return false;
    }
    memset(change->values, 0, capacity * n_columns * sizeof *change->values);
    return true;
}

/* Overwrites memory that is about to be released, a multiple of 8 bytes; volatile, lest the
 * compiler see no use in it. */
static void wipe(void *memory, size_t n_bytes) {
    volatile uint64_t *const words = memory;
    for (size_t i = 0; i < n_bytes / sizeof *words; i++)
        words[i] = 0;
}

void ef_change_free(ef_change *change) {
    /* Rows that leave should not live on in freed memory. */
    const size_t n = change->n_rows;
    const size_t n_panels = n / EF_PANEL + (n % EF_PANEL != 0);
    if (n != 0) {
        wipe(change->rows, n * sizeof *change->rows);
        wipe(change->values, n_panels * EF_PANEL * change->n_columns * sizeof *change->values);
    }
    free(change->leaves);
    free(change->rows);
    free(change->positions);
    free(change->values);
    *change = (ef_change){0};
}

void ef_change_add(ef_change *change, const efface_data *data, size_t position, bool leaves) {
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
