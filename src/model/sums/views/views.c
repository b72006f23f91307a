/* Views: which can be computed, and how that begins. */
#include "model/sums/views/views.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/sums/views/regression.h"

#include <inttypes.h>
#include <string.h>

/* ---------------------------------------------------------------- which can be */

ef_look ef_look_of(const efface_sums_params *params) {
    return (ef_look){.view = params->view,
                     .linear = params->linear,
                     .bayes = params->bayes,
                     .discriminant = params->discriminant,
                     .components = params->components};
}

static efface_status check_priors(const ef_sums *of, uint32_t n_priors, efface_error *error) {
    return n_priors == 0 || n_priors == of->n_classes
               ? EFFACE_OK
               : ef_fail(error, EFFACE_E_ARGUMENT,
                         "there are %" PRIu32 " priors, but the rows have %" PRIu32
                         " classes; give one for each, or none",
                         n_priors, of->n_classes);
}

/* Whether the sums are those that a view is made of. */
static efface_status check_summed(const ef_sums *of, const ef_look *look, efface_error *error) {
    const efface_sums_params need = {.view = look->view, .discriminant = look->discriminant};
    if (of->summed < ef_sums_needed(&need) || of->by_class < ef_sums_needed_by_class(&need))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the view needs sums that this model does not have; fit a model with this "
                       "view, or with more sums");
    if (look->view == EFFACE_VIEW_LINEAR && of->coordinates.n_targets == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the model has no target that a linear regression could predict");
    return EFFACE_OK;
}

static efface_status check_bayes(const ef_sums *of, const ef_look *look, efface_error *error) {
    if (look->bayes.smoothing > 0.0)
        return EFFACE_OK;
    double largest = 0.0;
    for (uint32_t j = 0; j < of->coordinates.n_terms; j++) {
        const double variance = ef_sums_variance(of, of->coordinates.term_points[j]);
        largest = variance > largest ? variance : largest;
    }
    for (uint32_t c = 0; c < of->n_classes && largest > 0.0; c++)
        for (uint32_t j = 0; j < of->coordinates.n_terms; j++) {
            const uint32_t point = of->coordinates.term_points[j];
            if (ef_moments_centred(&of->classes[c], point, point) <= 0)
                return ef_fail(error, EFFACE_E_ARGUMENT,
                               "class %" PRId64 " has no variance in feature %" PRIu32
                               "; give a smoothing above 0",
                               of->labels[c], j + 1);
        }
    return EFFACE_OK;
}

static efface_status check_discriminant(const ef_sums *of, const ef_look *look,
                                        efface_error *error) {
    const efface_discriminant_params *const by = &look->discriminant;
    for (uint32_t c = 0; c < of->n_classes && by->quadratic && by->shrinkage == 0.0; c++)
        if (of->classes[c].n_rows < 2)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "class %" PRId64
                           " has only one row, so that it has no covariance matrix; learn more "
                           "rows of it, forget it, give a shrinkage, or use linear discriminants",
                           of->labels[c]);
    return EFFACE_OK;
}

efface_status ef_view_check(const ef_sums *of, const ef_look *look, efface_error *error) {
    efface_status status = check_summed(of, look, error);
    if (status != EFFACE_OK)
        return status;
    /* A state that was made of damaged bytes may come to have a class without weight. */
    for (uint32_t c = 0; c < of->n_classes; c++)
        if (of->classes[c].weight <= 0)
            return ef_fail(error, EFFACE_E_ARGUMENT, "the sums of class %" PRId64 " are damaged",
                           of->labels[c]);
    if (of->all.n_rows == 0 || of->all.weight <= 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       of->totals.n_rows == 0
                           ? "the model has no rows, so that nothing can be computed from them; "
                             "learn rows first"
                           : "no row has a class; learn rows with classes first");
    switch (look->view) {
    case EFFACE_VIEW_BAYES:
        status = check_priors(of, look->bayes.n_priors, error);
        return status == EFFACE_OK ? check_bayes(of, look, error) : status;
    case EFFACE_VIEW_DISCRIMINANT:
        status = check_priors(of, look->discriminant.n_priors, error);
        return status == EFFACE_OK ? check_discriminant(of, look, error) : status;
    case EFFACE_VIEW_COMPONENTS:
        return of->all.n_rows > 1 && of->all.weight > of->params->weight_unit
                   ? EFFACE_OK
                   : ef_fail(error, EFFACE_E_ARGUMENT,
                             "principal components need two rows at least; learn more rows first");
    case EFFACE_VIEW_MEANS:
    case EFFACE_VIEW_LINEAR:
    case EFFACE_VIEW_RIDGE: break;
    }
    return EFFACE_OK;
}

