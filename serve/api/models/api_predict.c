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

#define HERE_ROWS 32                /* of a prediction on a thread of the network */
#define SLICE_ROWS 256              /* that are predicted at once */
#define SLICE_NUMBERS 65536         /* that these have at most, if rows have many */
#define SLICE_SECONDS 0.02          /* before others have their turns */
#define MAX_ANSWER ((long)64 << 20) /* bytes */

typedef enum wanted { WANTED_PREDICTIONS, WANTED_PROBABILITIES, WANTED_DECISIONS } wanted;

/* A text that grows. */
typedef struct answer_text {
    FILE *out;
    bool failed; /* memory was short */
    char *text;  /* once it is closed */
    size_t n_text;
} answer_text;

/* Rows to predict, as they came, and what the model has said of the first n_done. */
typedef struct asking {
    sv_request *request;
    sv_snapshot *by;
    size_t n_rows, n_done;
    float *inputs; /* n_rows of by->input_columns.n */
    size_t n_slice;
    float *values; /* n_slice rows of by->info.n_columns */
    efface_number *numbers;
    double *scores; /* n_slice rows of by->info.n_classes; or NULL */
    wanted wanted;
    bool as_csv;
    answer_text answer, score_list;
} asking;

/* ---------------------------------------------------------------- rows */

static bool make_inputs(asking *a) {
    a->inputs = calloc(a->n_rows + 1, ((size_t)a->by->input_columns.n + 1) * sizeof *a->inputs);
    return a->inputs != NULL || sv_refuse_memory(a->request);
}

static bool read_json_rows(asking *a, const json_t *rows) {
    const sv_columns *const columns = &a->by->input_columns;
    double *const row = calloc((size_t)columns->n + 1, sizeof *row);
    bool ok = row != NULL || sv_refuse_memory(a->request);
    for (size_t i = 0; ok && i < a->n_rows; i++) {
        ok = sv_read_values(a->request, json_array_get(rows, i), columns, row);
        if (ok)
            efface_rows_round(1, columns->n, row, 0, columns->offsets, a->inputs + i * columns->n);
    }
    free(row);
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
    ok = ok && sv_rows_fit(a->request, a->n_rows) && read_wanted(a, body) && make_inputs(a) &&
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
    const bool ok = make_inputs(a);
    for (size_t i = 0; ok && i < a->n_rows; i++)
        efface_data_values(data, i, a->inputs + i * columns->n);
    efface_data_free(data);
    return ok;
}

/* ---------------------------------------------------------------- predicting */

static bool make_slice(asking *a) {
    const efface_model_info *const info = &a->by->info;
    const size_t n_scores = a->wanted != WANTED_PREDICTIONS ? info->n_classes : 0;
    const size_t n_numbers = (size_t)info->n_numbers + n_scores + info->n_columns + 1;
    a->n_slice = n_numbers * SLICE_ROWS <= SLICE_NUMBERS ? SLICE_ROWS : SLICE_NUMBERS / n_numbers;
    a->n_slice = a->n_slice != 0 ? a->n_slice : 1;
    a->values = calloc(a->n_slice, ((size_t)info->n_columns + 1) * sizeof *a->values);
    a->numbers = calloc(a->n_slice, ((size_t)info->n_numbers + 1) * sizeof *a->numbers);
    if (a->wanted != WANTED_PREDICTIONS)
        a->scores = calloc(a->n_slice, (n_scores + 1) * sizeof *a->scores);
    return (a->values != NULL && a->numbers != NULL &&
            (a->wanted == WANTED_PREDICTIONS || a->scores != NULL)) ||
           sv_refuse_memory(a->request);
}

/* Puts the values of inputs to their places among all columns of the model. */
static void place_inputs(const asking *a, size_t n) {
    const sv_columns *const in = &a->by->input_columns;
    const float *const inputs = a->inputs + a->n_done * in->n;
    for (size_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < in->n; j++)
            a->values[i * a->by->info.n_columns + a->by->inputs[j]] = inputs[i * in->n + j];
}

