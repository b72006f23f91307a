/* What a model predicts for rows. */
#include "models/predictions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are gathered and predicted together. */
enum { BATCH = 4096 };

/* A class that was predicted, and its text or NULL. */
typedef struct cli_class {
    int64_t number;
    char *text;
} cli_class;

/* How each kind is named and written; in the order of efface_predicts. */
typedef struct form {
    const char *one, *several; /* of them in a CSV file; in JSON */
    const char *name;
    const char *npy;
    bool is_whole;
} form;

static const form forms[] = {
    {"label", "labels", "clusters", "<i4", true},
    {"class", "classes", "classes", "<i8", true},
    {"value", "values", "values", "<f8", false},
    {"probability", "probabilities", "probabilities", "<f8", false},
};

const char *cli_predicts_name(efface_predicts kind) {
    return forms[kind].name;
}

static efface_status predict_batch(const cli_predicting *by, size_t n, const float *batch,
                                   efface_number *numbers, efface_error *error) {
    return by->published != NULL
               ? efface_predictor_predict(by->published, n, batch, 0, numbers, error)
               : efface_model_predict(by->model, n, batch, 0, numbers, error);
}

static int predict_rows(const cli_predicting *by, uint32_t n_columns, const efface_data *rows,
                        const uint32_t *columns, cli_predictions *out) {
    float *const row = malloc(efface_data_n_columns(rows) * sizeof *row);
    float *const batch = malloc((size_t)BATCH * n_columns * sizeof *batch);
    efface_error error;
    int code = row != NULL && batch != NULL ? CLI_DONE : cli_out_of_memory();
    for (size_t begin = 0; begin < out->n_rows && code == CLI_DONE; begin += BATCH) {
        const size_t n = out->n_rows - begin < BATCH ? out->n_rows - begin : BATCH;
        for (size_t i = 0; i < n; i++) {
            efface_data_values(rows, begin + i, row);
            for (uint32_t j = 0; j < n_columns; j++)
                batch[i * n_columns + j] = row[columns != NULL ? columns[j] : j];
        }
        if (predict_batch(by, n, batch, out->numbers + begin * out->n_numbers, &error) != EFFACE_OK)
            code = cli_report_error(&error);
    }
    free(row);
    free(batch);
    return code;
}

static int compare(const void *a, const void *b) {
    const int64_t x = ((const cli_class *)a)->number, y = ((const cli_class *)b)->number;
    return (x > y) - (x < y);
}

/* Lists the classes that were predicted, and looks for their texts. */
static int name_classes(efface_store *store, cli_predictions *out) {
    const size_t n = out->n_rows * out->n_numbers;
    efface_error error;
    if (out->kind != EFFACE_PREDICTS_CLASSES || store == NULL)
        return CLI_DONE;
    out->classes = calloc(n + 1, sizeof *out->classes);
    if (out->classes == NULL)
        return cli_out_of_memory();
    for (size_t i = 0; i < n; i++)
        out->classes[i].number = out->numbers[i].whole;
    qsort(out->classes, n, sizeof *out->classes, compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || out->classes[i].number != out->classes[out->n_classes - 1].number)
            out->classes[out->n_classes++].number = out->classes[i].number;
    for (size_t i = 0; i < out->n_classes; i++)
        if (efface_store_text(store, EFFACE_TEXT_LABEL, (uint64_t)out->classes[i].number,
                              &out->classes[i].text, &error) != EFFACE_OK)
            return cli_report_error(&error);
    return CLI_DONE;
}

