/*
 * Asking models: methods that change nothing.
 *
 * Arrays for results are made by the Python layer, which asks for their size first. Another thread
 * may change the model between the two calls; so sizes are compared behind the gate.
 */
#include "py_models.h"

#include <stdlib.h>
#include <string.h>

static bool read_run(const models *self, PyObject *object, size_t *run) {
    *run = PyLong_AsSize_t(object);
    if (PyErr_Occurred() == NULL && *run >= self->n_items)
        PyErr_Format(PyExc_IndexError, "there is no model number %zu", *run);
    return PyErr_Occurred() == NULL;
}

static efface_status fail(efface_error *error, const char *message) {
    error->status = EFFACE_E_ARGUMENT;
    PyOS_snprintf(error->message, sizeof error->message, "%s", message);
    return EFFACE_E_ARGUMENT;
}

static efface_status check_length(const Py_buffer *view, size_t n, efface_error *error) {
    return array_length(view) == n
               ? EFFACE_OK
               : fail(error, "another thread changed the model during this call; call it again");
}

/* Ends a method whose results are in arrays. */
static PyObject *none_or_error(efface_status status, const efface_error *error) {
    return status == EFFACE_OK ? Py_NewRef(Py_None) : raise_error(status, error);
}

PyObject *models_seeds(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    (void)none;
    if (self->seeds == NULL)
        return Py_NewRef(Py_None);
    uint64_t *const seeds = calloc(self->n_items + 1, sizeof *seeds);
    if (seeds == NULL)
        return PyErr_NoMemory();
    PyThreadState *const state = models_enter(self);
    if (state == NULL) {
        free(seeds);
        return NULL;
    }
    memcpy(seeds, self->seeds, self->n_items * sizeof *seeds);
    gate_leave(&self->gate, state);
    PyObject *tuple = PyTuple_New((Py_ssize_t)self->n_items);
    for (size_t i = 0; i < self->n_items && tuple != NULL; i++) {
        PyObject *const seed = PyLong_FromUnsignedLongLong(seeds[i]);
        if (seed != NULL)
            PyTuple_SetItem(tuple, (Py_ssize_t)i, seed);
        else
            Py_CLEAR(tuple);
    }
    wipe(seeds, self->n_items * sizeof *seeds);
    free(seeds);
    return tuple;
}

PyObject *models_shape(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    (void)none;
    PyThreadState *const state = models_enter(self);
    if (state == NULL)
        return NULL;
    const size_t n_rows = efface_data_n_rows(self->data);
    const uint32_t n_columns = efface_data_n_columns(self->data);
    const int64_t weight = efface_data_total_weight(self->data);
    gate_leave(&self->gate, state);
    return Py_BuildValue("nInL", (Py_ssize_t)n_rows, (unsigned)n_columns, (Py_ssize_t)self->n_items,
                         (long long)weight);
}

