/*
 * efface on MPI: the group of a communicator, and counts of what a group moves.
 *
 *     MPI_Init(NULL, NULL);
 *     efface_group group;
 *     efface_mpi_group_create(MPI_COMM_WORLD, &group, &error);
 *     efface_data_join(data, &group, &error);        // each rank with its own rows
 *     efface_kmeans_fit(data, &params, &model, &error);
 *     ...
 *     efface_data_free(data);
 *     efface_mpi_group_free(&group);
 *     MPI_Finalize();
 *
 * Compile with mpicc, and link libefface-mpi and libefface. This library is for the implementation
 * of MPI that it was built with.
 */
#ifndef EFFACE_MPI_H
#define EFFACE_MPI_H

#include "efface/efface.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the group of all processes of an intracommunicator. All of them call it, and if the call
 * fails on one process, it fails on all. The group has its own communicator, so that its messages
 * are kept apart from those of the program. On that communicator errors are returned: they become
 * EFFACE_E_GROUP. Release it with efface_mpi_group_free. Errors: EFFACE_E_ARGUMENT if there are
 * more than EFFACE_MAX_RANKS processes; EFFACE_E_GROUP; EFFACE_E_MEMORY. */
EFFACE_API efface_status efface_mpi_group_create(MPI_Comm comm, efface_group *group,
                                                 efface_error *error);

/* Releases what the group holds and sets it to 0. All processes call it, before MPI_Finalize. Takes
 * a group that is all 0. */
EFFACE_API void efface_mpi_group_free(efface_group *group);

/* ------------------------------------------------------------------ counts */

/* The operations of a group, in the order of its functions. */
typedef enum efface_group_operation {
    EFFACE_GROUP_SUM_64 = 0,
    EFFACE_GROUP_SUM_128 = 1,
    EFFACE_GROUP_MINIMUM = 2,
    EFFACE_GROUP_GATHER = 3,
    EFFACE_GROUP_BROADCAST = 4,
    EFFACE_GROUP_AGREE = 5
} efface_group_operation;

#define EFFACE_GROUP_OPERATIONS 6

/* What the operations of a group have moved, by operation, as this rank sees it: the bytes that go
 * into the engine and come out of it, however it moves them between ranks. */
typedef struct efface_group_counts {
    uint64_t n_rounds[EFFACE_GROUP_OPERATIONS]; /* how often it was called */
    uint64_t n_given[EFFACE_GROUP_OPERATIONS];  /* bytes that this rank gave: its numbers, its own
                                                   part of a gather, all of a broadcast if it is the
                                                   root */
    uint64_t n_got[EFFACE_GROUP_OPERATIONS];    /* bytes that it got: as many numbers, all that was
                                                   gathered if it came here, all of a broadcast if
                                                   another is the root */
} efface_group_counts;

/* A group of any engine whose operations are counted. */
typedef struct efface_group_counter {
    efface_group group; /* of the engine */
    efface_group_counts counts;
} efface_group_counter;

/* Returns a group that does what `group` does and counts it in `counter`, starting at 0. The
 * counter and the context of `group` must outlive everything that uses the result. */
EFFACE_API efface_group efface_group_counter_init(efface_group_counter *counter,
                                                  const efface_group *group);

/* Returns the name of an operation, such as "sum_64". Never NULL. */
EFFACE_API const char *efface_group_operation_name(efface_group_operation operation);

#ifdef __cplusplus
}
#endif

#endif
