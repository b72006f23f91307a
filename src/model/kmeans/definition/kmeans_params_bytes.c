/*
 * Parameters as bytes, as they stand in a store, and as facts. The seed is among the bytes: a store
 * can go on with its models, and whoever has the file has the seed. It is among no facts.
 *
 *     u32  version, 2          f64  bound                   f64  rate
 *     u32  method              u32  empty                   u32  passes, starts
 *     u32  clusters            f64  epsilon                 u32  height, width
 *     u32  iterations          f64  gamma                   u32  leaf method, node method, weigh
 *     u64  seed                u32  0                       u32  candidates
 *     u32  scale                                            u32  number of clusters for depths, and
 *                                                                that many u32
 *                                                           u32  1 if columns have bounds: then f32
 *                                                                least and f32 most of each
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/kmeans/definition/tree.h"

#define RECORD_VERSION 2

void ef_params_write(ef_writer *w, const efface_params *params, uint32_t n_columns) {
    const efface_kmeans_params *const p = (const void *)params;
    const uint32_t n_depths =
        p->method == EFFACE_METHOD_TREE && p->tree.depth_clusters != NULL ? p->tree.height : 0;
    ef_write_u32(w, RECORD_VERSION);
    ef_write_u32(w, (uint32_t)p->method);
    ef_write_u32(w, p->n_clusters);
    ef_write_u32(w, p->iterations);
    ef_write_u64(w, p->common.seed);
    ef_write_u32(w, (uint32_t)p->scale);
    ef_write_f64(w, p->bound);
    ef_write_u32(w, (uint32_t)p->empty);
    ef_write_f64(w, p->epsilon);
    ef_write_f64(w, p->quantized.gamma);
    ef_write_u32(w, 0);
    ef_write_f64(w, p->pyramid.rate);
    ef_write_u32(w, p->pyramid.passes);
    ef_write_u32(w, p->pyramid.starts);
    ef_write_u32(w, p->tree.height);
    ef_write_u32(w, p->tree.width);
    ef_write_u32(w, (uint32_t)p->tree.leaf_method);
    ef_write_u32(w, (uint32_t)p->tree.node_method);
    ef_write_u32(w, p->tree.weigh_centroids != 0);
    ef_write_u32(w, p->candidates);
    ef_write_u32(w, n_depths);
    for (uint32_t l = 0; l < n_depths; l++)
        ef_write_u32(w, p->tree.depth_clusters[l]);
    ef_write_u32(w, p->column_min != NULL);
    for (uint32_t j = 0; p->column_min != NULL && j < n_columns; j++) {
        ef_write_f32(w, p->column_min[j]);
        ef_write_f32(w, p->column_max[j]);
    }
}

static efface_status invalid(efface_error *error) {
    return ef_fail(error, EFFACE_E_FORMAT, "the parameters of a model are invalid");
}

/* What parameters refer to, which is then copied with them to `out`. */
static efface_status read_lists(ef_decoder *r, efface_kmeans_params *p, uint32_t d,
                                efface_params **out, efface_error *error) {
    uint32_t depths[EF_MOST_HEIGHT];
    const uint32_t n_depths = ef_read_u32(r);
    if (n_depths != 0 && (n_depths != p->tree.height || n_depths > EF_MOST_HEIGHT))
        return invalid(error);
    for (uint32_t l = 0; l < n_depths; l++)
        depths[l] = ef_read_u32(r);
    p->tree.depth_clusters = n_depths != 0 ? depths : NULL;
    const bool bounded = ef_read_u32(r) != 0;
    if (bounded && !ef_decoder_has(r, d, 8))
        return invalid(error);
    float *const bounds = ef_alloc(bounded ? 2 * (size_t)d : 0, sizeof *bounds);
    if (bounds == NULL)
        return ef_fail_memory(error);
    for (uint32_t j = 0; bounded && j < d; j++) {
        bounds[j] = ef_read_f32(r);
        bounds[d + j] = ef_read_f32(r);
    }
    p->column_min = bounded ? bounds : NULL;
    p->column_max = bounded ? bounds + d : NULL;
    *out = ef_params_copy(&p->common, d);
    ef_free(bounds);
    return *out != NULL ? EFFACE_OK : ef_fail_memory(error);
}

efface_status ef_params_read(ef_decoder *r, uint32_t n_columns, efface_params **out,
                             efface_error *error) {
    efface_kmeans_params params, *const p = &params;
    efface_kmeans_params_init(p);
    const uint32_t version = ef_read_u32(r);
    p->method = (efface_method)ef_read_u32(r);
    p->n_clusters = ef_read_u32(r);
    p->iterations = ef_read_u32(r);
    p->common.seed = ef_read_u64(r);
    p->scale = (efface_scale)ef_read_u32(r);
    p->bound = ef_read_f64(r);
    p->empty = (efface_empty)ef_read_u32(r);
    p->epsilon = ef_read_f64(r);
    p->quantized.gamma = ef_read_f64(r);
    const uint32_t zero = ef_read_u32(r);
    p->pyramid.rate = ef_read_f64(r);
    p->pyramid.passes = ef_read_u32(r);
    p->pyramid.starts = ef_read_u32(r);
    p->tree.height = ef_read_u32(r);
    p->tree.width = ef_read_u32(r);
    p->tree.leaf_method = (efface_method)ef_read_u32(r);
    p->tree.node_method = (efface_method)ef_read_u32(r);
    p->tree.weigh_centroids = ef_read_u32(r) != 0;
    p->candidates = ef_read_u32(r);
    if (version != RECORD_VERSION || zero != 0)
        return invalid(error);
    const efface_status status = read_lists(r, p, n_columns, out, error);
    if (status != EFFACE_OK || (!r->failed && r->n_bytes == 0))
        return status;
    ef_free(*out);
    *out = NULL;
    return invalid(error);
}

