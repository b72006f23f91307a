/* The type Table: all batches of a stream, which are held until the object goes, and its columns
 * as numbers, whole numbers or texts in arrays of the Python layer. */
#include "input/py_arrow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ROWS 256

typedef struct table {
    PyObject_HEAD arrow_schema schema;
    arrow_array *batches;
    size_t n_batches, capacity;
    size_t n_rows;
    bool is_struct; /* rows of columns, and not one column by itself */
} table;

static PyTypeObject *table_type;

/* ------------------------------------------------------------------ columns */

static size_t n_columns_of(const table *t) {
    return t->is_struct ? (size_t)t->schema.n_children : 1;
}

/* A column: what it is, and of which type its values are, if they are in a dictionary. */
typedef struct column {
    const table *of;
    size_t number;
    const arrow_schema *schema;
    arrow_type type;
} column;

static column column_of(const table *t, size_t number) {
    const arrow_schema *const schema = t->is_struct ? t->schema.children[number] : &t->schema;
    const arrow_schema *const values = schema->dictionary != NULL ? schema->dictionary : schema;
    return (column){t, number, schema, arrow_type_of(values->format)};
}

static bool column_open(column *c, table *t, Py_ssize_t number) {
    if (number < 0 || (size_t)number >= n_columns_of(t)) {
        PyErr_Format(PyExc_IndexError, "there is no column %zd", number);
        return false;
    }
    *c = column_of(t, (size_t)number);
    return true;
}

/* Its array in a batch, and where the batch begins in it. */
static const arrow_array *array_of(const column *c, size_t batch, int64_t *first) {
    const arrow_array *const whole = &c->of->batches[batch];
    const arrow_array *const array = c->of->is_struct ? whole->children[c->number] : whole;
    *first = array->offset + (c->of->is_struct ? whole->offset : 0);
    return array;
}

/* ------------------------------------------------------------------ reading the stream */

/* Releasing is the producer's code, which may be Python's and must not find an exception set. */
typedef struct exception {
    PyObject *type, *value, *traceback;
} exception;

static exception put_aside(void) {
    exception e;
    PyErr_Fetch(&e.type, &e.value, &e.traceback);
    return e;
}

static void put_back(exception e) {
    PyErr_Restore(e.type, e.value, e.traceback);
}

static bool fail_stream(arrow_stream *stream, int code) {
    const char *const why = stream->get_last_error != NULL ? stream->get_last_error(stream) : NULL;
    PyErr_Format(PyExc_ValueError, "the Arrow stream of X failed: %s",
                 why != NULL ? why : strerror(code));
    return false;
}

static bool keep_batch(table *t, const arrow_array *batch) {
    if (t->n_batches == t->capacity) {
        const size_t capacity = 2 * t->capacity + 16;
        arrow_array *const more = realloc(t->batches, capacity * sizeof *more);
        if (more == NULL) {
            PyErr_NoMemory();
            return false;
        }
        t->batches = more;
        t->capacity = capacity;
    }
    t->batches[t->n_batches++] = *batch;
    t->n_rows += (size_t)batch->length;
    return true;
}

/* Rows of a batch are rows of all its columns, and none is missing as a whole. */
static bool check_batch(const table *t, const arrow_array *batch) {
    if (batch->length < 0 || (t->is_struct && batch->n_children != t->schema.n_children)) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream of X does not fit its schema");
        return false;
    }
    for (int64_t i = 0; t->is_struct && i < batch->length; i++) {
        if (batch->null_count == 0 || batch->n_buffers == 0 || batch->buffers[0] == NULL)
            return true;
        if (!arrow_is_valid(batch, batch->offset + i)) {
            PyErr_SetString(PyExc_ValueError, "a row of the Arrow stream of X is null");
            return false;
        }
    }
    return true;
}

static bool read_batches(table *t, arrow_stream *stream) {
    for (;;) {
        arrow_array batch = {.release = NULL};
        PyThreadState *const state = PyEval_SaveThread();
        const int code = stream->get_next(stream, &batch);
        PyEval_RestoreThread(state);
        if (code != 0)
            return fail_stream(stream, code);
        if (batch.release == NULL)
            return true;
        if (!check_batch(t, &batch) || !keep_batch(t, &batch)) {
            const exception e = put_aside();
            batch.release(&batch);
            put_back(e);
            return false;
        }
        if (PyErr_CheckSignals() != 0)
            return false;
    }
}

