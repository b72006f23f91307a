/* Asking models of any family: methods that change nothing. */
#include "models/py_models.h"

#include <stdlib.h>
#include <string.h>

static PyObject *make_number(const void *numbers, size_t i) {
    return PyLong_FromUnsignedLongLong(((const uint64_t *)numbers)[i]);
}

PyObject *models_seeds(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    (void)none;
    if (self->seeds == NULL)
        return Py_NewRef(Py_None);
    uint64_t *const seeds = calloc(self->n_items + 1, sizeof *seeds);
    if (seeds == NULL)
        return PyErr_NoMemory();
    PyThreadState *const state = models_enter(self);
    if (state == NULL) {
        free(seeds);
        return NULL;
    }
    memcpy(seeds, self->seeds, self->n_items * sizeof *seeds);
    gate_leave(&self->gate, state);
    PyObject *const list = list_of(self->n_items, make_number, seeds);
    PyObject *const tuple = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    wipe(seeds, self->n_items * sizeof *seeds);
    free(seeds);
    return tuple;
}

PyObject *models_shape(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    (void)none;
    PyThreadState *const state = models_enter(self);
    if (state == NULL)
        return NULL;
    const size_t n_rows = efface_data_n_rows(self->data);
    const uint32_t n_columns = efface_data_n_columns(self->data);
    const int64_t weight = efface_data_total_weight(self->data);
    gate_leave(&self->gate, state);
    return Py_BuildValue("nInL", (Py_ssize_t)n_rows, (unsigned)n_columns, (Py_ssize_t)self->n_items,
                         (long long)weight);
}

static PyObject *make_column_name(const void *data, size_t j) {
    return name_or_none(efface_data_column_name(data, (uint32_t)j));
}

/* Names never change: they need no gate. */
PyObject *models_column_names(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    (void)none;
    return list_of(efface_data_n_columns(self->data), make_column_name, self->data);
}

/* Nor do offsets. */
PyObject *models_offsets(PyObject *object, PyObject *none) {
    (void)none;
    return offsets_or_none(offsets_of(((models *)object)->data));
}

PyObject *models_text_id(PyObject *object, PyObject *text) {
    const models *const self = (const models *)object;
    const name_rule rule = models_rule(self);
    return number_of_text(text, &rule);
}

/* A list of the numbers, which is closed. */
static PyObject *take_numbers(id_list *list) {
    PyObject *const numbers = list_of(list->n, make_number, list->items);
    ids_close(list);
    return numbers;
}

PyObject *models_owner_numbers(PyObject *object, PyObject *owners) {
    const name_rule rule = models_rule((const models *)object);
    id_list list;
    return ids_open(&list, owners, USE_OWNERS, &rule, NULL) ? take_numbers(&list) : NULL;
}

PyObject *models_owners_of(PyObject *object, PyObject *ids) {
    models *const self = (models *)object;
    const name_rule rule = models_rule(self);
    id_list list;
    if (!ids_open(&list, ids, USE_IDS, &rule, NULL))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state == NULL) {
        ids_close(&list);
        return NULL;
    }
    for (size_t i = 0; i < list.n; i++) {
        size_t position;
        list.items[i] = efface_data_find(self->data, list.items[i], &position) == EFFACE_OK
                            ? efface_data_row(self->data, position).owner
                            : EFFACE_NO_OWNER;
    }
    gate_leave(&self->gate, state);
    return take_numbers(&list);
}

PyObject *models_rows(PyObject *object, PyObject *arguments) {
    enum { VALUES, IDS, WEIGHTS, OWNERS, ARRIVALS, LABELS, N_ARRAYS };
    static const char *const formats[N_ARRAYS] = {"f", "QL", "ql", "QL", "ql", "ql"};
    models *const self = (models *)object;
    PyObject *out[N_ARRAYS], *result = NULL;
    Py_buffer views[N_ARRAYS];
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &out[VALUES], &out[IDS], &out[WEIGHTS], &out[OWNERS],
                          &out[ARRIVALS], &out[LABELS]))
        return NULL;
    memset(views, 0, sizeof views);
    for (size_t a = 0; a < N_ARRAYS; a++)
        if (out[a] != Py_None && !array_open(&views[a], out[a], formats[a], true))
            goto out;
    PyThreadState *const state = models_enter(self);
    if (state == NULL)
        goto out;
    const size_t n_rows = efface_data_n_rows(self->data);
    const uint32_t d = efface_data_n_columns(self->data);
    for (size_t a = 0; a < N_ARRAYS && status == EFFACE_OK; a++)
        if (views[a].buf != NULL)
            status = check_length(&views[a], a == VALUES ? n_rows * d : n_rows, &error);
    for (size_t i = 0; status == EFFACE_OK && i < n_rows; i++) {
        const efface_row row = efface_data_row(self->data, i);
        if (views[VALUES].buf != NULL)
            efface_data_values(self->data, i, (float *)views[VALUES].buf + i * d);
        if (views[IDS].buf != NULL)
            ((uint64_t *)views[IDS].buf)[i] = row.id;
        if (views[WEIGHTS].buf != NULL)
            ((int64_t *)views[WEIGHTS].buf)[i] = row.weight;
        if (views[OWNERS].buf != NULL)
            ((uint64_t *)views[OWNERS].buf)[i] = row.owner;
        if (views[ARRIVALS].buf != NULL)
            ((int64_t *)views[ARRIVALS].buf)[i] = row.mark;
        if (views[LABELS].buf != NULL)
            ((int64_t *)views[LABELS].buf)[i] = row.label;
    }
    gate_leave(&self->gate, state);
    result = none_or_error(status, &error);
