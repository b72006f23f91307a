/*
 * Memory that runs out: malloc and its kin for one program, of which the n-th call from now fails.
 *
 * The linker sends the program's own calls, and those of the static library, through the functions
 * below (--wrap, tests/CMakeLists.txt); a thread is created as always.
 */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_long n_until_failure; /* 0: not armed; 1: the next allocation fails */
static atomic_bool has_failed;
static atomic_long n_blocks; /* that are allocated */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static bool fails(void) {
    if (atomic_load(&n_until_failure) == 0)
        return false;
    const bool now = atomic_fetch_sub(&n_until_failure, 1) == 1;
    if (now)
        atomic_store(&has_failed, true);
    return now;
}

static void *counted(void *memory) {
    atomic_fetch_add(&n_blocks, memory != NULL);
    return memory;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (fails())
        return NULL;
    return memory == NULL ? counted(__real_realloc(memory, size)) : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory) {
    atomic_fetch_sub(&n_blocks, memory != NULL);
    __real_free(memory);
}

static void arm(long n) {
    atomic_store(&has_failed, false);
    atomic_store(&n_until_failure, n);
}

/* Whether an allocation failed since arm(). */
static bool disarm(void) {
    atomic_store(&n_until_failure, 0);
    return atomic_load(&has_failed);
}

#endif
