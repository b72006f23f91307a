/*
 * The head of a store: keys, counts and sums that everything else is verified against.
 *
 * It stands in the file as one value with a seal of its own, is read when a transaction begins and
 * written when one ends that changed it.
 */
#ifndef EF_HEAD_H
#define EF_HEAD_H

#include "base/numbers/wide.h"
#include "efface/efface.h"

#include <stdbool.h>

#define EF_ROW_KEY_BYTES 16
#define EF_CLUSTER_ID_BYTES EFFACE_PARTS_ID_BYTES

typedef struct ef_head {
    uint32_t n_columns;
    bool keeps_texts;   /* of ids and owners */
    bool key_outside;   /* the receipt key is not in the store */
    efface_ids id_kind; /* numbers or texts; or not known */
    efface_ids owner_kind;
    unsigned char hash_key[EFFACE_HASH_KEY_BYTES];
    unsigned char row_key[EF_ROW_KEY_BYTES]; /* seals are hashes under it */
    unsigned char receipt_key[EFFACE_RECEIPT_KEY_BYTES];
    unsigned char receipt_key_digest[EFFACE_DIGEST_BYTES];
    unsigned char names_digest[EFFACE_DIGEST_BYTES]; /* of the columns, with their offsets */

    uint64_t dense; /* ids below have buckets by their order; a power of two, at least 32 */
    uint64_t n_rows;
    int64_t total_weight;
    ef_u128 rows_sum; /* of the seals of all rows */

    uint64_t group_slots; /* buckets of each kind of groups; a power of two */
    uint64_t n_groups[2]; /* owners, labels */
    uint64_t n_unowned;   /* rows without an owner */
    ef_u128 groups_sum[2];

    uint64_t n_models;
    ef_u128 models_sum;

    uint64_t n_receipts;
    unsigned char last_receipt[EFFACE_DIGEST_BYTES]; /* zeros if there is none */

    uint32_t n_parts; /* of the store that this file is a part of; 0: it is a whole store */
    uint32_t part;    /* which one it is, from 0; this and what follows is 0 in a whole store */
    unsigned char cluster_id[EF_CLUSTER_ID_BYTES]; /* all parts of a store have it */
    uint64_t n_requests; /* that the part has followed; all parts have the same, or one less while a
                            request waits in the journal of part 0 */
} ef_head;

efface_status ef_head_read(efface_store *store, efface_error *error);
efface_status ef_head_write(efface_store *store, efface_error *error);

/* The digest of a receipt key, and of the names of columns with their offsets (NULL: none). */
void ef_receipt_key_digest(const unsigned char key[EFFACE_RECEIPT_KEY_BYTES],
                           unsigned char digest[EFFACE_DIGEST_BYTES]);
efface_status ef_names_digest(char *const *names, const double *offsets,
                              const efface_column_type *types, uint32_t n_columns,
                              unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error);

#endif
