/* Parameters of a fit, from the dictionary that the Python layer makes of an estimator's. */
#include "py_extension.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { WHOLE, SEED, REAL, FLAG, NAME } kind;

static const char *const methods[] = {"lloyd", "quantized", "pyramid", "tree", NULL};
static const char *const scales[] = {"none", "minmax", NULL};
static const char *const empties[] = {"reseed", "keep", NULL};

/* Names stand in the order of the values of their enum. */
static const struct field {
    const char *key;
    kind kind;
    size_t offset;
    const char *const *names;
} fields[] = {
    {"method", NAME, offsetof(efface_kmeans_params, method), methods},
    {"n_clusters", WHOLE, offsetof(efface_kmeans_params, n_clusters), NULL},
    {"iterations", WHOLE, offsetof(efface_kmeans_params, iterations), NULL},
    {"seed", SEED, offsetof(efface_kmeans_params, common.seed), NULL},
    {"scale", NAME, offsetof(efface_kmeans_params, scale), scales},
    {"bound", REAL, offsetof(efface_kmeans_params, bound), NULL},
    {"empty", NAME, offsetof(efface_kmeans_params, empty), empties},
    {"candidates", WHOLE, offsetof(efface_kmeans_params, candidates), NULL},
    {"epsilon", REAL, offsetof(efface_kmeans_params, epsilon), NULL},
    {"gamma", REAL, offsetof(efface_kmeans_params, gamma), NULL},
    {"rate", REAL, offsetof(efface_kmeans_params, rate), NULL},
    {"passes", WHOLE, offsetof(efface_kmeans_params, passes), NULL},
    {"starts", WHOLE, offsetof(efface_kmeans_params, starts), NULL},
    {"height", WHOLE, offsetof(efface_kmeans_params, height), NULL},
    {"width", WHOLE, offsetof(efface_kmeans_params, width), NULL},
    {"leaf_method", NAME, offsetof(efface_kmeans_params, leaf_method), methods},
    {"node_method", NAME, offsetof(efface_kmeans_params, node_method), methods},
    {"weigh_centroids", FLAG, offsetof(efface_kmeans_params, weigh_centroids), NULL},
    {"n_threads", WHOLE, offsetof(efface_kmeans_params, common.n_threads), NULL},
};

_Static_assert(sizeof(efface_method) == sizeof(uint32_t) &&
                   sizeof(efface_scale) == sizeof(uint32_t) &&
                   sizeof(efface_empty) == sizeof(uint32_t),
               "an enum is written as a uint32_t");

static bool read_name(const char *const *names, PyObject *value, uint32_t *out) {
    for (uint32_t i = 0; PyUnicode_Check(value) && names[i] != NULL; i++)
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) {
            *out = i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "%R is not a known name", value);
    return false;
}

static bool read_field(efface_kmeans_params *params, const struct field *field, PyObject *value) {
    char *const place = (char *)params + field->offset;
    uint32_t whole = 0;
    if (field->kind == REAL) {
        const double real = PyFloat_AsDouble(value);
        memcpy(place, &real, sizeof real);
    } else if (field->kind == SEED) {
        const uint64_t seed = PyLong_AsUnsignedLongLong(value);
        memcpy(place, &seed, sizeof seed);
    } else if (field->kind == FLAG) {
        const int flag = PyObject_IsTrue(value);
        memcpy(place, &flag, sizeof flag);
    } else if (field->kind == NAME) {
        if (read_name(field->names, value, &whole))
            memcpy(place, &whole, sizeof whole);
    } else {
        const unsigned long number = PyLong_AsUnsignedLong(value);
        whole = (uint32_t)number;
        if (PyErr_Occurred() == NULL && whole != number)
            PyErr_Format(PyExc_ValueError, "%s=%R is too large", field->key, value);
        memcpy(place, &whole, sizeof whole);
    }
    return PyErr_Occurred() == NULL;
}

/* A copy of the array under a key, and its length; NULL and 0 if there is none. */
static bool read_array(PyObject *dictionary, const char *key, const char *formats, void **out,
                       size_t *n_items) {
    PyObject *const value = PyDict_GetItemString(dictionary, key);
    Py_buffer view;
    *out = NULL;
    *n_items = 0;
    if (value == NULL || value == Py_None)
        return true;
    if (!array_open(&view, value, formats, false))
        return false;
    *out = malloc((size_t)view.len + 1);
    if (*out != NULL)
        memcpy(*out, view.buf, (size_t)view.len);
    else
        PyErr_NoMemory();
    *n_items = array_length(&view);
    PyBuffer_Release(&view);
    return *out != NULL;
}

bool params_open(fit_params *params, PyObject *dictionary) {
    memset(params, 0, sizeof *params);
    efface_kmeans_params_init(&params->values);
    params->values.common.interrupted = interrupted;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        PyObject *const value = PyDict_GetItemString(dictionary, fields[i].key);
        if (value != NULL && !read_field(&params->values, &fields[i], value))
            return false;
    }
    void *low = NULL, *high = NULL, *depths = NULL;
    size_t n_low = 0, n_high = 0, n_depths = 0;
    bool done = read_array(dictionary, "column_min", "f", &low, &n_low) &&
                read_array(dictionary, "column_max", "f", &high, &n_high) &&
                read_array(dictionary, "depth_clusters", "IL", &depths, &n_depths);
    if (done && n_low != n_high) {
        PyErr_SetString(PyExc_ValueError, "column_range must have as many lower as upper bounds");
        done = false;
    }
    if (done && depths != NULL && n_depths != params->values.height) {
        PyErr_Format(
            PyExc_ValueError,
            "depth_clusters has %zu numbers for a height of %u; give one number for each level",
            n_depths, (unsigned)params->values.height);
        done = false;
    }
    params->values.column_min = params->column_min = low;
    params->values.column_max = params->column_max = high;
    params->values.depth_clusters = params->depth_clusters = depths;
    params->n_bounds = n_low;
    if (!done)
        params_close(params);
    return done;
}

void params_close(fit_params *params) {
    free(params->column_min);
    free(params->column_max);
    free(params->depth_clusters);
    memset(params, 0, sizeof *params);
}