int cli_predict_rows(const cli_predicting *by, const efface_data *rows, const uint32_t *columns,
                     efface_store *store, cli_predictions *out) {
    uint32_t n_columns;
    memset(out, 0, sizeof *out);
    if (by->published != NULL) {
        const efface_predictor_info info = efface_predictor_get_info(by->published);
        n_columns = info.n_columns;
        out->kind = info.predicts;
        out->n_numbers = info.n_numbers;
    } else {
        const efface_model_info info = efface_model_get_info(by->model);
        n_columns = info.n_columns;
        out->kind = info.predicts;
        out->n_numbers = info.n_numbers;
    }
    out->n_rows = efface_data_n_rows(rows);
    out->numbers = calloc(out->n_rows + 1, (out->n_numbers + (size_t)1) * sizeof *out->numbers);
    if (out->numbers == NULL)
        return cli_out_of_memory();
    const int code = predict_rows(by, n_columns, rows, columns, out);
    return code == CLI_DONE ? name_classes(store, out) : code;
}

void cli_predictions_free(cli_predictions *predictions) {
    for (size_t i = 0; i < predictions->n_classes; i++)
        efface_text_free(predictions->classes[i].text);
    free(predictions->classes);
    free(predictions->numbers);
    memset(predictions, 0, sizeof *predictions);
}

static const char *text_of(const cli_predictions *p, int64_t number) {
    const cli_class key = {.number = number};
    const cli_class *const found =
        p->n_classes > 0 ? bsearch(&key, p->classes, p->n_classes, sizeof key, compare) : NULL;
    return found != NULL ? found->text : NULL;
}

void cli_csv_prediction_names(FILE *out, const cli_predictions *p) {
    if (p->n_numbers <= 1)
        fputs(forms[p->kind].one, out);
    for (uint32_t j = 0; p->n_numbers > 1 && j < p->n_numbers; j++)
        fprintf(out, "%s%s%" PRIu32, j > 0 ? "," : "", forms[p->kind].one, j + 1);
}

void cli_csv_prediction(FILE *out, const cli_predictions *p, size_t row) {
    const efface_number *const numbers = p->numbers + row * p->n_numbers;
    for (uint32_t j = 0; j < p->n_numbers; j++) {
        fputs(j > 0 ? "," : "", out);
        if (!forms[p->kind].is_whole) {
            fprintf(out, "%.17g", numbers[j].real);
            continue;
        }
        const char *const text = text_of(p, numbers[j].whole);
        if (text != NULL)
            cli_csv_text(out, text);
        else
            fprintf(out, "%" PRId64, numbers[j].whole);
    }
}

static void json_number(cli_json *json, const cli_predictions *p, efface_number number) {
    char digits[32];
    if (!forms[p->kind].is_whole) {
        cli_json_real(json, NULL, number.real);
        return;
    }
    const char *const text = text_of(p, number.whole);
    snprintf(digits, sizeof digits, "%" PRId64, number.whole);
    if (text != NULL)
        cli_json_text(json, NULL, text);
    else
        cli_json_raw(json, NULL, digits);
}

void cli_json_predictions(cli_json *json, const cli_predictions *p, const size_t *order) {
    cli_json_open(json, forms[p->kind].several, '[');
    for (size_t i = 0; i < p->n_rows; i++) {
        const efface_number *const numbers =
            p->numbers + (order != NULL ? order[i] : i) * p->n_numbers;
        if (p->n_numbers > 1)
            cli_json_open(json, NULL, '[');
        for (uint32_t j = 0; j < p->n_numbers; j++)
            json_number(json, p, numbers[j]);
        if (p->n_numbers > 1)
            cli_json_close(json, ']');
    }
    cli_json_close(json, ']');
}

void cli_npy_predictions(FILE *out, const cli_predictions *p, const size_t *order) {
    cli_npy_header(out, forms[p->kind].npy, p->n_rows, p->n_numbers > 1 ? p->n_numbers : 0);
    for (size_t i = 0; i < p->n_rows; i++)
        for (uint32_t j = 0; j < p->n_numbers; j++) {
            const efface_number number =
                p->numbers[(order != NULL ? order[i] : i) * p->n_numbers + j];
            if (p->kind == EFFACE_PREDICTS_CLUSTERS)
                cli_npy_int32(out, (uint32_t)number.whole);
            else if (forms[p->kind].is_whole)
                cli_npy_int64(out, number.whole);
            else
                cli_npy_float64(out, number.real);
        }
}
