/* The parameters of `sums`: defaults, checks, bytes, descriptions. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/sums/sums.h"

#include <inttypes.h>
#include <string.h>

#define PARAMS_VERSION 3 /* of the struct: moves when it gets other fields */
#define RECORD_VERSION 2 /* of its bytes, */
#define RECORD_SCALED 3  /* and of those that end with scales */
#define MAX_PRIORS (1u << 20)
#define LEAST 1e-100 /* of a smoothing or shrinkage that is not 0 */

void efface_sums_params_init(efface_sums_params *params) {
    *params = (efface_sums_params){
        .common = {.version = PARAMS_VERSION, .family = EFFACE_FAMILY_SUMS},
        .gamma = 1.0,
        .weight_unit = 1,
        .linear = {.intercept = 1},
        .bayes = {.smoothing = 1e-9},
    };
}

/* ---------------------------------------------------------------- what views need */

efface_summed ef_sums_needed(const efface_sums_params *params) {
    switch (params->view) {
    case EFFACE_VIEW_LINEAR:
    case EFFACE_VIEW_RIDGE:
    case EFFACE_VIEW_COMPONENTS: return EFFACE_SUMMED_FULL;
    case EFFACE_VIEW_DISCRIMINANT:
        return params->discriminant.quadratic ? EFFACE_SUMMED_MEANS : EFFACE_SUMMED_FULL;
    case EFFACE_VIEW_MEANS:
    case EFFACE_VIEW_BAYES: break;
    }
    return EFFACE_SUMMED_MEANS;
}

efface_summed ef_sums_needed_by_class(const efface_sums_params *params) {
    switch (params->view) {
    case EFFACE_VIEW_RIDGE: return EFFACE_SUMMED_MEANS;
    case EFFACE_VIEW_BAYES: return EFFACE_SUMMED_DIAGONAL;
    case EFFACE_VIEW_DISCRIMINANT:
        return params->discriminant.quadratic ? EFFACE_SUMMED_FULL : EFFACE_SUMMED_MEANS;
    case EFFACE_VIEW_MEANS:
    case EFFACE_VIEW_LINEAR:
    case EFFACE_VIEW_COMPONENTS: break;
    }
    return EFFACE_SUMMED_NEEDED;
}

/* ---------------------------------------------------------------- checks */

static efface_status check_scale(efface_scale scale, efface_error *error) {
    if (scale == EFFACE_SCALE_MINMAX)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the scale minmax is for k-means; here it can be standard");
    if (scale != EFFACE_SCALE_NONE && scale != EFFACE_SCALE_STANDARD)
        return ef_fail(error, EFFACE_E_ARGUMENT, "unknown scale %d", (int)scale);
    return EFFACE_OK;
}

efface_status ef_linear_check(const efface_linear_params *params, efface_error *error) {
    if (!(params->alpha >= 0.0 && params->alpha <= 1e100))
        return ef_fail(error, EFFACE_E_ARGUMENT, "alpha must be from 0 to 1e100, not %g",
                       params->alpha);
    if (params->scale == EFFACE_SCALE_STANDARD && !params->intercept)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the scale standard measures columns from their means, and without an "
                       "intercept they count from 0: leave one of the two out");
    return check_scale(params->scale, error);
}

static efface_status check_priors(const double *priors, uint32_t n, efface_error *error) {
    double sum = 0.0;
    bool ok = n <= MAX_PRIORS && (priors != NULL || n == 0);
    for (uint32_t c = 0; ok && c < n; c++) {
        ok = priors[c] > 0.0 && priors[c] <= 1.0;
        sum += priors[c];
    }
    if (!ok || (n != 0 && !(sum > 1.0 - 1e-6 && sum < 1.0 + 1e-6)))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "priors must be numbers above 0, one for each class, that sum to 1");
    return EFFACE_OK;
}

/* Whether it is 0 or from LEAST on. What is added to variances must not vanish beside the smallest
 * number, nor its inverse become infinite. */
static bool is_usable(double part) {
    return part == 0.0 || part >= LEAST;
}

efface_status ef_bayes_check(const efface_bayes_params *params, efface_error *error) {
    if (!(is_usable(params->smoothing) && params->smoothing <= 1e100))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the smoothing must be 0, or from 1e-100 to 1e100, not %g",
                       params->smoothing);
    return check_priors(params->priors, params->n_priors, error);
}

