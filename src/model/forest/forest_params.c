/* The parameters of `forest`: defaults, checks, descriptions, and bytes
 * (docs/definition/format.md). */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/forest/forest.h"

#include <inttypes.h>
#include <string.h>

#define PARAMS_VERSION 1 /* of the struct: moves when it gets other fields */
#define RECORD_VERSION 1 /* of its bytes */

void efface_forest_params_init(efface_forest_params *params) {
    *params = (efface_forest_params){
        .common = {.version = PARAMS_VERSION, .family = EFFACE_FAMILY_FOREST},
        .target = EFFACE_NO_COLUMN,
        .n_trees = 100,
        .min_split = 2,
        .min_leaf = 1,
        .trees_of_row = 10,
    };
}

/* Whether columns of categories are columns, each once. */
static efface_status check_categories(const efface_forest_params *params, efface_error *error) {
    if (params->n_categories > EFFACE_MAX_COLUMNS ||
        (params->n_categories != 0 && params->categories == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "the list of columns of categories is invalid");
    for (uint32_t i = 0; i < params->n_categories; i++) {
        if (params->categories[i] >= EFFACE_MAX_COLUMNS)
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "column %" PRIu32 " cannot have categories: there is no such column",
                           params->categories[i]);
        if (i != 0 && params->categories[i] <= params->categories[i - 1])
            return ef_fail(error, EFFACE_E_ARGUMENT,
                           "columns of categories must be in ascending order, each once");
    }
    return EFFACE_OK;
}

efface_status ef_forest_check_params(const efface_params *common, efface_error *error) {
    const efface_forest_params *const params = (const void *)common;
    if (common->version != PARAMS_VERSION || common->family != EFFACE_FAMILY_FOREST)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the parameters must be filled by efface_forest_params_init first");
    if (params->target != EFFACE_NO_COLUMN && params->target >= EFFACE_MAX_COLUMNS)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the target must be a column, counted from 0");
    if (!(params->bound >= 0.0 && params->bound <= EFFACE_MAX_MAGNITUDE))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the bound must be above 0 and at most 2^126, or 0 to derive it, not %g",
                       params->bound);
    if (params->n_trees == 0 || params->n_trees > EFFACE_MAX_TREES)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the number of trees must be 1 to %u, not %" PRIu32, EFFACE_MAX_TREES,
                       params->n_trees);
    if (params->min_split < 2 || params->min_leaf < 1)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a node that is split has at least 2 rows, and a leaf at least 1: min_split "
                       "is %" PRIu32 ", and min_leaf is %" PRIu32,
                       params->min_split, params->min_leaf);
    if ((unsigned)params->rows > EFFACE_FOREST_POISSON)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the rows of a tree must be all, some or poisson");
    if (params->trees_of_row == 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "a row must be in 1 tree or more");
    if ((unsigned)params->criterion > EFFACE_CRITERION_ENTROPY)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the criterion must be gini or entropy");
    if (params->target != EFFACE_NO_COLUMN && params->criterion == EFFACE_CRITERION_ENTROPY)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "entropy is a criterion for classes; with a target leave the default");
    return check_categories(params, error);
}

efface_params *ef_forest_copy_params(const efface_params *common, uint32_t n_columns) {
    const efface_forest_params *const params = (const void *)common;
    const size_t list_bytes = params->n_categories * sizeof *params->categories;
    efface_forest_params *const copy = ef_alloc(1, sizeof *copy + list_bytes);
    (void)n_columns;
    if (copy == NULL)
        return NULL;
    *copy = *params;
    copy->categories = NULL;
    if (params->n_categories != 0) {
        memcpy(copy + 1, params->categories, list_bytes);
        copy->categories = (const uint32_t *)(const void *)(copy + 1);
    }
    return &copy->common;
}

/* ---------------------------------------------------------------- bytes */

void ef_forest_write_params(ef_writer *w, const efface_params *common, uint32_t n_columns) {
    const efface_forest_params *const p = (const void *)common;
    (void)n_columns;
    ef_write_u32(w, RECORD_VERSION);
    ef_write_u64(w, common->seed);
    ef_write_u32(w, p->target);
    ef_write_f64(w, p->bound);
    ef_write_u32(w, p->n_trees);
    ef_write_u32(w, p->n_candidates);
    ef_write_u32(w, p->max_depth);
    ef_write_u32(w, p->min_split);
    ef_write_u32(w, p->min_leaf);
    ef_write_u32(w, (uint32_t)p->rows);
    ef_write_u32(w, p->trees_of_row);
    ef_write_u32(w, (uint32_t)p->criterion);
    ef_write_u32(w, p->missing != 0);
    ef_write_u32(w, p->lazy != 0);
    ef_write_u32(w, p->n_categories);
    for (uint32_t i = 0; i < p->n_categories; i++)
        ef_write_u32(w, p->categories[i]);
}

