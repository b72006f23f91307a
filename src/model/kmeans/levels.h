/* The steps of a fit: seeds, partitions, and the centers of the next level. */
#ifndef EF_LEVELS_H
#define EF_LEVELS_H

#include "model/kmeans/workspace.h"

/* Runs the races of the seeding from round `from` on and makes their winners the centers of
 * `level`. Earlier winners are in model->seeds, and their grid points in `level` already. */
efface_status ef_seed(ef_workspace *space, efface_kmeans *model, ef_level *level, uint32_t from,
                      efface_error *error);

/* Makes the partition of `level`: labels[i] becomes the nearest center of the row at position i.
 * On entry the labels are those of the level `previous`, whose sums are then corrected by the rows
 * that moved; or EF_NO_CLUSTER everywhere and `previous` NULL, and then square_sum, unless it is
 * NULL, becomes the sum of weight * |g|^2. */
efface_status ef_partition(ef_workspace *space, efface_kmeans *model, ef_level *level,
                           const ef_level *previous, uint32_t *labels, ef_i128 *square_sum,
                           efface_error *error);

/* Computes the centers of level number `t` + 1 into `next` from level t, and records in level t
 * which clusters were reseeded. `labels` is the partition of level t. */
efface_status ef_next_centers(ef_workspace *space, efface_kmeans *model, uint32_t t,
                              const uint32_t *labels, int32_t *next, efface_error *error);

/* The center of one cluster for level t + 1 from the counts and sums of level t, on the grid or on
 * the lattice. For a cluster without rows, `next` holds on entry the grid point it starts from. */
void ef_next_center(const efface_kmeans *model, const ef_level *level, uint32_t t, uint32_t cluster,
                    bool lattice, int32_t *next);

/* Pyramid: the centers of the first full level, number t + 1, from the counts and sums of level t
 * and from its next centers `next`, in place. */
void ef_leave_sample(const efface_kmeans *model, const ef_level *level, uint32_t t, int32_t *next);

/* What the making of levels needs: workspaces for all rows and for those of the sample, and a
 * partition to start from. */
typedef struct ef_maker {
    const efface_data *data;
    efface_data *sample;           /* copies of its rows, made when first needed */
    ef_workspace all, some;        /* made when first needed */
    uint32_t *labels;              /* the partition of `previous`, by position */
    const ef_level *previous;      /* or NULL */
    uint32_t *full_labels;         /* the same for full levels to start from, */
    const ef_level *full_previous; /* or NULL */
} ef_maker;

/* The workspace for sampled or for full levels of a model. */
efface_status ef_maker_space(ef_maker *maker, const efface_kmeans *model, bool sampled,
                             ef_workspace **out, efface_error *error);
void ef_maker_free(ef_maker *maker);

/* Makes the levels from number `t` on, whose level t has its centers; `loss` is the loss of level
 * t - 1, if t > 0 and the method is quantized. */
efface_status ef_make_levels(ef_maker *maker, efface_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error);

#endif
