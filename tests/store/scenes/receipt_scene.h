/* The root of a receipt, made with no help of the library. For tests, which include this file after
 * cmocka. */
#ifndef EF_RECEIPT_SCENE_H
#define EF_RECEIPT_SCENE_H

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static inline void hash_of_id(const unsigned char key[32], uint64_t id, unsigned char hash[16]) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(id >> (8 * i));
    assert_int_equal(crypto_generichash(hash, 16, bytes, sizeof bytes, key, 32), 0);
}

static inline int compare_hashes_of_ids(const void *a, const void *b) {
    return memcmp(a, b, 16);
}

/* The root of the tree over n hashes that are in order, top down: its left part is the largest
 * complete tree that is smaller than the whole. */
static inline void root_of_hashes(const unsigned char *hashes, size_t n, unsigned char root[32]) {
    unsigned char node[65] = {0};
    if (n < 2) {
        memcpy(node + 1, hashes, 16 * n);
        (void)crypto_generichash(root, 32, node, n != 0 ? 17 : 0, NULL, 0);
        return;
    }
    size_t left = 1;
    while (2 * left < n)
        left *= 2;
    node[0] = 1;
    root_of_hashes(hashes, left, node + 1);
    root_of_hashes(hashes + 16 * left, n - left, node + 33);
    (void)crypto_generichash(root, 32, node, sizeof node, NULL, 0);
}

static inline void root_of_ids(const unsigned char key[32], const uint64_t *ids, size_t n,
                               unsigned char root[32]) {
    unsigned char *const hashes = malloc(16 * n + 1);
    assert_non_null(hashes);
    for (size_t i = 0; i < n; i++)
        hash_of_id(key, ids[i], hashes + 16 * i);
    qsort(hashes, n, 16, compare_hashes_of_ids);
    root_of_hashes(hashes, n, root);
    free(hashes);
}

#endif
