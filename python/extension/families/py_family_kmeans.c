/* The family k-means: its parameters, and what only its models are asked. */
#include "families/py_families.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ parameters */

static const char *const methods[] = {"lloyd", "quantized", "pyramid", "tree", NULL};
static const char *const scales[] = {"none", "minmax", NULL};
static const char *const empties[] = {"reseed", "keep", NULL};

_Static_assert(sizeof(efface_method) == sizeof(uint32_t) &&
                   sizeof(efface_scale) == sizeof(uint32_t) &&
                   sizeof(efface_empty) == sizeof(uint32_t),
               "an enum is written as a uint32_t");

#define AT(member) offsetof(efface_kmeans_params, member)

static const field fields[] = {
    {.key = "method", .kind = FIELD_NAME, .offset = AT(method), .names = methods},
    {.key = "n_clusters", .kind = FIELD_WHOLE, .offset = AT(n_clusters)},
    {.key = "iterations", .kind = FIELD_WHOLE, .offset = AT(iterations)},
    {.key = "scale", .kind = FIELD_NAME, .offset = AT(scale), .names = scales},
    {.key = "bound", .kind = FIELD_REAL, .offset = AT(bound)},
    {.key = "column_min", .kind = FIELD_COLUMNS, .offset = AT(column_min)},
    {.key = "column_max", .kind = FIELD_COLUMNS, .offset = AT(column_max)},
    {.key = "empty", .kind = FIELD_NAME, .offset = AT(empty), .names = empties},
    {.key = "candidates", .kind = FIELD_WHOLE, .offset = AT(candidates)},
    {.key = "epsilon", .kind = FIELD_REAL, .offset = AT(epsilon)},
    {.key = "gamma", .kind = FIELD_REAL, .offset = AT(gamma)},
    {.key = "rate", .kind = FIELD_REAL, .offset = AT(rate)},
    {.key = "passes", .kind = FIELD_WHOLE, .offset = AT(passes)},
    {.key = "starts", .kind = FIELD_WHOLE, .offset = AT(starts)},
    {.key = "height", .kind = FIELD_WHOLE, .offset = AT(height)},
    {.key = "width", .kind = FIELD_WHOLE, .offset = AT(width)},
    {.key = "leaf_method", .kind = FIELD_NAME, .offset = AT(leaf_method), .names = methods},
    {.key = "node_method", .kind = FIELD_NAME, .offset = AT(node_method), .names = methods},
    {.key = "depth_clusters",
     .kind = FIELD_WHOLES,
     .offset = AT(depth_clusters),
     .count_offset = AT(height),
     .count_key = "height"},
    {.key = "weigh_centroids", .kind = FIELD_FLAG, .offset = AT(weigh_centroids)},
    {.key = NULL},
};

static void init(efface_params *params) {
    efface_kmeans_params_init((efface_kmeans_params *)(void *)params);
}

static void get_params(const efface_model *model, efface_params *params) {
    *(efface_kmeans_params *)(void *)params = efface_kmeans_get_params(model);
}

static efface_status fit(const efface_data *data, const efface_params *params, efface_model **out,
                         efface_error *error) {
    return efface_kmeans_fit(data, (const efface_kmeans_params *)(const void *)params, out, error);
}

/* ------------------------------------------------------------------ what to warn of */

static efface_scale tails_scale(const efface_params *params) {
    return ((const efface_kmeans_params *)(const void *)params)->scale;
}

static bool copy_coarse(const efface_model *model, uint32_t **columns, size_t *n) {
    *n = efface_kmeans_get_info(model).n_coarse_columns;
    *columns = calloc(*n + 1, sizeof **columns);
    if (*columns != NULL)
        efface_kmeans_coarse_columns(model, *columns, *n);
    return *columns != NULL;
}

/* (rows, coarse columns, a tuple for Tails); releases the columns. */
static PyObject *findings_tuple(uint64_t n_rows, uint32_t *coarse, size_t n_coarse,
                                const efface_tails *tails) {
    PyObject *const found = Py_BuildValue("KNN", (unsigned long long)n_rows,
                                          column_list(coarse, n_coarse), tails_tuple(tails));
    free(coarse);
    return found;
}

static PyObject *findings_in_store(const efface_model *model, const efface_tails *tails) {
    uint32_t *coarse = NULL;
    size_t n = 0;
    return copy_coarse(model, &coarse, &n)
               ? findings_tuple(efface_kmeans_get_info(model).n_rows, coarse, n, tails)
               : PyErr_NoMemory();
}

/* (run) */
static PyObject *findings(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run, n = 0;
    uint32_t *coarse = NULL;
    efface_tails tails = {0};
    efface_error error = {0};
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_model *const model = self->items[run];
    const uint64_t n_rows = efface_kmeans_get_info(model).n_rows;
    const efface_scale scale = efface_kmeans_get_params(model).scale;
    efface_status status = copy_coarse(model, &coarse, &n) ? EFFACE_OK : EFFACE_E_MEMORY;
    if (status == EFFACE_OK)
        status = efface_data_tails(self->data, scale, &tails, &error);
    gate_leave(&self->gate, state);
    if (status == EFFACE_OK)
        return findings_tuple(n_rows, coarse, n, &tails);
    free(coarse);
    return raise_error(status, &error);
}