/* Names never change: they need no gate. */
PyObject *models_column_names(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    (void)none;
    const uint32_t n_columns = efface_data_n_columns(self->data);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n_columns);
    for (uint32_t j = 0; j < n_columns && tuple != NULL; j++) {
        PyObject *const name = name_or_none(efface_data_column_name(self->data, j));
        if (name != NULL)
            PyTuple_SetItem(tuple, (Py_ssize_t)j, name);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Nor do offsets. */
PyObject *models_offsets(PyObject *object, PyObject *none) {
    (void)none;
    return offsets_or_none(offsets_of(((models *)object)->data));
}

/* In the scale of the first model; all have the same parameters. */
PyObject *models_tails(PyObject *object, PyObject *none) {
    models *const self = (models *)object;
    efface_tails tails;
    efface_error error = {0};
    (void)none;
    PyThreadState *const state = models_enter(self);
    if (state == NULL)
        return NULL;
    const efface_scale scale = efface_kmeans_get_params(self->items[0]).scale;
    const efface_status status = efface_data_tails(self->data, scale, &tails, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? tails_tuple(&tails) : raise_error(status, &error);
}

PyObject *models_text_id(PyObject *object, PyObject *text) {
    const models *const self = (const models *)object;
    Py_ssize_t n_bytes;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    if (bytes == NULL)
        return NULL;
    return PyLong_FromUnsignedLongLong(efface_text_id(bytes, (size_t)n_bytes, self->key));
}

PyObject *models_rows(PyObject *object, PyObject *arguments) {
    enum { VALUES, IDS, WEIGHTS, OWNERS, ARRIVALS, N_ARRAYS };
    static const char *const formats[N_ARRAYS] = {"f", "QL", "ql", "QL", "ql"};
    models *const self = (models *)object;
    PyObject *out[N_ARRAYS], *result = NULL;
    Py_buffer views[N_ARRAYS];
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &out[VALUES], &out[IDS], &out[WEIGHTS], &out[OWNERS],
                          &out[ARRIVALS]))
        return NULL;
    memset(views, 0, sizeof views);
    for (size_t a = 0; a < N_ARRAYS; a++)
        if (out[a] != Py_None && !array_open(&views[a], out[a], formats[a], true))
            goto out;
    PyThreadState *const state = models_enter(self);
    if (state == NULL)
        goto out;
    const size_t n_rows = efface_data_n_rows(self->data);
    const uint32_t d = efface_data_n_columns(self->data);
    for (size_t a = 0; a < N_ARRAYS && status == EFFACE_OK; a++)
        if (views[a].buf != NULL)
            status = check_length(&views[a], a == VALUES ? n_rows * d : n_rows, &error);
    for (size_t i = 0; status == EFFACE_OK && i < n_rows; i++) {
        const efface_row row = efface_data_row(self->data, i);
        if (views[VALUES].buf != NULL)
            efface_data_values(self->data, i, (float *)views[VALUES].buf + i * d);
        if (views[IDS].buf != NULL)
            ((uint64_t *)views[IDS].buf)[i] = row.id;
        if (views[WEIGHTS].buf != NULL)
            ((int64_t *)views[WEIGHTS].buf)[i] = row.weight;
        if (views[OWNERS].buf != NULL)
            ((uint64_t *)views[OWNERS].buf)[i] = row.owner;
        if (views[ARRIVALS].buf != NULL)
            ((int64_t *)views[ARRIVALS].buf)[i] = row.label;
    }
    gate_leave(&self->gate, state);
    result = none_or_error(status, &error);
out:
    for (size_t a = 0; a < N_ARRAYS; a++)
        if (views[a].obj != NULL)
            PyBuffer_Release(&views[a]);
    return result;
}

PyObject *models_info(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    PyThreadState *state;
    if (!read_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_kmeans_info info = efface_kmeans_get_info(self->items[run]);
    gate_leave(&self->gate, state);
    return info_tuple(&info);
}

PyObject *models_coarse_columns(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run, n = 0;
    uint32_t *columns = NULL;
    PyThreadState *state;
    if (!read_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const bool fits = copy_coarse(self->items[run], &columns, &n);
    gate_leave(&self->gate, state);
    return fits ? column_list(columns, n) : PyErr_NoMemory();
}

/* centroids and labels: (run, out). */
static PyObject *write_array(models *self, PyObject *arguments, const char *formats,
                             efface_status (*write)(const models *self, size_t run,
                                                    const Py_buffer *out, efface_error *error)) {
    PyObject *number, *array, *result = NULL;
    Py_buffer out;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OO", &number, &array) || !read_run(self, number, &run) ||
        !array_open(&out, array, formats, true))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        const efface_status status = write(self, run, &out, &error);
        gate_leave(&self->gate, state);
        result = none_or_error(status, &error);
    }
    PyBuffer_Release(&out);
    return result;
}

static efface_status write_centroids(const models *self, size_t run, const Py_buffer *out,
                                     efface_error *error) {
    const uint32_t d = efface_data_n_columns(self->data);
    const uint32_t k = efface_kmeans_get_info(self->items[run]).n_clusters;
    efface_status status = check_length(out, (size_t)k * d, error);
    for (uint32_t c = 0; c < k && status == EFFACE_OK; c++) {
        double *const centroid = (double *)out->buf + (size_t)c * d;
        status = efface_kmeans_centroid(self->items[run], c, centroid, error);
        if (status == EFFACE_OK)
            efface_data_add_offsets(self->data, centroid);
    }
    return status;
}

static efface_status write_labels(const models *self, size_t run, const Py_buffer *out,
                                  efface_error *error) {
    const efface_status status = check_length(out, efface_data_n_rows(self->data), error);
    /* Numbers of clusters are below 2^24: they are the same signed or not. */
    return status != EFFACE_OK
               ? status
               : efface_kmeans_labels(self->items[run], self->data, (uint32_t *)out->buf, error);
}

PyObject *models_centroids(PyObject *self, PyObject *arguments) {
    return write_array((models *)self, arguments, "d", write_centroids);
}

PyObject *models_labels(PyObject *self, PyObject *arguments) {
    return write_array((models *)self, arguments, "il", write_labels);
}

