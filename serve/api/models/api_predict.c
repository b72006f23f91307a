/* POST .../predict: what a model predicts for rows, as JSON or as CSV. */
#include "api/api.h"
#include "api/models/model_names.h"
#include "api/rows/row_bodies.h"
#include "api/values.h"
#include "wiping.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum wanted { WANTED_PREDICTIONS, WANTED_PROBABILITIES, WANTED_DECISIONS } wanted;

/* Rows to predict, as the model takes them, and what it says of them. */
typedef struct asking {
    sv_request *request;
    const sv_snapshot *by;
    size_t n_rows;
    float *values; /* n_rows of by->info.n_columns */
    efface_number *numbers;
    double *scores; /* n_rows of by->info.n_classes; or NULL */
    wanted wanted;
} asking;

/* ---------------------------------------------------------------- rows */

/* Puts the values of inputs to their places among all columns of the model. */
static void place_inputs(const asking *a, const float *inputs, size_t row) {
    for (uint32_t j = 0; j < a->by->input_columns.n; j++)
        a->values[row * a->by->info.n_columns + a->by->inputs[j]] = inputs[j];
}

static bool make_arrays(asking *a) {
    const efface_model_info *const info = &a->by->info;
    a->values = calloc(a->n_rows + 1, ((size_t)info->n_columns + 1) * sizeof *a->values);
    a->numbers = calloc(a->n_rows + 1, ((size_t)info->n_numbers + 1) * sizeof *a->numbers);
    if (a->wanted != WANTED_PREDICTIONS)
        a->scores = calloc(a->n_rows + 1, ((size_t)info->n_classes + 1) * sizeof *a->scores);
    return (a->values != NULL && a->numbers != NULL &&
            (a->wanted == WANTED_PREDICTIONS || a->scores != NULL)) ||
           sv_refuse_memory(a->request);
}

static bool read_json_rows(asking *a, const json_t *rows) {
    const sv_columns *const columns = &a->by->input_columns;
    double *const row = calloc((size_t)columns->n + 1, sizeof *row);
    float *const rounded = calloc((size_t)columns->n + 1, sizeof *rounded);
    bool ok = (row != NULL && rounded != NULL) || sv_refuse_memory(a->request);
    for (size_t i = 0; ok && i < a->n_rows; i++) {
        ok = sv_read_values(a->request, json_array_get(rows, i), columns, row);
        if (ok) {
            efface_rows_round(1, columns->n, row, 0, columns->offsets, rounded);
            place_inputs(a, rounded, i);
        }
    }
    free(row);
    free(rounded);
    return ok;
}

static bool read_wanted(asking *a, const json_t *body) {
    const json_t *const scores = json_object_get(body, "scores");
    const char *const name = json_string_value(scores);
    if (scores == NULL)
        return true;
    if (name != NULL && strcmp(name, "probabilities") == 0)
        a->wanted = WANTED_PROBABILITIES;
    else if (name != NULL && strcmp(name, "decisions") == 0)
        a->wanted = WANTED_DECISIONS;
    if (a->wanted == WANTED_PREDICTIONS)
        sv_refuse(a->request, 400, "member", "scores must be probabilities or decisions");
    else if (a->by->info.predicts != EFFACE_PREDICTS_CLASSES)
        sv_refuse(a->request, 400, "scores", "scores are those of classes, which the model lacks");
    else
        return true;
    return false;
}

static bool read_predict_json(asking *a) {
    static const char *const members[] = {"rows", "scores", NULL};
    json_t *const body = sv_body_json(a->request);
    const json_t *const rows = json_object_get(body, "rows");
    bool ok = body != NULL && sv_check_members(a->request, body, members);
    if (ok && !json_is_array(rows)) {
        sv_refuse(a->request, 400, "rows", "the body must have rows: {\"rows\": [[...], ...]}");
        ok = false;
    }
    a->n_rows = json_array_size(rows);
    ok = ok && sv_rows_fit(a->request, a->n_rows) && read_wanted(a, body) && make_arrays(a) &&
         read_json_rows(a, rows);
    json_decref(body);
    return ok;
}

static bool read_predict_csv(asking *a) {
    const sv_columns *const columns = &a->by->input_columns;
    efface_load_options load;
    efface_data *data = NULL;
    efface_load_options_init(&load);
    if (!sv_load_csv(a->request, columns, &load, &data))
        return false;
    a->n_rows = efface_data_n_rows(data);
    float *const row = calloc((size_t)columns->n + 1, sizeof *row);
    const bool ok = (row != NULL || sv_refuse_memory(a->request)) && make_arrays(a);
    for (size_t i = 0; ok && i < a->n_rows; i++) {
        efface_data_values(data, i, row);
        place_inputs(a, row, i);
    }
    free(row);
    efface_data_free(data);
    return ok;
}

/* ---------------------------------------------------------------- answers */

static bool predict(asking *a) {
    const efface_model_info *const info = &a->by->info;
    efface_error error;
    if (info->n_numbers == 0)
        return sv_refuse(a->request, 409, "too_few_rows", "the model has too few rows to predict");
    efface_status status =
        efface_predictor_predict(a->by->predictor, a->n_rows, a->values, 0, a->numbers, &error);
    if (status == EFFACE_OK && a->scores != NULL)
        status =
            efface_predictor_score(a->by->predictor,
                                   a->wanted == WANTED_PROBABILITIES ? EFFACE_SCORES_PROBABILITIES
                                                                     : EFFACE_SCORES_DECISIONS,
                                   a->n_rows, a->values, 0, a->scores, &error);
    if (status != EFFACE_OK)
        return sv_refuse_error(a->request, &error);
    for (uint32_t j = 0; info->predicts == EFFACE_PREDICTS_VALUES && j < info->n_numbers; j++) {
        const uint32_t column = efface_predictor_value_column(a->by->predictor, j);
        for (size_t i = 0; column != EFFACE_NO_COLUMN && i < a->n_rows; i++)
            a->numbers[i * info->n_numbers + j].real += a->by->offsets[column];
    }
    return true;
}

