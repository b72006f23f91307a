/* Memory that runs out, for tests of the store: that of the library and the test, which the linker
 * sends through here (--wrap, tests/CMakeLists.txt), and SQLite's. */
#ifndef EF_TESTS_SHORT_MEMORY_H
#define EF_TESTS_SHORT_MEMORY_H

#include "store/scenes/faulty_vfs.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

static long allocations_left; /* 0: there is no end; 1: the next one fails */
static bool has_failed;

static bool runs_out(void) {
    if (allocations_left == 0)
        return false;
    const bool now = --allocations_left == 0;
    has_failed |= now;
    return now;
}

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

void *__wrap_malloc(size_t size) {
    return runs_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return runs_out() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return runs_out() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return runs_out() ? NULL : __real_aligned_alloc(alignment, size);
}

void __wrap_free(void *memory) {
    __real_free(memory);
}

/* SQLite's own, which the linker does not reach. */
static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int size) {
    return runs_out() ? NULL : sqlite_memory.xMalloc(size);
}

static void *sqlite_realloc(void *memory, int size) {
    return runs_out() ? NULL : sqlite_memory.xRealloc(memory, size);
}

static int wrap_sqlite_memory(void) {
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory) != SQLITE_OK)
        return -1;
    disk_realloc = __real_realloc;
    sqlite3_mem_methods wrapped = sqlite_memory;
    wrapped.xMalloc = sqlite_malloc;
    wrapped.xRealloc = sqlite_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &wrapped) == SQLITE_OK ? 0 : -1;
}

#endif
