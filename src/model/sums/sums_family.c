/* The family `sums`: its table of functions, its views as predictors, and what only it has. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/families.h"
#include "model/sums/views/regression.h"
#include "model/sums/views/view_tables.h"
#include "model/sums/views/views.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- the state */

static const efface_params *params_of(const void *state) {
    return &((const ef_sums *)state)->params->common;
}

static ef_totals totals_of(const void *state) {
    return ((const ef_sums *)state)->totals;
}

static size_t n_bytes(const void *state) {
    const ef_sums *const s = state;
    size_t n = sizeof *s + ef_moments_bytes(&s->all);
    for (uint32_t c = 0; c < s->n_classes; c++)
        n += sizeof *s->classes + sizeof *s->labels + ef_moments_bytes(&s->classes[c]);
    if (s->coordinates.spreads != NULL)
        n += ef_spreads_bytes(s->coordinates.spreads);
    return n + s->coordinates.fourier.n_features * ((size_t)s->coordinates.fourier.n_inputs + 1) *
                   sizeof(double);
}

static uint64_t n_visited(const void *state, const efface_data *data) {
    (void)state;
    return data->n_rows;
}

static void describe_sums(const void *state, ef_listener to) {
    const ef_sums *const s = state;
    if (s->by_class == EFFACE_SUMMED_NEEDED)
        return;
    to.each(to.context, &(efface_fact){.name = "classes", .whole = s->n_classes});
    to.each(to.context, &(efface_fact){.name = "rows_without_class",
                                       .whole = s->totals.n_rows - s->all.n_rows});
}

/* ---------------------------------------------------------------- predictors */

/* A view that was read or handed out; or sums that have one. */
typedef struct ef_sums_predictor {
    const ef_sums *of;
    ef_view *own;
} predictor;

static void lend_sums(const void *state, ef_lent *room) {
    const predictor lent = {.of = state};
    memcpy(room, &lent, sizeof lent);
}

/* The view of sums, which is computed now if nobody has asked since the last change. Threads that
 * ask at the same time compute it twice, and one of them gives its own up. */
static efface_status view_of_sums(const ef_sums *of, bool more, const ef_view **out,
                                  efface_error *error) {
    _Atomic(ef_view *) *const kept = &of->views[more];
    ef_look look = ef_look_of(of->params);
    look.more = more;
    *out = atomic_load(kept);
    if (*out != NULL)
        return EFFACE_OK;
    ef_view *made = NULL, *other = NULL;
    efface_status status = ef_view_check(of, &look, error);
    EF_THEN(status, ef_view_compute(of, &look, &made, error));
    if (status != EFFACE_OK)
        return status;
    if (!atomic_compare_exchange_strong(kept, &other, made)) {
        ef_view_free(made);
        made = other;
    }
    *out = made;
    return EFFACE_OK;
}

static efface_status view_of(const predictor *p, bool more, const ef_view **out,
                             efface_error *error) {
    *out = p->own;
    return p->own != NULL ? EFFACE_OK : view_of_sums(p->of, more, out, error);
}

static void write_predictor(ef_writer *w, const void *by) {
    const ef_view *v;
    if (view_of(by, false, &v, NULL) == EFFACE_OK)
        ef_view_write(w, v);
    else
        w->failed = true;
}

static efface_status read_predictor(ef_decoder *r, uint32_t d, void **out, efface_error *error) {
    predictor *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    const efface_status status = ef_view_read(r, d, &p->own, error);
    if (status == EFFACE_OK)
        *out = p;
    else
        ef_free(p);
    return status;
}

static void free_predictor(void *by) {
    predictor *const p = by;
    ef_view_free(p->own);
    ef_free(p);
}

