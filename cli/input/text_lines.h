/* Files of lines: receipts, and lists of hashes. */
#ifndef CLI_TEXT_LINES_H
#define CLI_TEXT_LINES_H

#include "cli.h"

typedef struct cli_lines {
    char **items;
    size_t *numbers; /* in the file, from 1 */
    size_t n, capacity;
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
