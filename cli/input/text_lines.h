/* Files of lines: receipts, and lists of hashes. */
#ifndef CLI_TEXT_LINES_H
#define CLI_TEXT_LINES_H

#include "cli.h"

/* Reads a file, or standard input for "-", and gives each line, which it may change, to `take` with
 * its number, from 1, until that returns another code than CLI_DONE. `what` is what it lists, for
 * messages. CLI_DONE, or after a message another exit code. */
typedef int cli_line_taker(void *context, char *line, size_t number);
int cli_read_lines(const char *path, const char *what, cli_line_taker *take, void *context);

typedef struct cli_lines {
    char **items;
    size_t *numbers; /* in the file, from 1 */
    size_t n;
} cli_lines;

/* Reads the receipts of a file as export writes them, with or without the brackets and commas of an
 * array; a dash is standard input. There is at least one. CLI_DONE, or after a message another exit
 * code; release the lines either way. */
int cli_read_receipts(const char *path, cli_lines *lines);

void cli_lines_free(cli_lines *lines);

typedef struct cli_hashes {
    unsigned char *bytes; /* EFFACE_ROW_HASH_BYTES each; release with free */
    size_t n;
} cli_hashes;

/* Reads a list of hashes as --list writes it. CLI_DONE, or after a message another exit code. */
int cli_read_hashes(const char *path, cli_hashes *hashes);

#endif
