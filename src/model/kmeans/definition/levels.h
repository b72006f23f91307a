/* The steps of a fit: seeds, partitions, and the centers of the next level. */
#ifndef EF_LEVELS_H
#define EF_LEVELS_H

#include "model/kmeans/kept/kept.h"
#include "model/workspace.h"

/* Runs the races of the seeding from round `from` on and makes their winners the centers of
 * `level`. Earlier winners are in model->seeds, and their grid points in `level` already; and so
 * are earlier rounds in model->rounds, if that has room for what rounds come to. */
efface_status ef_seed(ef_workspace *space, ef_kmeans *model, ef_level *level, uint32_t from,
                      efface_error *error);

/* The same for several candidates a round. `labels`, unless NULL, become the clusters of all rows
 * by position, if *has_labels says so: the nearest of the seeds, ties going to the lower. The
 * workers then have the rows' squares. */
efface_status ef_seed_greedily(ef_workspace *space, ef_kmeans *model, ef_level *level,
                               uint32_t from, uint32_t *labels, bool *has_labels,
                               efface_error *error);

/* One round of it by itself, not the first: model->rounds and model->seeds get what it comes to,
 * given the grid points of the seeds before it. If all rows are at these, has_slots is false, and
 * nothing was done. */
efface_status ef_seed_round(ef_workspace *space, ef_kmeans *model, const int32_t *seeds,
                            uint32_t round, bool *has_slots, efface_error *error);

/* What that takes for each panel at most, in multiply-adds, in a fit of lloyd or quantized; 0 for
 * plain seeding. */
size_t ef_seed_operations(const ef_plan *plan, uint32_t n_columns);

/* The race of a round in which all rows are at seeds: those not chosen yet race with E alone. */
ef_candidate ef_race_among_equals(const ef_workspace *space, uint64_t seed, uint32_t round,
                                  const ef_candidate *chosen);

/* Makes the partition of `level`: labels[i] becomes the nearest center of the row at position i.
 * On entry the labels are those of the level `previous`, whose sums are then corrected by the rows
 * that moved (`previous` may be `level` itself); or EF_NO_CLUSTER everywhere and `previous` NULL,
 * and then square_sum, unless it is NULL, becomes the sum of weight * |g|^2. `margins`, unless
 * NULL, has room for all panels, and gets the margins of the rows (kernels.h). */
efface_status ef_partition(ef_workspace *space, ef_kmeans *model, ef_level *level,
                           const ef_level *previous, uint32_t *labels, float *margins,
                           ef_i128 *square_sum, efface_error *error);

/* The same if labels are those of `level` already, and the workers have the squares of the rows:
 * adds up the rows. */
efface_status ef_partition_labelled(ef_workspace *space, ef_kmeans *model, ef_level *level,
                                    uint32_t *labels, ef_i128 *square_sum, efface_error *error);

/* Computes the centers of level number `t` + 1 into `next` from level t, and records in level t
 * which clusters were reseeded. `labels` is the partition of level t. */
efface_status ef_next_centers(ef_workspace *space, ef_kmeans *model, uint32_t t,
                              const uint32_t *labels, int32_t *next, efface_error *error);

/* The center of one cluster for level t + 1 from the counts and sums of level t, on the grid or,
 * for quantized, on the lattice. For a cluster without rows, `next` holds on entry the grid point
 * it starts from. */
void ef_next_center(const ef_kmeans *model, const ef_level *level, uint32_t t, uint32_t cluster,
                    int32_t *next);

/* What the making of levels needs: a workspace, and a partition to start from. */
typedef struct ef_maker {
    const efface_data *data;
    ef_workspace space;       /* made when first needed */
    uint32_t *labels;         /* the partition of `previous`, by position; or just room for one */
    const ef_level *previous; /* or NULL */
    bool has_labels;          /* there is no previous level, but labels are those of level 0, */
                              /* and the workers have the rows' squares */
    bool knows_squares;       /* the model's square_sum is what it should be */

    /* For a model that keeps margins of its levels, or shall have them. */
    ef_old_levels *old;  /* or NULL: it does not */
    bool labels_are_old; /* those of `previous` are with its margins */
    float *margins;      /* room for those of all rows */
} ef_maker;

/* Makes the maker's workspace, unless it is there. */
efface_status ef_maker_prepare(ef_maker *maker, const ef_kmeans *model, efface_error *error);
void ef_maker_free(ef_maker *maker);

/* Room for maker->labels. */
efface_status ef_maker_take_labels(ef_maker *maker, efface_error *error);

/* Makes the partition of a level, from that of maker->previous if there is one, by a pass over all
 * rows. */
efface_status ef_make_partition(ef_maker *maker, ef_kmeans *model, ef_level *level,
                                efface_error *error);

/* The same for level t of a model that keeps margins: by looking at the rows that these name, or by
 * a pass, and then margins are kept if there is memory for them. */
efface_status ef_by_margins(ef_maker *maker, ef_kmeans *model, uint32_t t, efface_error *error);

/* Makes maker->labels the partition of level t, which was made last. */
efface_status ef_unpack_labels(ef_maker *maker, const ef_kmeans *model, uint32_t t,
                               efface_error *error);

/* Makes the levels from number `t` on, whose level t has its centers; `loss` is the loss of level
 * t - 1, if t > 0 and the method is quantized. */
efface_status ef_make_levels(ef_maker *maker, ef_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error);

/* Makes the seeds and all levels of a model that has none. */
efface_status ef_make_run(ef_maker *maker, ef_kmeans *model, efface_error *error);

/* Room for maker->margins, or NULL: they are of use to later requests only, which can do without.
 */
void ef_maker_take_margins(ef_maker *maker);

/* Pyramid: makes the partition of level 0, from kept labels if maker->previous is a level whose
 * partition they are, or by a pass. */
efface_status ef_by_kept_labels(ef_maker *maker, ef_kmeans *model, uint32_t t, efface_error *error);

/* Pyramid: makes the pilot, and the marks of all rows. */
efface_status ef_pilot_make(ef_maker *maker, ef_kmeans *model, uint8_t *marks, efface_error *error);

/* Pyramid: makes the marks of a pilot that is there; `fits` says whether it is that of the rows. */
efface_status ef_pilot_mark(ef_maker *maker, ef_kmeans *model, uint8_t *marks, bool *fits,
                            efface_error *error);

/* Pyramid: runs the starts and lets the jury judge, with the rows of `data` that are marked (a code
 * may have other bits, too). Notes the weight of the jury in the pilot, and counts the work in the
 * model. On success the caller has `starts` to release. */
efface_status ef_starts_run(ef_starts *starts, ef_kmeans *model, const efface_data *data,
                            const uint8_t *codes, efface_error *error);

/* The start with the smallest loss. */
uint32_t ef_starts_best(uint32_t n_starts, const ef_i128 *losses);

/* The centers of level 0: those of a start, on the lattice if there is one. */
void ef_start_centers(const ef_kmeans *model, const ef_starts *starts, uint32_t start,
                      int32_t *centers);

/* What a row adds to the loss of a start for each unit of its weight. */
int64_t ef_start_distance(const ef_kmeans *model, uint32_t start, const int32_t *point);

#endif
