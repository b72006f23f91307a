/*
 * The rows that leave or come in one request, in the order in which the set changed.
 *
 * A row that leaves was at a position from which it was taken out, the last row coming into its
 * place. A row that comes was added at the end. A row that gets other values leaves and comes, and
 * keeps its position.
 */
#ifndef EF_CHANGE_H
#define EF_CHANGE_H

#include "data/rows.h"

typedef struct ef_change {
    uint32_t n_columns;
    size_t n_rows;
    size_t capacity;
    bool *leaves;     /* of each row; else it comes */
    efface_row *rows; /* what the set has of it beside its values */
    size_t *positions;
    bool replaces; /* all rows get other values: first all that leave, then all that come */
    float *values; /* panels */
} ef_change;

/* Room for n_rows rows; false if memory is short. */
bool ef_change_init(ef_change *change, uint32_t n_columns, size_t n_rows);
void ef_change_free(ef_change *change);

/* Adds the row at a position of a set, as it is there now. */
void ef_change_add(ef_change *change, const efface_data *data, size_t position, bool leaves);

/* The first value of a row; the others follow EF_PANEL floats apart. */
static inline const float *ef_change_first(const ef_change *change, size_t i) {
    return change->values + i / EF_PANEL * EF_PANEL * change->n_columns + i % EF_PANEL;
}

/* The weight of a row as it counts: negative if it leaves. */
static inline int64_t ef_change_weight(const ef_change *change, size_t i) {
    return change->leaves[i] ? -change->rows[i].weight : change->rows[i].weight;
}

#endif
