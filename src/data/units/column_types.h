/* What the numbers of columns stand for, as the loaders see it. */
#ifndef EF_COLUMN_TYPES_H
#define EF_COLUMN_TYPES_H

#include "data/units/value_columns.h"

/* Gives a set the types of load options. */
efface_status ef_types_choose(efface_data *data, const ef_read_columns *read,
                              const efface_load_options *options, efface_error *error);

#endif
