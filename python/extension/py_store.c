/*
 * The type Store: a file with rows, models and receipts.
 *
 * A store that was closed stays an object; every method but close then raises ValueError, as
 * methods of a closed file do.
 */
#include "py_models.h"

#include <stdlib.h>
#include <string.h>

typedef struct store {
    PyObject_HEAD gate gate;
    efface_store *file; /* NULL if closed */
} store;

static PyTypeObject *store_type;

static PyObject *wrap(efface_store *file) {
    PyObject *const self = PyType_GenericAlloc(store_type, 0);
    if (self != NULL && gate_make(&((store *)self)->gate)) {
        ((store *)self)->file = file;
        return self;
    }
    Py_XDECREF(self);
    efface_store_close(file);
    return NULL;
}

static void dealloc(PyObject *object) {
    store *const self = (store *)object;
    PyTypeObject *const type = Py_TYPE(object);
    efface_store_close(self->file);
    gate_free(&self->gate);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* Through the gate of a store that is open. */
static PyThreadState *enter(store *self) {
    PyThreadState *const state = gate_enter(&self->gate);
    if (state != NULL && self->file == NULL) {
        gate_leave(&self->gate, state);
        PyErr_SetString(PyExc_ValueError, "the store is closed");
        return NULL;
    }
    return state;
}

static PyObject *none_or_error(efface_status status, const efface_error *error) {
    return status == EFFACE_OK ? Py_NewRef(Py_None) : raise_error(status, error);
}

/* ------------------------------------------------------------------ making and closing */

/* (path, writable) */
static PyObject *open_store(PyObject *module, PyObject *arguments) {
    PyObject *path;
    int writable;
    efface_store *file = NULL;
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&p", PyUnicode_FSConverter, &path, &writable))
        return NULL;
    const char *const name = PyBytes_AsString(path);
    PyThreadState *const state = PyEval_SaveThread();
    const efface_status status =
        efface_store_open(name, writable ? EFFACE_ACCESS_WRITE : EFFACE_ACCESS_READ, &file, &error);
    PyEval_RestoreThread(state);
    Py_DECREF(path);
    return status == EFFACE_OK ? wrap(file) : raise_error(status, &error);
}

/* (path, rows, ids, weights, owners, key) */
static PyObject *create_store(PyObject *module, PyObject *arguments) {
    PyObject *path, *rows, *ids, *weights, *owners;
    const char *key;
    Py_ssize_t n_key;
    row_arrays arrays;
    efface_data *data = NULL;
    efface_store *file = NULL;
    efface_error error = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&OOOOy#", PyUnicode_FSConverter, &path, &rows, &ids,
                          &weights, &owners, &key, &n_key))
        return NULL;
    PyObject *result = NULL;
    if (n_key != EFFACE_HASH_KEY_BYTES) {
        PyErr_Format(PyExc_ValueError, "a hash key has %d bytes", EFFACE_HASH_KEY_BYTES);
    } else if (row_arrays_open(&arrays, rows, ids, weights, owners, Py_None, 0,
                               (const unsigned char *)key)) {
        arrays.rows.labels = NULL; /* the store keeps no order */
        const char *const name = PyBytes_AsString(path);
        PyThreadState *const state = PyEval_SaveThread();
        efface_status status = row_arrays_make_set(&arrays, &data, &error);
        if (status == EFFACE_OK)
            status = efface_store_create(name, data, (const unsigned char *)key, &file, &error);
        efface_data_free(data);
        PyEval_RestoreThread(state);
        row_arrays_close(&arrays);
        result = status == EFFACE_OK ? wrap(file) : raise_error(status, &error);
    }
    Py_DECREF(path);
    return result;
}

static PyObject *close_store(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    (void)none;
    PyThreadState *const state = gate_enter(&self->gate);
    if (state == NULL)
        return NULL;
    efface_store_close(self->file);
    self->file = NULL;
    gate_leave(&self->gate, state);
    return Py_NewRef(Py_None);
}

