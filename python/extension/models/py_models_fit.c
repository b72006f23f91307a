/* Making models: fitted to rows, made again from their canonical bytes, or fitted anew with other
 * seeds. */
#include "families/py_families.h"

#include <stdlib.h>
#include <string.h>

/* Seeds and, for models that are to be as they were, their canonical bytes. */
typedef struct recipes {
    size_t n;
    uint64_t *seeds;
    efface_model **items;
    const char **states;
    Py_ssize_t *state_sizes;
} recipes;

static void recipes_close(recipes *r) {
    if (r->items != NULL)
        models_free_all(r->items, r->n);
    free(r->seeds);
    free(r->items);
    free(r->states);
    free(r->state_sizes);
    memset(r, 0, sizeof *r);
}

/* `states` is None or a tuple of bytes that outlives the recipes. */
static bool recipes_open(recipes *r, PyObject *seeds, PyObject *states) {
    memset(r, 0, sizeof *r);
    r->n = (size_t)PyTuple_Size(seeds);
    r->seeds = calloc(r->n + 1, sizeof *r->seeds);
    r->items = calloc(r->n + 1, sizeof *r->items);
    r->states = calloc(r->n + 1, sizeof *r->states);
    r->state_sizes = calloc(r->n + 1, sizeof *r->state_sizes);
    if (r->seeds == NULL || r->items == NULL || r->states == NULL || r->state_sizes == NULL) {
        PyErr_NoMemory();
    } else if (r->n == 0) {
        PyErr_SetString(PyExc_ValueError, "there must be a seed");
    } else if (states != Py_None &&
               (!PyTuple_Check(states) || PyTuple_Size(states) != (Py_ssize_t)r->n)) {
        PyErr_SetString(PyExc_ValueError, "there must be as many states as seeds");
    } else {
        for (size_t i = 0; i < r->n && PyErr_Occurred() == NULL; i++) {
            r->seeds[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(seeds, (Py_ssize_t)i));
            char *bytes;
            if (states != Py_None && PyBytes_AsStringAndSize(PyTuple_GetItem(states, (Py_ssize_t)i),
                                                             &bytes, &r->state_sizes[i]) == 0)
                r->states[i] = bytes;
        }
    }
    if (PyErr_Occurred() == NULL)
        return true;
    recipes_close(r);
    return false;
}

static efface_status recipes_cook(recipes *r, const efface_data *data, const fit_params *params,
                                  efface_error *error) {
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < r->n && status == EFFACE_OK; i++) {
        params->values->seed = r->seeds[i];
        status = r->states[i] == NULL
                     ? params->family->fit(data, params->values, &r->items[i], error)
                     : efface_model_decode((const unsigned char *)r->states[i],
                                           (size_t)r->state_sizes[i], params->values, data,
                                           &r->items[i], error);
    }
    return status;
}

PyObject *models_fit(PyObject *module, PyObject *arguments) {
    PyObject *dictionary, *seeds, *states, *result = NULL;
    row_objects objects = {.labels = NULL};
    long long unit;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOLO!O!OOO|O", &objects.values, &objects.ids,
                          &objects.weights, &objects.owners, &unit, &PyDict_Type, &dictionary,
                          &PyTuple_Type, &seeds, &objects.arrivals, &states, &objects.shifts,
                          &objects.labels))
        return NULL;
    row_arrays arrays;
    fit_params params;
    recipes runs;
    efface_data *data = NULL;
    efface_error error = {0};
    if (!recipes_open(&runs, seeds, states))
        return NULL;
    if (!params_open(&params, dictionary))
        goto close_runs;
    objects.missing =
        params.family->takes_missing != NULL && params.family->takes_missing(params.values);
    if (!row_arrays_open(&arrays, &objects, NULL, NULL))
        goto close_params;
    PyThreadState *const state = PyEval_SaveThread();
    efface_status status = params_check_columns(&params, arrays.matrix.n_columns, &error);
    if (status == EFFACE_OK)
        status = row_arrays_make_ids(&arrays, unit, NULL);
    if (status == EFFACE_OK)
        status = row_arrays_number(&arrays, 0);
    if (status == EFFACE_OK)
        status = row_arrays_make_set(&arrays, &data, &error);
    PyEval_RestoreThread(state);
    row_arrays_close(&arrays); /* before the fit: it may hold a converted copy of the rows */
    if (status == EFFACE_OK) {
        PyThreadState *const fitting = PyEval_SaveThread();
        status = recipes_cook(&runs, data, &params, &error);
        PyEval_RestoreThread(fitting);
    }
    const models_parts parts = {
        .data = data,
        .items = runs.items,
        .n_items = runs.n,
        .seeds = runs.seeds,
        .has_arrivals = true,
    };
    if (status == EFFACE_OK)
        result = models_wrap(&parts);
    else
        raise_error(status, &error);
    if (result != NULL)
        memset(runs.items, 0, runs.n * sizeof *runs.items);
    else
        efface_data_free(data);
close_params:
    params_close(&params);
close_runs:
    recipes_close(&runs);
    return result;
}

/* Behind the gate: fits every model anew before the first is replaced. Their parameters are their
 * own, so that a model from a store can be given a seed too. */
static efface_status refit(models *self, recipes *runs, efface_error *error) {
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < runs->n && status == EFFACE_OK; i++)
        status = fit_with_seed(self->items[i], models_set(self, i), runs->seeds[i], &runs->items[i],
                               error);
    for (size_t i = 0; i < runs->n && status == EFFACE_OK; i++) {
        efface_model *const old = self->items[i];
        self->items[i] = runs->items[i];
        runs->items[i] = old;
        if (self->seeds != NULL)
            self->seeds[i] = runs->seeds[i];
    }
    return status;
}

/* rekey: (seeds). */
PyObject *models_rekey(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *seeds;
    recipes runs;
    efface_error error = {0};
    const efface_report report = {.action = EFFACE_ACTION_REFITTED,
                                  .reason = "a new seed was given"};
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &seeds) ||
        !recipes_open(&runs, seeds, Py_None))
        return NULL;
    if (runs.n != self->n_items) {
        PyErr_SetString(PyExc_ValueError, "there must be a seed for each model");
        recipes_close(&runs);
        return NULL;
    }
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        const efface_status status = refit(self, &runs, &error);
        gate_leave(&self->gate, state);
        result = status == EFFACE_OK ? report_tuple(&report) : raise_error(status, &error);
    }
    recipes_close(&runs);
    return result;
}
