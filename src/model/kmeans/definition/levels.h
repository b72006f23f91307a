/* The steps of a fit: seeds, partitions, and the centers of the next level. */
#ifndef EF_LEVELS_H
#define EF_LEVELS_H

#include "model/kmeans/definition/row_margins.h"
#include "model/kmeans/kept/kept.h"

/* What the steps of a run of k-means have in common, be it over all rows or over a sample. */
typedef struct ef_run {
    const ef_kmeans_plan *plan;
    uint32_t n_columns;
    int64_t total_weight; /* of the rows, */
    ef_i128 square_sum;   /* and the sum of weight * |g|^2 */
} ef_run;

static inline ef_run ef_run_of(const ef_kmeans *model) {
    return (ef_run){&model->plan, model->domain.map.n_columns, model->total_weight,
                    model->square_sum};
}

/* ------------------------------------------------------------------ seeds */

/* The seeds of a run. */
typedef struct ef_seeds {
    int32_t *points; /* n_clusters grid points */
    ef_winner *winners;
    ef_rounds *rounds; /* gets what rounds come to, if it has room; or NULL */
} ef_seeds;

static inline ef_seeds ef_seeds_of(ef_kmeans *model, int32_t *points) {
    return (ef_seeds){points, model->seeds, &model->rounds};
}

/* Runs the races of the seeding from round `from` on. Earlier seeds are there already, and so are
 * earlier rounds. `labels`, unless NULL, become the clusters of all rows by position, if
 * *has_labels then says so: the nearest of the seeds, ties going to the lower. The workers then
 * have the rows' squares. */
efface_status ef_seed(ef_workspace *space, const ef_kmeans_plan *plan, const ef_seeds *seeds,
                      uint32_t from, uint32_t *labels, bool *has_labels, efface_error *error);

/* One round of greedy seeding by itself, not the first, given the seeds before it: its rounds and
 * winners get what it comes to. If all rows are at these seeds, has_slots is false, and nothing was
 * done. */
efface_status ef_seed_round(ef_workspace *space, const ef_kmeans_plan *plan, const ef_seeds *seeds,
                            uint32_t round, bool *has_slots, efface_error *error);

/* What that takes for each panel at most, in multiply-adds, in a fit of lloyd or quantized; 0 for
 * plain seeding. */
size_t ef_seed_operations(const ef_kmeans_plan *plan, uint32_t n_columns);

/* ------------------------------------------------------------------ partitions and centers */

/* Makes the partition of `level`: labels[i] becomes the nearest center of the row at position i.
 * On entry the labels are those of the level `previous`, whose sums are then corrected by the rows
 * that moved (`previous` may be `level` itself); or `previous` is NULL, and counts and sums are 0.
 * square_sum, unless it is NULL, becomes the sum of weight * |g|^2. `margins`, unless NULL, has
 * room for all panels, and gets the margins of the rows (kernels.h). */
efface_status ef_partition(ef_workspace *space, ef_level *level, const ef_level *previous,
                           uint32_t *labels, float *margins, ef_i128 *square_sum,
                           efface_error *error);

/* The same if labels are those of `level` already, and the workers have the squares of the rows:
 * adds up the rows. */
efface_status ef_partition_labelled(ef_workspace *space, ef_level *level, uint32_t *labels,
                                    ef_i128 *square_sum, efface_error *error);

/* Moves the row at a position from one cluster, if it has one, to another, in what a worker has. */
void ef_worker_move_row(const ef_workspace *space, ef_worker *worker, size_t position,
                        uint32_t from, uint32_t to);

/* Ends a partition, for which n_looked rows were looked at: adds up what the workers have, and
 * clears it; then what the ranks have. */
efface_status ef_partition_collect(ef_workspace *space, ef_level *level, size_t n_looked,
                                   ef_i128 *square_sum, efface_error *error);

/* A level begins with the counts and sums of another, to which each rank adds what its rows change:
 * only one rank has these, for all are added up in the end. */
void ef_level_begin(const efface_data *data, uint32_t n_clusters, const ef_level *from,
                    ef_level *to);

/* Adds up what the ranks have of a level's counts and sums, and of square_sum unless it is NULL. */
efface_status ef_level_share(const efface_data *data, uint32_t n_clusters, ef_level *level,
                             ef_i128 *square_sum, efface_error *error);

/* Counts for the model what partitions have taken since the last time. */
void ef_count_work(ef_workspace *space, ef_kmeans *model);

/* The loss of a level with a partition, exact, in squared grid steps. */
ef_i128 ef_run_loss(const ef_run *run, const ef_level *level);

/* Computes the centers of level number `t` + 1 into `next` from level t, and records in that which
 * clusters were reseeded. `labels` is its partition; it and the workspace are looked at only if a
 * cluster has no rows. */
efface_status ef_next_centers(ef_workspace *space, const ef_run *run, ef_level *level, uint32_t t,
                              const uint32_t *labels, int32_t *next, efface_error *error);