/* ------------------------------------------------------------------ asking */

static PyObject *info(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    efface_store_info found;
    efface_error error = {0};
    (void)none;
    PyThreadState *const state = enter(self);
    if (state == NULL)
        return NULL;
    const efface_status status = efface_store_get_info(self->file, &found, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    return Py_BuildValue("KIIK", (unsigned long long)found.n_rows, (unsigned)found.n_columns,
                         (unsigned)found.n_models, (unsigned long long)found.n_receipts);
}

/* The name of a column, or None. */
static PyObject *column(PyObject *object, PyObject *number) {
    store *const self = (store *)object;
    const unsigned long index = PyLong_AsUnsignedLong(number);
    PyThreadState *const state = PyErr_Occurred() == NULL ? enter(self) : NULL;
    if (state == NULL)
        return NULL;
    const char *const name = efface_store_column(self->file, (uint32_t)index);
    gate_leave(&self->gate, state);
    return name != NULL ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

/* (name, method, clusters, columns, digest) of model number `number`. */
static PyObject *model(PyObject *object, PyObject *number) {
    static const char *const methods[] = {"lloyd", "quantized", "pyramid", "tree"};
    store *const self = (store *)object;
    efface_model_info found;
    efface_error error = {0};
    const unsigned long index = PyLong_AsUnsignedLong(number);
    PyThreadState *const state = PyErr_Occurred() == NULL ? enter(self) : NULL;
    if (state == NULL)
        return NULL;
    const efface_status status = efface_store_model(self->file, (uint32_t)index, &found, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    return Py_BuildValue("ssIIy#", found.name, methods[found.method], (unsigned)found.n_clusters,
                         (unsigned)found.n_columns, (const char *)found.digest,
                         (Py_ssize_t)EFFACE_DIGEST_BYTES);
}

static PyObject *load(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    efface_data *data = NULL;
    efface_kmeans *found = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_load(self->file, name, &data, &found, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const result = models_wrap(data, &found, NULL, 1);
    if (result == NULL) {
        efface_kmeans_free(found);
        efface_data_free(data);
    }
    return result;
}

static PyObject *encode(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_encode(self->file, name, &bytes, &n_bytes, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const result = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)n_bytes);
    efface_bytes_free(bytes);
    return result;
}

static PyObject *verify(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    efface_difference difference;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_verify(self->file, name, &difference, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? difference_tuple(&difference) : raise_error(status, &error);
}

static PyObject *receipt(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    unsigned long long number;
    char *json = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "K", &number) || (state = enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_receipt(self->file, number, &json, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const result = PyUnicode_FromString(json);
    efface_text_free(json);
    return result;
}

/* Called without the GIL. */
static void note_problem(void *context, const char *problem) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const text = PyUnicode_FromString(problem);
    if (text == NULL || PyList_Append(context, text) != 0)
        PyErr_Clear();
    Py_XDECREF(text);
    PyGILState_Release(state);
}

static PyObject *check(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    efface_error error = {0};
    (void)none;
    PyObject *const problems = PyList_New(0);
    PyThreadState *const state = problems != NULL ? enter(self) : NULL;
    if (state == NULL) {
        Py_XDECREF(problems);
        return NULL;
    }
    const efface_status status = efface_store_check(self->file, note_problem, problems, &error);
    gate_leave(&self->gate, state);
    if (status == EFFACE_OK)
        return problems;
    Py_DECREF(problems);
    return raise_error(status, &error);
}

/* ------------------------------------------------------------------ changing */

/* Fits a model to `columns`, or to all if that holds nothing. */
static efface_status fit_columns(efface_store *file, const char *name, const fit_params *params,
                                 const Py_buffer *columns, efface_error *error) {
    efface_store_info found;
    const efface_status status = efface_store_get_info(file, &found, error);
    if (status != EFFACE_OK)
        return status;
    const bool all = columns->obj == NULL;
    const size_t n_columns = all ? found.n_columns : array_length(columns);
    if (params->n_bounds != 0 && params->n_bounds != n_columns) {
        error->status = EFFACE_E_ARGUMENT;
        PyOS_snprintf(error->message, sizeof error->message,
                      "there are bounds for %zu features, but the model has %zu", params->n_bounds,
                      n_columns);
        return EFFACE_E_ARGUMENT;
    }
    return efface_store_fit(file, name, &params->values, columns->buf,
                            all ? 0 : (uint32_t)n_columns, error);
}

/* (name, params, columns or None) */
static PyObject *fit(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    PyObject *dictionary, *numbers, *result = NULL;
    Py_buffer columns = {0};
    fit_params params;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "sO!O", &name, &PyDict_Type, &dictionary, &numbers) ||
        !params_open(&params, dictionary))
        return NULL;
    if (numbers == Py_None || array_open(&columns, numbers, "IL", false)) {
        PyThreadState *const state = enter(self);
        if (state != NULL) {
            const efface_status status = fit_columns(self->file, name, &params, &columns, &error);
            gate_leave(&self->gate, state);
            result = none_or_error(status, &error);
        }
    }
    if (columns.obj != NULL)
        PyBuffer_Release(&columns);
    params_close(&params);
    return result;
}

static PyObject *drop(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_drop(self->file, name, &error);
    gate_leave(&self->gate, state);
    return none_or_error(status, &error);
}

/* (name or None, seed) */
static PyObject *rekey(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    unsigned long long seed;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "zK", &name, &seed) || (state = enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_rekey(self->file, name, seed, &error);
    gate_leave(&self->gate, state);
    return none_or_error(status, &error);
}

/* Models as a tuple of (name, report, before, after). */
static PyObject *model_reports(const efface_store_report *report) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)report->n_models);
    for (uint32_t i = 0; i < report->n_models && tuple != NULL; i++) {
        const efface_model_report *const one = &report->models[i];
        PyObject *const item =
            Py_BuildValue("sNy#y#", one->name, report_tuple(&one->report),
                          (const char *)one->before, (Py_ssize_t)EFFACE_DIGEST_BYTES,
                          (const char *)one->after, (Py_ssize_t)EFFACE_DIGEST_BYTES);
        if (item != NULL)
            PyTuple_SetItem(tuple, (Py_ssize_t)i, item);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* A tuple for StoreReport; clears the report. */
static PyObject *store_report_tuple(efface_store_report *report) {
    PyObject *const result = Py_BuildValue(
        "KKKKKdN", (unsigned long long)report->n_requested, (unsigned long long)report->n_missing,
        (unsigned long long)report->n_forgotten, (unsigned long long)report->n_learned,
        (unsigned long long)report->receipt, report->seconds, model_reports(report));
    efface_store_report_free(report);
    return result;
}

/* The key that texts of this store are hashed with. */
static bool read_key(store *self, unsigned char key[EFFACE_HASH_KEY_BYTES]) {
    efface_load_options options;
    PyThreadState *const state = enter(self);
    if (state == NULL)
        return false;
    efface_store_load_options(self->file, &options);
    gate_leave(&self->gate, state);
    memcpy(key, options.hash_key, EFFACE_HASH_KEY_BYTES);
    return true;
}

/* (ids, owners, skip, only look) */
static PyObject *forget(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    PyObject *id_object, *owner_object, *result = NULL;
    int skip, only_look;
    unsigned char key[EFFACE_HASH_KEY_BYTES];
    id_list ids = {0}, owners = {0};
    efface_store_report report = {0};
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOpp", &id_object, &owner_object, &skip, &only_look) ||
        !read_key(self, key))
        return NULL;
    PyThreadState *state;
    if (ids_open(&ids, id_object, key) && ids_open(&owners, owner_object, key) &&
        (state = enter(self)) != NULL) {
        const efface_request request = {
            .ids = ids.items,
            .n_ids = ids.n,
            .owners = owners.items,
            .n_owners = owners.n,
            .missing = skip ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL,
            .only_look = only_look,
        };
        const efface_status status = efface_store_forget(self->file, &request, &report, &error);
        gate_leave(&self->gate, state);
        result = status == EFFACE_OK ? store_report_tuple(&report) : raise_error(status, &error);
    }
    ids_close(&ids);
    ids_close(&owners);
    return result;
}

