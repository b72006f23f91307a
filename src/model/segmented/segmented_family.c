/* The family `segmented`: its table of functions, and what only it has. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/families.h"
#include "model/segmented/regressions.h"

/* ---------------------------------------------------------------- the state */

static const efface_params *params_of(const void *state) {
    return &((const ef_segmented *)state)->params->common;
}

static ef_totals totals_of(const void *state) {
    const ef_kmeans *const kmeans = ((const ef_segmented *)state)->kmeans;
    return (ef_totals){kmeans->n_rows, kmeans->total_weight};
}

static size_t n_bytes(const void *state) {
    const ef_segmented *const s = state;
    const ef_regressions *const kept = atomic_load(&((ef_segmented *)(uintptr_t)s)->regressions);
    size_t n = sizeof *s + ef_kmeans_bytes(s->kmeans);
    n += s->coordinates.n_columns * (5 * sizeof(uint32_t) + 1);
    for (uint32_t c = 0; c < s->n_segments; c++)
        n += sizeof s->segments[c] + ef_moments_bytes(&s->segments[c]);
    n += s->labels.capacity * sizeof *s->labels.of;
    return n + (kept != NULL ? ef_regressions_bytes(kept) : 0);
}

static uint64_t n_visited(const void *state, const efface_data *data) {
    return ((const ef_segmented *)state)->kmeans->work.rows_assigned + 2 * data->n_rows;
}

static void describe_segmented(const void *state, ef_listener to) {
    const ef_segmented *const s = state;
    uint32_t n_empty = 0;
    for (uint32_t c = 0; c < s->n_segments; c++)
        n_empty += s->segments[c].n_rows == 0;
    ef_kmeans_describe(s->kmeans, to);
    to.each(to.context, &(efface_fact){.name = "segments", .whole = s->n_segments});
    to.each(to.context, &(efface_fact){.name = "empty_segments", .whole = n_empty});
}

/* ---------------------------------------------------------------- the table */

static const char *kind_of(const efface_params *params, const void *by) {
    (void)params, (void)by;
    return "segmented regression";
}

const ef_family ef_segmented_family = {
    .number = EFFACE_FAMILY_SEGMENTED,
    .name = "segmented",
    .check_params = ef_segmented_check_params,
    .copy_params = ef_segmented_copy_params,
    .write_params = ef_segmented_write_params,
    .read_params = ef_segmented_read_params,
    .describe_params = ef_segmented_describe_params,
    .kind = kind_of,
    .fit = ef_segmented_fit,
    .free = ef_segmented_free,
    .params = params_of,
    .totals = totals_of,
    .n_bytes = n_bytes,
    .n_visited = n_visited,
    .describe = describe_segmented,
    .follow = ef_segmented_follow,
    .commit = ef_segmented_commit,
    .drop = ef_segmented_drop,
    .write = ef_segmented_write,
    .read = ef_segmented_read,
    .attach = ef_segmented_attach,
    .locate = ef_segmented_locate,
    .lend = ef_segmented_lend,
    .write_predictor = ef_segmented_write_predictor,
    .read_predictor = ef_segmented_read_predictor,
    .free_predictor = ef_segmented_free_predictor,
    .predicts = ef_segmented_predicts,
    .predict = ef_segmented_predict,
    .table = ef_segmented_table,
    .read_table = ef_segmented_read_table,
    .is_input = ef_segmented_is_input,
    .value_column = ef_segmented_value_column,
};

/* ---------------------------------------------------------------- what only this family has */

efface_status efface_segmented_fit(const efface_data *data, const efface_segmented_params *params,
                                   efface_model **out, efface_error *error) {
    return ef_model_fit_as(&ef_segmented_family, data, params != NULL ? &params->common : NULL, out,
                           error);
}

efface_status efface_segmented_segments(const efface_model *model, size_t n_rows,
                                        const float *values, size_t stride, uint32_t *segments,
                                        efface_error *error) {
    const ef_segmented *const s = ef_model_state(model, &ef_segmented_family, error);
    if (s == NULL)
        return EFFACE_E_ARGUMENT;
    if (n_rows != 0 && (values == NULL || segments == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "values and segments must not be NULL");
    ef_lent room;
    ef_segmented_lend(s, &room);
    const efface_status status = ef_matrix_check(&ef_segmented_family, &room, model->n_columns,
                                                 n_rows, values, &stride, error);
    return status == EFFACE_OK ? ef_segmented_find(&room, n_rows, values, stride, segments, error)
                               : status;
}

efface_segmented_params efface_segmented_get_params(const efface_model *model) {
    const ef_segmented *const s = ef_model_state(model, &ef_segmented_family, NULL);
    efface_segmented_params params;
    efface_segmented_params_init(&params);
    if (s == NULL)
        return params;
    const uint32_t version = params.common.version;
    const efface_params kmeans = params.kmeans.common;
    params = *s->params;
    params.common = (efface_params){.version = version,
                                    .family = EFFACE_FAMILY_SEGMENTED,
                                    .n_threads = s->params->common.n_threads};
    params.kmeans.common = kmeans;
    return params;
}
