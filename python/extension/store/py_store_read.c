/* Asking a store: methods that change nothing. */
#include "store/py_store.h"

#include <stdlib.h>
#include <string.h>

PyObject *store_info(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    efface_store_info found;
    efface_error error = {0};
    (void)none;
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return NULL;
    const efface_status status = efface_store_get_info(self->file, &found, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    typedef unsigned long long wide;
    return Py_BuildValue(
        "IKIIKKKKNNKK", (unsigned)found.format, (wide)found.n_rows, (unsigned)found.n_columns,
        (unsigned)found.n_models, (wide)found.n_owners, (wide)found.n_unowned_rows,
        (wide)found.n_labels, (wide)found.n_receipts, PyBool_FromLong(found.keeps_texts),
        PyBool_FromLong(found.receipt_key_outside), (wide)found.file_bytes, (wide)found.free_bytes);
}

static void free_names(char **names, size_t n) {
    for (size_t j = 0; names != NULL && j < n; j++)
        free(names[j]);
    free(names);
}

/* Copies the names of columns, behind the gate: they live no longer than the store is open. */
static efface_status copy_names(efface_store *file, char ***out, size_t *n, efface_error *error) {
    efface_store_info found;
    const efface_status status = efface_store_get_info(file, &found, error);
    if (status != EFFACE_OK)
        return status;
    char **const names = calloc((size_t)found.n_columns + 1, sizeof *names);
    bool fits = names != NULL;
    for (uint32_t j = 0; j < found.n_columns && fits; j++) {
        const char *const name = efface_store_column(file, j);
        const size_t n_bytes = name != NULL ? strlen(name) + 1 : 0;
        fits = name == NULL || (names[j] = malloc(n_bytes)) != NULL;
        if (fits && name != NULL)
            memcpy(names[j], name, n_bytes);
    }
    if (!fits) {
        free_names(names, found.n_columns);
        return EFFACE_E_MEMORY;
    }
    *out = names;
    *n = found.n_columns;
    return EFFACE_OK;
}

static PyObject *make_name(const void *names, size_t j) {
    return name_or_none(((char *const *)names)[j]);
}

PyObject *store_columns(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    char **names = NULL;
    size_t n = 0;
    efface_error error = {0};
    (void)none;
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return NULL;
    const efface_status status = copy_names(self->file, &names, &n, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const list = list_of(n, make_name, names);
    free_names(names, n);
    return list;
}

/* Behind the gate. */
static efface_status copy_store_offsets(efface_store *file, double **memory, offset_list *offsets,
                                        efface_error *error) {
    efface_load_options options;
    efface_store_info found;
    efface_store_load_options(file, &options);
    wipe(options.hash_key, sizeof options.hash_key);
    if (options.n_offsets == 0)
        return EFFACE_OK;
    const efface_status status = efface_store_get_info(file, &found, error);
    if (status != EFFACE_OK)
        return status;
    *memory = calloc(found.n_columns, sizeof **memory);
    if (*memory == NULL)
        return EFFACE_E_MEMORY;
    for (uint32_t j = 0; j < found.n_columns; j++)
        (*memory)[j] = efface_store_offset(file, j);
    *offsets = (offset_list){*memory, found.n_columns};
    return EFFACE_OK;
}

bool store_copy_offsets(store *self, double **memory, offset_list *offsets) {
    efface_error error = {0};
    *memory = NULL;
    *offsets = (offset_list){NULL, 0};
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return false;
    const efface_status status = copy_store_offsets(self->file, memory, offsets, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        raise_error(status, &error);
    return status == EFFACE_OK;
}

PyObject *store_offsets(PyObject *object, PyObject *none) {
    double *memory;
    offset_list offsets;
    (void)none;
    if (!store_copy_offsets((store *)object, &memory, &offsets))
        return NULL;
    PyObject *const list = offsets_or_none(offsets);
    free(memory);
    return list;
}

static PyObject *make_place(const void *from, size_t i) {
    return PyLong_FromUnsignedLong(((const uint32_t *)from)[i] - 1);
}

PyObject *store_categories(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    efface_load_options options;
    (void)none;
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return NULL;
    efface_store_load_options(self->file, &options);
    wipe(options.hash_key, sizeof options.hash_key);
    uint32_t *const places = malloc((options.n_categories + 1) * sizeof *places);
    for (size_t i = 0; places != NULL && i < options.n_categories; i++)
        places[i] = options.categories[i].place;
    gate_leave(&self->gate, state);
    PyObject *const list =
        places != NULL ? list_of(options.n_categories, make_place, places) : PyErr_NoMemory();
    free(places);
    return list;
}

PyObject *store_takes_missing(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    efface_load_options options;
    (void)none;
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return NULL;
    efface_store_load_options(self->file, &options);
    wipe(options.hash_key, sizeof options.hash_key);
    gate_leave(&self->gate, state);
    return PyBool_FromLong(options.missing);
}

static PyObject *make_model_tuple(const void *from, size_t i) {
    const efface_stored_model *const info = (const efface_stored_model *)from + i;
    return Py_BuildValue("ssIy#y#", info->name, info->kind, (unsigned)info->n_columns,
                         (const char *)info->digest, (Py_ssize_t)EFFACE_DIGEST_BYTES,
                         (const char *)info->commitment, (Py_ssize_t)EFFACE_DIGEST_BYTES);
}

PyObject *store_models(PyObject *object, PyObject *none) {
    store *const self = (store *)object;
    efface_stored_model *found = NULL;
    size_t n = 0;
    efface_error error = {0};
    (void)none;
    PyThreadState *const state = store_enter(self);
    if (state == NULL)
        return NULL;
    const efface_status status = efface_store_models(self->file, &found, &n, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const list = list_of(n, make_model_tuple, found);
    efface_model_list_free(found);
    return list;
}

/* (name): the parameters that the model was fitted with, but the seed. */
PyObject *store_describe(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    fact_list facts = {0};
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_describe(self->file, name, note_fact, &facts, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK) {
        facts_free(&facts);
        return raise_error(status, &error);
    }
    PyObject *const both = facts_tuple(&facts);
    PyObject *const parameters = both != NULL ? Py_NewRef(PyTuple_GetItem(both, 0)) : NULL;
    Py_XDECREF(both);
    return parameters;
}

PyObject *store_model_columns(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    uint32_t *columns = NULL;
    efface_stored_model info;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = store_enter(self)) == NULL)
        return NULL;
    efface_status status = efface_store_find_model(self->file, name, &info, &error);
    if (status == EFFACE_OK)
        status = efface_store_model_columns(self->file, name, &columns, &error);
    gate_leave(&self->gate, state);
    if (status != EFFACE_OK)
        return raise_error(status, &error);
    PyObject *const list = column_list(columns, info.n_columns);
    efface_columns_free(columns);
    return list;
}

/* ------------------------------------------------------------------ models and their rows */

/* What is loaded: models, each with the set it can be changed with. */
typedef struct loaded {
    size_t n;
    const char **names;
    efface_model **items;
    efface_data **sets;
} loaded;

static void loaded_free_all(loaded *l) {
    models_free_all(l->items, l->n);
    for (size_t i = 0; i < l->n; i++) {
        efface_data_free(l->sets[i]);
        l->sets[i] = NULL;
    }
}

static bool same_rows(const efface_data *a, const efface_data *b) {
    bool same = efface_data_n_rows(a) == efface_data_n_rows(b);
    for (size_t i = 0; same && i < efface_data_n_rows(a); i++)
        same = efface_data_row(a, i).id == efface_data_row(b, i).id;
    return same;
}

/* Loads all; `*same` says whether their rows are the same. Every change of rows has a receipt. */
static efface_status load_once(efface_store *file, loaded *l, bool *same, efface_error *error) {
    efface_store_info before = {0}, after = {0};
    efface_status status = efface_store_get_info(file, &before, error);
    for (size_t i = 0; i < l->n && status == EFFACE_OK; i++)
        status = efface_store_load(file, l->names[i], &l->sets[i], &l->items[i], error);
    if (status == EFFACE_OK)
        status = efface_store_get_info(file, &after, error);
    *same = l->n == 1 || before.n_receipts == after.n_receipts;
    for (size_t i = 1; i < l->n && status == EFFACE_OK && *same; i++)
        *same = same_rows(l->sets[0], l->sets[i]);
    if (status != EFFACE_OK || !*same)
        loaded_free_all(l);
    return status;
}

/* Again if another process changed rows between two loads. */
static efface_status load_same(efface_store *file, loaded *l, efface_error *error) {
    bool same = false;
    for (int attempt = 0; attempt < 10; attempt++) {
        const efface_status status = load_once(file, l, &same, error);
        if (status != EFFACE_OK || same)
            return status;
    }
    error->status = EFFACE_E_BUSY;
    PyOS_snprintf(error->message, sizeof error->message,
                  "another process keeps changing the rows of the store; try again later");
    return EFFACE_E_BUSY;
}

/* (names): the models, which are to change together. */
PyObject *store_load(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    PyObject *tuple, *result = NULL;
    name_rule rule;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &tuple) || !store_rule(self, &rule))
        return NULL;
    loaded l = {.n = (size_t)PyTuple_Size(tuple)};
    l.names = calloc(l.n + 1, sizeof *l.names);
    l.items = calloc(l.n + 1, sizeof *l.items);
    l.sets = calloc(l.n + 1, sizeof *l.sets);
    if (l.names == NULL || l.items == NULL || l.sets == NULL)
        PyErr_NoMemory();
    else if (l.n == 0)
        PyErr_SetString(PyExc_ValueError, "there must be a name");
    for (size_t i = 0; i < l.n && PyErr_Occurred() == NULL; i++)
        l.names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, (Py_ssize_t)i), NULL);
    PyThreadState *const state = PyErr_Occurred() == NULL ? store_enter(self) : NULL;
    if (state != NULL) {
        const efface_status status = load_same(self->file, &l, &error);
        gate_leave(&self->gate, state);
        const models_parts parts = {
            .sets = l.sets, .items = l.items, .n_items = l.n, .key = rule.key};
        result = status == EFFACE_OK ? models_wrap(&parts) : raise_error(status, &error);
        if (status == EFFACE_OK && result == NULL)
            loaded_free_all(&l);
    }
    free(l.names);
    free(l.items);
    free(l.sets);
    return result;
}

