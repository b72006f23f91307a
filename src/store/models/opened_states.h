/* States of which only the parts that are needed are read (opened_states.c). */
#ifndef EF_OPENED_STATES_H
#define EF_OPENED_STATES_H

#include "base/bytes/section_reading.h"
#include "store/models/state_index.h"
#include "store/models/state_parts.h"

/* A state in the file. The store must be in the transaction in which it was opened. */
typedef struct ef_opened {
    ef_sections sections; /* for the family */
    efface_store *store;
    int64_t number;
    ef_state_index index;
    ef_state layout;       /* its parts, without the bytes */
    unsigned char **parts; /* their bytes, or NULL: not read yet */
    sqlite3_stmt *reading; /* of parts, or NULL */
    ef_writer joined;      /* the section that was handed out last, if it is of several parts */
} ef_opened;

/* Opens the state of the model with a number, if there is an index of it; `opened` is NULL
 * otherwise. The parts must have that sum, and the state the digest. */
efface_status ef_opened_make(efface_store *store, int64_t number, ef_decoder first,
                             const unsigned char sum[EF_PARTS_BYTES],
                             const unsigned char digest[EFFACE_DIGEST_BYTES], ef_opened **opened,
                             efface_error *error);
void ef_opened_free(ef_opened *opened);

/* How many bytes of its parts were read: those that may be written again. */
size_t ef_opened_bytes_read(const ef_opened *opened);

/* What becomes of a state of which sections were written, and others kept: its index and its parts
 * without bytes; and, with their bytes, the parts that may change as they are and as they will be,
 * of which the first is always one. */
typedef struct ef_opened_change {
    ef_state_index index;
    ef_state layout, before, after;
} ef_opened_change;

efface_status ef_opened_follow(ef_opened *opened, const ef_writer *writer, ef_opened_change *change,
                               efface_error *error);
void ef_opened_change_free(ef_opened_change *change);

#endif
