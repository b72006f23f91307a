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
#include <stdatomic.h>
#include <stdbool.h>

/* A method of an object, or a function of the module, in Python: of itself and its arguments. */
typedef PyObject *method(PyObject *, PyObject *);

/* ------------------------------------------------------------------ py_errors.c */

/* Adds the exceptions of the package to the module. */
bool add_exceptions(PyObject *module);

/* Sets the Python exception of a failed call, and gives NULL. */
PyObject *raise_error(efface_status status, const efface_error *error);

/* Ends a method that gives nothing: None, unless the call failed or left an exception. */
PyObject *none_or_error(efface_status status, const efface_error *error);

/* For what the extension itself finds wrong with an argument: fills the error. Needs no GIL. */
efface_status fail_argument(efface_error *error, const char *message);

/* ------------------------------------------------------------------ py_calls.c */

/* An object of the library is used by one thread at a time. A gate makes others wait, without the
 * GIL; a thread that is inside already (a signal handler that interrupts its call) gets an
 * exception instead of waiting for itself. `inside` is written without the GIL while others read
 * it; it can equal a thread only if that thread itself wrote it. */
typedef struct gate {
    PyThread_type_lock lock;
    atomic_ulong inside; /* the thread, or 0 */
} gate;

bool gate_make(gate *g);
void gate_free(gate *g);

/* Around calls of the library: through the gate, without the GIL. NULL with an exception set if
 * this thread is inside already, or if a signal handler raised one while it waited. What can change
 * is looked at behind the gate only, and no object of Python is made or released there. */
PyThreadState *gate_enter(gate *g);
void gate_leave(gate *g, PyThreadState *state);

/* For efface_params: true, with the exception set, if a signal handler raised one. The other
 * is the same for efface_store_options. */
int interrupted(void *context);
int store_interrupted(void *context, efface_phase phase, double part);

/* ------------------------------------------------------------------ py_buffers.c */

/* Overwrites memory with zeros, which the compiler cannot leave out. */
void wipe(void *memory, size_t n_bytes);

/* Rows as Python holds them: any two-dimensional buffer of numbers. */
typedef struct matrix {
    Py_buffer view;
    size_t n_rows;
    uint32_t n_columns;
    const float *direct; /* the rows themselves, if the library can read them where they are, */
    size_t stride;       /* so many floats apart; */
    void (*convert)(const char *from, Py_ssize_t stride, size_t n, float *to); /* else how not */
    void (*widen)(const char *from, Py_ssize_t stride, size_t n, double *to);
    bool exact;      /* float32 holds all numbers of this type */
    double *offsets; /* of the columns, or NULL: they are taken away in double */
    double *wide;    /* room for a row, if there are offsets */
    size_t n_batch;  /* rows at a time */
    float *room;     /* for a batch */
} matrix;

/* The offsets of columns; `values` NULL: none. */
typedef struct offset_list {
    const double *values;
    size_t n;
} offset_list;

/* False with an exception set if the object is no such buffer. A batch holds a megabyte, or all
 * rows if `whole`. Converted rows are overwritten in the end. Offsets are copied. */
bool matrix_open(matrix *m, PyObject *object, offset_list offsets, bool whole);
void matrix_close(matrix *m);

/* Where the rows first to first + n - 1 can be read, n being at most n_batch; the rows are `stride`
 * floats apart. Needs no GIL. */
const float *matrix_read(const matrix *m, size_t first, size_t n);

/* The rows as they came, if they are doubles without gaps; else NULL. */
const double *matrix_doubles(const matrix *m);

/* The offsets that Python gives, an array of float64 or None; they end with the view. */
bool offsets_open(Py_buffer *view, PyObject *object, offset_list *offsets);

/* The offsets of a set, which never change. */
offset_list offsets_of(const efface_data *data);

/* The character of a buffer's item type; 0 if it is not one number in this machine's byte order. */
char item_format(const Py_buffer *view);

/* A contiguous array of numbers of one type, named by its characters in the struct module. */
bool array_open(Py_buffer *view, PyObject *object, const char *formats, bool writable);
size_t array_length(const Py_buffer *view);

/* ------------------------------------------------------------------ py_ids.c */

/* Ids or owners: a whole number, a text, or any collection of them. */
typedef struct id_list {
    uint64_t *items; /* NULL if there are none */
    size_t n;
    size_t n_texts; /* of them, and */
    size_t n_none;  /* those that are EFFACE_NO_OWNER */
} id_list;

typedef enum id_use {
    USE_IDS,       /* of rows */
    USE_OWNERS,    /* of rows: None, NaN and the like are EFFACE_NO_OWNER */
    USE_KEPT,      /* owners of rows as a set has them, with EFFACE_NO_OWNER */
    USE_REQUESTED, /* owners that are asked for: EFFACE_NO_OWNER is none of them */
} id_use;

