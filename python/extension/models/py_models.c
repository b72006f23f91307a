/* The type Models itself: its life and its table of methods. */
#include "families/py_families.h"

#include <stdlib.h>
#include <string.h>

static PyTypeObject *models_type;

PyObject *models_wrap(const models_parts *parts) {
    const size_t n = parts->n_items;
    PyTypeObject *const type =
        n != 0 ? family_type(efface_model_get_info(parts->items[0]).family) : NULL;
    models *const self = (models *)PyType_GenericAlloc(type != NULL ? type : models_type, 0);
    if (self == NULL)
        return NULL;
    self->items = calloc(n + 1, sizeof *self->items);
    self->sets = parts->sets != NULL ? calloc(n + 1, sizeof *self->sets) : NULL;
    self->seeds = parts->seeds != NULL ? calloc(n + 1, sizeof *self->seeds) : NULL;
    const bool fits = self->items != NULL && (parts->seeds == NULL || self->seeds != NULL) &&
                      (parts->sets == NULL || self->sets != NULL);
    if (!fits)
        PyErr_NoMemory();
    if (!fits || !gate_make(&self->gate)) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    if (n != 0)
        memcpy(self->items, parts->items, n * sizeof *self->items);
    if (n != 0 && parts->seeds != NULL)
        memcpy(self->seeds, parts->seeds, n * sizeof *self->seeds);
    if (parts->key != NULL)
        memcpy(self->key, parts->key, sizeof self->key);
    if (n != 0 && parts->sets != NULL)
        memcpy(self->sets, parts->sets, n * sizeof *self->sets);
    self->n_items = n;
    self->data = parts->sets != NULL ? parts->sets[0] : parts->data;
    self->has_arrivals = parts->has_arrivals;
    for (size_t i = 0; self->has_arrivals && i < efface_data_n_rows(self->data); i++) {
        const int64_t arrival = efface_data_row(self->data, i).mark;
        if (arrival >= self->next_arrival && arrival < INT64_MAX)
            self->next_arrival = arrival + 1;
    }
    return (PyObject *)self;
}

void models_free_all(efface_model **items, size_t n_items) {
    for (size_t i = 0; i < n_items; i++) {
        efface_model_free(items[i]);
        items[i] = NULL;
    }
}

name_rule models_rule(const models *self) {
    name_rule rule;
    efface_data_get_kinds(self->data, &rule.ids, &rule.owners);
    memcpy(rule.key, self->key, sizeof rule.key);
    return rule;
}

PyThreadState *models_enter(models *self) {
    PyThreadState *const state = gate_enter(&self->gate);
    if (state != NULL && self->torn) {
        gate_leave(&self->gate, state);
        PyErr_SetString(
            PyExc_RuntimeError,
            "memory ran out during a change, and the model is not usable any more: load it again");
        return NULL;
    }
    return state;
}

efface_data *models_set(const models *self, size_t run) {
    return self->sets != NULL ? self->sets[run] : self->data;
}

static void models_dealloc(PyObject *object) {
    models *const self = (models *)object;
    PyTypeObject *const type = Py_TYPE(object);
    if (self->items != NULL)
        models_free_all(self->items, self->n_items);
    for (size_t i = 1; self->sets != NULL && i < self->n_items; i++)
        efface_data_free(self->sets[i]);
    efface_data_free(self->data);
    free(self->sets);
    free(self->items);
    free(self->seeds);
    gate_free(&self->gate);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* `run` is the number of a model. Results that are arrays go into `out`. */
static PyMethodDef models_methods[] = {
    {"forget", (PyCFunction)(void (*)(void))models_forget, METH_FASTCALL,
     "forget(ids, owners, skip): forgets rows; a tuple for Report"},
    {"preview", (PyCFunction)(void (*)(void))models_preview, METH_FASTCALL,
     "preview(ids, owners, skip): what that would do"},
    {"learn", models_learn, METH_VARARGS,
     "learn(rows, ids, weights, owners, unit, labels): learns rows"},
    {"update", models_update, METH_VARARGS,
     "update(rows, ids, weights, owners, unit, labels): replaces the values of rows"},
    {"rekey", models_rekey, METH_VARARGS, "rekey(seeds): fits again with other seeds"},
    {"seeds", models_seeds, METH_NOARGS, "seeds(): of the models; None if they are not known"},
    {"shape", models_shape, METH_NOARGS, "shape(): rows, columns, models, total weight"},
    {"column_names", models_column_names, METH_NOARGS, "column_names(): a list of str or None"},
    {"offsets", models_offsets, METH_NOARGS, "offsets(): of the columns, a list; or None"},
    {"text_id", models_text_id, METH_O, "text_id(text): its number"},
    {"owners_of", models_owners_of, METH_O,
     "owners_of(ids): a list of the owners of these rows; that of no owner for a row that is not "
     "there"},
    {"owner_numbers", models_owner_numbers, METH_O,
     "owner_numbers(owners): of rows, as a list of numbers"},
    {"rows", models_rows, METH_VARARGS,
     "rows(values, ids, weights, owners, arrivals, labels): writes those that are not None"},
    {"info", models_info, METH_O,
     "info(run): what it is, what it predicts, how many numbers a row"},
    {"facts", models_facts, METH_O, "facts(run): two dictionaries, parameters and all else"},
    {"tables", models_tables, METH_O, "tables(run): (name, name of a row, rows, columns)s"},
    {"table", models_table, METH_VARARGS, "table(run, name, out): in the units of the user"},
    {"form", models_form, METH_O,
     "form(run): columns that are looked at, the column of each number or None, classes, columns "
     "that are categories"},
    {"takes_missing", models_takes_missing, METH_O,
     "takes_missing(run): whether values that are missing can be predicted from"},
    {"predict", models_predict, METH_VARARGS, "predict(run, rows, out)"},
    {"score", models_score, METH_VARARGS,
     "score(run, probabilities, rows, out): probabilities of classes, or decisions"},
    {"encode", models_encode, METH_O, "encode(run): canonical bytes"},
    {"digest", models_digest, METH_O, "digest(run): of these bytes"},
    {"verify", models_verify, METH_O, "verify(run): a tuple for Difference"},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"fit", models_fit, METH_VARARGS,
     "fit(rows, ids, weights, owners, unit, params, seeds, arrivals, states, offsets, "
     "labels=None): "
     "models, one for each seed, fitted or made again from their states"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject *models_add_type(PyObject *module, const char *name, PyMethodDef *methods) {
    return add_type(module, name, sizeof(models), models_dealloc, methods, models_type, false);
}

bool add_models(PyObject *module) {
    models_type =
        add_type(module, "Models", sizeof(models), models_dealloc, models_methods, NULL, true);
    return models_type != NULL && PyModule_AddFunctions(module, functions) == 0;
}
