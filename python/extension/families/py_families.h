/*
 * Families of models: what the extension has to know of each. A family is one file, py_family_*.c,
 * with a table, and an entry in the list of py_families.c; no other file names what is its own.
 */
#ifndef EFFACE_EXTENSION_FAMILIES_H
#define EFFACE_EXTENSION_FAMILIES_H

#include "models/py_models.h"

typedef enum field_kind {
    FIELD_WHOLE,   /* a uint32_t */
    FIELD_SEED,    /* a uint64_t */
    FIELD_REAL,    /* a double */
    FIELD_FLAG,    /* an int */
    FIELD_NAME,    /* an enum */
    FIELD_COLUMNS, /* a pointer to a float for each column, or NULL */
    FIELD_WHOLES,  /* a pointer to as many uint32_t as another field says, or NULL */
    FIELD_REALS    /* a pointer to doubles, whose number goes to count_offset, or NULL */
} field_kind;

/* A parameter: what it is called in the dictionary that the Python layer makes, and its place in
 * the struct of the family. */
typedef struct field {
    const char *key; /* NULL ends a list of fields */
    field_kind kind;
    size_t offset;
    const char *const *names; /* FIELD_NAME: in the order of the values of the enum, then NULL */
    size_t count_offset;   /* FIELD_WHOLES, FIELD_REALS: where the number of them is, a uint32_t */
    const char *count_key; /* FIELD_WHOLES: what that is called */
} field;

typedef struct family {
    efface_family number;

    /* Parameters: the size of their struct, which begins with efface_params; what fills it with
     * defaults, or with those of a model; and its own fields. */
    size_t params_bytes;
    void (*init)(efface_params *params);
    void (*get_params)(const efface_model *model, efface_params *params);
    const field *fields;

    /* A family whose parameters are a part of these, in its place in the struct, or NULL: its own
     * fields are read too. */
    const struct family *part;
    size_t part_offset;

    efface_status (*fit)(const efface_data *data, const efface_params *params, efface_model **out,
                         efface_error *error);

    /* Whether values of rows may be missing with these parameters; NULL: never. */
    bool (*takes_missing)(const efface_params *params);

    /* Its own methods of Models, in a type of this name. */
    const char *type_name;
    PyMethodDef *methods;

    /* Whether there is something to warn of after a fit in a store, as an object that the Python
     * layer of the family understands; NULL: never. tails_scale says how to look for tails; NULL:
     * they are not looked for. */
    PyObject *(*findings)(const efface_model *model, const efface_tails *tails);
    efface_scale (*tails_scale)(const efface_params *params);
} family;

/* The three functions of a family's table that only know its types. */
#define FAMILY_FUNCTIONS(name)                                                                     \
    static void name##_init(efface_params *params) {                                               \
        efface_##name##_params_init((efface_##name##_params *)(void *)params);                     \
    }                                                                                              \
    static void name##_get_params(const efface_model *model, efface_params *params) {              \
        *(efface_##name##_params *)(void *)params = efface_##name##_get_params(model);             \
    }                                                                                              \
    static efface_status name##_fit(const efface_data *data, const efface_params *params,          \
                                    efface_model **out, efface_error *error) {                     \
        return efface_##name##_fit(data, (const efface_##name##_params *)(const void *)params,     \
                                   out, error);                                                    \
    }

extern const family kmeans_family, sums_family, segmented_family, forest_family, logistic_family;

/* The family with a name or a number; NULL if there is none. */
const family *family_named(PyObject *name);
const family *family_of(efface_family number);

/* Adds the types of all families to the module, and gives that of the models of one. */
bool add_families(PyObject *module);
PyTypeObject *family_type(efface_family number);

/* ------------------------------------------------------------------ py_params.c */

/* Parameters of a fit, and what they point to. */
typedef struct fit_params {
    const family *family;
    efface_params *values;
    bool has_columns; /* whether there are numbers for columns among them, */
    size_t n_columns; /* and for how many */
} fit_params;

/* From a dictionary, whose entry "family" names the family. */
bool params_open(fit_params *params, PyObject *dictionary);
void params_close(fit_params *params);

/* An error if there are numbers for another number of columns. Needs no GIL. */
efface_status params_check_columns(const fit_params *params, size_t n_columns, efface_error *error);

/* Fits a model with the parameters of another, but for the seed. Needs no GIL. */
efface_status fit_with_seed(const efface_model *model, const efface_data *data, uint64_t seed,
                            efface_model **out, efface_error *error);

#endif
