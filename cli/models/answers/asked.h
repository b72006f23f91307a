/* Who is asked: a model of a store, with its set of rows, or a published model. Both answer the
 * same questions. */
#ifndef CLI_ASKED_H
#define CLI_ASKED_H

#include "input/data_files.h"

typedef struct cli_asked {
    const char *name; /* of the model; NULL: a published one has none */
    const efface_model *model;
    const efface_data *data;           /* its rows; or else */
    const efface_predictor *published; /* instead of both */
    efface_store *store;               /* has the texts of classes; NULL for a published one */
} cli_asked;

typedef struct cli_answers {
    efface_family family;
    uint32_t n_columns;
    efface_predicts predicts;
    uint32_t n_numbers;
    uint32_t n_classes;
} cli_answers;

cli_answers cli_asked_about(const cli_asked *of);
cli_columns cli_asked_columns(const cli_asked *of);
const double *cli_asked_offsets(const cli_asked *of); /* or NULL */

/* The name of a column, or one made up from its number: column7. */
#define CLI_MADE_UP 32
const char *cli_asked_column(const cli_asked *of, uint32_t column, char made_up[CLI_MADE_UP]);

/* As the functions of the library. */
bool cli_asked_is_input(const cli_asked *of, uint32_t column);
uint32_t cli_asked_value_column(const cli_asked *of, uint32_t number);
efface_status cli_asked_predict(const cli_asked *of, size_t n_rows, const float *values,
                                efface_number *numbers, efface_error *error);
efface_status cli_asked_score(const cli_asked *of, size_t n_rows, const float *values,
                              double *probabilities, efface_error *error);

/* The table with a name; `name` NULL: the first. And a row of it, in the units of the data. */
efface_status cli_asked_find_table(const cli_asked *of, const char *name, efface_table *table,
                                   efface_error *error);
efface_status cli_asked_read_table(const cli_asked *of, const char *name, uint64_t row,
                                   double *values, efface_error *error);

/* The classes of a model, in ascending order, and their texts: those that are numbers have none. */
typedef struct cli_classes {
    uint32_t n;
    int64_t *numbers;
    char **texts;
} cli_classes;

/* CLI_DONE or, after a message, another exit code; to be freed in any case. */
int cli_read_classes(const cli_asked *of, cli_classes *classes);
void cli_classes_free(cli_classes *classes);

/* The text of a class, or its number as digits. */
const char *cli_class_name(const cli_classes *classes, int64_t number, char digits[CLI_MADE_UP]);

/* The place of a class; n if the model does not know it. */
uint32_t cli_class_place(const cli_classes *classes, int64_t number);

/* The text of a class, or NULL. */
const char *cli_class_text(const cli_classes *classes, int64_t number);

#endif
