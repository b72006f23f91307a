/* Making and opening stores. */
#include "store/py_store.h"

#include <string.h>

/* (path, writable, wait, receipt key, secret key) */
PyObject *store_open(PyObject *module, PyObject *arguments) {
    PyObject *path, *receipt_key, *secret_key;
    int writable;
    double wait;
    efface_store *file = NULL;
    efface_error error = {0};
    efface_store_options options;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&pdOO", PyUnicode_FSConverter, &path, &writable, &wait,
                          &receipt_key, &secret_key))
        return NULL;
    efface_store_options_init(&options);
    options.access = writable ? EFFACE_ACCESS_WRITE : EFFACE_ACCESS_READ;
    options.wait_seconds = wait;
    options.progress = store_interrupted;
    PyObject *result = NULL;
    if (key_open(receipt_key, EFFACE_RECEIPT_KEY_BYTES, "receipt", &options.receipt_key) &&
        key_open(secret_key, EFFACE_SECRET_KEY_BYTES, "secret", &options.secret_key)) {
        const char *const name = PyBytes_AsString(path);
        PyThreadState *const state = PyEval_SaveThread();
        const efface_status status = efface_store_open(name, &options, &file, &error);
        PyEval_RestoreThread(state);
        result = status == EFFACE_OK ? store_wrap(file) : raise_error(status, &error);
    }
    Py_DECREF(path);
    return result;
}

/* `names` is None or a tuple of texts. */
static bool name_columns(efface_data *data, PyObject *names) {
    efface_error error = {0};
    if (names == Py_None)
        return true;
    if (!PyTuple_Check(names) || PyTuple_Size(names) != (Py_ssize_t)efface_data_n_columns(data)) {
        PyErr_SetString(PyExc_ValueError, "there must be a name for each feature");
        return false;
    }
    for (uint32_t j = 0; j < efface_data_n_columns(data); j++) {
        Py_ssize_t n_bytes;
        const char *const name =
            PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, (Py_ssize_t)j), &n_bytes);
        if (name == NULL)
            return false;
        if (strlen(name) != (size_t)n_bytes) {
            PyErr_SetString(PyExc_ValueError,
                            "the name of a feature contains a zero character; rename it");
            return false;
        }
        const efface_status status = efface_data_name_column(data, j, name, &error);
        if (status != EFFACE_OK) {
            raise_error(status, &error);
            return false;
        }
    }
    return true;
}

static PyObject *create_store(const char *path, const row_objects *objects, PyObject *label_texts,
                              PyObject *names, const efface_store_options *options) {
    row_arrays arrays;
    efface_texts *texts = NULL;
    efface_data *data = NULL;
    efface_store *file = NULL;
    efface_error error = {0};
    PyObject *result = NULL;
    efface_status status = efface_texts_create(&texts, &error);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    name_rule rule = {EFFACE_IDS_DETECT, EFFACE_IDS_DETECT, {0}};
    memcpy(rule.key, options->hash_key, sizeof rule.key);
    if (row_arrays_open(&arrays, objects, &rule, texts)) {
        efface_ids ids, owners;
        const bool fits =
            row_arrays_kinds(&arrays, &ids, &owners) && label_texts_add(&texts, label_texts);
        if (fits) {
            PyThreadState *const state = PyEval_SaveThread();
            status = row_arrays_make_set(&arrays, &data, &error);
            PyEval_RestoreThread(state);
        }
        row_arrays_close(&arrays);
        if (data != NULL)
            efface_data_set_kinds(data, ids, owners);
        if (status != EFFACE_OK) {
            raise_error(status, &error);
        } else if (fits && name_columns(data, names)) {
            PyThreadState *const making = PyEval_SaveThread();
            status = efface_store_create(path, data, texts, options, NULL, 0, &file, &error);
            PyEval_RestoreThread(making);
            result = status == EFFACE_OK ? store_wrap(file) : raise_error(status, &error);
        }
    }
    efface_data_free(data);
    efface_texts_free(texts);
    return result;
}

/* (path, rows, ids, weights, owners, names, key, keep texts, receipt key, secret key, offsets,
 * labels, texts of labels, whether values may be missing) */
PyObject *store_create(PyObject *module, PyObject *arguments) {
    PyObject *path, *names, *key, *receipt_key, *secret_key, *label_texts, *result = NULL;
    row_objects objects = {.arrivals = NULL}; /* the store keeps no order */
    const unsigned char *hash_key;
    efface_store_options options;
    int keep_texts, missing;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&OOOOOOpOOOOOp", PyUnicode_FSConverter, &path,
                          &objects.values, &objects.ids, &objects.weights, &objects.owners, &names,
                          &key, &keep_texts, &receipt_key, &secret_key, &objects.shifts,
                          &objects.labels, &label_texts, &missing))
        return NULL;
    objects.missing = missing;
    efface_store_options_init(&options);
    options.access = EFFACE_ACCESS_WRITE;
    options.keep_texts = keep_texts;
    options.progress = store_interrupted;
    if (key_open(key, EFFACE_HASH_KEY_BYTES, "hash", &hash_key) &&
        key_open(receipt_key, EFFACE_RECEIPT_KEY_BYTES, "receipt", &options.receipt_key) &&
        key_open(secret_key, EFFACE_SECRET_KEY_BYTES, "secret", &options.secret_key)) {
        if (hash_key != NULL)
            memcpy(options.hash_key, hash_key, EFFACE_HASH_KEY_BYTES);
        result = create_store(PyBytes_AsString(path), &objects, label_texts, names, &options);
    }
    Py_DECREF(path);
    return result;
}
