/*
 * What models and published models are asked: predictions, scores, tables. Both answer by the
 * predictor of a family, which a model lends and a published model has.
 */
#include "base/errors/status.h"
#include "model/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Who is asked. */
typedef struct asked {
    const ef_family *family;
    const void *predictor;
    uint32_t n_columns;
} asked;

static asked ask_model(const efface_model *model, ef_lent *room) {
    model->family->lend(model->state, room);
    return (asked){model->family, room, model->n_columns};
}

static asked ask_predictor(const efface_predictor *p) {
    return (asked){p->family, p->part, p->n_columns};
}

/* ---------------------------------------------------------------- what it is */

static int is_input(asked of, uint32_t column) {
    return column < of.n_columns &&
           (of.family->is_input == NULL || of.family->is_input(of.predictor, column));
}

static int takes_missing(asked of) {
    return of.family->predicts_missing != NULL && of.family->predicts_missing(of.predictor);
}

static int is_category(asked of, uint32_t column) {
    return of.family->is_category != NULL && of.family->is_category(of.predictor, column);
}

static uint32_t value_column(asked of, uint32_t number) {
    return of.family->value_column != NULL ? of.family->value_column(of.predictor, number)
                                           : EFFACE_NO_COLUMN;
}

static uint32_t classes_of(asked of, int64_t *classes, size_t capacity) {
    return of.family->classes != NULL ? of.family->classes(of.predictor, classes, capacity) : 0;
}

efface_model_info efface_model_get_info(const efface_model *model) {
    const ef_totals totals = model->family->totals(model->state);
    efface_model_info info = {.family = model->family->number,
                              .n_columns = model->n_columns,
                              .n_rows = totals.n_rows,
                              .total_weight = totals.total_weight};
    ef_lent room;
    const asked of = ask_model(model, &room);
    info.predicts = of.family->predicts(of.predictor, &info.n_numbers);
    info.n_classes = classes_of(of, NULL, 0);
    return info;
}

efface_predictor_info efface_predictor_get_info(const efface_predictor *p) {
    efface_predictor_info info = {
        .format = EF_PREDICTOR_FORMAT, .family = p->family->number, .n_columns = p->n_columns};
    const asked of = ask_predictor(p);
    info.predicts = of.family->predicts(of.predictor, &info.n_numbers);
    info.n_classes = classes_of(of, NULL, 0);
    return info;
}

int efface_model_is_input(const efface_model *model, uint32_t column) {
    ef_lent room;
    return is_input(ask_model(model, &room), column);
}

int efface_predictor_is_input(const efface_predictor *p, uint32_t column) {
    return is_input(ask_predictor(p), column);
}

int efface_model_takes_missing(const efface_model *model) {
    ef_lent room;
    return takes_missing(ask_model(model, &room));
}

int efface_predictor_takes_missing(const efface_predictor *p) {
    return takes_missing(ask_predictor(p));
}

int efface_model_is_category(const efface_model *model, uint32_t column) {
    ef_lent room;
    return is_category(ask_model(model, &room), column);
}

int efface_predictor_is_category(const efface_predictor *p, uint32_t column) {
    return is_category(ask_predictor(p), column);
}

uint32_t efface_model_value_column(const efface_model *model, uint32_t number) {
    ef_lent room;
    return value_column(ask_model(model, &room), number);
}

uint32_t efface_predictor_value_column(const efface_predictor *p, uint32_t number) {
    return value_column(ask_predictor(p), number);
}

void efface_model_classes(const efface_model *model, int64_t *classes, size_t capacity) {
    ef_lent room;
    (void)classes_of(ask_model(model, &room), classes, capacity);
}

void efface_predictor_classes(const efface_predictor *p, int64_t *classes, size_t capacity) {
    (void)classes_of(ask_predictor(p), classes, capacity);
}

/* ---------------------------------------------------------------- rows */

efface_status ef_matrix_check(const ef_family *family, const void *predictor, uint32_t n_columns,
                              size_t n_rows, const float *values, size_t *stride,
                              efface_error *error) {
    const asked of = {family, predictor, n_columns};
    if (*stride != 0 && *stride < of.n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the stride of %zu is smaller than the number of columns, %" PRIu32, *stride,
                       of.n_columns);
    if (*stride == 0)
        *stride = of.n_columns;
    const bool missing = family->predicts_missing != NULL && family->predicts_missing(predictor);
    for (size_t i = 0; i < n_rows; i++)
        for (uint32_t j = 0; j < of.n_columns; j++) {
            const float x = values[i * *stride + j];
            if (__builtin_fabsf(x) <= (float)EFFACE_MAX_MAGNITUDE || (missing && x != x) ||
                !is_input(of, j))
                continue;
            return ef_fail(error, EFFACE_E_LIMIT,
                           x != x ? "row %zu, column %" PRIu32 ": the value is missing (NaN), and "
                                    "the model takes no missing values; give it a value"
                                  : "row %zu, column %" PRIu32 ": the value is not a finite number "
                                    "of magnitude 2^126 or less",
                           i + 1, j + 1);
        }
    return EFFACE_OK;
}

