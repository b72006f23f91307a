/* Commitments to states (commitments.h). */
#include "store/seals/commitments.h"

#include <sodium.h>
#include <string.h>

static const char meaning[] = {'e', 'f', 'f', 'a', 'c', 'e', ' ', 's', 't', 'a', 't', 'e'};

void ef_commit(const unsigned char salt[EFFACE_SALT_BYTES],
               const unsigned char digest[EFFACE_DIGEST_BYTES],
               unsigned char commitment[EFFACE_DIGEST_BYTES]) {
    unsigned char bytes[sizeof meaning + EFFACE_DIGEST_BYTES];
    memcpy(bytes, meaning, sizeof meaning);
    memcpy(bytes + sizeof meaning, digest, EFFACE_DIGEST_BYTES);
    (void)crypto_generichash(commitment, EFFACE_DIGEST_BYTES, bytes, sizeof bytes, salt,
                             EFFACE_SALT_BYTES);
    sodium_memzero(bytes, sizeof bytes);
}
