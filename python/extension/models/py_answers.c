/* What is asked of models and of published models alike: predictions, scores and tables. */
#include "module/py_extension.h"

#include <stdlib.h>

source source_of_predictor(const efface_predictor *predictor) {
    const efface_predictor_info info = efface_predictor_get_info(predictor);
    return (source){
        .predictor = predictor,
        .predicts = info.predicts,
        .n_numbers = info.n_numbers,
        .n_classes = info.n_classes,
        .n_columns = info.n_columns,
    };
}

source source_of_model(const efface_model *model, const efface_data *data) {
    source from = source_of_predictor(efface_model_predictor(model));
    from.offsets = efface_data_offsets(data);
    return from;
}

efface_status check_length(const Py_buffer *view, size_t n, efface_error *error) {
    return array_length(view) == n
               ? EFFACE_OK
               : fail_argument(error,
                               "another thread changed the model during this call; call it again");
}

/* ------------------------------------------------------------------ predictions */

const char *predicts_name(efface_predicts predicts) {
    switch (predicts) {
    case EFFACE_PREDICTS_CLUSTERS: return "clusters";
    case EFFACE_PREDICTS_CLASSES: return "classes";
    case EFFACE_PREDICTS_VALUES: return "values";
    case EFFACE_PREDICTS_PROBABILITIES: return "probabilities";
    }
    return "";
}

static bool is_real(efface_predicts predicts) {
    return predicts == EFFACE_PREDICTS_VALUES || predicts == EFFACE_PREDICTS_PROBABILITIES;
}

static efface_status check_array(const source *by, const matrix *m, const Py_buffer *out,
                                 efface_error *error) {
    const size_t n_numbers = by->n_numbers != 0 ? by->n_numbers : 1;
    const Py_ssize_t n_bytes = by->predicts == EFFACE_PREDICTS_CLUSTERS ? 4 : 8;
    if (m->n_columns != by->n_columns)
        return fail_argument(error, "the rows and the model have different numbers of features");
    if ((item_format(out) == 'd') != is_real(by->predicts) || out->itemsize != n_bytes)
        return fail_argument(error, "the array is not of the type that is predicted");
    return check_length(out, m->n_rows * n_numbers, error);
}

/* Clusters are written as 32-bit numbers, and so are not written in place. Their numbers are below
 * 2^24. */
enum { AT_ONCE = 1 << 16 };

static efface_status predict_batch(const source *by, const matrix *m, size_t first, size_t n,
                                   efface_number *room, const Py_buffer *out, efface_error *error) {
    const float *const values = matrix_read(m, first, n);
    if (room == NULL)
        return efface_predictor_predict(by->predictor, n, values, m->stride,
                                        (efface_number *)out->buf + first * by->n_numbers, error);
    const efface_status status =
        efface_predictor_predict(by->predictor, n, values, m->stride, room, error);
    int32_t *const to = (int32_t *)out->buf + first * by->n_numbers;
    for (size_t i = 0; i < n * by->n_numbers && status == EFFACE_OK; i++)
        to[i] = (int32_t)room[i].whole;
    return status;
}

efface_status predict_rows(const source *by, const matrix *m, const Py_buffer *out,
                           efface_error *error) {
    efface_status status = check_array(by, m, out, error);
    if (status != EFFACE_OK)
        return status;
    efface_number *room = NULL;
    size_t n_batch = m->n_batch;
    if (by->predicts == EFFACE_PREDICTS_CLUSTERS) {
        n_batch = n_batch < AT_ONCE ? n_batch : AT_ONCE;
        room = calloc(n_batch * by->n_numbers + 1, sizeof *room);
        if (room == NULL)
            return EFFACE_E_MEMORY;
    }
    for (size_t first = 0, n; first < m->n_rows && status == EFFACE_OK; first += n) {
        n = m->n_rows - first < n_batch ? m->n_rows - first : n_batch;
        status = predict_batch(by, m, first, n, room, out, error);
    }
    free(room);
    return status;
}

/* ------------------------------------------------------------------ scores */

