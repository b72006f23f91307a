/* What float32 makes of an array, before anything is made of it. */
#include "module/py_extension.h"

#include <stdlib.h>

enum { AT_ONCE = 64 };

/* Needs no GIL. */
static efface_status look_at_rows(const matrix *m, const double *offsets, efface_rounding *rounding,
                                  efface_error *error) {
    if (matrix_doubles(m) != NULL)
        return efface_rounding_add(rounding, m->n_rows, m->n_columns, matrix_doubles(m), 0, offsets,
                                   error);
    double *const wide = malloc((size_t)AT_ONCE * m->n_columns * sizeof *wide);
    if (wide == NULL)
        return EFFACE_E_MEMORY;
    const Py_ssize_t *const strides = m->view.strides;
    efface_status status = EFFACE_OK;
    for (size_t first = 0, n; first < m->n_rows && status == EFFACE_OK; first += n) {
        n = m->n_rows - first < AT_ONCE ? m->n_rows - first : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            m->widen((const char *)m->view.buf + (Py_ssize_t)(first + i) * strides[0], strides[1],
                     m->n_columns, wide + i * m->n_columns);
        status = efface_rounding_add(rounding, n, m->n_columns, wide, 0, offsets, error);
    }
    wipe(wide, (size_t)AT_ONCE * m->n_columns * sizeof *wide);
    free(wide);
    return status;
}

PyObject *rounding_findings(const efface_rounding *rounding) {
    PyObject *list = PyList_New(0);
    for (uint32_t j = 0; list != NULL && j < efface_rounding_n_columns(rounding); j++) {
        const efface_column_rounding found = efface_rounding_column(rounding, j);
        if (!found.collapses && found.n_vanished == 0)
            continue;
        PyObject *const item = Py_BuildValue(
            "INKddd", (unsigned)j, PyBool_FromLong(found.collapses),
            (unsigned long long)found.n_vanished, found.step, found.spread, found.offset);
        if (item == NULL || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* (rows, offsets) */
static PyObject *find_rounding(PyObject *module, PyObject *arguments) {
    PyObject *rows, *shifts, *result = NULL;
    Py_buffer view;
    offset_list offsets;
    matrix m;
    efface_rounding *rounding = NULL;
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &rows, &shifts) ||
        !offsets_open(&view, shifts, &offsets))
        return NULL;
    if (matrix_open(&m, rows, offsets, false)) {
        efface_status status = efface_rounding_create(&rounding, &error);
        /* What is float32 already, or as short, loses nothing. */
        if (status == EFFACE_OK && (!m.exact || offsets.values != NULL)) {
            PyThreadState *const state = PyEval_SaveThread();
            status = look_at_rows(&m, offsets.values, rounding, &error);
            PyEval_RestoreThread(state);
        }
        result = status == EFFACE_OK ? rounding_findings(rounding) : raise_error(status, &error);
        efface_rounding_free(rounding);
        matrix_close(&m);
    }
    if (view.obj != NULL)
        PyBuffer_Release(&view);
    return result;
}

bool add_rounding(PyObject *module) {
    static PyMethodDef functions[] = {
        {"rounding", find_rounding, METH_VARARGS,
         "rounding(rows, offsets): what float32 loses, by column"},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(module, functions) == 0;
}