efface_status ef_discriminant_check(const efface_discriminant_params *params, efface_error *error) {
    if (!(is_usable(params->shrinkage) && params->shrinkage <= 1.0))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the shrinkage must be 0, or from 1e-100 to 1, not %g", params->shrinkage);
    const efface_status status = check_scale(params->scale, error);
    return status == EFFACE_OK ? check_priors(params->priors, params->n_priors, error) : status;
}

efface_status ef_components_check(const efface_components_params *params, efface_error *error) {
    return check_scale(params->scale, error);
}

static efface_status check_summed(const efface_sums_params *params, efface_error *error) {
    if ((unsigned)params->view > EFFACE_VIEW_COMPONENTS ||
        (unsigned)params->summed > EFFACE_SUMMED_FULL ||
        (unsigned)params->by_class > EFFACE_SUMMED_FULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there is no such view, or no such kind of sums");
    if ((params->summed != EFFACE_SUMMED_NEEDED && params->summed < ef_sums_needed(params)) ||
        (params->by_class != EFFACE_SUMMED_NEEDED &&
         params->by_class < ef_sums_needed_by_class(params)))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the view needs more sums than are asked for; leave it at "
                       "EFFACE_SUMMED_NEEDED");
    if (params->view == EFFACE_VIEW_LINEAR && params->n_targets == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a linear regression needs a target: name the column that it is to predict");
    return EFFACE_OK;
}

efface_status ef_sums_check_params(const efface_params *common, efface_error *error) {
    const efface_sums_params *const params = (const void *)common;
    if (common->version != PARAMS_VERSION || common->family != EFFACE_FAMILY_SUMS)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters must be filled by efface_sums_params_init first");
    if (!(params->bound >= 0.0 && params->bound <= EFFACE_MAX_MAGNITUDE))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the bound must be above 0 and at most 2^126, or 0 to derive it, not %g",
                       params->bound);
    if ((params->targets == NULL && params->n_targets != 0) ||
        params->n_targets > EFFACE_MAX_COLUMNS)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the targets must be a list of at most %u columns",
                       EFFACE_MAX_COLUMNS);
    if (params->n_fourier > EFFACE_MAX_FOURIER)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "there can be at most %u Fourier features, not %" PRIu32, EFFACE_MAX_FOURIER,
                       params->n_fourier);
    if (!(params->gamma >= 0.0 && params->gamma <= 1e30) ||
        (params->gamma == 0.0 && params->scale == EFFACE_SCALE_NONE))
        return ef_fail(error, EFFACE_E_ARGUMENT, "gamma must be above 0 and at most 1e30, not %g",
                       params->gamma);
    if (params->scale != EFFACE_SCALE_NONE && params->n_fourier == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the scale of columns is for Fourier features; views have their own");
    if (params->weight_unit == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the unit of weights must be 1 or more");
    efface_status status = check_scale(params->scale, error);
    EF_THEN(status, check_summed(params, error));
    EF_THEN(status, ef_linear_check(&params->linear, error));
    EF_THEN(status, ef_bayes_check(&params->bayes, error));
    EF_THEN(status, ef_discriminant_check(&params->discriminant, error));
    return status == EFFACE_OK ? ef_components_check(&params->components, error) : status;
}

/* ---------------------------------------------------------------- copies */

static const double *copy_reals(double *to, const double *from, uint32_t n) {
    if (n == 0)
        return NULL;
    memcpy(to, from, n * sizeof *to);
    return to;
}

efface_params *ef_sums_copy_params(const efface_params *common, uint32_t n_columns) {
    const efface_sums_params *const params = (const void *)common;
    const size_t n_reals = (size_t)params->bayes.n_priors + params->discriminant.n_priors;
    (void)n_columns;
    efface_sums_params *const copy =
        ef_alloc(1, sizeof *copy + n_reals * sizeof(double) + params->n_targets * sizeof(uint32_t));
    if (copy == NULL)
        return NULL;
    double *const reals = (double *)(void *)(copy + 1);
    uint32_t *const targets = (uint32_t *)(void *)(reals + n_reals);
    *copy = *params;
    copy->bayes.priors = copy_reals(reals, params->bayes.priors, params->bayes.n_priors);
    copy->discriminant.priors = copy_reals(
        reals + params->bayes.n_priors, params->discriminant.priors, params->discriminant.n_priors);
    copy->targets = params->n_targets != 0 ? targets : NULL;
    if (params->n_targets != 0)
        memcpy(targets, params->targets, params->n_targets * sizeof *targets);
    return &copy->common;
}

/* ---------------------------------------------------------------- bytes */

static void write_priors(ef_writer *w, const double *priors, uint32_t n) {
    ef_write_u32(w, n);
    for (uint32_t c = 0; c < n; c++)
        ef_write_f64(w, priors[c]);
}

void ef_sums_write_params(ef_writer *w, const efface_params *common, uint32_t n_columns) {
    const efface_sums_params *const params = (const void *)common;
    const efface_scale scales[] = {params->linear.scale, params->discriminant.scale,
                                   params->components.scale, params->scale};
    bool is_scaled = false;
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        is_scaled |= scales[i] != EFFACE_SCALE_NONE;
    (void)n_columns;
    ef_write_u32(w, is_scaled ? RECORD_SCALED : RECORD_VERSION);
    ef_write_u64(w, common->seed);
    ef_write_f64(w, params->bound);
    ef_write_u32(w, (uint32_t)params->summed);
    ef_write_u32(w, (uint32_t)params->by_class);
    ef_write_u32(w, params->n_fourier);
    ef_write_f64(w, params->gamma);
    ef_write_u32(w, params->weight_unit);
    ef_write_u32(w, (uint32_t)params->view);
    ef_write_f64(w, params->linear.alpha);
    ef_write_u32(w, params->linear.intercept != 0);
    ef_write_f64(w, params->bayes.smoothing);
    ef_write_u32(w, params->discriminant.quadratic != 0);
    ef_write_f64(w, params->discriminant.shrinkage);
    ef_write_u32(w, params->components.n_components);
    ef_write_u32(w, params->components.whiten != 0);
    write_priors(w, params->bayes.priors, params->bayes.n_priors);
    write_priors(w, params->discriminant.priors, params->discriminant.n_priors);
    ef_write_u32(w, params->n_targets);
    for (uint32_t i = 0; i < params->n_targets; i++)
        ef_write_u32(w, params->targets[i]);
    for (size_t i = 0; is_scaled && i < sizeof scales / sizeof *scales; i++)
        ef_write_u32(w, (uint32_t)scales[i]);
}

/* Numbers that are read, to be released; NULL if there are none. */
static double *read_priors(ef_decoder *r, uint32_t *n, bool *short_of_memory) {
    *n = ef_read_u32(r);
    if (r->failed || *n == 0 || !ef_decoder_has(r, *n, sizeof(double)))
        return NULL;
    double *const priors = ef_alloc(*n, sizeof *priors);
    *short_of_memory |= priors == NULL;
    for (uint32_t c = 0; priors != NULL && c < *n; c++)
        priors[c] = ef_read_f64(r);
    return priors;
}

static uint32_t *read_targets(ef_decoder *r, uint32_t *n, bool *short_of_memory) {
    *n = ef_read_u32(r);
    if (r->failed || *n == 0 || !ef_decoder_has(r, *n, sizeof(uint32_t)))
        return NULL;
    uint32_t *const targets = ef_alloc(*n, sizeof *targets);
    *short_of_memory |= targets == NULL;
    for (uint32_t i = 0; targets != NULL && i < *n; i++)
        targets[i] = ef_read_u32(r);
    return targets;
}

efface_status ef_sums_read_params(ef_decoder *r, uint32_t n_columns, efface_params **out,
                                  efface_error *error) {
    efface_sums_params params;
    efface_sums_params_init(&params);
    const uint32_t version = ef_read_u32(r);
    params.common.seed = ef_read_u64(r);
    params.bound = ef_read_f64(r);
    if (r->failed || (version != RECORD_VERSION && version != RECORD_SCALED))
        return ef_fail(error, EFFACE_E_FORMAT, "the parameters of a model are invalid");
    double *bayes = NULL, *discriminant = NULL;
    uint32_t *targets = NULL;
    bool short_of_memory = false;
    params.summed = (efface_summed)ef_read_u32(r);
    params.by_class = (efface_summed)ef_read_u32(r);
    params.n_fourier = ef_read_u32(r);
    params.gamma = ef_read_f64(r);
    params.weight_unit = ef_read_u32(r);
    params.view = (efface_view)ef_read_u32(r);
    params.linear.alpha = ef_read_f64(r);
    params.linear.intercept = (int)ef_read_u32(r);
    params.bayes.smoothing = ef_read_f64(r);
    params.discriminant.quadratic = (int)ef_read_u32(r);
    params.discriminant.shrinkage = ef_read_f64(r);
    params.components.n_components = ef_read_u32(r);
    params.components.whiten = (int)ef_read_u32(r);
    bayes = read_priors(r, &params.bayes.n_priors, &short_of_memory);
    discriminant = read_priors(r, &params.discriminant.n_priors, &short_of_memory);
    targets = read_targets(r, &params.n_targets, &short_of_memory);
    if (version == RECORD_SCALED) {
        params.linear.scale = (efface_scale)ef_read_u32(r);
        params.discriminant.scale = (efface_scale)ef_read_u32(r);
        params.components.scale = (efface_scale)ef_read_u32(r);
        params.scale = (efface_scale)ef_read_u32(r);
    }
    params.bayes.priors = bayes;
    params.discriminant.priors = discriminant;
    params.targets = targets;
    efface_status status = EFFACE_OK;
    if (short_of_memory)
        status = ef_fail_memory(error);
    else if (r->failed || r->n_bytes != 0)
        status = ef_fail(error, EFFACE_E_FORMAT, "the parameters of a model are invalid");
    if (status == EFFACE_OK) {
        *out = ef_sums_copy_params(&params.common, n_columns);
        if (*out == NULL)
            status = ef_fail_memory(error);
    }
    ef_free(bayes);
    ef_free(discriminant);
    ef_free(targets);
    return status;
}

/* ---------------------------------------------------------------- descriptions */

static void tell_real(ef_listener to, const char *name, double real, bool is_given) {
    to.each(to.context, &(efface_fact){.name = name,
                                       .kind = is_given ? EFFACE_FACT_REAL : EFFACE_FACT_NONE,
                                       .real = real,
                                       .is_parameter = 1});
}

static void tell_whole(ef_listener to, const char *name, uint64_t whole, efface_fact_kind kind) {
    to.each(to.context,
            &(efface_fact){.name = name, .kind = kind, .whole = whole, .is_parameter = 1});
}

/* The scale that the view looks at. */
static efface_scale scale_of_view(const efface_sums_params *p) {
    switch (p->view) {
    case EFFACE_VIEW_LINEAR:
    case EFFACE_VIEW_RIDGE: return p->linear.scale;
    case EFFACE_VIEW_DISCRIMINANT: return p->discriminant.scale;
    case EFFACE_VIEW_COMPONENTS: return p->components.scale;
    case EFFACE_VIEW_MEANS:
    case EFFACE_VIEW_BAYES: break;
    }
    return EFFACE_SCALE_NONE;
}

void ef_sums_describe_params(const efface_params *common, ef_listener to) {
    const efface_sums_params *const p = (const void *)common;
    tell_real(to, "bound", p->bound, p->bound > 0.0);
    if (p->view == EFFACE_VIEW_LINEAR || p->view == EFFACE_VIEW_RIDGE) {
        tell_real(to, "alpha", p->linear.alpha, true);
        tell_whole(to, "intercept", p->linear.intercept != 0, EFFACE_FACT_YES_NO);
    }
    if (p->view == EFFACE_VIEW_BAYES)
        tell_real(to, "smoothing", p->bayes.smoothing, true);
    if (p->view == EFFACE_VIEW_DISCRIMINANT) {
        tell_whole(to, "quadratic", p->discriminant.quadratic != 0, EFFACE_FACT_YES_NO);
        tell_real(to, "shrinkage", p->discriminant.shrinkage, true);
    }
    if (p->view == EFFACE_VIEW_COMPONENTS) {
        tell_whole(to, "n_components", p->components.n_components,
                   p->components.n_components != 0 ? EFFACE_FACT_WHOLE : EFFACE_FACT_NONE);
        tell_whole(to, "whiten", p->components.whiten != 0, EFFACE_FACT_YES_NO);
    }
    if (p->n_fourier != 0) {
        tell_whole(to, "n_fourier", p->n_fourier, EFFACE_FACT_WHOLE);
        tell_real(to, "gamma", p->gamma, p->gamma > 0.0);
    }
    if (scale_of_view(p) == EFFACE_SCALE_STANDARD || p->scale == EFFACE_SCALE_STANDARD)
        to.each(to.context, &(efface_fact){.name = "scale",
                                           .kind = EFFACE_FACT_TEXT,
                                           .text = "standard",
                                           .is_parameter = 1});
    if (p->weight_unit != 1)
        tell_whole(to, "weight_unit", p->weight_unit, EFFACE_FACT_WHOLE);
}