uint32_t ef_view_outputs(const ef_sums *of, const ef_look *look) {
    const uint32_t n = of->coordinates.n_terms;
    if (ef_view_has_classes(look->view))
        return of->n_classes;
    if (look->view == EFFACE_VIEW_LINEAR)
        return of->coordinates.n_targets;
    if (look->view == EFFACE_VIEW_MEANS)
        return of->coordinates.n_columns;
    const uint32_t most = of->all.n_rows < n ? (uint32_t)of->all.n_rows : n;
    const uint32_t asked = look->components.n_components;
    return asked != 0 && asked < most ? asked : most;
}

/* ---------------------------------------------------------------- room */

bool ef_view_sizes(const ef_view *v, size_t *n_weights, size_t *n_centers) {
    const bool has_centers = v->is_quadratic || v->view == EFFACE_VIEW_BAYES;
    size_t row = v->n_terms;
    *n_weights = 0;
    *n_centers = v->n_columns;
    if (v->view == EFFACE_VIEW_MEANS)
        return true;
    if (v->is_quadratic)
        row = row * (row + 1) / 2;
    *n_centers = v->view == EFFACE_VIEW_COMPONENTS ? v->n_terms : 0;
    return ef_mul_size(row, v->n_outputs, n_weights) &&
           (!has_centers || ef_mul_size(v->n_terms, v->n_outputs, n_centers));
}

bool ef_view_take(ef_view *v) {
    size_t n_weights, n_centers;
    if (!ef_view_sizes(v, &n_weights, &n_centers))
        return false;
    v->inputs = ef_alloc_zero(v->n_inputs, sizeof *v->inputs);
    v->ids = ef_alloc_zero(v->n_outputs, sizeof *v->ids);
    v->weights = ef_alloc_zero(n_weights, sizeof *v->weights);
    v->constants = ef_alloc_zero(v->n_outputs, sizeof *v->constants);
    v->scales =
        ef_alloc_zero(v->view == EFFACE_VIEW_COMPONENTS ? v->n_outputs : 0, sizeof *v->scales);
    v->centers = ef_alloc_zero(n_centers, sizeof *v->centers);
    return v->inputs != NULL && v->ids != NULL && v->weights != NULL && v->constants != NULL &&
           v->scales != NULL && v->centers != NULL;
}

void ef_view_free(ef_view *v) {
    if (v == NULL)
        return;
    ef_fourier_free(&v->fourier);
    ef_free(v->inputs);
    ef_free(v->ids);
    ef_free(v->weights);
    ef_free(v->constants);
    ef_free(v->scales);
    ef_free(v->centers);
    ef_free(v->errors);
    ef_free(v->quality);
    ef_free(v->variances);
    ef_free(v->means);
    ef_free(v->deviations);
    ef_free(v->directions);
    ef_free(v->priors);
    ef_free(v->dropped);
    ef_free(v);
}

/* Room for tables. */
static bool take_tables(ef_view *v, const ef_look *look) {
    const size_t outputs = v->n_outputs, terms = v->n_terms;
    const bool is_linear = v->view == EFFACE_VIEW_LINEAR;
    v->dropped = ef_alloc_zero(terms, 1);
    if (is_linear)
        v->quality = ef_alloc_zero(outputs, 3 * sizeof *v->quality);
    if (is_linear && look->more)
        v->errors = ef_alloc_zero(outputs, (terms + 1) * sizeof *v->errors);
    if (v->view == EFFACE_VIEW_BAYES)
        v->variances = ef_alloc_zero(outputs, terms * sizeof *v->variances);
    if (v->view == EFFACE_VIEW_COMPONENTS)
        v->variances = ef_alloc_zero(outputs, 2 * sizeof *v->variances);
    const bool is_scaled =
        v->view == EFFACE_VIEW_COMPONENTS && look->components.scale == EFFACE_SCALE_STANDARD;
    if (is_scaled)
        v->deviations = ef_alloc_zero(terms, sizeof *v->deviations);
    const bool has_means = v->view == EFFACE_VIEW_DISCRIMINANT && !v->is_quadratic;
    if (has_means)
        v->means = ef_alloc_zero(outputs, terms * sizeof *v->means);
    if (has_means && look->more)
        v->directions = ef_alloc_zero(ef_view_directions(v->n_outputs, v->n_terms),
                                      (terms + 1) * sizeof *v->directions);
    if (v->view == EFFACE_VIEW_BAYES || v->view == EFFACE_VIEW_DISCRIMINANT)
        v->priors = ef_alloc_zero(outputs, 2 * sizeof *v->priors);
    return v->dropped != NULL && (!is_scaled || v->deviations != NULL) &&
           (!has_means || v->means != NULL) &&
           (!has_means || !look->more || v->directions != NULL) &&
           (!is_linear || v->quality != NULL) && (!is_linear || !look->more || v->errors != NULL) &&
           ((v->view != EFFACE_VIEW_BAYES && v->view != EFFACE_VIEW_COMPONENTS) ||
            v->variances != NULL) &&
           ((v->view != EFFACE_VIEW_BAYES && v->view != EFFACE_VIEW_DISCRIMINANT) ||
            v->priors != NULL);
}

