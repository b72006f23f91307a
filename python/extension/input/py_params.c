/* Parameters of a fit, from the dictionary that the Python layer makes of an estimator's: by the
 * table of fields of the family. */
#include "families/py_families.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What all families have; their structs begin with it. */
static const field common_fields[] = {
    {.key = "seed", .kind = FIELD_SEED, .offset = offsetof(efface_params, seed)},
    {.key = "n_threads", .kind = FIELD_WHOLE, .offset = offsetof(efface_params, n_threads)},
    {.key = NULL},
};

static bool read_name(const char *const *names, PyObject *value, uint32_t *out) {
    for (uint32_t i = 0; PyUnicode_Check(value) && names[i] != NULL; i++)
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) {
            *out = i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "%R is not a known name", value);
    return false;
}

/* A copy of an array, and its length; NULL and 0 for None. */
static bool copy_array(PyObject *value, const char *formats, void **out, size_t *n_items) {
    Py_buffer view;
    *out = NULL;
    *n_items = 0;
    if (value == Py_None)
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

static bool read_columns(fit_params *params, const field *to, PyObject *value, void **array) {
    size_t n;
    if (!copy_array(value, "f", array, &n))
        return false;
    if (*array == NULL)
        return true;
    if (!params->has_columns || n == params->n_columns) {
        params->has_columns = true;
        params->n_columns = n;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "%s has numbers for %zu features, and others are for %zu",
                 to->key, n, params->n_columns);
    return false;
}

/* Fields have their place in `values`, which is all parameters or the part of another family. The
 * number of these is read already: its field stands before this one. */
static bool read_wholes(const char *values, const field *to, PyObject *value, void **array) {
    size_t n;
    uint32_t wanted;
    if (!copy_array(value, "IL", array, &n))
        return false;
    memcpy(&wanted, values + to->count_offset, sizeof wanted);
    if (*array == NULL || n == wanted)
        return true;
    PyErr_Format(PyExc_ValueError, "%s has %zu numbers for a %s of %u; give one number for each",
                 to->key, n, to->count_key, (unsigned)wanted);
    return false;
}

static bool read_reals(char *values, const field *to, PyObject *value, void **array) {
    size_t n;
    if (!copy_array(value, "d", array, &n))
        return false;
    const uint32_t count = (uint32_t)n;
    memcpy(values + to->count_offset, &count, sizeof count);
    if (count == n)
        return true;
    PyErr_Format(PyExc_ValueError, "%s has %zu numbers, which are too many", to->key, n);
    return false;
}

static bool is_array(field_kind kind) {
    return kind == FIELD_COLUMNS || kind == FIELD_WHOLES || kind == FIELD_REALS;
}

static bool read_array(fit_params *params, char *values, const field *to, PyObject *value) {
    void *array = NULL;
    const bool done = to->kind == FIELD_COLUMNS  ? read_columns(params, to, value, &array)
                      : to->kind == FIELD_WHOLES ? read_wholes(values, to, value, &array)
                                                 : read_reals(values, to, value, &array);
    memcpy(values + to->offset, &array, sizeof array);
    return done;
}

static bool read_field(fit_params *params, char *values, const field *to, PyObject *value) {
    char *const place = values + to->offset;
    uint32_t whole = 0;
    if (is_array(to->kind))
        return read_array(params, values, to, value);
    if (to->kind == FIELD_REAL) {
        const double real = PyFloat_AsDouble(value);
        memcpy(place, &real, sizeof real);
    } else if (to->kind == FIELD_SEED) {
        const uint64_t seed = PyLong_AsUnsignedLongLong(value);
        memcpy(place, &seed, sizeof seed);
    } else if (to->kind == FIELD_FLAG) {
        const int flag = PyObject_IsTrue(value);
        memcpy(place, &flag, sizeof flag);
    } else if (to->kind == FIELD_NAME) {
        if (read_name(to->names, value, &whole))
            memcpy(place, &whole, sizeof whole);
    } else {
        const unsigned long number = PyLong_AsUnsignedLong(value);
        whole = (uint32_t)number;
        if (PyErr_Occurred() == NULL && whole != number)
            PyErr_Format(PyExc_ValueError, "%s=%R is too large", to->key, value);
        memcpy(place, &whole, sizeof whole);
    }
    return PyErr_Occurred() == NULL;
}

/* Reads the fields that are in the dictionary, and counts them. */
static bool read_fields(fit_params *params, char *values, const field *fields, PyObject *dictionary,
                        Py_ssize_t *n_read) {
    for (size_t i = 0; fields[i].key != NULL; i++) {
        PyObject *const value = PyDict_GetItemString(dictionary, fields[i].key);
        if (value != NULL && !read_field(params, values, &fields[i], value))
            return false;
        *n_read += value != NULL;
    }
    return true;
}

bool params_open(fit_params *params, PyObject *dictionary) {
    memset(params, 0, sizeof *params);
    PyObject *const name = PyDict_GetItemString(dictionary, "family");
    params->family = family_named(name);
    if (params->family == NULL) {
        PyErr_Format(PyExc_ValueError, "there is no family %R", name != NULL ? name : Py_None);
        return false;
    }
    params->values = calloc(1, params->family->params_bytes);
    if (params->values == NULL) {
        PyErr_NoMemory();
        return false;
    }
    params->family->init(params->values);
    params->values->interrupted = interrupted;
    Py_ssize_t n_read = 1; /* the family */
    char *const values = (char *)params->values;
    const family *const part = params->family->part;
    bool done = read_fields(params, values, common_fields, dictionary, &n_read) &&
                read_fields(params, values, params->family->fields, dictionary, &n_read) &&
                (part == NULL || read_fields(params, values + params->family->part_offset,
                                             part->fields, dictionary, &n_read));
    if (done && n_read != PyDict_Size(dictionary)) {
        PyErr_Format(PyExc_ValueError, "some of these are no parameters of the family: %R",
                     dictionary);
        done = false;
    }
    if (!done)
        params_close(params);
    return done;
}

/* Releases what fields point to. */
static void free_arrays(const char *values, const field *fields) {
    for (size_t i = 0; fields[i].key != NULL; i++)
        if (is_array(fields[i].kind)) {
            void *array;
            memcpy(&array, values + fields[i].offset, sizeof array);
            free(array);
        }
}

void params_close(fit_params *params) {
    const family *const of = params->family;
    if (params->values != NULL) {
        free_arrays((const char *)params->values, of->fields);
        if (of->part != NULL)
            free_arrays((const char *)params->values + of->part_offset, of->part->fields);
        wipe(params->values, of->params_bytes);
    }
    free(params->values);
    memset(params, 0, sizeof *params);
}

efface_status params_check_columns(const fit_params *params, size_t n_columns,
                                   efface_error *error) {
    if (!params->has_columns || params->n_columns == n_columns)
        return EFFACE_OK;
    error->status = EFFACE_E_ARGUMENT;
    PyOS_snprintf(error->message, sizeof error->message,
                  "there are bounds for %zu features, but X has %zu", params->n_columns, n_columns);
    return EFFACE_E_ARGUMENT;
}

efface_status fit_with_seed(const efface_model *model, const efface_data *data, uint64_t seed,
                            efface_model **out, efface_error *error) {
    const family *const of = family_of(efface_model_get_info(model).family);
    if (of == NULL)
        return fail_argument(error, "models of this family cannot be fitted from Python");
    efface_params *const params = calloc(1, of->params_bytes);
    if (params == NULL)
        return EFFACE_E_MEMORY;
    of->get_params(model, params);
    params->seed = seed;
    params->interrupted = interrupted;
    const efface_status status = of->fit(data, params, out, error);
    wipe(params, of->params_bytes);
    free(params);
    return status;
}
