/*
 * Memory that is released is overwritten first.
 *
 * A row that was forgotten must not live on in memory that nobody uses: the next to be given that
 * memory could read it, and a core dump would show it. So the library never calls free or realloc
 * but here.
 *
 * Blocks do not tell how many bytes were asked for, so all of what the allocator gave is
 * overwritten.
 */
#include "base/checked.h"

#include <string.h>

#if defined(__APPLE__)
#include <malloc/malloc.h>
#define BLOCK_BYTES(memory) malloc_size(memory)
#elif defined(__FreeBSD__)
#include <malloc_np.h>
#define BLOCK_BYTES(memory) malloc_usable_size(memory)
#elif defined(__linux__)
#include <malloc.h>
#define BLOCK_BYTES(memory) malloc_usable_size(memory)
#else
#error "say here how large a block of malloc's is: without that it cannot be overwritten"
#endif

/* More than what the deepest call below a request takes. */
#define STACK_BYTES 8192

void ef_wipe(void *memory, size_t n_bytes) {
    memset(memory, 0, n_bytes);
    /* Says that memory is read here, lest the compiler see no use in the line above. */
    __asm__ volatile("" : : "r"(memory) : "memory");
}

__attribute__((noinline)) void ef_wipe_stack(void) {
    unsigned char below[STACK_BYTES];
    ef_wipe(below, sizeof below);
}

void ef_free(void *memory) {
    if (memory == NULL)
        return;
    ef_wipe(memory, BLOCK_BYTES(memory));
    free(memory);
}

void *ef_realloc(void *memory, size_t count, size_t size) {
    void *const fresh = ef_alloc(count, size);
    if (fresh == NULL || memory == NULL)
        return fresh;
    const size_t before = BLOCK_BYTES(memory), after = BLOCK_BYTES(fresh);
    memcpy(fresh, memory, before < after ? before : after);
    ef_free(memory);
    return fresh;
}
