/*
 * The revision of a model: what it will be after a change of its set (docs/why/exactness.md).
 *
 * In two steps, so that several models can change together or not at all: making a revision does
 * all that can fail, beside the model; committing it cannot fail.
 */
#ifndef EF_REVISION_H
#define EF_REVISION_H

#include "model/kmeans/definition/levels.h"
#include "model/kmeans/following/effort.h"
#include "model/request/change.h"

typedef struct ef_revision {
    const ef_kmeans *model;
    const ef_counts *counted; /* of the rows after the change */
    const efface_data *data;  /* the rows after the change; NULL: not at hand */
    const ef_change *change;
    const ef_kernels *kernels;

    /* The model to be. Its seeds, rounds, starts, its levels from `first` on and what it keeps are
     * its own if they are there; missing ones are the model's. The rest is shared. */
    ef_kmeans next;
    ef_domain domain; /* as a fit would have it */

    /* For looking at one level: one block of memory, which begins with scratch.sums. */
    ef_level scratch; /* its counts and sums after the change */
    bool *touched;    /* clusters that a changed row is in */
    int32_t *centers; /* of the level to come */
    int32_t *point;   /* a row */
    uint32_t *labels; /* of each changed row at each level that was looked at */

    /* For pyramid, in the same block: the pilot's counts after the change, and the ranks of the
     * changed rows. */
    int64_t *counts;
    ef_rank *ranks;

    /* What was found. */
    ef_reason reason;
    bool refit;          /* everything must be computed again */
    bool pilot_stands;   /* pyramid: but the seeds of the pilot are the same */
    bool resample;       /* pyramid: the starts must be run again */
    ef_i128 *losses;     /* pyramid: of the starts, as the jury has them now; or NULL */
    bool other_seeds;    /* the seeds do not stand: */
    uint32_t round;      /* seeding goes on from here; n_clusters if nothing is to be drawn */
    bool other_slot;     /* the seed of the round before that is now the candidate */
    uint32_t slot;       /* of this slot */
    ef_i128 *potentials; /* of the rounds before it after the change; NULL without rounds */
    bool *again;         /* which of these must be played again, though their seeds may stand; */
    bool plays_again;    /* some must */
    bool build;          /* levels from `first` on must be made */
    uint32_t first;      /* its centers are `centers`, unless seeding makes them */
    uint32_t n_looked;   /* levels whose sums the change is to be applied to */
    bool reopen;         /* the last level, which has no partition, gets `centers` */
    ef_i128 loss;        /* of level first - 1 */

    uint8_t *marks;                     /* pyramid: of all rows, if no labels were kept; or NULL */
    ef_kmeans *fresh;                   /* of a refit */
    struct ef_tree_change *tree_change; /* of a tree that is not refitted; it has all the rest */
} ef_revision;

/* Works out what follows from a change of the set; `data` has changed already. What the model keeps
 * to be faster may move to the revision. Afterwards this is to be released, committed or not. */
efface_status ef_revision_make(ef_revision *revision, ef_kmeans *model, const efface_data *data,
                               const ef_change *change, efface_error *error);
void ef_revision_commit(ef_revision *revision, ef_kmeans *model);
void ef_revision_free(ef_revision *revision);

/* The model as it will be: how many centers, which, and with how much weight of rows (that of the
 * level whose centers they are, or, if it has no partition, of the level before). */
uint32_t ef_revision_clusters(const ef_revision *revision);
const int32_t *ef_revision_centers(const ef_revision *revision);
int64_t ef_revision_mass(const ef_revision *revision, uint32_t cluster);

/* The centers that will have made the last partition of all rows, n_clusters of them; NULL if there
 * are none (ef_kmeans_dividers). */
const int32_t *ef_revision_dividers(const ef_revision *revision, uint32_t *n_clusters);

/* Writes where all rows belong by these, if that is known without looking at rows; rows of which it
 * is not known get EF_NO_CLUSTER. */
bool ef_revision_labels(const ef_revision *revision, uint32_t *labels);

/* Fills in what happened and why. Before it is committed. */
void ef_revision_report(const ef_revision *revision, ef_effort *report);

/* The first part of making: finds out what differs, and makes nothing. */
efface_status ef_look(ef_revision *revision, efface_error *error);
efface_status ef_look_at_levels(ef_revision *revision, efface_error *error);

/* Looks at greedy seeding. */
efface_status ef_look_at_rounds(ef_revision *revision, efface_error *error);

/* Notes that the seeds do not stand. */
void ef_seeds_differ(ef_revision *revision);

/* The grid point of row number i of the change. */
void ef_snap_changed(const ef_revision *revision, size_t i, int32_t *point);

/* Whether a row wins a race against the winner there was. */
static inline bool ef_beats(double key, uint64_t id, const ef_winner *winner) {
    return key < winner->key || (key == winner->key && id < winner->id);
}

/* Makes revision->scratch the level t after the change. */
efface_status ef_take_in(ef_revision *revision, uint32_t t, efface_error *error);

/* Where the changed rows belong at level t; EF_NO_CLUSTER for none. */
static inline uint32_t *ef_labels_at(const ef_revision *revision, uint32_t t) {
    return revision->labels + (size_t)t * revision->change->n_rows;
}

/* Applies the change to a level's counts and sums, given where the changed rows belong. */
void ef_apply_change(const ef_revision *revision, const uint32_t *labels, int64_t *counts,
                     int64_t *sums);

/* The same for a cold model, whose rows are not at hand (ef_kmeans_read): `counts` is what is
 * counted of them after the change, and no column of it is stale. `done` is false if rows are
 * needed; the revision is then only to be released. Fills the effort in both cases; of a tree
 * it knows nothing. */
efface_status ef_revision_make_cold(ef_revision *revision, const ef_kmeans *model,
                                    const ef_counts *counts, const ef_change *change, bool *done,
                                    ef_effort *effort, efface_error *error);

/* Says what a change would take, and makes nothing; but of a tree it takes making. */
efface_status ef_kmeans_look(ef_kmeans *model, const efface_data *data, const ef_change *change,
                             ef_effort *report, efface_error *error);

#endif
