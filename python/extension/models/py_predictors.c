/* The type Predictor: a published model, or a view of a model as it was. It never changes, so
 * threads may share it without a gate. */
#include "module/py_extension.h"

#include <stdlib.h>
#include <string.h>

typedef struct predictor {
    PyObject_HEAD efface_predictor *item;
    double *offsets; /* of the model that it is a view of, or NULL */
} predictor;

static PyTypeObject *predictor_type;

static void predictor_dealloc(PyObject *object) {
    PyTypeObject *const type = Py_TYPE(object);
    efface_predictor_free(((predictor *)object)->item);
    free(((predictor *)object)->offsets);
    PyObject_Free(object);
    Py_DECREF(type);
}

PyObject *predictor_wrap(efface_predictor *item, const efface_data *data) {
    const offset_list offsets = data != NULL ? offsets_of(data) : (offset_list){NULL, 0};
    double *copy = NULL;
    if (offsets.values != NULL && (copy = malloc(offsets.n * sizeof *copy)) == NULL) {
        efface_predictor_free(item);
        return PyErr_NoMemory();
    }
    if (copy != NULL)
        memcpy(copy, offsets.values, offsets.n * sizeof *copy);
    PyObject *const self = PyType_GenericAlloc(predictor_type, 0);
    if (self != NULL) {
        ((predictor *)self)->item = item;
        ((predictor *)self)->offsets = copy;
    } else {
        efface_predictor_free(item);
        free(copy);
    }
    return self;
}

/* (path) */
static PyObject *load_predictor(PyObject *module, PyObject *arguments) {
    PyObject *path;
    efface_predictor *item = NULL;
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    const char *const name = PyBytes_AsString(path);
    PyThreadState *const state = PyEval_SaveThread();
    const efface_status status = efface_predictor_load(name, &item, &error);
    PyEval_RestoreThread(state);
    Py_DECREF(path);
    return status == EFFACE_OK ? predictor_wrap(item, NULL) : raise_error(status, &error);
}

static PyObject *predictor_info(PyObject *self, PyObject *none) {
    const efface_predictor_info found = efface_predictor_get_info(((predictor *)self)->item);
    (void)none;
    return Py_BuildValue("sIsI", found.kind, (unsigned)found.n_columns,
                         predicts_name(found.predicts), (unsigned)found.n_numbers);
}

static PyObject *make_column_name(const void *item, size_t j) {
    return name_or_none(efface_predictor_column(item, (uint32_t)j));
}

static PyObject *predictor_columns(PyObject *self, PyObject *none) {
    const efface_predictor *const item = ((predictor *)self)->item;
    (void)none;
    return list_of(efface_predictor_get_info(item).n_columns, make_column_name, item);
}

static offset_list own_offsets(const predictor *self) {
    const efface_predictor *const item = self->item;
    const double *const values =
        self->offsets != NULL ? self->offsets : efface_predictor_offsets(item);
    return (offset_list){values, values != NULL ? efface_predictor_get_info(item).n_columns : 0};
}

static PyObject *predictor_offsets(PyObject *self, PyObject *none) {
    (void)none;
    return offsets_or_none(own_offsets((predictor *)self));
}

static PyObject *predictor_tables(PyObject *self, PyObject *none) {
    efface_table found[MAX_TABLES];
    const source from = source_of_predictor(((predictor *)self)->item);
    (void)none;
    return table_list(found, find_tables(&from, found));
}

/* (name, out) */
static PyObject *predictor_table(PyObject *self, PyObject *arguments) {
    const source from = source_of_predictor(((predictor *)self)->item);
    const char *name;
    PyObject *array;
    Py_buffer out;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "sO", &name, &array) || !array_open(&out, array, "d", true))
        return NULL;
    const efface_status status = read_table(&from, name, &out, &error);
    PyBuffer_Release(&out);
    return none_or_error(status, &error);
}

/* What rows are told, as an array. */
typedef efface_status (*telling)(const source *by, const matrix *m, const Py_buffer *out,
                                 efface_error *error);

