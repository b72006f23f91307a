/* The steps of a fit: seeds, partitions, and the centers of the next level. */
#ifndef EF_LEVELS_H
#define EF_LEVELS_H

#include "model/kmeans/workspace.h"

/* Runs the k races of the seeding and makes their winners the centers of `level`. */
efface_status ef_seed(ef_workspace *space, efface_kmeans *model, ef_level *level,
                      efface_error *error);

/* Makes the partition of `level`: labels[i] becomes the nearest center of the row at position i.
 * On entry the labels are those of the level `previous`, whose sums are then corrected by the rows
 * that moved; or EF_NO_CLUSTER everywhere and `previous` NULL, and the model's square_sum is
 * computed too. */
efface_status ef_partition(ef_workspace *space, efface_kmeans *model, ef_level *level,
                           const ef_level *previous, uint32_t *labels, efface_error *error);

/* Computes the centers of level number `t` + 1 into `next` from level t, and records in level t
 * which clusters were reseeded. `labels` is the partition of level t. */
efface_status ef_next_centers(ef_workspace *space, efface_kmeans *model, uint32_t t,
                              const uint32_t *labels, int32_t *next, efface_error *error);

#endif
