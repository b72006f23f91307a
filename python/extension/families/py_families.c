/* The list of families, and a type for the models of each. */
#include "families/py_families.h"

enum { N_FAMILIES = 5 };

static const family *const families[N_FAMILIES] = {&kmeans_family, &sums_family, &segmented_family,
                                                   &forest_family, &logistic_family};
static PyTypeObject *types[N_FAMILIES];

const family *family_of(efface_family number) {
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (families[i]->number == number)
            return families[i];
    return NULL;
}

const family *family_named(PyObject *name) {
    for (size_t i = 0; i < N_FAMILIES && name != NULL && PyUnicode_Check(name); i++)
        if (PyUnicode_CompareWithASCIIString(name, efface_family_name(families[i]->number)) == 0)
            return families[i];
    return NULL;
}

PyTypeObject *family_type(efface_family number) {
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (families[i]->number == number)
            return types[i];
    return NULL;
}

bool add_families(PyObject *module) {
    for (size_t i = 0; i < N_FAMILIES; i++) {
        types[i] = models_add_type(module, families[i]->type_name, families[i]->methods);
        if (types[i] == NULL)
            return false;
    }
    return true;
}