static bool read_stream(table *t, arrow_stream *stream) {
    PyThreadState *const state = PyEval_SaveThread();
    const int code = stream->get_schema(stream, &t->schema);
    PyEval_RestoreThread(state);
    if (code != 0)
        return fail_stream(stream, code);
    t->is_struct = strcmp(t->schema.format, "+s") == 0;
    return read_batches(t, stream);
}

/* (capsule): takes the stream out of it. */
static PyObject *open_table(PyObject *module, PyObject *capsule) {
    arrow_stream *const stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    (void)module;
    if (stream == NULL)
        return NULL;
    if (stream->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream of X was read before");
        return NULL;
    }
    table *const t = (table *)PyType_GenericAlloc(table_type, 0);
    if (t == NULL)
        return NULL;
    arrow_stream own = *stream;
    stream->release = NULL;
    const bool done = read_stream(t, &own);
    const exception e = put_aside();
    own.release(&own);
    put_back(e);
    if (done)
        return (PyObject *)t;
    Py_DECREF((PyObject *)t);
    return NULL;
}

static void table_dealloc(PyObject *object) {
    table *const t = (table *)object;
    PyTypeObject *const type = Py_TYPE(object);
    const exception e = put_aside();
    for (size_t i = 0; i < t->n_batches; i++)
        t->batches[i].release(&t->batches[i]);
    if (t->schema.release != NULL)
        t->schema.release(&t->schema);
    put_back(e);
    free(t->batches);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* ------------------------------------------------------------------ what there is */

static const char *kind_name(arrow_kind kind) {
    switch (kind) {
    case ARROW_NUMBER: return "number";
    case ARROW_SIGNED: return "signed";
    case ARROW_UNSIGNED: return "unsigned";
    case ARROW_TRUTH: return "truth";
    case ARROW_TIME: return "time";
    case ARROW_TEXT: return "text";
    case ARROW_MISSING: return "missing";
    case ARROW_OTHER: break;
    }
    return "other";
}

static PyObject *describe_column(const void *from, size_t number) {
    const column c = column_of(from, number);
    const bool is_struct = c.of->is_struct;
    return Py_BuildValue("NsNNs",
                         name_or_none(is_struct && c.schema->name != NULL ? c.schema->name : ""),
                         kind_name(c.type.kind), PyBool_FromLong(c.type.exact),
                         PyBool_FromLong(c.schema->dictionary != NULL), c.schema->format);
}

static PyObject *table_columns(PyObject *object, PyObject *none) {
    const table *const t = (const table *)object;
    (void)none;
    return list_of(n_columns_of(t), describe_column, t);
}

static PyObject *table_n_rows(PyObject *object, PyObject *none) {
    (void)none;
    return PyLong_FromSize_t(((const table *)object)->n_rows);
}

/* ------------------------------------------------------------------ numbers */

/* Values of a dictionary, one by one. */
static bool load_entries(const column *c, const arrow_array *array, int64_t first, size_t n,
                         double *to, size_t stride) {
    const arrow_array *const entries = array->dictionary;
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        const int64_t at = first + (int64_t)i;
        to[i * stride] = NAN;
        if (!arrow_is_valid(array, at))
            continue;
        const int64_t entry = (int64_t)arrow_whole(c->schema->format, array, at) + entries->offset;
        if (arrow_is_valid(entries, entry))
            fits &= c->type.load(&c->type, entries, entry, 1, &to[i * stride], 1);
    }
    return fits;
}

static bool load_values(const column *c, const arrow_array *array, int64_t first, size_t n,
                        double *to, size_t stride) {
    if (c->schema->dictionary != NULL)
        return load_entries(c, array, first, n, to, stride);
    const bool fits = c->type.load(&c->type, array, first, n, to, stride);
    if (array->null_count != 0 && array->n_buffers > 0 && array->buffers[0] != NULL)
        for (size_t i = 0; i < n; i++)
            if (!arrow_is_valid(array, first + (int64_t)i))
                to[i * stride] = NAN;
    return fits;
}

