/* The one table from statuses of the library to exceptions of Python. */
#include "module/py_extension.h"

static PyObject *not_found, *busy, *corrupt;

static PyObject *exception_of(efface_status status) {
    switch (status) {
    case EFFACE_E_MEMORY: return PyExc_MemoryError;
    case EFFACE_E_IO: return PyExc_OSError;
    case EFFACE_E_NOT_FOUND: return not_found;
    case EFFACE_E_BUSY: return busy;
    case EFFACE_E_CORRUPT: return corrupt;
    case EFFACE_E_INTERRUPTED: return PyExc_KeyboardInterrupt;
    case EFFACE_E_KERNELS:
    case EFFACE_E_GROUP: return PyExc_RuntimeError;
    case EFFACE_E_ARGUMENT:
    case EFFACE_E_LIMIT:
    case EFFACE_E_FORMAT:
    case EFFACE_E_DUPLICATE: return PyExc_ValueError;
    case EFFACE_OK: break;
    }
    return PyExc_SystemError;
}

static bool add_exception(PyObject *module, PyObject **out, const char *name, const char *doc,
                          PyObject *base) {
    char full[64];
    PyOS_snprintf(full, sizeof full, "efface.%s", name);
    *out = PyErr_NewExceptionWithDoc(full, doc, base, NULL);
    return *out != NULL && PyModule_AddObjectRef(module, name, *out) == 0;
}

bool add_exceptions(PyObject *module) {
    return add_exception(module, &not_found, "NotFoundError",
                         "An id, an owner, a model or a receipt does not exist.",
                         PyExc_LookupError) &&
           add_exception(module, &busy, "BusyError",
                         "Another process is writing to the store, or another call is using the "
                         "model.",
                         PyExc_RuntimeError) &&
           add_exception(module, &corrupt, "CorruptError", "A store is damaged.",
                         PyExc_RuntimeError);
}

PyObject *raise_error(efface_status status, const efface_error *error) {
    if (PyErr_Occurred() == NULL)
        PyErr_SetString(exception_of(status), error->status == status && error->message[0] != '\0'
                                                  ? error->message
                                                  : efface_status_name(status));
    return NULL;
}

PyObject *none_or_error(efface_status status, const efface_error *error) {
    const bool done = status == EFFACE_OK && PyErr_Occurred() == NULL;
    return done ? Py_NewRef(Py_None) : raise_error(status, error);
}

efface_status fail_argument(efface_error *error, const char *message) {
    error->status = EFFACE_E_ARGUMENT;
    PyOS_snprintf(error->message, sizeof error->message, "%s", message);
    return EFFACE_E_ARGUMENT;
}
