/*
 * What predictors are asked: predictions, scores, tables. Their family answers, by what a published
 * model has or a model lends.
 */
#include "base/errors/status.h"
#include "model/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const efface_predictor *efface_model_predictor(const efface_model *model) {
    return model != NULL ? &model->lent : NULL;
}

const void *ef_predictor_part(const efface_predictor *p, ef_lent *room) {
    if (p->lender == NULL)
        return p->part;
    p->family->lend(p->lender->state, room);
    return room;
}

/* ---------------------------------------------------------------- what it is */

static bool is_input(const ef_family *family, const void *part, uint32_t column) {
    return family->is_input == NULL || family->is_input(part, column);
}

efface_predictor_info efface_predictor_get_info(const efface_predictor *p) {
    efface_predictor_info info = {
        .format = EF_PREDICTOR_FORMAT, .family = p->family->number, .n_columns = p->n_columns};
    ef_lent room;
    const void *const part = ef_predictor_part(p, &room);
    info.kind = p->family->kind(NULL, part);
    info.predicts = p->family->predicts(part, &info.n_numbers);
    info.n_classes = p->family->classes != NULL ? p->family->classes(part, NULL, 0) : 0;
    return info;
}

efface_model_info efface_model_get_info(const efface_model *model) {
    const ef_totals totals = model->family->totals(model->state);
    const efface_predictor_info info = efface_predictor_get_info(&model->lent);
    return (efface_model_info){.family = info.family,
                               .kind = info.kind,
                               .n_columns = info.n_columns,
                               .n_rows = totals.n_rows,
                               .total_weight = totals.total_weight,
                               .predicts = info.predicts,
                               .n_numbers = info.n_numbers,
                               .n_classes = info.n_classes};
}

int efface_predictor_is_input(const efface_predictor *p, uint32_t column) {
    ef_lent room;
    return column < p->n_columns && is_input(p->family, ef_predictor_part(p, &room), column);
}

int efface_predictor_takes_missing(const efface_predictor *p) {
    ef_lent room;
    return p->family->predicts_missing != NULL &&
           p->family->predicts_missing(ef_predictor_part(p, &room));
}

int efface_predictor_is_category(const efface_predictor *p, uint32_t column) {
    ef_lent room;
    return p->family->is_category != NULL &&
           p->family->is_category(ef_predictor_part(p, &room), column);
}

uint32_t efface_predictor_value_column(const efface_predictor *p, uint32_t number) {
    ef_lent room;
    return p->family->value_column != NULL
               ? p->family->value_column(ef_predictor_part(p, &room), number)
               : EFFACE_NO_COLUMN;
}

void efface_predictor_classes(const efface_predictor *p, int64_t *classes, size_t capacity) {
    ef_lent room;
    if (p->family->classes != NULL)
        (void)p->family->classes(ef_predictor_part(p, &room), classes, capacity);
}

/* ---------------------------------------------------------------- rows */

efface_status ef_matrix_check(const ef_family *family, const void *predictor, uint32_t n_columns,
                              size_t n_rows, const float *values, size_t *stride,
                              efface_error *error) {
    if (*stride != 0 && *stride < n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the stride of %zu is smaller than the number of columns, %" PRIu32, *stride,
                       n_columns);
    if (*stride == 0)
        *stride = n_columns;
    const bool missing = family->predicts_missing != NULL && family->predicts_missing(predictor);
    for (size_t i = 0; i < n_rows; i++)
        for (uint32_t j = 0; j < n_columns; j++) {
            const float x = values[i * *stride + j];
            if (__builtin_fabsf(x) <= (float)EFFACE_MAX_MAGNITUDE || (missing && x != x) ||
                !is_input(family, predictor, j))
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

efface_status efface_predictor_predict(const efface_predictor *p, size_t n_rows,
                                       const float *values, size_t stride, efface_number *numbers,
                                       efface_error *error) {
    if (p == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the predictor must not be NULL");
    if (n_rows != 0 && (values == NULL || numbers == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "values and numbers must not be NULL");
    ef_lent room;
    const void *const part = ef_predictor_part(p, &room);
    const efface_status status =
        ef_matrix_check(p->family, part, p->n_columns, n_rows, values, &stride, error);
    return status == EFFACE_OK ? p->family->predict(part, n_rows, values, stride, numbers, error)
                               : status;
}

efface_status efface_predictor_score(const efface_predictor *p, efface_scores scores, size_t n_rows,
                                     const float *values, size_t stride, double *numbers,
                                     efface_error *error) {
    if (p == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the predictor must not be NULL");
    if (n_rows != 0 && (values == NULL || numbers == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "values and numbers must not be NULL");
    if (scores != EFFACE_SCORES_DECISIONS && scores != EFFACE_SCORES_PROBABILITIES)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there is no such kind of scores");
    if (p->family->score == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "models of the family %s have no classes",
                       p->family->name);
    ef_lent room;
    const void *const part = ef_predictor_part(p, &room);
    const efface_status status =
        ef_matrix_check(p->family, part, p->n_columns, n_rows, values, &stride, error);
    return status == EFFACE_OK
               ? p->family->score(part, scores, n_rows, values, stride, numbers, error)
               : status;
}

/* ---------------------------------------------------------------- tables */

/* A table by its name or, if that is NULL, by its number. */
static efface_status find_table(const efface_predictor *p, const char *name, uint32_t *number,
                                efface_table *table, efface_error *error) {
    ef_lent room;
    const void *const part = ef_predictor_part(p, &room);
    char names[256] = "none";
    size_t used = 0;
    efface_table found;
    for (uint32_t i = 0; p->family->table(part, i, &found); i++) {
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

efface_status efface_predictor_get_table(const efface_predictor *p, uint32_t number,
                                         efface_table *table, efface_error *error) {
    if (p == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor and table must not be NULL");
    return find_table(p, NULL, &number, table, error);
}

efface_status efface_predictor_find_table(const efface_predictor *p, const char *name,
                                          efface_table *table, efface_error *error) {
    if (p == NULL || name == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor, name and table must not be NULL");
    uint32_t number = 0;
    return find_table(p, name, &number, table, error);
}

efface_status efface_predictor_read_table(const efface_predictor *p, const char *name, uint64_t row,
                                          const double *offsets, double *values,
                                          efface_error *error) {
    if (p == NULL || name == NULL || values == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "predictor, name and values must not be NULL");
    uint32_t number = 0;
    efface_table table;
    const efface_status status = find_table(p, name, &number, &table, error);
    if (status != EFFACE_OK)
        return status;
    if (row >= table.n_rows)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there is no %s %" PRIu64 "; the table %s has %" PRIu64 " of them",
                       table.row_name, row, table.name, table.n_rows);
    ef_lent room;
    return p->family->read_table(ef_predictor_part(p, &room), number, row,
                                 offsets != NULL ? offsets : p->offsets, values, error);
}