/* Rows are filled a block at a time, so that they stay in the cache: as doubles, or by way of `room`
 * as floats, of which `rounding` notes what they lose. */
typedef struct filling {
    column *columns;
    size_t n_columns;
    double *doubles; /* or */
    float *floats;
    double *room;
    efface_rounding *rounding;
    size_t wrong; /* the column whose values do not fit; n_columns if all do */
} filling;

static efface_status fill_block(filling *f, size_t batch, size_t done, size_t n, size_t row,
                                efface_error *error) {
    double *const to = f->floats != NULL ? f->room : f->doubles + row * f->n_columns;
    for (size_t j = 0; j < f->n_columns; j++) {
        int64_t first;
        const arrow_array *const array = array_of(&f->columns[j], batch, &first);
        if (!load_values(&f->columns[j], array, first + (int64_t)done, n, to + j, f->n_columns)) {
            f->wrong = j;
            return EFFACE_E_FORMAT;
        }
    }
    for (size_t i = 0; f->floats != NULL && i < n * f->n_columns; i++)
        f->floats[row * f->n_columns + i] = (float)f->room[i];
    return f->rounding != NULL ? efface_rounding_add(f->rounding, n, (uint32_t)f->n_columns,
                                                     f->room, 0, NULL, error)
                               : EFFACE_OK;
}

static efface_status fill_rows(filling *f, efface_error *error) {
    const table *const t = f->columns->of;
    efface_status status = EFFACE_OK;
    size_t row = 0;
    for (size_t batch = 0; batch < t->n_batches; batch++) {
        const size_t n_rows = (size_t)t->batches[batch].length;
        for (size_t done = 0; done < n_rows && status == EFFACE_OK; done += BLOCK_ROWS) {
            const size_t rest = n_rows - done, n = rest < BLOCK_ROWS ? rest : BLOCK_ROWS;
            status = fill_block(f, batch, done, n, row + done, error);
        }
        row += n_rows;
    }
    return status;
}

static column *open_columns(table *t, PyObject *numbers, size_t n) {
    column *const columns = calloc(n + 1, sizeof *columns);
    if (columns == NULL)
        PyErr_NoMemory();
    for (size_t j = 0; columns != NULL && j < n; j++) {
        const Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GetItem(numbers, (Py_ssize_t)j));
        if ((number == -1 && PyErr_Occurred() != NULL) || !column_open(&columns[j], t, number) ||
            columns[j].type.load == NULL) {
            if (PyErr_Occurred() == NULL)
                PyErr_Format(PyExc_TypeError, "column %zd has no numbers", number);
            free(columns);
            return NULL;
        }
    }
    return columns;
}

static bool filling_open(filling *f, table *t, PyObject *numbers, const Py_buffer *out) {
    const size_t n = (size_t)PyTuple_Size(numbers);
    const bool narrow = item_format(out) == 'f';
    bool exact = true;
    *f = (filling){.n_columns = n, .wrong = n};
    if (n == 0 || array_length(out) != n * t->n_rows) {
        PyErr_SetString(PyExc_ValueError, "out must have room for all rows");
        return false;
    }
    f->columns = open_columns(t, numbers, n);
    if (f->columns == NULL)
        return false;
    for (size_t j = 0; j < n; j++)
        exact &= f->columns[j].type.exact;
    f->doubles = narrow ? NULL : out->buf;
    f->floats = narrow ? out->buf : NULL;
    f->room = malloc(BLOCK_ROWS * n * sizeof *f->room);
    if (f->room != NULL &&
        (!narrow || exact || efface_rounding_create(&f->rounding, NULL) == EFFACE_OK))
        return true;
    PyErr_NoMemory();
    return false;
}

static void filling_close(filling *f) {
    if (f->room != NULL)
        wipe(f->room, BLOCK_ROWS * f->n_columns * sizeof *f->room);
    free(f->room);
    free(f->columns);
    efface_rounding_free(f->rounding);
}

