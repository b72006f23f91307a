/*
 * A guard: a partition that is kept, and for each row how far centers may move before the row can
 * change its cluster. Two bytes a row, for the method pyramid, whose levels change with one request
 * in thirty or so; lloyd has watches (watch.h), which take more memory and find rows without
 * passing over all.
 *
 * The margin of a row is the distance to its second-nearest center less that to its nearest, as it
 * was when centers were at the guard's anchor. While it is larger than the two largest moves of
 * centers from there together, the row is where it was at the anchor (watch.h says why). It is kept
 * as a code, rounded downwards to a quarter of a power of two. A row whose cluster is not, or may
 * not be, that of the anchor is loose: it has code 0, and is looked at each time. Rows that were
 * looked at count up; when they have cost what a pass costs, the next move is a pass, which
 * measures all margins again from a new anchor.
 *
 * Rows are looked at by the exact kernel, so a guard decides what is looked at and never what comes
 * out; it is no part of the state.
 */
#ifndef EF_GUARD_H
#define EF_GUARD_H

#include "data/rows.h"
#include "kernel/kernels.h"
#include "model/change.h"

/* Codes have six bits; the others are the owner's (pilot.h). */
#define EF_GUARD_CODES 64
#define EF_GUARD_CODE 63

typedef struct ef_guard {
    uint8_t *codes;   /* of each row; NULL: no guard */
    void *labels;     /* of each row, bytes, or 32-bit integers if clusters are many */
    bool wide;        /* they are */
    bool is_anchored; /* margins are known, from here: */
    int32_t *anchor;  /* centers */
    size_t n_looked;  /* rows looked at since */
    uint8_t n_passes; /* before margins are measured again, and */
    uint8_t n_waits;  /* as many if they are of no use once more */
} ef_guard;

/* Room for n_rows rows, all loose and in cluster 0. False if memory is short. */
bool ef_guard_init(ef_guard *guard, size_t n_rows, uint32_t n_clusters, uint32_t n_columns);
/* A guard of its own with the first n_rows rows of another, and room for `room` of them. */
bool ef_guard_copy(ef_guard *guard, const ef_guard *from, size_t n_rows, size_t room,
                   uint32_t n_clusters, uint32_t n_columns);
/* Makes room for n_rows rows; the new ones are loose and in cluster 0. */
bool ef_guard_grow(ef_guard *guard, size_t n_before, size_t n_rows);
void ef_guard_free(ef_guard *guard);
/* Row number i of a change leaves for good. A center of the anchor that stood where the row was (a
 * seed, or the center of the row alone) is a copy of it: then there are no margins any more. */
void ef_guard_forget(ef_guard *guard, const ef_change *change, size_t i, const ef_map *map,
                     uint32_t n_clusters);
size_t ef_guard_bytes(const ef_guard *guard, size_t n_rows, size_t n_clusters, size_t n_columns);

static inline uint32_t ef_guard_label(const ef_guard *guard, size_t row) {
    return guard->wide ? ((const uint32_t *)guard->labels)[row]
                       : ((const uint8_t *)guard->labels)[row];
}

static inline void ef_guard_set_label(ef_guard *guard, size_t row, uint32_t label) {
    if (guard->wide)
        ((uint32_t *)guard->labels)[row] = label;
    else
        ((uint8_t *)guard->labels)[row] = (uint8_t)label;
}

/* Gives one row's place to another. */
static inline void ef_guard_move_row(ef_guard *guard, size_t to, size_t from) {
    guard->codes[to] = guard->codes[from];
    ef_guard_set_label(guard, to, ef_guard_label(guard, from));
}

/* Whether margins are wanted of the next pass. */
static inline bool ef_guard_wants_margins(const ef_guard *guard) {
    return guard->n_passes == 0;
}

/* All labels as 32-bit integers; and the other way round after a pass, with margins measured from
 * `centers`, or NULL. */
void ef_guard_unpack(const ef_guard *guard, size_t n_rows, uint32_t *labels);
void ef_guard_pack(ef_guard *guard, size_t n_rows, const uint32_t *labels, const float *margins,
                   const int32_t *centers, uint32_t n_clusters, uint32_t n_columns);

/* What it takes to move centers. */
typedef struct ef_guarded {
    const efface_data *data;
    const ef_map *map;
    const ef_kernels *kernels;
    uint32_t n_clusters;
    float *room;                                      /* two panels */
    uint64_t rows_looked, rows_moved, rows_undecided; /* added to */
} ef_guarded;

efface_status ef_guarded_init(ef_guarded *moving, const efface_data *data, const ef_map *map,
                              uint32_t n_clusters, efface_error *error);
void ef_guarded_free(ef_guarded *moving);

/* Brings the partition, and counts and sums that belong to it, to what they are with other centers.
 * `done` is false if a pass over all rows is faster, and then nothing has changed. */
efface_status ef_guard_move(ef_guard *guard, ef_guarded *moving, const int32_t *centers,
                            int64_t *counts, int64_t *sums, bool *done, efface_error *error);

#endif
