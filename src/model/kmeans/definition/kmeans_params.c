/* Parameters: defaults, checks, and what is automatic (docs/definition/numerics.md, section 6). */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/definition/tree.h"

#include <inttypes.h>
#include <string.h>

#define PARAMS_VERSION 6      /* of the struct: moves when it gets other fields */
#define MAX_RARE 40           /* a sample has at least the part 2^-40 of the rows, */
#define USUAL_PART 32         /* automatically this part, or if need be */
#define LARGEST_PART 16       /* this, */
#define ROWS_A_CLUSTER 75     /* so many rows for a cluster, */
#define MIN_ROWS_A_CLUSTER 48 /* and no fewer than these */
#define MAX_PASSES 10
#define MAX_STARTS 100
#define MAX_CANDIDATES 64

void efface_kmeans_params_init(efface_kmeans_params *params) {
    *params = (efface_kmeans_params){
        .common = {.version = PARAMS_VERSION, .family = EFFACE_FAMILY_KMEANS},
        .method = EFFACE_METHOD_PYRAMID,
        .n_clusters = 8,
        .iterations = 10,
        .lloyd = {.keep_margins = 1},
        .quantized = {.gamma = 0.2},
        .pyramid = {.passes = 1, .starts = 4},
        .tree = {.height = 1, .weigh_centroids = 1},
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

/* The j with 2^-j >= rate > 2^-(j + 1). */
static uint32_t given_rate(double rate) {
    uint32_t j = 0;
    while (j < MAX_RARE && ef_power_of_two(-1 - (int)j) >= rate)
        j++;
    return j;
}

/* How many rows the sample has at least; 0 if none pays. By what forgetting costs: a request
 * reaches the sample with probability m / n and then takes its starts, some 50 passes over m rows
 * with the usual numbers of starts and iterations, and that is m^2 / n; one to lloyd takes a third
 * of a pass over all rows, more or less. So a sample pays up to a 16th of the rows, in a fit too;
 * with fewer than 48 rows for each cluster it would say too little of them, and with more than 75
 * it says hardly more. Numbers of rows are rounded to powers of two, so that they hardly ever move.
 */
static uint64_t wanted_rows(const efface_kmeans_params *params, uint64_t n, uint32_t k) {
    if (params->pyramid.rate > 0.0) {
        /* n may be any number in bytes that are damaged. */
        const ef_u128 part = ((ef_u128)1 << ef_log_up(n)) >> given_rate(params->pyramid.rate);
        const ef_u128 most = part > k ? part : k;
        return most < n ? (uint64_t)most : n;
    }
    const uint64_t power = n != 0 ? UINT64_C(1) << (63 - __builtin_clzll(n)) : 0;
    const uint64_t least = (uint64_t)MIN_ROWS_A_CLUSTER * k, most = (uint64_t)ROWS_A_CLUSTER * k;
    const uint64_t part = power / USUAL_PART;
    if (power / LARGEST_PART < least)
        return 0;
    return part < least ? least : part > most ? most : part;
}

/* 2 + floor(ln k): one more for each power of e, rounded up, that k reaches. */
uint32_t ef_count_candidates(uint32_t asked, uint32_t k) {
    static const uint32_t powers_of_e[] = {3,      8,       21,      55,     149,   404,
                                           1097,   2981,    8104,    22027,  59875, 162755,
                                           442414, 1202605, 3269018, 8886111};
    uint32_t n = 2;
    for (size_t m = 0; m < sizeof powers_of_e / sizeof *powers_of_e; m++)
        n += k >= powers_of_e[m];
    return asked != 0 ? asked : n;
}

static bool is_flat(efface_method method) {
    return method == EFFACE_METHOD_LLOYD || method == EFFACE_METHOD_QUANTIZED ||
           method == EFFACE_METHOD_PYRAMID;
}

static efface_status check_tree(const efface_kmeans_params *p, efface_error *error) {
    if (!is_flat(p->tree.leaf_method) || !is_flat(p->tree.node_method))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the method of nodes and leaves must be lloyd, quantized or pyramid");
    if (p->tree.height > EF_MOST_HEIGHT)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the height of a tree must be 0 to %d, not %" PRIu32, EF_MOST_HEIGHT,
                       p->tree.height);
    if (p->tree.width != 0 && ef_tree_leaves(p->tree.width, p->tree.height) == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a tree of width %" PRIu32 " and height %" PRIu32 " would have more than "
                       "%" PRIu32 " leaves; give a smaller width, or 0 to derive it",
                       p->tree.width, p->tree.height, EF_MOST_LEAVES);
    for (uint32_t l = 0; p->tree.depth_clusters != NULL && l < p->tree.height; l++)
        if (p->tree.depth_clusters[l] == 0 || p->tree.depth_clusters[l] > EFFACE_MAX_CLUSTERS)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "the number of clusters at depth %" PRIu32
                           " must be 1 to %u, not %" PRIu32,
                           l + 1, EFFACE_MAX_CLUSTERS, p->tree.depth_clusters[l]);
    return EFFACE_OK;
}

