/* Memory that is overwritten before it is released (json_memory.h). Texts that json_dumps hands out
 * are released with free, as anything else: so memory has no head of its own, and the C library
 * says how long it is. */
#include "api/json_memory.h"

#include <jansson.h>
#include <malloc.h>
#include <sodium.h>
#include <stdlib.h>

static void wipe(void *bytes) {
    if (bytes != NULL)
        sodium_memzero(bytes, malloc_usable_size(bytes));
    free(bytes);
}

void sv_json_wipes_memory(void) {
    json_set_alloc_funcs(malloc, wipe);
}
