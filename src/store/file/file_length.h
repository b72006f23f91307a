/* What a store's file has behind its last page (file_length.c). */
#ifndef EF_FILE_LENGTH_H
#define EF_FILE_LENGTH_H

#include "efface/efface.h"

#include <stdbool.h>
#include <stdint.h>

/* How many bytes stand there, in a transaction that has read and has not written yet. */
efface_status ef_file_excess(efface_store *store, uint64_t *n_bytes, efface_error *error);

/* Cuts them off for good, in a transaction that writes and has not written yet; it must begin again
 * if something was cut. CORRUPT, and nothing is cut, if a page behind the last one is in use. */
efface_status ef_file_cut(efface_store *store, bool *was_cut, efface_error *error);

/* Waits until the disk has the length of the file, too. */
efface_status ef_file_sync(efface_store *store, efface_error *error);

#endif
