/*
 * The parameters of `segmented`: defaults, checks, descriptions, and bytes, as they stand in a
 * store:
 *
 *     u32  version, 1                        u32  unit of weights
 *     u32  number of targets, and their      f64  alpha
 *          columns, u32 each                 u32  1 if there is an intercept
 *     f64  bound                             the parameters of k-means (kmeans_params_bytes.c), the
 * seed of the whole among them
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/segmented/segmented.h"
#include "model/sums/views/views.h"

#include <string.h>

#define PARAMS_VERSION 2 /* of the struct: moves when it gets other fields */
#define RECORD_VERSION 1 /* of its bytes */

void efface_segmented_params_init(efface_segmented_params *params) {
    *params = (efface_segmented_params){
        .common = {.version = PARAMS_VERSION, .family = EFFACE_FAMILY_SEGMENTED},
        .weight_unit = 1,
        .linear = {.intercept = 1},
    };
    efface_kmeans_params_init(&params->kmeans);
}

efface_kmeans_params ef_segmented_kmeans_params(const efface_segmented_params *params) {
    efface_kmeans_params defaults, kmeans = params->kmeans;
    efface_kmeans_params_init(&defaults);
    kmeans.common = params->common;
    kmeans.common.version = defaults.common.version;
    kmeans.common.family = defaults.common.family;
    return kmeans;
}

efface_status ef_segmented_check_params(const efface_params *common, efface_error *error) {
    const efface_segmented_params *const params = (const void *)common;
    if (common->version != PARAMS_VERSION || common->family != EFFACE_FAMILY_SEGMENTED)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters must be filled by efface_segmented_params_init first");
    if (params->targets == NULL || params->n_targets == 0 || params->n_targets > EFFACE_MAX_COLUMNS)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a segmented regression needs a target: name the column that it is to "
                       "predict");
    if (!(params->bound >= 0.0 && params->bound <= EFFACE_MAX_MAGNITUDE))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the bound must be above 0 and at most 2^126, or 0 to derive it, not %g",
                       params->bound);
    if (params->weight_unit == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the unit of weights must be 1 or more");
    const efface_kmeans_params kmeans = ef_segmented_kmeans_params(params);
    if (params->linear.scale != EFFACE_SCALE_NONE)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the penalty of a segmented regression is in the units of the data: its "
                       "scale must be none");
    const efface_status status = ef_params_check_asked(&kmeans, error);
    return status == EFFACE_OK ? ef_linear_check(&params->linear, error) : status;
}

/* ---------------------------------------------------------------- copies */

/* Copies n things of 4 bytes to where the last copy ended; NULL if there are none. */
static const void *copy_list(unsigned char **to, const void *from, size_t n) {
    unsigned char *const at = *to;
    if (from == NULL || n == 0)
        return NULL;
    memcpy(at, from, 4 * n);
    *to += 4 * n;
    return at;
}

efface_params *ef_segmented_copy_params(const efface_params *common, uint32_t n_columns) {
    const efface_segmented_params *const params = (const void *)common;
    const efface_kmeans_params *const kmeans = &params->kmeans;
    const size_t n_depths = kmeans->method == EFFACE_METHOD_TREE ? kmeans->tree.height : 0;
    efface_segmented_params *const copy =
        ef_alloc(1, sizeof *copy + 4 * (params->n_targets + n_depths + 2 * (size_t)n_columns));
    if (copy == NULL)
        return NULL;
    unsigned char *to = (unsigned char *)(copy + 1);
    *copy = *params;
    copy->targets = copy_list(&to, params->targets, params->n_targets);
    copy->kmeans.tree.depth_clusters = copy_list(&to, kmeans->tree.depth_clusters, n_depths);
    copy->kmeans.column_min = copy_list(&to, kmeans->column_min, n_columns);
    copy->kmeans.column_max = copy_list(&to, kmeans->column_max, n_columns);
    return &copy->common;
}

/* ---------------------------------------------------------------- bytes */

void ef_segmented_write_params(ef_writer *w, const efface_params *common, uint32_t n_columns) {
    const efface_segmented_params *const params = (const void *)common;
    const efface_kmeans_params kmeans = ef_segmented_kmeans_params(params);
    ef_write_u32(w, RECORD_VERSION);
    ef_write_u32(w, params->n_targets);
    for (uint32_t i = 0; i < params->n_targets; i++)
        ef_write_u32(w, params->targets[i]);
    ef_write_f64(w, params->bound);
    ef_write_u32(w, params->weight_unit);
    ef_write_f64(w, params->linear.alpha);
    ef_write_u32(w, params->linear.intercept != 0);
    ef_params_write(w, &kmeans.common, n_columns);
}

/* What comes behind the targets, for which there is room. */
static efface_status read_rest(ef_decoder *r, efface_segmented_params *params, uint32_t n_columns,
                               efface_params **out, efface_error *error) {
    params->bound = ef_read_f64(r);
    params->weight_unit = ef_read_u32(r);
    params->linear.alpha = ef_read_f64(r);
    params->linear.intercept = ef_read_u32(r) != 0;
    efface_params *kmeans = NULL;
    const efface_status status = ef_params_read(r, n_columns, &kmeans, error);
    if (status != EFFACE_OK)
        return status;
    memcpy(&params->kmeans, kmeans, sizeof params->kmeans);
    params->common.seed = kmeans->seed;
    params->kmeans.common.seed = 0;
    *out = ef_segmented_copy_params(&params->common, n_columns);
    ef_free(kmeans);
    return *out != NULL ? EFFACE_OK : ef_fail_memory(error);
}

efface_status ef_segmented_read_params(ef_decoder *r, uint32_t n_columns, efface_params **out,
                                       efface_error *error) {
    efface_segmented_params params;
    efface_segmented_params_init(&params);
    const uint32_t version = ef_read_u32(r);
    params.n_targets = ef_read_u32(r);
    if (version != RECORD_VERSION || !ef_decoder_has(r, params.n_targets, sizeof(uint32_t)))
        return ef_fail(error, EFFACE_E_FORMAT, "the parameters of a model are invalid");
    uint32_t *const targets = ef_alloc(params.n_targets, sizeof *targets);
    if (targets == NULL)
        return ef_fail_memory(error);
    for (uint32_t i = 0; i < params.n_targets; i++)
        targets[i] = ef_read_u32(r);
    params.targets = targets;
    const efface_status status = read_rest(r, &params, n_columns, out, error);
    ef_free(targets);
    return status;
}

/* ---------------------------------------------------------------- facts */

void ef_segmented_describe_params(const efface_params *common, ef_listener to) {
    const efface_segmented_params *const p = (const void *)common;
    const efface_kmeans_params kmeans = ef_segmented_kmeans_params(p);
    const efface_fact facts[] = {
        {.name = "targets", .whole = p->n_targets, .is_parameter = 1},
        {.name = "sums_bound",
         .kind = p->bound > 0.0 ? EFFACE_FACT_REAL : EFFACE_FACT_NONE,
         .real = p->bound,
         .is_parameter = 1},
        {.name = "alpha", .kind = EFFACE_FACT_REAL, .real = p->linear.alpha, .is_parameter = 1},
        {.name = "intercept",
         .kind = EFFACE_FACT_YES_NO,
         .whole = p->linear.intercept != 0,
         .is_parameter = 1},
        {.name = "weight_unit", .whole = p->weight_unit, .is_parameter = 1},
    };
    const size_t n = sizeof facts / sizeof facts[0] - (p->weight_unit == 1);
    ef_params_describe(&kmeans.common, to);
    for (size_t i = 0; i < n; i++)
        to.each(to.context, &facts[i]);
}
