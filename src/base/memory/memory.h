/* Memory: every product that becomes an allocation goes through here, so that no size wraps; and
 * all memory is released here, so that nothing of what was in it is left. */
#ifndef EF_MEMORY_H
#define EF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool ef_mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool ef_add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* Memory for `count` things of `size` bytes, not cleared; NULL if there is none or the product
 * does not fit. A count of 0 gives a pointer that can be freed. */
static inline void *ef_alloc(size_t count, size_t size) {
    size_t bytes;
    if (!ef_mul_size(count, size, &bytes))
        return NULL;
    return malloc(bytes != 0 ? bytes : 1);
}

/* The same, cleared. */
static inline void *ef_alloc_zero(size_t count, size_t size) {
    return calloc(count != 0 ? count : 1, size != 0 ? size : 1);
}

/* Memory for `count` things of `size` bytes on a 64-byte boundary. */
static inline void *ef_alloc_aligned(size_t count, size_t size) {
    size_t bytes;
    if (!ef_mul_size(count, size, &bytes) || !ef_add_size(bytes, 63, &bytes))
        return NULL;
    bytes &= ~(size_t)63;
    return aligned_alloc(64, bytes != 0 ? bytes : 64);
}

/* Overwrites memory, even if nobody reads it afterwards (wipe.c). */
void ef_wipe(void *memory, size_t n_bytes);

/* Overwrites the part of the stack that calls before this one have used and left: calls that go
 * through rows many times, or those that only look at few. */
#define EF_DEEP_STACK 32768
#define EF_SHALLOW_STACK 4096
void ef_wipe_stack(size_t n_bytes);

/* Overwrites the whole block and releases it. Takes NULL. */
void ef_free(void *memory);

/* Changes the size of `memory`; on failure it is left as it was and NULL comes back. It is always
 * moved, for realloc would leave a copy behind where it moves: so for a moment there must be room
 * for both, also where a very large block grows. */
void *ef_realloc(void *memory, size_t count, size_t size);

#endif