efface_status ef_params_check(const efface_kmeans_params *p, efface_error *error) {
    if (p->common.version != PARAMS_VERSION || p->common.family != EFFACE_FAMILY_KMEANS)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters must be filled by efface_kmeans_params_init first");
    if (!is_flat(p->method) && p->method != EFFACE_METHOD_TREE)
        return ef_fail(error, EFFACE_E_ARGUMENT, "unknown method %d", (int)p->method);
    if (p->scale != EFFACE_SCALE_NONE && p->scale != EFFACE_SCALE_MINMAX &&
        p->scale != EFFACE_SCALE_STANDARD)
        return ef_fail(error, EFFACE_E_ARGUMENT, "unknown scale %d", (int)p->scale);
    if (p->empty != EFFACE_EMPTY_RESEED && p->empty != EFFACE_EMPTY_KEEP)
        return ef_fail(error, EFFACE_E_ARGUMENT, "unknown rule %d for empty clusters",
                       (int)p->empty);
    if (p->n_clusters == 0 || p->n_clusters > EFFACE_MAX_CLUSTERS)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the number of clusters must be 1 to %u, not %" PRIu32, EFFACE_MAX_CLUSTERS,
                       p->n_clusters);
    if (p->iterations > EFFACE_MAX_ITERATIONS)
        return ef_fail(error, EFFACE_E_ARGUMENT, "iterations must be at most %u, not %" PRIu32,
                       EFFACE_MAX_ITERATIONS, p->iterations);
    if (p->candidates > MAX_CANDIDATES)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "candidates must be 1 to %d, or 0 to derive their number, not %" PRIu32,
                       MAX_CANDIDATES, p->candidates);
    if (!(p->bound >= 0.0 && p->bound <= EFFACE_MAX_MAGNITUDE))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the bound must be above 0 and at most 2^126, or 0 to derive it, not %g",
                       p->bound);
    if (!(p->epsilon >= 0.0))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "epsilon must be above 0 (a part of the domain), or 0 to derive it, not %g",
                       p->epsilon);
    if (!(p->quantized.gamma >= 0.0 && p->quantized.gamma <= 1.0))
        return ef_fail(error, EFFACE_E_ARGUMENT, "gamma must be 0 to 1, not %g",
                       p->quantized.gamma);
    if (!(p->pyramid.rate >= 0.0 && p->pyramid.rate <= 1.0))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the rate must be above 0 and at most 1, or 0 to derive it, not %g",
                       p->pyramid.rate);
    if (p->pyramid.passes == 0 || p->pyramid.passes > MAX_PASSES)
        return ef_fail(error, EFFACE_E_ARGUMENT, "passes must be 1 to %d, not %" PRIu32, MAX_PASSES,
                       p->pyramid.passes);
    if (p->pyramid.starts == 0 || p->pyramid.starts > MAX_STARTS)
        return ef_fail(error, EFFACE_E_ARGUMENT, "starts must be 1 to %d, not %" PRIu32, MAX_STARTS,
                       p->pyramid.starts);
    if (p->method == EFFACE_METHOD_TREE) {
        const efface_status status = check_tree(p, error);
        if (status != EFFACE_OK)
            return status;
    }
    if ((p->column_min == NULL) != (p->column_max == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "give both column_min and column_max, or neither");
    return EFFACE_OK;
}

efface_status ef_params_check_asked(const efface_kmeans_params *p, efface_error *error) {
    const efface_status status = ef_params_check(p, error);
    if (status == EFFACE_OK && p->scale == EFFACE_SCALE_STANDARD && p->column_min != NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "bounds of columns are for the scale minmax: with the scale standard, units "
                       "follow from the rows");
    return status;
}

