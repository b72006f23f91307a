/* The family logistic: its parameters, and what only its models are asked. */
#include "families/py_families.h"

static const char *const losses[] = {"logistic", "squared_hinge", NULL};

_Static_assert(sizeof(efface_loss) == sizeof(uint32_t), "an enum is written as a uint32_t");

#define AT(member) offsetof(efface_logistic_params, member)

static const field logistic_fields[] = {
    {.key = "loss", .kind = FIELD_NAME, .offset = AT(loss), .names = losses},
    {.key = "alpha", .kind = FIELD_REAL, .offset = AT(alpha)},
    {.key = "intercept", .kind = FIELD_FLAG, .offset = AT(intercept)},
    {.key = "bound", .kind = FIELD_REAL, .offset = AT(bound)},
    {.key = "width", .kind = FIELD_REAL, .offset = AT(width)},
    {.key = "sample", .kind = FIELD_WHOLE, .offset = AT(sample)},
    {.key = "weight_unit", .kind = FIELD_WHOLE, .offset = AT(weight_unit)},
    {.key = "steps", .kind = FIELD_WHOLE, .offset = AT(steps)},
    {.key = NULL},
};

FAMILY_FUNCTIONS(logistic)

static PyMethodDef logistic_methods[] = {{NULL, NULL, 0, NULL}};

const family logistic_family = {
    .number = EFFACE_FAMILY_LOGISTIC,
    .params_bytes = sizeof(efface_logistic_params),
    .init = logistic_init,
    .get_params = logistic_get_params,
    .fields = logistic_fields,
    .fit = logistic_fit,
    .type_name = "LogisticModels",
    .methods = logistic_methods,
};
