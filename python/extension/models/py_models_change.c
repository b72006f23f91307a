/* Changing models: forget, learn and update, for all models over a set together. */
#include "models/py_models.h"

#include <stdlib.h>
#include <string.h>

/* One report for all models: that of the one which took most, with the rows that all visited. */
static PyObject *merged_or_error(efface_status status, const efface_report *reports, size_t n,
                                 const efface_error *error) {
    if (status != EFFACE_OK)
        return raise_error(status, error);
    efface_report merged = reports[0];
    for (size_t i = 1; i < n; i++) {
        const uint64_t rows_visited = merged.rows_visited + reports[i].rows_visited;
        if (reports[i].action > merged.action)
            merged = reports[i];
        merged.rows_visited = rows_visited;
    }
    return report_tuple(&merged);
}

static efface_status preview_all(models *self, const efface_request *request,
                                 efface_report *reports, efface_error *error) {
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < self->n_items && status == EFFACE_OK; i++) {
        status =
            efface_model_preview(self->items[i], models_set(self, i), request, &reports[i], error);
        if (i > 0)
            reports[i].seconds += reports[i - 1].seconds;
    }
    return status;
}

/* A change of models, all of which have this set. */
typedef struct change {
    efface_status (*make)(const struct change *change, efface_model *const *items, size_t n_items,
                          efface_data *data, efface_report *reports, efface_error *error);
    const efface_request *request;
    const efface_rows *rows;
} change;

static efface_status make_forget(const change *c, efface_model *const *items, size_t n_items,
                                 efface_data *data, efface_report *reports, efface_error *error) {
    return efface_models_forget(items, n_items, data, c->request, reports, error);
}

static efface_status make_learn(const change *c, efface_model *const *items, size_t n_items,
                                efface_data *data, efface_report *reports, efface_error *error) {
    return efface_models_learn(items, n_items, data, c->rows, reports, error);
}

static efface_status make_update(const change *c, efface_model *const *items, size_t n_items,
                                 efface_data *data, efface_report *reports, efface_error *error) {
    return efface_models_update(items, n_items, data, c->rows, reports, error);
}

static efface_status change_all(models *self, const change *c, efface_report *reports,
                                efface_error *error) {
    if (self->sets == NULL)
        return c->make(c, self->items, self->n_items, self->data, reports, error);
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < self->n_items && status == EFFACE_OK; i++) {
        status = c->make(c, &self->items[i], 1, self->sets[i], &reports[i], error);
        self->torn = status != EFFACE_OK && i > 0;
        if (i > 0)
            reports[i].seconds += reports[i - 1].seconds;
    }
    return status;
}

/* forget and preview: (ids, owners, whether those that are missing are skipped). */
static PyObject *forget_or_look(models *self, PyObject *const *arguments, Py_ssize_t n_arguments,
                                bool only_look) {
    if (n_arguments != 3) {
        PyErr_SetString(PyExc_TypeError, "expected ids, owners and skip");
        return NULL;
    }
    wanted_rows wanted;
    efface_error error;
    error.status = EFFACE_OK;
    PyObject *result = NULL;
    const name_rule rule = models_rule(self);
    if (!wanted_open(&wanted, arguments[0], arguments[1], arguments[2] == Py_True, &rule))
        return NULL;
    wanted_drop_repeated(&wanted);
    const change forgetting = {.make = make_forget, .request = &wanted.request};
    efface_report one, *reports = &one;
    if (self->n_items > 1 && (reports = calloc(self->n_items, sizeof *reports)) == NULL)
        PyErr_NoMemory();
    PyThreadState *const state = reports != NULL ? models_enter(self) : NULL;
    if (state != NULL) {
        const efface_status status = only_look ? preview_all(self, &wanted.request, reports, &error)
                                               : change_all(self, &forgetting, reports, &error);
        gate_leave(&self->gate, state);
        result = merged_or_error(status, reports, self->n_items, &error);
    }
    if (reports != &one)
        free(reports);
    wanted_close(&wanted);
    return result;
}