/* ---------------------------------------------------------------- facts */

const char *ef_method_name(efface_method method) {
    switch (method) {
    case EFFACE_METHOD_LLOYD: return "lloyd";
    case EFFACE_METHOD_QUANTIZED: return "quantized";
    case EFFACE_METHOD_PYRAMID: return "pyramid";
    case EFFACE_METHOD_TREE: return "tree";
    }
    return "unknown";
}

static void tell_params(ef_listener to, efface_fact fact) {
    to.each(to.context, &fact);
}

static void tell_whole(ef_listener to, const char *name, uint64_t value) {
    tell_params(to, (efface_fact){.name = name, .whole = value, .is_parameter = 1});
}

static void tell_text(ef_listener to, const char *name, const char *text) {
    tell_params(
        to, (efface_fact){.name = name, .kind = EFFACE_FACT_TEXT, .text = text, .is_parameter = 1});
}

static void tell_real(ef_listener to, const char *name, double value) {
    tell_params(to, (efface_fact){
                        .name = name, .kind = EFFACE_FACT_REAL, .real = value, .is_parameter = 1});
}

/* A number that is derived from the rows if it is 0. */
static void tell_whole_or_none(ef_listener to, const char *name, uint64_t value) {
    const efface_fact_kind kind = value != 0 ? EFFACE_FACT_WHOLE : EFFACE_FACT_NONE;
    tell_params(to, (efface_fact){.name = name, .kind = kind, .whole = value, .is_parameter = 1});
}

static void tell_real_or_none(ef_listener to, const char *name, double value) {
    const efface_fact_kind kind = value > 0.0 ? EFFACE_FACT_REAL : EFFACE_FACT_NONE;
    tell_params(to, (efface_fact){.name = name, .kind = kind, .real = value, .is_parameter = 1});
}

static bool uses(efface_method method, const efface_kmeans_params *p) {
    return p->method == method || (p->method == EFFACE_METHOD_TREE &&
                                   (p->tree.leaf_method == method ||
                                    (p->tree.height > 0 && p->tree.node_method == method)));
}

/* Those that the method looks at. */
void ef_params_describe(const efface_params *params, ef_listener to) {
    const efface_kmeans_params *const p = (const void *)params;
    const bool quantized = uses(EFFACE_METHOD_QUANTIZED, p);
    const bool pyramid = uses(EFFACE_METHOD_PYRAMID, p);
    const bool tree = p->method == EFFACE_METHOD_TREE;
    tell_text(to, "method", ef_method_name(p->method));
    tell_whole(to, "k", p->n_clusters);
    tell_whole(to, "iters", p->iterations);
    tell_whole_or_none(to, "candidates", p->candidates);
    tell_text(to, "scale",
              p->scale == EFFACE_SCALE_MINMAX     ? "minmax"
              : p->scale == EFFACE_SCALE_STANDARD ? "standard"
                                                  : "none");
    tell_text(to, "empty", p->empty == EFFACE_EMPTY_KEEP ? "keep" : "reseed");
    if (p->scale == EFFACE_SCALE_NONE)
        tell_real_or_none(to, "bound", p->bound);
    if (quantized || pyramid)
        tell_real_or_none(to, "epsilon", p->epsilon);
    if (quantized)
        tell_real(to, "gamma", p->quantized.gamma);
    if (pyramid) {
        tell_real_or_none(to, "rate", p->pyramid.rate);
        tell_whole(to, "passes", p->pyramid.passes);
        tell_whole(to, "starts", p->pyramid.starts);
    }
    if (!tree)
        return;
    tell_whole_or_none(to, "width", p->tree.width);
    tell_whole(to, "height", p->tree.height);
    tell_text(to, "leaf_method", ef_method_name(p->tree.leaf_method));
    tell_text(to, "node_method", ef_method_name(p->tree.node_method));
    tell_params(to, (efface_fact){.name = "weigh",
                                  .kind = EFFACE_FACT_YES_NO,
                                  .whole = p->tree.weigh_centroids != 0,
                                  .is_parameter = 1});
}

void ef_kmeans_describe(const ef_kmeans *model, ef_listener to) {
    const ef_kmeans *const root = model->tree != NULL ? ef_tree_root(model->tree) : NULL;
    const ef_kmeans *const top = root != NULL ? root : model;
    const uint64_t n_sampled = model->pilot.n_sample;
    const double epsilon = (double)top->plan.epsilon / (double)EF_GRID_MAX;
    const efface_fact facts[] = {
        {.name = "works_as", .kind = EFFACE_FACT_TEXT, .text = ef_method_name(model->plan.method)},
        {.name = "sample",
         .kind = n_sampled != 0 ? EFFACE_FACT_WHOLE : EFFACE_FACT_NONE,
         .whole = n_sampled},
        {.name = "iterations", .whole = top->model_level},
        {.name = "converged", .kind = EFFACE_FACT_YES_NO, .whole = top->stable},
        {.name = "epsilon",
         .kind = epsilon > 0.0 ? EFFACE_FACT_REAL : EFFACE_FACT_NONE,
         .real = epsilon},
        {.name = "width",
         .kind = model->plan.width != 0 ? EFFACE_FACT_WHOLE : EFFACE_FACT_NONE,
         .whole = model->plan.width},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        to.each(to.context, &facts[i]);
}
