/* Seals: hashes under the key of a store, by which rows and sets of rows are verified (seals.c). */
#ifndef EF_SEALS_H
#define EF_SEALS_H

#include "base/numbers/wide.h"
#include "store/seals/head.h"

/* A row as it stands in the file: `values` are the bytes of its float32 numbers. */
typedef struct ef_stored_row {
    efface_row row;
    const char *text; /* of its id, or NULL */
    const unsigned char *values;
} ef_stored_row;

/* Rows of an owner, or with a label, are members of a set. */
typedef enum ef_member_kind { EF_MEMBER_OWNER = 0, EF_MEMBER_LABEL = 1 } ef_member_kind;
#define EF_MEMBER_KINDS 2

typedef struct ef_member_set {
    ef_member_kind kind;
    uint64_t number;
    uint64_t n_rows;
    ef_u128 members; /* sum of the seals of its members */
    char *text;      /* or NULL */
} ef_member_set;

/* Hashes under the key of the store: of a row, of a row as a member of a set, of a set, and of
 * bytes with a name. */
ef_u128 ef_seal_row(const ef_head *head, const ef_stored_row *row);
ef_u128 ef_seal_member(const ef_head *head, ef_member_kind kind, uint64_t number, uint64_t id);
ef_u128 ef_seal_member_set(const ef_head *head, const ef_member_set *set);
ef_u128 ef_seal_named(const ef_head *head, const char *name, const void *bytes, size_t n_bytes);

/* What the file has of the text of an id or owner: the text where texts are kept, else a mark,
 * which only tells the text from another one with the same number; NULL for NULL. A mark begins
 * with a character that no name has, and is its own mark. */
#define EF_MARK_BYTES 24
const char *ef_kept_text(const ef_head *head, const char *text, char mark[EF_MARK_BYTES]);
bool ef_is_mark(const char *text);

/* Refuses a text where the file has another one under its number; either may be NULL: not known.
 * `what` is an id, an owner or a label. */
efface_status ef_refuse_other_text(const char *kept, const char *comes, const char *what,
                                   efface_error *error);

/* The bucket of an id, of n buckets; and of a set of members. */
uint64_t ef_bucket_of(const ef_head *head, uint64_t id);
uint64_t ef_buckets(const ef_head *head);
uint64_t ef_member_bucket_of(const ef_head *head, ef_member_kind kind, uint64_t number);
uint64_t ef_member_buckets(const ef_head *head);

/* Which part of a store in n_parts a row comes to that is learned, or spread: that depends on
 * nothing but its id and the store, whose id is the key. */
uint32_t ef_part_of(const unsigned char cluster_id[EF_CLUSTER_ID_BYTES], uint64_t id,
                    uint32_t n_parts);

/* The number of ids whose buckets follow their order, for n_rows rows; and the number of buckets of
 * a kind of sets, for n_sets of them. */
uint64_t ef_dense_for(uint64_t n_rows);
uint64_t ef_member_slots_for(uint64_t n_sets);

#endif
