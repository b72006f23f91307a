/* Asking a model, or a published one. */
#include "models/answers/asked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

cli_answers cli_asked_about(const cli_asked *of) {
    if (of->published != NULL) {
        const efface_predictor_info info = efface_predictor_get_info(of->published);
        return (cli_answers){info.family, info.n_columns, info.predicts, info.n_numbers,
                             info.n_classes};
    }
    const efface_model_info info = efface_model_get_info(of->model);
    return (cli_answers){info.family, info.n_columns, info.predicts, info.n_numbers,
                         info.n_classes};
}

cli_columns cli_asked_columns(const cli_asked *of) {
    return (cli_columns){
        .n = cli_asked_about(of).n_columns, .data = of->data, .published = of->published};
}

const double *cli_asked_offsets(const cli_asked *of) {
    return of->published != NULL ? efface_predictor_offsets(of->published)
                                 : efface_data_offsets(of->data);
}

const char *cli_asked_column(const cli_asked *of, uint32_t column, char made_up[CLI_MADE_UP]) {
    const cli_columns columns = {.data = of->data, .published = of->published};
    const char *const name = cli_column_name(&columns, column);
    snprintf(made_up, CLI_MADE_UP, "column%" PRIu32, column + 1);
    return name != NULL ? name : made_up;
}

bool cli_asked_is_input(const cli_asked *of, uint32_t column) {
    return (of->published != NULL ? efface_predictor_is_input(of->published, column)
                                  : efface_model_is_input(of->model, column)) != 0;
}

uint32_t cli_asked_value_column(const cli_asked *of, uint32_t number) {
    return of->published != NULL ? efface_predictor_value_column(of->published, number)
                                 : efface_model_value_column(of->model, number);
}

/* ---- texts of classes */

static int read_text(const cli_asked *of, int64_t number, char **text) {
    efface_error error;
    char *found = NULL;
    if (of->published == NULL && of->store == NULL)
        return CLI_DONE;
    if (of->published != NULL) {
        const char *const known = efface_predictor_class_text(of->published, number);
        *text = known != NULL ? strdup(known) : NULL;
        return known == NULL || *text != NULL ? CLI_DONE : cli_out_of_memory();
    }
    if (efface_store_text(of->store, EFFACE_TEXT_LABEL, (uint64_t)number, &found, &error) !=
        EFFACE_OK)
        return cli_report_error(&error);
    *text = found != NULL ? strdup(found) : NULL;
    const bool ok = found == NULL || *text != NULL;
    efface_text_free(found);
    return ok ? CLI_DONE : cli_out_of_memory();
}

/* The library knows classes by numbers. Where a message has "class 5179254274820958228", users know
 * a text. */
static void name_class(const cli_asked *of, efface_error *error) {
    static const char word[] = "class ";
    char *const found = strstr(error->message, word);
    char *text = NULL, *end;
    if (found == NULL)
        return;
    char *const digits = found + sizeof word - 1;
    const long long number = strtoll(digits, &end, 10);
    if (end == digits || read_text(of, number, &text) != CLI_DONE || text == NULL)
        return;
    char rest[sizeof error->message];
    strcpy(rest, end);
    snprintf(digits, sizeof error->message - (size_t)(digits - error->message), "'%.60s'%s", text,
             rest);
    free(text);
}

/* ---- answers */

efface_status cli_asked_predict(const cli_asked *of, size_t n_rows, const float *values,
                                efface_number *numbers, efface_error *error) {
    const efface_status status =
        of->published != NULL
            ? efface_predictor_predict(of->published, n_rows, values, 0, numbers, error)
            : efface_model_predict(of->model, n_rows, values, 0, numbers, error);
    if (status != EFFACE_OK)
        name_class(of, error);
    return status;
}

efface_status cli_asked_score(const cli_asked *of, size_t n_rows, const float *values,
                              double *probabilities, efface_error *error) {
    const efface_scores kind = EFFACE_SCORES_PROBABILITIES;
    const efface_status status =
        of->published != NULL
            ? efface_predictor_score(of->published, kind, n_rows, values, 0, probabilities, error)
            : efface_model_score(of->model, kind, n_rows, values, 0, probabilities, error);
    if (status != EFFACE_OK)
        name_class(of, error);
    return status;
}

efface_status cli_asked_find_table(const cli_asked *of, const char *name, efface_table *table,
                                   efface_error *error) {
    if (of->published != NULL)
        return name != NULL ? efface_predictor_find_table(of->published, name, table, error)
                            : efface_predictor_get_table(of->published, 0, table, error);
    return name != NULL ? efface_model_find_table(of->model, name, table, error)
                        : efface_model_get_table(of->model, 0, table, error);
}

efface_status cli_asked_read_table(const cli_asked *of, const char *name, uint64_t row,
                                   double *values, efface_error *error) {
    return of->published != NULL
               ? efface_predictor_read_table(of->published, name, row, values, error)
               : efface_model_read_table(of->model, name, row, efface_data_offsets(of->data),
                                         values, error);
}

/* ---- classes */

int cli_read_classes(const cli_asked *of, cli_classes *classes) {
    const uint32_t n = cli_asked_about(of).n_classes;
    int code = CLI_DONE;
    *classes = (cli_classes){.n = n,
                             .numbers = calloc(n + (size_t)1, sizeof *classes->numbers),
                             .texts = calloc(n + (size_t)1, sizeof *classes->texts)};
    if (classes->numbers == NULL || classes->texts == NULL)
        return cli_out_of_memory();
    if (of->published != NULL)
        efface_predictor_classes(of->published, classes->numbers, n);
    else
        efface_model_classes(of->model, classes->numbers, n);
    for (uint32_t i = 0; i < n && code == CLI_DONE; i++)
        code = read_text(of, classes->numbers[i], &classes->texts[i]);
    return code;
}

void cli_classes_free(cli_classes *classes) {
    for (uint32_t i = 0; i < classes->n && classes->texts != NULL; i++)
        free(classes->texts[i]);
    free(classes->texts);
    free(classes->numbers);
    *classes = (cli_classes){.n = 0};
}

static int compare_classes(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

uint32_t cli_class_place(const cli_classes *classes, int64_t number) {
    const int64_t *const found = classes->n > 0 ? bsearch(&number, classes->numbers, classes->n,
                                                          sizeof number, compare_classes)
                                                : NULL;
    return found != NULL ? (uint32_t)(found - classes->numbers) : classes->n;
}

const char *cli_class_text(const cli_classes *classes, int64_t number) {
    const uint32_t place = cli_class_place(classes, number);
    return place < classes->n ? classes->texts[place] : NULL;
}

const char *cli_class_name(const cli_classes *classes, int64_t number, char digits[CLI_MADE_UP]) {
    const char *const text = cli_class_text(classes, number);
    snprintf(digits, CLI_MADE_UP, "%" PRId64, number);
    return text != NULL ? text : digits;
}
