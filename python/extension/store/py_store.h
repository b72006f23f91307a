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
bool store_rule(store *self, name_rule *rule);

/* The offsets of its columns, in memory to be released with free. */
bool store_copy_offsets(store *self, double **memory, offset_list *offsets);

/* The bytes of a key of n_bytes, or NULL for None; `what` it is, for the exception. */
bool key_open(PyObject *object, size_t n_bytes, const char *what, const unsigned char **key);

/* py_store_make.c: functions of the module. */
method store_open, store_create;
PyObject *store_wrap(efface_store *file);

/* py_store_read.c */
method store_info, store_columns, store_offsets, store_takes_missing, store_categories,
    store_models, store_describe, store_model_columns, store_load, store_encode, store_verify,
    store_check, store_owners, store_find, store_text, store_text_id, store_hint, store_receipt,
    store_row_hash;

/* py_store_change.c */
method store_fit, store_drop, store_rekey, store_forget, store_learn, store_update, store_publish,
    store_compact;

#endif
