/* The digest of canonical bytes: BLAKE2b with EFFACE_DIGEST_BYTES of output. */
#ifndef EF_DIGEST_H
#define EF_DIGEST_H

#include "base/bytes/encode.h"

#include <stddef.h>

void ef_digest(const void *bytes, size_t n_bytes, unsigned char *digest);

/* A digest by sections, which are what is between cuts: that of the bytes of the first section and
 * of the digests of the others. So who knows these digests has to read only the sections that
 * change. */
void ef_digest_sections(const unsigned char *bytes, size_t n_bytes, const ef_cuts *cuts,
                        unsigned char *digest);

/* The same, of the first section and the digests of n others, one after the other. */
void ef_digest_joined(const unsigned char *first, size_t n_first, const unsigned char *digests,
                      size_t n, unsigned char *digest);

#endif
