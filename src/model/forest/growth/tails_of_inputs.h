/*
 * Which inputs have long tails: most of their values are small compared to the largest. Thresholds
 * that are even over the range would tell the few large ones apart again and again, and never get
 * to the others; so such an input has a unit (docs/definition/forest.md).
 *
 * What is counted is how many values are of which size, in steps of 2^4. So a unit hardly ever
 * moves.
 */
#ifndef EF_TAILS_OF_INPUTS_H
#define EF_TAILS_OF_INPUTS_H

#include "model/forest/trees/chances.h"

#define EF_SIZES 57 /* bounds 2^-98, 2^-94, ..., 2^126 */

/* The sizes of the values of an input; 0 and missing values have none. */
typedef struct ef_input_sizes {
    uint32_t rows[EF_SIZES];
} ef_input_sizes;

/* Counts a value that comes, or leaves. */
void ef_sizes_count(ef_input_sizes *sizes, int32_t key, bool leaves);

/* The unit of an input; EF_NO_UNIT if it has no long tails. */
int32_t ef_sizes_unit(const ef_input_sizes *sizes);

#endif
