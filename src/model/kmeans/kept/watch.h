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
 * Rows with margins that a few requests may use up are in the front (front.h), which knows more of
 * each. Which margins these are follows from how far centers have moved lately.
 *
 * Memory: 3 bytes a row, some ten copies of the centers, and for each row of the front its
 * coordinates at a byte each.
 */
#ifndef EF_WATCH_H
#define EF_WATCH_H

#include "model/change.h"
#include "model/kmeans/definition/workspace.h"
#include "model/kmeans/kept/front.h"

#define EF_IN_FRONT 0              /* for a tier; tiers are 1 and up */
#define EF_TIER_NEW (EF_TIERS - 1) /* rows to be looked at in any case */
#define EF_MOST_WATCHED_LEVELS 32
#define EF_MOST_WATCHED_CLUSTERS (UINT16_MAX - 1)

typedef struct ef_watch {
    uint8_t *tiers;     /* by position; NULL: no watch */
    uint16_t *clusters; /* by position; UINT16_MAX if not known */
    size_t n_rows, capacity;
    size_t n_in[EF_TIERS];      /* rows of each tier, */
    size_t users[EF_TIERS];     /* and of the front with this tier as third */
    int32_t *anchors[EF_TIERS]; /* centers when a tier was looked at; NULL if it never had rows */
    double moved[EF_TIERS];     /* how far centers are from there, at most: the two largest moves */
    ef_front front;
    uint32_t edge;      /* rows with a margin below 2^(edge + 1) belong to the front; */
    uint32_t last_edge; /* at most this, lest the front have too many rows */
    double usual;       /* how far centers have moved lately in one request */
} ef_watch;

void ef_watch_free(ef_watch *watch);
size_t ef_watch_bytes(const ef_watch *watch, size_t n_clusters, size_t n_columns);

/* Makes a watch of a level whose partition is in `labels`, given the margins of all rows. False if
 * memory is short or rows are too many, and then there is no watch. `usual` is a guess of how far a
 * request will move centers. */
bool ef_watch_make(ef_watch *watch, const efface_data *data, const ef_map *map,
                   const ef_level *level, uint32_t n_clusters, const uint32_t *labels,
                   const float *margins, double usual);

/* The partition as it is known: EF_NO_CLUSTER for rows that have come and were not looked at. */
void ef_watch_labels(const ef_watch *watch, uint32_t *labels);

/* Lets the watch follow a change of the set. labels[i] is read for a row that comes (EF_NO_CLUSTER
 * if it is not known) and written for one that leaves. False if memory is short or rows are too
 * many; the watch is then of no use any more. */
bool ef_watch_follow(ef_watch *watch, const ef_change *change, uint32_t *labels);

/* What it takes to move centers. */
typedef struct ef_moving {
    const efface_data *data; /* the rows that the watch has followed */
    const ef_map *map;
    const ef_kernels *kernels;
    uint32_t n_clusters;
    const int32_t *before, *after; /* centers */
    int64_t *counts, *sums;        /* of the rows with a cluster; then of all */
    float *room;                   /* two panels, the first of finite values */
    ef_shift *shift;               /* room, as is the next */
    ef_positions *look;
    uint64_t rows_looked, rows_moved, rows_undecided; /* added to */
} ef_moving;

/* Brings partition, counts and sums to what they are with the centers `after`. False if so many
 * rows would have to be looked at that a pass over all is faster, or memory is short: partition,
 * counts and sums then still belong together, for a pass to start from, but the watch must be made
 * anew.
 */
bool ef_watch_move(ef_watch *watch, ef_moving *moving);

#endif
