/* Functions of the module that need no object: metrics, hashes, generated data, keys. */
#include "store/py_store.h"

#include <stdlib.h>
#include <string.h>

/* How two labellings agree. */
typedef efface_status (*agreement)(size_t n, const uint32_t *a, const uint32_t *b, double *value,
                                   efface_error *error);

static PyObject *compare_labels(PyObject *arguments, agreement compute) {
    PyObject *first, *second;
    Py_buffer a, b;
    double value = 0.0;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OO", &first, &second) ||
        !array_open(&a, first, "iIlL", false))
        return NULL;
    if (!array_open(&b, second, "iIlL", false)) {
        PyBuffer_Release(&a);
        return NULL;
    }
    efface_status status = EFFACE_E_ARGUMENT;
    if (array_length(&a) == array_length(&b)) {
        PyThreadState *const state = PyEval_SaveThread();
        status = compute(array_length(&a), a.buf, b.buf, &value, &error);
        PyEval_RestoreThread(state);
    } else {
        PyErr_Format(PyExc_ValueError,
                     "there are %zu labels in one labelling, but %zu in the other",
                     array_length(&a), array_length(&b));
    }
    PyBuffer_Release(&a);
    PyBuffer_Release(&b);
    return status == EFFACE_OK ? PyFloat_FromDouble(value) : raise_error(status, &error);
}

static PyObject *nmi(PyObject *module, PyObject *arguments) {
    (void)module;
    return compare_labels(arguments, efface_nmi);
}

static PyObject *ari(PyObject *module, PyObject *arguments) {
    (void)module;
    return compare_labels(arguments, efface_ari);
}

static PyObject *text_id(PyObject *module, PyObject *arguments) {
    PyObject *text;
    const char *key;
    Py_ssize_t n_key;
    name_rule rule = {EFFACE_IDS_TEXT, EFFACE_IDS_TEXT, {0}};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Uy#", &text, &key, &n_key))
        return NULL;
    if (n_key != EFFACE_HASH_KEY_BYTES) {
        PyErr_Format(PyExc_ValueError, "a key must have %d bytes", EFFACE_HASH_KEY_BYTES);
        return NULL;
    }
    memcpy(rule.key, key, sizeof rule.key);
    return number_of_text(text, &rule);
}

static PyObject *text_label(PyObject *module, PyObject *text) {
    Py_ssize_t n_bytes;
    (void)module;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    return bytes != NULL ? PyLong_FromLongLong(efface_text_label(bytes, (size_t)n_bytes)) : NULL;
}

static PyObject *text_category(PyObject *module, PyObject *text) {
    Py_ssize_t n_bytes;
    (void)module;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    return bytes != NULL ? PyFloat_FromDouble(efface_text_category(bytes, (size_t)n_bytes)) : NULL;
}

/* (rows, weights, unit, out, offsets, labels) */
static PyObject *row_ids(PyObject *module, PyObject *arguments) {
    row_objects objects = {.labels = NULL};
    PyObject *array, *result = NULL;
    long long unit;
    Py_buffer ids;
    row_arrays arrays;
    const efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOLOO|O", &objects.values, &objects.weights, &unit, &array,
                          &objects.shifts, &objects.labels) ||
        !row_arrays_open(&arrays, &objects, NULL, NULL))
        return NULL;
    if (array_open(&ids, array, "QL", true)) {
        if (array_length(&ids) == arrays.rows.n_rows) {
            PyThreadState *const state = PyEval_SaveThread();
            const efface_status status = derive_ids(&arrays.matrix, arrays.rows.weights, unit,
                                                    arrays.rows.labels, NULL, ids.buf);
            PyEval_RestoreThread(state);
            result = status == EFFACE_OK ? Py_NewRef(Py_None) : raise_error(status, &error);
        } else {
            PyErr_SetString(PyExc_ValueError, "out must have room for one id of each row");
        }
        PyBuffer_Release(&ids);
    }
    row_arrays_close(&arrays);
    return result;
}

