/* Which column of a CSV file is what: the header line, and the columns that options name. */
#ifndef EF_CSV_COLUMNS_H
#define EF_CSV_COLUMNS_H

#include "data/files/csv_records.h"
#include "efface/efface.h"

typedef enum ef_role {
    EF_ROLE_VALUE,
    EF_ROLE_ID,
    EF_ROLE_OWNER,
    EF_ROLE_WEIGHT,
    EF_ROLE_LABEL,
    EF_ROLE_SKIPPED, /* would be a value, but is not read */
    EF_ROLES
} ef_role;

typedef struct ef_columns {
    size_t n_fields;
    uint32_t n_values;
    uint32_t n_skipped;
    unsigned char *roles; /* an ef_role for each field */
    bool has[EF_ROLES];   /* a column has that role */
    bool header;          /* the first record is the header and no row */
} ef_columns;

/* Decides from the first record, which csv holds. The caller frees `roles`, also after a failure.
 */
efface_status ef_csv_columns(const ef_csv *csv, const efface_load_options *options,
                             ef_columns *columns, efface_error *error);

#endif
