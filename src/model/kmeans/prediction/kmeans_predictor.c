/* The predictor of a k-means model: lent, written, read, and looked at (family.h). Its bytes have
 * no sums, no counts, no seeds, no winners of the seeding, no row and no id. */
#include "model/kmeans/prediction/kmeans_predictor.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <string.h>

#define MOST_CENTRE 0x1.8p127F /* a difference from a value is then finite */
#define MOST_STEP 0x1p125F

_Static_assert(sizeof(ef_kmeans_predictor) <= sizeof(ef_lent), "there is room for one");

void ef_kmeans_lend(const void *state, ef_lent *room) {
    const ef_kmeans_predictor lent = ef_predictor_of(state);
    memcpy(room, &lent, sizeof lent);
}

void ef_kmeans_write_predictor(ef_writer *w, const void *predictor) {
    const ef_kmeans_predictor *const p = predictor;
    ef_write_u32(w, p->n_clusters);
    ef_write_u32(w, (uint32_t)p->domain.scale);
    ef_write_u32(w, (uint32_t)p->domain.exponent);
    /* Of the scale standard no more than the map: sums of rows are for the model alone. */
    for (uint32_t j = 0; p->domain.scale == EFFACE_SCALE_STANDARD && j < p->domain.map.n_columns;
         j++) {
        ef_write_f32(w, p->domain.low[j]);
        ef_write_f32(w, p->domain.step[j]);
    }
    if (p->domain.scale != EFFACE_SCALE_STANDARD)
        ef_domain_write(w, &p->domain);
    for (size_t i = 0; i < (size_t)p->n_clusters * p->domain.map.n_columns; i++)
        ef_write_u32(w, (uint32_t)p->centers[i]);
}

static efface_status read_centers(ef_decoder *r, ef_kmeans_predictor *p, efface_error *error) {
    const size_t d = p->domain.map.n_columns, n = p->n_clusters * d;
    if (!ef_decoder_has(r, n, sizeof(int32_t)) || r->n_bytes != n * sizeof(int32_t))
        return ef_fail_published(error, "the number of its centroids");
    p->own_centers = ef_alloc(n, sizeof *p->own_centers);
    if (p->own_centers == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        p->own_centers[i] = (int32_t)ef_read_u32(r);
        if (p->own_centers[i] < -EF_GRID_MAX || p->own_centers[i] > EF_GRID_MAX)
            return ef_fail_published(error, "a centroid");
    }
    p->centers = p->own_centers;
    return EFFACE_OK;
}

/* The map of the scale standard. */
static efface_status read_map(ef_decoder *r, ef_domain *domain, uint32_t d, int exponent,
                              efface_error *error) {
    if (!ef_decoder_has(r, d, 2 * sizeof(float)))
        return ef_fail_published(error, "the number of its columns");
    float *const low = ef_alloc(d, sizeof *low), *const step = ef_alloc(d, sizeof *step);
    efface_status status = low != NULL && step != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (uint32_t j = 0; status == EFFACE_OK && j < d; j++) {
        low[j] = ef_read_f32(r);
        step[j] = ef_read_f32(r);
        if (!(low[j] > -MOST_CENTRE && low[j] < MOST_CENTRE && step[j] >= 0.0F &&
              step[j] < MOST_STEP))
            status = ef_fail_published(error, "the unit of a column");
    }
    if (status == EFFACE_OK &&
        !ef_domain_restore(domain, d, EFFACE_SCALE_STANDARD, exponent, low, step, NULL))
        status = ef_fail_memory(error);
    ef_free(low);
    ef_free(step);
    return status;
}

efface_status ef_kmeans_read_predictor(ef_decoder *r, uint32_t d, void **out, efface_error *error) {
    const uint32_t k = ef_read_u32(r), scale = ef_read_u32(r);
    const int32_t exponent = (int32_t)ef_read_u32(r);
    const bool standard = scale == EFFACE_SCALE_STANDARD;
    const int32_t least = scale == EFFACE_SCALE_NONE ? EF_EXPONENT_MIN : 0;
    const int32_t most = scale == EFFACE_SCALE_MINMAX ? 0 : EF_EXPONENT_MAX;
    if (r->failed || k == 0 || k > EFFACE_MAX_CLUSTERS || scale > EFFACE_SCALE_STANDARD ||
        exponent < least || exponent > most)
        return ef_fail_published(error, "its first bytes");
    ef_kmeans_predictor *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    p->n_clusters = k;
    const ef_bounds bounds = {.scale = (efface_scale)scale};
    efface_status status = standard ? read_map(r, &p->domain, d, exponent, error)
                                    : ef_domain_read(r, &p->domain, d, exponent, bounds, 0, error);
    EF_THEN(status, read_centers(r, p, error));
    if (status == EFFACE_OK)
        *out = p;
    else
        ef_kmeans_free_predictor(p);
    return status;
}

void ef_kmeans_free_predictor(void *predictor) {
    ef_kmeans_predictor *const p = predictor;
    ef_free(p->own_centers);
    ef_domain_free(&p->domain);
    ef_free(p);
}

efface_predicts ef_kmeans_predicts(const void *predictor, uint32_t *n_numbers) {
    const ef_kmeans_predictor *const p = predictor;
    *n_numbers = p->n_clusters != 0 ? 1 : 0;
    return EFFACE_PREDICTS_CLUSTERS;
}

bool ef_kmeans_table(const void *predictor, uint32_t number, efface_table *table) {
    const ef_kmeans_predictor *const p = predictor;
    if (number != 0)
        return false;
    *table = (efface_table){.name = "centroids",
                            .row_name = "cluster",
                            .n_rows = p->n_clusters,
                            .n_columns = p->domain.map.n_columns};
    return true;
}

efface_status ef_kmeans_read_table(const void *predictor, uint32_t number, uint64_t row,
                                   const double *offsets, double *values, efface_error *error) {
    const ef_kmeans_predictor *const p = predictor;
    const uint32_t d = p->domain.map.n_columns;
    (void)number;
    (void)error;
    ef_domain_coordinates(&p->domain, p->centers + row * d, values);
    for (uint32_t j = 0; offsets != NULL && j < d; j++)
        values[j] += offsets[j];
    return EFFACE_OK;
}
