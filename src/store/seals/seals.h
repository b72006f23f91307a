/* Seals: hashes under the key of a store, which rows and groups of rows are verified by (seals.c).
 */
#ifndef EF_SEALS_H
#define EF_SEALS_H

#include "base/numbers/wide.h"
#include "store/file/head.h"

/* A row as it stands in the file: `values` are the bytes of its float32 numbers. */
typedef struct ef_stored_row {
    efface_row row;
    const char *text; /* of its id, or NULL */
    const unsigned char *values;
} ef_stored_row;

/* Rows are groups by owner, and by label. */
typedef enum ef_group_kind { EF_GROUP_OWNER = 0, EF_GROUP_LABEL = 1 } ef_group_kind;
#define EF_GROUP_KINDS 2

typedef struct ef_group {
    ef_group_kind kind;
    uint64_t number;
    uint64_t n_rows;
    ef_u128 members; /* sum of the seals of its members */
    char *text;      /* or NULL */
} ef_group;

/* Hashes under the key of the store: of a row, of a row as a member of a group, of a group, and of
 * bytes with a name. */
ef_u128 ef_seal_row(const ef_head *head, const ef_stored_row *row);
ef_u128 ef_seal_member(const ef_head *head, ef_group_kind kind, uint64_t number, uint64_t id);
ef_u128 ef_seal_group(const ef_head *head, const ef_group *group);
ef_u128 ef_seal_named(const ef_head *head, const char *name, const void *bytes, size_t n_bytes);

/* The bucket of an id, of n buckets; and of a group. */
uint64_t ef_bucket_of(const ef_head *head, uint64_t id);
uint64_t ef_buckets(const ef_head *head);
uint64_t ef_group_bucket_of(const ef_head *head, ef_group_kind kind, uint64_t number);
uint64_t ef_group_buckets(const ef_head *head);

/* Which part of a store in n_parts a row comes to that is learned, or spread: that depends on
 * nothing but its id. */
uint32_t ef_part_of(uint64_t id, uint32_t n_parts);

/* The number of ids whose buckets follow their order, for n_rows rows; and the number of buckets of
 * a kind of groups, for n_groups of them. */
uint64_t ef_dense_for(uint64_t n_rows);
uint64_t ef_group_slots_for(uint64_t n_groups);

#endif