PyObject *store_encode(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_encode(self->file, name, &bytes, &n_bytes, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? take_bytes(bytes, n_bytes) : raise_error(status, &error);
}

PyObject *store_verify(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    const char *name;
    efface_difference difference;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "s", &name) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_verify(self->file, name, &difference, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? difference_tuple(&difference) : raise_error(status, &error);
}

/* (ids, owners, skip) */
PyObject *store_find(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    PyObject *ids, *owners, *result = NULL;
    int skip;
    name_rule rule;
    wanted_rows wanted;
    efface_data *data = NULL;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OOp", &ids, &owners, &skip) || !store_rule(self, &rule) ||
        !wanted_open(&wanted, ids, owners, skip, &rule))
        return NULL;
    PyThreadState *const state = store_enter(self);
    if (state != NULL) {
        const efface_status status = efface_store_find(self->file, &wanted.request, &data, &error);
        gate_leave(&self->gate, state);
        const models_parts parts = {.data = data, .key = rule.key};
        result = status == EFFACE_OK ? models_wrap(&parts) : raise_error(status, &error);
        if (result == NULL)
            efface_data_free(data);
    }
    wanted_close(&wanted);
    return result;
}

/* ------------------------------------------------------------------ lists that callbacks make */

/* Called without the GIL, on the thread that made the call. */
static void note_problem(void *context, const char *problem) {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_Occurred() == NULL)
        append_item(context, name_or_none(problem));
    PyGILState_Release(state);
}

