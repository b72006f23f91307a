/*
 * The head of a store as bytes, in the fact "head"; the fact "seal" is the BLAKE2b-256 digest of
 * it. All numbers are little-endian.
 *
 *     u32  columns             16   hash key            u64  dense
 *     u32  flags: 1 keeps      16   row key             u64  rows
 *          texts, 2 receipt    32   receipt key         u64  weight of all rows
 *          key outside; ids         (zeros: outside)    16   sum of the seals of rows
 *          << 2, owners << 4:  32   its digest          u64  slots of groups
 *          1 numbers, 2 texts  32   digest of names     u64  owners, labels
 *                                                       u64  rows without an owner
 *                                                       16   sums of groups: owners, labels
 *                                                       u64  models
 *                                                       16   sum of the seals of models
 *                                                       u64  receipts
 *                                                       32   digest of the last receipt
 *
 * A part of a store (parts.h) has 32 bytes more:
 *
 *     u32  part, from 0        u32  parts               16   id of the cluster
 *                                                       u64  requests that it has followed
 */
#include "store/seals/head.h"

#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/seals/seals.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <sodium.h>
#include <string.h>

#define KEEPS_TEXTS 1u
#define KEY_OUTSIDE 2u
#define ID_KIND_SHIFT 2
#define OWNER_KIND_SHIFT 4
#define KIND_MASK 3u
#define FLAG_BITS 6

static void write_sum(ef_writer *w, ef_u128 sum) {
    ef_write_u64(w, (uint64_t)sum);
    ef_write_u64(w, (uint64_t)(sum >> 64));
}

static ef_u128 read_sum(ef_decoder *r) {
    const uint64_t low = ef_read_u64(r);
    return (ef_u128)ef_read_u64(r) << 64 | low;
}

static void encode_head(ef_writer *w, const ef_head *h) {
    ef_write_u32(w, h->n_columns);
    ef_write_u32(w, (h->keeps_texts ? KEEPS_TEXTS : 0) | (h->key_outside ? KEY_OUTSIDE : 0) |
                        (uint32_t)h->id_kind << ID_KIND_SHIFT |
                        (uint32_t)h->owner_kind << OWNER_KIND_SHIFT);
    ef_write_bytes(w, h->hash_key, sizeof h->hash_key);
    ef_write_bytes(w, h->row_key, sizeof h->row_key);
    ef_write_bytes(w, h->receipt_key, sizeof h->receipt_key);
    ef_write_bytes(w, h->receipt_key_digest, sizeof h->receipt_key_digest);
    ef_write_bytes(w, h->names_digest, sizeof h->names_digest);
    ef_write_u64(w, h->dense);
    ef_write_u64(w, h->n_rows);
    ef_write_u64(w, (uint64_t)h->total_weight);
    write_sum(w, h->rows_sum);
    ef_write_u64(w, h->group_slots);
    ef_write_u64(w, h->n_groups[0]);
    ef_write_u64(w, h->n_groups[1]);
    ef_write_u64(w, h->n_unowned);
    write_sum(w, h->groups_sum[0]);
    write_sum(w, h->groups_sum[1]);
    ef_write_u64(w, h->n_models);
    write_sum(w, h->models_sum);
    ef_write_u64(w, h->n_receipts);
    ef_write_bytes(w, h->last_receipt, sizeof h->last_receipt);
    if (h->n_parts == 0)
        return;
    ef_write_u32(w, h->part);
    ef_write_u32(w, h->n_parts);
    ef_write_bytes(w, h->cluster_id, sizeof h->cluster_id);
    ef_write_u64(w, h->n_requests);
}

/* What a part has beside what every store has; nothing for a whole store. */
static bool decode_part(ef_decoder *r, ef_head *h) {
    h->part = h->n_parts = 0;
    h->n_requests = 0;
    memset(h->cluster_id, 0, sizeof h->cluster_id);
    if (r->n_bytes == 0)
        return true;
    h->part = ef_read_u32(r);
    h->n_parts = ef_read_u32(r);
    ef_read_bytes(r, h->cluster_id, sizeof h->cluster_id);
    h->n_requests = ef_read_u64(r);
    return h->n_parts <= EFFACE_MAX_RANKS && h->part < h->n_parts;
}

