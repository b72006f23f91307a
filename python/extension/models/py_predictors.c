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

static void dealloc(PyObject *object) {
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
static PyObject *load(PyObject *module, PyObject *arguments) {
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

static PyObject *info(PyObject *self, PyObject *none) {
    const efface_predictor_info found = efface_predictor_get_info(((predictor *)self)->item);
    (void)none;
    return Py_BuildValue("sIsI", efface_family_name(found.family), (unsigned)found.n_columns,
                         predicts_name(found.predicts), (unsigned)found.n_numbers);
}

static PyObject *columns(PyObject *self, PyObject *none) {
    const efface_predictor *const item = ((predictor *)self)->item;
    const uint32_t d = efface_predictor_get_info(item).n_columns;
    (void)none;
    PyObject *list = PyList_New((Py_ssize_t)d);
    for (uint32_t j = 0; j < d && list != NULL; j++) {
        PyObject *const name = name_or_none(efface_predictor_column(item, j));
        if (name != NULL)
            PyList_SetItem(list, (Py_ssize_t)j, name);
        else
            Py_CLEAR(list);
    }
    return list;
}

static offset_list own_offsets(const predictor *self) {
    const efface_predictor *const item = self->item;
    const double *const values =
        self->offsets != NULL ? self->offsets : efface_predictor_offsets(item);
    return (offset_list){values, values != NULL ? efface_predictor_get_info(item).n_columns : 0};
}

static PyObject *offsets(PyObject *self, PyObject *none) {
    (void)none;
    return offsets_or_none(own_offsets((predictor *)self));
}

static PyObject *tables(PyObject *self, PyObject *none) {
    efface_table found[MAX_TABLES];
    const source from = source_of_predictor(((predictor *)self)->item);
    (void)none;
    return table_list(found, find_tables(&from, found));
}

/* (name, out) */
static PyObject *table(PyObject *self, PyObject *arguments) {
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

/* (rows, out) */
static PyObject *predict(PyObject *self, PyObject *arguments) {
    const source by = source_of_predictor(((predictor *)self)->item);
    PyObject *rows, *array, *result = NULL;
    Py_buffer out;
    matrix m;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OO", &rows, &array) ||
        !matrix_open(&m, rows, own_offsets((predictor *)self), false))
        return NULL;
    if (array_open(&out, array, ANSWER_FORMATS, true)) {
        PyThreadState *const state = PyEval_SaveThread();
        const efface_status status = predict_rows(&by, &m, &out, &error);
        PyEval_RestoreThread(state);
        PyBuffer_Release(&out);
        result = none_or_error(status, &error);
    }
    matrix_close(&m);
    return result;
}

/* (probabilities, rows, out) */
static PyObject *score(PyObject *self, PyObject *arguments) {
    const source by = source_of_predictor(((predictor *)self)->item);
    PyObject *rows, *array, *result = NULL;
    int probabilities;
    Py_buffer out;
    matrix m;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "pOO", &probabilities, &rows, &array) ||
        !matrix_open(&m, rows, own_offsets((predictor *)self), false))
        return NULL;
    if (array_open(&out, array, "d", true)) {
        PyThreadState *const state = PyEval_SaveThread();
        const efface_status status =
            score_rows(&by, probabilities ? EFFACE_SCORES_PROBABILITIES : EFFACE_SCORES_DECISIONS,
                       &m, &out, &error);
        PyEval_RestoreThread(state);
        PyBuffer_Release(&out);
        result = none_or_error(status, &error);
    }
    matrix_close(&m);
    return result;
}

static PyObject *form(PyObject *self, PyObject *none) {
    const source by = source_of_predictor(((predictor *)self)->item);
    answer_form found;
    (void)none;
    return answer_form_copy(&by, &found) ? answer_form_tuple(&found) : PyErr_NoMemory();
}

static PyObject *takes_missing(PyObject *self, PyObject *none) {
    (void)none;
    return PyBool_FromLong(efface_predictor_takes_missing(((predictor *)self)->item));
}

/* (class) */
static PyObject *class_text(PyObject *self, PyObject *number) {
    const long long class_id = PyLong_AsLongLong(number);
    return PyErr_Occurred() == NULL
               ? name_or_none(efface_predictor_class_text(((predictor *)self)->item, class_id))
               : NULL;
}

bool add_predictors(PyObject *module) {
    static PyMethodDef methods[] = {
        {"info", info, METH_NOARGS,
         "info(): family, columns, what it predicts, how many numbers a row"},
        {"columns", columns, METH_NOARGS, "columns(): names, each str or None"},
        {"offsets", offsets, METH_NOARGS, "offsets(): of the columns, a list; or None"},
        {"tables", tables, METH_NOARGS, "tables(): (name, name of a row, rows, columns)s"},
        {"table", table, METH_VARARGS, "table(name, out): in the units of the user"},
        {"predict", predict, METH_VARARGS, "predict(rows, out)"},
        {"score", score, METH_VARARGS, "score(probabilities, rows, out): as Models.score"},
        {"form", form, METH_NOARGS, "form(): as Models.form"},
        {"takes_missing", takes_missing, METH_NOARGS, "takes_missing(): as that of Models"},
        {"class_text", class_text, METH_O, "class_text(class): str, or None for a number"},
        {NULL, NULL, 0, NULL},
    };
    static PyMethodDef functions[] = {
        {"load_predictor", load, METH_VARARGS, "load_predictor(path): a Predictor"},
        {NULL, NULL, 0, NULL},
    };
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)(uintptr_t)dealloc},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "efface._efface.Predictor",
        .basicsize = sizeof(predictor),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    predictor_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return predictor_type != NULL &&
           PyModule_AddObjectRef(module, "Predictor", (PyObject *)predictor_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
