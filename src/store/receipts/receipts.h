/* Receipts: written (receipts.c), their hashes of rows (receipt_roots.c), and read again
 * (receipt_chains.c). */
#ifndef EF_RECEIPTS_H
#define EF_RECEIPTS_H

#include "base/bytes/encode.h"
#include "efface/efface.h"
#include "store/receipts/receipt_states.h"

#include <stdbool.h>

#define EF_SIGNED_FIELDS ",\"public_key\":\""

/* The hash of an id under a receipt key; hashes in order. */
void ef_row_hash(const unsigned char key[EFFACE_RECEIPT_KEY_BYTES], uint64_t id,
                 unsigned char hash[EFFACE_ROW_HASH_BYTES]);
void ef_row_hashes_sort(unsigned char *hashes, size_t n_hashes);

/* Whether a text is somewhere in bytes. */
bool ef_bytes_have(ef_decoder bytes, const char *wanted);

/* The time of a receipt that is written now: that of the clock, or of the last receipt if that is
 * later (receipt_times.c). */
#define EF_TIME_BYTES 21 /* 2026-01-31T10:20:30Z, and a 0 */
efface_status ef_receipt_time(efface_store *store, char out[EF_TIME_BYTES], efface_error *error);

/* Whether a receipt names a digest as that of the one before. */
bool ef_receipt_follows(ef_decoder body, const unsigned char digest[EFFACE_DIGEST_BYTES]);

/* Appends the receipt of a request: `kind` is "forget", "learn", "update", "publish", "rekey",
 * "add", "drop" or "spread", `ids` are those of the rows concerned. Hands their hashes to the
 * report. After the last receipt of a transaction their number is signed, if receipts are. A state
 * in the report that is zeros is that of no model. */
efface_status ef_receipt_append(efface_store *store, const char *kind, const uint64_t *ids,
                                size_t n_ids, efface_store_report *report, efface_error *error);

efface_status ef_receipts_sign(efface_store *store, efface_error *error);

/* The receipt of something that concerns models and no rows, and its signature. */
efface_status ef_receipt_of_models(efface_store *store, const char *kind,
                                   efface_model_report *models, uint32_t n_models,
                                   efface_error *error);

/* Whether receipts have no gaps, each names the one before and finds models as they were left, and
 * the last is the one that the head has; CORRUPT if not. And the signature of how many there are.
 * `states` has the models as the last receipts left them; release it in any case. */
efface_status ef_receipts_check(efface_store *store, ef_state_list *states, efface_error *error);

#endif
