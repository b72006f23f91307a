/* A predictor, of a model in a store or published, with what names its columns and classes. */
#ifndef CLI_PREDICTOR_NAMES_H
#define CLI_PREDICTOR_NAMES_H

#include "input/data_files.h"

typedef struct cli_named_predictor {
    const char *name;                  /* of the model; NULL: a published one has none */
    const efface_predictor *predictor; /* columns of `data` have names without one */
    const efface_data *data; /* the rows of its model, or NULL: the predictor has what they say */
    efface_store *store;     /* has the texts of classes, or NULL: the predictor has */
} cli_named_predictor;

cli_columns cli_columns_of(const cli_named_predictor *of);
const double *cli_named_offsets(const cli_named_predictor *of); /* or NULL */

/* The name of a column, or one made up from its number: column7. */
#define CLI_MADE_UP 32
const char *cli_named_column(const cli_named_predictor *of, uint32_t column,
                             char made_up[CLI_MADE_UP]);

/* Predictions and probabilities; errors have the texts of classes. */
efface_status cli_named_predict(const cli_named_predictor *of, size_t n_rows, const float *values,
                                efface_number *numbers, efface_error *error);
efface_status cli_named_score(const cli_named_predictor *of, size_t n_rows, const float *values,
                              double *probabilities, efface_error *error);

/* The classes of a model, in ascending order, and their texts: those that are numbers have none. */
typedef struct cli_classes {
    uint32_t n;
    int64_t *numbers;
    char **texts;
} cli_classes;

/* CLI_DONE or, after a message, another exit code; to be freed in any case. */
int cli_read_classes(const cli_named_predictor *of, cli_classes *classes);
void cli_classes_free(cli_classes *classes);

/* The text of a class, or its number as digits. */
const char *cli_class_name(const cli_classes *classes, int64_t number, char digits[CLI_MADE_UP]);

/* The place of a class; n if the model does not know it. */
uint32_t cli_class_place(const cli_classes *classes, int64_t number);

/* The text of a class, or NULL. */
const char *cli_class_text(const cli_classes *classes, int64_t number);

#endif
