/* Transactions, and what a call of a handle begins with (transactions.c). */
#ifndef EF_TRANSACTIONS_H
#define EF_TRANSACTIONS_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stdint.h>

/* A transaction; it begins with the head of the store, whose seal is verified. `end` commits it if
 * `status` is OK, with the head if that has changed, else takes it back, and returns what became of
 * it. All parts of a store (parts.h) begin and end together, and find the same status. */
efface_status ef_store_begin(efface_store *store, bool writes, efface_error *error);
efface_status ef_store_end(efface_store *store, efface_status status, efface_error *error);

/* The same for the file of a handle alone, be it a part; `prepare` writes what the commit needs. */
efface_status ef_file_begin(efface_store *store, bool writes, efface_error *error);
efface_status ef_file_prepare(efface_store *store, efface_error *error);
efface_status ef_file_end(efface_store *store, efface_status status, efface_error *error);

/* The same for a file whose head cannot be read yet. */
efface_status ef_store_begin_bare(efface_store *store, bool writes, efface_error *error);

/* Whether the store was opened by this process; and to write. */
efface_status ef_store_check_process(const efface_store *store, efface_error *error);
efface_status ef_store_may_write(const efface_store *store, efface_error *error);

/* Has a model with these parameters tell the caller of the store how much of its work is done, and
 * ask whether to go on. `telling` is to outlive the parameters and the model. Does nothing if the
 * caller does not want to know. */
typedef struct ef_telling {
    const efface_store *store;
    efface_phase phase;
    bool interrupted;
} ef_telling;

void ef_store_tell(const efface_store *store, efface_phase phase, efface_params *params,
                   ef_telling *telling);

/* Tells the caller how much of long work is done. */
efface_status ef_store_progress(const efface_store *store, efface_phase phase, uint64_t done,
                                uint64_t of, efface_error *error);

#endif