efface_kmeans_params ef_params_used(const efface_kmeans_params *params) {
    efface_kmeans_params used = *params;
    if (used.method == EFFACE_METHOD_TREE && used.tree.height == 0)
        used.method = used.tree.leaf_method; /* the root is a leaf */
    return used;
}

void ef_kmeans_plan_fixed(ef_kmeans_plan *plan, const efface_kmeans_params *params) {
    *plan = (ef_kmeans_plan){
        .method = params->method,
        .empty = params->empty,
        .n_asked = params->n_clusters,
        .iterations = params->iterations != 0 ? params->iterations : EFFACE_MAX_ITERATIONS,
        .seed = params->common.seed,
        .n_threads = params->common.n_threads,
        .interrupt = {params->common.interrupted, params->common.interrupt_context, NULL},
    };
    if (plan->method == EFFACE_METHOD_QUANTIZED)
        plan->gamma = round_up_half(params->quantized.gamma * (double)EF_GAMMA_ONE);
    if (plan->method == EFFACE_METHOD_PYRAMID) {
        plan->passes = params->pyramid.passes;
        plan->starts = params->pyramid.starts;
    }
}

void ef_kmeans_plan_sample(ef_kmeans_plan *plan, const efface_kmeans_params *params, uint64_t n) {
    plan->wanted = wanted_rows(params, n, plan->n_clusters);
    if (plan->wanted == 0) {
        plan->method = EFFACE_METHOD_LLOYD;
        plan->passes = plan->starts = 0;
    }
}

efface_status ef_kmeans_plan_init(ef_kmeans_plan *plan, const ef_counts *counts,
                                  const efface_kmeans_params *params, efface_error *error) {
    const efface_status status = ef_params_check(params, error);
    if (status != EFFACE_OK)
        return status;
    const uint64_t n = counts->n_rows;
    ef_kmeans_plan_fixed(plan, params);
    plan->n_clusters = n < params->n_clusters ? (uint32_t)n : params->n_clusters;
    plan->candidates = ef_count_candidates(params->candidates, plan->n_clusters);
    if (plan->method == EFFACE_METHOD_PYRAMID)
        ef_kmeans_plan_sample(plan, params, n);
    if (params->epsilon > 0.0 && plan->method != EFFACE_METHOD_LLOYD &&
        plan->method != EFFACE_METHOD_TREE) /* whose nodes have their own */
        plan->epsilon = epsilon_steps(params->epsilon);
    else if (plan->method == EFFACE_METHOD_QUANTIZED)
        plan->epsilon =
            automatic_epsilon((double)n, (double)plan->n_clusters, (double)counts->n_columns);
    if (plan->method == EFFACE_METHOD_TREE)
        plan->width =
            params->tree.width != 0 ? params->tree.width : ef_tree_width(n, params->tree.height);
    return EFFACE_OK;
}

efface_params *ef_params_copy(const efface_params *common, uint32_t n_columns) {
    const efface_kmeans_params *const params = (const void *)common;
    const size_t n_depths =
        params->method == EFFACE_METHOD_TREE && params->tree.depth_clusters != NULL
            ? params->tree.height
            : 0;
    const size_t n_bounds = params->column_min != NULL ? n_columns : 0;
    size_t n_bytes = sizeof *params + n_depths * sizeof *params->tree.depth_clusters;
    n_bytes += 2 * n_bounds * sizeof *params->column_min;
    efface_kmeans_params *const copy = ef_alloc(1, n_bytes);
    if (copy == NULL)
        return NULL;
    *copy = *params;
    uint32_t *const depths = (uint32_t *)(void *)(copy + 1);
    float *const bounds = (float *)(void *)(depths + n_depths);
    copy->tree.depth_clusters = n_depths != 0 ? depths : NULL;
    if (n_depths != 0)
        memcpy(depths, params->tree.depth_clusters, n_depths * sizeof *depths);
    if (n_bounds != 0) {
        memcpy(bounds, params->column_min, n_bounds * sizeof *bounds);
        memcpy(bounds + n_bounds, params->column_max, n_bounds * sizeof *bounds);
        copy->column_min = bounds;
        copy->column_max = bounds + n_bounds;
    }
    return &copy->common;
}