/* predict and square_distances: (run, rows, out). Rows that have to be converted go in batches. */
static PyObject *ask_rows(models *self, PyObject *arguments, bool want_labels) {
    PyObject *number, *rows, *array, *result = NULL;
    Py_buffer out;
    matrix m;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &rows, &array) ||
        !read_run(self, number, &run) || !matrix_open(&m, rows, offsets_of(self->data), false))
        return NULL;
    if (!array_open(&out, array, want_labels ? "il" : "d", true)) {
        matrix_close(&m);
        return NULL;
    }
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        const efface_model *const model = self->items[run];
        const size_t k = want_labels ? 1 : efface_kmeans_get_info(model).n_clusters;
        efface_status status =
            m.n_columns == efface_data_n_columns(self->data)
                ? check_length(&out, m.n_rows * k, &error)
                : fail(&error, "the rows and the model have different numbers of features");
        for (size_t first = 0, n; first < m.n_rows && status == EFFACE_OK; first += n) {
            n = m.n_rows - first < m.n_batch ? m.n_rows - first : m.n_batch;
            const float *const values = matrix_read(&m, first, n);
            status = want_labels
                         ? efface_kmeans_predict(model, n, values, m.stride,
                                                 (uint32_t *)out.buf + first, &error)
                         : efface_kmeans_square_distances(model, n, values, m.stride,
                                                          (double *)out.buf + first * k, &error);
        }
        gate_leave(&self->gate, state);
        result = none_or_error(status, &error);
    }
    PyBuffer_Release(&out);
    matrix_close(&m);
    return result;
}

PyObject *models_predict(PyObject *self, PyObject *arguments) {
    return ask_rows((models *)self, arguments, true);
}

PyObject *models_square_distances(PyObject *self, PyObject *arguments) {
    return ask_rows((models *)self, arguments, false);
}

PyObject *models_loss(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    double loss;
    efface_error error = {0};
    PyThreadState *state;
    if (!read_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_kmeans_loss(self->items[run], self->data, &loss, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? PyFloat_FromDouble(loss) : raise_error(status, &error);
}

/* Of rows that are not in the set: a set is made of them for the time. */
PyObject *models_loss_of(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *rows, *weights;
    row_arrays arrays;
    size_t run;
    efface_data *data = NULL;
    double loss = 0.0;
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &rows, &weights) ||
        !read_run(self, number, &run))
        return NULL;
    const row_objects objects = {.values = rows,
                                 .ids = Py_None,
                                 .weights = weights,
                                 .owners = Py_None,
                                 .arrivals = Py_None,
                                 .offsets = offsets_of(self->data)};
    if (!row_arrays_open(&arrays, &objects, NULL, NULL))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        status = row_arrays_make_set(&arrays, &data, &error);
        if (status == EFFACE_OK)
            status = efface_kmeans_loss(self->items[run], data, &loss, &error);
        efface_data_free(data);
        gate_leave(&self->gate, state);
    }
    row_arrays_close(&arrays);
    if (state == NULL)
        return NULL;
    return status == EFFACE_OK ? PyFloat_FromDouble(loss) : raise_error(status, &error);
}

PyObject *models_silhouette(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *labels;
    Py_ssize_t max_rows;
    Py_buffer view = {0};
    size_t run;
    double silhouette = 0.0;
    efface_error error = {0};
    efface_status status = EFFACE_OK;
    if (!PyArg_ParseTuple(arguments, "OOn", &number, &labels, &max_rows) ||
        !read_run(self, number, &run) ||
        (labels != Py_None && !array_open(&view, labels, "il", false)))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        if (view.obj != NULL && array_length(&view) != efface_data_n_rows(self->data))
            status = fail(&error, "there must be a label for each row of the model");
        if (status == EFFACE_OK)
            status = efface_kmeans_silhouette(self->items[run], self->data, view.buf,
                                              (size_t)max_rows, &silhouette, &error);
        gate_leave(&self->gate, state);
    }
    if (view.obj != NULL)
        PyBuffer_Release(&view);
    if (state == NULL)
        return NULL;
    return status == EFFACE_OK ? PyFloat_FromDouble(silhouette) : raise_error(status, &error);
}

PyObject *models_encode(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run, n_bytes = 0;
    unsigned char *bytes = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!read_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_model_encode(self->items[run], &bytes, &n_bytes, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const result = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)n_bytes);
    efface_bytes_free(bytes);
    return result;
}

PyObject *models_digest(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    efface_error error = {0};
    PyThreadState *state;
    if (!read_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_model_digest(self->items[run], digest, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? PyBytes_FromStringAndSize((const char *)digest, sizeof digest)
                               : raise_error(status, &error);
}

PyObject *models_verify(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    efface_difference difference;
    efface_error error = {0};
    PyThreadState *state;
    if (!read_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status =
        efface_model_verify(self->items[run], self->data, &difference, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? difference_tuple(&difference) : raise_error(status, &error);
}
