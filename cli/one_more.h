/* Lists that grow. */
#ifndef CLI_ONE_MORE_H
#define CLI_ONE_MORE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A list of n items with room for one more: it has room for the next power of two, so that most
 * calls do nothing. NULL if out of memory; the list is then as it was. */
static inline void *cli_one_more(void *items, size_t n, size_t item_bytes) {
    if ((n & (n - 1)) != 0)
        return items;
    return n <= SIZE_MAX / 2 / item_bytes ? realloc(items, (n == 0 ? 1 : 2 * n) * item_bytes)
                                          : NULL;
}

#endif
