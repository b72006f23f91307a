/* The parameters of `logistic`: defaults, checks, bytes, descriptions. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/logistic/logistic.h"

#include <inttypes.h>
#include <string.h>

#define PARAMS_VERSION 1 /* of the struct: moves when it gets other fields */
#define RECORD_VERSION 1 /* of its bytes */
#define MAX_SAMPLE (1u << 20)
#define MAX_STEPS 1000u

void efface_logistic_params_init(efface_logistic_params *params) {
    *params = (efface_logistic_params){
        .common = {.version = PARAMS_VERSION, .family = EFFACE_FAMILY_LOGISTIC},
        .alpha = 1.0,
        .intercept = 1,
        .sample = 4,
        .weight_unit = 1,
        .steps = 25,
    };
}

efface_status ef_logistic_check_params(const efface_params *common, efface_error *error) {
    const efface_logistic_params *const params = (const void *)common;
    if (common->version != PARAMS_VERSION || common->family != EFFACE_FAMILY_LOGISTIC)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters must be filled by efface_logistic_params_init first");
    if ((unsigned)params->loss > EFFACE_LOSS_SQUARED_HINGE)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there is no such loss");
    if (!(params->alpha >= 0.0 && params->alpha <= 1e30))
        return ef_fail(error, EFFACE_E_ARGUMENT, "alpha must be from 0 to 1e30, not %g",
                       params->alpha);
    if (!(params->bound >= 0.0 && params->bound <= EFFACE_MAX_MAGNITUDE))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the bound must be above 0 and at most 2^126, or 0 to derive it, not %g",
                       params->bound);
    if (params->width != 0.0 && !(params->width >= 0x1p-20 && params->width <= 0x1p10))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the width must be from 2^-20 to 2^10, or 0 to derive it, not %g",
                       params->width);
    if (params->sample == 0 || params->sample > MAX_SAMPLE)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the sample must be from 1 to %u, not %" PRIu32,
                       MAX_SAMPLE, params->sample);
    if (params->weight_unit == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the unit of weights must be 1 or more");
    if (params->steps == 0 || params->steps > MAX_STEPS)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the number of steps must be from 1 to %u, not %" PRIu32, MAX_STEPS,
                       params->steps);
    return EFFACE_OK;
}

efface_params *ef_logistic_copy_params(const efface_params *common, uint32_t n_columns) {
    efface_logistic_params *const copy = ef_alloc(1, sizeof *copy);
    (void)n_columns;
    if (copy == NULL)
        return NULL;
    *copy = *(const efface_logistic_params *)(const void *)common;
    return &copy->common;
}

void ef_logistic_write_params(ef_writer *w, const efface_params *common, uint32_t n_columns) {
    const efface_logistic_params *const params = (const void *)common;
    (void)n_columns;
    ef_write_u32(w, RECORD_VERSION);
    ef_write_u64(w, common->seed);
    ef_write_u32(w, (uint32_t)params->loss);
    ef_write_u32(w, params->intercept != 0);
    ef_write_f64(w, params->alpha);
    ef_write_f64(w, params->bound);
    ef_write_f64(w, params->width);
    ef_write_u32(w, params->sample);
    ef_write_u32(w, params->steps);
    ef_write_u32(w, params->weight_unit);
}

efface_status ef_logistic_read_params(ef_decoder *r, uint32_t n_columns, efface_params **out,
                                      efface_error *error) {
    efface_logistic_params params;
    efface_logistic_params_init(&params);
    const uint32_t version = ef_read_u32(r);
    params.common.seed = ef_read_u64(r);
    params.loss = (efface_loss)ef_read_u32(r);
    params.intercept = (int)ef_read_u32(r);
    params.alpha = ef_read_f64(r);
    params.bound = ef_read_f64(r);
    params.width = ef_read_f64(r);
    params.sample = ef_read_u32(r);
    params.steps = ef_read_u32(r);
    params.weight_unit = ef_read_u32(r);
    if (r->failed || r->n_bytes != 0 || version != RECORD_VERSION)
        return ef_fail(error, EFFACE_E_FORMAT, "the parameters of a model are invalid");
    *out = ef_logistic_copy_params(&params.common, n_columns);
    return *out != NULL ? EFFACE_OK : ef_fail_memory(error);
}

void ef_logistic_describe_params(const efface_params *common, ef_listener to) {
    static const char *const losses[] = {"logistic", "squared hinge"};
    const efface_logistic_params *const p = (const void *)common;
    const efface_fact facts[] = {
        {.name = "loss", .kind = EFFACE_FACT_TEXT, .text = losses[p->loss]},
        {.name = "alpha", .kind = EFFACE_FACT_REAL, .real = p->alpha},
        {.name = "intercept", .kind = EFFACE_FACT_YES_NO, .whole = p->intercept != 0},
        {.name = "bound",
         .kind = p->bound > 0.0 ? EFFACE_FACT_REAL : EFFACE_FACT_NONE,
         .real = p->bound},
        {.name = "width",
         .kind = p->width > 0.0 ? EFFACE_FACT_REAL : EFFACE_FACT_NONE,
         .real = p->width},
        {.name = "sample", .kind = EFFACE_FACT_WHOLE, .whole = p->sample},
        {.name = "steps", .kind = EFFACE_FACT_WHOLE, .whole = p->steps},
        {.name = "weight_unit", .kind = EFFACE_FACT_WHOLE, .whole = p->weight_unit},
    };
    const size_t n = sizeof facts / sizeof facts[0] - (p->weight_unit == 1);
    for (size_t i = 0; i < n; i++) {
        efface_fact fact = facts[i];
        fact.is_parameter = 1;
        to.each(to.context, &fact);
    }
}
