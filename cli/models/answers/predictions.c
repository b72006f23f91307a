/* What a model predicts for rows. */
#include "models/answers/predictions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are gathered and predicted together. */
enum { BATCH = 4096 };

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

/* Rows as the model takes them: what stands in a column that it does not look at does not matter.
 */
static void gather_rows(const efface_data *rows, size_t first, size_t n, const uint32_t *columns,
                        uint32_t n_columns, float *row, float *batch) {
    for (size_t i = 0; i < n; i++) {
        efface_data_values(rows, first + i, row);
        for (uint32_t j = 0; j < n_columns; j++) {
            const uint32_t column = columns != NULL ? columns[j] : j;
            batch[i * n_columns + j] = column != EFFACE_NO_COLUMN ? row[column] : 0.0F;
        }
    }
}

static efface_status score_batch(const cli_named_predictor *by, size_t n, const float *batch,
                                 double *scores, const cli_predictions *to, efface_number *numbers,
                                 efface_error *error) {
    const efface_status status = cli_named_score(by, n, batch, scores, error);
    for (size_t i = 0; i < n * to->n_numbers && status == EFFACE_OK; i++)
        numbers[i].real = scores[i];
    return status;
}

static int predict_rows(const cli_named_predictor *by, uint32_t n_columns, const efface_data *rows,
                        const uint32_t *columns, cli_predictions *out) {
    const bool scores = out->kind == EFFACE_PREDICTS_PROBABILITIES;
    float *const row = malloc(efface_data_n_columns(rows) * sizeof *row);
    float *const batch = malloc((size_t)BATCH * n_columns * sizeof *batch);
    double *const room = malloc((scores ? (size_t)BATCH * out->n_numbers : 1) * sizeof *room);
    efface_error error;
    int code = row != NULL && batch != NULL && room != NULL ? CLI_DONE : cli_out_of_memory();
    for (size_t begin = 0; begin < out->n_rows && code == CLI_DONE; begin += BATCH) {
        const size_t n = out->n_rows - begin < BATCH ? out->n_rows - begin : BATCH;
        efface_number *const numbers = out->numbers + begin * out->n_numbers;
        gather_rows(rows, begin, n, columns, n_columns, row, batch);
        code = cli_outcome(scores ? score_batch(by, n, batch, room, out, numbers, &error)
                                  : cli_named_predict(by, n, batch, numbers, &error),
                           &error);
    }
    free(row);
    free(batch);
    free(room);
    return code;
}

/* Values of a column are predicted without its offset. */
static void add_offsets(const cli_named_predictor *by, cli_predictions *out) {
    const double *const offsets = cli_named_offsets(by);
    for (uint32_t j = 0; j < out->n_numbers && offsets != NULL; j++) {
        const uint32_t column = efface_predictor_value_column(by->predictor, j);
        for (size_t i = 0; i < out->n_rows && column != EFFACE_NO_COLUMN; i++)
            out->numbers[i * out->n_numbers + j].real += offsets[column];
    }
}

/* Values are those of a column, or coordinates. */
static char *name_number(const cli_named_predictor *by, const cli_predictions *p, uint32_t number) {
    char made_up[CLI_MADE_UP];
    if (p->kind == EFFACE_PREDICTS_PROBABILITIES)
        return strdup(cli_class_name(&p->classes, p->classes.numbers[number], made_up));
    const uint32_t column = efface_predictor_value_column(by->predictor, number);
    if (column != EFFACE_NO_COLUMN)
        return strdup(cli_named_column(by, column, made_up));
    snprintf(made_up, sizeof made_up, "c%" PRIu32, number + 1);
    return strdup(made_up);
}

static int name_numbers(const cli_named_predictor *by, cli_predictions *out) {
    if (forms[out->kind].is_whole)
        return CLI_DONE;
    out->names = calloc(out->n_numbers + (size_t)1, sizeof *out->names);
    for (uint32_t j = 0; out->names != NULL && j < out->n_numbers; j++) {
        out->names[j] = name_number(by, out, j);
        if (out->names[j] == NULL)
            return cli_out_of_memory();
    }
    return out->names != NULL ? CLI_DONE : cli_out_of_memory();
}

static int read_ids(const efface_data *rows, cli_predictions *out) {
    out->ids = malloc((out->n_rows + 1) * sizeof *out->ids);
    for (size_t i = 0; i < out->n_rows && out->ids != NULL; i++)
        out->ids[i] = efface_data_row(rows, i).id;
    return out->ids != NULL ? CLI_DONE : cli_out_of_memory();
}

int cli_predict_rows(const cli_named_predictor *by, const efface_data *rows,
                     const uint32_t *columns, bool probabilities, bool with_ids,
                     cli_predictions *out) {
    const efface_predictor_info about = efface_predictor_get_info(by->predictor);
    memset(out, 0, sizeof *out);
    out->kind = probabilities ? EFFACE_PREDICTS_PROBABILITIES : about.predicts;
    out->n_numbers = probabilities ? about.n_classes : about.n_numbers;
    out->n_rows = efface_data_n_rows(rows);
    out->numbers = calloc(out->n_rows + 1, (out->n_numbers + (size_t)1) * sizeof *out->numbers);
    if (out->numbers == NULL)
        return cli_out_of_memory();
    int code = predict_rows(by, about.n_columns, rows, columns, out);
    CLI_THEN(code, cli_read_classes(by, &out->classes));
    if (code == CLI_DONE && out->kind == EFFACE_PREDICTS_VALUES)
        add_offsets(by, out);
    CLI_THEN(code, name_numbers(by, out));
    if (with_ids)
        CLI_THEN(code, read_ids(rows, out));
    return code;
}

