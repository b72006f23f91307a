/* The family segmented: its parameters, and what only its models are asked. */
#include "families/py_families.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ parameters */

#define AT(member) offsetof(efface_segmented_params, member)

static const field fields[] = {
    {.key = "n_targets", .kind = FIELD_WHOLE, .offset = AT(n_targets)},
    {.key = "targets",
     .kind = FIELD_WHOLES,
     .offset = AT(targets),
     .count_offset = AT(n_targets),
     .count_key = "n_targets"},
    {.key = "sums_bound", .kind = FIELD_REAL, .offset = AT(bound)},
    {.key = "weight_unit", .kind = FIELD_WHOLE, .offset = AT(weight_unit)},
    {.key = "alpha", .kind = FIELD_REAL, .offset = AT(linear.alpha)},
    {.key = "intercept", .kind = FIELD_FLAG, .offset = AT(linear.intercept)},
    {.key = NULL},
};

static void init(efface_params *params) {
    efface_segmented_params_init((efface_segmented_params *)(void *)params);
}

static void get_params(const efface_model *model, efface_params *params) {
    *(efface_segmented_params *)(void *)params = efface_segmented_get_params(model);
}

static efface_status fit(const efface_data *data, const efface_params *params, efface_model **out,
                         efface_error *error) {
    return efface_segmented_fit(data, (const efface_segmented_params *)(const void *)params, out,
                                error);
}

/* ------------------------------------------------------------------ segments */

/* (run, rows, out) */
static PyObject *segments(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *rows, *array, *result = NULL;
    Py_buffer out;
    matrix m;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &rows, &array) ||
        !models_run(self, number, &run) || !matrix_open(&m, rows, offsets_of(self->data), false))
        return NULL;
    if (array_open(&out, array, "il", true)) {
        PyThreadState *const state = models_enter(self);
        if (state != NULL) {
            efface_status status = check_length(&out, m.n_rows, &error);
            if (m.n_columns != efface_data_n_columns(self->data))
                status = fail_argument(&error,
                                       "the rows and the model have different numbers of features");
            for (size_t first = 0, n; first < m.n_rows && status == EFFACE_OK; first += n) {
                n = m.n_rows - first < m.n_batch ? m.n_rows - first : m.n_batch;
                status = efface_segmented_segments(self->items[run], n, matrix_read(&m, first, n),
                                                   m.stride, (uint32_t *)out.buf + first, &error);
            }
            gate_leave(&self->gate, state);
            result = none_or_error(status, &error);
        }
        PyBuffer_Release(&out);
    }
    matrix_close(&m);
    return result;
}

/* Behind the gate: the segments of the rows of the set, some at a time. */
static efface_status label_rows(const models *self, size_t run, uint32_t *out,
                                efface_error *error) {
    enum { SOME = 1024 };
    const efface_data *const data = models_set(self, run);
    const size_t n_rows = efface_data_n_rows(data), d = efface_data_n_columns(data);
    float *const room = malloc(SOME * d * sizeof *room);
    efface_status status = room != NULL ? EFFACE_OK : EFFACE_E_MEMORY;
    for (size_t first = 0; first < n_rows && status == EFFACE_OK; first += SOME) {
        const size_t n = n_rows - first < SOME ? n_rows - first : SOME;
        for (size_t i = 0; i < n; i++)
            efface_data_values(data, first + i, room + i * d);
        status = efface_segmented_segments(self->items[run], n, room, d, out + first, error);
    }
    if (room != NULL)
        wipe(room, SOME * d * sizeof *room);
    free(room);
    return status;
}

/* (run, out): the segments of the rows of the set. */
static PyObject *labels(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *array, *result = NULL;
    Py_buffer out;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OO", &number, &array) || !models_run(self, number, &run) ||
        !array_open(&out, array, "il", true))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        efface_status status = check_length(&out, efface_data_n_rows(self->data), &error);
        if (status == EFFACE_OK)
            status = label_rows(self, run, out.buf, &error);
        gate_leave(&self->gate, state);
        result = none_or_error(status, &error);
    }
    PyBuffer_Release(&out);
    return result;
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef own_methods[] = {
    {"segments", segments, METH_VARARGS, "segments(run, rows, out)"},
    {"labels", labels, METH_VARARGS, "labels(run, out): of the rows of the set"},
    {NULL, NULL, 0, NULL},
};

const family segmented_family = {
    .number = EFFACE_FAMILY_SEGMENTED,
    .params_bytes = sizeof(efface_segmented_params),
    .init = init,
    .get_params = get_params,
    .fields = fields,
    .part = &kmeans_family,
    .part_offset = AT(kmeans),
    .fit = fit,
    .type_name = "SegmentedModels",
    .methods = own_methods,
};
