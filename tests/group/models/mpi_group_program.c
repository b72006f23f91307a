/*
 * usage: mpirun -n RANKS mpi_group_program RANKS
 *
 * The group of a communicator: all operations against a plain computation, in one piece and in
 * many; a failure of one rank; two groups at a time; and the counts of a group that counts.
 */
#include "efface/efface_mpi.h"
#include "group/team/team_scene.h"

#include <string.h>

static void check_ranks(const efface_group *group) {
    int rank = -1, size = -1;
    RANK_ASSERT(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    RANK_ASSERT(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    RANK_ASSERT(group->rank == (uint32_t)rank && group->size == (uint32_t)size);
}

static void check_pieces(const efface_group *group) {
    const size_t all_at_once = ef_team_most_bytes;
    ef_team_most_bytes = 96;
    check_all_shapes(group, NULL);
    ef_team_most_bytes = all_at_once;
}

/* The last rank fails, and all others learn it. */
static void check_failure(const efface_group *group) {
    const uint32_t last = group->size - 1;
    const shape s = {.n = 5, .width = 2, .root = 0};
    ef_team team = {.group = *group};
    efface_error error = {.message = "no place"};
    efface_status status = EFFACE_E_LIMIT;
    char message[64];
    if (group->rank != last)
        status = do_gather(&team, &s, &error);
    RANK_ASSERT(ef_team_agree(&team, status, &error) == EFFACE_E_LIMIT);
    (void)snprintf(message, sizeof message, "rank %u: no place", (unsigned)last);
    RANK_ASSERT(strcmp(error.message, message) == 0);
}

/* What no count of MPI can hold is refused before anything is sent. */
static void check_limits(const efface_group *group) {
    uint64_t number = 0;
    size_t *const sizes = make(group->size, sizeof *sizes);
    sizes[0] = ((size_t)1 << 30) + 1;
    RANK_ASSERT(group->sum_64(group->context, &number, ((size_t)1 << 27) + 1) != 0);
    RANK_ASSERT(group->sum_128(group->context, &number, ((size_t)1 << 26) + 1) != 0);
    RANK_ASSERT(group->minimum(group->context, &number, 1, ((size_t)1 << 27) + 1) != 0);
    RANK_ASSERT(group->minimum(group->context, &number, SIZE_MAX / 2, 2) != 0);
    RANK_ASSERT(group->minimum(group->context, &number, 1, 0) != 0);
    RANK_ASSERT(group->gather(group->context, &number, sizes, 0, &number) != 0);
    RANK_ASSERT(group->broadcast(group->context, &number, sizes[0], 0) != 0);
    free(sizes);
}

/* Of the same processes, the last one first. */
static void check_another_group(void) {
    int rank = -1, size = -1;
    MPI_Comm turned;
    efface_group group;
    RANK_ASSERT(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    RANK_ASSERT(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    RANK_ASSERT(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned) == MPI_SUCCESS);
    RANK_ASSERT(efface_mpi_group_create(turned, &group, NULL) == EFFACE_OK);
    RANK_ASSERT(MPI_Comm_free(&turned) == MPI_SUCCESS); /* the group has its own */
    RANK_ASSERT(group.rank == (uint32_t)(size - 1 - rank));
    check_all_shapes(&group, NULL);
    efface_mpi_group_free(&group);
    RANK_ASSERT(group.context == NULL && group.sum_64 == NULL);
    efface_mpi_group_free(&group);
}

/* One of each operation: n = 10 numbers, and 10, none, 8, 7, none ... bytes to rank 0. */
static void check_counts(const efface_group *group) {
    const shape s = {.n = 10, .width = 2, .root = 0};
    efface_group_counter counter;
    ef_team team = {.group = efface_group_counter_init(&counter, group)};
    const efface_group_counts *const c = &counter.counts;
    for (size_t o = 0; o < COUNT(operations); o++)
        RANK_ASSERT(operations[o](&team, &s, NULL) == EFFACE_OK);
    uint64_t n_gathered = 0;
    for (uint32_t r = 0; r < group->size; r++)
        n_gathered += n_bytes_of(r, s.n);
    const bool is_root = group->rank == 0;
    const efface_group_counts right = {.n_rounds = {2, 1, 2, 1, 1, 7},
                                       .n_given = {80 + 8 * group->size, 160, 80 + 8,
                                                   n_bytes_of(group->rank, s.n), is_root ? 10 : 0,
                                                   56},
                                       .n_got = {80 + 8 * group->size, 160, 80 + 8,
                                                 is_root ? n_gathered : 0, is_root ? 0 : 10, 56}};
    RANK_ASSERT(memcmp(c, &right, sizeof right) == 0);
    RANK_ASSERT(strcmp(efface_group_operation_name(EFFACE_GROUP_AGREE), "agree") == 0);
}

static void check_arguments(void) {
    efface_group group;
    efface_error error;
    RANK_ASSERT(efface_mpi_group_create(MPI_COMM_NULL, &group, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(error.status == EFFACE_E_ARGUMENT && error.message[0] != '\0');
    RANK_ASSERT(efface_mpi_group_create(MPI_COMM_WORLD, NULL, NULL) == EFFACE_E_ARGUMENT);
    efface_mpi_group_free(NULL);
}

int main(int argc, char **argv) {
    RANK_ASSERT(argc == 2 && MPI_Init(&argc, &argv) == MPI_SUCCESS);
    efface_group group;
    RANK_ASSERT(efface_mpi_group_create(MPI_COMM_WORLD, &group, NULL) == EFFACE_OK);
    if (group.size != strtoul(argv[1], NULL, 10)) {
        (void)fprintf(stderr, "%u ranks, not %s: is mpirun of the same MPI as the library?\n",
                      (unsigned)group.size, argv[1]);
        return 1;
    }
    check_ranks(&group);
    check_arguments();
    check_all_shapes(&group, NULL);
    check_pieces(&group);
    check_failure(&group);
    check_limits(&group);
    check_another_group();
    check_counts(&group);
    if (group.rank == 0)
        (void)printf("%u ranks: all operations are right\n", (unsigned)group.size);
    efface_mpi_group_free(&group);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
