/*
 * usage: mpirun -n N mpi_law_program [WALKS]
 *
 * The law in a group of MPI, for every family: the walks of test_group_law.c on real ranks. Each
 * rank makes a walk by itself first, in one process; then all do it together, each with a part of
 * the rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "efface/efface_mpi.h"
#include "group_walk.h"

static efface_group group;
static uint64_t n_walks = 30;

static void a_model_of_parts_is_that_of_all_rows(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= n_walks; seed++)
        for (size_t f = 0; f < law_n_families; f++) {
            recording r;
            begin_recording(&r, law_families[f], mix(seed << 40 | f), 10);
            replay(&group, &r);
            end_recording(&r);
        }
}

int main(int argc, char **argv) {
    efface_error error;
    MPI_Init(&argc, &argv);
    if (argc > 1)
        n_walks = strtoull(argv[1], NULL, 10);
    if (efface_mpi_group_create(MPI_COMM_WORLD, &group, &error) != EFFACE_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_model_of_parts_is_that_of_all_rows)};
    const int failed = cmocka_run_group_tests_name("law over MPI", tests, NULL, NULL);
    if (failed != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    efface_mpi_group_free(&group);
    MPI_Finalize();
    return 0;
}
