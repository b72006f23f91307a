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

/* The center of one cluster for level t + 1 from the counts and sums of level t. For a cluster
 * without rows, `next` holds on entry the grid point it starts from. */
void ef_next_center(const efface_kmeans *model, const ef_level *level, uint32_t t,
                    uint32_t cluster, int32_t *next);

/* Makes the levels from number `t` on, whose level t has its centers; `loss` is the loss of level
 * t - 1, if t > 0 and the method is quantized. */
efface_status ef_make_levels(ef_workspace *space, efface_kmeans *model, uint32_t t, ef_i128 loss,
                             efface_error *error);

#endif