/* (ids, out) */
static PyObject *read_ids(PyObject *module, PyObject *arguments) {
    PyObject *object, *array, *result = NULL;
    Py_buffer out;
    id_list ids;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &object, &array) ||
        !ids_open(&ids, object, USE_IDS, NULL, NULL))
        return NULL;
    if (array_open(&out, array, "QL", true)) {
        if (array_length(&out) == ids.n) {
            memcpy(out.buf, ids.items, ids.n * sizeof *ids.items);
            result = Py_NewRef(Py_None);
        } else {
            PyErr_Format(PyExc_ValueError, "there are %zu ids for %zu rows", ids.n,
                         array_length(&out));
        }
        PyBuffer_Release(&out);
    }
    ids_close(&ids);
    return result;
}

/* (clusters, columns, rows a cluster, seed, values, labels) */
static PyObject *make_gaussian(PyObject *module, PyObject *arguments) {
    unsigned n_clusters, n_columns;
    Py_ssize_t n_each;
    unsigned long long seed;
    PyObject *values, *labels;
    Py_buffer rows, classes;
    efface_data *data = NULL;
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "IInKOO", &n_clusters, &n_columns, &n_each, &seed, &values,
                          &labels) ||
        !array_open(&rows, values, "f", true))
        return NULL;
    if (!array_open(&classes, labels, "il", true)) {
        PyBuffer_Release(&rows);
        return NULL;
    }
    PyThreadState *const state = PyEval_SaveThread();
    efface_status status =
        efface_data_make_gaussian(n_clusters, n_columns, (size_t)n_each, seed, &data, &error);
    const size_t n = status == EFFACE_OK ? efface_data_n_rows(data) : 0;
    if (status == EFFACE_OK &&
        (array_length(&rows) != n * n_columns || array_length(&classes) != n))
        status = EFFACE_E_ARGUMENT;
    for (size_t i = 0; i < n && status == EFFACE_OK; i++) {
        efface_data_values(data, i, (float *)rows.buf + i * n_columns);
        ((int32_t *)classes.buf)[i] = (int32_t)efface_data_row(data, i).label;
    }
    efface_data_free(data);
    PyEval_RestoreThread(state);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&classes);
    return status == EFFACE_OK ? Py_NewRef(Py_None) : raise_error(status, &error);
}

static PyObject *make_keys(PyObject *module, PyObject *none) {
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    efface_error error = {0};
    (void)module, (void)none;
    const efface_status status = efface_keys_make(secret_key, public_key, &error);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    return Py_BuildValue("y#y#", (const char *)secret_key, (Py_ssize_t)sizeof secret_key,
                         (const char *)public_key, (Py_ssize_t)sizeof public_key);
}

static PyObject *verify_receipt(PyObject *module, PyObject *arguments) {
    const char *json, *key;
    Py_ssize_t n_key;
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sy#", &json, &key, &n_key))
        return NULL;
    if (n_key != EFFACE_PUBLIC_KEY_BYTES) {
        PyErr_Format(PyExc_ValueError, "a public key must have %d bytes", EFFACE_PUBLIC_KEY_BYTES);
        return NULL;
    }
    const efface_status status = efface_receipt_verify(json, (const unsigned char *)key, &error);
    return status == EFFACE_OK ? Py_NewRef(Py_None) : raise_error(status, &error);
}

/* What is wrong with a chain: called without the GIL. */
static void note_break(void *context, size_t line, const char *problem) {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_Occurred() == NULL)
        append_item(context, Py_BuildValue("nN", (Py_ssize_t)line, name_or_none(problem)));
    PyGILState_Release(state);
}

