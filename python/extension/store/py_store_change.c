/* Changing a store: its models and its rows. */
#include "families/py_families.h"
#include "store/py_store.h"

#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ models */

/* Fits a model to `columns`, or to all if that holds nothing. */
static efface_status fit_columns(efface_store *file, const char *name, const fit_params *params,
                                 const Py_buffer *columns, efface_model **model,
                                 efface_tails *tails, efface_error *error) {
    const family *const of = params->family;
    const bool all = columns->obj == NULL;
    efface_store_info found;
    efface_status status = efface_store_get_info(file, &found, error);
    if (status == EFFACE_OK)
        status = params_check_columns(params, all ? found.n_columns : array_length(columns), error);
    if (status != EFFACE_OK)
        return status;
    const efface_new_model asked = {
        .name = name,
        .params = params->values,
        .columns = columns->buf,
        .n_columns = all ? 0 : (uint32_t)array_length(columns),
        .tails_scale =
            of->tails_scale != NULL ? of->tails_scale(params->values) : EFFACE_SCALE_NONE,
        .tails = of->tails_scale != NULL ? tails : NULL,
    };
    return efface_store_fit(file, &asked, model, error);
}

/* (name, params, columns or None): gives what there is to warn of, as the family has it. */
PyObject *store_fit(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    PyObject *dictionary, *numbers, *result = NULL;
    Py_buffer columns = {0};
    fit_params params;
    efface_model *model = NULL;
    efface_tails tails = {0};
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "sO!O", &name, &PyDict_Type, &dictionary, &numbers) ||
        !params_open(&params, dictionary))
        return NULL;
    if (numbers == Py_None || array_open(&columns, numbers, "IL", false)) {
        PyThreadState *const state = store_enter(self);
        if (state != NULL) {
            const efface_status status =
                fit_columns(self->file, name, &params, &columns, &model, &tails, &error);
            gate_leave(&self->gate, state);
            if (status != EFFACE_OK)
                raise_error(status, &error);
            else if (params.family->findings == NULL)
                result = Py_NewRef(Py_None);
            else
                result = params.family->findings(model, &tails);
        }
    }
    efface_model_free(model);
    if (columns.obj != NULL)
        PyBuffer_Release(&columns);
    params_close(&params);
    return result;
}

PyObject *store_drop(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_drop(self->file, name, &error);
    gate_leave(&self->gate, state);
    return none_or_error(status, &error);
}

/* (name or None, seed) */
PyObject *store_rekey(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    unsigned long long seed;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "zK", &name, &seed) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_rekey(self->file, name, seed, &error);
    gate_leave(&self->gate, state);
    return none_or_error(status, &error);
}

/* ------------------------------------------------------------------ reports */

/* A model as (name, kind, report, before, after). */
static PyObject *make_model_report(const void *from, size_t i) {
    const efface_model_report *const one = (const efface_model_report *)from + i;
    return Py_BuildValue("ssNy#y#", one->name, one->kind != NULL ? one->kind : "",
                         report_tuple(&one->report), (const char *)one->before,
                         (Py_ssize_t)EFFACE_DIGEST_BYTES, (const char *)one->after,
                         (Py_ssize_t)EFFACE_DIGEST_BYTES);
}

static PyObject *bytes_or_none(const void *bytes, size_t n_bytes) {
    return bytes != NULL ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n_bytes)
                         : Py_NewRef(Py_None);
}

/* A tuple for StoreReport, or the exception; clears the report. */
static PyObject *report_or_error(efface_status status, efface_store_report *report,
                                 const efface_error *error) {
    typedef unsigned long long wide;
    if (status != EFFACE_OK || PyErr_Occurred() != NULL) {
        efface_store_report_free(report);
        return raise_error(status, error);
    }
    PyObject *const result = Py_BuildValue(
        "KKKKKKdNNNN", (wide)report->n_requested, (wide)report->n_missing,
        (wide)report->n_forgotten, (wide)report->n_learned, (wide)report->n_updated,
        (wide)report->receipt, report->seconds,
        list_of(report->n_models, make_model_report, report->models),
        bytes_or_none(report->new_ids, (size_t)report->n_learned * sizeof *report->new_ids),
        bytes_or_none(report->row_hashes, (size_t)report->n_row_hashes * EFFACE_ROW_HASH_BYTES),
        bytes_or_none(report->n_published_bytes != 0 ? report->published : NULL,
                      sizeof report->published));
    efface_store_report_free(report);
    return result;
}

/* ------------------------------------------------------------------ rows */

/* (ids, owners, skip, only look) */
PyObject *store_forget(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    PyObject *ids, *owners, *result = NULL;
    int skip, only_look;
    name_rule rule;
    wanted_rows wanted;
    efface_store_report report = {0};
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOpp", &ids, &owners, &skip, &only_look) ||
        !store_rule(self, &rule) || !wanted_open(&wanted, ids, owners, skip, &rule))
        return NULL;
    PyThreadState *const state = store_enter(self);
    if (state != NULL) {
        const efface_status status =
            only_look ? efface_store_preview(self->file, &wanted.request, &report, &error)
                      : efface_store_forget(self->file, &wanted.request, &report, &error);
        gate_leave(&self->gate, state);
        result = report_or_error(status, &report, &error);
    }
    wanted_close(&wanted);
    return result;
}

