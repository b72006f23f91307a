/* Processes that run a command together, all with the same arguments.
 *
 * A rank that fails goes to the end of the command. The others notice at their next operation, and
 * do the same. There rank 0 says what went wrong, once, and which rank it was. Only rank 0 prints
 * and writes files. A process that is alone has no group, and is the first. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "cli.h"

/* This process is a rank of a group, which must outlive the command. Before anything is said. */
void cli_ranks_begin(const efface_group *group);

/* The group for the library, or NULL. */
const efface_group *cli_group(void);

/* Whether this process prints: it is rank 0, or alone. */
bool cli_is_first(void);

/* Whether a rank has come to its end already: then what is said here is no news. */
bool cli_ranks_are_over(void);

/* The bytes of rank 0 come to all ranks. CLI_DONE or, without a message, CLI_FAILED if a rank has
 * failed. */
int cli_share(void *bytes, size_t n_bytes);

/* Numbers become their sums over all ranks; as cli_share. */
int cli_sum(uint64_t *numbers, size_t n);

/* Rank 0 or, with `to_all`, every rank gets the bytes of all ranks, those of rank 0 first. *all is
 * to be freed; elsewhere it is NULL and *n_all 0. As cli_share, but a rank without memory says so.
 */
int cli_gather(const void *bytes, size_t n_bytes, bool to_all, void **all, size_t *n_all);

/* All ranks come here with their exit codes. What went wrong is said, and all get the same code.
 * *lost is set if they cannot reach each other any more. */
int cli_ranks_end(int code, bool *lost);

#endif