efface_status score_rows(const source *by, efface_scores scores, const matrix *m,
                         const Py_buffer *out, efface_error *error) {
    if (m->n_columns != by->n_columns)
        return fail_argument(error, "the rows and the model have different numbers of features");
    efface_status status = check_length(out, m->n_rows * by->n_classes, error);
    for (size_t first = 0, n; first < m->n_rows && status == EFFACE_OK; first += n) {
        n = m->n_rows - first < m->n_batch ? m->n_rows - first : m->n_batch;
        status =
            efface_predictor_score(by->predictor, scores, n, matrix_read(m, first, n), m->stride,
                                   (double *)out->buf + first * by->n_classes, error);
    }
    return status;
}

static void answer_form_free(answer_form *form) {
    free(form->inputs);
    free(form->value_columns);
    free(form->classes);
    free(form->categories);
    *form = (answer_form){0};
}

bool answer_form_copy(const source *by, answer_form *form) {
    *form = (answer_form){.n_numbers = by->n_numbers, .n_classes = by->n_classes};
    form->inputs = calloc((size_t)by->n_columns + 1, sizeof *form->inputs);
    form->value_columns = calloc(form->n_numbers + 1, sizeof *form->value_columns);
    form->classes = calloc(form->n_classes + 1, sizeof *form->classes);
    form->categories = calloc((size_t)by->n_columns + 1, sizeof *form->categories);
    if (form->inputs == NULL || form->value_columns == NULL || form->classes == NULL ||
        form->categories == NULL) {
        answer_form_free(form);
        return false;
    }
    for (uint32_t j = 0; j < by->n_columns; j++) {
        if (efface_predictor_is_input(by->predictor, j))
            form->inputs[form->n_inputs++] = j;
        if (efface_predictor_is_category(by->predictor, j))
            form->categories[form->n_categories++] = j;
    }
    for (uint32_t i = 0; i < form->n_numbers; i++)
        form->value_columns[i] = efface_predictor_value_column(by->predictor, i);
    efface_predictor_classes(by->predictor, form->classes, form->n_classes);
    return true;
}

static PyObject *make_value_column(const void *from, size_t i) {
    const uint32_t column = ((const uint32_t *)from)[i];
    return column != EFFACE_NO_COLUMN ? PyLong_FromUnsignedLong(column) : Py_NewRef(Py_None);
}

static PyObject *make_class(const void *from, size_t i) {
    return PyLong_FromLongLong(((const int64_t *)from)[i]);
}

PyObject *answer_form_tuple(answer_form *form) {
    PyObject *const result =
        Py_BuildValue("NNNN", column_list(form->inputs, form->n_inputs),
                      list_of(form->n_numbers, make_value_column, form->value_columns),
                      list_of(form->n_classes, make_class, form->classes),
                      column_list(form->categories, form->n_categories));
    answer_form_free(form);
    return result;
}

/* ------------------------------------------------------------------ tables */

size_t find_tables(const source *by, efface_table tables[MAX_TABLES]) {
    efface_error error;
    size_t n = 0;
    while (n < MAX_TABLES &&
           efface_predictor_get_table(by->predictor, (uint32_t)n, &tables[n], &error) == EFFACE_OK)
        n++;
    return n;
}

static PyObject *make_table(const void *from, size_t i) {
    const efface_table *const table = (const efface_table *)from + i;
    return Py_BuildValue("ssKI", table->name, table->row_name, (unsigned long long)table->n_rows,
                         (unsigned)table->n_columns);
}

PyObject *table_list(const efface_table *tables, size_t n_tables) {
    return list_of(n_tables, make_table, tables);
}

efface_status read_table(const source *by, const char *name, const Py_buffer *out,
                         efface_error *error) {
    efface_table table;
    efface_status status = efface_predictor_find_table(by->predictor, name, &table, error);
    if (status == EFFACE_OK)
        status = check_length(out, (size_t)table.n_rows * table.n_columns, error);
    for (uint64_t row = 0; status == EFFACE_OK && row < table.n_rows; row++) {
        double *const values = (double *)out->buf + row * table.n_columns;
        status = efface_predictor_read_table(by->predictor, name, row, by->offsets, values, error);
    }
    return status;
}