/* Predicts the next n rows. */
static bool predict(const asking *a, size_t n) {
    const efface_model_info *const info = &a->by->info;
    efface_error error;
    place_inputs(a, n);
    efface_status status =
        efface_predictor_predict(a->by->predictor, n, a->values, 0, a->numbers, &error);
    if (status == EFFACE_OK && a->scores != NULL)
        status =
            efface_predictor_score(a->by->predictor,
                                   a->wanted == WANTED_PROBABILITIES ? EFFACE_SCORES_PROBABILITIES
                                                                     : EFFACE_SCORES_DECISIONS,
                                   n, a->values, 0, a->scores, &error);
    if (status != EFFACE_OK)
        return sv_refuse_error(a->request, &error);
    for (uint32_t j = 0; info->predicts == EFFACE_PREDICTS_VALUES && j < info->n_numbers; j++) {
        const uint32_t column = efface_predictor_value_column(a->by->predictor, j);
        for (size_t i = 0; column != EFFACE_NO_COLUMN && i < n; i++)
            a->numbers[i * info->n_numbers + j].real += a->by->offsets[column];
    }
    return true;
}

/* ---------------------------------------------------------------- answers */

static bool open_text(answer_text *t) {
    t->out = open_memstream(&t->text, &t->n_text);
    return t->out != NULL;
}

static void close_text(answer_text *t) {
    if (t->out == NULL)
        return;
    t->failed |= ferror(t->out) != 0;
    t->failed |= fclose(t->out) != 0;
    t->out = NULL;
}

