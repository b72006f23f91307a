/* Which inputs have long tails. */
#include "model/forest/growth/tails_of_inputs.h"

#define MIN_BOUND (-98)
#define STEP 4
#define LONG 8  /* octaves between what most values are below, and the largest */
#define MOST 11 /* sixteenths of the values */
#define FEW 1   /* the same: so many may be below the unit */

void ef_sizes_count(ef_input_sizes *sizes, int32_t key, bool leaves) {
    if (key == 0 || key == EF_KEY_MISSING)
        return;
    const int32_t size = key < 0 ? -key : key;
    /* The smallest e with |x| <= 2^e. */
    const int e = (int)((size + 0x7FFFFF) >> 23) - 127;
    const int place = e <= MIN_BOUND ? 0 : (e - MIN_BOUND + STEP - 1) / STEP;
    sizes->rows[place < EF_SIZES ? place : EF_SIZES - 1] += leaves ? UINT32_MAX : 1;
}

int32_t ef_sizes_unit(const ef_input_sizes *sizes) {
    uint64_t n = 0, below = 0;
    int top = 0, most = EF_SIZES, few = EF_SIZES;
    for (int i = 0; i < EF_SIZES; i++) {
        n += sizes->rows[i];
        if (sizes->rows[i] != 0)
            top = i;
    }
    for (int i = 0; i < EF_SIZES; i++) {
        below += sizes->rows[i];
        if (few == EF_SIZES && below * 16 >= n * FEW)
            few = i;
        if (most == EF_SIZES && below * 16 >= n * MOST)
            most = i;
    }
    return n != 0 && STEP * (top - most) >= LONG ? MIN_BOUND + STEP * few : EF_NO_UNIT;
}
