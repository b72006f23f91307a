/*
 * Ids and owners as Python holds them: numbers and texts, alone or in any collection.
 *
 * A row may have no owner. Python says so in many ways: None, NaN (what a column of numbers has
 * where one is missing), pandas' NA, and masked elements of NumPy. All of them are EFFACE_NO_OWNER,
 * and that number itself is refused, so that nobody can be taken for nobody.
 */
#include "module/py_extension.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_EXACT 9007199254740992.0 /* 2^53: all whole numbers up to it are doubles */

typedef struct id_reader {
    id_use use;
    const name_rule *rule;
    efface_texts *texts;
} id_reader;

efface_status name_open(efface_name *name, const char *text, size_t n_bytes, bool owner,
                        const name_rule *rule, efface_error *error) {
    static const name_rule no_rule;
    const name_rule *const is = rule != NULL ? rule : &no_rule;
    const efface_ids kind = owner ? is->owners : is->ids;
    return efface_name_normalize(text, n_bytes, kind == EFFACE_IDS_NUMBERS ? kind : EFFACE_IDS_TEXT,
                                 is->key, name, error);
}

PyObject *number_of_text(PyObject *text, const name_rule *rule) {
    Py_ssize_t n_bytes;
    efface_error error = {0};
    efface_name name;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    if (bytes == NULL)
        return NULL;
    const efface_status status = name_open(&name, bytes, (size_t)n_bytes, false, rule, &error);
    const uint64_t number = name.number;
    efface_name_clear(&name);
    return status == EFFACE_OK ? PyLong_FromUnsignedLongLong(number) : raise_error(status, &error);
}

static bool refuse_id(PyObject *object) {
    PyErr_Format(PyExc_TypeError, "ids and owners must be whole numbers or texts, not %R", object);
    return false;
}

static bool refuse_nobody(void) {
    PyErr_SetString(PyExc_ValueError, "2**64 - 1 is the number of no owner and cannot be used: a "
                                      "row without an owner has the owner None");
    return false;
}

/* A text, which may say a number where the rule has numbers. */
static bool read_text(const id_reader *r, PyObject *object, uint64_t *id, bool *is_text) {
    Py_ssize_t n_bytes;
    efface_error error = {0};
    efface_name name;
    const char *const text = PyUnicode_AsUTF8AndSize(object, &n_bytes);
    if (text == NULL)
        return false;
    efface_status status =
        name_open(&name, text, (size_t)n_bytes, r->use != USE_IDS, r->rule, &error);
    *id = name.number;
    *is_text = name.text != NULL;
    if (status == EFFACE_OK && *is_text && r->texts != NULL)
        status = efface_texts_add(r->texts, r->use == USE_IDS ? EFFACE_TEXT_ID : EFFACE_TEXT_OWNER,
                                  *id, name.text, name.n_bytes, &error);
    efface_name_clear(&name);
    if (status != EFFACE_OK)
        raise_error(status, &error);
    return status == EFFACE_OK;
}

/* Whether an object is one of those singletons that stand for a missing value. */
static bool is_missing(PyObject *object) {
    if (object == Py_None)
        return true;
    PyObject *const name = PyType_GetName(Py_TYPE(object));
    const bool missing =
        name != NULL && (PyUnicode_CompareWithASCIIString(name, "NAType") == 0 ||
                         PyUnicode_CompareWithASCIIString(name, "MaskedConstant") == 0);
    Py_XDECREF(name);
    PyErr_Clear();
    return missing;
}

/* The owner of a row that is no whole number and no text: none, or a whole number that a column
 * with missing values made a float. */
static bool read_unusual_owner(PyObject *object, uint64_t *owner) {
    *owner = EFFACE_NO_OWNER;
    if (is_missing(object))
        return true;
    const double value = PyFloat_AsDouble(object);
    if (PyErr_Occurred() != NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            return refuse_id(object);
        return false;
    }
    if (isnan(value))
        return true;
    if (!(value >= 0.0 && value < LARGEST_EXACT) || value != floor(value))
        return refuse_id(object);
    *owner = (uint64_t)value;
    return true;
}

static bool read_object(const id_reader *r, PyObject *object, uint64_t *id, bool *is_text) {
    *is_text = false;
    if (PyUnicode_Check(object))
        return read_text(r, object, id, is_text) &&
               (r->use == USE_IDS || *id != EFFACE_NO_OWNER || refuse_nobody());
    /* A truth value could be read as 0 or 1: then a mask of rows would name two of them. */
    if (PyBool_Check(object))
        return refuse_id(object);
    PyObject *const number = PyNumber_Index(object);
    if (number == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return false;
        PyErr_Clear();
        return r->use == USE_OWNERS ? read_unusual_owner(object, id) : refuse_id(object);
    }
    *id = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (*id == UINT64_MAX && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_ValueError, "ids and owners must be numbers from 0 to 2**64 - 1, not %R",
                     object);
    if (PyErr_Occurred() != NULL)
        return false;
    return r->use == USE_IDS || *id != EFFACE_NO_OWNER || refuse_nobody();
}

static bool make_list(id_list *list, size_t n) {
    list->items = malloc((n + 1) * sizeof *list->items);
    list->n = n;
    if (list->items == NULL)
        PyErr_NoMemory();
    return list->items != NULL;
}