/* The center of one cluster for level t + 1 from the counts and sums of level t, on the grid or,
 * for quantized, on the lattice. For a cluster without rows, `next` holds on entry the grid point
 * it starts from. */
void ef_next_center(const ef_run *run, const ef_level *level, uint32_t t, uint32_t cluster,
                    int32_t *next);

/* ------------------------------------------------------------------ levels, one after the other */

typedef struct ef_level_builder ef_level_builder;

/* A way to make the partition of level t of a model, whose centers are there. It may choose another
 * way for the next level. */
typedef efface_status (*ef_partition_way)(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                                          efface_error *error);

struct ef_level_builder {
    const efface_data *data;
    ef_partition_way way;     /* for the level to come */
    ef_workspace space;       /* made when first needed */
    uint32_t *labels;         /* the partition of `previous`, by position; or just room for one */
    const ef_level *previous; /* the level before, or another with a partition to begin with; NULL:
                                 there is none */
    float *margins;           /* room for those of all rows, which passes then measure; or NULL */
    ef_row_margins row_margins; /* for passes from one level to the next */
    ef_old_levels *old;         /* for ef_by_margins only */
};

/* Makes the builder's workspace, unless it is there. */
efface_status ef_builder_prepare(ef_level_builder *builder, const ef_kmeans *model,
                                 efface_error *error);
void ef_builder_free(ef_level_builder *builder);

/* Room for builder->labels. */
efface_status ef_builder_take_labels(ef_level_builder *builder, efface_error *error);

/* Room for builder->margins, or NULL: they are of use to later requests only, which can do without.
 */
void ef_builder_take_margins(ef_level_builder *builder);

/* Makes the partition of a level, from that of builder->previous if there is one, by a pass over
 * all rows. */
efface_status ef_make_partition(ef_level_builder *builder, ef_kmeans *model, ef_level *level,
                                ef_i128 *square_sum, efface_error *error);

/* The ways: by such a pass, or over those rows alone that may move (row_margins.h); */
efface_status ef_by_pass(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                         efface_error *error);
/* by a pass that also adds up the squares of the rows, in a fit; */
efface_status ef_by_first_pass(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                               efface_error *error);
/* by labels that seeding left; */
efface_status ef_by_labels(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                           efface_error *error);
/* level 0 of pyramid: by looking at the rows that kept labels name, if these are the partition of
 * builder->previous, or by a pass, and then labels are kept if there is a place for them; */
efface_status ef_by_kept_labels(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                                efface_error *error);
/* by looking at the rows that the margins of the level name, or by a pass, and then margins are
 * kept if there is memory for them. */
efface_status ef_by_margins(ef_level_builder *builder, ef_kmeans *model, uint32_t t,
                            efface_error *error);

/* Makes builder->labels the partition of level t, which was made last. */
efface_status ef_unpack_labels(ef_level_builder *builder, const ef_kmeans *model, uint32_t t,
                               efface_error *error);

/* Makes the seeds and all levels of a model of lloyd or quantized, which has none. The builder may
 * have made other models of the same rows before. */
efface_status ef_make_run(ef_level_builder *builder, ef_kmeans *model, efface_error *error);

/* Makes the levels from number `t` on, whose level t has its centers; `loss` is the loss of level
 * t - 1, if t > 0 and the method is quantized. */
efface_status ef_make_levels(ef_level_builder *builder, ef_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error);

/* ------------------------------------------------------------------ pyramid */

/* Makes the pilot, and the marks of all rows. `known`, unless NULL, has its seeds. */
efface_status ef_pilot_make(ef_level_builder *builder, ef_kmeans *model, const ef_pilot *known,
                            uint8_t *marks, efface_error *error);

/* Makes the marks of a pilot that is there; `fits` says whether it is that of the rows. */
efface_status ef_pilot_mark(ef_level_builder *builder, ef_kmeans *model, uint8_t *marks, bool *fits,
                            efface_error *error);

/* Runs the starts and lets the jury judge, with the rows of `data` that are marked (a code may have
 * other bits, too). Notes the weight of the jury in the pilot, and counts the work in the model. On
 * success the caller has `starts` to release, and *kept, unless kept is NULL, may become the trial
 * (trial.h), for the starts to follow changes. */
efface_status ef_starts_run(ef_starts *starts, ef_kmeans *model, const efface_data *data,
                            const uint8_t *codes, struct ef_trial **kept, efface_error *error);

/* The start with the smallest loss. */
uint32_t ef_starts_best(uint32_t n_starts, const ef_i128 *losses);

/* The centers of level 0: those of a start, on the lattice if there is one. */
void ef_start_centers(const ef_kmeans *model, const ef_starts *starts, uint32_t start,
                      int32_t *centers);

/* What a row adds to the loss of a start for each unit of its weight. */
int64_t ef_start_distance(const ef_kmeans *model, uint32_t start, const int32_t *point);

#endif
