/* A model of any family: what every verb but those that change it does (family.h). */
#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/family.h"
#include "model/request/missing_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- making */

efface_status ef_model_create(const ef_family *family, void *state, uint32_t n_columns,
                              efface_model **out, efface_error *error) {
    efface_model *const model = ef_alloc_zero(1, sizeof *model);
    if (model == NULL) {
        family->free(state);
        return ef_fail_memory(error);
    }
    *model = (efface_model){.family = family, .state = state, .n_columns = n_columns};
    model->lent = (efface_predictor){.family = family, .lender = model, .n_columns = n_columns};
    *out = model;
    return EFFACE_OK;
}

void efface_model_free(efface_model *model) {
    if (model == NULL)
        return;
    model->family->free(model->state);
    ef_free(model);
}

/* The family of the parameters of a fit, which are checked. `wanted` may be NULL: any. */
static efface_status check_fit(const ef_family *wanted, const efface_data *data,
                               const efface_params *params, efface_model **out,
                               const ef_family **family, efface_error *error) {
    if (data == NULL || params == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data, params and out must not be NULL");
    if (wanted != NULL && params->family != wanted->number)
        return wanted->check_params(params, error);
    return ef_family_check(params, family, error);
}

efface_status ef_model_fit_as(const ef_family *wanted, const efface_data *data,
                              const efface_params *params, efface_model **out,
                              efface_error *error) {
    const ef_family *family = NULL;
    ef_team *const team = ef_team_of_call(data);
    efface_model *model = NULL;
    void *state = NULL;
    efface_status status = check_fit(wanted, data, params, out, &family, error);
    EF_THEN(status, ef_check_missing(family, params, data, error));
    EF_THEN(status, family->fit(data, params, &state, error));
    EF_THEN(status, ef_model_create(family, state, data->n_columns, &model, error));
    status = ef_team_agree(team, status, error);
    if (status == EFFACE_OK) {
        model->stamp = data->stamp;
        *out = model;
    } else {
        efface_model_free(model);
    }
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}

efface_status ef_model_fit(const efface_data *data, const efface_params *params, efface_model **out,
                           efface_error *error) {
    return ef_model_fit_as(NULL, data, params, out, error);
}

void *ef_model_state(const efface_model *model, const ef_family *family, efface_error *error) {
    if (model == NULL)
        (void)ef_fail(error, EFFACE_E_ARGUMENT, "the model must not be NULL");
    else if (model->family != family)
        (void)ef_fail(error, EFFACE_E_ARGUMENT,
                      "this is a model of the family %s; the call is for models of the family %s",
                      model->family->name, family->name);
    else
        return model->state;
    return NULL;
}

/* ---------------------------------------------------------------- canonical bytes */

efface_status efface_model_encode(const efface_model *model, unsigned char **bytes, size_t *n_bytes,
                                  efface_error *error) {
    if (model == NULL || bytes == NULL || n_bytes == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, bytes and n_bytes must not be NULL");
    ef_writer writer = {0};
    model->family->write(&writer, model->state);
    if (writer.failed) {
        ef_free(writer.bytes);
        return ef_fail_memory(error);
    }
    *bytes = writer.bytes;
    *n_bytes = writer.n_bytes;
    return EFFACE_OK;
}

void efface_bytes_free(unsigned char *bytes) {
    ef_free(bytes);
}

efface_status ef_state_digest(const ef_family *family, const unsigned char *bytes, size_t n_bytes,
                              unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    ef_cuts cuts = {0};
    efface_status status = EFFACE_OK;
    if (family->cut == NULL)
        ef_digest(bytes, n_bytes, digest);
    else
        status = family->cut(bytes, n_bytes, &cuts, error);
    if (status == EFFACE_OK && family->cut != NULL)
        ef_digest_sections(bytes, n_bytes, &cuts, digest);
    ef_free(cuts.at);
    return status;
}

efface_status efface_model_digest(const efface_model *model,
                                  unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    if (digest == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "digest must not be NULL");
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    efface_status status = efface_model_encode(model, &bytes, &n_bytes, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_state_digest(model->family, bytes, n_bytes, digest, error);
    efface_bytes_free(bytes);
    return status;
}

efface_status ef_model_read(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                            efface_model **out, efface_error *error) {
    const ef_family *family = NULL;
    void *state = NULL;
    efface_status status = ef_family_check(params, &family, error);
    EF_THEN(status, family->read(decoder, params, n_columns, &state, error));
    if (status == EFFACE_OK && decoder->n_bytes != 0) {
        family->free(state);
        status = ef_fail(error, EFFACE_E_FORMAT,
                         "the state of the model is damaged or was made with other parameters: "
                         "bytes are left over");
    }
    return status == EFFACE_OK ? ef_model_create(family, state, n_columns, out, error) : status;
}

efface_status ef_model_open(ef_sections *sections, const efface_params *params, uint32_t n_columns,
                            efface_model **out, efface_error *error) {
    const ef_family *family = NULL;
    void *state = NULL;
    efface_status status = ef_family_check(params, &family, error);
    EF_THEN(status, family->open(sections, params, n_columns, &state, error));
    return status == EFFACE_OK ? ef_model_create(family, state, n_columns, out, error) : status;
}

efface_status ef_model_attach(efface_model *model, const efface_data *data, efface_error *error) {
    const ef_totals totals = model->family->totals(model->state);
    const ef_counts *const whole = ef_data_whole(data);
    if (data->n_columns != model->n_columns || whole->n_rows != totals.n_rows ||
        whole->total_weight != totals.total_weight)
        return ef_fail(error, EFFACE_E_FORMAT,
                       "the state of the model is damaged or was made with other parameters: it "
                       "belongs to other rows");
    efface_status status =
        ef_check_missing(model->family, model->family->params(model->state), data, error);
    EF_THEN(status, model->family->attach(model->state, data, error));
    if (status == EFFACE_OK)
        model->stamp = data->stamp;
    return status;
}

efface_status efface_model_decode(const unsigned char *bytes, size_t n_bytes,
                                  const efface_params *params, const efface_data *data,
                                  efface_model **out, efface_error *error) {
    ef_decoder decoder = {.bytes = bytes, .n_bytes = n_bytes};
    ef_team *const team = ef_team_of_call(data);
    efface_model *model = NULL;
    efface_status status =
        bytes != NULL && params != NULL && data != NULL && out != NULL
            ? ef_model_read(&decoder, params, data->n_columns, &model, error)
            : ef_fail(error, EFFACE_E_ARGUMENT, "bytes, params, data and out must not be NULL");
    EF_THEN(status, ef_model_attach(model, data, error));
    status = ef_team_agree(team, status, error);
    if (status == EFFACE_OK)
        *out = model;
    else
        efface_model_free(model);
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}

size_t efface_model_state_bytes(const efface_model *model) {
    return sizeof *model + model->family->n_bytes(model->state);
}

/* ---------------------------------------------------------------- looking */

void efface_model_describe(const efface_model *model,
                           void (*each)(void *context, const efface_fact *fact), void *context) {
    const ef_listener to = {each, context};
    model->family->describe_params(model->family->params(model->state), to);
    model->family->describe(model->state, to);
}