/* (rows, ids, weights, owners) */
static PyObject *learn(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    PyObject *rows, *ids, *weights, *owners, *result = NULL;
    unsigned char key[EFFACE_HASH_KEY_BYTES];
    row_arrays arrays;
    efface_data *data = NULL;
    efface_store_report report = {0};
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOOO", &rows, &ids, &weights, &owners) ||
        !read_key(self, key) ||
        !row_arrays_open(&arrays, rows, ids, weights, owners, Py_None, 0, key))
        return NULL;
    arrays.rows.labels = NULL;
    PyThreadState *const state = enter(self);
    if (state != NULL) {
        efface_status status = row_arrays_make_set(&arrays, &data, &error);
        if (status == EFFACE_OK)
            status = efface_store_learn(self->file, data, &report, &error);
        efface_data_free(data);
        gate_leave(&self->gate, state);
        result = status == EFFACE_OK ? store_report_tuple(&report) : raise_error(status, &error);
    }
    row_arrays_close(&arrays);
    return result;
}

/* (secret key) */
static PyObject *sign_with(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *key;
    Py_ssize_t n_key;
    if (!PyArg_ParseTuple(arguments, "y#", &key, &n_key))
        return NULL;
    if (n_key != EFFACE_SECRET_KEY_BYTES) {
        PyErr_Format(PyExc_ValueError, "a secret key has %d bytes", EFFACE_SECRET_KEY_BYTES);
        return NULL;
    }
    PyThreadState *const state = enter(self);
    if (state == NULL)
        return NULL;
    efface_store_sign_with(self->file, (const unsigned char *)key);
    gate_leave(&self->gate, state);
    return Py_NewRef(Py_None);
}

