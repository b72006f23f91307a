/* The module efface._efface. */
#include "families/py_families.h"

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
                            add_predictors(module)))
        Py_CLEAR(module);
    return module;
}
