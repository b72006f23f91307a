/* What names the columns and classes that a predictor knows by numbers. */
#include "models/answers/predictor_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

cli_columns cli_columns_of(const cli_named_predictor *of) {
    return (cli_columns){.n = efface_predictor_get_info(of->predictor).n_columns,
                         .data = of->data,
                         .published = of->predictor};
}

const double *cli_named_offsets(const cli_named_predictor *of) {
    return of->data != NULL ? efface_data_offsets(of->data)
                            : efface_predictor_offsets(of->predictor);
}

const char *cli_named_column(const cli_named_predictor *of, uint32_t column,
                             char made_up[CLI_MADE_UP]) {
    const cli_columns columns = {.data = of->data, .published = of->predictor};
    const char *const name = cli_column_name(&columns, column);
    snprintf(made_up, CLI_MADE_UP, "column%" PRIu32, column + 1);
    return name != NULL ? name : made_up;
}

/* ---- texts of classes */

static int read_text(const cli_named_predictor *of, int64_t number, char **text) {
    efface_error error;
    char *found = NULL;
    if (of->store == NULL) {
        const char *const known = efface_predictor_class_text(of->predictor, number);
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
static void name_class(const cli_named_predictor *of, efface_error *error) {
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

efface_status cli_named_predict(const cli_named_predictor *of, size_t n_rows, const float *values,
                                efface_number *numbers, efface_error *error) {
    const efface_status status =
        efface_predictor_predict(of->predictor, n_rows, values, 0, numbers, error);
    if (status != EFFACE_OK)
        name_class(of, error);
    return status;
}

efface_status cli_named_score(const cli_named_predictor *of, size_t n_rows, const float *values,
                              double *probabilities, efface_error *error) {
    const efface_status status = efface_predictor_score(of->predictor, EFFACE_SCORES_PROBABILITIES,
                                                        n_rows, values, 0, probabilities, error);
    if (status != EFFACE_OK)
        name_class(of, error);
    return status;
}

/* ---- classes */

int cli_read_classes(const cli_named_predictor *of, cli_classes *classes) {
    const uint32_t n = efface_predictor_get_info(of->predictor).n_classes;
    int code = CLI_DONE;
    *classes = (cli_classes){.n = n,
                             .numbers = calloc(n + (size_t)1, sizeof *classes->numbers),
                             .texts = calloc(n + (size_t)1, sizeof *classes->texts)};
    if (classes->numbers == NULL || classes->texts == NULL)
        return cli_out_of_memory();
    efface_predictor_classes(of->predictor, classes->numbers, n);
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
