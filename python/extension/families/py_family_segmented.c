/* The family segmented: its parameters, and what only its models are asked. */
#include "families/py_families.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ parameters */

#define AT(member) offsetof(efface_segmented_params, member)

static const field segmented_fields[] = {
    {.key = "n_targets", .kind = FIELD_WHOLE, .offset = AT(n_targets)},
    {"targets", FIELD_WHOLES, AT(targets), .count_offset = AT(n_targets), .count_key = "n_targets"},
    {.key = "sums_bound", .kind = FIELD_REAL, .offset = AT(bound)},
    {.key = "weight_unit", .kind = FIELD_WHOLE, .offset = AT(weight_unit)},
    {.key = "alpha", .kind = FIELD_REAL, .offset = AT(linear.alpha)},
    {.key = "intercept", .kind = FIELD_FLAG, .offset = AT(linear.intercept)},
    {.key = NULL},
};

FAMILY_FUNCTIONS(segmented)

/* ------------------------------------------------------------------ segments */

static efface_status fill_segments(question *q, const void *rows, const Py_buffer *out) {
    const matrix *const m = rows;
    efface_status status = check_rows(q, m, out, 1);
    for (size_t first = 0, n; first < m->n_rows && status == EFFACE_OK; first += n) {
        n = m->n_rows - first < m->n_batch ? m->n_rows - first : m->n_batch;
        status = efface_segmented_segments(q->model, n, matrix_read(m, first, n), m->stride,
                                           (uint32_t *)out->buf + first, &q->error);
    }
    return status;
}

/* (run, rows, out) */
static PyObject *segments(PyObject *self, PyObject *arguments) {
    return ask_of_rows(self, arguments, "il", fill_segments);
}

/* The segments of the rows of the set, some at a time. */
static efface_status fill_own_segments(question *q, const void *none, const Py_buffer *out) {
    enum { SOME = 1024 };
    const size_t n_rows = efface_data_n_rows(q->data), d = efface_data_n_columns(q->data);
    efface_status status = check_length(out, n_rows, &q->error);
    float *const room = malloc(SOME * d * sizeof *room);
    (void)none;
    if (status == EFFACE_OK && room == NULL)
        status = EFFACE_E_MEMORY;
    for (size_t first = 0; first < n_rows && status == EFFACE_OK; first += SOME) {
        const size_t n = n_rows - first < SOME ? n_rows - first : SOME;
        for (size_t i = 0; i < n; i++)
            efface_data_values(q->data, first + i, room + i * d);
        status = efface_segmented_segments(q->model, n, room, d, (uint32_t *)out->buf + first,
                                           &q->error);
    }
    if (room != NULL)
        wipe(room, SOME * d * sizeof *room);
    free(room);
    return status;
}

/* (run, out): the segments of the rows of the set. */
static PyObject *segmented_labels(PyObject *self, PyObject *arguments) {
    PyObject *run, *array;
    return PyArg_ParseTuple(arguments, "OO", &run, &array)
               ? fill_array(self, run, array, "il", fill_own_segments, NULL)
               : NULL;
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef segmented_methods[] = {
    {"segments", segments, METH_VARARGS, "segments(run, rows, out)"},
    {"labels", segmented_labels, METH_VARARGS, "labels(run, out): of the rows of the set"},
    {NULL, NULL, 0, NULL},
};

const family segmented_family = {
    .number = EFFACE_FAMILY_SEGMENTED,
    .params_bytes = sizeof(efface_segmented_params),
    .init = segmented_init,
    .get_params = segmented_get_params,
    .fields = segmented_fields,
    .part = &kmeans_family,
    .part_offset = AT(kmeans),
    .fit = segmented_fit,
    .type_name = "SegmentedModels",
    .methods = segmented_methods,
};
