/* The digest: libsodium's BLAKE2b. */
#include "base/bytes/digest.h"

#include "efface/efface.h"

#include <sodium.h>

void ef_digest(const void *bytes, size_t n_bytes, unsigned char *digest) {
    /* Fails only for output lengths that BLAKE2b does not have; no key, no state. */
    (void)crypto_generichash(digest, EFFACE_DIGEST_BYTES, bytes, n_bytes, NULL, 0);
}

void ef_digest_sections(const unsigned char *bytes, size_t n_bytes, const ef_cuts *cuts,
                        unsigned char *digest) {
    crypto_generichash_state all;
    unsigned char of_section[EFFACE_DIGEST_BYTES], of_none[EFFACE_DIGEST_BYTES];
    (void)crypto_generichash_init(&all, NULL, 0, EFFACE_DIGEST_BYTES);
    (void)crypto_generichash_update(&all, bytes, cuts->n != 0 ? cuts->at[0] : n_bytes);
    ef_digest("", 0, of_none);
    for (size_t i = 0; i < cuts->n; i++) {
        const size_t end = i + 1 < cuts->n ? cuts->at[i + 1] : n_bytes, n = end - cuts->at[i];
        if (n != 0)
            ef_digest(bytes + cuts->at[i], n, of_section);
        (void)crypto_generichash_update(&all, n != 0 ? of_section : of_none, sizeof of_section);
    }
    (void)crypto_generichash_final(&all, digest, EFFACE_DIGEST_BYTES);
    sodium_memzero(&all, sizeof all);
}

void ef_digest_joined(const unsigned char *first, size_t n_first, const unsigned char *digests,
                      size_t n, unsigned char *digest) {
    crypto_generichash_state all;
    (void)crypto_generichash_init(&all, NULL, 0, EFFACE_DIGEST_BYTES);
    (void)crypto_generichash_update(&all, first, n_first);
    (void)crypto_generichash_update(&all, digests, n * EFFACE_DIGEST_BYTES);
    (void)crypto_generichash_final(&all, digest, EFFACE_DIGEST_BYTES);
    sodium_memzero(&all, sizeof all);
}