/* ------------------------------------------------------------------ clusters */

/* (run, out): the clusters of the rows of the set. */
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
        /* Numbers of clusters are below 2^24: they are the same signed or not. */
        if (status == EFFACE_OK)
            status = efface_kmeans_labels(self->items[run], self->data, out.buf, &error);
        gate_leave(&self->gate, state);
        result = none_or_error(status, &error);
    }
    PyBuffer_Release(&out);
    return result;
}

/* Behind the gate. Rows that have to be converted go in batches. */
static efface_status write_squares(const efface_model *model, const matrix *m, const Py_buffer *out,
                                   efface_error *error) {
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    const size_t k = info.n_clusters;
    if (m->n_columns != info.n_columns)
        return fail_argument(error, "the rows and the model have different numbers of features");
    efface_status status = check_length(out, m->n_rows * k, error);
    for (size_t first = 0, n; first < m->n_rows && status == EFFACE_OK; first += n) {
        n = m->n_rows - first < m->n_batch ? m->n_rows - first : m->n_batch;
        status = efface_kmeans_square_distances(model, n, matrix_read(m, first, n), m->stride,
                                                (double *)out->buf + first * k, error);
    }
    return status;
}

/* (run, rows, out) */
static PyObject *square_distances(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *rows, *array, *result = NULL;
    Py_buffer out;
    matrix m;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &rows, &array) ||
        !models_run(self, number, &run) || !matrix_open(&m, rows, offsets_of(self->data), false))
        return NULL;
    if (array_open(&out, array, "d", true)) {
        PyThreadState *const state = models_enter(self);
        if (state != NULL) {
            const efface_status status = write_squares(self->items[run], &m, &out, &error);
            gate_leave(&self->gate, state);
            result = none_or_error(status, &error);
        }
        PyBuffer_Release(&out);
    }
    matrix_close(&m);
    return result;
}

/* (run): of the rows of the set. */
static PyObject *loss(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    double value;
    efface_error error = {0};
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_kmeans_loss(self->items[run], self->data, &value, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? PyFloat_FromDouble(value) : raise_error(status, &error);
}

/* (run, rows, weights): of rows that are not in the set; a set is made of them for the time. */
static PyObject *loss_of(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *rows, *weights;
    row_arrays arrays;
    size_t run;
    efface_data *data = NULL;
    double value = 0.0;
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &rows, &weights) ||
        !models_run(self, number, &run))
        return NULL;
    const row_objects objects = {.values = rows,
                                 .ids = Py_None,
                                 .weights = weights,
                                 .owners = Py_None,
                                 .labels = Py_None,
                                 .arrivals = Py_None,
                                 .offsets = offsets_of(self->data)};
    if (!row_arrays_open(&arrays, &objects, NULL, NULL))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        status = row_arrays_make_set(&arrays, &data, &error);
        if (status == EFFACE_OK)
            status = efface_kmeans_loss(self->items[run], data, &value, &error);
        efface_data_free(data);
        gate_leave(&self->gate, state);
    }
    row_arrays_close(&arrays);
    if (state == NULL)
        return NULL;
    return status == EFFACE_OK ? PyFloat_FromDouble(value) : raise_error(status, &error);
}

/* (run, labels or None, rows at most) */
static PyObject *silhouette(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *labels;
    Py_ssize_t max_rows;
    Py_buffer view = {0};
    size_t run;
    double value = 0.0;
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    if (!PyArg_ParseTuple(arguments, "OOn", &number, &labels, &max_rows) ||
        !models_run(self, number, &run) ||
        (labels != Py_None && !array_open(&view, labels, "il", false)))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        if (view.obj != NULL && array_length(&view) != efface_data_n_rows(self->data))
            status = fail_argument(&error, "there must be a label for each row of the model");
        if (status == EFFACE_OK)
            status = efface_kmeans_silhouette(self->items[run], self->data, view.buf,
                                              (size_t)max_rows, &value, &error);
        gate_leave(&self->gate, state);
    }
    if (view.obj != NULL)
        PyBuffer_Release(&view);
    if (state == NULL)
        return NULL;
    return status == EFFACE_OK ? PyFloat_FromDouble(value) : raise_error(status, &error);
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef own_methods[] = {
    {"findings", findings, METH_O, "findings(run): rows, coarse columns, a tuple for Tails"},
    {"labels", labels, METH_VARARGS, "labels(run, out): of the rows of the set"},
    {"square_distances", square_distances, METH_VARARGS, "square_distances(run, rows, out)"},
    {"loss", loss, METH_O, "loss(run): of the rows of the set"},
    {"loss_of", loss_of, METH_VARARGS, "loss_of(run, rows, weights)"},
    {"silhouette", silhouette, METH_VARARGS, "silhouette(run, labels, max_rows)"},
    {NULL, NULL, 0, NULL},
};

const family kmeans_family = {
    .number = EFFACE_FAMILY_KMEANS,
    .params_bytes = sizeof(efface_kmeans_params),
    .init = init,
    .get_params = get_params,
    .fields = fields,
    .fit = fit,
    .type_name = "KMeansModels",
    .methods = own_methods,
    .findings = findings_in_store,
    .tails_scale = tails_scale,
};