efface_status ef_forest_read_params(ef_decoder *r, uint32_t n_columns, efface_params **out,
                                    efface_error *error) {
    efface_forest_params p;
    (void)n_columns;
    efface_forest_params_init(&p);
    const uint32_t version = ef_read_u32(r);
    p.common.seed = ef_read_u64(r);
    p.target = ef_read_u32(r);
    p.bound = ef_read_f64(r);
    p.n_trees = ef_read_u32(r);
    p.n_candidates = ef_read_u32(r);
    p.max_depth = ef_read_u32(r);
    p.min_split = ef_read_u32(r);
    p.min_leaf = ef_read_u32(r);
    p.rows = (efface_forest_rows)ef_read_u32(r);
    p.trees_of_row = ef_read_u32(r);
    p.criterion = (efface_criterion)ef_read_u32(r);
    p.missing = ef_read_u32(r) != 0;
    p.lazy = ef_read_u32(r) != 0;
    const uint32_t n = ef_read_u32(r);
    if (r->failed || version != RECORD_VERSION || n > EFFACE_MAX_COLUMNS ||
        !ef_decoder_has(r, n, sizeof(uint32_t)))
        return ef_fail(error, EFFACE_E_FORMAT, "the parameters of a forest are damaged");
    uint32_t *const categories = ef_alloc(n, sizeof *categories);
    if (categories == NULL)
        return ef_fail_memory(error);
    for (uint32_t i = 0; i < n; i++)
        categories[i] = ef_read_u32(r);
    p.categories = categories;
    p.n_categories = n;
    *out = ef_forest_copy_params(&p.common, n_columns);
    ef_free(categories);
    return *out != NULL ? EFFACE_OK : ef_fail_memory(error);
}

/* ---------------------------------------------------------------- facts */

static void tell_whole(ef_listener to, const char *name, uint64_t value) {
    to.each(to.context, &(efface_fact){.name = name, .is_parameter = 1, .whole = value});
}

static void tell_text(ef_listener to, const char *name, const char *text) {
    to.each(
        to.context,
        &(efface_fact){.name = name, .kind = EFFACE_FACT_TEXT, .is_parameter = 1, .text = text});
}

static void tell_if(ef_listener to, const char *name, bool yes) {
    if (yes)
        to.each(to.context,
                &(efface_fact){
                    .name = name, .kind = EFFACE_FACT_YES_NO, .is_parameter = 1, .whole = 1});
}

/* A number of which 0 stands for something else. */
static void tell_unless_0(ef_listener to, const char *name, uint64_t value) {
    to.each(to.context, &(efface_fact){.name = name,
                                       .kind = value != 0 ? EFFACE_FACT_WHOLE : EFFACE_FACT_NONE,
                                       .is_parameter = 1,
                                       .whole = value});
}

void ef_forest_describe_params(const efface_params *common, ef_listener to) {
    static const char *const rows[] = {"all", "some", "poisson"};
    const efface_forest_params *const p = (const void *)common;
    const bool of_classes = p->target == EFFACE_NO_COLUMN;
    if (!of_classes)
        to.each(to.context,
                &(efface_fact){.name = "bound",
                               .kind = p->bound != 0.0 ? EFFACE_FACT_REAL : EFFACE_FACT_NONE,
                               .is_parameter = 1,
                               .real = p->bound});
    tell_whole(to, "trees", p->n_trees);
    tell_unless_0(to, "candidates", p->n_candidates);
    if (p->max_depth != 0)
        tell_whole(to, "max_depth", p->max_depth);
    else
        tell_text(to, "max_depth", "unlimited");
    tell_whole(to, "min_split", p->min_split);
    tell_whole(to, "min_leaf", p->min_leaf);
    tell_text(to, "rows", rows[p->rows]);
    if (p->rows == EFFACE_FOREST_SOME)
        tell_whole(to, "trees_of_row", p->trees_of_row);
    if (of_classes)
        tell_text(to, "criterion", p->criterion == EFFACE_CRITERION_ENTROPY ? "entropy" : "gini");
    tell_if(to, "missing_values", p->missing != 0);
    tell_if(to, "grows_when_needed", p->lazy != 0);
    if (p->n_categories != 0)
        tell_whole(to, "text_columns", p->n_categories);
}
