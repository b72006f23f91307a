/* A store in parts, one for each rank of a group. Part of efface.h. */
#ifndef EFFACE_PARTS_H
#define EFFACE_PARTS_H

#include "efface/efface_store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A store in parts is a folder: a manifest, and a file for each rank of a group with the rows that
 * the rank has. The first also has the models and the receipts. It is made and opened with a group
 * in the options, and then all ranks make the same calls in the same order, each with its own
 * handle. A call that fails on one rank fails on all, and the message names the rank. Models,
 * digests and receipts are those of a store of one file with the same rows.
 *
 * - efface_store_create: each rank gives its own part of the rows, every row with an id, and the
 *   same models and options. A set that has not joined the group (efface_data_join) is copied for
 *   the fit. efface_store_open: with as many ranks as there are parts; otherwise the error says how
 *   to spread the rows anew. A store that is opened to write finishes a request that was
 *   interrupted; one that is opened to read while such a request waits is BUSY.
 * - efface_store_forget, efface_store_preview and efface_store_find take the request of rank 0,
 *   efface_store_learn and efface_store_update the rows and texts of rank 0. The others may give
 *   NULL. A row that is learned goes to a part that its id determines. All ranks get the counts of
 *   the report, the number of the receipt and the new ids; rank 0 alone gets what became of each
 *   model, and the hashes of rows.
 * - efface_store_load gives each rank its own rows, as a part that has joined, and the whole model.
 *   efface_store_fit, efface_store_rekey and efface_store_verify are made by all ranks. While a
 *   model is fitted, the store is locked.
 * - efface_store_get_info, efface_store_models, efface_store_find_model, efface_store_describe,
 *   efface_store_model_columns, efface_store_model, efface_store_encode, efface_store_receipt,
 *   efface_store_text and efface_store_owners give all ranks the same, of the whole store; info
 *   says which part the rank has. efface_store_drop, efface_store_verify_receipts and
 *   efface_store_compact concern the whole store. efface_store_check tells each rank what is wrong
 *   with its own part, and all what is wrong with a model.
 * - efface_store_close, efface_store_column, efface_store_offset, efface_store_text_id,
 *   efface_store_load_options, efface_store_row_hash and efface_store_count_changes need no other
 *   rank; the last is of the rank's own file.
 * - Refused with ARGUMENT: `resident`, efface_store_publish, and more than one change at a time in
 *   efface_store_change_all.
 *
 * A request is decided when part 0 has it on the disk, with what the others still have to do; it is
 * acknowledged when all parts have it, and part 0 no longer says so. If a rank fails between, the
 * error says that the request is done in part 0 only. The next call that writes finishes it, be it
 * of other processes.
 *
 * A part can be opened alone, without a group, and only to look at it: info, models, receipts.
 * What takes all rows, or writes, is refused. */

/* Spreads the rows of a store in parts over as many parts as the group in the options has ranks,
 * by their ids. Models and receipts stay as they are. Every rank must reach the files of old parts:
 * rank r reads part r, r + size, and so on. The new parts stand beside the old ones until they are
 * complete; then the manifest is replaced, and the old ones are removed. If it fails, nothing has
 * changed. Errors: as efface_store_open. */
EFFACE_API efface_status efface_store_spread(const char *path, const efface_store_options *options,
                                             efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