/* Reads a one-dimensional array of whole numbers. */
static bool read_numbers(id_list *list, const Py_buffer *view, bool is_signed, id_use use) {
    const size_t size = (size_t)view->itemsize;
    const char *from = view->buf;
    if (!make_list(list, (size_t)view->shape[0]))
        return false;
    if (use == USE_IDS && size == sizeof(uint64_t) && view->strides[0] == (Py_ssize_t)size) {
        uint64_t signs = 0;
        memcpy(list->items, from, list->n * size);
        for (size_t i = 0; i < list->n; i++)
            signs |= list->items[i];
        if (!is_signed || signs >> 63 == 0)
            return true;
    }
    for (size_t i = 0; i < list->n; i++, from += view->strides[0]) {
        uint64_t value = 0;
        memcpy((char *)&value + (PY_LITTLE_ENDIAN ? 0 : sizeof value - size), from, size);
        if (is_signed && value >> (8 * size - 1) != 0) {
            PyErr_SetString(PyExc_ValueError,
                            "ids and owners must be numbers from 0 to 2**64 - 1, not negative");
            return false;
        }
        if (use != USE_IDS && use != USE_KEPT && value == EFFACE_NO_OWNER)
            return refuse_nobody();
        list->items[i] = value;
    }
    return true;
}

/* Ids of an array of whole numbers; false without an exception if it is an array of other things.
 */
static bool read_buffer(id_list *list, PyObject *object, id_use use) {
    Py_buffer view;
    bool done = false;
    if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) != 0) {
        PyErr_Clear();
        return false;
    }
    const char format = item_format(&view);
    const bool is_signed = format != '\0' && strchr("bhilqn", format) != NULL;
    const bool is_unsigned = format != '\0' && strchr("BHILQN", format) != NULL;
    if (format == '?')
        PyErr_SetString(PyExc_TypeError, "ids and owners must be whole numbers or texts, not truth "
                                         "values: choose ids with a mask, as in ids_[mask]");
    else if (view.ndim == 1 && (is_signed || is_unsigned))
        done = read_numbers(list, &view, is_signed, use);
    PyBuffer_Release(&view);
    return done;
}

/* Reads one object to place i of the list. */
static bool read_item(const id_reader *r, id_list *list, size_t i, PyObject *object) {
    bool is_text;
    if (!read_object(r, object, &list->items[i], &is_text))
        return false;
    list->n_texts += is_text;
    list->n_none += r->use != USE_IDS && list->items[i] == EFFACE_NO_OWNER;
    return true;
}

static bool read_any(const id_reader *r, id_list *list, PyObject *object) {
    if (PyBytes_Check(object) || PyByteArray_Check(object))
        /* They are arrays of small numbers, which nobody means who passes them. */
        return refuse_id(object);
    const bool one = PyLong_Check(object) || PyUnicode_Check(object);
    if (!one && PyObject_CheckBuffer(object)) {
        if (read_buffer(list, object, r->use))
            return true;
        if (PyErr_Occurred() != NULL)
            return false;
    }
    PyObject *const items = one ? PyTuple_Pack(1, object) : PySequence_Tuple(object);
    if (items == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        /* A single number of another type, such as NumPy's. */
        PyErr_Clear();
        return make_list(list, 1) && read_item(r, list, 0, object);
    }
    bool done = items != NULL && make_list(list, (size_t)PyTuple_Size(items));
    for (size_t i = 0; done && i < list->n; i++)
        done = read_item(r, list, i, PyTuple_GetItem(items, (Py_ssize_t)i));
    Py_XDECREF(items);
    return done;
}

bool ids_open(id_list *list, PyObject *object, id_use use, const name_rule *rule,
              efface_texts *texts) {
    const id_reader r = {use, rule, texts};
    *list = (id_list){0};
    if (object == NULL || object == Py_None || read_any(&r, list, object))
        return true;
    ids_close(list);
    return false;
}

void ids_close(id_list *list) {
    free(list->items);
    *list = (id_list){0};
}

bool wanted_open(wanted_rows *wanted, PyObject *ids, PyObject *owners, bool skip,
                 const name_rule *rule) {
    memset(wanted, 0, sizeof *wanted);
    if (efface_texts_create(&wanted->texts, NULL) != EFFACE_OK) {
        PyErr_NoMemory();
        return false;
    }
    if (!ids_open(&wanted->ids, ids, USE_IDS, rule, wanted->texts) ||
        !ids_open(&wanted->owners, owners, USE_REQUESTED, rule, wanted->texts)) {
        wanted_close(wanted);
        return false;
    }
    wanted->request = (efface_request){
        .ids = wanted->ids.items,
        .n_ids = wanted->ids.n,
        .owners = wanted->owners.items,
        .n_owners = wanted->owners.n,
        .missing = skip ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL,
        .texts = wanted->texts,
    };
    return true;
}

void wanted_close(wanted_rows *wanted) {
    ids_close(&wanted->ids);
    ids_close(&wanted->owners);
    efface_texts_free(wanted->texts);
    wanted->texts = NULL;
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void wanted_drop_repeated(wanted_rows *wanted) {
    id_list *const owners = &wanted->owners;
    size_t n_kept = 0;
    if (owners->n != 0)
        qsort(owners->items, owners->n, sizeof *owners->items, compare_ids);
    for (size_t i = 0; i < owners->n; i++)
        if (i == 0 || owners->items[i] != owners->items[i - 1])
            owners->items[n_kept++] = owners->items[i];
    wanted->request.n_owners = owners->n = n_kept;
}

bool ids_kind(const id_list *list, const char *what, efface_ids *kind) {
    const size_t n_known = list->n - list->n_none;
    *kind = n_known == 0         ? EFFACE_IDS_DETECT
            : list->n_texts == 0 ? EFFACE_IDS_NUMBERS
                                 : EFFACE_IDS_TEXT;
    if (list->n_texts == 0 || list->n_texts == n_known)
        return true;
    PyErr_Format(PyExc_ValueError, "the %s of a store are numbers or texts, not both: use one kind",
                 what);
    return false;
}
