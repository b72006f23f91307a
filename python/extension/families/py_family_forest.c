/* The family forest: its parameters, and what only its models are asked. */
#include "families/py_families.h"

/* ------------------------------------------------------------------ parameters */

static const char *const rows_of_trees[] = {"all", "some", "poisson", NULL};
static const char *const criteria[] = {"gini", "entropy", NULL};

_Static_assert(sizeof(efface_forest_rows) == sizeof(uint32_t) &&
                   sizeof(efface_criterion) == sizeof(uint32_t),
               "an enum is written as a uint32_t");

#define AT(member) offsetof(efface_forest_params, member)

static const field fields[] = {
    {.key = "target", .kind = FIELD_WHOLE, .offset = AT(target)},
    {.key = "bound", .kind = FIELD_REAL, .offset = AT(bound)},
    {.key = "n_trees", .kind = FIELD_WHOLE, .offset = AT(n_trees)},
    {.key = "n_candidates", .kind = FIELD_WHOLE, .offset = AT(n_candidates)},
    {.key = "max_depth", .kind = FIELD_WHOLE, .offset = AT(max_depth)},
    {.key = "min_split", .kind = FIELD_WHOLE, .offset = AT(min_split)},
    {.key = "min_leaf", .kind = FIELD_WHOLE, .offset = AT(min_leaf)},
    {.key = "rows", .kind = FIELD_NAME, .offset = AT(rows), .names = rows_of_trees},
    {.key = "trees_of_row", .kind = FIELD_WHOLE, .offset = AT(trees_of_row)},
    {.key = "criterion", .kind = FIELD_NAME, .offset = AT(criterion), .names = criteria},
    {.key = "lazy", .kind = FIELD_FLAG, .offset = AT(lazy)},
    {.key = "missing", .kind = FIELD_FLAG, .offset = AT(missing)},
    {.key = "n_categories", .kind = FIELD_WHOLE, .offset = AT(n_categories)},
    {.key = "categories",
     .kind = FIELD_WHOLES,
     .offset = AT(categories),
     .count_offset = AT(n_categories),
     .count_key = "n_categories"},
    {.key = NULL},
};

static void init(efface_params *params) {
    efface_forest_params_init((efface_forest_params *)(void *)params);
}

static void get_params(const efface_model *model, efface_params *params) {
    *(efface_forest_params *)(void *)params = efface_forest_get_params(model);
}

static efface_status fit(const efface_data *data, const efface_params *params, efface_model **out,
                         efface_error *error) {
    return efface_forest_fit(data, (const efface_forest_params *)(const void *)params, out, error);
}

static bool takes_missing(const efface_params *params) {
    return ((const efface_forest_params *)(const void *)params)->missing != 0;
}

/* ------------------------------------------------------------------ leaves and sizes */

/* (run, rows, out) */
static PyObject *leaves(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *rows, *array, *result = NULL;
    Py_buffer out;
    matrix m;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOO", &number, &rows, &array) ||
        !models_run(self, number, &run) || !matrix_open(&m, rows, offsets_of(self->data), false))
        return NULL;
    if (array_open(&out, array, "I", true)) {
        PyThreadState *const state = models_enter(self);
        if (state != NULL) {
            const efface_model *const model = self->items[run];
            const size_t n_trees = efface_forest_get_info(model).n_trees;
            efface_status status = check_length(&out, m.n_rows * n_trees, &error);
            if (m.n_columns != efface_data_n_columns(self->data))
                status = fail_argument(&error,
                                       "the rows and the model have different numbers of features");
            for (size_t first = 0, n; first < m.n_rows && status == EFFACE_OK; first += n) {
                n = m.n_rows - first < m.n_batch ? m.n_rows - first : m.n_batch;
                status = efface_forest_leaves(model, n, matrix_read(&m, first, n), m.stride,
                                              (uint32_t *)out.buf + first * n_trees, &error);
            }
            gate_leave(&self->gate, state);
            result = none_or_error(status, &error);
        }
        PyBuffer_Release(&out);
    }
    matrix_close(&m);
    return result;
}

