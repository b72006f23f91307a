/* What info says of one model: its parameters, what became of it, its columns, and what its family
 * adds. */
#ifndef CLI_MODEL_DETAILS_H
#define CLI_MODEL_DETAILS_H

#include "models/answers/predictor_names.h"
#include "models/details/sections.h"

typedef struct cli_column_details {
    const char *name;   /* or NULL */
    bool category;      /* values have no order */
    uint64_t n_missing; /* values */
    float min, max;     /* as the set holds them, without; NaN if there are none */
    double offset;
    float low, high; /* the same for bounds that were given */
    bool coarse;     /* the grid keeps less than 8 bits of it */
} cli_column_details;

/* Rows that belong together, such as a cluster. */
typedef struct cli_group_details {
    uint64_t n_rows;
    int64_t weight;
} cli_group_details;

typedef struct cli_model_details {
    efface_stored_model about;
    efface_store *store;
    efface_data *data; /* has the names */
    efface_model *model;
    uint32_t *numbers; /* of its columns in the store, from 0 */
    cli_facts facts;
    const char *note; /* or NULL */
    cli_column_details *columns;

    /* Filled by the family, or left as they are. */
    bool bounds_given;
    cli_facts measures;                   /* of the model on its rows, such as the loss */
    const char *group_name, *groups_name; /* one of them, and several; NULL: there are none */
    uint32_t n_groups;
    cli_group_details *groups;
    cli_sections sections;
} cli_model_details;

/* The model as one that is asked. */
cli_named_predictor cli_named_of(const cli_model_details *details);

/* ---- class_details.c */

/* Adds a list of the classes with `n_columns` columns: the rows and the weight of each and, as a
 * third, its prior, which is left to the caller. `table` is that of cli_section. CLI_DONE or, after
 * a message, another exit code. */
int cli_add_classes(cli_model_details *details, uint32_t n_columns, const char *table,
                    cli_section **section);

/* ---- model_details.c */

/* Reads the rows once. CLI_DONE, or after a message another exit code; to be freed in any case. */
int cli_read_details(efface_store *store, const efface_stored_model *about, cli_model_details *out);
void cli_free_details(cli_model_details *details);

void cli_print_details(const cli_model_details *details);

/* Fields within an object that is open: all but name, family, parameters, digest and commitment. */
void cli_json_details(cli_json *json, const cli_model_details *details);

#endif
