/* Memory that is overwritten before it is released (json_memory.h). Texts that json_dumps hands out
 * are released with free, as anything else: so memory has no head of its own, and the C library
 * says how long it is. */
#include "api/json_memory.h"

#include "wiping.h"

#include <jansson.h>
#include <malloc.h>

static void wipe_json(void *bytes) {
    sv_wipe_free(bytes, bytes != NULL ? malloc_usable_size(bytes) : 0);
}

void sv_json_wipes_memory(void) {
    json_set_alloc_funcs(malloc, wipe_json);
}
