/* efface-mpi: the commands of efface (cli/) on the ranks of an MPI program. */
#include "efface/efface_mpi.h"
#include "cluster_commands.h"
#include "ranks.h"

#include <string.h>

static const cli_command *const commands[] = {
    &cli_fit,     &cli_forget, &cli_learn, &cli_update, &cli_show,   &cli_owners,
    &cli_predict, &cli_export, &cli_info,  &cli_digest, &cli_verify, &cli_check,
    &cli_compact, &cli_rekey,  &cli_drop,  &mpi_spread, NULL,
};

static const cli_program efface_mpi = {
    .name = "efface-mpi",
    .about = "usage: mpirun -n N efface-mpi [--count] COMMAND [OPTIONS]\n"
             "The commands of efface on N processes, the ranks, with a part of the rows each.\n"
             "STORE is a folder, with a file for each rank. Models and digests are those of\n"
             "efface, whatever N is.\n",
    .more = "--count tells what the ranks told each other, in rounds and bytes. Run\n"
            "efface-mpi COMMAND --help for more. Rank 0 prints, reads standard input and\n"
            "writes files; every rank reads DATA of fit: as many files as ranks, or more, go\n"
            "to the ranks in turn, and of fewer files each rank reads its share. If a rank\n"
            "fails, all end, and rank 0 says which and why. Exit codes are those of efface.\n"
            "  mpirun -n 4 efface-mpi fit part-*.npy -k 100 -o rows.parts\n"
            "  mpirun -n 4 efface-mpi forget rows.parts --id 17 --yes\n",
    .commands = commands,
};

/* Takes --count out of the arguments, if it comes before the command. */
static bool take_count(int *n_arguments, char **arguments) {
    if (*n_arguments < 2 || strcmp(arguments[1], "--count") != 0)
        return false;
    memmove(arguments + 1, arguments + 2, (size_t)(*n_arguments - 1) * sizeof *arguments);
    (*n_arguments)--;
    return true;
}

/* ---- counts */

static void print_counts(const efface_group_counts *first, const efface_group_counts *all) {
    fprintf(stderr, "%-10s %10s %14s %14s %16s %16s\n", "operation", "rounds", "bytes given",
            "bytes got", "given by all", "got by all");
    for (int i = 0; i < EFFACE_GROUP_OPERATIONS; i++)
        fprintf(stderr, "%-10s %10llu %14llu %14llu %16llu %16llu\n",
                efface_group_operation_name((efface_group_operation)i),
                (unsigned long long)first->n_rounds[i], (unsigned long long)first->n_given[i],
                (unsigned long long)first->n_got[i], (unsigned long long)all->n_given[i],
                (unsigned long long)all->n_got[i]);
}

/* What rank 0 counted, and the sums over all ranks; all of them call it. */
static void tell_counts(const efface_group *engine, const efface_group_counts *own) {
    efface_group_counts all = *own;
    if (engine->sum_64(engine->context, (uint64_t *)&all, sizeof all / sizeof(uint64_t)) == 0 &&
        engine->rank == 0)
        print_counts(own, &all);
}

/* ---- the program */

static int run_together(const efface_group *engine, int n_arguments, char **arguments, bool *lost) {
    efface_group_counter counter;
    const bool counts = take_count(&n_arguments, arguments);
    const efface_group group = efface_group_counter_init(&counter, engine);
    cli_ranks_begin(&group);
    const int code = cli_ranks_end(cli_run_program(&efface_mpi, n_arguments, arguments), lost);
    if (counts && !*lost)
        tell_counts(engine, &counter.counts);
    return code;
}

int main(int n_arguments, char **arguments) {
    efface_group engine;
    efface_error error;
    bool lost = false;
    int code = CLI_FAILED;
    if (MPI_Init(&n_arguments, &arguments) != MPI_SUCCESS)
        return CLI_FAILED;
    const efface_status status = efface_mpi_group_create(MPI_COMM_WORLD, &engine, &error);
    if (status == EFFACE_OK)
        code = run_together(&engine, n_arguments, arguments, &lost);
    else
        fprintf(stderr, "efface-mpi: %s\n", error.message);
    if (lost)
        (void)MPI_Abort(MPI_COMM_WORLD, code);
    if (status == EFFACE_OK)
        efface_mpi_group_free(&engine);
    (void)MPI_Finalize();
    return code;
}
