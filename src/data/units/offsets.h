/* The offsets of columns, as the loaders see them. */
#ifndef EF_OFFSETS_H
#define EF_OFFSETS_H

#include "data/units/value_columns.h"

/* Gives a set without rows, but with the names of its columns, the offsets of load options. */
efface_status ef_offsets_choose(efface_data *data, const ef_read_columns *read,
                                const efface_load_options *options, efface_error *error);

#endif
