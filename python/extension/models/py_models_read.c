/* Asking models of any family: methods that change nothing. */
#include "models/py_models.h"

#include <stdlib.h>
#include <string.h>

bool models_run(const models *self, PyObject *object, size_t *run) {
    *run = PyLong_AsSize_t(object);
    if (PyErr_Occurred() == NULL && *run >= self->n_items)
        PyErr_Format(PyExc_IndexError, "there is no model number %zu", *run);
    return PyErr_Occurred() == NULL;
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
    PyObject *tuple = PyTuple_New((Py_ssize_t)self->n_items);
    for (size_t i = 0; i < self->n_items && tuple != NULL; i++) {
        PyObject *const seed = PyLong_FromUnsignedLongLong(seeds[i]);
        if (seed != NULL)
            PyTuple_SetItem(tuple, (Py_ssize_t)i, seed);
        else
            Py_CLEAR(tuple);
    }
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

/* Names never change: they need no gate. */
PyObject *models_column_names(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    (void)none;
    const uint32_t n_columns = efface_data_n_columns(self->data);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n_columns);
    for (uint32_t j = 0; j < n_columns && tuple != NULL; j++) {
        PyObject *const name = name_or_none(efface_data_column_name(self->data, j));
        if (name != NULL)
            PyTuple_SetItem(tuple, (Py_ssize_t)j, name);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Nor do offsets. */
PyObject *models_offsets(PyObject *object, PyObject *none) {
    (void)none;
    return offsets_or_none(offsets_of(((models *)object)->data));
}

PyObject *models_text_id(PyObject *object, PyObject *text) {
    const models *const self = (const models *)object;
    Py_ssize_t n_bytes;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    if (bytes == NULL)
        return NULL;
    return PyLong_FromUnsignedLongLong(efface_text_id(bytes, (size_t)n_bytes, self->key));
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

PyObject *models_info(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_model_info info = efface_model_get_info(self->items[run]);
    gate_leave(&self->gate, state);
    return Py_BuildValue("ssI", efface_family_name(info.family), predicts_name(info.predicts),
                         (unsigned)info.n_numbers);
}

PyObject *models_facts(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    fact_list facts = {0};
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    efface_model_describe(self->items[run], note_fact, &facts);
    gate_leave(&self->gate, state);
    return facts_tuple(&facts);
}

PyObject *models_tables(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    efface_table tables[MAX_TABLES];
    size_t run;
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const source from = source_of_model(self->items[run], self->data);
    const size_t n_tables = find_tables(&from, tables);
    gate_leave(&self->gate, state);
    return table_list(tables, n_tables);
}

/* (run, name, out) */
PyObject *models_table(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *array, *result = NULL;
    const char *name;
    Py_buffer out;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OsO", &number, &name, &array) ||
        !models_run(self, number, &run) || !array_open(&out, array, "d", true))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        const source from = source_of_model(self->items[run], self->data);
        const efface_status status = read_table(&from, name, &out, &error);
        gate_leave(&self->gate, state);
        result = none_or_error(status, &error);
    }
    PyBuffer_Release(&out);
    return result;
}

PyObject *models_form(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    answer_form form;
    size_t run;
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const source by = source_of_model(self->items[run], self->data);
    const bool done = answer_form_copy(&by, &form);
    gate_leave(&self->gate, state);
    return done ? answer_form_tuple(&form) : PyErr_NoMemory();
}

PyObject *models_takes_missing(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const int takes = efface_model_takes_missing(self->items[run]);
    gate_leave(&self->gate, state);
    return PyBool_FromLong(takes);
}

/* (run, whether probabilities are wanted, rows, out) */
PyObject *models_score(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *rows, *array, *result = NULL;
    int probabilities;
    Py_buffer out;
    matrix m;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OpOO", &number, &probabilities, &rows, &array) ||
        !models_run(self, number, &run) || !matrix_open(&m, rows, offsets_of(self->data), false))
        return NULL;
    if (array_open(&out, array, "d", true)) {
        PyThreadState *const state = models_enter(self);
        if (state != NULL) {
            const source by = source_of_model(self->items[run], self->data);
            const efface_status status = score_rows(
                &by, probabilities ? EFFACE_SCORES_PROBABILITIES : EFFACE_SCORES_DECISIONS, &m,
                &out, &error);
            gate_leave(&self->gate, state);
            result = none_or_error(status, &error);
        }
        PyBuffer_Release(&out);
    }
    matrix_close(&m);
    return result;
}

/* (run, rows, out) */
PyObject *models_predict(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *rows, *array, *result = NULL;
    Py_buffer out;
    matrix m;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &rows, &array) ||
        !models_run(self, number, &run) || !matrix_open(&m, rows, offsets_of(self->data), false))
        return NULL;
    if (array_open(&out, array, ANSWER_FORMATS, true)) {
        PyThreadState *const state = models_enter(self);
        if (state != NULL) {
            const source by = source_of_model(self->items[run], self->data);
            const efface_status status = predict_rows(&by, &m, &out, &error);
            gate_leave(&self->gate, state);
            result = none_or_error(status, &error);
        }
        PyBuffer_Release(&out);
    }
    matrix_close(&m);
    return result;
}

PyObject *models_encode(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run, n_bytes = 0;
    unsigned char *bytes = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_model_encode(self->items[run], &bytes, &n_bytes, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const result = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)n_bytes);
    efface_bytes_free(bytes);
    return result;
}

PyObject *models_digest(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    efface_error error = {0};
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_model_digest(self->items[run], digest, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? PyBytes_FromStringAndSize((const char *)digest, sizeof digest)
                               : raise_error(status, &error);
}

PyObject *models_verify(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    efface_difference difference;
    efface_error error = {0};
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status =
        efface_model_verify(self->items[run], self->data, &difference, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? difference_tuple(&difference) : raise_error(status, &error);
}
