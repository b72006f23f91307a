/* Files with results that only the change itself can give: new ids, the hashes of a receipt. They
 * are begun before the change, never over another file, so that nothing is changed if they cannot
 * be written. */
#ifndef CLI_FRESH_FILE_H
#define CLI_FRESH_FILE_H

#include "cli.h"

typedef struct cli_fresh {
    const char *path; /* NULL: none was asked for */
    FILE *file;
} cli_fresh;

/* Makes the file; `path` may be NULL. CLI_DONE or, after a message, another exit code if it exists
 * or cannot be made. */
int cli_fresh_open(cli_fresh *fresh, const char *path);

/* One line of a list. */
typedef void cli_line_writer(FILE *out, const void *list, uint64_t number);

/* Writes a list and closes the file. If that fails, the list is said instead: CLI_FAILED. */
int cli_fresh_finish(cli_fresh *fresh, cli_line_writer *write_line, const void *list, uint64_t n);

/* Leaves no trace of it. */
void cli_fresh_abandon(cli_fresh *fresh);

#endif
