/* Verify: fit anew and compare, and if there is a difference, say where. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/request/missing_values.h"

#include <inttypes.h>
#include <string.h>

static efface_status check_model(const efface_model *model, const efface_data *data,
                                 const efface_difference *difference, efface_error *error) {
    if (model == NULL || data == NULL || difference == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, data and difference must not be NULL");
    if (data->n_columns != model->n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the set has %" PRIu32 " columns, but the model was fitted to %" PRIu32,
                       data->n_columns, model->n_columns);
    return ef_check_missing(model->family, model->family->params(model->state), data, error);
}

efface_status efface_model_verify(const efface_model *model, const efface_data *data,
                                  efface_difference *difference, efface_error *error) {
    ef_writer is = {0}, should = {0};
    void *fresh = NULL;
    ef_team *const team = ef_team_of_call(data);
    efface_status status = check_model(model, data, difference, error);
    if (status != EFFACE_OK)
        return ef_team_agree(team, status, error);
    const ef_family *const family = model->family;
    status = family->fit(data, family->params(model->state), &fresh, error);
    if (status == EFFACE_OK) {
        family->write(&is, model->state);
        family->write(&should, fresh);
        if (is.failed || should.failed)
            status = ef_fail_memory(error);
    }
    status = ef_team_agree(team, status, error);
    if (status == EFFACE_OK) {
        const bool same =
            is.n_bytes == should.n_bytes && memcmp(is.bytes, should.bytes, is.n_bytes) == 0;
        *difference = (efface_difference){.identical = same};
        if (!same)
            family->locate(model->state, fresh, difference);
    }
    ef_free(is.bytes);
    ef_free(should.bytes);
    if (fresh != NULL)
        family->free(fresh);
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}
