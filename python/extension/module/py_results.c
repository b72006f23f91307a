/* What goes out as tuples: the Python layer knows the names of their items. */
#include "module/py_extension.h"

#include <string.h>

/* Takes a tuple's items in order; the first that could not be made has set the exception. */
typedef struct builder {
    PyObject *tuple;
    Py_ssize_t n;
} builder;

static void add(builder *b, PyObject *item) {
    if (b->tuple != NULL && item != NULL) {
        PyTuple_SetItem(b->tuple, b->n++, item);
        return;
    }
    Py_XDECREF(item);
    Py_CLEAR(b->tuple);
}

static void add_whole(builder *b, uint64_t number) {
    add(b, PyLong_FromUnsignedLongLong(number));
}

static void add_name(builder *b, const char *name) {
    add(b, PyUnicode_InternFromString(name));
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
    add(&b, PyFloat_FromDouble(report->seconds));
    return b.tuple;
}

PyObject *difference_tuple(const efface_difference *difference) {
    builder b = {PyTuple_New(3), 0};
    add(&b, PyBool_FromLong(difference->identical));
    add_name(&b, difference->what != NULL ? difference->what : "");
    add_name(&b, difference->where);
    return b.tuple;
}

PyObject *tails_tuple(const efface_tails *tails) {
    builder b = {PyTuple_New(7), 0};
    add(&b, PyFloat_FromDouble(tails->loss));
    add_whole(&b, tails->n_rows);
    add(&b, PyFloat_FromDouble(tails->rows_share));
    add_whole(&b, tails->column);
    add(&b, PyFloat_FromDouble(tails->column_share));
    add(&b, PyBool_FromLong(tails->rows_carry));
    add(&b, PyBool_FromLong(tails->column_carries));
    return b.tuple;
}

PyObject *offsets_or_none(offset_list offsets) {
    if (offsets.values == NULL)
        return Py_NewRef(Py_None);
    PyObject *list = PyList_New((Py_ssize_t)offsets.n);
    for (size_t j = 0; j < offsets.n && list != NULL; j++) {
        PyObject *const offset = PyFloat_FromDouble(offsets.values[j]);
        if (offset != NULL)
            PyList_SetItem(list, (Py_ssize_t)j, offset);
        else
            Py_CLEAR(list);
    }
    return list;
}

PyObject *name_or_none(const char *text) {
    return text != NULL ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace")
                        : Py_NewRef(Py_None);
}

PyObject *column_list(const uint32_t *columns, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n && list != NULL; i++) {
        PyObject *const column = PyLong_FromUnsignedLong(columns[i]);
        if (column != NULL)
            PyList_SetItem(list, (Py_ssize_t)i, column);
        else
            Py_CLEAR(list);
    }
    return list;
}
