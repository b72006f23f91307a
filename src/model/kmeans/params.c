/* Parameters: defaults, checks, and what is automatic (docs/numerics.md, section 6). */
#include "base/status.h"
#include "model/kmeans/model.h"

#include <inttypes.h>

#define PARAMS_VERSION 1

void efface_kmeans_params_init(efface_kmeans_params *params) {
    *params = (efface_kmeans_params){
        .version = PARAMS_VERSION,
        .method = EFFACE_METHOD_LLOYD,
        .n_clusters = 8,
        .iterations = 10,
        .gamma = 0.2,
    };
}

/* The paper's eps = 2^r of the unit domain, r = round(-log10(n / (k d^1.5)) - 3), by comparing
 * squares with powers of ten: r is the smallest with n^2 10^(2 (r + 3) + 1) > k^2 d^3. It moves
 * only when n / (k d^1.5) passes a power of ten. */
static uint32_t automatic_epsilon(double n, double k, double d) {
    int r = -EF_GRID_BITS;
    for (; r < 0; r++) {
        const int power = 2 * (r + 3) + 1;
        double left = n * n, right = k * k * d * d * d, ten = 1.0;
        for (int i = 0; i < (power < 0 ? -power : power); i++)
            ten *= 10.0;
        if (power < 0)
            right *= ten;
        else
            left *= ten;
        if (left > right)
            break;
    }
    return 1u << (EF_GRID_BITS + r);
}

/* x rounded to a whole number, halves up; 0 <= x < 2^31. */
static uint32_t round_up_half(double x) {
    const uint32_t below = (uint32_t)x;
    return x - (double)below >= 0.5 ? below + 1 : below;
}

static uint32_t epsilon_steps(double epsilon) {
    const double steps = epsilon * (double)EF_GRID_MAX;
    if (steps >= (double)EF_GRID_MAX)
        return EF_GRID_MAX;
    const uint32_t rounded = round_up_half(steps);
    return rounded != 0 ? rounded : 1;
}

static efface_status check(const efface_kmeans_params *p, efface_error *error) {
    if (p->version != PARAMS_VERSION)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters were not filled by efface_kmeans_params_init");
    if (p->method != EFFACE_METHOD_LLOYD && p->method != EFFACE_METHOD_QUANTIZED)
        return ef_fail(error, EFFACE_E_ARGUMENT, "unknown method %d", (int)p->method);
    if (p->scale != EFFACE_SCALE_NONE && p->scale != EFFACE_SCALE_MINMAX)
        return ef_fail(error, EFFACE_E_ARGUMENT, "unknown scale %d", (int)p->scale);
    if (p->empty != EFFACE_EMPTY_RESEED && p->empty != EFFACE_EMPTY_KEEP)
        return ef_fail(error, EFFACE_E_ARGUMENT, "unknown rule %d for empty clusters",
                       (int)p->empty);
    if (p->n_clusters == 0 || p->n_clusters > EFFACE_MAX_CLUSTERS)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the number of clusters is 1 to %u, not %" PRIu32, EFFACE_MAX_CLUSTERS,
                       p->n_clusters);
    if (p->iterations > EFFACE_MAX_ITERATIONS)
        return ef_fail(error, EFFACE_E_ARGUMENT, "there are at most %u iterations, not %" PRIu32,
                       EFFACE_MAX_ITERATIONS, p->iterations);
    if (!(p->bound >= 0.0 && p->bound <= EFFACE_MAX_MAGNITUDE))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the bound is a number up to 2^126, or 0 to derive it; not %g", p->bound);
    if (!(p->epsilon >= 0.0))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "epsilon is a positive part of the domain, or 0 to derive it; not %g",
                       p->epsilon);
    if (!(p->gamma >= 0.0 && p->gamma <= 1.0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "gamma is 0 to 1, not %g", p->gamma);
    if ((p->column_min == NULL) != (p->column_max == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "give both column_min and column_max, or neither");
    return EFFACE_OK;
}

efface_status ef_plan_init(ef_plan *plan, const efface_data *data,
                           const efface_kmeans_params *params, efface_error *error) {
    const efface_status status = check(params, error);
    if (status != EFFACE_OK)
        return status;
    *plan = (ef_plan){
        .method = params->method,
        .empty = params->empty,
        .n_asked = params->n_clusters,
        .n_clusters =
            data->n_rows < params->n_clusters ? (uint32_t)data->n_rows : params->n_clusters,
        .iterations = params->iterations != 0 ? params->iterations : EFFACE_MAX_ITERATIONS,
        .seed = params->seed,
        .n_threads = params->n_threads,
    };
    if (plan->method == EFFACE_METHOD_QUANTIZED) {
        plan->epsilon = params->epsilon > 0.0
                            ? epsilon_steps(params->epsilon)
                            : automatic_epsilon((double)data->n_rows, (double)plan->n_clusters,
                                                (double)data->n_columns);
        plan->gamma = round_up_half(params->gamma * (double)EF_GAMMA_ONE);
    }
    return EFFACE_OK;
}
