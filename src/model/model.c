/* A model of any family: what every verb but those that change it does (family.h). */
#include "base/checked.h"
#include "base/digest.h"
#include "base/status.h"
#include "model/family.h"

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
    *out = model;
    return EFFACE_OK;
}

void efface_model_free(efface_model *model) {
    if (model == NULL)
        return;
    model->family->free(model->state);
    ef_free(model);
}

efface_status ef_model_fit(const efface_data *data, const efface_params *params, efface_model **out,
                           efface_error *error) {
    if (data == NULL || params == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data, params and out must not be NULL");
    const ef_family *family = NULL;
    void *state = NULL;
    efface_status status = ef_family_check(params, &family, error);
    if (status == EFFACE_OK)
        status = family->fit(data, params, &state, error);
    if (status == EFFACE_OK)
        status = ef_model_create(family, state, data->n_columns, out, error);
    if (status == EFFACE_OK)
        (*out)->stamp = data->stamp;
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
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

efface_status efface_model_digest(const efface_model *model,
                                  unsigned char digest[EFFACE_DIGEST_BYTES], efface_error *error) {
    if (digest == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "digest must not be NULL");
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    const efface_status status = efface_model_encode(model, &bytes, &n_bytes, error);
    if (status != EFFACE_OK)
        return status;
    ef_digest(bytes, n_bytes, digest);
    efface_bytes_free(bytes);
    return EFFACE_OK;
}

efface_status ef_model_read(ef_decoder *decoder, const efface_params *params, uint32_t n_columns,
                            efface_model **out, efface_error *error) {
    const ef_family *family = NULL;
    void *state = NULL;
    efface_status status = ef_family_check(params, &family, error);
    if (status == EFFACE_OK)
        status = family->read(decoder, params, n_columns, &state, error);
    if (status == EFFACE_OK && decoder->n_bytes != 0) {
        family->free(state);
        status = ef_fail(error, EFFACE_E_FORMAT,
                         "the state of the model is damaged or was made with other parameters: "
                         "bytes are left over");
    }
    return status == EFFACE_OK ? ef_model_create(family, state, n_columns, out, error) : status;
}

efface_status ef_model_attach(efface_model *model, const efface_data *data, efface_error *error) {
    const ef_totals totals = model->family->totals(model->state);
    if (data->n_columns != model->n_columns || data->n_rows != totals.n_rows ||
        data->total_weight != totals.total_weight)
        return ef_fail(error, EFFACE_E_FORMAT,
                       "the state of the model is damaged or was made with other parameters: it "
                       "belongs to other rows");
    const efface_status status = model->family->attach(model->state, data, error);
    if (status == EFFACE_OK)
        model->stamp = data->stamp;
    return status;
}

efface_status efface_model_decode(const unsigned char *bytes, size_t n_bytes,
                                  const efface_params *params, const efface_data *data,
                                  efface_model **out, efface_error *error) {
    if (bytes == NULL || params == NULL || data == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "bytes, params, data and out must not be NULL");
    ef_decoder decoder = {.bytes = bytes, .n_bytes = n_bytes};
    efface_model *model = NULL;
    efface_status status = ef_model_read(&decoder, params, data->n_columns, &model, error);
    if (status == EFFACE_OK)
        status = ef_model_attach(model, data, error);
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

efface_model_info efface_model_get_info(const efface_model *model) {
    const ef_totals totals = model->family->totals(model->state);
    efface_model_info info = {.family = model->family->number,
                              .n_columns = model->n_columns,
                              .n_rows = totals.n_rows,
                              .total_weight = totals.total_weight};
    ef_lent by;
    model->family->lend(model->state, &by);
    info.predicts = model->family->predicts(&by, &info.n_numbers);
    return info;
}

void efface_model_describe(const efface_model *model,
                           void (*each)(void *context, const efface_fact *fact), void *context) {
    const ef_listener to = {each, context};
    model->family->describe_params(model->family->params(model->state), to);
    model->family->describe(model->state, to);
}

efface_status ef_matrix_check(size_t n_rows, uint32_t n_columns, const float *values,
                              size_t *stride, efface_error *error) {
    if (*stride != 0 && *stride < n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the stride of %zu is smaller than the number of columns, %" PRIu32, *stride,
                       n_columns);
    if (*stride == 0)
        *stride = n_columns;
    for (size_t i = 0; i < n_rows; i++)
        for (uint32_t j = 0; j < n_columns; j++)
            if (!(__builtin_fabsf(values[i * *stride + j]) <= (float)EFFACE_MAX_MAGNITUDE))
                return ef_fail(error, EFFACE_E_LIMIT,
                               "row %zu, column %" PRIu32 ": the value is not a finite number of "
                               "magnitude 2^126 or less",
                               i + 1, j + 1);
    return EFFACE_OK;
}

efface_status efface_model_predict(const efface_model *model, size_t n_rows, const float *values,
                                   size_t stride, efface_number *numbers, efface_error *error) {
    if (model == NULL || (n_rows != 0 && (values == NULL || numbers == NULL)))
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, values and numbers must not be NULL");
    const efface_status status = ef_matrix_check(n_rows, model->n_columns, values, &stride, error);
    if (status != EFFACE_OK)
        return status;
    ef_lent by;
    model->family->lend(model->state, &by);
    return model->family->predict(&by, n_rows, values, stride, numbers, error);
}

/* ---------------------------------------------------------------- tables */

efface_status ef_table_find(const ef_family *family, const void *predictor, const char *name,
                            uint32_t *number, efface_table *table, efface_error *error) {
    char names[256] = "none";
    size_t used = 0;
    efface_table found;
    for (uint32_t i = 0; family->table(predictor, i, &found); i++) {
        if (name == NULL ? i == *number : strcmp(found.name, name) == 0) {
            *number = i;
            *table = found;
            return EFFACE_OK;
        }
        const int n =
            snprintf(names + used, sizeof names - used, "%s%s", i != 0 ? ", " : "", found.name);
        used += n > 0 && (size_t)n < sizeof names - used ? (size_t)n : 0;
    }
    return name != NULL
               ? ef_fail(error, EFFACE_E_NOT_FOUND,
                         "there is no table %.64s; the tables of this model are: %s", name, names)
               : ef_fail(error, EFFACE_E_NOT_FOUND,
                         "there is no table number %" PRIu32 "; the tables of this model are: %s",
                         *number, names);
}

efface_status ef_table_read(const ef_family *family, const void *predictor, const char *name,
                            uint64_t row, double *values, efface_error *error) {
    uint32_t number = 0;
    efface_table table;
    const efface_status status = ef_table_find(family, predictor, name, &number, &table, error);
    if (status != EFFACE_OK)
        return status;
    if (row >= table.n_rows)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there is no %s %" PRIu64 "; the table %s has %" PRIu64 " of them",
                       table.row_name, row, table.name, table.n_rows);
    family->read_table(predictor, number, row, values);
    return EFFACE_OK;
}

efface_status efface_model_get_table(const efface_model *model, uint32_t number,
                                     efface_table *table, efface_error *error) {
    if (model == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model and table must not be NULL");
    ef_lent by;
    model->family->lend(model->state, &by);
    return ef_table_find(model->family, &by, NULL, &number, table, error);
}

efface_status efface_model_find_table(const efface_model *model, const char *name,
                                      efface_table *table, efface_error *error) {
    if (model == NULL || name == NULL || table == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, name and table must not be NULL");
    uint32_t number = 0;
    ef_lent by;
    model->family->lend(model->state, &by);
    return ef_table_find(model->family, &by, name, &number, table, error);
}

efface_status efface_model_read_table(const efface_model *model, const char *name, uint64_t row,
                                      double *values, efface_error *error) {
    if (model == NULL || name == NULL || values == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model, name and values must not be NULL");
    ef_lent by;
    model->family->lend(model->state, &by);
    return ef_table_read(model->family, &by, name, row, values, error);
}
