/* What info says of one model: its parameters, columns, loss and clusters. */
#ifndef CLI_MODEL_DETAILS_H
#define CLI_MODEL_DETAILS_H

#include "json_writer.h"

#include "cli.h"

typedef struct cli_column_details {
    const char *name;  /* or NULL */
    float least, most; /* as the set holds them, without */
    double offset;
    bool coarse; /* the grid keeps less than 8 bits of it */
} cli_column_details;

typedef struct cli_cluster_details {
    uint64_t n_rows;
    int64_t weight;
} cli_cluster_details;

typedef struct cli_model_details {
    efface_stored_model about;
    efface_data *data; /* has the names */
    efface_model *model;
    uint32_t *numbers; /* of its columns in the store, from 0 */
    cli_column_details *columns;
    cli_cluster_details *clusters;
    double loss;
} cli_model_details;

/* Reads the rows once. CLI_DONE, or after a message another exit code; to be freed in any case. */
int cli_read_details(efface_store *store, const efface_stored_model *about, cli_model_details *out);
void cli_free_details(cli_model_details *details);

void cli_print_details(const cli_model_details *details);

/* Fields within an object that is open. */
void cli_json_details(cli_json *json, const cli_model_details *details);

#endif
