/* What a change was to a k-means model: how much work, why, and where. */
#ifndef EF_EFFORT_H
#define EF_EFFORT_H

#include "efface/efface.h"

#include <stdbool.h>

/* Why more than sums had to change. */
typedef enum ef_reason {
    EF_REASON_NONE = 0,
    EF_REASON_CENTERS = 1,  /* a centroid of a level came out differently */
    EF_REASON_GAMMA = 2,    /* the threshold gamma n / k moved the centroid of a cluster that no row
                               of the request was in */
    EF_REASON_EMPTY = 3,    /* a cluster became empty, or its reseeding has another winner */
    EF_REASON_STOP = 4,     /* the loss now falls, or no longer falls, at a level */
    EF_REASON_SEED = 5,     /* a seed left, or a new row won its race */
    EF_REASON_BOUND = 6,    /* the bound of the grid moved */
    EF_REASON_SCALE = 7,    /* the range of a column moved */
    EF_REASON_EPSILON = 8,  /* the automatic lattice width moved */
    EF_REASON_CLUSTERS = 9, /* the number of centroids changed with the number of rows */
    EF_REASON_RATE = 10,    /* the size of the sample moved */
    EF_REASON_SAMPLE = 11,  /* a row of the sample left, came or changed; or one of the jury, and
                               another start is now the best */
    EF_REASON_WIDTH = 12,   /* the automatic width of the tree moved */
    EF_REASON_SPREAD = 13   /* the unit or the centre of a column moved */
} ef_reason;

/* A reason in a few words, as reports have it. */
const char *ef_reason_name(ef_reason reason);

typedef struct ef_effort {
    efface_action action;
    ef_reason reason;
    uint32_t level;           /* repaired: the first level that was computed again */
    uint32_t levels_replayed; /* levels whose rows were assigned again */
    uint64_t rows_visited;    /* assignments of rows that were not part of the request */
    bool of_tree;             /* then: */
    uint32_t depth;           /* how near to the root the change came: 0 is the root; the height
                                 means that it stopped at the leaves */
} ef_effort;

#endif