static bool is_power_of_two(uint64_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

static bool decode_head(ef_decoder *r, ef_head *h) {
    h->n_columns = ef_read_u32(r);
    const uint32_t flags = ef_read_u32(r);
    h->keeps_texts = (flags & KEEPS_TEXTS) != 0;
    h->key_outside = (flags & KEY_OUTSIDE) != 0;
    h->id_kind = (efface_ids)(flags >> ID_KIND_SHIFT & KIND_MASK);
    h->owner_kind = (efface_ids)(flags >> OWNER_KIND_SHIFT & KIND_MASK);
    ef_read_bytes(r, h->hash_key, sizeof h->hash_key);
    ef_read_bytes(r, h->row_key, sizeof h->row_key);
    ef_read_bytes(r, h->receipt_key, sizeof h->receipt_key);
    ef_read_bytes(r, h->receipt_key_digest, sizeof h->receipt_key_digest);
    ef_read_bytes(r, h->names_digest, sizeof h->names_digest);
    h->dense = ef_read_u64(r);
    h->n_rows = ef_read_u64(r);
    h->total_weight = (int64_t)ef_read_u64(r);
    h->rows_sum = read_sum(r);
    h->group_slots = ef_read_u64(r);
    h->n_groups[0] = ef_read_u64(r);
    h->n_groups[1] = ef_read_u64(r);
    h->n_unowned = ef_read_u64(r);
    h->groups_sum[0] = read_sum(r);
    h->groups_sum[1] = read_sum(r);
    h->n_models = ef_read_u64(r);
    h->models_sum = read_sum(r);
    h->n_receipts = ef_read_u64(r);
    ef_read_bytes(r, h->last_receipt, sizeof h->last_receipt);
    const bool is_part_or_whole = decode_part(r, h);
    return flags >> FLAG_BITS == 0 && is_part_or_whole && !r->failed && r->n_bytes == 0 &&
           h->n_columns != 0 && h->n_columns <= EFFACE_MAX_COLUMNS && is_power_of_two(h->dense) &&
           h->dense == ef_dense_for(h->dense) && is_power_of_two(h->group_slots) &&
           h->group_slots == ef_member_slots_for(32 * h->group_slots) && h->total_weight >= 0 &&
           h->n_rows <= (uint64_t)h->total_weight && h->n_unowned <= h->n_rows &&
           h->n_models <= UINT32_MAX;
}

efface_status ef_head_read(efface_store *store, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    ef_head head;
    unsigned char seal[EFFACE_DIGEST_BYTES];
    efface_status status = ef_sql_prepare(store,
                                          "SELECT (SELECT value FROM facts WHERE name = 'head'),"
                                          " (SELECT value FROM facts WHERE name = 'seal')",
                                          &statement, error);
    EF_THEN(status, ef_sql_step(store, statement, &row, error));
    if (status == EFFACE_OK) {
        ef_decoder body = ef_sql_bytes(statement, 0);
        const ef_decoder found = ef_sql_bytes(statement, 1);
        ef_digest(body.bytes, body.n_bytes, seal);
        if (!ef_sql_has(statement, "bb") || found.n_bytes != sizeof seal ||
            memcmp(found.bytes, seal, sizeof seal) != 0 || !decode_head(&body, &head))
            status = ef_store_corrupt(error, "its head does not match its seal");
        else
            store->head = head;
        memcpy(store->head_seal, seal, sizeof seal);
        store->head_changed = false;
    }
    (void)sqlite3_finalize(statement);
    return status;
}

efface_status ef_head_write(efface_store *store, efface_error *error) {
    ef_writer w = {0};
    sqlite3_stmt *statement = NULL;
    unsigned char seal[EFFACE_DIGEST_BYTES];
    encode_head(&w, &store->head);
    if (w.failed) {
        ef_free(w.bytes);
        return ef_fail_memory(error);
    }
    ef_digest(w.bytes, w.n_bytes, seal);
    efface_status status = ef_sql_prepare(
        store, "INSERT OR REPLACE INTO facts VALUES ('head', ?1), ('seal', ?2)", &statement, error);
    if (status == EFFACE_OK) {
        ef_sql_bind_bytes(statement, 1, w.bytes, w.n_bytes);
        ef_sql_bind_bytes(statement, 2, seal, sizeof seal);
        status = ef_sql_do(store, statement, error);
    }
    (void)sqlite3_finalize(statement);
    sodium_memzero(w.bytes, w.n_bytes);
    ef_free(w.bytes);
    if (status == EFFACE_OK) {
        memcpy(store->head_seal, seal, sizeof seal);
        store->head_changed = false;
    }
    return status;
}

void ef_receipt_key_digest(const unsigned char key[EFFACE_RECEIPT_KEY_BYTES],
                           unsigned char digest[EFFACE_DIGEST_BYTES]) {
    ef_digest(key, EFFACE_RECEIPT_KEY_BYTES, digest);
}

/* Without offsets and types, it is the digest of the names alone, as it was before these existed. An
 * older program does not know them: it finds the names of a store that has them damaged, and
 * refuses the store. With types there are always offsets, which may be 0. */
efface_status ef_names_digest(char *const *names, const double *offsets,
                              const efface_column_type *types, uint32_t n_columns,
                              unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    ef_writer w = {0};
    for (uint32_t j = 0; j < n_columns; j++) {
        const char *const name = names != NULL ? names[j] : NULL;
        const size_t n = name != NULL ? strlen(name) : 0;
        ef_write_u64(&w, name != NULL ? n + 1 : 0);
        if (n != 0)
            ef_write_bytes(&w, name, n);
    }
    for (uint32_t j = 0; (offsets != NULL || types != NULL) && j < n_columns; j++)
        ef_write_f64(&w, offsets != NULL ? offsets[j] : 0.0);
    for (uint32_t j = 0; types != NULL && j < n_columns; j++)
        ef_write_u32(&w, (uint32_t)types[j]);
    const bool failed = w.failed;
    if (!failed)
        ef_digest(w.bytes, w.n_bytes, digest);
    ef_free(w.bytes);
    return failed ? ef_fail_memory(error) : EFFACE_OK;
}