static PyObject *tell_rows(predictor *self, PyObject *rows, PyObject *array, const char *formats,
                           telling tell) {
    const source by = source_of_predictor(self->item);
    PyObject *result = NULL;
    Py_buffer out;
    matrix m;
    efface_error error = {0};
    if (!matrix_open(&m, rows, own_offsets(self), false))
        return NULL;
    if (array_open(&out, array, formats, true)) {
        PyThreadState *const state = PyEval_SaveThread();
        const efface_status status = tell(&by, &m, &out, &error);
        PyEval_RestoreThread(state);
        PyBuffer_Release(&out);
        result = none_or_error(status, &error);
    }
    matrix_close(&m);
    return result;
}

/* (rows, out) */
static PyObject *predictor_predict(PyObject *self, PyObject *arguments) {
    PyObject *rows, *array;
    return PyArg_ParseTuple(arguments, "OO", &rows, &array)
               ? tell_rows((predictor *)self, rows, array, ANSWER_FORMATS, predict_rows)
               : NULL;
}

static efface_status tell_probabilities(const source *by, const matrix *m, const Py_buffer *out,
                                        efface_error *error) {
    return score_rows(by, EFFACE_SCORES_PROBABILITIES, m, out, error);
}

static efface_status tell_decisions(const source *by, const matrix *m, const Py_buffer *out,
                                    efface_error *error) {
    return score_rows(by, EFFACE_SCORES_DECISIONS, m, out, error);
}

/* (probabilities, rows, out) */
static PyObject *predictor_score(PyObject *self, PyObject *arguments) {
    PyObject *rows, *array;
    int probabilities;
    return PyArg_ParseTuple(arguments, "pOO", &probabilities, &rows, &array)
               ? tell_rows((predictor *)self, rows, array, "d",
                           probabilities ? tell_probabilities : tell_decisions)
               : NULL;
}

static PyObject *predictor_form(PyObject *self, PyObject *none) {
    const source by = source_of_predictor(((predictor *)self)->item);
    answer_form found;
    (void)none;
    return answer_form_copy(&by, &found) ? answer_form_tuple(&found) : PyErr_NoMemory();
}

static PyObject *predictor_takes_missing(PyObject *self, PyObject *none) {
    (void)none;
    return PyBool_FromLong(efface_predictor_takes_missing(((predictor *)self)->item));
}

/* (class) */
static PyObject *predictor_class_text(PyObject *self, PyObject *number) {
    const long long class_id = PyLong_AsLongLong(number);
    return PyErr_Occurred() == NULL
               ? name_or_none(efface_predictor_class_text(((predictor *)self)->item, class_id))
               : NULL;
}

bool add_predictors(PyObject *module) {
    static PyMethodDef predictor_methods[] = {
        {"info", predictor_info, METH_NOARGS,
         "info(): family, columns, what it predicts, how many numbers a row"},
        {"columns", predictor_columns, METH_NOARGS, "columns(): names, each str or None"},
        {"offsets", predictor_offsets, METH_NOARGS, "offsets(): of the columns, a list; or None"},
        {"tables", predictor_tables, METH_NOARGS,
         "tables(): (name, name of a row, rows, columns)s"},
        {"table", predictor_table, METH_VARARGS, "table(name, out): in the units of the user"},
        {"predict", predictor_predict, METH_VARARGS, "predict(rows, out)"},
        {"score", predictor_score, METH_VARARGS,
         "score(probabilities, rows, out): as Models.score"},
        {"form", predictor_form, METH_NOARGS, "form(): as Models.form"},
        {"takes_missing", predictor_takes_missing, METH_NOARGS,
         "takes_missing(): as that of Models"},
        {"class_text", predictor_class_text, METH_O,
         "class_text(class): str, or None for a number"},
        {NULL, NULL, 0, NULL},
    };
    static PyMethodDef functions[] = {
        {"load_predictor", load_predictor, METH_VARARGS, "load_predictor(path): a Predictor"},
        {NULL, NULL, 0, NULL},
    };
    predictor_type = add_type(module, "Predictor", sizeof(predictor), predictor_dealloc,
                              predictor_methods, NULL, false);
    return predictor_type != NULL && PyModule_AddFunctions(module, functions) == 0;
}
