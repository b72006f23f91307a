/* The family k-means: its parameters, and what only its models are asked. */
#include "families/py_families.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ parameters */

static const char *const methods[] = {"lloyd", "quantized", "pyramid", "tree", NULL};
static const char *const scales[] = {"none", "minmax", "standard", NULL};
static const char *const empties[] = {"reseed", "keep", NULL};

_Static_assert(sizeof(efface_method) == sizeof(uint32_t) &&
                   sizeof(efface_scale) == sizeof(uint32_t) &&
                   sizeof(efface_empty) == sizeof(uint32_t),
               "an enum is written as a uint32_t");

#define AT(member) offsetof(efface_kmeans_params, member)

static const field kmeans_fields[] = {
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
    {.key = "gamma", .kind = FIELD_REAL, .offset = AT(quantized.gamma)},
    {.key = "rate", .kind = FIELD_REAL, .offset = AT(pyramid.rate)},
    {.key = "passes", .kind = FIELD_WHOLE, .offset = AT(pyramid.passes)},
    {.key = "starts", .kind = FIELD_WHOLE, .offset = AT(pyramid.starts)},
    {.key = "height", .kind = FIELD_WHOLE, .offset = AT(tree.height)},
    {.key = "width", .kind = FIELD_WHOLE, .offset = AT(tree.width)},
    {.key = "leaf_method", .kind = FIELD_NAME, .offset = AT(tree.leaf_method), .names = methods},
    {.key = "node_method", .kind = FIELD_NAME, .offset = AT(tree.node_method), .names = methods},
    {"depth_clusters", FIELD_WHOLES, AT(tree.depth_clusters), .count_offset = AT(tree.height),
     .count_key = "height"},
    {.key = "weigh_centroids", .kind = FIELD_FLAG, .offset = AT(tree.weigh_centroids)},
    {.key = NULL},
};

FAMILY_FUNCTIONS(kmeans)

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

static PyObject *kmeans_findings_in_store(const efface_model *model, const efface_tails *tails) {
    uint32_t *coarse = NULL;
    size_t n = 0;
    return copy_coarse(model, &coarse, &n)
               ? findings_tuple(efface_kmeans_get_info(model).n_rows, coarse, n, tails)
               : PyErr_NoMemory();
}

/* (run) */
static PyObject *kmeans_findings(PyObject *self, PyObject *run) {
    size_t n = 0;
    uint32_t *coarse = NULL;
    efface_tails tails = {0};
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const uint64_t n_rows = efface_kmeans_get_info(q.model).n_rows;
    const efface_scale scale = efface_kmeans_get_params(q.model).scale;
    efface_status status = copy_coarse(q.model, &coarse, &n) ? EFFACE_OK : EFFACE_E_MEMORY;
    if (status == EFFACE_OK)
        status = efface_data_tails(q.data, scale, &tails, &q.error);
    question_end(&q);
    if (status == EFFACE_OK)
        return findings_tuple(n_rows, coarse, n, &tails);
    free(coarse);
    return raise_error(status, &q.error);
}

/* ------------------------------------------------------------------ clusters */

/* Numbers of clusters are below 2^24: they are the same signed or not. */
static efface_status fill_clusters(question *q, const void *none, const Py_buffer *out) {
    (void)none;
    const efface_status status = check_length(out, efface_data_n_rows(q->data), &q->error);
    return status == EFFACE_OK ? efface_kmeans_labels(q->model, q->data, out->buf, &q->error)
                               : status;
}

/* (run, out): the clusters of the rows of the set. */
static PyObject *kmeans_labels(PyObject *self, PyObject *arguments) {
    PyObject *run, *array;
    return PyArg_ParseTuple(arguments, "OO", &run, &array)
               ? fill_array(self, run, array, "il", fill_clusters, NULL)
               : NULL;
}

