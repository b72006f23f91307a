/* Changing models: forget, learn and update, for all models over a set together. */
#include "py_models.h"

#include <stdlib.h>
#include <string.h>

/* One report for all models: that of the one which took most, with the rows that all visited. */
static efface_report merge_reports(const efface_report *reports, size_t n) {
    efface_report merged = reports[0];
    for (size_t i = 1; i < n; i++) {
        const uint64_t rows_visited = merged.rows_visited + reports[i].rows_visited;
        if (reports[i].action > merged.action)
            merged = reports[i];
        merged.rows_visited = rows_visited;
    }
    return merged;
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t sort_ids(uint64_t *ids, size_t n) {
    size_t n_kept = 0;
    qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            ids[n_kept++] = ids[i];
    return n_kept;
}

/* Adds the ids of all rows of some owners to `ids`, which has n_ids; gives them in *out, to be
 * released with free. NOT_FOUND for an owner without rows unless that is allowed. */
static efface_status add_owned(const efface_data *data, const id_list *ids, id_list *owners,
                               bool skip, id_list *out, efface_error *error) {
    const size_t n_rows = efface_data_n_rows(data);
    owners->n = sort_ids(owners->items, owners->n);
    bool *const found = calloc(owners->n + 1, sizeof *found);
    out->items = malloc((ids->n + n_rows + 1) * sizeof *out->items);
    out->n = ids->n;
    if (found == NULL || out->items == NULL) {
        free(found);
        return EFFACE_E_MEMORY;
    }
    if (ids->n != 0)
        memcpy(out->items, ids->items, ids->n * sizeof *out->items);
    for (size_t i = 0; i < n_rows; i++) {
        const efface_row row = efface_data_row(data, i);
        const uint64_t *const owner =
            bsearch(&row.owner, owners->items, owners->n, sizeof *owners->items, compare_ids);
        if (owner != NULL) {
            out->items[out->n++] = row.id;
            found[owner - owners->items] = true;
        }
    }
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < owners->n && !skip && status == EFFACE_OK; i++)
        if (!found[i]) {
            status = error->status = EFFACE_E_NOT_FOUND;
            PyOS_snprintf(error->message, sizeof error->message, "no row has the owner %llu",
                          (unsigned long long)owners->items[i]);
        }
    free(found);
    out->n = sort_ids(out->items, out->n);
    return status;
}

static efface_status preview_all(models *self, const id_list *ids, efface_missing missing,
                                 efface_report *reports, efface_error *error) {
    efface_status status = EFFACE_OK;
    for (size_t i = 0; i < self->n_items && status == EFFACE_OK; i++) {
        status = efface_model_preview(
            self->items[i], models_set(self, i),
            &(efface_request){.ids = ids->items, .n_ids = ids->n, .missing = missing}, &reports[i],
            error);
        if (i > 0)
            reports[i].seconds += reports[i - 1].seconds;
    }
    return status;
}

/* A change of models, all of which have this set. */
typedef struct change {
    efface_status (*make)(const struct change *change, efface_model *const *items, size_t n_items,
                          efface_data *data, efface_report *reports, efface_error *error);
    const id_list *ids;
    efface_missing missing;
    const efface_rows *rows;
} change;

static efface_status make_forget(const change *c, efface_model *const *items, size_t n_items,
                                 efface_data *data, efface_report *reports, efface_error *error) {
    return efface_models_forget(
        items, n_items, data,
        &(efface_request){.ids = c->ids->items, .n_ids = c->ids->n, .missing = c->missing}, reports,
        error);
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

static efface_status forget_rows(models *self, const id_list *ids, efface_missing missing,
                                 efface_report *reports, efface_error *error) {
    const change forgetting = {.make = make_forget, .ids = ids, .missing = missing};
    return change_all(self, &forgetting, reports, error);
}

/* forget and preview: (ids, owners, whether those that are missing are skipped). */
static PyObject *forget_or_look(models *self, PyObject *const *arguments, Py_ssize_t n_arguments,
                                bool only_look) {
    if (n_arguments != 3) {
        PyErr_SetString(PyExc_TypeError, "expected ids, owners and skip");
        return NULL;
    }
    const bool skip = arguments[2] == Py_True;
    const efface_missing missing = skip ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL;
    id_list ids, owners, all = {0};
    efface_error error;
    error.status = EFFACE_OK;
    efface_status status = EFFACE_OK;
    PyObject *result = NULL;
    if (!ids_open(&ids, arguments[0], USE_IDS, self->key, NULL))
        return NULL;
    if (!ids_open(&owners, arguments[1], USE_REQUESTED, self->key, NULL)) {
        ids_close(&ids);
        return NULL;
    }
    efface_report one, *reports = &one;
    if (self->n_items > 1 && (reports = calloc(self->n_items, sizeof *reports)) == NULL) {
        PyErr_NoMemory();
        goto out;
    }
    PyThreadState *const state = models_enter(self);
    if (state == NULL)
        goto out;
    if (owners.n != 0)
        status = add_owned(self->data, &ids, &owners, skip, &all, &error);
    const id_list *const wanted = owners.n != 0 ? &all : &ids;
    if (status == EFFACE_OK)
        status = only_look ? preview_all(self, wanted, missing, reports, &error)
                           : forget_rows(self, wanted, missing, reports, &error);
    gate_leave(&self->gate, state);
    if (status == EFFACE_OK) {
        one = merge_reports(reports, self->n_items);
        result = report_tuple(&one);
    } else {
        raise_error(status, &error);
    }
out:
    if (reports != &one)
        free(reports);
    ids_close(&ids);
    ids_close(&owners);
    free(all.items);
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

/* An owner that is not given stays, as in a store. */
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

/* learn and update: (rows, ids, weights, owners, unit). */
static PyObject *learn_or_update(models *self, PyObject *arguments, bool is_new) {
    row_objects objects = {.arrivals = Py_None, .offsets = offsets_of(self->data)};
    long long unit;
    if (!PyArg_ParseTuple(arguments, "OOOOL", &objects.values, &objects.ids, &objects.weights,
                          &objects.owners, &unit))
        return NULL;
    row_arrays arrays;
    efface_error error = {0};
    PyObject *result = NULL;
    if (!row_arrays_open(&arrays, &objects, self->key, NULL))
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
        if (status == EFFACE_OK) {
            const efface_report report = merge_reports(reports, self->n_items);
            result = report_tuple(&report);
        } else {
            raise_error(status, &error);
        }
    }
    free(reports);
    row_arrays_close(&arrays);
    return result;
}

PyObject *models_learn(PyObject *self, PyObject *arguments) {
    return learn_or_update((models *)self, arguments, true);
}

PyObject *models_update(PyObject *self, PyObject *arguments) {
    return learn_or_update((models *)self, arguments, false);
}
