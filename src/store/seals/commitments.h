/*
 * Commitments: what stands for a state where the state may be guessed.
 *
 * The digest of a state tells whoever guesses a row that left whether the guess is right: add it to
 * the rows that are there, fit, and compare. So what outlives a state has a hash of its digest
 * under a salt of 32 random bytes. The salt stands in the record of the model and is drawn again
 * with every state; the one before is overwritten, as rows are. Then the commitment tells nothing,
 * but two that are equal are those of one state. Whoever was given digest and salt can open it.
 */
#ifndef EF_COMMITMENTS_H
#define EF_COMMITMENTS_H

#include "efface/efface.h"

/* BLAKE2b-256, with the salt as its key, of "efface state" and the digest. */
void ef_commit(const unsigned char salt[EFFACE_SALT_BYTES],
               const unsigned char digest[EFFACE_DIGEST_BYTES],
               unsigned char commitment[EFFACE_DIGEST_BYTES]);

#endif
