/*
 * The type Store itself: its life and its table of methods.
 *
 * A store that was closed stays an object; every method but close then raises ValueError, as
 * methods of a closed file do.
 */
#include "store/py_store.h"

#include <string.h>

static PyTypeObject *store_type;

PyObject *store_wrap(efface_store *file) {
    PyObject *const self = PyType_GenericAlloc(store_type, 0);
    if (self != NULL && gate_make(&((store *)self)->gate)) {
        ((store *)self)->file = file;
        return self;
    }
    Py_XDECREF(self);
    efface_store_close(file);
    return NULL;
}

static void store_dealloc(PyObject *object) {
    store *const self = (store *)object;
    PyTypeObject *const type = Py_TYPE(object);
    efface_store_close(self->file);
    gate_free(&self->gate);
    PyObject_Free(object);
    Py_DECREF(type);
}

PyThreadState *store_enter(store *self) {
    PyThreadState *const state = gate_enter(&self->gate);
    if (state != NULL && self->file == NULL) {
        gate_leave(&self->gate, state);
        PyErr_SetString(PyExc_ValueError, "the store is closed");
        return NULL;
    }
    return state;
}

bool store_rule(store *self, name_rule *rule) {
    efface_load_options options;
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return false;
    efface_store_load_options(self->file, &options);
    gate_leave(&self->gate, state);
    rule->ids = options.ids;
    rule->owners = options.owners;
    memcpy(rule->key, options.hash_key, sizeof rule->key);
    return true;
}

bool key_open(PyObject *object, size_t n_bytes, const char *what, const unsigned char **key) {
    char *bytes = NULL;
    Py_ssize_t n = 0;
    *key = NULL;
    if (object == Py_None)
        return true;
    if (PyBytes_AsStringAndSize(object, &bytes, &n) != 0)
        return false;
    if ((size_t)n != n_bytes) {
        PyErr_Format(PyExc_ValueError, "a %s key must have %zu bytes, not %zd", what, n_bytes, n);
        return false;
    }
    *key = (const unsigned char *)bytes;
    return true;
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

static PyMethodDef store_methods[] = {
    {"close", close_store, METH_NOARGS, "close(): closes the file"},
    {"info", store_info, METH_NOARGS, "info(): a tuple for StoreInfo"},
    {"columns", store_columns, METH_NOARGS, "columns(): names, each str or None"},
    {"offsets", store_offsets, METH_NOARGS, "offsets(): of the columns, a list; or None"},
    {"categories", store_categories, METH_NOARGS,
     "categories(): the columns that a model has as categories"},
    {"takes_missing", store_takes_missing, METH_NOARGS,
     "takes_missing(): whether values may be missing in some column for all models that have it"},
    {"models", store_models, METH_NOARGS, "models(): (name, family, columns, digest, commitment)s"},
    {"describe", store_describe, METH_VARARGS, "describe(name): a dictionary of parameters"},
    {"model_columns", store_model_columns, METH_VARARGS, "model_columns(name): their numbers"},
    {"load", store_load, METH_VARARGS, "load(names): Models over one set of rows"},
    {"encode", store_encode, METH_VARARGS, "encode(name): canonical bytes"},
    {"verify", store_verify, METH_VARARGS, "verify(name): a tuple for Difference"},
    {"check", store_check, METH_NOARGS, "check(): a list of what is damaged"},
    {"owners", store_owners, METH_NOARGS, "owners(): a list of (number, text or None, rows)"},
    {"find", store_find, METH_VARARGS, "find(ids, owners, skip): Models without any, for rows"},
    {"text", store_text, METH_VARARGS, "text(kind, number): str or None; kinds as in the library"},
    {"text_id", store_text_id, METH_O, "text_id(text): its number"},
    {"hint", store_hint, METH_VARARGS, "hint(kind, text): what to say of a name that is not there"},
    {"receipt", store_receipt, METH_VARARGS, "receipt(number): JSON"},
    {"row_hash", store_row_hash, METH_VARARGS, "row_hash(receipt_key or None, id): bytes"},
    {"fit", store_fit, METH_VARARGS, "fit(name, params, columns): adds a model"},
    {"drop", store_drop, METH_VARARGS, "drop(name): removes a model"},
    {"rekey", store_rekey, METH_VARARGS, "rekey(name, seed): fits again with another seed"},
    {"forget", store_forget, METH_VARARGS, "forget(ids, owners, skip, only_look)"},
    {"learn", store_learn, METH_VARARGS,
     "learn(rows, ids, weights, owners, keep_texts, labels, label_texts, missing)"},
    {"update", store_update, METH_VARARGS,
     "update(rows, ids, weights, owners, keep_texts, labels, label_texts, missing)"},
    {"publish", store_publish, METH_VARARGS,
     "publish(name, path, replace): a file to predict with"},
    {"compact", store_compact, METH_NOARGS, "compact(): makes the file small"},
    {NULL, NULL, 0, NULL},
};

bool add_stores(PyObject *module) {
    static PyMethodDef functions[] = {
        {"open_store", store_open, METH_VARARGS,
         "open_store(path, writable, wait, receipt_key, secret_key)"},
        {"create_store", store_create, METH_VARARGS,
         "create_store(path, rows, ids, weights, owners, names, key, keep_texts, receipt_key, "
         "secret_key, offsets, labels, label_texts, missing)"},
        {NULL, NULL, 0, NULL},
    };
    store_type =
        add_type(module, "Store", sizeof(store), store_dealloc, store_methods, NULL, false);
    return store_type != NULL && PyModule_AddFunctions(module, functions) == 0;
}
