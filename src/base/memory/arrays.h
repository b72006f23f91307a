/* Several arrays in one block of memory, which are taken and released together. */
#ifndef EF_ARRAYS_H
#define EF_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ef_array {
    void *pointer; /* where the pointer to the array is kept, whatever its type */
    size_t count, size;
} ef_array;

/* Makes the pointers point to room for `count` things of `size` bytes each, on 64-byte boundaries.
 * Returns the block, which is what to release with ef_free. NULL if out of memory or sizes do not
 * fit; the pointers are then as they were. */
void *ef_arrays_take(const ef_array *arrays, size_t n_arrays, bool cleared);

#define EF_ARRAYS_TAKE(arrays, cleared)                                                            \
    ef_arrays_take(arrays, sizeof(arrays) / sizeof *(arrays), cleared)

#endif
