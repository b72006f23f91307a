/*
 * Parameters of a model as they stand in the file. The seed is among them: a store can go on with
 * its models, and whoever has the file has the seed.
 *
 *     u32  version, 2          f64  bound                   f64  rate
 *     u32  method              u32  empty                   u32  passes, starts
 *     u32  clusters            f64  epsilon                 u32  height, width
 *     u32  iterations          f64  gamma                   u32  leaf method, node method, weigh
 *     u64  seed                u32  redraw                  u32  candidates
 *     u32  scale                                            u32  number of clusters for depths, and
 *                                                                that many u32
 *                                                           u32  1 if columns have bounds: then f32
 *                                                                least and f32 most of each
 *
 * Version 1 has no candidates: there is one.
 */
#include "base/checked.h"
#include "base/status.h"
#include "store/store.h"

#define RECORD_VERSION 2
#define WITHOUT_CANDIDATES 1

void ef_params_write(ef_writer *w, const efface_kmeans_params *p, uint32_t n_columns) {
    const uint32_t n_depths =
        p->method == EFFACE_METHOD_TREE && p->depth_clusters != NULL ? p->height : 0;
    ef_write_u32(w, RECORD_VERSION);
    ef_write_u32(w, (uint32_t)p->method);
    ef_write_u32(w, p->n_clusters);
    ef_write_u32(w, p->iterations);
    ef_write_u64(w, p->common.seed);
    ef_write_u32(w, (uint32_t)p->scale);
    ef_write_f64(w, p->bound);
    ef_write_u32(w, (uint32_t)p->empty);
    ef_write_f64(w, p->epsilon);
    ef_write_f64(w, p->gamma);
    ef_write_u32(w, (uint32_t)p->redraw);
    ef_write_f64(w, p->rate);
    ef_write_u32(w, p->passes);
    ef_write_u32(w, p->starts);
    ef_write_u32(w, p->height);
    ef_write_u32(w, p->width);
    ef_write_u32(w, (uint32_t)p->leaf_method);
    ef_write_u32(w, (uint32_t)p->node_method);
    ef_write_u32(w, p->weigh_centroids != 0);
    ef_write_u32(w, p->candidates);
    ef_write_u32(w, n_depths);
    for (uint32_t l = 0; l < n_depths; l++)
        ef_write_u32(w, p->depth_clusters[l]);
    ef_write_u32(w, p->column_min != NULL);
    for (uint32_t j = 0; p->column_min != NULL && j < n_columns; j++) {
        ef_write_f32(w, p->column_min[j]);
        ef_write_f32(w, p->column_max[j]);
    }
}

/* What the parameters refer to. */
static efface_status read_lists(ef_decoder *r, ef_record *record, efface_error *error) {
    efface_kmeans_params *const p = &record->params;
    const uint32_t n_depths = ef_read_u32(r);
    if (n_depths != 0 && (n_depths != p->height || !ef_decoder_has(r, n_depths, 4)))
        return ef_store_corrupt(error, "the parameters of a model are invalid");
    if (n_depths != 0) {
        record->depth_clusters = ef_alloc(n_depths, sizeof *record->depth_clusters);
        if (record->depth_clusters == NULL)
            return ef_fail_memory(error);
        for (uint32_t l = 0; l < n_depths; l++)
            record->depth_clusters[l] = ef_read_u32(r);
        p->depth_clusters = record->depth_clusters;
    }
    const size_t d = record->n_columns;
    if (ef_read_u32(r) == 0)
        return EFFACE_OK;
    if (!ef_decoder_has(r, d, 8))
        return ef_store_corrupt(error, "the parameters of a model are invalid");
    record->bounds = ef_alloc(2 * d, sizeof *record->bounds);
    if (record->bounds == NULL)
        return ef_fail_memory(error);
    for (size_t j = 0; j < d; j++) {
        record->bounds[j] = ef_read_f32(r);
        record->bounds[d + j] = ef_read_f32(r);
    }
    p->column_min = record->bounds;
    p->column_max = record->bounds + d;
    return EFFACE_OK;
}

efface_status ef_params_read(ef_decoder *r, ef_record *record, efface_error *error) {
    efface_kmeans_params *const p = &record->params;
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
    p->gamma = ef_read_f64(r);
    p->redraw = (efface_redraw)ef_read_u32(r);
    p->rate = ef_read_f64(r);
    p->passes = ef_read_u32(r);
    p->starts = ef_read_u32(r);
    p->height = ef_read_u32(r);
    p->width = ef_read_u32(r);
    p->leaf_method = (efface_method)ef_read_u32(r);
    p->node_method = (efface_method)ef_read_u32(r);
    p->weigh_centroids = ef_read_u32(r) != 0;
    const bool known = version == RECORD_VERSION || version == WITHOUT_CANDIDATES;
    p->candidates = version == WITHOUT_CANDIDATES ? 1 : ef_read_u32(r);
    efface_status status = read_lists(r, record, error);
    if (status == EFFACE_OK &&
        (r->failed || r->n_bytes != 0 || !known || ef_params_check(p, NULL) != EFFACE_OK))
        status = ef_store_corrupt(error, "the parameters of a model are invalid");
    return status;
}
