/* The type Store: a file with rows, models and receipts. */
#ifndef EFFACE_EXTENSION_STORE_H
#define EFFACE_EXTENSION_STORE_H

#include "models/py_models.h"

typedef struct store {
    PyObject_HEAD gate gate;
    efface_store *file; /* NULL if closed */
} store;

/* Through the gate of a store that is open; NULL with an exception set if it is closed, or as
 * gate_enter. */
PyThreadState *store_enter(store *self);

/* The key that texts of this store are hashed with. */
bool store_key(store *self, unsigned char key[EFFACE_HASH_KEY_BYTES]);

/* The offsets of its columns, in memory to be released with free. */
bool store_copy_offsets(store *self, double **memory, offset_list *offsets);

/* The bytes of a key of n_bytes, or NULL for None; `what` it is, for the exception. */
bool key_open(PyObject *object, size_t n_bytes, const char *what, const unsigned char **key);

/* py_store_make.c: functions of the module. */
PyObject *store_open(PyObject *module, PyObject *arguments);
PyObject *store_create(PyObject *module, PyObject *arguments);
PyObject *store_wrap(efface_store *file);

/* py_store_read.c */
PyObject *store_info(PyObject *self, PyObject *none);
PyObject *store_columns(PyObject *self, PyObject *none);
PyObject *store_offsets(PyObject *self, PyObject *none);
PyObject *store_takes_missing(PyObject *self, PyObject *none);
PyObject *store_models(PyObject *self, PyObject *none);
PyObject *store_describe(PyObject *self, PyObject *arguments);
PyObject *store_model_columns(PyObject *self, PyObject *arguments);
PyObject *store_load(PyObject *self, PyObject *arguments);
PyObject *store_encode(PyObject *self, PyObject *arguments);
PyObject *store_verify(PyObject *self, PyObject *arguments);
PyObject *store_check(PyObject *self, PyObject *none);
PyObject *store_owners(PyObject *self, PyObject *none);
PyObject *store_find(PyObject *self, PyObject *arguments);
PyObject *store_text(PyObject *self, PyObject *arguments);
PyObject *store_text_id(PyObject *self, PyObject *text);
PyObject *store_receipt(PyObject *self, PyObject *arguments);
PyObject *store_row_hash(PyObject *self, PyObject *arguments);

/* py_store_change.c */
PyObject *store_fit(PyObject *self, PyObject *arguments);
PyObject *store_drop(PyObject *self, PyObject *arguments);
PyObject *store_rekey(PyObject *self, PyObject *arguments);
PyObject *store_forget(PyObject *self, PyObject *arguments);
PyObject *store_learn(PyObject *self, PyObject *arguments);
PyObject *store_update(PyObject *self, PyObject *arguments);
PyObject *store_publish(PyObject *self, PyObject *arguments);
PyObject *store_compact(PyObject *self, PyObject *none);

#endif
