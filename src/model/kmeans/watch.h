/*
 * A watch: the partition of a level, and for each row how far centers may move before the row can
 * change its cluster. When the level's centers move, only rows that may have changed are looked at.
 *
 * The margin of a row is the distance to its second-nearest center less that to its nearest. If
 * centers have moved since, each by at most s, a distance has changed by at most s; so the nearest
 * is still the nearest, and no other is as near, while the margin is larger than the two largest
 * moves together. Margins are rounded downwards and moves upwards. A row whose margin is used up
 * is looked at by the exact kernel, so a watch decides what is looked at and never what comes out;
 * it is no part of the state and can be dropped at any time.
 *
 * Rows are in tiers. Those of tier j are safe until centers have moved by 2^j grid steps from where
 * they were when the tier was last looked at, its anchor; then all of them are looked at, and each
 * goes to the tier that its margin now allows. The distance that counts is the net one from the
 * anchor: requests push centers to and fro, and far rows are looked at rarely, near ones often. The
 * path that centers took is an upper bound, cheap to keep; the net distance is computed when the
 * path is used up.
 *
 * The nearest rows of all are the front. They are looked at whenever a center moves, and to make
 * that quick their values are copied into panels of their own. Which margins make a row part of the
 * front follows from how far centers have moved lately; it has a small part of all rows.
 *
 * Memory: 13 bytes a row, the values of the rows of the front, and the centers of each tier that
 * has rows.
 */
#ifndef EF_WATCH_H
#define EF_WATCH_H

#include "model/kmeans/change.h"
#include "model/kmeans/workspace.h"

#define EF_TIERS 64
#define EF_FRONT 0 /* the number of the front; tiers are 1 and up */
#define EF_MOST_WATCHED_LEVELS 32

/* A row in the list of a tier. */
typedef struct ef_watched {
    uint32_t position;
    uint32_t cluster; /* EF_NO_CLUSTER if it has come and was not looked at */
} ef_watched;

typedef struct ef_tier {
    ef_watched *rows;
    size_t n_rows, capacity;
    int32_t
        *anchor;  /* the centers when it was looked at; NULL if it never had rows, or the front */
    double moved; /* how far centers are from there, at most: the two largest moves together */
} ef_tier;

typedef struct ef_watch {
    uint8_t *tier_of; /* by position; NULL: no watch */
    uint32_t *slots;  /* by position: place in the tier's list */
    size_t n_rows, capacity;
    ef_tier tiers[EF_TIERS];
    float *front;       /* panels: the values of the rows of the front, in the order of its list */
    uint32_t edge;      /* rows with a margin below 2^(edge + 1) belong to the front; */
    uint32_t last_edge; /* at most this, lest the front have too many rows */
    double usual;       /* how far centers have moved lately in one request */
    bool has_new;       /* rows have come that were not looked at */
} ef_watch;

void ef_watch_free(ef_watch *watch);
size_t ef_watch_bytes(const ef_watch *watch, size_t n_clusters, size_t n_columns);

/* Makes a watch of a level whose partition is in `labels`, given the margins of all rows. False if
 * memory is short, and then there is no watch. `usual` is a guess of how far a request will move
 * centers. */
bool ef_watch_make(ef_watch *watch, const efface_data *data, const ef_level *level,
                   uint32_t n_clusters, const uint32_t *labels, const float *margins, double usual);

/* The partition as it is known: EF_NO_CLUSTER for rows that have come and were not looked at. */
void ef_watch_labels(const ef_watch *watch, uint32_t *labels);

/* Lets the watch follow a change of the set. labels[i] is read for a row that comes (EF_NO_CLUSTER
 * if it is to be looked at) and written for one that leaves. False if memory is short; the watch is
 * then of no use any more. */
bool ef_watch_follow(ef_watch *watch, const ef_change *change, uint32_t *labels);

/* What it takes to move centers. */
typedef struct ef_moving {
    const efface_data *data; /* the rows that the watch has followed */
    const ef_map *map;
    const ef_kernels *kernels;
    uint32_t n_clusters;
    const int32_t *before, *after;                    /* centers */
    int64_t *counts, *sums;                           /* of the rows with a cluster; then of all */
    float *room;                                      /* two panels, the first of finite values */
    uint64_t rows_looked, rows_moved, rows_undecided; /* added to */
} ef_moving;

/* Brings partition, counts and sums to what they are with the centers `after`. `few` is false if so
 * many rows would have to be looked at that a pass over all is faster; nothing but the watch's
 * knowledge of moves has changed then, and it must be made anew. Errors: MEMORY, and then the watch
 * is of no use any more. */
efface_status ef_watch_move(ef_watch *watch, ef_moving *moving, bool *few, efface_error *error);

#endif