static efface_status predict_answers(asked of, size_t n_rows, const float *values, size_t stride,
                                     efface_number *numbers, efface_error *error) {
    if (n_rows != 0 && (values == NULL || numbers == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "values and numbers must not be NULL");
    const efface_status status =
        ef_matrix_check(of.family, of.predictor, of.n_columns, n_rows, values, &stride, error);
    return status == EFFACE_OK
               ? of.family->predict(of.predictor, n_rows, values, stride, numbers, error)
               : status;
}

efface_status efface_model_predict(const efface_model *model, size_t n_rows, const float *values,
                                   size_t stride, efface_number *numbers, efface_error *error) {
    if (model == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the model must not be NULL");
    ef_lent room;
    return predict_answers(ask_model(model, &room), n_rows, values, stride, numbers, error);
}

efface_status efface_predictor_predict(const efface_predictor *p, size_t n_rows,
                                       const float *values, size_t stride, efface_number *numbers,
                                       efface_error *error) {
    if (p == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the predictor must not be NULL");
    return predict_answers(ask_predictor(p), n_rows, values, stride, numbers, error);
}

static efface_status score_answers(asked of, efface_scores scores, size_t n_rows,
                                   const float *values, size_t stride, double *numbers,
                                   efface_error *error) {
    if (n_rows != 0 && (values == NULL || numbers == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "values and numbers must not be NULL");
    if (scores != EFFACE_SCORES_DECISIONS && scores != EFFACE_SCORES_PROBABILITIES)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there is no such kind of scores");
    if (of.family->score == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "models of the family %s have no classes",
                       of.family->name);
    const efface_status status =
        ef_matrix_check(of.family, of.predictor, of.n_columns, n_rows, values, &stride, error);
    return status == EFFACE_OK
               ? of.family->score(of.predictor, scores, n_rows, values, stride, numbers, error)
               : status;
}

efface_status efface_model_score(const efface_model *model, efface_scores scores, size_t n_rows,
                                 const float *values, size_t stride, double *numbers,
                                 efface_error *error) {
    if (model == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the model must not be NULL");
    ef_lent room;
    return score_answers(ask_model(model, &room), scores, n_rows, values, stride, numbers, error);
}

efface_status efface_predictor_score(const efface_predictor *p, efface_scores scores, size_t n_rows,
                                     const float *values, size_t stride, double *numbers,
                                     efface_error *error) {
    if (p == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the predictor must not be NULL");
    return score_answers(ask_predictor(p), scores, n_rows, values, stride, numbers, error);
}

/* ---------------------------------------------------------------- tables */

/* A table by its name or, if that is NULL, by its number. */
static efface_status find_table(asked of, const char *name, uint32_t *number, efface_table *table,
                                efface_error *error) {
    char names[256] = "none";
    size_t used = 0;
    efface_table found;
    for (uint32_t i = 0; of.family->table(of.predictor, i, &found); i++) {
        if (name == NULL ? i == *number : strcmp(found.name, name) == 0) {
            *number = i;
            *table = found;
            return EFFACE_OK;
        }
        const int n =
            snprintf(names + used, sizeof names - used, "%s%s", i != 0 ? ", " : "", found.name);
        used += n > 0 && (size_t)n < sizeof names - used ? (size_t)n : 0;
    }
    return name != NULL
               ? ef_fail(error, EFFACE_E_NOT_FOUND,
                         "there is no table %.64s; the tables of this model are: %s", name, names)
               : ef_fail(error, EFFACE_E_NOT_FOUND,
                         "there is no table number %" PRIu32 "; the tables of this model are: %s",
                         *number, names);
}

static efface_status read_table(asked of, const char *name, uint64_t row, const double *offsets,
                                double *values, efface_error *error) {
    uint32_t number = 0;
    efface_table table;
    const efface_status status = find_table(of, name, &number, &table, error);
    if (status != EFFACE_OK)
        return status;
    if (row >= table.n_rows)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there is no %s %" PRIu64 "; the table %s has %" PRIu64 " of them",
                       table.row_name, row, table.name, table.n_rows);
    return of.family->read_table(of.predictor, number, row, offsets, values, error);
}

efface_status efface_model_get_table(const efface_model *model, uint32_t number,
                                     efface_table *table, efface_error *error) {
    if (model == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model and table must not be NULL");
    ef_lent room;
    return find_table(ask_model(model, &room), NULL, &number, table, error);
}

efface_status efface_predictor_get_table(const efface_predictor *p, uint32_t number,
                                         efface_table *table, efface_error *error) {
    if (p == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor and table must not be NULL");
    return find_table(ask_predictor(p), NULL, &number, table, error);
}

efface_status efface_model_find_table(const efface_model *model, const char *name,
                                      efface_table *table, efface_error *error) {
    if (model == NULL || name == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, name and table must not be NULL");
    uint32_t number = 0;
    ef_lent room;
    return find_table(ask_model(model, &room), name, &number, table, error);
}

efface_status efface_predictor_find_table(const efface_predictor *p, const char *name,
                                          efface_table *table, efface_error *error) {
    if (p == NULL || name == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor, name and table must not be NULL");
    uint32_t number = 0;
    return find_table(ask_predictor(p), name, &number, table, error);
}

efface_status efface_model_read_table(const efface_model *model, const char *name, uint64_t row,
                                      const double *offsets, double *values, efface_error *error) {
    if (model == NULL || name == NULL || values == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, name and values must not be NULL");
    ef_lent room;
    return read_table(ask_model(model, &room), name, row, offsets, values, error);
}

efface_status efface_predictor_read_table(const efface_predictor *p, const char *name, uint64_t row,
                                          double *values, efface_error *error) {
    if (p == NULL || name == NULL || values == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor, name and values must not be NULL");
    return read_table(ask_predictor(p), name, row, p->offsets, values, error);
}