/* (a tuple of lines, public key or None): a list of (line, problem) */
static PyObject *verify_receipts(PyObject *module, PyObject *arguments) {
    PyObject *tuple, *key_object;
    const unsigned char *key;
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &tuple, &key_object) ||
        !key_open(key_object, EFFACE_PUBLIC_KEY_BYTES, "public", &key))
        return NULL;
    const size_t n = (size_t)PyTuple_Size(tuple);
    const char **const lines = calloc(n + 1, sizeof *lines);
    PyObject *problems = lines != NULL ? PyList_New(0) : PyErr_NoMemory();
    for (size_t i = 0; i < n && PyErr_Occurred() == NULL; i++)
        lines[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, (Py_ssize_t)i), NULL);
    if (PyErr_Occurred() == NULL) {
        PyThreadState *const state = PyEval_SaveThread();
        const efface_status status =
            efface_receipts_verify(lines, n, key, note_break, problems, &error);
        PyEval_RestoreThread(state);
        if (status != EFFACE_OK)
            raise_error(status, &error);
    }
    free(lines);
    if (PyErr_Occurred() != NULL)
        Py_CLEAR(problems);
    return problems;
}

/* (hashes of rows, one after the other) */
static PyObject *receipt_root(PyObject *module, PyObject *arguments) {
    const char *hashes;
    Py_ssize_t n_bytes;
    unsigned char root[EFFACE_DIGEST_BYTES];
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#", &hashes, &n_bytes))
        return NULL;
    if (n_bytes % EFFACE_ROW_HASH_BYTES != 0) {
        PyErr_Format(PyExc_ValueError, "the hash of a row must have %d bytes",
                     EFFACE_ROW_HASH_BYTES);
        return NULL;
    }
    const efface_status status = efface_receipt_root(
        (const unsigned char *)hashes, (size_t)n_bytes / EFFACE_ROW_HASH_BYTES, root, &error);
    return status == EFFACE_OK ? PyBytes_FromStringAndSize((const char *)root, sizeof root)
                               : raise_error(status, &error);
}

static PyObject *wipes_memory(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyBool_FromLong(efface_store_wipes_memory());
}

static PyObject *version(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyUnicode_FromString(efface_version());
}

static PyObject *kernels(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    const char *const name = efface_kernels_name();
    return name != NULL ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

bool add_functions(PyObject *module) {
    static PyMethodDef functions[] = {
        {"nmi", nmi, METH_VARARGS, "nmi(a, b): normalized mutual information"},
        {"ari", ari, METH_VARARGS, "ari(a, b): adjusted Rand index"},
        {"text_id", text_id, METH_VARARGS, "text_id(text, key): a text as a number"},
        {"row_ids", row_ids, METH_VARARGS,
         "row_ids(rows, weights, unit, out, offsets, labels): the ids of rows without given ids"},
        {"text_label", text_label, METH_O, "text_label(text): the number of a class"},
        {"text_category", text_category, METH_O,
         "text_category(text): the number that stands for a text in a column of categories, the "
         "same everywhere"},
        {"read_ids", read_ids, METH_VARARGS, "read_ids(ids, out): ids as numbers"},
        {"make_gaussian", make_gaussian, METH_VARARGS,
         "make_gaussian(n_clusters, n_columns, n_each, seed, values, labels)"},
        {"make_keys", make_keys, METH_NOARGS, "make_keys(): a secret and a public key"},
        {"verify_receipt", verify_receipt, METH_VARARGS,
         "verify_receipt(json, public_key): raises ValueError if the receipt is not valid"},
        {"verify_receipts", verify_receipts, METH_VARARGS,
         "verify_receipts(lines, public_key): a list of (line, problem)"},
        {"receipt_root", receipt_root, METH_VARARGS, "receipt_root(hashes): their Merkle root"},
        {"wipes_memory", wipes_memory, METH_NOARGS,
         "wipes_memory(): whether memory that SQLite frees is overwritten"},
        {"version", version, METH_NOARGS, "version(): of the library"},
        {"kernels", kernels, METH_NOARGS, "kernels(): the kernel table in use"},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(module, functions) == 0;
}
