/*
 * The extension module efface._efface: the public C API for the Python layer above it.
 *
 * It knows buffers, not NumPy: matrices come in through the buffer protocol and results are written
 * into arrays that the Python layer made. It is built on CPython's limited API, so one build serves
 * every Python from 3.11 on. What users see (estimators, reports, checks of arguments) is Python.
 */
#ifndef EFFACE_EXTENSION_H
#define EFFACE_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <efface/efface.h>
#include <stdbool.h>

/* ------------------------------------------------------------------ py_errors.c */

/* Adds the exceptions of the package to the module. */
bool add_exceptions(PyObject *module);

/* Sets the Python exception of a failed call, and gives NULL. */
PyObject *raise_error(efface_status status, const efface_error *error);

/* ------------------------------------------------------------------ py_calls.c */

/* An object of the library is used by one thread at a time. A gate makes others wait, without the
 * GIL; a thread that is inside already (a signal handler that interrupts its call) gets an
 * exception instead of waiting for itself. */
typedef struct gate {
    PyThread_type_lock lock;
    unsigned long inside; /* the thread, if any */
} gate;

bool gate_make(gate *g);
void gate_free(gate *g);

/* Around calls of the library: through the gate, without the GIL. NULL with an exception set if
 * this thread is inside already. */
PyThreadState *gate_enter(gate *g);
void gate_leave(gate *g, PyThreadState *state);

/* For efface_kmeans_params: true, with the exception set, if a signal handler raised one. */
int interrupted(void *context);

/* ------------------------------------------------------------------ py_buffers.c */

/* Rows as Python holds them: any two-dimensional buffer of numbers. */
typedef struct matrix {
    Py_buffer view;
    size_t n_rows;
    uint32_t n_columns;
    const float *direct; /* the rows themselves, if the library can read them where they are, */
    size_t stride;       /* so many floats apart; */
    void (*convert)(const char *from, Py_ssize_t stride, size_t n, float *to); /* else how not */
    size_t n_batch;                                                            /* rows at a time */
    float *room;                                                               /* for a batch */
} matrix;

/* False with an exception set if the object is no such buffer. A batch holds a megabyte, or all
 * rows if `whole`. */
bool matrix_open(matrix *m, PyObject *object, bool whole);
void matrix_close(matrix *m);

/* Where the rows first to first + n - 1 can be read, n being at most n_batch; the rows are `stride`
 * floats apart. Needs no GIL. */
const float *matrix_read(const matrix *m, size_t first, size_t n);

/* A contiguous array of numbers of one type, named by its characters in the struct module. */
bool array_open(Py_buffer *view, PyObject *object, const char *formats, bool writable);
size_t array_length(const Py_buffer *view);

/* Ids or owners: a whole number, a text, or any collection of them. Texts are hashed, with a key of
 * zeros if `key` is NULL. */
typedef struct id_list {
    uint64_t *items; /* NULL if there are none */
    size_t n;
} id_list;

bool ids_open(id_list *list, PyObject *object, const unsigned char *key);
void ids_close(id_list *list);

/* ------------------------------------------------------------------ py_row_ids.c */

/* Ids of rows that came without any, made of their content; see py_row_ids.c. `data` is the set
 * they will join, or NULL. Needs no GIL. */
efface_status derive_ids(const matrix *m, const int64_t *weights, int64_t unit,
                         const efface_data *data, uint64_t *ids);

/* ------------------------------------------------------------------ py_params.c */

/* Parameters from a dictionary, and what they point to. */
typedef struct fit_params {
    efface_kmeans_params values;
    float *column_min, *column_max; /* n_bounds each */
    uint32_t *depth_clusters;
    size_t n_bounds;
} fit_params;

bool params_open(fit_params *params, PyObject *dictionary);
void params_close(fit_params *params);

/* ------------------------------------------------------------------ py_results.c */

/* Tuples for Report, Difference and ModelInfo of the Python layer; NULL with an exception set. */
PyObject *report_tuple(const efface_report *report);
PyObject *difference_tuple(const efface_difference *difference);
PyObject *info_tuple(const efface_kmeans_info *info);

/* ------------------------------------------------------------------ py_row_sets.c */

/* The arguments of efface_rows from Python's arrays. */
typedef struct row_arrays {
    matrix matrix;
    id_list ids, owners;
    Py_buffer weights, arrivals;
    efface_rows rows; /* points into them */
    int64_t *numbers; /* arrival numbers that were made here */
    uint64_t *made_ids;
} row_arrays;

/* `ids`, `weights` (64-bit integers), `owners` and `arrivals` (32-bit integers) may be None. Rows
 * without arrivals are numbered from `first_arrival` on. */
bool row_arrays_open(row_arrays *arrays, PyObject *rows, PyObject *ids, PyObject *weights,
                     PyObject *owners, PyObject *arrivals, int64_t first_arrival,
                     const unsigned char *key);
void row_arrays_close(row_arrays *arrays);

/* Gives rows without ids those of py_row_ids.c; see there for `unit`. Needs no GIL. */
efface_status row_arrays_make_ids(row_arrays *arrays, int64_t unit, const efface_data *data);

/* Makes a set of the rows. Needs no GIL. */
efface_status row_arrays_make_set(const row_arrays *arrays, efface_data **data,
                                  efface_error *error);

/* ------------------------------------------------------------------ types and functions */

bool add_models(PyObject *module);
bool add_stores(PyObject *module);
bool add_functions(PyObject *module);

#endif