/* What is known of a view without computing it. */
static ef_view_shape shape_of(const predictor *p) {
    if (p->own != NULL)
        return ef_view_shape_of(p->own);
    const ef_sums *const s = p->of;
    const ef_look look = ef_look_of(s->params);
    const ef_coordinates *const c = &s->coordinates;
    return (ef_view_shape){
        .view = look.view,
        .is_quadratic = look.view == EFFACE_VIEW_DISCRIMINANT && look.discriminant.quadratic,
        .is_scaled =
            look.view == EFFACE_VIEW_COMPONENTS && look.components.scale == EFFACE_SCALE_STANDARD,
        .is_whole = true,
        .has_more = true,
        .n_columns = c->n_columns,
        .n_terms = c->n_terms,
        .n_outputs = ef_view_check(s, &look, NULL) == EFFACE_OK ? ef_view_outputs(s, &look) : 0,
        .columns = c->fourier.n_features == 0 ? c->inputs : NULL,
        .ids = look.view == EFFACE_VIEW_LINEAR ? c->target_ids : s->labels,
    };
}

static efface_predicts predicts_sums(const void *by, uint32_t *n_numbers) {
    const ef_view_shape shape = shape_of(by);
    *n_numbers = ef_view_has_classes(shape.view) && shape.n_outputs != 0 ? 1 : shape.n_outputs;
    return ef_view_has_classes(shape.view) ? EFFACE_PREDICTS_CLASSES : EFFACE_PREDICTS_VALUES;
}

static efface_status predict_sums(const void *by, size_t n_rows, const float *values, size_t stride,
                                  efface_number *numbers, efface_error *error) {
    const ef_view *v;
    const efface_status status = view_of(by, false, &v, error);
    if (status != EFFACE_OK)
        return status;
    return (ef_view_has_classes(v->view) ? ef_view_classes : ef_view_values)(
        v, n_rows, values, stride, numbers, error);
}

static efface_status score_sums(const void *by, efface_scores scores, size_t n_rows,
                                const float *values, size_t stride, double *numbers,
                                efface_error *error) {
    const ef_view *v;
    if (!ef_view_has_classes(shape_of(by).view))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the model predicts values, not classes, so that it has no scores");
    const efface_status status = view_of(by, false, &v, error);
    return status == EFFACE_OK ? ef_view_scores(v, scores, n_rows, values, stride, numbers, error)
                               : status;
}

static uint32_t classes_of(const void *by, int64_t *classes, size_t capacity) {
    const predictor *const p = by;
    const bool own = p->own != NULL;
    if (!ef_view_has_classes(own ? p->own->view : p->of->params->view))
        return 0;
    const uint32_t n = own ? p->own->n_outputs : p->of->n_classes;
    const int64_t *const labels = own ? p->own->ids : p->of->labels;
    for (uint32_t c = 0; c < n && c < capacity; c++)
        classes[c] = labels[c];
    return n;
}

static bool is_input(const void *by, uint32_t column) {
    const predictor *const p = by;
    if (p->own == NULL)
        return p->of->params->view == EFFACE_VIEW_MEANS ||
               ef_coordinates_target(&p->of->coordinates, column) == EFFACE_NO_COLUMN;
    for (uint32_t j = 0; j < p->own->n_inputs; j++)
        if (p->own->inputs[j] == column)
            return true;
    return p->own->view == EFFACE_VIEW_MEANS;
}

static uint32_t value_column(const void *by, uint32_t number) {
    const ef_view_shape shape = shape_of(by);
    if (number >= shape.n_outputs)
        return EFFACE_NO_COLUMN;
    return shape.view == EFFACE_VIEW_MEANS    ? number
           : shape.view == EFFACE_VIEW_LINEAR ? (uint32_t)shape.ids[number]
                                              : EFFACE_NO_COLUMN;
}

/* ---------------------------------------------------------------- tables */

static bool get_table(const void *by, uint32_t number, efface_table *table) {
    const ef_view_shape shape = shape_of(by);
    bool more;
    return ef_view_table(&shape, number, table, &more);
}

static efface_status read_table(const void *by, uint32_t number, uint64_t row,
                                const double *offsets, double *values, efface_error *error) {
    const ef_view_shape shape = shape_of(by);
    const ef_view *v;
    efface_table table;
    bool more = false;
    (void)ef_view_table(&shape, number, &table, &more);
    const efface_status status = view_of(by, more, &v, error);
    if (status == EFFACE_OK)
        ef_view_read_table(v, &shape, number, row, offsets, values);
    return status;
}