static json_t *number_json(const asking *a, efface_number number) {
    switch (a->by->info.predicts) {
    case EFFACE_PREDICTS_CLUSTERS: return json_integer(number.whole);
    case EFFACE_PREDICTS_CLASSES: return sv_json_class(a->by, number.whole);
    case EFFACE_PREDICTS_VALUES:
    case EFFACE_PREDICTS_PROBABILITIES: break;
    }
    return sv_json_real(number.real);
}

static json_t *row_json(const asking *a, size_t row) {
    const uint32_t n = a->by->info.n_numbers;
    const efface_number *const numbers = a->numbers + row * n;
    if (n == 1)
        return number_json(a, numbers[0]);
    json_t *const list = json_array();
    for (uint32_t j = 0; j < n; j++)
        sv_json_add(list, number_json(a, numbers[j]));
    return list;
}

static void add_scores(const asking *a, json_t *json) {
    const uint32_t n = a->by->info.n_classes;
    json_t *const scores = json_array();
    for (size_t i = 0; i < a->n_rows; i++)
        sv_json_add(scores, sv_json_reals(a->scores + i * n, n));
    sv_json_set(json, "classes", sv_json_classes(a->by));
    sv_json_set(json, "scores", scores);
}

static void answer_json(const asking *a) {
    json_t *const predictions = json_array();
    for (size_t i = 0; i < a->n_rows; i++)
        sv_json_add(predictions, row_json(a, i));
    json_t *const json = json_pack("{s:s,s:o,s:o}", "model", a->by->name, "commitment",
                                   sv_json_digest(a->by->commitment), "predictions", predictions);
    if (json != NULL && a->scores != NULL)
        add_scores(a, json);
    sv_reply_json(a->request, 200, json);
}

static void put_text(FILE *out, const char *text) {
    const bool quoted = text[strcspn(text, ",\"\r\n")] != 0;
    if (quoted)
        (void)fputc('"', out);
    for (; *text != 0; text++) {
        if (*text == '"')
            (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    if (quoted)
        (void)fputc('"', out);
}

static void put_number(const asking *a, FILE *out, efface_number number) {
    const efface_predicts kind = a->by->info.predicts;
    const char *const text =
        kind == EFFACE_PREDICTS_CLASSES ? sv_class_text(a->by, number.whole) : NULL;
    if (text != NULL)
        put_text(out, text);
    else if (kind == EFFACE_PREDICTS_CLASSES || kind == EFFACE_PREDICTS_CLUSTERS)
        (void)fprintf(out, "%" PRId64, number.whole);
    else
        (void)fprintf(out, "%.17g", number.real);
}

/* A line of names, then a line for each row. */
static void answer_csv(const asking *a) {
    static const char *const names[] = {"label", "class", "value", "probability"};
    const uint32_t n = a->by->info.n_numbers;
    char *text = NULL;
    size_t n_text = 0;
    FILE *const out = open_memstream(&text, &n_text);
    if (out == NULL) {
        (void)sv_refuse_memory(a->request);
        return;
    }
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t column = efface_predictor_value_column(a->by->predictor, j);
        (void)fputs(j > 0 ? "," : "", out);
        if (column != EFFACE_NO_COLUMN && a->by->names[column] != NULL)
            put_text(out, a->by->names[column]);
        else if (n == 1)
            (void)fputs(names[a->by->info.predicts], out);
        else
            (void)fprintf(out, "c%" PRIu32, j + 1);
    }
    (void)fputc('\n', out);
    for (size_t i = 0; i < a->n_rows; i++)
        for (uint32_t j = 0; j < n; j++) {
            put_number(a, out, a->numbers[i * n + j]);
            (void)fputc(j + 1 < n ? ',' : '\n', out);
        }
    const bool ok = ferror(out) == 0;
    if (fclose(out) == 0 && ok) {
        sv_reply_text(a->request, 200, "text/csv; charset=utf-8", text, n_text);
        return;
    }
    free(text);
    (void)sv_refuse_memory(a->request);
}

/* CSV is answered with CSV, unless the client asks for JSON. */
static bool wants_csv(const sv_request *request) {
    return strstr(request->accept, "text/csv") != NULL ||
           (sv_is_csv(request) && strstr(request->accept, "application/json") == NULL);
}

static void answer_predict(sv_request *request, const sv_snapshot *by) {
    asking a = {.request = request, .by = by};
    const efface_model_info *const info = &by->info;
    if ((sv_is_csv(request) ? read_predict_csv(&a) : read_predict_json(&a)) && predict(&a)) {
        if (a.scores == NULL && wants_csv(request))
            answer_csv(&a);
        else
            answer_json(&a);
    }
    sv_wipe_free(a.values, a.n_rows * info->n_columns * sizeof *a.values);
    sv_wipe_free(a.numbers, a.n_rows * info->n_numbers * sizeof *a.numbers);
    free(a.scores);
}

sv_when sv_post_predict(sv_request *request) {
    sv_snapshot *by = NULL;
    efface_error error;
    const efface_status status =
        sv_snapshot_take(request->room, request->parts[1], request->at == SV_HERE, &by, &error);
    if (status == EFFACE_OK && by == NULL) {
        sv_move(request, SV_ON_WORKER);
        return SV_LATER;
    }
    if (status == EFFACE_OK)
        answer_predict(request, by);
    else
        sv_refuse_error(request, &error);
    sv_snapshot_drop(request->room, by);
    return SV_NOW;
}
