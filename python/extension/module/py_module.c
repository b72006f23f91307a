/* The module efface._efface. */
#include "families/py_families.h"
#include "input/py_arrow.h"

PyTypeObject *add_type(PyObject *module, const char *name, size_t n_bytes, destructor dealloc,
                       PyMethodDef *methods, PyTypeObject *base, bool may_be_base) {
    char full[64];
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)(uintptr_t)dealloc},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    PyOS_snprintf(full, sizeof full, "efface._efface.%s", name);
    PyType_Spec spec = {
        .name = full,
        .basicsize = (int)n_bytes,
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                 (may_be_base ? Py_TPFLAGS_BASETYPE : 0),
        .slots = slots,
    };
    PyObject *const type = PyType_FromSpecWithBases(&spec, (PyObject *)base);
    if (type == NULL || PyModule_AddObjectRef(module, name, type) != 0)
        return NULL;
    return (PyTypeObject *)type;
}

PyMODINIT_FUNC PyInit__efface(void);

PyMODINIT_FUNC PyInit__efface(void) {
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "efface._efface",
        .m_doc = "The C library, for the Python layer; not meant to be used directly.",
        .m_size = -1,
    };
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && !(add_exceptions(module) && add_models(module) && add_families(module) &&
                            add_stores(module) && add_functions(module) && add_rounding(module) &&
                            add_predictors(module) && add_arrow(module)))
        Py_CLEAR(module);
    return module;
}
