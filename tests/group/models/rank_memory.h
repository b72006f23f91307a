/*
 * Memory that runs out on one rank: malloc and its kin for one program, of which the n-th call that
 * this thread makes from now fails. Blocks are counted, those of all threads together.
 *
 * The linker sends the program's own calls, and those of the static library, through the functions
 * below (--wrap, tests/CMakeLists.txt).
 */
#ifndef EF_TESTS_RANK_MEMORY_H
#define EF_TESTS_RANK_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static _Thread_local uint64_t fails_in; /* allocations from now; 0: never */
static atomic_long n_blocks;            /* that are allocated */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static bool fails_now(void) {
    return fails_in != 0 && --fails_in == 0;
}

static void *counted(void *memory) {
    atomic_fetch_add(&n_blocks, memory != NULL);
    return memory;
}

void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size) {
    return fails_now() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (fails_now())
        return NULL;
    return memory == NULL ? counted(__real_realloc(memory, size)) : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails_now() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory) {
    atomic_fetch_sub(&n_blocks, memory != NULL);
    __real_free(memory);
}

#endif
