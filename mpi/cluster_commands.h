/* Commands that only efface-mpi has. */
#ifndef MPI_CLUSTER_COMMANDS_H
#define MPI_CLUSTER_COMMANDS_H

#include "cli.h"

extern const cli_command mpi_spread;

#endif
