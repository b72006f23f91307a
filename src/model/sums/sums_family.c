/* The family `sums`: its table of functions, its parameters, and the means as a predictor. */
#include "base/checked.h"
#include "base/status.h"
#include "model/families.h"
#include "model/sums/sums.h"

#include <string.h>

#define PARAMS_VERSION 1 /* of the struct: moves when it gets other fields */
#define RECORD_VERSION 1 /* of its bytes */

/* ---------------------------------------------------------------- parameters */

void efface_sums_params_init(efface_sums_params *params) {
    *params = (efface_sums_params){
        .common = {.version = PARAMS_VERSION, .family = EFFACE_FAMILY_SUMS},
    };
}

static efface_status check_params(const efface_params *common, efface_error *error) {
    const efface_sums_params *const params = (const void *)common;
    if (common->version != PARAMS_VERSION || common->family != EFFACE_FAMILY_SUMS)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters must be filled by efface_sums_params_init first");
    if (!(params->bound >= 0.0 && params->bound <= EFFACE_MAX_MAGNITUDE))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the bound must be above 0 and at most 2^126, or 0 to derive it, not %g",
                       params->bound);
    return EFFACE_OK;
}

static efface_params *copy_params(const efface_params *params, uint32_t n_columns) {
    efface_sums_params *const copy = ef_alloc(1, sizeof *copy);
    (void)n_columns;
    if (copy == NULL)
        return NULL;
    memcpy(copy, params, sizeof *copy);
    return &copy->common;
}

static void write_params(ef_writer *w, const efface_params *params, uint32_t n_columns) {
    (void)n_columns;
    ef_write_u32(w, RECORD_VERSION);
    ef_write_u64(w, params->seed);
    ef_write_f64(w, ((const efface_sums_params *)(const void *)params)->bound);
}

static efface_status read_params(ef_decoder *r, uint32_t n_columns, efface_params **out,
                                 efface_error *error) {
    efface_sums_params params;
    efface_sums_params_init(&params);
    const uint32_t version = ef_read_u32(r);
    params.common.seed = ef_read_u64(r);
    params.bound = ef_read_f64(r);
    if (r->failed || r->n_bytes != 0 || version != RECORD_VERSION)
        return ef_fail(error, EFFACE_E_FORMAT, "the parameters of a model are invalid");
    *out = copy_params(&params.common, n_columns);
    return *out != NULL ? EFFACE_OK : ef_fail_memory(error);
}

static void describe_params(const efface_params *params, ef_listener to) {
    const double bound = ((const efface_sums_params *)(const void *)params)->bound;
    to.each(to.context, &(efface_fact){.name = "bound",
                                       .kind = bound > 0.0 ? EFFACE_FACT_REAL : EFFACE_FACT_NONE,
                                       .real = bound,
                                       .is_parameter = 1});
}

/* ---------------------------------------------------------------- the state */

static efface_status fit_again(const void *state, const efface_data *data, void **fresh,
                               efface_error *error) {
    return ef_sums_fit(data, &((const ef_sums *)state)->params.common, fresh, error);
}

static const efface_params *params_of(const void *state) {
    return &((const ef_sums *)state)->params.common;
}

static ef_totals totals_of(const void *state) {
    return ((const ef_sums *)state)->totals;
}

static size_t n_bytes(const void *state) {
    const ef_sums *const s = state;
    return sizeof *s + s->n_columns * (sizeof *s->sums + sizeof *s->exponents);
}

static uint64_t n_visited(const void *state) {
    return ((const ef_sums *)state)->totals.n_rows;
}

static void describe(const void *state, ef_listener to) {
    (void)state;
    (void)to;
}

static bool is_outdated(const unsigned char *bytes, size_t n) {
    (void)bytes;
    (void)n;
    return false;
}

/* ---------------------------------------------------------------- the means, as a predictor */

typedef struct means {
    const ef_sums *of; /* or, of one that was read: */
    double *own;
    uint32_t n_columns;
} means;

static void lend(const void *state, ef_lent *room) {
    const ef_sums *const s = state;
    const means lent = {.of = s, .n_columns = s->n_columns};
    memcpy(room, &lent, sizeof lent);
}

static bool has_rows(const means *m) {
    return m->own != NULL || m->of->totals.n_rows != 0;
}

static double mean_of(const means *m, uint32_t column) {
    return m->own != NULL ? m->own[column] : ef_sums_mean(m->of, column);
}

