/* The family `logistic`: its table of functions, and what only it has. */
#include "base/errors/status.h"
#include "model/families.h"
#include "model/logistic/logistic.h"

static const efface_params *params_of(const void *state) {
    return &((const ef_logistic *)state)->params->common;
}

static ef_totals totals_of(const void *state) {
    return ((const ef_logistic *)state)->counts.totals;
}

static size_t n_bytes(const void *state) {
    const ef_logistic *const s = state;
    size_t n = sizeof *s + ef_moments_bytes(&s->counts.all) + ef_moments_bytes(&s->sample);
    n += s->counts.n_classes * (sizeof *s->counts.labels + sizeof *s->counts.class_rows);
    if (s->n_runs != 0)
        n += ((size_t)s->n_terms + 4) * s->n_terms * sizeof(double);
    for (uint32_t run = 0; run < s->n_runs; run++)
        n += ef_run_bytes(&s->runs[run], s->n_terms);
    return n;
}

static uint64_t n_visited(const void *state, const efface_data *data) {
    return ef_logistic_visits(state, data->n_rows);
}

static void describe_logistic(const void *state, ef_listener to) {
    const ef_logistic *const s = state;
    const uint64_t n_without = s->counts.totals.n_rows - s->counts.all.n_rows;
    to.each(to.context, &(efface_fact){.name = "classes", .whole = s->counts.n_classes});
    to.each(to.context, &(efface_fact){.name = "rows_without_class", .whole = n_without});
    to.each(to.context, &(efface_fact){.name = "rows_of_sample", .whole = s->sample.n_rows});
    if (s->n_runs != 0)
        to.each(to.context, &(efface_fact){.name = "width_of_lattice",
                                           .kind = EFFACE_FACT_REAL,
                                           .real = ef_logistic_width(s)});
}

static const char *kind_of(const efface_params *params, const void *by) {
    const bool hinge = params != NULL
                           ? ((const efface_logistic_params *)(const void *)params)->loss ==
                                 EFFACE_LOSS_SQUARED_HINGE
                           : ef_logistic_predicts_hinge(by);
    return hinge ? "linear support vector machine" : "logistic regression";
}

const ef_family ef_logistic_family = {
    .number = EFFACE_FAMILY_LOGISTIC,
    .name = "logistic",
    .check_params = ef_logistic_check_params,
    .copy_params = ef_logistic_copy_params,
    .write_params = ef_logistic_write_params,
    .read_params = ef_logistic_read_params,
    .describe_params = ef_logistic_describe_params,
    .kind = kind_of,
    .fit = ef_logistic_fit,
    .free = ef_logistic_free,
    .params = params_of,
    .totals = totals_of,
    .n_bytes = n_bytes,
    .n_visited = n_visited,
    .describe = describe_logistic,
    .follow = ef_logistic_follow,
    .commit = ef_logistic_commit,
    .drop = ef_logistic_drop,
    .write = ef_logistic_write,
    .read = ef_logistic_read,
    .attach = ef_logistic_attach,
    .locate = ef_logistic_locate,
    .lend = ef_logistic_lend,
    .write_predictor = ef_logistic_write_predictor,
    .read_predictor = ef_logistic_read_predictor,
    .free_predictor = ef_logistic_free_predictor,
    .predicts = ef_logistic_predicts,
    .predict = ef_logistic_predict,
    .table = ef_logistic_table,
    .read_table = ef_logistic_read_table,
    .classes = ef_logistic_classes,
    .score = ef_logistic_score,
};

efface_status efface_logistic_fit(const efface_data *data, const efface_logistic_params *params,
                                  efface_model **out, efface_error *error) {
    return ef_model_fit_as(&ef_logistic_family, data, params != NULL ? &params->common : NULL, out,
                           error);
}

efface_logistic_params efface_logistic_get_params(const efface_model *model) {
    const ef_logistic *const s = ef_model_state(model, &ef_logistic_family, NULL);
    efface_logistic_params params;
    efface_logistic_params_init(&params);
    if (s == NULL)
        return params;
    const efface_params common = params.common;
    params = *s->params;
    params.common = common;
    params.common.n_threads = s->params->common.n_threads;
    return params;
}

uint64_t efface_logistic_sampled(const efface_model *model) {
    const ef_logistic *const s = ef_model_state(model, &ef_logistic_family, NULL);
    return s != NULL ? s->sample.n_rows : 0;
}
