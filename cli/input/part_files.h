/* DATA that is several files, or that ranks read together. */
#ifndef CLI_PART_FILES_H
#define CLI_PART_FILES_H

#include "input/data_files.h"

/* Reads files as one set, in their order; rows without an id column are numbered through. If there
 * are at least as many files as ranks, rank r reads the files r, r + size, and so on; else every
 * rank reads its share of each file. Either way ids are those that one process gives. The set is
 * then this rank's part of all rows: it has joined the group. Of several files, load->rounding sees
 * the first that this rank reads. As cli_load_data. */
int cli_load_parts(const cli_texts *paths, const cli_data_options *options,
                   efface_load_options *load, efface_data **data);

#endif
