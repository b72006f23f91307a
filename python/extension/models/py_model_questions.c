/* How one model is asked: through the gate, and into the arrays that the Python layer made. */
#include "models/py_models.h"

bool question_begin(question *q, PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    const size_t run = PyLong_AsSize_t(number);
    if (PyErr_Occurred() == NULL && run >= self->n_items)
        PyErr_Format(PyExc_IndexError, "there is no model number %zu", run);
    PyThreadState *const state = PyErr_Occurred() == NULL ? models_enter(self) : NULL;
    if (state == NULL)
        return false;
    *q = (question){self, self->items[run], models_set(self, run), state, {0}};
    return true;
}

void question_end(question *q) {
    gate_leave(&q->of->gate, q->state);
}

PyObject *fill_array(PyObject *object, PyObject *run, PyObject *array, const char *formats,
                     answer fill, const void *about) {
    PyObject *result = NULL;
    Py_buffer out;
    question q;
    if (!array_open(&out, array, formats, true))
        return NULL;
    if (question_begin(&q, object, run)) {
        const efface_status status = fill(&q, about, &out);
        question_end(&q);
        result = none_or_error(status, &q.error);
    }
    PyBuffer_Release(&out);
    return result;
}

PyObject *fill_of_rows(PyObject *object, PyObject *run, PyObject *rows, PyObject *array,
                       const char *formats, answer fill) {
    matrix m;
    if (!matrix_open(&m, rows, offsets_of(((models *)object)->data), false))
        return NULL;
    PyObject *const result = fill_array(object, run, array, formats, fill, &m);
    matrix_close(&m);
    return result;
}

PyObject *ask_of_rows(PyObject *object, PyObject *arguments, const char *formats, answer fill) {
    PyObject *run, *rows, *array;
    return PyArg_ParseTuple(arguments, "OOO", &run, &rows, &array)
               ? fill_of_rows(object, run, rows, array, formats, fill)
               : NULL;
}

efface_status check_rows(question *q, const matrix *m, const Py_buffer *out, size_t n_each) {
    if (m->n_columns != efface_data_n_columns(q->data))
        return fail_argument(&q->error,
                             "the rows and the model have different numbers of features");
    return check_length(out, m->n_rows * n_each, &q->error);
}
