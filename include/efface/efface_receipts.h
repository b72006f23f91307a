/* Receipts of what a store did: reading, signing and checking them. Part of efface.h. */
#ifndef EFFACE_RECEIPTS_H
#define EFFACE_RECEIPTS_H

#include "efface/efface_store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hands out receipt number `number`, from 1, as one line of JSON. Release it with efface_text_free.
 * Errors: EFFACE_E_NOT_FOUND; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_store_receipt(efface_store *store, uint64_t number, char **json,
                                              efface_error *error);

/* Makes a pair of keys to sign receipts with (Ed25519). Keep the secret key; anyone who has the
 * public key can verify what it signed. */
EFFACE_API efface_status efface_keys_make(unsigned char secret_key[EFFACE_SECRET_KEY_BYTES],
                                          unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                                          efface_error *error);

/* Checks that a line of JSON is a receipt signed with this key. Errors: EFFACE_E_ARGUMENT if it is
 * not signed; EFFACE_E_FORMAT if it was changed or signed with another key. */
EFFACE_API efface_status efface_receipt_verify(
    const char *json, const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES], efface_error *error);

/* Checks that the receipts of a store are a chain, and that their number was signed with this key:
 * someone who removes receipts cannot sign the new number without the secret key. Errors:
 * EFFACE_E_FORMAT if they are not; EFFACE_E_CORRUPT; EFFACE_E_BUSY; EFFACE_E_IO. */
EFFACE_API efface_status efface_store_verify_receipts(
    efface_store *store, const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
    efface_error *error);

/* Checks that n_lines lines are a chain of receipts: each names the digest of the line before, and
 * the numbers have no gaps. The first line may have any number. Calls `found` with the number of
 * the line, from 1, and a sentence for each receipt that is missing, repeated, out of order,
 * changed, or, if `public_key` is not NULL, not signed with that key. Without a key, a change of
 * the last line is noticed only if that line is signed. What it finds is not an error of this call.
 * Errors: EFFACE_E_ARGUMENT; EFFACE_E_MEMORY. */
EFFACE_API efface_status
efface_receipts_verify(const char *const *lines, size_t n_lines,
                       const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                       void (*found)(void *context, size_t line, const char *problem),
                       void *context, efface_error *error);

/* Checks that a line of JSON is the receipt that an opening names, and that the opening opens its
 * commitment to the state of the model afterwards. Errors: EFFACE_E_FORMAT if it does not;
 * EFFACE_E_NOT_FOUND if the receipt has another number, or does not name the model. */
EFFACE_API efface_status efface_receipt_open(const char *json, const efface_opening *opening,
                                             efface_error *error);

/* Computes the hash that stands for an id in receipts, under a receipt key; NULL for the key that
 * is kept in the store. Errors: EFFACE_E_ARGUMENT if the store keeps none. */
EFFACE_API efface_status efface_store_row_hash(
    efface_store *store, const unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES], uint64_t id,
    unsigned char hash[EFFACE_ROW_HASH_BYTES], efface_error *error);

/* Computes the Merkle root of hashes, which a receipt has instead of the hashes
 * (docs/definition/receipts.md). They may come in any order. Errors: EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_receipt_root(const unsigned char *hashes, size_t n_hashes,
                                             unsigned char root[EFFACE_DIGEST_BYTES],
                                             efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