/* What names are: whether ids and owners are known to be numbers or texts, and the key of texts. */
typedef struct name_rule {
    efface_ids ids, owners;
    unsigned char key[EFFACE_HASH_KEY_BYTES];
} name_rule;

/* Brings a text into the form of an id or owner. */
efface_status name_open(efface_name *name, const char *text, size_t n_bytes, bool owner,
                        const name_rule *rule, efface_error *error);

/* The number of a text that is an id, as Python has it; NULL with an exception set. */
PyObject *number_of_text(PyObject *text, const name_rule *rule);

/* Brings texts into the form that the rule says; with a rule of NULL they are hashed with a key of
 * zeros. Texts go to `texts` unless that is NULL. */
bool ids_open(id_list *list, PyObject *object, id_use use, const name_rule *rule,
              efface_texts *texts);
void ids_close(id_list *list);

/* Rows that are asked for, by ids and owners. */
typedef struct wanted_rows {
    id_list ids, owners;
    efface_texts *texts;    /* that they stand for */
    efface_request request; /* points into them */
} wanted_rows;

bool wanted_open(wanted_rows *wanted, PyObject *ids, PyObject *owners, bool skip,
                 const name_rule *rule);
void wanted_close(wanted_rows *wanted);

/* An owner may be asked for twice, as in a column of a data frame; models want each once. */
void wanted_drop_repeated(wanted_rows *wanted);

/* What they are, for efface_data_set_kinds: numbers or texts; not known if there are none. False
 * with an exception set if there are both. */
bool ids_kind(const id_list *list, const char *what, efface_ids *kind);

/* ------------------------------------------------------------------ py_row_ids.c */

/* Ids of rows that came without any, made of their content; see py_row_ids.c. `labels` is NULL if
 * they have none, `data` the set they will join, or NULL. Needs no GIL. */
efface_status derive_ids(const matrix *m, const int64_t *weights, int64_t unit,
                         const int64_t *labels, const efface_data *data, uint64_t *ids);

/* ------------------------------------------------------------------ py_results.c */

/* Tuples for Report and Difference of the Python layer; NULL with an exception set. */
PyObject *report_tuple(const efface_report *report);
PyObject *difference_tuple(const efface_difference *difference);

/* A list of n whole numbers. */
PyObject *column_list(const uint32_t *columns, size_t n);

/* What efface_data_tails found. */
PyObject *tails_tuple(const efface_tails *tails);

/* Offsets as a list of numbers, or None. */
PyObject *offsets_or_none(offset_list offsets);

/* A text, bytes of it that are no UTF-8 spelled out, or None for NULL. */
PyObject *name_or_none(const char *text);

/* A list of n objects that `make` gives, each from its number. */
PyObject *list_of(size_t n, PyObject *(*make)(const void *from, size_t i), const void *from);

/* Adds an item to a list and releases it. What could not be made or added leaves its exception. */
void append_item(PyObject *list, PyObject *item);

/* The bytes that efface_..._encode gave, which are released. */
PyObject *take_bytes(unsigned char *bytes, size_t n_bytes);

/* ------------------------------------------------------------------ py_answers.c */

/* What a model and a published model are asked alike. */
typedef struct source {
    const efface_predictor *predictor;
    const double *offsets; /* of the model's set, which are added to rows of tables, or NULL */
    efface_predicts predicts;
    uint32_t n_numbers;
    uint32_t n_classes;
    uint32_t n_columns;
} source;

source source_of_model(const efface_model *model, const efface_data *data);
source source_of_predictor(const efface_predictor *predictor);

/* Arrays for results are made by the Python layer, which asks for their size first. Another thread
 * may change the model between the two calls; so sizes are compared behind the gate. */
efface_status check_length(const Py_buffer *view, size_t n, efface_error *error);

/* "clusters", "classes", "values" or "probabilities". */
const char *predicts_name(efface_predicts predicts);

/* Writes what is predicted for rows into an array: of 32-bit integers for clusters, 64-bit ones for
 * classes, else of doubles. It was opened for any of ANSWER_FORMATS. Needs no GIL. */
#define ANSWER_FORMATS "ilqd"
efface_status predict_rows(const source *by, const matrix *m, const Py_buffer *out,
                           efface_error *error);

/* Writes a number for each row and class into an array of doubles. Needs no GIL. */
efface_status score_rows(const source *by, efface_scores scores, const matrix *m,
                         const Py_buffer *out, efface_error *error);