static void note_owner(void *context, uint64_t owner, const char *text, uint64_t n_rows) {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_Occurred() == NULL)
        append_item(context, Py_BuildValue("KNK", (unsigned long long)owner, name_or_none(text),
                                           (unsigned long long)n_rows));
    PyGILState_Release(state);
}

/* A list that a call makes of the store, unless it fails or leaves an exception. */
static PyObject *list_or_error(store *self,
                               efface_status (*make)(efface_store *file, PyObject *list,
                                                     efface_error *error)) {
    efface_error error = {0};
    PyObject *list = PyList_New(0);
    PyThreadState *const state = list != NULL ? store_enter(self) : NULL;
    if (state != NULL) {
        const efface_status status = make(self->file, list, &error);
        gate_leave(&self->gate, state);
        if (status != EFFACE_OK)
            raise_error(status, &error);
    }
    if (PyErr_Occurred() != NULL)
        Py_CLEAR(list);
    return list;
}

static efface_status list_problems(efface_store *file, PyObject *list, efface_error *error) {
    return efface_store_check(file, note_problem, list, error);
}

static efface_status list_owners(efface_store *file, PyObject *list, efface_error *error) {
    return efface_store_owners(file, note_owner, list, error);
}

PyObject *store_check(PyObject *self, PyObject *none) {
    (void)none;
    return list_or_error((store *)self, list_problems);
}

