/* The type Predictor: a published model. It never changes, so threads may share it without a gate.
 */
#include "py_extension.h"

#include <string.h>

typedef struct predictor {
    PyObject_HEAD efface_predictor *item;
} predictor;

static PyTypeObject *predictor_type;

static void dealloc(PyObject *object) {
    PyTypeObject *const type = Py_TYPE(object);
    efface_predictor_free(((predictor *)object)->item);
    PyObject_Free(object);
    Py_DECREF(type);
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
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const self = PyType_GenericAlloc(predictor_type, 0);
    if (self != NULL)
        ((predictor *)self)->item = item;
    else
        efface_predictor_free(item);
    return self;
}

static PyObject *info(PyObject *self, PyObject *none) {
    const efface_predictor_info found = efface_predictor_get_info(((predictor *)self)->item);
    (void)none;
    return Py_BuildValue("III", (unsigned)found.n_clusters, (unsigned)found.n_columns,
                         (unsigned)found.scale);
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

static offset_list offsets_of_item(const efface_predictor *item) {
    const double *const values = efface_predictor_offsets(item);
    return (offset_list){values, values != NULL ? efface_predictor_get_info(item).n_columns : 0};
}

static PyObject *offsets(PyObject *self, PyObject *none) {
    (void)none;
    return offsets_or_none(offsets_of_item(((predictor *)self)->item));
}

/* (out) */
static PyObject *centroids(PyObject *self, PyObject *array) {
    const efface_predictor *const item = ((predictor *)self)->item;
    const efface_predictor_info found = efface_predictor_get_info(item);
    efface_error error = {0};
    Py_buffer out;
    if (!array_open(&out, array, "d", true))
        return NULL;
    efface_status status = EFFACE_OK;
    if (array_length(&out) != (size_t)found.n_clusters * found.n_columns) {
        PyErr_SetString(PyExc_ValueError, "there must be room for all centroids");
        status = EFFACE_E_ARGUMENT;
    }
    for (uint32_t c = 0; c < found.n_clusters && status == EFFACE_OK; c++)
        status = efface_predictor_centroid(item, c, (double *)out.buf + (size_t)c * found.n_columns,
                                           &error);
    PyBuffer_Release(&out);
    return status == EFFACE_OK ? Py_NewRef(Py_None) : raise_error(status, &error);
}

/* (rows, labels) */
static PyObject *predict(PyObject *self, PyObject *arguments) {
    const efface_predictor *const item = ((predictor *)self)->item;
    PyObject *rows, *array;
    Py_buffer out;
    matrix m;
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    if (!PyArg_ParseTuple(arguments, "OO", &rows, &array) ||
        !matrix_open(&m, rows, offsets_of_item(item), false))
        return NULL;
    if (!array_open(&out, array, "il", true)) {
        matrix_close(&m);
        return NULL;
    }
    if (m.n_columns != efface_predictor_get_info(item).n_columns ||
        array_length(&out) != m.n_rows) {
        PyErr_SetString(PyExc_ValueError, "the rows have another number of features");
        status = EFFACE_E_ARGUMENT;
    }
    PyThreadState *const state = PyEval_SaveThread();
    for (size_t first = 0, n; first < m.n_rows && status == EFFACE_OK; first += n) {
        n = m.n_rows - first < m.n_batch ? m.n_rows - first : m.n_batch;
        status = efface_predictor_predict(item, n, matrix_read(&m, first, n), m.stride,
                                          (uint32_t *)out.buf + first, &error);
    }
    PyEval_RestoreThread(state);
    PyBuffer_Release(&out);
    matrix_close(&m);
    return status == EFFACE_OK ? Py_NewRef(Py_None) : raise_error(status, &error);
}

bool add_predictors(PyObject *module) {
    static PyMethodDef methods[] = {
        {"info", info, METH_NOARGS, "info(): (clusters, columns, scale)"},
        {"columns", columns, METH_NOARGS, "columns(): names, each str or None"},
        {"offsets", offsets, METH_NOARGS, "offsets(): of the columns, a list; or None"},
        {"centroids", centroids, METH_O, "centroids(out): in the units of the user"},
        {"predict", predict, METH_VARARGS, "predict(rows, labels)"},
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
