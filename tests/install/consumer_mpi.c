/* Uses the installed libefface-mpi: a group of one process. */
#include <efface/efface_mpi.h>

#include <stdio.h>

int main(void) {
    efface_error error = {0};
    efface_group group = {0};
    efface_group_counter counter;
    uint64_t number = 7;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return 1;
    int works = efface_mpi_group_create(MPI_COMM_SELF, &group, &error) == EFFACE_OK;
    if (works) {
        const efface_group counting = efface_group_counter_init(&counter, &group);
        works = counting.size == 1 && counting.sum_64(counting.context, &number, 1) == 0 &&
                number == 7 && counter.counts.n_rounds[EFFACE_GROUP_SUM_64] == 1;
    }
    if (!works)
        fprintf(stderr, "the installed libefface-mpi does not work: %s\n", error.message);
    efface_mpi_group_free(&group);
    MPI_Finalize();
    return works ? 0 : 1;
}
