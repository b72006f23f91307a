/* Asks the views of sums everything. */
#include "law/sums_views.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 6 /* of the set that are predicted, beside the extreme ones */
#define N_EXTREME 3
#define MOST_TABLE_ROWS 200

static void *room_for(size_t count, size_t size) {
    void *const p = calloc(count + 1, size);
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return p;
}

/* ---------------------------------------------------------------- what was said */

static void say(sums_said *said, const void *bytes, size_t n) {
    if (said->n + n > said->capacity) {
        said->capacity = 2 * (said->n + n) + 1000;
        said->bytes = realloc(said->bytes, said->capacity);
        if (said->bytes == NULL)
            exit(2);
    }
    if (n != 0)
        memcpy(said->bytes + said->n, bytes, n);
    said->n += n;
}

static void say_whole(sums_said *said, uint64_t value) {
    say(said, &value, sizeof value);
}

static void say_reals(sums_said *said, const double *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double value = isnan(values[i]) ? (double)NAN : values[i];
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        say_whole(said, isnan(value) ? UINT64_C(0x7FF8000000000000) : bits);
    }
}

static void begin_note(sums_said *said, const char *of, const char *what) {
    if (said->n_notes == SUMS_MOST_NOTES)
        return;
    (void)snprintf(said->notes[said->n_notes].what, sizeof said->notes[0].what, "%.24s: %.30s", of,
                   what);
    said->notes[said->n_notes++].at = said->n;
}

const char *sums_said_differently(const sums_said *a, const sums_said *b) {
    size_t at = 0;
    while (at < a->n && at < b->n && a->bytes[at] == b->bytes[at])
        at++;
    if (at == a->n && at == b->n)
        return NULL;
    size_t note = 0;
    while (note + 1 < a->n_notes && a->notes[note + 1].at <= at)
        note++;
    return a->n_notes != 0 ? a->notes[note].what : "nothing at all";
}

/* ---------------------------------------------------------------- a model or a predictor */

typedef struct asked {
    const char *name;
    const efface_model *model; /* or, if NULL: */
    const efface_predictor *predictor;
    uint32_t n_columns, n_numbers, n_classes;
    efface_predicts predicts;
} asked;

static void predict(const asked *a, const float *rows, size_t n, sums_said *said) {
    efface_number *const numbers = room_for(n * a->n_numbers, sizeof *numbers);
    const efface_status status =
        a->model != NULL
            ? efface_predictor_predict(efface_model_predictor(a->model), n, rows, 0, numbers, NULL)
            : efface_predictor_predict(a->predictor, n, rows, 0, numbers, NULL);
    begin_note(said, a->name, "predictions");
    say_whole(said, status);
    for (size_t i = 0; status == EFFACE_OK && i < n * a->n_numbers; i++)
        if (a->predicts == EFFACE_PREDICTS_CLASSES)
            say_whole(said, (uint64_t)numbers[i].whole);
        else
            say_reals(said, &numbers[i].real, 1);
    free(numbers);
}

static void score(const asked *a, efface_scores scores, const float *rows, size_t n,
                  sums_said *said) {
    double *const numbers = room_for(n * a->n_classes, sizeof *numbers);
    const efface_status status =
        a->model != NULL ? efface_predictor_score(efface_model_predictor(a->model), scores, n, rows,
                                                  0, numbers, NULL)
                         : efface_predictor_score(a->predictor, scores, n, rows, 0, numbers, NULL);
    begin_note(said, a->name, scores == EFFACE_SCORES_DECISIONS ? "decisions" : "probabilities");
    say_whole(said, status);
    if (status == EFFACE_OK)
        say_reals(said, numbers, n * a->n_classes);
    free(numbers);
}

