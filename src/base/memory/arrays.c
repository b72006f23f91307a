/* Several arrays in one block of memory. */
#include "base/memory/arrays.h"

#include "base/memory/memory.h"

#include <string.h>

/* The bytes of an array, to the next boundary. */
static bool bytes_of(const ef_array *array, size_t *n_bytes) {
    if (!ef_mul_size(array->count, array->size, n_bytes) || !ef_add_size(*n_bytes, 63, n_bytes))
        return false;
    *n_bytes &= ~(size_t)63;
    return true;
}

void *ef_arrays_take(const ef_array *arrays, size_t n_arrays, bool cleared) {
    size_t all = 0, n_bytes = 0;
    for (size_t i = 0; i < n_arrays; i++)
        if (!bytes_of(&arrays[i], &n_bytes) || !ef_add_size(all, n_bytes, &all))
            return NULL;
    unsigned char *const block = ef_alloc_aligned(all, 1);
    if (block == NULL)
        return NULL;
    if (cleared)
        memset(block, 0, all);
    unsigned char *at = block;
    for (size_t i = 0; i < n_arrays; i++) {
        (void)bytes_of(&arrays[i], &n_bytes);
        memcpy(arrays[i].pointer, &at, sizeof at); /* all pointers to objects look the same */
        at += n_bytes;
    }
    return block;
}
