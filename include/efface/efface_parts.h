/* A store in parts, one for each rank of a group. Part of efface.h. */
#ifndef EFFACE_PARTS_H
#define EFFACE_PARTS_H

#include "efface/efface_store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A store in parts is a folder: a manifest, and a file for each rank of a group with the rows of
 * that rank. The first file also has the models and the receipts. Make it and open it with a group
 * in the options. Then all ranks make the same calls in the same order, each with its own handle. A
 * call that fails on one rank fails on all, and the message names the rank. Models, digests and
 * receipts are those of a store of one file with the same rows (docs/definition/store_parts.md).
 *
 * - efface_store_create: each rank gives its own part of the rows, every row with an id, and the
 *   same models and options. A set that has not joined the group (efface_data_join) is copied for
 *   the fit.
 * - efface_store_open: with as many ranks as there are parts; otherwise the error says how to
 *   spread the rows again. A store that is opened for writing finishes a request that was
 *   interrupted; to open it for reading while such a request waits is EFFACE_E_BUSY.
 * - efface_store_forget, efface_store_preview and efface_store_find take the request of rank 0,
 *   efface_store_learn and efface_store_update the rows and texts of rank 0. The others may give
 *   NULL. A learned row goes to a part that its id determines. All ranks get the counts of the
 *   report, the number of the receipt and the new ids; only rank 0 gets what became of each model,
 *   and the hashes of rows.
 * - efface_store_load gives each rank its own rows, as a set that has joined, and the whole model.
 *   All ranks call efface_store_fit, efface_store_rekey and efface_store_verify. While a model is
 *   fitted, the store is locked.
 * - efface_store_get_info, efface_store_models, efface_store_find_model, efface_store_describe,
 *   efface_store_model_columns, efface_store_model, efface_store_encode, efface_store_receipt,
 *   efface_store_text and efface_store_owners give all ranks the same answer, about the whole
 *   store; info says which part the rank has. efface_store_drop, efface_store_verify_receipts and
 *   efface_store_compact concern the whole store. efface_store_check tells each rank what is wrong
 *   with its own part, and all what is wrong with a model.
 * - efface_store_close, efface_store_column, efface_store_offset, efface_store_text_id,
 *   efface_store_load_options, efface_store_row_hash and efface_store_count_changes need no other
 *   rank; the last counts changes of the rank's own file.
 * - `resident`, efface_store_publish, and more than one change at a time in efface_store_change_all
 *   are refused with EFFACE_E_ARGUMENT.
 *
 * A request is decided when part 0 has it on the disk, together with what the others still have to
 * do. It is acknowledged when all parts have it, and part 0 has removed that note. If a rank fails
 * in between, the error says that the request is done in part 0 only. The next call that writes, by
 * any process, finishes it.
 *
 * A part can be opened alone, without a group, but only to look at it: info, models, receipts.
 * Whatever needs all rows, or writes, is refused. */

/* Spreads the rows of a store in parts over as many parts as the group in the options has ranks, by
 * their ids. Models stay unchanged, and a receipt is added. Every rank must reach the files of the
 * old parts: rank r reads part r, r + size, and so on. The new parts are made next to the old ones.
 * When they are complete, the manifest is replaced and the old ones are removed. If the call fails,
 * nothing has changed. Only where the disk fails while the manifest is replaced, the store may have
 * the new parts; the next that opens it for writing removes what it does not need. Errors: as
 * efface_store_open. */
EFFACE_API efface_status efface_store_spread(const char *path, const efface_store_options *options,
                                             efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