/* Writes JSON, which this releases. */
static void put_json(answer_text *t, json_t *json) {
    t->failed |= json == NULL || json_dumpf(json, t->out, JSON_COMPACT | JSON_ENCODE_ANY) != 0;
    json_decref(json);
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

static void put_names(const asking *a, FILE *out) {
    static const char *const names[] = {"label", "class", "value", "probability"};
    const uint32_t n = a->by->info.n_numbers;
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
}

/* CSV has a line of names, then a line for each row. */
static bool begin_answer(asking *a) {
    if (!open_text(&a->answer) || (a->scores != NULL && !open_text(&a->score_list)))
        return sv_refuse_memory(a->request);
    FILE *const out = a->answer.out;
    if (a->as_csv) {
        put_names(a, out);
        return true;
    }
    (void)fputs("{\"model\":", out);
    put_json(&a->answer, sv_json_text(a->by->name));
    (void)fputs(",\"commitment\":", out);
    put_json(&a->answer, sv_json_digest(a->by->commitment));
    (void)fputs(",\"predictions\":[", out);
    return true;
}

static void put_row(asking *a, size_t row) {
    const uint32_t n = a->by->info.n_numbers;
    FILE *const out = a->answer.out;
    const char *const between = a->n_done + row != 0 ? "," : "";
    for (uint32_t j = 0; a->as_csv && j < n; j++) {
        put_number(a, out, a->numbers[row * n + j]);
        (void)fputc(j + 1 < n ? ',' : '\n', out);
    }
    if (a->as_csv)
        return;
    (void)fputs(between, out);
    put_json(&a->answer, row_json(a, row));
    if (a->scores == NULL)
        return;
    (void)fputs(between, a->score_list.out);
    put_json(&a->score_list,
             sv_json_reals(a->scores + row * a->by->info.n_classes, a->by->info.n_classes));
}

/* Predicts some rows; false, with a reply, if that fails. */
static bool do_slice(asking *a) {
    const size_t left = a->n_rows - a->n_done, n = left < a->n_slice ? left : a->n_slice;
    if (!predict(a, n))
        return false;
    for (size_t i = 0; i < n; i++)
        put_row(a, i);
    a->n_done += n;
    return ftell(a->answer.out) + (a->scores != NULL ? ftell(a->score_list.out) : 0) <=
               MAX_ANSWER ||
           sv_refuse(a->request, 413, "too_long",
                     "the answer would be too long; send fewer rows at once");
}

static void end_answer(asking *a) {
    FILE *const out = a->answer.out;
    close_text(&a->score_list);
    if (a->scores != NULL && !a->score_list.failed) {
        (void)fputs("],\"classes\":", out);
        put_json(&a->answer, sv_json_classes(a->by));
        (void)fputs(",\"scores\":[", out);
        (void)fwrite(a->score_list.text, 1, a->score_list.n_text, out);
    }
    if (!a->as_csv)
        (void)fputs("]}", out);
    close_text(&a->answer);
    if (a->answer.failed || a->score_list.failed) {
        (void)sv_refuse_memory(a->request);
        return;
    }
    sv_reply_text(a->request, 200, a->as_csv ? "text/csv; charset=utf-8" : "application/json",
                  a->answer.text, a->answer.n_text);
    a->answer.text = NULL; /* the reply's now */
}

/* CSV is answered with CSV, unless the client asks for JSON. */
static bool wants_csv(const sv_request *request) {
    return strstr(request->accept, "text/csv") != NULL ||
           (sv_is_csv(request) && strstr(request->accept, "application/json") == NULL);
}

static void free_asking(asking *a) {
    close_text(&a->answer);
    close_text(&a->score_list);
    sv_wipe_free(a->answer.text, a->answer.n_text);
    sv_wipe_free(a->score_list.text, a->score_list.n_text);
    sv_wipe_free(a->inputs, a->n_rows * a->by->input_columns.n * sizeof *a->inputs);
    sv_wipe_free(a->values, a->n_slice * a->by->info.n_columns * sizeof *a->values);
    sv_wipe_free(a->numbers, a->n_slice * a->by->info.n_numbers * sizeof *a->numbers);
    free(a->scores);
    sv_snapshot_drop(a->request->room, a->by);
    free(a);
}

/* Reads the rows; false, with a reply, if that is not possible. */
static bool begin_asking(asking *a) {
    if (!(sv_is_csv(a->request) ? read_predict_csv(a) : read_predict_json(a)))
        return false;
    if (a->by->info.n_numbers == 0)
        return sv_refuse(a->request, 409, "too_few_rows", "the model has too few rows to predict");
    a->as_csv = a->wanted == WANTED_PREDICTIONS && wants_csv(a->request);
    return make_slice(a) && begin_answer(a);
}

/* Predicts for a while; others have their turns before it goes on. */
static sv_when go_on(asking *a) {
    sv_request *const request = a->request;
    const double until = sv_now() + SLICE_SECONDS;
    bool ok = true;
    if (request->at == SV_HERE && a->n_rows > HERE_ROWS) {
        sv_move(request, SV_ON_WORKER);
        return SV_LATER;
    }
    while (ok && a->n_done < a->n_rows) {
        if (request->at != SV_HERE && sv_now() > until) {
            sv_go_on_later(request);
            return SV_LATER;
        }
        ok = do_slice(a);
    }
    if (ok)
        end_answer(a);
    free_asking(a);
    return SV_NOW;
}

static sv_when start_asking(sv_request *request, sv_snapshot *by) {
    asking *const a = calloc(1, sizeof *a);
    if (a == NULL) {
        sv_snapshot_drop(request->room, by);
        return sv_refuse_memory(request);
    }
    a->request = request;
    a->by = by;
    if (!begin_asking(a)) {
        free_asking(a);
        return SV_NOW;
    }
    request->work = a;
    return go_on(a);
}

sv_when sv_post_predict(sv_request *request) {
    sv_snapshot *by = NULL;
    efface_error error;
    if (request->work != NULL)
        return go_on(request->work);
    const efface_status status =
        sv_snapshot_take(request->room, request->parts[1], request->at == SV_HERE, &by, &error);
    if (status != EFFACE_OK)
        return sv_refuse_error(request, &error);
    if (by == NULL) {
        sv_move(request, SV_ON_WORKER);
        return SV_LATER;
    }
    return start_asking(request, by);
}
