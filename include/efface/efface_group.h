/* Groups: many machines work on one set. Part of efface.h. */
#ifndef EFFACE_GROUP_H
#define EFFACE_GROUP_H

#include "efface/efface_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A group is a number of processes, its ranks, that work on one set together: each has a part of
 * the rows. Every sum in the library is a sum of whole numbers, and every random choice is a
 * minimum. So a model of the parts is byte for byte the model of all rows in one process, however
 * the rows are spread and whatever the number of ranks.
 *
 * A group provides six operations that all ranks call in the same order and that give all ranks the
 * same results. libefface-mpi has them for MPI (efface_mpi.h); for another engine, write them. Each
 * returns 0, or anything else if the engine failed: the library's call then fails with
 * EFFACE_E_GROUP, and the group is of no further use. No operation moves more than 2^30 bytes at a
 * time. The library calls them on the thread that called the library. */
typedef struct efface_group {
    uint32_t rank; /* of this process: 0 to size - 1 */
    uint32_t size;
    void *context; /* the engine's; the first argument of each function */

    /* numbers[i] becomes the sum of numbers[i] over all ranks, as 64 bits wrap around. */
    int (*sum_64)(void *context, uint64_t *numbers, size_t n);

    /* The same for numbers of 128 bits, each as two halves, of which the lower comes first. */
    int (*sum_128)(void *context, uint64_t *halves, size_t n);

    /* `tuples` has n tuples of `width` numbers. Each becomes the smallest tuple that any rank has
     * in its place; they are compared by the first number, then by the second, and so on. */
    int (*minimum)(void *context, uint64_t *tuples, size_t n, size_t width);

    /* Rank `root`, or every rank if `root` is EFFACE_EVERY_RANK, gets the bytes of all ranks in
     * `all`, those of rank 0 first. sizes[r] is how many bytes rank r has; all ranks know it. On
     * ranks that get nothing `all` is NULL. */
    int (*gather)(void *context, const void *bytes, const size_t *sizes, uint32_t root, void *all);

    /* All ranks get the bytes of rank `root`. */
    int (*broadcast)(void *context, void *bytes, size_t n_bytes, uint32_t root);

    /* *number becomes the smallest of all ranks. The library calls this before every other
     * operation, to learn whether a rank has failed. */
    int (*agree)(void *context, uint64_t *number);
} efface_group;

#define EFFACE_EVERY_RANK UINT32_MAX
#define EFFACE_MAX_RANKS 65536u

/* Makes a set this rank's part of a group's set; it may have no rows. The group is copied, and its
 * context must outlive the set. From then on all ranks make the same calls in the same order, each
 * with its own part:
 *
 * - efface_kmeans_fit and the other fits, efface_model_decode, efface_model_verify and
 *   efface_model_rekey, with the same parameters on all ranks, except for threads, progress and
 *   interruption. Every rank gets the whole model.
 * - forget and preview, with the same request on all ranks; update, with the same rows on all
 *   ranks: each takes those that it has.
 * - learn, with the rows that this rank is to have, if any.
 *
 * A call that fails on one rank fails on all, and the message names the rank; then nothing has
 * changed on any. Reports are the same on all ranks except for their seconds. Predictions, digests
 * and everything else need no other rank. efface_data_add, efface_data_remove and
 * efface_data_replace refuse the set from then on: EFFACE_E_ARGUMENT.
 *
 * All ranks must have the same number of columns and the same offsets; ids must be unique across
 * ranks. Errors: EFFACE_E_ARGUMENT; EFFACE_E_DUPLICATE; EFFACE_E_GROUP; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_data_join(efface_data *data, const efface_group *group,
                                          efface_error *error);

#ifdef __cplusplus
}
#endif

#endif