/* What there is to know before rows are predicted, copied, since a model may change: the columns
 * that prediction looks at, the column of each number that is predicted (EFFACE_NO_COLUMN: none),
 * the classes, and the columns that are categories. The first needs no GIL; false if out of memory.
 * The other makes a tuple of four lists, with None for no column, and releases the copy. */
typedef struct answer_form {
    uint32_t *inputs, *value_columns, *categories;
    int64_t *classes;
    size_t n_inputs, n_numbers, n_classes, n_categories;
} answer_form;

bool answer_form_copy(const source *by, answer_form *form);
PyObject *answer_form_tuple(answer_form *form);

/* The tables that there are, at most MAX_TABLES, and a list of (name, name of a row, rows,
 * columns) of them. The first, and the reading of a whole table, need no GIL. */
enum { MAX_TABLES = 32 };
size_t find_tables(const source *by, efface_table tables[MAX_TABLES]);
PyObject *table_list(const efface_table *tables, size_t n_tables);
efface_status read_table(const source *by, const char *name, const Py_buffer *out,
                         efface_error *error);

/* ------------------------------------------------------------------ py_facts.c */

/* Facts that the library tells, copied. `note_fact` is what to call efface_model_describe and
 * efface_store_describe with; it needs no GIL. */
typedef struct fact_list {
    efface_fact *items; /* their texts are its own */
    size_t n;
    bool incomplete; /* memory was short */
} fact_list;

void note_fact(void *list, const efface_fact *fact);

/* Two dictionaries, in a tuple: of parameters, and of all else. Releases the list. */
PyObject *facts_tuple(fact_list *list);
void facts_free(fact_list *list);

/* ------------------------------------------------------------------ py_row_sets.c */

/* Python's arrays; each but `values` may be None, or NULL. Weights, labels and arrivals are 64-bit
 * integers. Rows with arrivals have been in a set before: their owners are those of the set
 * (USE_KEPT), and their values come without the offsets. */
typedef struct row_objects {
    PyObject *values, *ids, *weights, *owners, *labels, *arrivals;
    PyObject *shifts;    /* an array of offsets, */
    offset_list offsets; /* or these if it is None or NULL */
    bool missing;        /* values may be missing, which is NaN */
} row_objects;

/* The arguments of efface_rows from them. */
typedef struct row_arrays {
    matrix matrix;
    id_list ids, owners;
    Py_buffer weights, labels, arrivals;
    efface_rows rows; /* points into them */
    double *offsets;  /* of the set to be made, or NULL; */
    bool missing;     /* whether values of that set may be missing */
    int64_t *numbers; /* arrival numbers that were made here */
    uint64_t *made_ids;
} row_arrays;

/* `rule` and `texts` as in ids_open. */
bool row_arrays_open(row_arrays *arrays, const row_objects *objects, const name_rule *rule,
                     efface_texts *texts);
void row_arrays_close(row_arrays *arrays);

/* Numbers rows without arrivals from `first` on. Needs no GIL. */
efface_status row_arrays_number(row_arrays *arrays, int64_t first);

/* Gives rows without ids those of py_row_ids.c; see there for `unit`. Needs no GIL. */
efface_status row_arrays_make_ids(row_arrays *arrays, int64_t unit, const efface_data *data);

/* Makes a set of the rows. Needs no GIL. */
efface_status row_arrays_make_set(const row_arrays *arrays, efface_data **data,
                                  efface_error *error);

/* For a store, whose ids are numbers or texts, and its owners as well: false with an exception set
 * if these are both. The set is to be told with efface_data_set_kinds. */
bool row_arrays_kinds(const row_arrays *arrays, efface_ids *ids, efface_ids *owners);

/* Adds the texts of classes, a dictionary from numbers to texts or None, to a collection, which is
 * made if there is none. */
bool label_texts_add(efface_texts **texts, PyObject *dictionary);

/* ------------------------------------------------------------------ types and functions */

/* Makes a type with no constructor, from `base` unless that is NULL, and adds it to the module. */
PyTypeObject *add_type(PyObject *module, const char *name, size_t n_bytes, destructor dealloc,
                       PyMethodDef *methods, PyTypeObject *base, bool may_be_base);

bool add_models(PyObject *module);
bool add_stores(PyObject *module);
bool add_functions(PyObject *module);
bool add_rounding(PyObject *module);

/* py_rounding.c: a list of (column, collapses, vanished, step, spread, offset) for columns that lose
 * something. */
PyObject *rounding_findings(const efface_rounding *rounding);
bool add_predictors(PyObject *module);

/* py_predictors.c: an object for a view of a model with a set; it comes to own the view. Rows are
 * given to it in the units of the user, and tables are in those of the set. */
PyObject *predictor_wrap(efface_predictor *item, const efface_data *data);

#endif