/* ---------------------------------------------------------------- computing */

static void find_means(const ef_sums *of, ef_view *v) {
    const ef_coordinates *const c = &of->coordinates;
    for (uint32_t j = 0; j < c->n_columns; j++) {
        /* With Fourier features, columns that are no targets have no sums. */
        const uint32_t target = ef_coordinates_target(c, j);
        const bool is_summed = c->fourier.n_features == 0 || target != EFFACE_NO_COLUMN;
        const uint32_t point =
            c->fourier.n_features == 0 || !is_summed ? j : c->target_points[target];
        v->centers[j] = is_summed ? (double)of->all.sums[point] / (double)of->all.weight *
                                        ef_coordinates_unit(c, point)
                                  : (double)__builtin_nan("");
        v->ids[j] = j;
    }
}

static efface_status find_linear(const ef_sums *of, const ef_look *look, ef_view *v,
                                 efface_error *error) {
    const ef_regression regression = {.moments = &of->all,
                                      .coordinates = &of->coordinates,
                                      .params = look->linear,
                                      .weight_unit = of->params->weight_unit};
    const ef_regression_result to = {.coefficients = v->weights,
                                     .intercepts = v->constants,
                                     .errors = v->errors,
                                     .quality = v->quality,
                                     .dropped = v->dropped};
    for (uint32_t i = 0; i < v->n_outputs; i++)
        v->ids[i] = of->coordinates.targets[i];
    return ef_regress(&regression, &to, error);
}

efface_status ef_view_compute(const ef_sums *of, const ef_look *look, ef_view **out,
                              efface_error *error) {
    const ef_coordinates *const c = &of->coordinates;
    ef_view *const v = ef_alloc_zero(1, sizeof *v);
    if (v == NULL)
        return ef_fail_memory(error);
    v->view = look->view;
    v->is_quadratic = look->view == EFFACE_VIEW_DISCRIMINANT && look->discriminant.quadratic;
    v->n_columns = c->n_columns;
    v->n_inputs = look->view == EFFACE_VIEW_MEANS ? 0 : c->n_inputs;
    v->n_terms = look->view == EFFACE_VIEW_MEANS ? 0 : c->n_terms;
    v->n_outputs = ef_view_outputs(of, look);
    if (!ef_view_take(v) || !take_tables(v, look) ||
        (v->n_terms != 0 && c->fourier.n_features != 0 &&
         !ef_fourier_copy(&v->fourier, &c->fourier))) {
        ef_view_free(v);
        return ef_fail_memory(error);
    }
    if (v->n_inputs != 0)
        memcpy(v->inputs, c->inputs, v->n_inputs * sizeof *v->inputs);
    for (uint32_t i = 0; ef_view_has_classes(v->view) && i < v->n_outputs; i++)
        v->ids[i] = of->labels[i];
    efface_status status = EFFACE_OK;
    switch (look->view) {
    case EFFACE_VIEW_MEANS: find_means(of, v); break;
    case EFFACE_VIEW_LINEAR: status = find_linear(of, look, v, error); break;
    case EFFACE_VIEW_RIDGE: status = ef_view_ridge(of, look, v, error); break;
    case EFFACE_VIEW_BAYES: status = ef_view_bayes(of, look, v, error); break;
    case EFFACE_VIEW_DISCRIMINANT: status = ef_view_discriminant(of, look, v, error); break;
    case EFFACE_VIEW_COMPONENTS: status = ef_view_components(of, look, v, error); break;
    }
    if (status == EFFACE_OK)
        *out = v;
    else
        ef_view_free(v);
    return status;
}