/* (run): the items of ForestSize. */
static PyObject *size(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_forest_info info = efface_forest_get_info(self->items[run]);
    gate_leave(&self->gate, state);
    typedef unsigned long long wide;
    return Py_BuildValue("IKKIKK", (unsigned)info.n_trees, (wide)info.n_nodes, (wide)info.n_leaves,
                         (unsigned)info.depth, (wide)info.n_unsettled, (wide)info.n_rows);
}

/* (run) */
static PyObject *settle(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    efface_error error = {0};
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_forest_settle(self->items[run], &error);
    gate_leave(&self->gate, state);
    return none_or_error(status, &error);
}

/* ------------------------------------------------------------------ a file for prediction */

/* A set without rows that has the columns of another under these names, a tuple of str or None.
 * NULL with an exception set. */
static efface_data *renamed(const efface_data *data, PyObject *names) {
    const uint32_t d = efface_data_n_columns(data);
    efface_data *set = NULL;
    efface_error error = {0};
    if (!PyTuple_Check(names) || PyTuple_Size(names) != (Py_ssize_t)d) {
        PyErr_SetString(PyExc_ValueError, "there must be a name for each column, or None");
        return NULL;
    }
    efface_status status = efface_data_create(d, &set, &error);
    if (status == EFFACE_OK)
        status = efface_data_set_offsets(set, efface_data_offsets(data), &error);
    for (uint32_t j = 0; j < d && status == EFFACE_OK && PyErr_Occurred() == NULL; j++) {
        PyObject *const item = PyTuple_GetItem(names, (Py_ssize_t)j);
        const char *const name = item != Py_None ? PyUnicode_AsUTF8AndSize(item, NULL)
                                                 : efface_data_column_name(data, j);
        if (name != NULL)
            status = efface_data_name_column(set, j, name, &error);
    }
    if (status != EFFACE_OK)
        raise_error(status, &error);
    if (PyErr_Occurred() != NULL) {
        efface_data_free(set);
        return NULL;
    }
    return set;
}

/* (run, path, names of columns, texts of classes or None) */
static PyObject *export(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *path, *names, *dictionary, *result = NULL;
    size_t run;
    efface_texts *texts = NULL;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OO&OO", &number, PyUnicode_FSConverter, &path, &names,
                          &dictionary))
        return NULL;
    efface_data *columns = NULL;
    if (models_run(self, number, &run) && label_texts_add(&texts, dictionary) &&
        (columns = renamed(self->data, names)) != NULL) {
        const char *const name = PyBytes_AsString(path);
        PyThreadState *const state = models_enter(self);
        if (state != NULL) {
            const efface_status status =
                efface_forest_export(self->items[run], columns, texts, name, &error);
            gate_leave(&self->gate, state);
            result = none_or_error(status, &error);
        }
    }
    efface_data_free(columns);
    efface_texts_free(texts);
    Py_DECREF(path);
    return result;
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef own_methods[] = {
    {"leaves", leaves, METH_VARARGS, "leaves(run, rows, out): a number for each tree"},
    {"size", size, METH_O,
     "size(run): trees, nodes, leaves, depth, nodes that are not grown yet, rows that take part"},
    {"settle", settle, METH_O, "settle(run): grows what was left for later"},
    {"export", export, METH_VARARGS,
     "export(run, path, names, texts): a file for prediction; texts is a dictionary or None"},
    {NULL, NULL, 0, NULL},
};

const family forest_family = {
    .number = EFFACE_FAMILY_FOREST,
    .params_bytes = sizeof(efface_forest_params),
    .init = init,
    .get_params = get_params,
    .fields = fields,
    .fit = fit,
    .takes_missing = takes_missing,
    .type_name = "ForestModels",
    .methods = own_methods,
};
