/* States of models, in parts (state_parts.c). */
#ifndef EF_STATE_PARTS_H
#define EF_STATE_PARTS_H

#include "base/bytes/encode.h"
#include "store/seals/head.h"

#include <sqlite3.h>
#include <stddef.h>

/* The most bytes of a part. Pages of a part that do not change are not written, so smaller ones
 * save little; larger ones have more to rewrite where a length changes. */
#define EF_PART_BYTES ((size_t)16384)

/* The number of a part has that of the model, that of its first section, and that of a piece of it.
 * Of more sections than these, the last has what is left. */
#define EF_PIECE_BITS 23
#define EF_SECTION_BITS 20
#define EF_MAX_SECTIONS ((size_t)1 << EF_SECTION_BITS)

/* A part of a state: `place` has the order of parts, without gaps or with. */
typedef struct ef_state_part {
    uint64_t place;
    size_t begin, n_bytes;
} ef_state_part;

/* A state and how it stands in the file. All zeros: nothing is known of it. */
typedef struct ef_state {
    unsigned char *bytes;
    size_t n_bytes;
    ef_state_part *parts;
    size_t n_parts;
} ef_state;

void ef_state_free(ef_state *state);

/* Divides bytes into parts. The state owns the bytes then, if this is OK. `cuts` are those of its
 * writer; {0}: it made none. Where long sections have pieces that end otherwise than after
 * EF_PART_BYTES, these are cuts too (NULL: there are none). And the parts without the bytes. */
efface_status ef_state_divide(unsigned char *bytes, size_t n_bytes, const ef_cuts *cuts,
                              const ef_cuts *pieces, ef_state *state, efface_error *error);
efface_status ef_state_lay_out(size_t n_bytes, const ef_cuts *cuts, const ef_cuts *pieces,
                               ef_state *state, efface_error *error);

/* The number that a new model gets; LIMIT if there is none left. */
efface_status ef_state_number(efface_store *store, int64_t *number, efface_error *error);

/* What a model has in its row of the parts of its state. */
#define EF_PARTS_BYTES 24
ef_decoder ef_state_sum(const ef_head *head, int64_t number, const ef_state *state,
                        unsigned char bytes[EF_PARTS_BYTES]);

/* The first part, which stands in the row of the model. */
ef_decoder ef_state_first(const ef_state *state);

/* Where a part stands, and the last one that a model may have; and the bytes of one that is not the
 * first, to be released with ef_free. The statement begins as NULL, reads many parts, and is
 * finalized by the caller. */
int64_t ef_part_number(int64_t model, uint64_t place);
int64_t ef_last_part_number(int64_t model);
efface_status ef_part_read(efface_store *store, sqlite3_stmt **statement, int64_t number,
                           const ef_state_part *part, unsigned char **bytes, efface_error *error);

/* Reads the state of the model with a number, whose parts must have that sum; or writes it where
 * `before` is, without its first part; or takes it out. */
efface_status ef_state_read(efface_store *store, int64_t number, ef_decoder first,
                            const unsigned char sum[EF_PARTS_BYTES], ef_state *state,
                            efface_error *error);
efface_status ef_state_write(efface_store *store, int64_t number, const ef_state *before,
                             const ef_state *state, efface_error *error);
efface_status ef_state_drop(efface_store *store, int64_t number, efface_error *error);

#endif
