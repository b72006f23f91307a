/* Receipts of what a store did: reading, signing and checking them. Part of efface.h. */
#ifndef EFFACE_RECEIPTS_H
#define EFFACE_RECEIPTS_H

#include "efface/efface_store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hands out receipt number `number`, from 1, as one line of JSON. Release with efface_text_free.
 * Errors: NOT_FOUND; CORRUPT. */
EFFACE_API efface_status efface_store_receipt(efface_store *store, uint64_t number, char **json,
                                              efface_error *error);

/* A pair of keys to sign receipts with (Ed25519). */
EFFACE_API efface_status efface_keys_make(unsigned char secret_key[EFFACE_SECRET_KEY_BYTES],
                                          unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                                          efface_error *error);

/* Checks that a line of JSON is a receipt signed with this key. Errors: ARGUMENT if it is not
 * signed; FORMAT if it was changed or signed with another key. */
EFFACE_API efface_status efface_receipt_verify(
    const char *json, const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES], efface_error *error);

/* Checks that the receipts of a store are a chain, and that their number was signed with this key:
 * someone who removes receipts without the secret key cannot sign the new number. Errors: FORMAT if
 * not; CORRUPT; BUSY; IO. */
EFFACE_API efface_status efface_store_verify_receipts(
    efface_store *store, const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
    efface_error *error);

/* Checks that n_lines lines are a chain of receipts: each names the digest of the line before, and
 * the numbers have no gaps. Calls `found` with the line, from 1, and a sentence for each receipt
 * that is missing, doubled, out of order, changed, or, if `public_key` is not NULL, not signed with
 * that key. Without a key, a change of the last line is noticed only if that line is signed. The
 * first line may have any number. Errors: MEMORY; ARGUMENT. */
EFFACE_API efface_status
efface_receipts_verify(const char *const *lines, size_t n_lines,
                       const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES],
                       void (*found)(void *context, size_t line, const char *problem),
                       void *context, efface_error *error);

/* Whether a line of JSON is the receipt that an opening names, and its commitment to the state of
 * the model after it is opened by that. Errors: FORMAT if it is not; NOT_FOUND if it is another
 * receipt, or names no such model. */
EFFACE_API efface_status efface_receipt_open(const char *json, const efface_opening *opening,
                                             efface_error *error);

/* The hash that stands for an id in receipts, under a receipt key; NULL for the key that is kept in
 * the store. Errors: ARGUMENT if the store keeps none. */
EFFACE_API efface_status efface_store_row_hash(
    efface_store *store, const unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES], uint64_t id,
    unsigned char hash[EFFACE_ROW_HASH_BYTES], efface_error *error);

/* The Merkle root of hashes (docs/definition/store.md), which a receipt has instead of the hashes.
 * They are put in order first. Errors: MEMORY. */
EFFACE_API efface_status efface_receipt_root(const unsigned char *hashes, size_t n_hashes,
                                             unsigned char root[EFFACE_DIGEST_BYTES],
                                             efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