/* (a tuple of columns, an array of doubles or floats with as many columns): the place of a column
 * whose values have too many digits, or None; and, of floats, what they lose, as by rounding. */
static PyObject *table_fill(PyObject *object, PyObject *arguments) {
    PyObject *numbers, *array, *result = NULL;
    Py_buffer out;
    filling f;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &numbers, &array) ||
        !array_open(&out, array, "df", true))
        return NULL;
    if (filling_open(&f, (table *)object, numbers, &out)) {
        PyThreadState *const state = PyEval_SaveThread();
        const efface_status status = fill_rows(&f, &error);
        PyEval_RestoreThread(state);
        if (f.wrong < f.n_columns)
            result = Py_BuildValue("nO", (Py_ssize_t)f.wrong, Py_None);
        else if (status != EFFACE_OK)
            raise_error(status, &error);
        else
            result = Py_BuildValue(
                "ON", Py_None, f.rounding != NULL ? rounding_findings(f.rounding) : PyList_New(0));
    }
    filling_close(&f);
    PyBuffer_Release(&out);
    return result;
}

/* (column, an array of 64-bit integers, an array of bytes): whole numbers, and whether there is
 * one. */
static PyObject *table_whole(PyObject *object, PyObject *arguments) {
    table *const t = (table *)object;
    PyObject *numbers, *flags;
    Py_ssize_t number;
    column c;
    Py_buffer out, valid;
    if (!PyArg_ParseTuple(arguments, "nOO", &number, &numbers, &flags) ||
        !column_open(&c, t, number) || !array_open(&out, numbers, "qlQL", true))
        return NULL;
    if (!array_open(&valid, flags, "?", true)) {
        PyBuffer_Release(&out);
        return NULL;
    }
    const bool fits = array_length(&out) == t->n_rows && array_length(&valid) == t->n_rows &&
                      (c.type.kind == ARROW_SIGNED || c.type.kind == ARROW_UNSIGNED);
    uint64_t *to = out.buf;
    unsigned char *is_valid = valid.buf;
    for (size_t batch = 0; fits && batch < t->n_batches; batch++) {
        int64_t first;
        const arrow_array *const array = array_of(&c, batch, &first);
        for (int64_t at = first; at < first + t->batches[batch].length; at++) {
            const arrow_array *from = array;
            int64_t place = at;
            bool known = arrow_is_valid(array, at);
            if (known && c.schema->dictionary != NULL) {
                from = array->dictionary;
                place = (int64_t)arrow_whole(c.schema->format, array, at) + from->offset;
                known = arrow_is_valid(from, place);
            }
            const char *const format =
                from == array ? c.schema->format : c.schema->dictionary->format;
            *to++ = known ? arrow_whole(format, from, place) : 0;
            *is_valid++ = known;
        }
    }
    PyBuffer_Release(&out);
    PyBuffer_Release(&valid);
    if (!fits)
        PyErr_SetString(PyExc_TypeError, "the column has no whole numbers, or there is no room");
    return fits ? Py_NewRef(Py_None) : NULL;
}

/* ------------------------------------------------------------------ texts */

/* The different texts that were met so far, in order, and the number of each. */
typedef struct text_list {
    PyObject *texts;   /* a list */
    PyObject *numbers; /* a dictionary */
} text_list;

/* The number of a text; -1 with an exception set. */
static int32_t number_of(text_list *met, const char *bytes, int64_t n_bytes) {
    PyObject *const text = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)n_bytes, "strict");
    if (text == NULL)
        return -1;
    PyObject *const found = PyDict_GetItemWithError(met->numbers, text);
    long number = -1;
    if (found != NULL) {
        number = PyLong_AsLong(found);
    } else if (PyErr_Occurred() == NULL) {
        PyObject *const next = PyLong_FromSsize_t(PyList_Size(met->texts));
        if (next != NULL && PyDict_SetItem(met->numbers, text, next) == 0 &&
            PyList_Append(met->texts, text) == 0)
            number = PyLong_AsLong(next);
        Py_XDECREF(next);
    }
    Py_DECREF(text);
    return (int32_t)number;
}