PyObject *models_forget(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments) {
    return forget_or_look((models *)self, arguments, n_arguments, false);
}

PyObject *models_preview(PyObject *self, PyObject *const *arguments, Py_ssize_t n_arguments) {
    return forget_or_look((models *)self, arguments, n_arguments, true);
}

/* Behind the gate, as what follows: arrivals are numbered here, and ids made, so that rows of two
 * threads never get the same. */
static efface_status learn_rows(models *self, row_arrays *arrays, int64_t unit,
                                efface_report *reports, efface_error *error) {
    efface_status status = row_arrays_make_ids(arrays, unit, self->data);
    if (status == EFFACE_OK && self->has_arrivals)
        status = row_arrays_number(arrays, self->next_arrival);
    const change learning = {.make = make_learn, .rows = &arrays->rows};
    if (status == EFFACE_OK)
        status = change_all(self, &learning, reports, error);
    if (status == EFFACE_OK)
        self->next_arrival += (int64_t)arrays->rows.n_rows;
    return status;
}

/* An owner that is not given stays, as in a store; and so do labels. */
static void fill_owners(const models *self, row_arrays *arrays) {
    size_t position;
    for (size_t i = 0; i < arrays->owners.n && i < arrays->ids.n; i++)
        if (arrays->owners.items[i] == EFFACE_NO_OWNER &&
            efface_data_find(self->data, arrays->ids.items[i], &position) == EFFACE_OK)
            arrays->owners.items[i] = efface_data_row(self->data, position).owner;
}

static efface_status update_rows(models *self, row_arrays *arrays, efface_report *reports,
                                 efface_error *error) {
    const change updating = {.make = make_update, .rows = &arrays->rows};
    fill_owners(self, arrays);
    return change_all(self, &updating, reports, error);
}

static efface_status check_columns(const models *self, const row_arrays *arrays,
                                   efface_error *error) {
    const uint32_t n_columns = efface_data_n_columns(self->data);
    if (arrays->matrix.n_columns == n_columns)
        return EFFACE_OK;
    error->status = EFFACE_E_ARGUMENT;
    PyOS_snprintf(error->message, sizeof error->message,
                  "the rows have %u features, but the model has %u",
                  (unsigned)arrays->matrix.n_columns, (unsigned)n_columns);
    return EFFACE_E_ARGUMENT;
}

/* learn and update: (rows, ids, weights, owners, unit, labels). */
static PyObject *learn_or_update_models(models *self, PyObject *arguments, bool is_new) {
    row_objects objects = {.offsets = offsets_of(self->data)};
    long long unit;
    if (!PyArg_ParseTuple(arguments, "OOOOL|O", &objects.values, &objects.ids, &objects.weights,
                          &objects.owners, &unit, &objects.labels))
        return NULL;
    row_arrays arrays;
    efface_error error = {0};
    PyObject *result = NULL;
    const name_rule rule = models_rule(self);
    if (!row_arrays_open(&arrays, &objects, &rule, NULL))
        return NULL;
    efface_report *const reports = calloc(self->n_items + 1, sizeof *reports);
    if (reports == NULL)
        PyErr_NoMemory();
    PyThreadState *const state = reports != NULL ? models_enter(self) : NULL;
    if (state != NULL) {
        efface_status status = check_columns(self, &arrays, &error);
        if (status == EFFACE_OK)
            status = is_new ? learn_rows(self, &arrays, unit, reports, &error)
                            : update_rows(self, &arrays, reports, &error);
        gate_leave(&self->gate, state);
        result = merged_or_error(status, reports, self->n_items, &error);
    }
    free(reports);
    row_arrays_close(&arrays);
    return result;
}

PyObject *models_learn(PyObject *self, PyObject *arguments) {
    return learn_or_update_models((models *)self, arguments, true);
}

PyObject *models_update(PyObject *self, PyObject *arguments) {
    return learn_or_update_models((models *)self, arguments, false);
}