static void write_predictor(ef_writer *w, const void *predictor) {
    const means *const m = predictor;
    for (uint32_t j = 0; j < m->n_columns; j++)
        ef_write_f64(w, mean_of(m, j));
}

static efface_status read_predictor(ef_decoder *r, uint32_t d, void **out, efface_error *error) {
    means *const m = ef_alloc_zero(1, sizeof *m);
    double *const own = ef_alloc(d, sizeof *own);
    if (m == NULL || own == NULL) {
        ef_free(m);
        ef_free(own);
        return ef_fail_memory(error);
    }
    *m = (means){.own = own, .n_columns = d};
    bool right = ef_decoder_has(r, d, sizeof *own);
    for (uint32_t j = 0; j < d; j++) {
        own[j] = ef_read_f64(r);
        right &= own[j] >= -EFFACE_MAX_MAGNITUDE && own[j] <= EFFACE_MAX_MAGNITUDE;
    }
    if (right) {
        *out = m;
        return EFFACE_OK;
    }
    ef_free(own);
    ef_free(m);
    return ef_fail(error, EFFACE_E_FORMAT, "the published model is damaged: a mean");
}

static void free_predictor(void *predictor) {
    means *const m = predictor;
    ef_free(m->own);
    ef_free(m);
}

static efface_predicts predicts(const void *predictor, uint32_t *n_numbers) {
    const means *const m = predictor;
    *n_numbers = has_rows(m) ? m->n_columns : 0;
    return EFFACE_PREDICTS_VALUES;
}

static efface_status predict(const void *predictor, size_t n_rows, const float *values,
                             size_t stride, efface_number *numbers, efface_error *error) {
    const means *const m = predictor;
    (void)values;
    (void)stride;
    if (!has_rows(m))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the model has no rows, so it has no means; learn rows first");
    for (size_t i = 0; i < n_rows; i++)
        for (uint32_t j = 0; j < m->n_columns; j++)
            numbers[i * m->n_columns + j].real = mean_of(m, j);
    return EFFACE_OK;
}

static bool get_table(const void *predictor, uint32_t number, efface_table *table) {
    const means *const m = predictor;
    if (number != 0)
        return false;
    *table = (efface_table){.name = "means",
                            .row_name = "row",
                            .n_rows = has_rows(m) ? 1 : 0,
                            .n_columns = m->n_columns};
    return true;
}

static efface_status read_table(const void *predictor, uint32_t number, uint64_t row,
                                const double *offsets, double *values, efface_error *error) {
    const means *const m = predictor;
    (void)number;
    (void)row;
    (void)error;
    for (uint32_t j = 0; j < m->n_columns; j++)
        values[j] = mean_of(m, j) + (offsets != NULL ? offsets[j] : 0.0);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- the table */

const ef_family ef_sums_family = {
    .number = EFFACE_FAMILY_SUMS,
    .name = "sums",
    .check_params = check_params,
    .copy_params = copy_params,
    .write_params = write_params,
    .read_params = read_params,
    .describe_params = describe_params,
    .fit = ef_sums_fit,
    .fit_again = fit_again,
    .free = ef_sums_free,
    .params = params_of,
    .totals = totals_of,
    .n_bytes = n_bytes,
    .n_visited = n_visited,
    .describe = describe,
    .follow = ef_sums_follow,
    .commit = ef_sums_commit,
    .drop = ef_sums_free,
    .write = ef_sums_write,
    .read = ef_sums_read,
    .attach = ef_sums_attach,
    .is_outdated = is_outdated,
    .locate = ef_sums_locate,
    .lend = lend,
    .write_predictor = write_predictor,
    .read_predictor = read_predictor,
    .free_predictor = free_predictor,
    .predicts = predicts,
    .predict = predict,
    .table = get_table,
    .read_table = read_table,
};

efface_status efface_sums_fit(const efface_data *data, const efface_sums_params *params,
                              efface_model **out, efface_error *error) {
    if (params != NULL && params->common.family != EFFACE_FAMILY_SUMS)
        return check_params(&params->common, error);
    return ef_model_fit(data, params != NULL ? &params->common : NULL, out, error);
}

efface_sums_params efface_sums_get_params(const efface_model *model) {
    const ef_sums *const s = ef_model_state(model, &ef_sums_family, NULL);
    efface_sums_params params;
    efface_sums_params_init(&params);
    if (s != NULL) {
        params.common.n_threads = s->params.common.n_threads;
        params.bound = s->params.bound;
    }
    return params;
}
