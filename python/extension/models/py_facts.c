/* Facts that the library tells of a model, as dictionaries. They are told behind a gate, where no
 * object of Python is made; so they are copied first. */
#include "module/py_extension.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text, bool *incomplete) {
    if (text == NULL)
        return NULL;
    const size_t n_bytes = strlen(text) + 1;
    char *const copy = malloc(n_bytes);
    if (copy != NULL)
        memcpy(copy, text, n_bytes);
    else
        *incomplete = true;
    return copy;
}

void note_fact(void *context, const efface_fact *fact) {
    fact_list *const list = context;
    efface_fact *const items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (items == NULL) {
        list->incomplete = true;
        return;
    }
    list->items = items;
    efface_fact *const kept = &items[list->n++];
    *kept = *fact;
    kept->name = copy_text(fact->name, &list->incomplete);
    kept->text = copy_text(fact->text, &list->incomplete);
}

void facts_free(fact_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        free((void *)(uintptr_t)list->items[i].name);
        free((void *)(uintptr_t)list->items[i].text);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}

static PyObject *fact_value(const efface_fact *fact) {
    switch (fact->kind) {
    case EFFACE_FACT_WHOLE: return PyLong_FromUnsignedLongLong(fact->whole);
    case EFFACE_FACT_REAL: return PyFloat_FromDouble(fact->real);
    case EFFACE_FACT_TEXT: return name_or_none(fact->text);
    case EFFACE_FACT_YES_NO: return PyBool_FromLong(fact->whole != 0);
    case EFFACE_FACT_NONE: break;
    }
    return Py_NewRef(Py_None);
}

static bool add_fact(PyObject *dictionary, const efface_fact *fact) {
    PyObject *const value = fact_value(fact);
    const bool done = value != NULL && PyDict_SetItemString(dictionary, fact->name, value) == 0;
    Py_XDECREF(value);
    return done;
}

PyObject *facts_tuple(fact_list *list) {
    PyObject *const parameters = PyDict_New(), *const others = PyDict_New();
    bool done = parameters != NULL && others != NULL;
    if (done && list->incomplete) {
        PyErr_NoMemory();
        done = false;
    }
    for (size_t i = 0; i < list->n && done; i++) {
        const efface_fact *const fact = &list->items[i];
        done = add_fact(fact->is_parameter ? parameters : others, fact);
    }
    facts_free(list);
    PyObject *const both = done ? PyTuple_Pack(2, parameters, others) : NULL;
    Py_XDECREF(parameters);
    Py_XDECREF(others);
    return both;
}
