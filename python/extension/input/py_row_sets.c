/*
 * Rows on their way from Python's arrays into a set.
 *
 * Python wants rows back in the order they came in, and a set has no order. So every row carries
 * the number of its arrival as its mark.
 */
#include "module/py_extension.h"

#include <stdlib.h>
#include <string.h>

static bool given(PyObject *object) {
    return object != NULL && object != Py_None;
}

static bool same_length(const char *what, size_t n, size_t n_rows) {
    if (n != n_rows)
        PyErr_Format(PyExc_ValueError, "there are %zu %s for %zu rows", n, what, n_rows);
    return n == n_rows;
}

static bool copy_offset_list(row_arrays *arrays, offset_list offsets) {
    if (offsets.values == NULL)
        return true;
    if (!same_length("offsets", offsets.n, arrays->matrix.n_columns))
        return false;
    arrays->offsets = malloc(offsets.n * sizeof *arrays->offsets);
    if (arrays->offsets == NULL) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(arrays->offsets, offsets.values, offsets.n * sizeof *arrays->offsets);
    return true;
}

/* Numbers of 64 bits beside the rows; None: there are none. */
static bool beside_open(Py_buffer *view, PyObject *object, const char *what, size_t n_rows) {
    return !given(object) ||
           (array_open(view, object, "ql", false) && same_length(what, array_length(view), n_rows));
}

/* The values with their offsets. */
static bool values_open(row_arrays *arrays, const row_objects *objects) {
    const offset_list none = {NULL, 0};
    offset_list offsets = objects->offsets;
    Py_buffer view = {0};
    if (given(objects->shifts) && !offsets_open(&view, objects->shifts, &offsets))
        return false;
    const bool done = matrix_open(&arrays->matrix, objects->values,
                                  given(objects->arrivals) ? none : offsets, true) &&
                      copy_offset_list(arrays, offsets);
    if (view.obj != NULL)
        PyBuffer_Release(&view);
    return done;
}

bool row_arrays_open(row_arrays *arrays, const row_objects *objects, const name_rule *rule,
                     efface_texts *texts) {
    memset(arrays, 0, sizeof *arrays);
    arrays->missing = objects->missing;
    if (!values_open(arrays, objects))
        goto failed;
    const size_t n = arrays->matrix.n_rows;
    const id_use owners = given(objects->arrivals) ? USE_KEPT : USE_OWNERS;
    if (!ids_open(&arrays->ids, objects->ids, USE_IDS, rule, texts) ||
        !ids_open(&arrays->owners, objects->owners, owners, rule, texts))
        goto failed;
    if ((given(objects->ids) && !same_length("ids", arrays->ids.n, n)) ||
        (given(objects->owners) && !same_length("owners", arrays->owners.n, n)))
        goto failed;
    if (!beside_open(&arrays->weights, objects->weights, "weights", n) ||
        !beside_open(&arrays->labels, objects->labels, "labels", n) ||
        !beside_open(&arrays->arrivals, objects->arrivals, "arrivals", n))
        goto failed;
    arrays->rows = (efface_rows){
        .n_rows = n,
        .values = arrays->matrix.direct,
        .stride = arrays->matrix.stride,
        .ids = arrays->ids.items,
        .weights = arrays->weights.buf,
        .owners = arrays->owners.items,
        .labels = arrays->labels.buf,
        .marks = arrays->arrivals.buf,
    };
    return true;
failed:
    row_arrays_close(arrays);
    return false;
}

void row_arrays_close(row_arrays *arrays) {
    if (arrays->weights.obj != NULL)
        PyBuffer_Release(&arrays->weights);
    if (arrays->labels.obj != NULL)
        PyBuffer_Release(&arrays->labels);
    if (arrays->arrivals.obj != NULL)
        PyBuffer_Release(&arrays->arrivals);
    ids_close(&arrays->ids);
    ids_close(&arrays->owners);
    matrix_close(&arrays->matrix);
    free(arrays->offsets);
    free(arrays->numbers);
    free(arrays->made_ids);
    memset(arrays, 0, sizeof *arrays);
}

efface_status row_arrays_number(row_arrays *arrays, int64_t first) {
    const size_t n = arrays->rows.n_rows;
    if (arrays->rows.marks != NULL)
        return EFFACE_OK;
    arrays->numbers = malloc((n + 1) * sizeof *arrays->numbers);
    if (arrays->numbers == NULL)
        return EFFACE_E_MEMORY;
    for (size_t i = 0; i < n; i++)
        arrays->numbers[i] = first + (int64_t)i;
    arrays->rows.marks = arrays->numbers;
    return EFFACE_OK;
}

efface_status row_arrays_make_ids(row_arrays *arrays, int64_t unit, const efface_data *data) {
    if (arrays->rows.ids != NULL)
        return EFFACE_OK;
    arrays->made_ids = malloc((arrays->rows.n_rows + 1) * sizeof *arrays->made_ids);
    arrays->rows.ids = arrays->made_ids;
    return arrays->made_ids == NULL ? EFFACE_E_MEMORY
                                    : derive_ids(&arrays->matrix, arrays->rows.weights, unit,
                                                 arrays->rows.labels, data, arrays->made_ids);
}

efface_status row_arrays_make_set(const row_arrays *arrays, efface_data **data,
                                  efface_error *error) {
    efface_data *set = NULL;
    efface_status status = efface_data_create(arrays->matrix.n_columns, &set, error);
    if (status == EFFACE_OK)
        status = efface_data_set_offsets(set, arrays->offsets, error);
    if (status == EFFACE_OK && arrays->missing)
        efface_data_allow_missing(set);
    if (status == EFFACE_OK)
        status = efface_data_add(set, &arrays->rows, error);
    if (status == EFFACE_OK)
        *data = set;
    else
        efface_data_free(set);
    return status;
}

bool label_texts_add(efface_texts **texts, PyObject *dictionary) {
    PyObject *number, *text;
    Py_ssize_t at = 0;
    efface_error error = {0};
    if (dictionary == Py_None)
        return true;
    if (!PyDict_Check(dictionary)) {
        PyErr_SetString(PyExc_TypeError, "texts of classes must be in a dictionary");
        return false;
    }
    efface_status status = *texts == NULL ? efface_texts_create(texts, &error) : EFFACE_OK;
    while (status == EFFACE_OK && PyDict_Next(dictionary, &at, &number, &text)) {
        Py_ssize_t n_bytes;
        const long long label = PyLong_AsLongLong(number);
        const char *const bytes = PyUnicode_AsUTF8AndSize(text, &n_bytes);
        if (PyErr_Occurred() != NULL)
            return false;
        status = efface_texts_add(*texts, EFFACE_TEXT_LABEL, (uint64_t)label, bytes,
                                  (size_t)n_bytes, &error);
    }
    if (status != EFFACE_OK)
        raise_error(status, &error);
    return status == EFFACE_OK;
}

bool row_arrays_kinds(const row_arrays *arrays, efface_ids *ids, efface_ids *owners) {
    return ids_kind(&arrays->ids, "ids", ids) && ids_kind(&arrays->owners, "owners", owners);
}
