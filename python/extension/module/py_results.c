/* What goes out as tuples: the Python layer knows the names of their items. */
#include "module/py_extension.h"

#include <string.h>

/* Takes a tuple's items in order; the first that could not be made has set the exception. */
typedef struct builder {
    PyObject *tuple;
    Py_ssize_t n;
} builder;

static void add_item(builder *b, PyObject *item) {
    if (b->tuple != NULL && item != NULL) {
        PyTuple_SetItem(b->tuple, b->n++, item);
        return;
    }
    Py_XDECREF(item);
    Py_CLEAR(b->tuple);
}

static void add_whole(builder *b, uint64_t number) {
    add_item(b, PyLong_FromUnsignedLongLong(number));
}

static void add_name(builder *b, const char *name) {
    add_item(b, PyUnicode_InternFromString(name));
}

PyObject *report_tuple(const efface_report *report) {
    builder b = {PyTuple_New(8), 0};
    add_name(&b, efface_action_name(report->action));
    add_name(&b, report->reason);
    add_name(&b, report->where);
    add_whole(&b, report->rows_forgotten);
    add_whole(&b, report->rows_learned);
    add_whole(&b, report->rows_missing);
    add_whole(&b, report->rows_visited);
    add_item(&b, PyFloat_FromDouble(report->seconds));
    return b.tuple;
}

PyObject *difference_tuple(const efface_difference *difference) {
    builder b = {PyTuple_New(3), 0};
    add_item(&b, PyBool_FromLong(difference->identical));
    add_name(&b, difference->what != NULL ? difference->what : "");
    add_name(&b, difference->where);
    return b.tuple;
}

PyObject *tails_tuple(const efface_tails *tails) {
    builder b = {PyTuple_New(7), 0};
    add_item(&b, PyFloat_FromDouble(tails->loss));
    add_whole(&b, tails->n_rows);
    add_item(&b, PyFloat_FromDouble(tails->rows_share));
    add_whole(&b, tails->column);
    add_item(&b, PyFloat_FromDouble(tails->column_share));
    add_item(&b, PyBool_FromLong(tails->rows_carry));
    add_item(&b, PyBool_FromLong(tails->column_carries));
    return b.tuple;
}

PyObject *list_of(size_t n, PyObject *(*make)(const void *from, size_t i), const void *from) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list != NULL; i++) {
        PyObject *const item = make(from, i);
        if (item != NULL)
            PyList_SetItem(list, (Py_ssize_t)i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

void append_item(PyObject *list, PyObject *item) {
    if (item != NULL)
        (void)PyList_Append(list, item);
    Py_XDECREF(item);
}

static PyObject *make_real(const void *from, size_t i) {
    return PyFloat_FromDouble(((const double *)from)[i]);
}

PyObject *offsets_or_none(offset_list offsets) {
    return offsets.values != NULL ? list_of(offsets.n, make_real, offsets.values)
                                  : Py_NewRef(Py_None);
}

static PyObject *make_column(const void *from, size_t i) {
    return PyLong_FromUnsignedLong(((const uint32_t *)from)[i]);
}

PyObject *column_list(const uint32_t *columns, size_t n) {
    return list_of(n, make_column, columns);
}

PyObject *take_bytes(unsigned char *bytes, size_t n_bytes) {
    PyObject *const result = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)n_bytes);
    efface_bytes_free(bytes);
    return result;
}

PyObject *name_or_none(const char *text) {
    return text != NULL ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace")
                        : Py_NewRef(Py_None);
}