/* ---------------------------------------------------------------- the table of functions */

static const char *kind_of(const efface_params *params, const void *by) {
    const efface_sums_params *p = (const void *)params;
    const predictor *const from = by;
    if (p == NULL && from->own == NULL)
        p = from->of->params;
    const uint32_t n_fourier = p != NULL ? p->n_fourier : from->own->fourier.n_features;
    switch (p != NULL ? p->view : from->own->view) {
    case EFFACE_VIEW_MEANS: return "means";
    case EFFACE_VIEW_LINEAR:
        return n_fourier != 0 ? "kernel ridge regression" : "linear regression";
    case EFFACE_VIEW_RIDGE: return "ridge classifier";
    case EFFACE_VIEW_BAYES: return "naive Bayes";
    case EFFACE_VIEW_DISCRIMINANT: return "discriminant analysis";
    case EFFACE_VIEW_COMPONENTS: return "principal components";
    }
    return "sums";
}

const ef_family ef_sums_family = {
    .number = EFFACE_FAMILY_SUMS,
    .name = "sums",
    .check_params = ef_sums_check_params,
    .copy_params = ef_sums_copy_params,
    .write_params = ef_sums_write_params,
    .read_params = ef_sums_read_params,
    .describe_params = ef_sums_describe_params,
    .kind = kind_of,
    .fit = ef_sums_fit,
    .free = ef_sums_free,
    .params = params_of,
    .totals = totals_of,
    .n_bytes = n_bytes,
    .n_visited = n_visited,
    .describe = describe_sums,
    .follow = ef_sums_follow,
    .commit = ef_sums_commit,
    .drop = ef_sums_drop,
    .write = ef_sums_write,
    .read = ef_sums_read,
    .attach = ef_sums_attach,
    .locate = ef_sums_locate,
    .lend = lend_sums,
    .write_predictor = write_predictor,
    .read_predictor = read_predictor,
    .free_predictor = free_predictor,
    .predicts = predicts_sums,
    .predict = predict_sums,
    .table = get_table,
    .read_table = read_table,
    .is_input = is_input,
    .value_column = value_column,
    .classes = classes_of,
    .score = score_sums,
};

efface_status efface_sums_fit(const efface_data *data, const efface_sums_params *params,
                              efface_model **out, efface_error *error) {
    return ef_model_fit_as(&ef_sums_family, data, params != NULL ? &params->common : NULL, out,
                           error);
}

efface_sums_params efface_sums_get_params(const efface_model *model) {
    const ef_sums *const s = ef_model_state(model, &ef_sums_family, NULL);
    efface_sums_params params;
    efface_sums_params_init(&params);
    if (s == NULL)
        return params;
    const efface_params common = params.common;
    params = *s->params;
    params.common = common;
    params.common.n_threads = s->params->common.n_threads;
    return params;
}

/* ---------------------------------------------------------------- features to look at */

uint32_t efface_sums_coarse_columns(const efface_model *model, uint32_t *columns,
                                    uint32_t capacity) {
    const ef_sums *const s = ef_model_state(model, &ef_sums_family, NULL);
    uint32_t n = 0;
    if (s == NULL || s->all.weight <= 0)
        return 0;
    const ef_coordinates *const c = &s->coordinates;
    const bool by_class = s->summed == EFFACE_SUMMED_MEANS;
    if (by_class && s->by_class < EFFACE_SUMMED_DIAGONAL)
        return 0;
    for (uint32_t i = 0; i < c->n_columns && c->fourier.n_features == 0; i++) {
        const double variance = by_class ? ef_sums_variance(s, i) : ef_moments_variance(&s->all, i);
        /* Values of a column mostly spread over four deviations. */
        if (!(variance > 0.0 && 4.0 * sqrt(variance) < EF_COARSE_STEPS))
            continue;
        if (n < capacity)
            columns[n] = i;
        n++;
    }
    return n;
}

