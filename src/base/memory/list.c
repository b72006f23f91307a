/* Arrays that grow. Pointers to objects all look the same in memory, but only memcpy may read one
 * through another type. */
#include "base/memory/list.h"

#include "base/memory/memory.h"

#include <string.h>

bool ef_array_resize(void *array, size_t count, size_t size) {
    void *at;
    memcpy(&at, array, sizeof at);
    void *const moved = ef_realloc(at, count, size);
    if (moved != NULL)
        memcpy(array, &moved, sizeof moved);
    return moved != NULL;
}

bool ef_array_renew(void *array, size_t count, size_t size) {
    void *at;
    memcpy(&at, array, sizeof at);
    ef_free(at);
    at = ef_alloc(count, size);
    memcpy(array, &at, sizeof at);
    return at != NULL;
}

bool ef_list_reserve(void *list, size_t *capacity, size_t n, size_t n_more, size_t size) {
    if (n_more <= *capacity - n)
        return true;
    const size_t larger = *capacity + *capacity / 2 + n_more + 16;
    if (!ef_array_resize(list, larger, size))
        return false;
    *capacity = larger;
    return true;
}

bool ef_scratch_reserve(void *scratch, size_t *capacity, size_t n, size_t size) {
    if (n <= *capacity)
        return true;
    n += n / 4;
    void *const larger = ef_alloc(n, size);
    if (larger == NULL)
        return false;
    void *at;
    memcpy(&at, scratch, sizeof at);
    ef_free(at);
    memcpy(scratch, &larger, sizeof larger);
    *capacity = n;
    return true;
}