/* Of one element, which has a value. */
static int32_t number_of_element(text_list *met, const column *c, const arrow_array *array,
                                 int64_t at) {
    int64_t n_bytes;
    const char *const bytes = c->type.text(array, at, &n_bytes);
    return number_of(met, bytes, n_bytes);
}

/* The number of the text of each entry of a dictionary, -1 for a missing one; NULL with an
 * exception set. */
static int32_t *number_entries(text_list *met, const column *c, const arrow_array *entries) {
    const size_t n = (size_t)entries->length;
    int32_t *const numbers = malloc((n + 1) * sizeof *numbers);
    if (numbers == NULL)
        PyErr_NoMemory();
    for (size_t i = 0; numbers != NULL && i < n && PyErr_Occurred() == NULL; i++) {
        const int64_t at = entries->offset + (int64_t)i;
        numbers[i] = arrow_is_valid(entries, at) ? number_of_element(met, c, entries, at) : -1;
    }
    if (numbers == NULL || PyErr_Occurred() == NULL)
        return numbers;
    free(numbers);
    return NULL;
}

static bool number_batch(text_list *met, const column *c, size_t batch, int32_t *to) {
    int64_t first;
    const arrow_array *const array = array_of(c, batch, &first);
    const bool has_entries = c->schema->dictionary != NULL;
    int32_t *const entries = has_entries ? number_entries(met, c, array->dictionary) : NULL;
    if (has_entries && entries == NULL)
        return false;
    for (int64_t i = 0; i < c->of->batches[batch].length; i++) {
        to[i] = -1;
        if (!arrow_is_valid(array, first + i))
            continue;
        to[i] = has_entries ? entries[arrow_whole(c->schema->format, array, first + i)]
                            : number_of_element(met, c, array, first + i);
        if (to[i] < 0 && !has_entries)
            break;
    }
    free(entries);
    return PyErr_Occurred() == NULL;
}

/* (column, an array of 32-bit integers): a list of its different texts; the array gets their
 * numbers, -1 where a value is missing. */
static PyObject *table_texts(PyObject *object, PyObject *arguments) {
    table *const t = (table *)object;
    PyObject *array;
    Py_ssize_t number;
    column c;
    Py_buffer out;
    if (!PyArg_ParseTuple(arguments, "nO", &number, &array) || !column_open(&c, t, number) ||
        !array_open(&out, array, "i", true))
        return NULL;
    text_list met = {PyList_New(0), PyDict_New()};
    bool done = met.texts != NULL && met.numbers != NULL;
    if (done && (c.type.text == NULL || array_length(&out) != t->n_rows)) {
        PyErr_SetString(PyExc_TypeError, "the column has no texts, or there is no room");
        done = false;
    }
    int32_t *to = out.buf;
    for (size_t batch = 0; done && batch < t->n_batches; batch++) {
        done = number_batch(&met, &c, batch, to);
        to += t->batches[batch].length;
    }
    PyBuffer_Release(&out);
    Py_XDECREF(met.numbers);
    if (!done)
        Py_CLEAR(met.texts);
    return met.texts;
}

bool add_arrow(PyObject *module) {
    static PyMethodDef table_methods[] = {
        {"columns", table_columns, METH_NOARGS,
         "columns(): (name, kind, whether float32 holds it, whether it has a dictionary, format)s"},
        {"n_rows", table_n_rows, METH_NOARGS, "n_rows(): of all batches"},
        {"fill", table_fill, METH_VARARGS,
         "fill(columns, out): numbers; the place of a column that has too many digits, or None, "
         "and "
         "what was lost"},
        {"whole", table_whole, METH_VARARGS, "whole(column, out, valid): whole numbers"},
        {"texts", table_texts, METH_VARARGS,
         "texts(column, out): the different texts; out gets their numbers, or -1"},
        {NULL, NULL, 0, NULL},
    };
    static PyMethodDef functions[] = {
        {"open_table", open_table, METH_O, "open_table(capsule): a Table of an Arrow stream"},
        {NULL, NULL, 0, NULL},
    };
    table_type =
        add_type(module, "Table", sizeof(table), table_dealloc, table_methods, NULL, false);
    return table_type != NULL && PyModule_AddFunctions(module, functions) == 0;
}
