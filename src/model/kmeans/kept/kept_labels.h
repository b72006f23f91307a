/*
 * Kept labels: a partition, and for each row how far centers may move before the row can change its
 * cluster. Two bytes a row, for the method pyramid, whose levels change with one request in thirty
 * or so; what lloyd keeps (level_margins.h) takes more memory and finds rows without passing over
 * all.
 *
 * The margin of a row is the distance to its second-nearest center less that to its nearest, as it
 * was when centers were at the anchor. While it is larger than the two largest moves of centers
 * from there together, the row is where it was at the anchor (level_margins.h says why). It is kept
 * as a code, rounded downwards to a quarter of a power of two. A row whose cluster is not, or may
 * not be, that of the anchor is loose: it has code 0, and is looked at each time. Rows that were
 * looked at count up; when they have cost what a pass costs, the next move is a pass, which
 * measures all margins again from a new anchor.
 *
 * Rows are looked at by the exact kernel, so margins decide what is looked at and never what comes
 * out; all of this is no part of the state.
 */
#ifndef EF_KEPT_LABELS_H
#define EF_KEPT_LABELS_H

#include "model/kmeans/kept/center_move.h"
#include "model/request/change.h"

/* Codes have six bits; the others are marks of sample and jury (pilot.h). */
#define EF_MARGIN_CODES 64
#define EF_MARGIN_CODE 63

typedef struct ef_kept_labels {
    uint8_t *codes;   /* of each row; NULL: nothing is kept */
    void *labels;     /* of each row, bytes, or 32-bit integers if clusters are many */
    bool wide;        /* they are */
    bool is_anchored; /* margins are known, from here: */
    int32_t *anchor;  /* centers */
    size_t n_looked;  /* rows looked at since */
    uint8_t n_passes; /* before margins are measured again, and */
    uint8_t n_waits;  /* as many if they are of no use once more */
} ef_kept_labels;

/* Takes over the codes of n_rows rows, which are marks alone; labels are to come (pack). False if
 * memory runs out, and then the codes are still the caller's. */
bool ef_kept_labels_init(ef_kept_labels *kept, uint8_t *codes, size_t n_rows, uint32_t n_clusters,
                         uint32_t n_columns);
void ef_kept_labels_free(ef_kept_labels *kept);
size_t ef_kept_labels_bytes(const ef_kept_labels *kept, size_t n_rows, size_t n_clusters,
                            size_t n_columns);

/* Follows a change of a set, which has n_rows rows after it: labels and ranks are those of the
 * changed rows, of which only those that come are read; without ranks rows have no marks. False if
 * out of memory; what is kept is then of no use any more. */
bool ef_kept_labels_follow(ef_kept_labels *kept, const ef_change *change, size_t n_rows,
                           const uint32_t *labels, const ef_rank *ranks, uint32_t shift);

/* Rows of a change leave for good. A center of the anchor that stood where one was (a seed, or the
 * center of the row alone) is a copy of it: then there are no margins any more. */
void ef_kept_labels_forget(ef_kept_labels *kept, const ef_change *change, const ef_map *map,
                           uint32_t n_clusters);

static inline uint32_t ef_kept_label(const ef_kept_labels *kept, size_t row) {
    return kept->wide ? ((const uint32_t *)kept->labels)[row]
                      : ((const uint8_t *)kept->labels)[row];
}

/* Whether margins are wanted of the next pass. */
static inline bool ef_kept_labels_want_margins(const ef_kept_labels *kept) {
    return kept->n_passes == 0;
}

/* All labels as 32-bit integers; and the other way round after a pass, with margins measured from
 * `centers`, or NULL. */
void ef_kept_labels_unpack(const ef_kept_labels *kept, size_t n_rows, uint32_t *labels);
void ef_kept_labels_pack(ef_kept_labels *kept, size_t n_rows, const uint32_t *labels,
                         const float *margins, const int32_t *centers, uint32_t n_clusters,
                         uint32_t n_columns);

/* Brings the partition, counts and sums to what they are with the centers `after`. False if a pass
 * over all rows is faster, or memory runs out, and then nothing has changed. */
bool ef_kept_labels_move(ef_kept_labels *kept, ef_center_move *move);

#endif
