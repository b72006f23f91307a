/*
 * The hashes of ids in receipts, and the root of a tree of them.
 *
 * The hash of an id is BLAKE2b-128 of its eight bytes, little-endian, under the receipt key. The
 * root is that of a Merkle tree over the hashes in order: a leaf is BLAKE2b-256 of a zero byte and
 * the hash, a node that of a one byte and the two below it; of an odd number the last goes up as it
 * is. The root of no hashes is the digest of nothing.
 */
#include "store/receipts/receipts.h"

#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/store.h"

#include <sodium.h>
#include <string.h>

void ef_row_hash(const unsigned char key[EFFACE_RECEIPT_KEY_BYTES], uint64_t id,
                 unsigned char hash[EFFACE_ROW_HASH_BYTES]) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(id >> (8 * i));
    (void)crypto_generichash(hash, EFFACE_ROW_HASH_BYTES, bytes, sizeof bytes, key,
                             EFFACE_RECEIPT_KEY_BYTES);
}

static int compare_hashes(const void *a, const void *b) {
    return memcmp(a, b, EFFACE_ROW_HASH_BYTES);
}

void ef_row_hashes_sort(unsigned char *hashes, size_t n_hashes) {
    if (n_hashes != 0)
        qsort(hashes, n_hashes, EFFACE_ROW_HASH_BYTES, compare_hashes);
}

efface_status efface_receipt_root(const unsigned char *hashes, size_t n_hashes,
                                  unsigned char root[EFFACE_DIGEST_BYTES], efface_error *error) {
    if ((hashes == NULL && n_hashes != 0) || root == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "hashes and root must not be NULL");
    unsigned char *const sorted = ef_alloc(n_hashes, EFFACE_ROW_HASH_BYTES);
    unsigned char(*const level)[EFFACE_DIGEST_BYTES] = ef_alloc(n_hashes, sizeof *level);
    if (sorted == NULL || level == NULL) {
        ef_free(sorted);
        ef_free(level);
        return ef_fail_memory(error);
    }
    if (n_hashes != 0)
        memcpy(sorted, hashes, n_hashes * EFFACE_ROW_HASH_BYTES);
    ef_row_hashes_sort(sorted, n_hashes);
    unsigned char bytes[1 + 2 * EFFACE_DIGEST_BYTES];
    bytes[0] = 0;
    for (size_t i = 0; i < n_hashes; i++) {
        memcpy(bytes + 1, sorted + i * EFFACE_ROW_HASH_BYTES, EFFACE_ROW_HASH_BYTES);
        ef_digest(bytes, 1 + EFFACE_ROW_HASH_BYTES, level[i]);
    }
    bytes[0] = 1;
    for (size_t n = n_hashes; n > 1; n = (n + 1) / 2)
        for (size_t i = 0; i < n; i += 2) {
            memcpy(bytes + 1, level[i], EFFACE_DIGEST_BYTES);
            if (i + 1 < n) {
                memcpy(bytes + 1 + EFFACE_DIGEST_BYTES, level[i + 1], EFFACE_DIGEST_BYTES);
                ef_digest(bytes, sizeof bytes, level[i / 2]);
            } else {
                memcpy(level[i / 2], bytes + 1, EFFACE_DIGEST_BYTES);
            }
        }
    if (n_hashes != 0)
        memcpy(root, level[0], EFFACE_DIGEST_BYTES);
    else
        ef_digest("", 0, root);
    ef_free(sorted);
    ef_free(level);
    return EFFACE_OK;
}

efface_status efface_store_row_hash(efface_store *store,
                                    const unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES],
                                    uint64_t id, unsigned char hash[EFFACE_ROW_HASH_BYTES],
                                    efface_error *error) {
    if (hash == NULL || (store == NULL && receipt_key == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "hash must not be NULL, and store and key must not both be NULL");
    if (sodium_init() < 0)
        return ef_fail_memory(error);
    if (receipt_key == NULL && !store->has_receipt_key)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the store does not keep its receipt key; give the key");
    ef_row_hash(receipt_key != NULL ? receipt_key : store->receipt_key, id, hash);
    return EFFACE_OK;
}
