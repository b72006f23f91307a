/*
 * The margins of a level that are kept: its partition, and for each row how far centers may move
 * before the row can change its cluster. When the level's centers move, only rows that may have
 * changed are looked at.
 *
 * The margin of a row is the distance to its second-nearest center less that to its nearest. If
 * centers have moved since, each by at most s, a distance has changed by at most s; so the nearest
 * is still the nearest, and no other is as near, while the margin is larger than the two largest
 * moves together. Margins are rounded downwards and moves upwards. A row whose margin is used up
 * is looked at by the exact kernel, so margins decide what is looked at and never what comes out;
 * they are no part of the state and can be dropped at any time.
 *
 * Rows are in tiers. Those of tier j are safe until centers have moved by 2^j grid steps from where
 * they were when the tier was last looked at, its anchor; then all of them are looked at, and each
 * goes to the tier that its margin now allows. The distance that counts is the net one from the
 * anchor: requests push centers to and fro, and far rows are looked at rarely, near ones often. The
 * path that centers took is an upper bound, cheap to keep; the net distance is computed when the
 * path is used up.
 *
 * Rows with margins that a few requests may use up are kept border by border (border_rows.h), with
 * more of each. Which margins these are follows from how far centers have moved lately.
 *
 * Memory: 3 bytes a row, some ten copies of the centers, and for each row near a border its
 * coordinates at a byte each.
 */
#ifndef EF_LEVEL_MARGINS_H
#define EF_LEVEL_MARGINS_H

#include "model/kmeans/kept/border_rows.h"
#include "model/request/change.h"

#define EF_AT_BORDER 0             /* for a tier; tiers are 1 and up */
#define EF_TIER_NEW (EF_TIERS - 1) /* rows to be looked at in any case */
#define EF_MOST_LEVELS_KEPT 32
#define EF_MOST_CLUSTERS_KEPT (UINT16_MAX - 1)

typedef struct ef_level_margins {
    uint8_t *tiers;     /* by position; NULL: nothing is kept */
    uint16_t *clusters; /* by position; UINT16_MAX if not known */
    size_t n_rows, capacity;
    size_t n_in[EF_TIERS];      /* rows of each tier, */
    size_t users[EF_TIERS];     /* and near borders with this tier as third */
    int32_t *anchors[EF_TIERS]; /* centers when a tier was looked at; NULL if it never had rows */
    double moved[EF_TIERS];     /* how far centers are from there, at most: the two largest moves */
    ef_border_rows border_rows;
    uint32_t edge;      /* rows with a margin below 2^(edge + 1) are kept by border; */
    uint32_t last_edge; /* at most this, lest these be too many */
    double usual;       /* how far centers have moved lately in one request */
} ef_level_margins;

void ef_level_margins_free(ef_level_margins *kept);
size_t ef_level_margins_bytes(const ef_level_margins *kept, size_t n_clusters, size_t n_columns);

/* Keeps the margins of all rows of a level, whose partition is in `labels`. False if memory is
 * short or rows are too many, and then nothing is kept. `usual` is a guess of how far a
 * request will move centers. */
bool ef_level_margins_make(ef_level_margins *kept, const efface_data *data, const ef_map *map,
                           const ef_level *level, uint32_t n_clusters, const uint32_t *labels,
                           const float *margins, double usual);

/* The partition as it is known: EF_NO_CLUSTER for rows that have come and were not looked at. */
void ef_level_margins_labels(const ef_level_margins *kept, uint32_t *labels);

/* Follows a change of the set. labels[i] is read for a row that comes (EF_NO_CLUSTER if it is not
 * known) and written for one that leaves. False if out of memory or rows are too many; what is
 * kept is then of no use any more. */
bool ef_level_margins_follow(ef_level_margins *kept, const ef_change *change, uint32_t *labels);

/* Brings partition, counts and sums to what they are with the centers `after`. False if so many
 * rows would have to be looked at that a pass over all is faster, or memory runs out: partition,
 * counts and sums then still belong together, for a pass to start from, but margins must be
 * measured anew. */
bool ef_level_margins_move(ef_level_margins *kept, ef_center_move *move);

#endif
