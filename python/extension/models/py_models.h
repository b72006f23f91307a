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

/* What its names are. */
name_rule models_rule(const models *self);

/* The set that a model changes with. */
efface_data *models_set(const models *self, size_t run);

/* py_model_questions.c: one model, behind the gate, which is asked something. */
typedef struct question {
    models *of;
    const efface_model *model;
    efface_data *data;
    PyThreadState *state;
    efface_error error;
} question;

/* `run` is the number of a model. False with an exception set if there is no such model, or as
 * models_enter. */
bool question_begin(question *q, PyObject *object, PyObject *run);
void question_end(question *q);

/* What the answer is about and where it goes: writes it into `out`. Needs no GIL. */
typedef efface_status (*answer)(question *q, const void *about, const Py_buffer *out);

/* Has an array filled, of a type that is among `formats`. None, or NULL with an exception set. */
PyObject *fill_array(PyObject *object, PyObject *run, PyObject *array, const char *formats,
                     answer fill, const void *about);

/* The same about rows, which are in the units of the user: `about` is a matrix. */
PyObject *fill_of_rows(PyObject *object, PyObject *run, PyObject *rows, PyObject *array,
                       const char *formats, answer fill);

/* For (run, rows, out). */
PyObject *ask_of_rows(PyObject *object, PyObject *arguments, const char *formats, answer fill);

/* An error unless the rows have the columns of the model, and `out` has n_each items for each. */
efface_status check_rows(question *q, const matrix *m, const Py_buffer *out, size_t n_each);

/* Makes a type of models with further methods, and adds it to the module. */
PyTypeObject *models_add_type(PyObject *module, const char *name, PyMethodDef *methods);

/* py_models_fit.c; the first is a function of the module. */
method models_fit, models_rekey;

/* py_models_change.c */
PyObject *models_forget(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments);
PyObject *models_preview(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments);
method models_learn, models_update;

/* py_models_read.c */
method models_seeds, models_shape, models_column_names, models_offsets, models_text_id,
    models_owners_of, models_owner_numbers, models_rows, models_info, models_facts, models_tables,
    models_table, models_form, models_takes_missing, models_predict, models_score, models_encode,
    models_digest, models_verify;

#endif
