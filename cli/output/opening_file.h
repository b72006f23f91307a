/* The file of openings that a command was asked for (--opening): a line of JSON for each model that
 * its receipts name. Others cannot read it, and it is gone if nothing was opened. */
#ifndef CLI_OPENING_FILE_H
#define CLI_OPENING_FILE_H

#include "efface/efface.h"

#include <stdbool.h>

/* Begins the file, which must be new, and has a store that is opened with the options write to it.
 * `path` may be NULL. CLI_DONE or, after a message, another exit code. */
int cli_openings_to(const char *path, efface_store_options *options);

/* Reads a line of such a file. */
bool cli_parse_opening(const char *line, efface_opening *opening);

#endif
