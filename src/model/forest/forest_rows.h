/*
 * The rows of a forest that take part, in slots.
 *
 * A forest has a copy of its rows of its own, in an order of its own, for two reasons: a row keeps
 * its slot while others come and go, and a lazy forest may have to grow trees when the set is not
 * at hand. A slot has the keys of the inputs side by side (chances.h), the class or the target, and
 * the weight. Slots of rows that left are overwritten and used again.
 */
#ifndef EF_FOREST_ROWS_H
#define EF_FOREST_ROWS_H

#include "model/change.h"

#define EF_NO_SLOT UINT32_MAX

typedef struct ef_forest_rows {
    uint32_t n_inputs;
    size_t n_slots; /* that were ever used; those that are free count too */
    size_t capacity;
    int32_t *keys;    /* n_inputs for each slot */
    uint32_t *values; /* for each slot the number of its class, or its target (int32_t) */
    int64_t *weights; /* or NULL: 1 */
    uint64_t *ids;    /* or NULL: nobody needs them */
    bool *leaving;    /* of a row that leaves in the change under way */
    uint32_t *free_slots;
    size_t n_free;
    uint32_t *slot_of; /* by position in the set; EF_NO_SLOT: the row takes no part */
    size_t n_positions, positions_capacity;
} ef_forest_rows;

void ef_forest_rows_free(ef_forest_rows *rows);

/* Room for so many more rows, and positions. False if memory is short. */
bool ef_forest_rows_reserve(ef_forest_rows *rows, size_t n_more);

/* A free slot, for which there is room. */
uint32_t ef_forest_rows_take(ef_forest_rows *rows);

/* Overwrites a slot and frees it. */
void ef_forest_rows_release(ef_forest_rows *rows, uint32_t slot);

static inline const int32_t *ef_slot_keys(const ef_forest_rows *rows, uint32_t slot) {
    return rows->keys + (size_t)slot * rows->n_inputs;
}

static inline int64_t ef_slot_weight(const ef_forest_rows *rows, uint32_t slot) {
    return rows->weights != NULL ? rows->weights[slot] : 1;
}

size_t ef_forest_rows_bytes(const ef_forest_rows *rows);

#endif
