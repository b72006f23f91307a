/*
 * The type Models: one or more models over the same rows, which change together. (An estimator with
 * n_init runs has that many models.) None of its methods looks at what is its own without having
 * passed the gate. Models of a family are of a type of their own, with methods of its own
 * (py_families.h).
 *
 * Models that were fitted here share one set. Models from a store do not: the library ties each to
 * the set it was loaded with, so there are as many sets, with the same rows at the same positions,
 * and a change is made to one after the other. Should memory be short in the middle, they are no
 * longer of the same rows; then the object refuses to be used, and has to be loaded again.
 */
#ifndef EFFACE_EXTENSION_MODELS_H
#define EFFACE_EXTENSION_MODELS_H

#include "module/py_extension.h"

typedef struct models {
    PyObject_HEAD gate gate;
    efface_data *data;  /* the rows; that of the first model, if each has its own, */
    efface_data **sets; /* which then are here; else NULL */
    bool torn;          /* a change reached only some of them */
    efface_model **items;
    uint64_t *seeds; /* of the models; NULL if they are not known */
    size_t n_items;
    bool has_arrivals; /* marks of rows are the numbers of their arrival */
    int64_t next_arrival;
    unsigned char key[EFFACE_HASH_KEY_BYTES]; /* that texts are hashed with */
} models;

/* What an object is made of; what is not there is NULL. */
typedef struct models_parts {
    efface_data *data;        /* of all models, */
    efface_data *const *sets; /* or those of each */
    efface_model *const *items;
    size_t n_items; /* 0 for rows alone */
    const uint64_t *seeds;
    const unsigned char *key; /* zeros by default */
    bool has_arrivals;
} models_parts;

/* The object comes to own the set and the models. NULL with an exception set, and nothing owned. */
PyObject *models_wrap(const models_parts *parts);

void models_free_all(efface_model **items, size_t n_items);

/* Through the gate; NULL with an exception set as gate_enter, or if the object is torn. */
PyThreadState *models_enter(models *self);

/* The set that a model changes with. */
efface_data *models_set(const models *self, size_t run);

/* Makes a type of models with further methods, and adds it to the module. */
PyTypeObject *models_add_type(PyObject *module, const char *name, PyMethodDef *methods);

/* The number of a model, from an object; false with an exception set if there is no such model. */
bool models_run(const models *self, PyObject *object, size_t *run);

/* py_models_fit.c; the first is a function of the module. */
PyObject *models_fit(PyObject *module, PyObject *arguments);
PyObject *models_rekey(PyObject *self, PyObject *arguments);

/* py_models_change.c */
PyObject *models_forget(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments);
PyObject *models_preview(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments);
PyObject *models_learn(PyObject *self, PyObject *arguments);
PyObject *models_update(PyObject *self, PyObject *arguments);

/* py_models_read.c */
PyObject *models_seeds(PyObject *self, PyObject *none);
PyObject *models_shape(PyObject *self, PyObject *none);
PyObject *models_column_names(PyObject *self, PyObject *none);
PyObject *models_offsets(PyObject *self, PyObject *none);
PyObject *models_text_id(PyObject *self, PyObject *text);
PyObject *models_rows(PyObject *self, PyObject *arguments);
PyObject *models_info(PyObject *self, PyObject *run);
PyObject *models_facts(PyObject *self, PyObject *run);
PyObject *models_tables(PyObject *self, PyObject *run);
PyObject *models_table(PyObject *self, PyObject *arguments);
PyObject *models_form(PyObject *self, PyObject *run);
PyObject *models_takes_missing(PyObject *self, PyObject *run);
PyObject *models_predict(PyObject *self, PyObject *arguments);
PyObject *models_score(PyObject *self, PyObject *arguments);
PyObject *models_encode(PyObject *self, PyObject *run);
PyObject *models_digest(PyObject *self, PyObject *run);
PyObject *models_verify(PyObject *self, PyObject *run);

#endif
