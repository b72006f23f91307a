/* The digest of canonical bytes: BLAKE2b with EFFACE_DIGEST_BYTES of output. */
#ifndef EF_DIGEST_H
#define EF_DIGEST_H

#include <stddef.h>

void ef_digest(const void *bytes, size_t n_bytes, unsigned char *digest);

#endif
