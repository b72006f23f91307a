/*
 * Greedy seeding at work: what is known of the rows between its rounds, and the passes over them
 * (greedy_passes.c) that the rounds (seeding_greedy.c) are made of.
 */
#ifndef EF_GREEDY_H
#define EF_GREEDY_H

#include "model/kmeans/definition/levels.h"
#include "model/kmeans/seeding/seed_panels.h"

#define EF_MOST_CANDIDATES 64 /* in a round: a bit for each slot */

/* What is known of a panel. */
typedef struct ef_greedy_panel {
    double most;      /* the largest weight * u of its rows */
    int64_t farthest; /* the largest u */
    uint64_t tried;   /* the slots whose distances are kept, in their order */
    uint64_t reached; /* those of them whose candidates are nearer to one of its rows */
} ef_greedy_panel;

typedef struct ef_greedy {
    ef_passes *passes;
    ef_worker *workers;
    uint64_t seed;
    uint32_t n_clusters, n_slots;
    bool adds_squares; /* of all rows, to those of the workers */
    uint32_t round;
    uint32_t n_racing;    /* slots of this round's races */
    bool takes_over;      /* a seed is still to be taken over: */
    uint32_t taken;       /* it was in this slot, */
    uint32_t taken_seed;  /* and it has this number */
    const int32_t *seeds; /* `round` of them */
    ef_point *met;        /* those that rows are first measured against */
    double *met_reals;
    ef_seed_panels abreast; /* the seeds again, */
    uint32_t n_abreast;     /* so many of them */

    /* Of each panel; of each row, panels being whole. */
    ef_greedy_panel *panels;
    int64_t *squares;   /* |g|^2, */
    int64_t *distances; /* u, */
    int64_t *tried;     /* and, for each panel and slot, the distance to a candidate */
    uint32_t *nearest;  /* of each row that is there: the seed that u belongs to; borrowed */

    /* Of each slot. */
    ef_racer *candidates;
    int32_t *points;
    ef_point *to_try; /* the points again */
    double *reals;
    ef_i128 *potentials;
    uint32_t *same_as; /* the first slot with the same candidate */
    int64_t *apart;    /* and of each seed: a quarter of their squared distance or less, */
    int64_t *least;    /* and the smallest of these */

    /* Of each worker, for each slot. */
    ef_racer *best;
    ef_i128 *gains;
    size_t *n_tried;    /* of each worker: panels, for each slot, */
    size_t *n_reached;  /* and those of them where a candidate was nearer to a row */
    bool sifts;         /* float distances first: it pays where most panels gain nothing */
    ef_centers *sieves; /* the candidates, as many at a time as a tile has */
    uint32_t n_sieves;
    void *block; /* all of these arrays but `nearest` */
} ef_greedy;

/* ef_seed for several candidates a round. */
efface_status ef_seed_greedily(ef_workspace *space, const ef_kmeans_plan *plan,
                               const ef_seeds *seeds, uint32_t from, uint32_t *labels,
                               bool *has_labels, efface_error *error);

/* False if out of memory; ef_greedy_free is due in any case. */
bool ef_greedy_init(ef_greedy *g, ef_workspace *space, const ef_kmeans_plan *plan,
                    const int32_t *seeds, uint32_t *nearest);
void ef_greedy_free(ef_greedy *g);

/* Measures all rows against the seeds so far; *potential becomes the sum of w u. Adds squares
 * if that is wanted. */
efface_status ef_greedy_measure(ef_greedy *g, ef_i128 *potential, efface_error *error);

/* The races of a round: g->candidates become its winners. */
efface_status ef_greedy_race(ef_greedy *g, uint32_t n_racing, efface_error *error);

/* The potentials of a round's candidates; `before` is that of the seeds. */
efface_status ef_greedy_try(ef_greedy *g, ef_i128 before, efface_error *error);

/* The candidate in a slot is now seed number g->round. */
void ef_greedy_choose(ef_greedy *g, uint32_t slot);

/* After the last round: g->nearest becomes what it is with all seeds. */
efface_status ef_greedy_finish(ef_greedy *g, efface_error *error);

/* What measuring, a race and a trial take for each panel, in multiply-adds. */
size_t ef_greedy_operations(uint32_t n_columns);

#endif
