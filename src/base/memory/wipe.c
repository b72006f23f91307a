/*
 * Memory that is released is overwritten first.
 *
 * A row that was forgotten must not live on in memory that nobody uses: the next to be given that
 * memory could read it, and a core dump would show it. So the library calls free and realloc only
 * here.
 *
 * Blocks do not tell how many bytes were asked for, so all of what the allocator gave is
 * overwritten. The pages of very large blocks are given back to the system instead, which
 * forgets them: they may have room that nobody ever touched, and free would give them back anyway.
 */
#define _DEFAULT_SOURCE /* madvise */

#include "base/memory/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

#define LARGE_BYTES ((size_t)32 << 20) /* glibc has a mapping for each of these, always */

void ef_wipe(void *memory, size_t n_bytes) {
    memset(memory, 0, n_bytes);
    /* Tells the compiler that memory is read here, so that it keeps the line above. */
    __asm__ volatile("" : : "r"(memory) : "memory");
}

__attribute__((noinline)) void ef_wipe_stack(size_t n_bytes) {
    unsigned char below[4096];
    if (n_bytes > sizeof below)
        ef_wipe_stack(n_bytes - sizeof below);
    ef_wipe(below, sizeof below);
}

/* Gives back the whole pages of a block, bytes *begin to *end - 1 of it. */
static bool drop_pages(char *memory, size_t n_bytes, size_t *begin, size_t *end) {
#if defined(__linux__) /* elsewhere the same call may leave the pages as they are */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t first = (page - (uintptr_t)memory % page) % page;
    const size_t whole = (n_bytes - first) / page * page;
    *begin = first;
    *end = first + whole;
    return madvise(memory + first, whole, MADV_DONTNEED) == 0;
#else
    (void)memory, (void)n_bytes, (void)begin, (void)end;
    return false;
#endif
}

void ef_free(void *memory) {
    if (memory == NULL)
        return;
    const size_t n_bytes = BLOCK_BYTES(memory);
    size_t begin, end;
    if (n_bytes >= LARGE_BYTES && drop_pages(memory, n_bytes, &begin, &end)) {
        ef_wipe(memory, begin);
        ef_wipe((char *)memory + end, n_bytes - end);
    } else {
        ef_wipe(memory, n_bytes);
    }
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