PyObject *store_owners(PyObject *self, PyObject *none) {
    (void)none;
    return list_or_error((store *)self, list_owners);
}

/* ------------------------------------------------------------------ texts and receipts */

/* Makes an object of a text that the library handed out, and releases it. */
static PyObject *take_text(char *text) {
    PyObject *const result = name_or_none(text);
    efface_text_free(text);
    return result;
}

/* (kind, number) */
PyObject *store_text(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    int kind;
    unsigned long long number;
    char *text = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "iK", &kind, &number) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status =
        efface_store_text(self->file, (efface_text_kind)kind, number, &text, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? take_text(text) : raise_error(status, &error);
}

PyObject *store_text_id(PyObject *object, PyObject *text) {
    name_rule rule;
    return store_rule((store *)object, &rule) ? number_of_text(text, &rule) : NULL;
}

/* (kind, text or None) */
PyObject *store_hint(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    int kind;
    const char *text;
    char *hint = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "iz", &kind, &text) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status =
        efface_store_hint(self->file, (efface_text_kind)kind, text, &hint, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? take_text(hint) : raise_error(status, &error);
}

PyObject *store_receipt(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    unsigned long long number;
    char *json = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "K", &number) || (state = store_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_store_receipt(self->file, number, &json, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? take_text(json) : raise_error(status, &error);
}

/* (receipt key or None, id) */
PyObject *store_row_hash(PyObject *object, PyObject *arguments) {
    store *const self = (store *)object;
    PyObject *key_object, *id_object, *result = NULL;
    unsigned char hash[EFFACE_ROW_HASH_BYTES];
    name_rule rule;
    const unsigned char *key;
    id_list ids = {0};
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OO", &key_object, &id_object) ||
        !key_open(key_object, EFFACE_RECEIPT_KEY_BYTES, "receipt", &key) ||
        !store_rule(self, &rule) || !ids_open(&ids, id_object, USE_IDS, &rule, NULL))
        return NULL;
    if (ids.n != 1)
        PyErr_SetString(PyExc_ValueError, "there must be exactly one id");
    PyThreadState *const state = ids.n == 1 ? store_enter(self) : NULL;
    if (state != NULL) {
        const efface_status status =
            efface_store_row_hash(self->file, key, ids.items[0], hash, &error);
        gate_leave(&self->gate, state);
        result = status == EFFACE_OK ? PyBytes_FromStringAndSize((const char *)hash, sizeof hash)
                                     : raise_error(status, &error);
    }
    ids_close(&ids);
    return result;
}
