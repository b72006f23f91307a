/* Lists of ids. */
#include "base/bytes/ids.h"

#include <stdlib.h>

int ef_ids_compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void ef_ids_sort(uint64_t *ids, size_t n) {
    if (n > 1) /* a list of none may be NULL, which qsort may not be given */
        qsort(ids, n, sizeof *ids, ef_ids_compare);
}

const uint64_t *ef_ids_find(const uint64_t *sorted, size_t n, uint64_t id) {
    return n != 0 ? bsearch(&id, sorted, n, sizeof *sorted, ef_ids_compare) : NULL;
}

const uint64_t *ef_ids_find_repeat(const uint64_t *sorted, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (sorted[i] == sorted[i - 1])
            return &sorted[i];
    return NULL;
}

size_t ef_ids_sort_once(uint64_t *ids, size_t n) {
    size_t n_left = 0;
    ef_ids_sort(ids, n);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ids[i] != ids[n_left - 1])
            ids[n_left++] = ids[i];
    return n_left;
}
