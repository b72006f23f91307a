/* What is known of a state whose digest is one by sections, without reading it (state_index.c). */
#ifndef EF_STATE_INDEX_H
#define EF_STATE_INDEX_H

#include "base/bytes/encode.h"
#include "efface/efface.h"

/* How long the sections of a state are, and the digests of all but the first. */
typedef struct ef_state_index {
    ef_cuts cuts;   /* between the sections */
    ef_cuts pieces; /* inside those that are long */
    size_t n_bytes;
    unsigned char *digests; /* one after the other: that of the section at each cut */
} ef_state_index;

void ef_state_index_free(ef_state_index *index);

/* That of bytes with these cuts; where bytes were kept (encode.h), they are those of `before`. */
efface_status ef_state_index_make(const ef_writer *writer, const ef_state_index *before,
                                  ef_state_index *index, efface_error *error);

/* Where a section begins; the number of sections begins at the end. */
static inline size_t ef_section_begin(const ef_state_index *index, size_t section) {
    return section == 0               ? 0
           : section <= index->cuts.n ? index->cuts.at[section - 1]
                                      : index->n_bytes;
}

/* Reads the index of the model with a number; one without sections, if there is none. Or writes it
 * in the place of another; or takes it out. */
efface_status ef_state_index_read(efface_store *store, int64_t number, ef_state_index *index,
                                  efface_error *error);
efface_status ef_state_index_write(efface_store *store, int64_t number, const ef_state_index *index,
                                   efface_error *error);
efface_status ef_state_index_drop(efface_store *store, int64_t number, efface_error *error);

/* Whether the index in the file is this one, and how many pieces it has. */
efface_status ef_state_index_check(efface_store *store, int64_t number, const ef_state_index *index,
                                   uint64_t *n_pieces, efface_error *error);

#endif