/* Rows that have to be converted go in batches. */
static efface_status fill_squares(question *q, const void *rows, const Py_buffer *out) {
    const matrix *const m = rows;
    const size_t k = efface_kmeans_get_info(q->model).n_clusters;
    efface_status status = check_rows(q, m, out, k);
    for (size_t first = 0, n; first < m->n_rows && status == EFFACE_OK; first += n) {
        n = m->n_rows - first < m->n_batch ? m->n_rows - first : m->n_batch;
        status = efface_predictor_square_distances(efface_model_predictor(q->model), n,
                                                   matrix_read(m, first, n), m->stride,
                                                   (double *)out->buf + first * k, &q->error);
    }
    return status;
}

/* (run, rows, out) */
static PyObject *square_distances(PyObject *self, PyObject *arguments) {
    return ask_of_rows(self, arguments, "d", fill_squares);
}

static PyObject *real_or_error(efface_status status, double value, const efface_error *error) {
    return status == EFFACE_OK ? PyFloat_FromDouble(value) : raise_error(status, error);
}

/* (run): of the rows of the set. */
static PyObject *loss(PyObject *self, PyObject *run) {
    double value = 0.0;
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const efface_status status = efface_kmeans_loss(q.model, q.data, &value, &q.error);
    question_end(&q);
    return real_or_error(status, value, &q.error);
}

/* (run, rows, weights): of rows that are not in the set; a set is made of them for the time. */
static PyObject *loss_of(PyObject *self, PyObject *arguments) {
    PyObject *run, *result = NULL;
    row_objects objects = {.offsets = offsets_of(((models *)self)->data)};
    row_arrays arrays;
    efface_data *data = NULL;
    double value = 0.0;
    question q;
    if (!PyArg_ParseTuple(arguments, "OOO", &run, &objects.values, &objects.weights) ||
        !row_arrays_open(&arrays, &objects, NULL, NULL))
        return NULL;
    if (question_begin(&q, self, run)) {
        efface_status status = row_arrays_make_set(&arrays, &data, &q.error);
        if (status == EFFACE_OK)
            status = efface_kmeans_loss(q.model, data, &value, &q.error);
        efface_data_free(data);
        question_end(&q);
        result = real_or_error(status, value, &q.error);
    }
    row_arrays_close(&arrays);
    return result;
}

/* (run, labels or None, rows at most) */
static PyObject *silhouette(PyObject *self, PyObject *arguments) {
    PyObject *run, *labels, *result = NULL;
    Py_ssize_t max_rows;
    Py_buffer view = {0};
    double value = 0.0;
    question q;
    if (!PyArg_ParseTuple(arguments, "OOn", &run, &labels, &max_rows) ||
        (labels != Py_None && !array_open(&view, labels, "il", false)))
        return NULL;
    if (question_begin(&q, self, run)) {
        efface_status status = EFFACE_OK;
        if (view.obj != NULL && array_length(&view) != efface_data_n_rows(q.data))
            status = fail_argument(&q.error, "there must be a label for each row of the model");
        if (status == EFFACE_OK)
            status = efface_kmeans_silhouette(q.model, q.data, view.buf, (size_t)max_rows, &value,
                                              &q.error);
        question_end(&q);
        result = real_or_error(status, value, &q.error);
    }
    if (view.obj != NULL)
        PyBuffer_Release(&view);
    return result;
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef kmeans_methods[] = {
    {"findings", kmeans_findings, METH_O, "findings(run): rows, coarse columns, a tuple for Tails"},
    {"labels", kmeans_labels, METH_VARARGS, "labels(run, out): of the rows of the set"},
    {"square_distances", square_distances, METH_VARARGS, "square_distances(run, rows, out)"},
    {"loss", loss, METH_O, "loss(run): of the rows of the set"},
    {"loss_of", loss_of, METH_VARARGS, "loss_of(run, rows, weights)"},
    {"silhouette", silhouette, METH_VARARGS, "silhouette(run, labels, max_rows)"},
    {NULL, NULL, 0, NULL},
};

const family kmeans_family = {
    .number = EFFACE_FAMILY_KMEANS,
    .params_bytes = sizeof(efface_kmeans_params),
    .init = kmeans_init,
    .get_params = kmeans_get_params,
    .fields = kmeans_fields,
    .fit = kmeans_fit,
    .type_name = "KMeansModels",
    .methods = kmeans_methods,
    .findings = kmeans_findings_in_store,
    .tails_scale = tails_scale,
};
