/*
 * What rounding to float32 does to the values of columns, from a few numbers a column: its ends,
 * the largest error, and how many values became 0. No value is kept but the ends, and nothing is
 * sorted or hashed: values that became the same are told by the error, which is then as large as
 * what they differ by.
 */
#ifndef EF_ROUNDING_H
#define EF_ROUNDING_H

#include "efface/efface.h"

#include <stdbool.h>

struct efface_rounding {
    uint32_t n_columns; /* 0: nothing was seen */
    bool any;           /* a row was seen */
    double *least;      /* n_columns each; in the units of the caller */
    double *most;
    double *shift; /* the offset that the values were looked at with */
    double *worst; /* the largest error */
    uint64_t *n_vanished;
};

/* Takes what another one has seen, which is empty afterwards. */
void ef_rounding_move(efface_rounding *to, efface_rounding *from);

/* Releases what it holds, not itself. */
void ef_rounding_clear(efface_rounding *rounding);

/* One value as a set holds it. */
static inline float ef_round_value(double value, double offset) {
    return (float)(value - offset);
}

#endif
