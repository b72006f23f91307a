/* The state of `segmented`: made from rows. */
#include "model/segmented/segmented.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/segmented/regressions.h"

/* ---------------------------------------------------------------- making */

efface_status ef_segmented_make(const efface_segmented_params *params, uint32_t d,
                                ef_segmented **out, efface_error *error) {
    ef_segmented *const s = ef_alloc_zero(1, sizeof *s);
    if (s == NULL)
        return ef_fail_memory(error);
    const ef_coordinates_params of = {
        .n_columns = d, .targets = params->targets, .n_targets = params->n_targets};
    efface_status status = ef_coordinates_init(&s->coordinates, &of, error);
    if (status == EFFACE_OK) {
        s->params = (efface_segmented_params *)(void *)ef_segmented_copy_params(&params->common, d);
        s->ignored = ef_alloc_zero(d, sizeof *s->ignored);
        if (s->params == NULL || s->ignored == NULL)
            status = ef_fail_memory(error);
    }
    if (status != EFFACE_OK) {
        ef_segmented_free(s);
        return status;
    }
    for (uint32_t i = 0; i < params->n_targets; i++)
        s->ignored[params->targets[i]] = true;
    *out = s;
    return EFFACE_OK;
}

void ef_segmented_free(void *state) {
    ef_segmented *const s = state;
    if (s == NULL)
        return;
    ef_segment_labels_free(&s->labels);
    ef_regressions_free(atomic_load(&s->regressions));
    ef_segments_free(s->segments, s->n_segments);
    ef_kmeans_free(s->kmeans); /* refers to what is ignored */
    ef_coordinates_free(&s->coordinates);
    ef_free(s->ignored);
    ef_free(s->params);
    ef_free(s);
}

/* ---------------------------------------------------------------- progress */

static int ask(void *context) {
    const efface_params *const common = &((const ef_segmented *)context)->params->common;
    return common->interrupted != NULL ? common->interrupted(common->interrupt_context) : 0;
}

static void tell_segmented(void *context, double part) {
    const efface_params *const common = &((const ef_segmented *)context)->params->common;
    common->progress(common->interrupt_context, EF_KMEANS_PART * part);
}

efface_kmeans_params ef_segmented_part_params(ef_segmented *s) {
    efface_kmeans_params params = ef_segmented_kmeans_params(s->params);
    if (params.common.progress != NULL) {
        params.common.interrupted = ask;
        params.common.interrupt_context = s;
        params.common.progress = tell_segmented;
    }
    return params;
}

/* ---------------------------------------------------------------- fit */

/* The sums of all segments, given the dividers. */
static efface_status make_segments(ef_segmented *s, const efface_data *data, efface_error *error) {
    ef_division by = {.map = &s->kmeans->domain.map};
    by.centers = ef_kmeans_dividers(s->kmeans, &by.n);
    const bool fits = ef_segment_labels_init(&s->labels, data->n_rows);
    s->segments = ef_segments_make(by.n, s->coordinates.n);
    s->n_segments = s->segments != NULL ? by.n : 0;
    efface_status status = fits && s->segments != NULL
                               ? ef_segments_of_rows(s, &by, data, s->labels.of, error)
                               : ef_fail_memory(error);
    EF_THEN(status, ef_segments_sum_up(s, &s->coordinates, data, s->labels.of, s->segments,
                                       s->n_segments, error));
    return status;
}

efface_status ef_segmented_fit(const efface_data *data, const efface_params *common, void **state,
                               efface_error *error) {
    const efface_segmented_params *const params = (const void *)common;
    ef_segmented *s = NULL;
    efface_status status = ef_segmented_make(params, data->n_columns, &s, error);
    EF_THEN(status, ef_coordinates_find_of(&s->coordinates, params->bound, data,
                                           s->coordinates.exponents, error));
    if (status == EFFACE_OK) {
        ef_coordinates_set(&s->coordinates, s->coordinates.exponents);
        const efface_kmeans_params part = ef_segmented_part_params(s);
        status = ef_kmeans_fit(data, &part, s->ignored, &s->kmeans, error);
    }
    EF_THEN(status, make_segments(s, data, error));
    if (status == EFFACE_OK)
        *state = s;
    else
        ef_segmented_free(s);
    return status;
}
