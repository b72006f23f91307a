/* Memory that is overwritten before it is released: it had texts, ids or values in it. */
#ifndef SV_WIPING_H
#define SV_WIPING_H

#include <sodium.h>
#include <stdlib.h>

static inline void sv_wipe_free(void *bytes, size_t n_bytes) {
    if (bytes != NULL)
        sodium_memzero(bytes, n_bytes);
    free(bytes);
}

#endif
