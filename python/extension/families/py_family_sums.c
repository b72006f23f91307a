/* The family sums: its parameters, and what only its models are asked. */
#include "families/py_families.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ parameters */

static const char *const kinds[] = {"needed", "means", "diagonal", "full", NULL};
static const char *const scales[] = {"none", "minmax", "standard", NULL};
static const char *const views[] = {"means",        "linear",     "ridge", "bayes",
                                    "discriminant", "components", NULL};

_Static_assert(sizeof(efface_summed) == sizeof(uint32_t) &&
                   sizeof(efface_view) == sizeof(uint32_t) &&
                   sizeof(efface_scale) == sizeof(uint32_t),
               "an enum is written as a uint32_t");

#define AT(member) offsetof(efface_sums_params, member)

static const field sums_fields[] = {
    {.key = "bound", .kind = FIELD_REAL, .offset = AT(bound)},
    {.key = "n_targets", .kind = FIELD_WHOLE, .offset = AT(n_targets)},
    {"targets", FIELD_WHOLES, AT(targets), .count_offset = AT(n_targets), .count_key = "n_targets"},
    {.key = "summed", .kind = FIELD_NAME, .offset = AT(summed), .names = kinds},
    {.key = "by_class", .kind = FIELD_NAME, .offset = AT(by_class), .names = kinds},
    {.key = "n_fourier", .kind = FIELD_WHOLE, .offset = AT(n_fourier)},
    {.key = "gamma", .kind = FIELD_REAL, .offset = AT(gamma)},
    {.key = "scale", .kind = FIELD_NAME, .offset = AT(scale), .names = scales},
    {.key = "weight_unit", .kind = FIELD_WHOLE, .offset = AT(weight_unit)},
    {.key = "view", .kind = FIELD_NAME, .offset = AT(view), .names = views},
    {.key = "alpha", .kind = FIELD_REAL, .offset = AT(linear.alpha)},
    {.key = "intercept", .kind = FIELD_FLAG, .offset = AT(linear.intercept)},
    {.key = "linear_scale", .kind = FIELD_NAME, .offset = AT(linear.scale), .names = scales},
    {.key = "smoothing", .kind = FIELD_REAL, .offset = AT(bayes.smoothing)},
    {"bayes_priors", FIELD_REALS, AT(bayes.priors), .count_offset = AT(bayes.n_priors)},
    {.key = "quadratic", .kind = FIELD_FLAG, .offset = AT(discriminant.quadratic)},
    {.key = "shrinkage", .kind = FIELD_REAL, .offset = AT(discriminant.shrinkage)},
    {"discriminant_priors", FIELD_REALS, AT(discriminant.priors),
     .count_offset = AT(discriminant.n_priors)},
    {.key = "discriminant_scale",
     .kind = FIELD_NAME,
     .offset = AT(discriminant.scale),
     .names = scales},
    {.key = "n_components", .kind = FIELD_WHOLE, .offset = AT(components.n_components)},
    {.key = "whiten", .kind = FIELD_FLAG, .offset = AT(components.whiten)},
    {.key = "components_scale",
     .kind = FIELD_NAME,
     .offset = AT(components.scale),
     .names = scales},
    {.key = NULL},
};

FAMILY_FUNCTIONS(sums)

/* ------------------------------------------------------------------ what to warn of */

/* Columns that the library lists, copied; false if out of memory. */
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

static PyObject *sums_findings_in_store(const efface_model *model, const efface_tails *tails) {
    found_columns found;
    (void)tails;
    const bool complete = find_columns(model, &found);
    return columns_tuple(&found, complete);
}

/* (run) */
static PyObject *sums_findings(PyObject *self, PyObject *run) {
    found_columns found;
    question q;
    if (!question_begin(&q, self, run))
        return NULL;
    const bool complete = find_columns(q.model, &found);
    question_end(&q);
    return columns_tuple(&found, complete);
}

/* ------------------------------------------------------------------ other regressions */

/* The regression of the model with another penalty. */
static efface_linear_params with_alpha(const question *q, double alpha) {
    efface_linear_params params = efface_sums_get_params(q->model).linear;
    params.errors = 1;
    params.alpha = alpha;
    return params;
}

/* (run, alpha): a Predictor. */
static PyObject *solve(PyObject *self, PyObject *arguments) {
    PyObject *run;
    double alpha;
    efface_predictor *view = NULL;
    question q;
    if (!PyArg_ParseTuple(arguments, "Od", &run, &alpha) || !question_begin(&q, self, run))
        return NULL;
    const efface_linear_params params = with_alpha(&q, alpha);
    const efface_status status = efface_linear_solve(q.model, &params, &view, &q.error);
    question_end(&q);
    return status == EFFACE_OK ? predictor_wrap(view, q.data) : raise_error(status, &q.error);
}

static efface_status fill_misses(question *q, const void *alpha, const Py_buffer *out) {
    const efface_linear_params params = with_alpha(q, *(const double *)alpha);
    const size_t n_targets = efface_sums_get_params(q->model).n_targets;
    const efface_status status =
        check_length(out, efface_data_n_rows(q->data) * n_targets, &q->error);
    return status == EFFACE_OK
               ? efface_linear_leave_one_out(q->model, q->data, &params, out->buf, &q->error)
               : status;
}

/* (run, alpha, out): in the order of positions. */
static PyObject *leave_one_out(PyObject *self, PyObject *arguments) {
    PyObject *run, *array;
    double alpha;
    return PyArg_ParseTuple(arguments, "OdO", &run, &alpha, &array)
               ? fill_array(self, run, array, "d", fill_misses, &alpha)
               : NULL;
}

/* ------------------------------------------------------------------ the table */

static PyMethodDef sums_methods[] = {
    {"findings", sums_findings, METH_O,
     "findings(run): coarse columns, features that were left out"},
    {"solve", solve, METH_VARARGS, "solve(run, alpha): a Predictor"},
    {"leave_one_out", leave_one_out, METH_VARARGS, "leave_one_out(run, alpha, out)"},
    {NULL, NULL, 0, NULL},
};

const family sums_family = {
    .number = EFFACE_FAMILY_SUMS,
    .params_bytes = sizeof(efface_sums_params),
    .init = sums_init,
    .get_params = sums_get_params,
    .fields = sums_fields,
    .fit = sums_fit,
    .type_name = "SumsModels",
    .methods = sums_methods,
    .findings = sums_findings_in_store,
};
