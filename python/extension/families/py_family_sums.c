/* The family sums: its parameters, and what only its models are asked. */
#include "families/py_families.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ parameters */

static const char *const kinds[] = {"needed", "means", "diagonal", "full", NULL};
static const char *const views[] = {"means",        "linear",     "ridge", "bayes",
                                    "discriminant", "components", NULL};

_Static_assert(sizeof(efface_summed) == sizeof(uint32_t) && sizeof(efface_view) == sizeof(uint32_t),
               "an enum is written as a uint32_t");

#define AT(member) offsetof(efface_sums_params, member)

static const field fields[] = {
    {.key = "bound", .kind = FIELD_REAL, .offset = AT(bound)},
    {.key = "n_targets", .kind = FIELD_WHOLE, .offset = AT(n_targets)},
    {.key = "targets",
     .kind = FIELD_WHOLES,
     .offset = AT(targets),
     .count_offset = AT(n_targets),
     .count_key = "n_targets"},
    {.key = "summed", .kind = FIELD_NAME, .offset = AT(summed), .names = kinds},
    {.key = "by_class", .kind = FIELD_NAME, .offset = AT(by_class), .names = kinds},
    {.key = "n_fourier", .kind = FIELD_WHOLE, .offset = AT(n_fourier)},
    {.key = "gamma", .kind = FIELD_REAL, .offset = AT(gamma)},
    {.key = "weight_unit", .kind = FIELD_WHOLE, .offset = AT(weight_unit)},
    {.key = "view", .kind = FIELD_NAME, .offset = AT(view), .names = views},
    {.key = "alpha", .kind = FIELD_REAL, .offset = AT(linear.alpha)},
    {.key = "intercept", .kind = FIELD_FLAG, .offset = AT(linear.intercept)},
    {.key = "smoothing", .kind = FIELD_REAL, .offset = AT(bayes.smoothing)},
    {.key = "bayes_priors",
     .kind = FIELD_REALS,
     .offset = AT(bayes.priors),
     .count_offset = AT(bayes.n_priors)},
    {.key = "quadratic", .kind = FIELD_FLAG, .offset = AT(discriminant.quadratic)},
    {.key = "shrinkage", .kind = FIELD_REAL, .offset = AT(discriminant.shrinkage)},
    {.key = "discriminant_priors",
     .kind = FIELD_REALS,
     .offset = AT(discriminant.priors),
     .count_offset = AT(discriminant.n_priors)},
    {.key = "n_components", .kind = FIELD_WHOLE, .offset = AT(components.n_components)},
    {.key = "whiten", .kind = FIELD_FLAG, .offset = AT(components.whiten)},
    {.key = NULL},
};

static void init(efface_params *params) {
    efface_sums_params_init((efface_sums_params *)(void *)params);
}

static void get_params(const efface_model *model, efface_params *params) {
    *(efface_sums_params *)(void *)params = efface_sums_get_params(model);
}

static efface_status fit(const efface_data *data, const efface_params *params, efface_model **out,
                         efface_error *error) {
    return efface_sums_fit(data, (const efface_sums_params *)(const void *)params, out, error);
}

/* ------------------------------------------------------------------ what to warn of */

/* Columns that the library lists, copied; false if memory is short. */
typedef uint32_t (*listing)(const efface_model *model, uint32_t *columns, uint32_t capacity);

static bool copy_listed(const efface_model *model, listing list, uint32_t **columns, uint32_t *n) {
    *n = list(model, NULL, 0);
    *columns = calloc((size_t)*n + 1, sizeof **columns);
    if (*columns != NULL)
        (void)list(model, *columns, *n);
    return *columns != NULL;
}

typedef struct found_columns {
    uint32_t *coarse, *dropped;
    uint32_t n_coarse, n_dropped;
} found_columns;

static bool find_columns(const efface_model *model, found_columns *found) {
    *found = (found_columns){0};
    return copy_listed(model, efface_sums_coarse_columns, &found->coarse, &found->n_coarse) &&
           copy_listed(model, efface_sums_dropped, &found->dropped, &found->n_dropped);
}

/* (coarse columns, features that were left out), or no memory; releases them. */
static PyObject *columns_tuple(found_columns *found, bool complete) {
    PyObject *const result = complete
                                 ? Py_BuildValue("NN", column_list(found->coarse, found->n_coarse),
                                                 column_list(found->dropped, found->n_dropped))
                                 : PyErr_NoMemory();
    free(found->coarse);
    free(found->dropped);
    return result;
}

static PyObject *findings_in_store(const efface_model *model, const efface_tails *tails) {
    found_columns found;
    (void)tails;
    const bool complete = find_columns(model, &found);
    return columns_tuple(&found, complete);
}

/* (run) */
static PyObject *findings(PyObject *object, PyObject *number) {
    models *const self = (models *)object;
    size_t run;
    found_columns found;
    PyThreadState *state;
    if (!models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const bool complete = find_columns(self->items[run], &found);
    gate_leave(&self->gate, state);
    return columns_tuple(&found, complete);
}

/* ------------------------------------------------------------------ other regressions */

/* (run, alpha, intercept): a Predictor. */
static PyObject *solve(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number;
    efface_linear_params params = {.errors = 1};
    size_t run;
    efface_predictor *view = NULL;
    efface_error error = {0};
    PyThreadState *state;
    if (!PyArg_ParseTuple(arguments, "Odp", &number, &params.alpha, &params.intercept) ||
        !models_run(self, number, &run) || (state = models_enter(self)) == NULL)
        return NULL;
    const efface_status status = efface_linear_solve(self->items[run], &params, &view, &error);
    gate_leave(&self->gate, state);
    return status == EFFACE_OK ? predictor_wrap(view, self->data) : raise_error(status, &error);
}

/* (run, alpha, intercept, out): in the order of positions. */
static PyObject *leave_one_out(PyObject *object, PyObject *arguments) {
    models *const self = (models *)object;
    PyObject *number, *array, *result = NULL;
    efface_linear_params params = {.errors = 1};
    Py_buffer out;
    size_t run;
    efface_error error = {0};
    if (!PyArg_ParseTuple(arguments, "OdpO", &number, &params.alpha, &params.intercept, &array) ||
        !models_run(self, number, &run) || !array_open(&out, array, "d", true))
        return NULL;
    PyThreadState *const state = models_enter(self);
    if (state != NULL) {
        const efface_model *const model = self->items[run];
        efface_data *const data = models_set(self, run);
        efface_status status = check_length(
            &out, efface_data_n_rows(data) * efface_sums_get_params(model).n_targets, &error);
        if (status == EFFACE_OK)
            status = efface_linear_leave_one_out(model, data, &params, out.buf, &error);
        gate_leave(&self->gate, state);
        result = none_or_error(status, &error);
    }
    PyBuffer_Release(&out);
    return result;
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef own_methods[] = {
    {"findings", findings, METH_O, "findings(run): coarse columns, features that were left out"},
    {"solve", solve, METH_VARARGS, "solve(run, alpha, intercept): a Predictor"},
    {"leave_one_out", leave_one_out, METH_VARARGS, "leave_one_out(run, alpha, intercept, out)"},
    {NULL, NULL, 0, NULL},
};

const family sums_family = {
    .number = EFFACE_FAMILY_SUMS,
    .params_bytes = sizeof(efface_sums_params),
    .init = init,
    .get_params = get_params,
    .fields = fields,
    .fit = fit,
    .type_name = "SumsModels",
    .methods = own_methods,
    .findings = findings_in_store,
};