/* What the labels of the rows to come are; texts are in a dictionary, by their numbers. */
static efface_ids label_kind(const row_arrays *arrays, PyObject *label_texts) {
    const int64_t *const labels = arrays->rows.labels;
    if (label_texts != Py_None && PyDict_Size(label_texts) > 0)
        return EFFACE_IDS_TEXT;
    for (size_t i = 0; labels != NULL && i < arrays->rows.n_rows; i++)
        if (labels[i] != EFFACE_NO_LABEL)
            return EFFACE_IDS_NUMBERS;
    return EFFACE_IDS_DETECT;
}

/* The class 7 and the class "7" would be two, and look the same. */
static efface_status check_labels(efface_store *file, efface_ids come, efface_error *error) {
    efface_store_info info;
    if (come == EFFACE_IDS_DETECT)
        return EFFACE_OK;
    const efface_status status = efface_store_get_info(file, &info, error);
    if (status != EFFACE_OK || info.labels == EFFACE_IDS_DETECT || info.labels == come)
        return status;
    *error = (efface_error){.status = EFFACE_E_ARGUMENT};
    snprintf(error->message, sizeof error->message,
             "the labels of the store are %s, but those of the rows are %s; nothing was changed",
             come == EFFACE_IDS_TEXT ? "numbers" : "texts",
             come == EFFACE_IDS_TEXT ? "texts" : "numbers");
    return EFFACE_E_ARGUMENT;
}

/* Behind the gate. What an update is not given stays as it is. */
static efface_status change_rows(efface_store *file, const row_arrays *arrays,
                                 const efface_ids kinds[3], const efface_texts *texts, bool is_new,
                                 efface_store_report *report, efface_error *error) {
    efface_data *data = NULL;
    efface_status status = check_labels(file, kinds[2], error);
    if (status == EFFACE_OK)
        status = row_arrays_make_set(arrays, &data, error);
    if (status == EFFACE_OK)
        efface_data_set_kinds(data, kinds[0], kinds[1]);
    if (status == EFFACE_OK)
        status = is_new ? efface_store_learn(file, data, texts, report, error)
                        : efface_store_update(file, data, texts, report, error);
    efface_data_free(data);
    return status;
}

/* learn and update: (rows, ids, weights, owners, labels, texts of labels, whether values may be
 * missing) */
static PyObject *learn_or_update_store(store *self, PyObject *arguments, bool is_new) {
    row_objects objects = {.arrivals = NULL};
    PyObject *label_texts;
    int missing;
    name_rule rule;
    double *offsets = NULL;
    row_arrays arrays;
    efface_texts *texts = NULL;
    efface_store_report report = {0};
    efface_error error = {0};
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(arguments, "OOOOOOp", &objects.values, &objects.ids, &objects.weights,
                          &objects.owners, &objects.labels, &label_texts, &missing) ||
        !store_rule(self, &rule))
        return NULL;
    objects.missing = missing;
    if (!is_new && objects.ids == Py_None) {
        PyErr_SetString(PyExc_ValueError, "give the ids of the rows to update");
        return NULL;
    }
    if (!store_copy_offsets(self, &offsets, &objects.offsets))
        return NULL;
    const efface_status made = efface_texts_create(&texts, &error);
    if (made != EFFACE_OK) {
        free(offsets);
        return raise_error(made, &error);
    }
    if (row_arrays_open(&arrays, &objects, &rule, texts)) {
        efface_ids kinds[3] = {EFFACE_IDS_DETECT, EFFACE_IDS_DETECT,
                               label_kind(&arrays, label_texts)};
        PyThreadState *const state =
            row_arrays_kinds(&arrays, &kinds[0], &kinds[1]) && label_texts_add(&texts, label_texts)
                ? store_enter(self)
                : NULL;
        if (state != NULL) {
            const efface_status status =
                change_rows(self->file, &arrays, kinds, texts, is_new, &report, &error);
            gate_leave(&self->gate, state);
            result = report_or_error(status, &report, &error);
        }
        row_arrays_close(&arrays);
    }
    free(offsets);
    efface_texts_free(texts);
    return result;
}

PyObject *store_learn(PyObject *self, PyObject *arguments) {
    return learn_or_update_store((store *)self, arguments, true);
}

PyObject *store_update(PyObject *self, PyObject *arguments) {
    return learn_or_update_store((store *)self, arguments, false);
}

/* (name, path, whether a file may be replaced) */
PyObject *store_publish(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    efface_publishing asked = {.name = NULL};
    PyObject *path, *result = NULL;
    efface_store_report report = {0};
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "sO&p", &asked.name, PyUnicode_FSConverter, &path,
                          &asked.replace))
        return NULL;
    asked.path = PyBytes_AsString(path);
    PyThreadState *const state = store_enter(self);
    if (state != NULL) {
        const efface_status status = efface_store_publish(self->file, &asked, &report, &error);
        gate_leave(&self->gate, state);
        result = report_or_error(status, &report, &error);
    }
    Py_DECREF(path);
    return result;
}

PyObject *store_compact(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    efface_error error = {0};
    (void)none;
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return NULL;
    const efface_status status = efface_store_compact(self->file, &error);
    gate_leave(&self->gate, state);
    return none_or_error(status, &error);
}