uint32_t efface_sums_dropped(const efface_model *model, uint32_t *features, uint32_t capacity) {
    const ef_sums *const s = ef_model_state(model, &ef_sums_family, NULL);
    const ef_view *v = NULL;
    uint32_t n = 0;
    if (s == NULL || view_of_sums(s, false, &v, NULL) != EFFACE_OK)
        return 0;
    for (uint32_t j = 0; j < v->n_terms; j++) {
        if (!v->dropped[j])
            continue;
        if (n < capacity)
            features[n] = v->fourier.n_features != 0 ? j : v->inputs[j];
        n++;
    }
    return n;
}

/* ---------------------------------------------------------------- other views */

/* Replaces what a look has for a view by parameters, unless they are NULL, and checks them. */
static efface_status choose_sums(ef_look *look, efface_view view, const void *params,
                                 efface_error *error) {
    look->view = view;
    switch (view) {
    case EFFACE_VIEW_LINEAR:
    case EFFACE_VIEW_RIDGE:
        if (params != NULL)
            look->linear = *(const efface_linear_params *)params;
        look->more = view == EFFACE_VIEW_LINEAR && look->linear.errors != 0;
        return ef_linear_check(&look->linear, error);
    case EFFACE_VIEW_BAYES:
        if (params != NULL)
            look->bayes = *(const efface_bayes_params *)params;
        return ef_bayes_check(&look->bayes, error);
    case EFFACE_VIEW_DISCRIMINANT:
        if (params != NULL)
            look->discriminant = *(const efface_discriminant_params *)params;
        look->more = true;
        return ef_discriminant_check(&look->discriminant, error);
    case EFFACE_VIEW_COMPONENTS:
        if (params != NULL)
            look->components = *(const efface_components_params *)params;
        return ef_components_check(&look->components, error);
    case EFFACE_VIEW_MEANS: break;
    }
    return EFFACE_OK;
}

/* A view of a model, with parameters of its own, as a predictor of its own. */
static efface_status hand_out(const efface_model *model, efface_view view, const void *params,
                              efface_predictor **out, efface_error *error) {
    if (model == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "model and out must not be NULL");
    const ef_sums *const s = ef_model_state(model, &ef_sums_family, error);
    if (s == NULL)
        return EFFACE_E_ARGUMENT;
    ef_look look = ef_look_of(s->params);
    predictor *const p = ef_alloc_zero(1, sizeof *p);
    efface_status status =
        p != NULL ? choose_sums(&look, view, params, error) : ef_fail_memory(error);
    EF_THEN(status, ef_view_check(s, &look, error));
    EF_THEN(status, ef_view_compute(s, &look, &p->own, error));
    if (status == EFFACE_OK)
        return ef_predictor_create(&ef_sums_family, p, s->coordinates.n_columns, out, error);
    ef_free(p);
    return status;
}

efface_status efface_linear_solve(const efface_model *model, const efface_linear_params *params,
                                  efface_predictor **out, efface_error *error) {
    return hand_out(model, EFFACE_VIEW_LINEAR, params, out, error);
}

efface_status efface_ridge_classify(const efface_model *model, const efface_linear_params *params,
                                    efface_predictor **out, efface_error *error) {
    return hand_out(model, EFFACE_VIEW_RIDGE, params, out, error);
}

efface_status efface_bayes_classify(const efface_model *model, const efface_bayes_params *params,
                                    efface_predictor **out, efface_error *error) {
    return hand_out(model, EFFACE_VIEW_BAYES, params, out, error);
}

efface_status efface_discriminant_classify(const efface_model *model,
                                           const efface_discriminant_params *params,
                                           efface_predictor **out, efface_error *error) {
    return hand_out(model, EFFACE_VIEW_DISCRIMINANT, params, out, error);
}

efface_status efface_components_compute(const efface_model *model,
                                        const efface_components_params *params,
                                        efface_predictor **out, efface_error *error) {
    return hand_out(model, EFFACE_VIEW_COMPONENTS, params, out, error);
}
