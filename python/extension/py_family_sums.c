/* The family sums: its parameters. Its means are a table, as all models have. */
#include "py_families.h"

static const field fields[] = {
    {.key = "bound", .kind = FIELD_REAL, .offset = offsetof(efface_sums_params, bound)},
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

static PyMethodDef no_methods[] = {{NULL, NULL, 0, NULL}};

const family sums_family = {
    .number = EFFACE_FAMILY_SUMS,
    .params_bytes = sizeof(efface_sums_params),
    .init = init,
    .get_params = get_params,
    .fields = fields,
    .fit = fit,
    .type_name = "SumsModels",
    .methods = no_methods,
};