void cli_predictions_free(cli_predictions *predictions) {
    for (uint32_t j = 0; j < predictions->n_numbers && predictions->names != NULL; j++)
        free(predictions->names[j]);
    free(predictions->names);
    cli_classes_free(&predictions->classes);
    free(predictions->numbers);
    free(predictions->ids);
    memset(predictions, 0, sizeof *predictions);
}

static void csv_names(FILE *out, const cli_predictions *p) {
    fputs(p->ids != NULL ? "id," : "", out);
    if (p->names == NULL && p->n_numbers <= 1)
        fputs(forms[p->kind].one, out);
    for (uint32_t j = 0; p->names != NULL && j < p->n_numbers; j++) {
        fputs(j > 0 ? "," : "", out);
        cli_csv_text(out, p->names[j]);
    }
    for (uint32_t j = 0; p->names == NULL && p->n_numbers > 1 && j < p->n_numbers; j++)
        fprintf(out, "%s%s%" PRIu32, j > 0 ? "," : "", forms[p->kind].one, j + 1);
    fputc('\n', out);
}

static cli_token id_of(const cli_predictions *p, size_t row) {
    const uint64_t id = p->ids[row];
    return (cli_token){.number = id,
                       .text = p->texts != NULL ? efface_texts_find(p->texts, EFFACE_TEXT_ID, id)
                                                : NULL};
}

/* A class or the number of a cluster. */
static cli_token class_of(const cli_predictions *p, efface_number number) {
    return (cli_token){.number = (uint64_t)number.whole,
                       .is_signed = true,
                       .text = cli_class_text(&p->classes, number.whole)};
}

void cli_csv_predictions(FILE *out, const cli_predictions *p, const size_t *order) {
    if (p->ids != NULL || p->n_numbers > 1 || p->names != NULL)
        csv_names(out, p);
    for (size_t i = 0; i < p->n_rows; i++) {
        const size_t row = order != NULL ? order[i] : i;
        if (p->ids != NULL) {
            const cli_token id = id_of(p, row);
            cli_csv_token(out, &id);
            fputc(',', out);
        }
        for (uint32_t j = 0; j < p->n_numbers; j++) {
            const efface_number number = p->numbers[row * p->n_numbers + j];
            const cli_token class = class_of(p, number);
            fputs(j > 0 ? "," : "", out);
            if (forms[p->kind].is_whole)
                cli_csv_token(out, &class);
            else
                fprintf(out, "%.17g", number.real);
        }
        fputc('\n', out);
    }
}

static void json_number(cli_json *json, const cli_predictions *p, efface_number number) {
    const cli_token class = class_of(p, number);
    if (forms[p->kind].is_whole)
        cli_json_token(json, NULL, &class);
    else
        cli_json_real(json, NULL, number.real);
}

void cli_json_predictions(cli_json *json, const cli_predictions *p, const size_t *order) {
    if (p->ids != NULL) {
        cli_json_open(json, "ids", '[');
        for (size_t i = 0; i < p->n_rows; i++) {
            const cli_token id = id_of(p, order != NULL ? order[i] : i);
            cli_json_token(json, NULL, &id);
        }
        cli_json_close(json);
    }
    if (p->names != NULL) {
        cli_json_open(json, p->kind == EFFACE_PREDICTS_VALUES ? "names" : "classes", '[');
        for (uint32_t j = 0; j < p->n_numbers; j++)
            cli_json_text(json, NULL, p->names[j]);
        cli_json_close(json);
    }
    cli_json_open(json, forms[p->kind].several, '[');
    for (size_t i = 0; i < p->n_rows; i++) {
        const efface_number *const numbers =
            p->numbers + (order != NULL ? order[i] : i) * p->n_numbers;
        if (p->n_numbers > 1)
            cli_json_open(json, NULL, '[');
        for (uint32_t j = 0; j < p->n_numbers; j++)
            json_number(json, p, numbers[j]);
        if (p->n_numbers > 1)
            cli_json_close(json);
    }
    cli_json_close(json);
}

void cli_npy_predictions(FILE *out, const cli_predictions *p, const size_t *order) {
    cli_npy_header(out, forms[p->kind].npy, p->n_rows, p->n_numbers > 1 ? p->n_numbers : 0);
    for (size_t i = 0; i < p->n_rows; i++)
        for (uint32_t j = 0; j < p->n_numbers; j++)
            cli_npy_number(out, p->numbers[(order != NULL ? order[i] : i) * p->n_numbers + j],
                           p->kind == EFFACE_PREDICTS_CLUSTERS ? 4 : 8);
}
