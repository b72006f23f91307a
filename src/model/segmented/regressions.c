/* The regressions of segments. */
#include "model/segmented/regressions.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "model/sums/views/regression.h"

ef_regressions *ef_regressions_make(uint32_t n_segments, uint32_t n_targets, uint32_t n_inputs) {
    size_t n = 0, n_coefficients = 0;
    ef_regressions *const r = ef_alloc_zero(1, sizeof *r);
    if (r == NULL || !ef_mul_size(n_segments, n_targets, &n) ||
        !ef_mul_size(n, n_inputs, &n_coefficients)) {
        ef_free(r);
        return NULL;
    }
    *r = (ef_regressions){.n_segments = n_segments, .n_targets = n_targets, .n_inputs = n_inputs};
    const ef_array arrays[] = {{&r->intercepts, n, sizeof *r->intercepts},
                               {&r->coefficients, n_coefficients, sizeof *r->coefficients}};
    r->block = EF_ARRAYS_TAKE(arrays, true);
    if (r->block != NULL)
        return r;
    ef_free(r);
    return NULL;
}

void ef_regressions_free(ef_regressions *r) {
    if (r == NULL)
        return;
    ef_free(r->block);
    ef_free(r);
}

size_t ef_regressions_bytes(const ef_regressions *r) {
    return sizeof *r + (size_t)r->n_segments * r->n_targets * (1 + (size_t)r->n_inputs) *
                           sizeof *r->coefficients;
}

/* ---------------------------------------------------------------- computing */

/* The mean of a target over all rows. */
static double mean_of(const ef_segmented *s, uint32_t target) {
    const uint32_t point = s->coordinates.target_points[target];
    uint64_t sum = 0;
    int64_t weight = 0;
    for (uint32_t c = 0; c < s->n_segments; c++) {
        sum += (uint64_t)s->segments[c].sums[point];
        weight += s->segments[c].weight;
    }
    return (double)(int64_t)sum / (double)weight * ef_coordinates_unit(&s->coordinates, point);
}

static efface_status compute(const ef_segmented *s, ef_regressions *r, efface_error *error) {
    efface_status status = EFFACE_OK;
    for (uint32_t c = 0; c < s->n_segments && status == EFFACE_OK; c++) {
        const size_t first = (size_t)c * r->n_targets;
        const ef_regression of = {.moments = &s->segments[c],
                                  .coordinates = &s->coordinates,
                                  .params = s->params->linear,
                                  .weight_unit = s->params->weight_unit};
        const ef_regression_result to = {.intercepts = r->intercepts + first,
                                         .coefficients = r->coefficients + first * r->n_inputs};
        if (s->segments[c].n_rows != 0)
            status = ef_regress(&of, &to, error);
        else
            for (uint32_t i = 0; i < r->n_targets && s->params->linear.intercept; i++)
                r->intercepts[first + i] = mean_of(s, i);
    }
    return status;
}

efface_status ef_regressions_get(const ef_segmented *of, const ef_regressions **out,
                                 efface_error *error) {
    ef_segmented *const s = (ef_segmented *)(uintptr_t)of; /* what is kept is no part of it */
    ef_regressions *kept = atomic_load(&s->regressions);
    if (kept == NULL) {
        ef_regressions *const made =
            ef_regressions_make(s->n_segments, s->coordinates.n_targets, s->coordinates.n_terms);
        const efface_status status = made != NULL ? compute(s, made, error) : ef_fail_memory(error);
        if (status != EFFACE_OK) {
            ef_regressions_free(made);
            return status;
        }
        /* Another thread may have been quicker; what it made is the same. */
        if (atomic_compare_exchange_strong(&s->regressions, &kept, made))
            kept = made;
        else
            ef_regressions_free(made);
    }
    *out = kept;
    return EFFACE_OK;
}