static void list_classes(const asked *a, sums_said *said) {
    int64_t *const classes = room_for(a->n_classes, sizeof *classes);
    if (a->model != NULL)
        efface_predictor_classes(efface_model_predictor(a->model), classes, a->n_classes);
    else
        efface_predictor_classes(a->predictor, classes, a->n_classes);
    begin_note(said, a->name, "classes");
    say(said, classes, a->n_classes * sizeof *classes);
    free(classes);
}

static void read_table(const asked *a, const efface_table *table, sums_said *said) {
    double *const values = room_for(table->n_columns, sizeof *values);
    begin_note(said, a->name, table->name);
    say_whole(said, table->n_rows);
    say_whole(said, table->n_columns);
    if (table->row_ids != NULL)
        say(said, table->row_ids, table->n_rows * sizeof *table->row_ids);
    for (uint64_t row = 0; row < table->n_rows && row < MOST_TABLE_ROWS; row++) {
        const efface_status status =
            a->model != NULL
                ? efface_predictor_read_table(efface_model_predictor(a->model), table->name, row,
                                              NULL, values, NULL)
                : efface_predictor_read_table(a->predictor, table->name, row, NULL, values, NULL);
        say_whole(said, status);
        if (status == EFFACE_OK)
            say_reals(said, values, table->n_columns);
    }
    free(values);
}

static void read_tables(const asked *a, sums_said *said) {
    efface_table table;
    for (uint32_t i = 0;; i++) {
        memset(&table, 0, sizeof table);
        const efface_status status =
            a->model != NULL
                ? efface_predictor_get_table(efface_model_predictor(a->model), i, &table, NULL)
                : efface_predictor_get_table(a->predictor, i, &table, NULL);
        say_whole(said, status);
        if (status != EFFACE_OK)
            return;
        read_table(a, &table, said);
    }
}

/* ---------------------------------------------------------------- all of it */

/* Some rows of the set, then zeros, large numbers, and the largest. */
static float *rows_to_ask(const efface_data *data, size_t *n) {
    const uint32_t d = efface_data_n_columns(data);
    const size_t n_rows = efface_data_n_rows(data),
                 n_some = n_rows < MOST_ROWS ? n_rows : MOST_ROWS;
    float *const rows = room_for((n_some + N_EXTREME) * d, sizeof *rows);
    /* By ids, so that the order of the set does not matter. */
    uint64_t last = 0;
    for (size_t k = 0; k < n_some; k++) {
        size_t best = n_rows;
        for (size_t i = 0; i < n_rows; i++) {
            const uint64_t id = efface_data_row(data, i).id;
            if ((k == 0 || id > last) && (best == n_rows || id < efface_data_row(data, best).id))
                best = i;
        }
        last = efface_data_row(data, best).id;
        efface_data_values(data, best, rows + k * d);
    }
    for (uint32_t j = 0; j < d; j++) {
        rows[(n_some + 1) * d + j] = (float)j * 1e6f - 0.75f;
        rows[(n_some + 2) * d + j] = j % 2 == 0 ? 0x1p126f : -0x1p126f;
    }
    *n = n_some + N_EXTREME;
    return rows;
}

static void ask(const asked *a, const efface_data *data, bool tables, sums_said *said) {
    size_t n = 0;
    float *const rows = rows_to_ask(data, &n);
    begin_note(said, a->name, "numbers of things");
    say_whole(said, a->n_columns);
    say_whole(said, a->n_numbers);
    say_whole(said, a->n_classes);
    say_whole(said, a->predicts);
    for (uint32_t j = 0; j < a->n_columns; j++)
        say_whole(said, (uint64_t)(a->model != NULL ? efface_predictor_is_input(
                                                          efface_model_predictor(a->model), j)
                                                    : efface_predictor_is_input(a->predictor, j)));
    for (uint32_t j = 0; j < a->n_numbers; j++)
        say_whole(said, a->model != NULL
                            ? efface_predictor_value_column(efface_model_predictor(a->model), j)
                            : efface_predictor_value_column(a->predictor, j));
    predict(a, rows, n, said);
    score(a, EFFACE_SCORES_DECISIONS, rows, n, said);
    score(a, EFFACE_SCORES_PROBABILITIES, rows, n, said);
    list_classes(a, said);
    if (tables)
        read_tables(a, said);
    free(rows);
}

