/* The family forest: its parameters, and what only its models are asked. */
#include "families/py_families.h"

/* ------------------------------------------------------------------ parameters */

static const char *const rows_of_trees[] = {"all", "some", "poisson", NULL};
static const char *const criteria[] = {"gini", "entropy", NULL};

_Static_assert(sizeof(efface_forest_rows) == sizeof(uint32_t) &&
                   sizeof(efface_criterion) == sizeof(uint32_t),
               "an enum is written as a uint32_t");

#define AT(member) offsetof(efface_forest_params, member)

static const field forest_fields[] = {
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
    {"categories", FIELD_WHOLES, AT(categories), .count_offset = AT(n_categories),
     .count_key = "n_categories"},
    {.key = NULL},
};

FAMILY_FUNCTIONS(forest)

static bool takes_missing(const efface_params *params) {
    return ((const efface_forest_params *)(const void *)params)->missing != 0;
}

/* ------------------------------------------------------------------ leaves and sizes */

static efface_status fill_leaves(question *q, const void *rows, const Py_buffer *out) {
    const matrix *const m = rows;
    const size_t n_trees = efface_forest_get_info(q->model).n_trees;
    efface_status status = check_rows(q, m, out, n_trees);
    for (size_t first = 0, n; first < m->n_rows && status == EFFACE_OK; first += n) {
        n = m->n_rows - first < m->n_batch ? m->n_rows - first : m->n_batch;
        status = efface_forest_leaves(q->model, n, matrix_read(m, first, n), m->stride,
                                      (uint32_t *)out->buf + first * n_trees, &q->error);
    }
    return status;
}

/* (run, rows, out) */
static PyObject *leaves(PyObject *self, PyObject *arguments) {
    return ask_of_rows(self, arguments, "I", fill_leaves);
}

/* (run): the items of ForestSize. */
static PyObject *forest_size(PyObject *self, PyObject *run) {
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const efface_forest_info info = efface_forest_get_info(q.model);
    question_end(&q);
    typedef unsigned long long wide;
    return Py_BuildValue("IKKIKK", (unsigned)info.n_trees, (wide)info.n_nodes, (wide)info.n_leaves,
                         (unsigned)info.depth, (wide)info.n_unsettled, (wide)info.n_rows);
}

/* (run) */
static PyObject *settle(PyObject *self, PyObject *run) {
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const efface_status status = efface_forest_settle(q.model, &q.error);
    question_end(&q);
    return none_or_error(status, &q.error);
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
static PyObject *export_forest(PyObject *self, PyObject *arguments) {
    PyObject *run, *path, *names, *dictionary, *result = NULL;
    efface_texts *texts = NULL;
    efface_data *columns = NULL;
    question q;
    if (!PyArg_ParseTuple(arguments, "OO&OO", &run, PyUnicode_FSConverter, &path, &names,
                          &dictionary))
        return NULL;
    const char *const name = PyBytes_AsString(path);
    if (label_texts_add(&texts, dictionary) &&
        (columns = renamed(((models *)self)->data, names)) != NULL &&
        question_begin(&q, self, run)) {
        const efface_status status = efface_forest_export(q.model, columns, texts, name, &q.error);
        question_end(&q);
        result = none_or_error(status, &q.error);
    }
    efface_data_free(columns);
    efface_texts_free(texts);
    Py_DECREF(path);
    return result;
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef forest_methods[] = {
    {"leaves", leaves, METH_VARARGS, "leaves(run, rows, out): a number for each tree"},
    {"size", forest_size, METH_O,
     "size(run): trees, nodes, leaves, depth, nodes that are not grown yet, rows that take part"},
    {"settle", settle, METH_O, "settle(run): grows what was left for later"},
    {"export", export_forest, METH_VARARGS,
     "export(run, path, names, texts): a file for prediction; texts is a dictionary or None"},
    {NULL, NULL, 0, NULL},
};

const family forest_family = {
    .number = EFFACE_FAMILY_FOREST,
    .params_bytes = sizeof(efface_forest_params),
    .init = forest_init,
    .get_params = forest_get_params,
    .fields = forest_fields,
    .fit = forest_fit,
    .takes_missing = takes_missing,
    .type_name = "ForestModels",
    .methods = forest_methods,
};
