/* Views as bytes: what a published model has (docs/definition/published.md). */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/sums/views/views.h"

static void write_reals(ef_writer *w, const double *reals, size_t n) {
    for (size_t i = 0; i < n; i++)
        ef_write_f64(w, reals[i]);
}

void ef_view_write(ef_writer *w, const ef_view *v) {
    size_t n_weights, n_centers;
    (void)ef_view_sizes(v, &n_weights, &n_centers);
    ef_write_u32(w, (uint32_t)v->view);
    ef_write_u32(w, v->is_quadratic);
    ef_write_u32(w, v->n_inputs);
    ef_write_u32(w, v->fourier.n_features);
    ef_write_u32(w, v->n_outputs);
    for (uint32_t j = 0; j < v->n_inputs; j++)
        ef_write_u32(w, v->inputs[j]);
    if (v->fourier.n_features != 0)
        ef_fourier_write(w, &v->fourier);
    for (uint32_t k = 0; k < v->n_outputs; k++)
        ef_write_u64(w, (uint64_t)v->ids[k]);
    write_reals(w, v->weights, n_weights);
    write_reals(w, v->constants, v->n_outputs);
    if (v->view == EFFACE_VIEW_COMPONENTS)
        write_reals(w, v->scales, v->n_outputs);
    write_reals(w, v->centers, n_centers);
}

/* NaN may be among them where a column has no mean. */
static void read_reals(ef_decoder *r, double *reals, size_t n) {
    for (size_t i = 0; i < n; i++)
        reals[i] = ef_read_f64(r);
}

/* Whether the ids of outputs make sense. */
static bool ids_are_right(const ef_view *v) {
    for (uint32_t k = 0; k < v->n_outputs; k++) {
        if (ef_view_has_classes(v->view)
                ? v->ids[k] == EFFACE_NO_LABEL || (k != 0 && v->ids[k] <= v->ids[k - 1])
            : v->view == EFFACE_VIEW_COMPONENTS ? v->ids[k] != k
                                                : v->ids[k] < 0 || v->ids[k] >= v->n_columns)
            return false;
    }
    return true;
}

static efface_status read_body(ef_decoder *r, ef_view *v, bool has_features, efface_error *error) {
    size_t n_weights, n_centers, n_reals;
    if (!ef_view_sizes(v, &n_weights, &n_centers) || !ef_add_size(n_weights, n_centers, &n_reals) ||
        !ef_decoder_has(r, n_reals, sizeof(double)))
        return ef_fail_published(error, "its size");
    if (!ef_view_take(v))
        return ef_fail_memory(error);
    for (uint32_t j = 0; j < v->n_inputs; j++) {
        v->inputs[j] = ef_read_u32(r);
        if (v->inputs[j] >= v->n_columns || (j != 0 && v->inputs[j] <= v->inputs[j - 1]))
            return ef_fail_published(error, "a column");
    }
    if (has_features) {
        const efface_status status = ef_fourier_read(r, v->n_inputs, &v->fourier, error);
        if (status != EFFACE_OK)
            return status;
        if (v->fourier.n_features != v->n_terms)
            return ef_fail_published(error, "its Fourier features");
    }
    for (uint32_t k = 0; k < v->n_outputs; k++)
        v->ids[k] = (int64_t)ef_read_u64(r);
    if (!ids_are_right(v))
        return ef_fail_published(error, "what it predicts");
    read_reals(r, v->weights, n_weights);
    read_reals(r, v->constants, v->n_outputs);
    if (v->view == EFFACE_VIEW_COMPONENTS)
        read_reals(r, v->scales, v->n_outputs);
    read_reals(r, v->centers, n_centers);
    return r->failed ? ef_fail_published(error, "it ends too early") : EFFACE_OK;
}

efface_status ef_view_read(ef_decoder *r, uint32_t n_columns, ef_view **out, efface_error *error) {
    ef_view *const v = ef_alloc_zero(1, sizeof *v);
    if (v == NULL)
        return ef_fail_memory(error);
    const uint32_t view = ef_read_u32(r), is_quadratic = ef_read_u32(r);
    v->view = (efface_view)view;
    v->is_quadratic = is_quadratic != 0;
    v->n_columns = n_columns;
    v->n_inputs = ef_read_u32(r);
    const uint32_t n_features = ef_read_u32(r);
    v->n_outputs = ef_read_u32(r);
    v->n_terms = n_features != 0 ? n_features : v->n_inputs;
    efface_status status = EFFACE_OK;
    if (r->failed || view > EFFACE_VIEW_COMPONENTS || is_quadratic > 1 ||
        (v->is_quadratic && v->view != EFFACE_VIEW_DISCRIMINANT) || v->n_inputs > n_columns ||
        (v->n_inputs == 0) != (v->view == EFFACE_VIEW_MEANS) || n_features > EFFACE_MAX_FOURIER ||
        (v->n_inputs == 0 && n_features != 0) || v->n_outputs == 0 ||
        (v->view == EFFACE_VIEW_MEANS && v->n_outputs != n_columns) ||
        !ef_decoder_has(r, v->n_outputs, sizeof(double)))
        status = ef_fail_published(error, "its first bytes");
    EF_THEN(status, read_body(r, v, n_features != 0, error));
    if (status == EFFACE_OK)
        *out = v;
    else
        ef_view_free(v);
    return status;
}