static asked of_model(const efface_model *model) {
    const efface_model_info info = efface_model_get_info(model);
    return (asked){.name = "model",
                   .model = model,
                   .n_columns = info.n_columns,
                   .n_numbers = info.n_numbers,
                   .n_classes = info.n_classes,
                   .predicts = info.predicts};
}

static asked of_predictor(const efface_predictor *predictor, const char *name) {
    const efface_predictor_info info = efface_predictor_get_info(predictor);
    return (asked){.name = name,
                   .predictor = predictor,
                   .n_columns = info.n_columns,
                   .n_numbers = info.n_numbers,
                   .n_classes = info.n_classes,
                   .predicts = info.predicts};
}

void sums_ask_for_rows(const efface_model *model, const efface_predictor *predictor,
                       const efface_data *data, sums_said *said) {
    const asked a = model != NULL ? of_model(model) : of_predictor(predictor, "published");
    ask(&a, data, false, said);
}

static void ask_other(efface_status status, efface_predictor *predictor, const efface_data *data,
                      const char *name, sums_said *said) {
    begin_note(said, name, "status");
    say_whole(said, status);
    if (status == EFFACE_OK) {
        const asked a = of_predictor(predictor, name);
        ask(&a, data, true, said);
    }
    efface_predictor_free(predictor);
}

static void ask_others(const efface_model *model, const efface_data *data, sums_said *said) {
    efface_predictor *p = NULL;
    efface_status status = efface_linear_solve(model, NULL, &p, NULL);
    ask_other(status, p, data, "linear", said);
    p = NULL;
    status = efface_ridge_classify(model, NULL, &p, NULL);
    ask_other(status, p, data, "ridge", said);
    p = NULL;
    status = efface_bayes_classify(model, NULL, &p, NULL);
    ask_other(status, p, data, "bayes", said);
    p = NULL;
    status = efface_discriminant_classify(model, NULL, &p, NULL);
    ask_other(status, p, data, "discriminants", said);
    p = NULL;
    const efface_discriminant_params quadratic = {.quadratic = 1, .shrinkage = 0.01};
    status = efface_discriminant_classify(model, &quadratic, &p, NULL);
    ask_other(status, p, data, "quadratic discriminants", said);
    p = NULL;
    status = efface_components_compute(model, NULL, &p, NULL);
    ask_other(status, p, data, "components", said);
}

static void ask_features(const efface_model *model, sums_said *said) {
    uint32_t list[64];
    begin_note(said, "model", "coarse columns");
    uint32_t n = efface_sums_coarse_columns(model, list, 64);
    say_whole(said, n);
    say(said, list, (n < 64 ? n : 64) * sizeof *list);
    begin_note(said, "model", "dropped features");
    n = efface_sums_dropped(model, list, 64);
    say_whole(said, n);
    say(said, list, (n < 64 ? n : 64) * sizeof *list);
}

static void ask_misses(const efface_model *model, const efface_data *data, sums_said *said) {
    const size_t n = efface_data_n_rows(data) * efface_sums_get_params(model).n_targets;
    double *const misses = room_for(n, sizeof *misses);
    const efface_status status = efface_linear_leave_one_out(model, data, NULL, misses, NULL);
    begin_note(said, "model", "leave one out");
    say_whole(said, status);
    if (status == EFFACE_OK)
        say_reals(said, misses, n);
    free(misses);
}

void sums_ask(const efface_model *model, const efface_data *data, bool others, bool loo,
              sums_said *said) {
    const asked a = of_model(model);
    ask(&a, data, true, said);
    ask_features(model, said);
    if (loo)
        ask_misses(model, data, said);
    if (others)
        ask_others(model, data, said);
}