out:
    for (size_t a = 0; a < N_ARRAYS; a++)
        if (views[a].obj != NULL)
            PyBuffer_Release(&views[a]);
    return result;
}

PyObject *models_info(PyObject *self, PyObject *run) {
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const efface_model_info info = efface_model_get_info(q.model);
    question_end(&q);
    return Py_BuildValue("ssI", info.kind, predicts_name(info.predicts), (unsigned)info.n_numbers);
}

PyObject *models_facts(PyObject *self, PyObject *run) {
    fact_list facts = {0};
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    efface_model_describe(q.model, note_fact, &facts);
    question_end(&q);
    return facts_tuple(&facts);
}

PyObject *models_tables(PyObject *self, PyObject *run) {
    efface_table tables[MAX_TABLES];
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const source from = source_of_model(q.model, q.data);
    const size_t n_tables = find_tables(&from, tables);
    question_end(&q);
    return table_list(tables, n_tables);
}

static efface_status fill_table(question *q, const void *name, const Py_buffer *out) {
    const source from = source_of_model(q->model, q->data);
    return read_table(&from, name, out, &q->error);
}

/* (run, name, out) */
PyObject *models_table(PyObject *self, PyObject *arguments) {
    PyObject *run, *array;
    const char *name;
    return PyArg_ParseTuple(arguments, "OsO", &run, &name, &array)
               ? fill_array(self, run, array, "d", fill_table, name)
               : NULL;
}

PyObject *models_form(PyObject *self, PyObject *run) {
    answer_form form;
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const source by = source_of_model(q.model, q.data);
    const bool done = answer_form_copy(&by, &form);
    question_end(&q);
    return done ? answer_form_tuple(&form) : PyErr_NoMemory();
}

PyObject *models_takes_missing(PyObject *self, PyObject *run) {
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const int takes = efface_predictor_takes_missing(efface_model_predictor(q.model));
    question_end(&q);
    return PyBool_FromLong(takes);
}

static efface_status fill_probabilities(question *q, const void *rows, const Py_buffer *out) {
    const source by = source_of_model(q->model, q->data);
    return score_rows(&by, EFFACE_SCORES_PROBABILITIES, rows, out, &q->error);
}

static efface_status fill_decisions(question *q, const void *rows, const Py_buffer *out) {
    const source by = source_of_model(q->model, q->data);
    return score_rows(&by, EFFACE_SCORES_DECISIONS, rows, out, &q->error);
}

/* (run, whether probabilities are wanted, rows, out) */
PyObject *models_score(PyObject *self, PyObject *arguments) {
    PyObject *run, *rows, *array;
    int probabilities;
    return PyArg_ParseTuple(arguments, "OpOO", &run, &probabilities, &rows, &array)
               ? fill_of_rows(self, run, rows, array, "d",
                              probabilities ? fill_probabilities : fill_decisions)
               : NULL;
}

static efface_status fill_predicted(question *q, const void *rows, const Py_buffer *out) {
    const source by = source_of_model(q->model, q->data);
    return predict_rows(&by, rows, out, &q->error);
}

/* (run, rows, out) */
PyObject *models_predict(PyObject *self, PyObject *arguments) {
    return ask_of_rows(self, arguments, ANSWER_FORMATS, fill_predicted);
}

PyObject *models_encode(PyObject *self, PyObject *run) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const efface_status status = efface_model_encode(q.model, &bytes, &n_bytes, &q.error);
    question_end(&q);
    return status == EFFACE_OK ? take_bytes(bytes, n_bytes) : raise_error(status, &q.error);
}

PyObject *models_digest(PyObject *self, PyObject *run) {
    unsigned char digest[EFFACE_DIGEST_BYTES];
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const efface_status status = efface_model_digest(q.model, digest, &q.error);
    question_end(&q);
    return status == EFFACE_OK ? PyBytes_FromStringAndSize((const char *)digest, sizeof digest)
                               : raise_error(status, &q.error);
}

PyObject *models_verify(PyObject *self, PyObject *run) {
    efface_difference difference;
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const efface_status status = efface_model_verify(q.model, q.data, &difference, &q.error);
    question_end(&q);
    return status == EFFACE_OK ? difference_tuple(&difference) : raise_error(status, &q.error);
}
