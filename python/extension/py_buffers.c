/* What comes in as an object with the buffer protocol: matrices and arrays. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES ((size_t)1 << 20)

void wipe(void *memory, size_t n_bytes) {
    static void *(*const volatile set)(void *, int, size_t) = memset;
    if (memory != NULL && n_bytes != 0)
        (void)set(memory, 0, n_bytes);
}

char item_format(const Py_buffer *view) {
    const char *format = view->format != NULL ? view->format : "B";
    if (*format == '@' || *format == '=' || (*format == '<' && PY_LITTLE_ENDIAN))
        format++;
    return format[0] != '\0' && format[1] == '\0' ? format[0] : '\0';
}

#define DEFINE_CONVERT(name, type)                                                                 \
    static void name(const char *from, Py_ssize_t stride, size_t n, float *to) {                   \
        for (size_t j = 0; j < n; j++, from += stride) {                                           \
            type value;                                                                            \
            memcpy(&value, from, sizeof value);                                                    \
            to[j] = (float)value;                                                                  \
        }                                                                                          \
    }
DEFINE_CONVERT(from_float, float)
DEFINE_CONVERT(from_double, double)
DEFINE_CONVERT(from_int8, int8_t)
DEFINE_CONVERT(from_uint8, uint8_t)
DEFINE_CONVERT(from_int16, int16_t)
DEFINE_CONVERT(from_uint16, uint16_t)
DEFINE_CONVERT(from_int32, int32_t)
DEFINE_CONVERT(from_uint32, uint32_t)
DEFINE_CONVERT(from_int64, int64_t)
DEFINE_CONVERT(from_uint64, uint64_t)

/* Chosen by kind and size, because the size of C's long is not the same everywhere. */
static bool choose_convert(matrix *m) {
    const char format = item_format(&m->view);
    const Py_ssize_t size = m->view.itemsize;
    if (format == 'f')
        m->convert = from_float;
    else if (format == 'd')
        m->convert = from_double;
    else if (format != '\0' && strchr("bhilqn", format) != NULL)
        m->convert = size == 1   ? from_int8
                     : size == 2 ? from_int16
                     : size == 4 ? from_int32
                                 : from_int64;
    else if (format != '\0' && strchr("?BHILQN", format) != NULL)
        m->convert = size == 1   ? from_uint8
                     : size == 2 ? from_uint16
                     : size == 4 ? from_uint32
                                 : from_uint64;
    return m->convert != NULL;
}

static bool readable_in_place(const matrix *m) {
    const Py_ssize_t size = (Py_ssize_t)sizeof(float);
    const Py_ssize_t *const strides = m->view.strides;
    return m->convert == from_float && (strides[1] == size || m->n_columns == 1) &&
           strides[0] % size == 0 && strides[0] >= (Py_ssize_t)m->n_columns * size &&
           (uintptr_t)m->view.buf % sizeof(float) == 0;
}

bool matrix_open(matrix *m, PyObject *object, bool whole) {
    memset(m, 0, sizeof *m);
    if (PyObject_GetBuffer(object, &m->view, PyBUF_RECORDS_RO) != 0)
        return false;
    if (m->view.ndim != 2) {
        PyErr_Format(PyExc_ValueError, "expected a 2D array, got a %dD array", m->view.ndim);
        goto failed;
    }
    if (!choose_convert(m)) {
        PyErr_Format(PyExc_TypeError, "cannot read numbers of the type '%s'", m->view.format);
        goto failed;
    }
    if (m->view.shape[1] < 1 || m->view.shape[1] > (Py_ssize_t)EFFACE_MAX_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "%zd features: there must be 1 to %d", m->view.shape[1],
                     (int)EFFACE_MAX_COLUMNS);
        goto failed;
    }
    m->n_rows = (size_t)m->view.shape[0];
    m->n_columns = (uint32_t)m->view.shape[1];
    if (readable_in_place(m)) {
        m->direct = m->view.buf;
        m->stride = (size_t)m->view.strides[0] / sizeof(float);
        m->n_batch = m->n_rows;
        return true;
    }
    const size_t some = BATCH_BYTES / (m->n_columns * sizeof(float)) + 1;
    m->stride = m->n_columns;
    m->n_batch = whole || m->n_rows < some ? m->n_rows : some;
    m->room = malloc((m->n_batch + 1) * m->stride * sizeof(float));
    if (m->room != NULL) {
        if (whole) {
            PyThreadState *const state = PyEval_SaveThread();
            m->direct = matrix_read(m, 0, m->n_rows);
            PyEval_RestoreThread(state);
        }
        return true;
    }
    PyErr_NoMemory();
failed:
    matrix_close(m);
    return false;
}

void matrix_close(matrix *m) {
    if (m->room != NULL)
        wipe(m->room, (m->n_batch + 1) * m->stride * sizeof(float));
    free(m->room);
    if (m->view.obj != NULL)
        PyBuffer_Release(&m->view);
    memset(m, 0, sizeof *m);
}

const float *matrix_read(const matrix *m, size_t first, size_t n) {
    if (m->direct != NULL)
        return m->direct + first * m->stride;
    const Py_ssize_t *const strides = m->view.strides;
    const char *from = (const char *)m->view.buf + (Py_ssize_t)first * strides[0];
    for (size_t i = 0; i < n; i++, from += strides[0])
        m->convert(from, strides[1], m->n_columns, m->room + i * m->stride);
    return m->room;
}

bool array_open(Py_buffer *view, PyObject *object, const char *formats, bool writable) {
    memset(view, 0, sizeof *view);
    const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) != 0)
        return false;
    const char format = item_format(view);
    if (format != '\0' && strchr(formats, format) != NULL)
        return true;
    PyErr_Format(PyExc_TypeError, "expected an array of the type '%s', not '%s'", formats,
                 view->format);
    PyBuffer_Release(view);
    memset(view, 0, sizeof *view);
    return false;
}

size_t array_length(const Py_buffer *view) {
    return (size_t)(view->len / view->itemsize);
}
