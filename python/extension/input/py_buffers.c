/* What comes in as an object with the buffer protocol: matrices and arrays. */
#include "module/py_extension.h"

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

#define DEFINE_LOOP(name, type, result)                                                            \
    static void name(const char *from, Py_ssize_t stride, size_t n, result *to) {                  \
        for (size_t j = 0; j < n; j++, from += stride) {                                           \
            type value;                                                                            \
            memcpy(&value, from, sizeof value);                                                    \
            to[j] = (result)value;                                                                 \
        }                                                                                          \
    }
#define DEFINE_CONVERT(name, type)                                                                 \
    DEFINE_LOOP(name, type, float)                                                                 \
    DEFINE_LOOP(wide_##name, type, double)
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

#define CHOOSE(m, name)                                                                            \
    do {                                                                                           \
        (m)->convert = name;                                                                       \
        (m)->widen = wide_##name;                                                                  \
    } while (0)

static void choose_signed(matrix *m) {
    switch (m->view.itemsize) {
    case 1: CHOOSE(m, from_int8); break;
    case 2: CHOOSE(m, from_int16); break;
    case 4: CHOOSE(m, from_int32); break;
    default: CHOOSE(m, from_int64); break;
    }
}

static void choose_unsigned(matrix *m) {
    switch (m->view.itemsize) {
    case 1: CHOOSE(m, from_uint8); break;
    case 2: CHOOSE(m, from_uint16); break;
    case 4: CHOOSE(m, from_uint32); break;
    default: CHOOSE(m, from_uint64); break;
    }
}

/* Chosen by kind and size, because the size of C's long is not the same everywhere. */
static bool choose_convert(matrix *m) {
    const char format = item_format(&m->view);
    if (format == 'f')
        CHOOSE(m, from_float);
    else if (format == 'd')
        CHOOSE(m, from_double);
    else if (format != '\0' && strchr("bhilqn", format) != NULL)
        choose_signed(m);
    else if (format != '\0' && strchr("?BHILQN", format) != NULL)
        choose_unsigned(m);
    m->exact = format == 'f' || m->view.itemsize < 4;
    return m->convert != NULL;
}

bool offsets_open(Py_buffer *view, PyObject *object, offset_list *offsets) {
    memset(view, 0, sizeof *view);
    *offsets = (offset_list){NULL, 0};
    if (object == Py_None)
        return true;
    if (!array_open(view, object, "d", false))
        return false;
    *offsets = (offset_list){view->buf, array_length(view)};
    return true;
}

offset_list offsets_of(const efface_data *data) {
    return (offset_list){efface_data_offsets(data), efface_data_n_columns(data)};
}

/* Room for the offsets, and for a row in double. */
static bool copy_column_offsets(matrix *m, offset_list offsets) {
    if (offsets.values == NULL)
        return true;
    if (offsets.n != m->n_columns) {
        PyErr_Format(PyExc_ValueError, "there are offsets for %zu features, but X has %u",
                     offsets.n, (unsigned)m->n_columns);
        return false;
    }
    m->offsets = malloc(offsets.n * sizeof *m->offsets);
    m->wide = malloc(offsets.n * sizeof *m->wide);
    if (m->offsets == NULL || m->wide == NULL) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(m->offsets, offsets.values, offsets.n * sizeof *m->offsets);
    return true;
}

static bool readable_in_place(const matrix *m) {
    const Py_ssize_t size = (Py_ssize_t)sizeof(float);
    const Py_ssize_t *const strides = m->view.strides;
    return m->convert == from_float && m->offsets == NULL &&
           (strides[1] == size || m->n_columns == 1) && strides[0] % size == 0 &&
           strides[0] >= (Py_ssize_t)m->n_columns * size &&
           (uintptr_t)m->view.buf % sizeof(float) == 0;
}

bool matrix_open(matrix *m, PyObject *object, offset_list offsets, bool whole) {
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
        PyErr_Format(PyExc_ValueError, "X has %zd features, but there must be 1 to %d",
                     m->view.shape[1], (int)EFFACE_MAX_COLUMNS);
        goto failed;
    }
    m->n_rows = (size_t)m->view.shape[0];
    m->n_columns = (uint32_t)m->view.shape[1];
    if (!copy_column_offsets(m, offsets))
        goto failed;
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
    if (m->wide != NULL)
        wipe(m->wide, m->n_columns * sizeof *m->wide);
    free(m->wide);
    free(m->offsets);
    if (m->view.obj != NULL)
        PyBuffer_Release(&m->view);
    memset(m, 0, sizeof *m);
}

const float *matrix_read(const matrix *m, size_t first, size_t n) {
    if (m->direct != NULL)
        return m->direct + first * m->stride;
    const Py_ssize_t *const strides = m->view.strides;
    const char *from = (const char *)m->view.buf + (Py_ssize_t)first * strides[0];
    if (m->offsets == NULL && strides[0] == (Py_ssize_t)m->n_columns * strides[1]) {
        m->convert(from, strides[1], n * m->n_columns, m->room); /* rows without gaps are one */
        return m->room;
    }
    for (size_t i = 0; i < n; i++, from += strides[0]) {
        float *const to = m->room + i * m->stride;
        if (m->offsets == NULL) {
            m->convert(from, strides[1], m->n_columns, to);
        } else {
            m->widen(from, strides[1], m->n_columns, m->wide);
            efface_rows_round(1, m->n_columns, m->wide, 0, m->offsets, to);
        }
    }
    return m->room;
}

const double *matrix_doubles(const matrix *m) {
    const Py_ssize_t *const strides = m->view.strides;
    const bool in_order = strides[1] == (Py_ssize_t)sizeof(double) &&
                          strides[0] == (Py_ssize_t)m->n_columns * strides[1];
    return m->convert == from_double && in_order && (uintptr_t)m->view.buf % _Alignof(double) == 0
               ? m->view.buf
               : NULL;
}

bool array_open(Py_buffer *view, PyObject *object, const char *formats, bool writable) {
    memset(view, 0, sizeof *view);
    const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) != 0)
        return false;
    const char format = item_format(view);
    if (format != '\0' && strchr(formats, format) != NULL)
        return true;
    PyErr_Format(PyExc_TypeError, "the array must have the type '%s', not '%s'", formats,
                 view->format);
    PyBuffer_Release(view);
    memset(view, 0, sizeof *view);
    return false;
}

size_t array_length(const Py_buffer *view) {
    return (size_t)(view->len / view->itemsize);
}
