/* What a model, or a published one, predicts for rows, and how it is written: the numbers of
 * clusters, classes, values, probabilities. What they are is the model's to say; no family is
 * named here. */
#ifndef CLI_PREDICTIONS_H
#define CLI_PREDICTIONS_H

#include "models/answers/predictor_names.h"
#include "output/output.h"

typedef struct cli_predictions {
    efface_predicts kind;
    uint32_t n_numbers; /* for each row */
    size_t n_rows;
    efface_number *numbers;
    cli_classes classes; /* of a model that has them */
    char **names;        /* of the numbers, if each has its own: a target, a component, a class */
    uint64_t *ids;       /* of the rows, to be written in CSV and JSON as well; or NULL: not here */
    const efface_texts *texts; /* what ids stand for, or NULL; not released here */
} cli_predictions;

/* "clusters", "classes", "values" or "probabilities". */
const char *cli_predicts_name(efface_predicts kind);

/* Predicts the rows of a set, in the order of positions, in the units of the data; or, with
 * `probabilities`, how likely each class is. `columns` are those of the set for the columns of the
 * model, and EFFACE_NO_COLUMN where it looks at none; NULL: all, in their order. CLI_DONE or, after
 * a message, another exit code; to be freed in any case. */
int cli_predict_rows(const cli_named_predictor *by, const efface_data *rows,
                     const uint32_t *columns, bool probabilities, bool with_ids,
                     cli_predictions *out);
void cli_predictions_free(cli_predictions *predictions);

/* All rows as a CSV file, whose first line has names, but for one number without a name and without
 * ids; as an array with a key, after ids and names where there are any; or as an .npy file. `order`
 * lists the rows; NULL: as they are. In JSON, a row is an array if there are several numbers. */
void cli_csv_predictions(FILE *out, const cli_predictions *predictions, const size_t *order);
void cli_json_predictions(cli_json *json, const cli_predictions *predictions, const size_t *order);
void cli_npy_predictions(FILE *out, const cli_predictions *predictions, const size_t *order);

#endif