/* ------------------------------------------------------------------ the type */

static PyMethodDef methods[] = {
    {"close", close_store, METH_NOARGS, "close(): closes the file"},
    {"info", info, METH_NOARGS, "info(): rows, columns, models, receipts"},
    {"column", column, METH_O, "column(number): its name or None"},
    {"model", model, METH_O, "model(number): name, method, clusters, columns, digest"},
    {"load", load, METH_VARARGS, "load(name): Models"},
    {"encode", encode, METH_VARARGS, "encode(name): canonical bytes"},
    {"verify", verify, METH_VARARGS, "verify(name): a tuple for Difference"},
    {"receipt", receipt, METH_VARARGS, "receipt(number): JSON"},
    {"check", check, METH_NOARGS, "check(): a list of what is damaged"},
    {"fit", fit, METH_VARARGS, "fit(name, params, columns): adds a model"},
    {"drop", drop, METH_VARARGS, "drop(name): takes a model out"},
    {"rekey", rekey, METH_VARARGS, "rekey(name, seed): fits anew with another seed"},
    {"forget", forget, METH_VARARGS, "forget(ids, owners, skip, only_look)"},
    {"learn", learn, METH_VARARGS, "learn(rows, ids, weights, owners)"},
    {"sign_with", sign_with, METH_VARARGS, "sign_with(secret_key): of receipts that follow"},
    {NULL, NULL, 0, NULL},
};

bool add_stores(PyObject *module) {
    static PyMethodDef functions[] = {
        {"open_store", open_store, METH_VARARGS, "open_store(path, writable)"},
        {"create_store", create_store, METH_VARARGS,
         "create_store(path, rows, ids, weights, owners, key)"},
        {NULL, NULL, 0, NULL},
    };
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)(uintptr_t)dealloc},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "efface._efface.Store",
        .basicsize = sizeof(store),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    store_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return store_type != NULL &&
           PyModule_AddObjectRef(module, "Store", (PyObject *)store_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
