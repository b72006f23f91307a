/*
 * Seals: hashes of what stands in a store, and the buckets in which they are added up.
 *
 * A seal is SipHash-2-4 with 128 bits of output under a key of the store. The seals of the rows of
 * a bucket are added modulo 2^128: a row is added by an addition and removed by a subtraction, in
 * any order. To verify that a row exists, or does not, read its bucket and add up the seals.
 *
 * Buckets have about 32 rows. Ids below `dense`, a power of two that is at least the number of rows
 * there were when buckets were chosen, have buckets by their order: 0 to 31, 32 to 63, and so on.
 * Rows stand in the order of buckets, so those of a matrix stay in the order of their ids. Larger
 * ids are spread by a keyed hash over as many buckets again.
 *
 * Groups (owners, labels) are spread by a keyed hash over `group_slots` buckets for each kind.
 *
 * Every hash begins with a letter for what it is of, so that no seal of one thing is a seal of
 * another.
 */
#include "store/seals/seals.h"

#include "base/errors/status.h"

#include <sodium.h>
#include <string.h>

#define BUCKET_ROWS 32
#define GROUPS_A_BUCKET 32

_Static_assert(EF_ROW_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES, "key of SipHash");

static ef_u128 hash(const ef_head *head, const void *bytes, size_t n_bytes) {
    unsigned char out[crypto_shorthash_siphashx24_BYTES];
    (void)crypto_shorthash_siphashx24(out, bytes, n_bytes, head->row_key);
    ef_u128 value = 0;
    for (int i = 15; i >= 0; i--)
        value = value << 8 | out[i];
    return value;
}

/* Words to be hashed, little-endian on every machine. */
typedef struct words {
    unsigned char bytes[80];
    size_t n_bytes;
} words;

static void add_word(words *w, uint64_t word) {
    for (int i = 0; i < 8; i++)
        w->bytes[w->n_bytes++] = (unsigned char)(word >> (8 * i));
}

static void add_wide(words *w, ef_u128 value) {
    add_word(w, (uint64_t)value);
    add_word(w, (uint64_t)(value >> 64));
}

/* No text at all differs from an empty text. */
static void add_text(words *w, const ef_head *head, const char *text) {
    add_wide(w, text != NULL ? hash(head, text, strlen(text)) : 0);
}

ef_u128 ef_seal_row(const ef_head *head, const ef_stored_row *row) {
    words w = {.n_bytes = 0};
    /* Text and values are hashed first, so that their lengths do not matter here. */
    add_word(&w, 'r');
    add_word(&w, row->row.id);
    add_word(&w, row->row.owner);
    add_word(&w, (uint64_t)row->row.weight);
    add_word(&w, (uint64_t)row->row.label);
    add_text(&w, head, row->text);
    add_wide(&w, hash(head, row->values, (size_t)head->n_columns * 4));
    return hash(head, w.bytes, w.n_bytes);
}

ef_u128 ef_seal_member(const ef_head *head, ef_member_kind kind, uint64_t number, uint64_t id) {
    words w = {.n_bytes = 0};
    add_word(&w, 'm');
    add_word(&w, (uint64_t)kind);
    add_word(&w, number);
    add_word(&w, id);
    return hash(head, w.bytes, w.n_bytes);
}

ef_u128 ef_seal_member_set(const ef_head *head, const ef_member_set *group) {
    words w = {.n_bytes = 0};
    add_word(&w, 'g');
    add_word(&w, (uint64_t)group->kind);
    add_word(&w, group->number);
    add_word(&w, group->n_rows);
    add_wide(&w, group->members);
    add_text(&w, head, group->text);
    return hash(head, w.bytes, w.n_bytes);
}

ef_u128 ef_seal_named(const ef_head *head, const char *name, const void *bytes, size_t n_bytes) {
    words w = {.n_bytes = 0};
    add_word(&w, 'n');
    add_text(&w, head, name);
    add_wide(&w, hash(head, bytes, n_bytes));
    return hash(head, w.bytes, w.n_bytes);
}

#define MARK '\x01'

/* The mark of a text is its BLAKE2b-128 under the key of texts: nobody can make two texts with one
 * mark, while two texts with one 64-bit number are found in minutes by someone who knows the
 * key. */
const char *ef_kept_text(const ef_head *head, const char *text, char mark[EF_MARK_BYTES]) {
    unsigned char hash[16];
    if (text == NULL || head->keeps_texts || ef_is_mark(text))
        return text;
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text),
                             head->hash_key, sizeof head->hash_key);
    mark[0] = MARK;
    (void)sodium_bin2base64(mark + 1, EF_MARK_BYTES - 1, hash, sizeof hash,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return mark;
}

bool ef_is_mark(const char *text) {
    return text != NULL && text[0] == MARK;
}

efface_status ef_refuse_other_text(const char *kept, const char *comes, const char *what,
                                   efface_error *error) {
    /* A row that came as a number alone has no text to compare. */
    if (kept == NULL || comes == NULL || strcmp(kept, comes) == 0)
        return EFFACE_OK;
    return ef_fail(error, EFFACE_E_DUPLICATE,
                   "nothing was changed: %s has the same 64-bit number as another text that the "
                   "store has; use another name for it",
                   what);
}

_Static_assert(crypto_shorthash_KEYBYTES == EF_ROW_KEY_BYTES, "key of SipHash");
_Static_assert(crypto_shorthash_KEYBYTES == EF_CLUSTER_ID_BYTES, "key of SipHash");

/* SipHash-2-4 under a key that is drawn when a file is made: nobody can choose ids that crowd one
 * place without having read it. */
static uint64_t spread(const unsigned char *key, uint64_t id) {
    unsigned char bytes[8], out[crypto_shorthash_BYTES];
    uint64_t place = 0;
    for (int b = 0; b < 8; b++)
        bytes[b] = (unsigned char)(id >> (8 * b));
    (void)crypto_shorthash(out, bytes, sizeof bytes, key);
    for (int b = 7; b >= 0; b--)
        place = place << 8 | out[b];
    return place;
}

uint64_t ef_bucket_of(const ef_head *head, uint64_t id) {
    /* As many buckets again hold the ids that are not dense: one half by order, one half by
     * hash. */
    const uint64_t half = head->dense / BUCKET_ROWS;
    return id < head->dense ? id / BUCKET_ROWS : half + (spread(head->row_key, id) & (half - 1));
}

uint32_t ef_part_of(const unsigned char cluster_id[EF_CLUSTER_ID_BYTES], uint64_t id,
                    uint32_t n_parts) {
    return (uint32_t)(spread(cluster_id, id) % n_parts);
}

uint64_t ef_buckets(const ef_head *head) {
    return 2 * (head->dense / BUCKET_ROWS);
}

uint64_t ef_member_bucket_of(const ef_head *head, ef_member_kind kind, uint64_t number) {
    return (uint64_t)kind * head->group_slots +
           (spread(head->row_key, number) & (head->group_slots - 1));
}

uint64_t ef_member_buckets(const ef_head *head) {
    return EF_MEMBER_KINDS * head->group_slots;
}

static uint64_t power_of_two_from(uint64_t least, uint64_t n) {
    uint64_t power = least;
    while (power < n && power < (uint64_t)1 << 40)
        power *= 2;
    return power;
}

uint64_t ef_dense_for(uint64_t n_rows) {
    return power_of_two_from(BUCKET_ROWS, n_rows);
}

uint64_t ef_member_slots_for(uint64_t n_groups) {
    return power_of_two_from(1, (n_groups + GROUPS_A_BUCKET - 1) / GROUPS_A_BUCKET);
}
