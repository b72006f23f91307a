/*
 * efface-bench online: how good the models are. Loss, silhouette and NMI at marks: after training,
 * after 1, 10, 100 and 1,000 rows, and at the end.
 */
#include "bench_online.h"

#include <math.h>
#include <stdlib.h>

#define SILHOUETTE_ROWS 10000

static const uint64_t milestones[] = {0, 1, 10, 100, 1000};

#define N_MILESTONES (sizeof milestones / sizeof milestones[0])

bool online_marks_milestones(const online_options *options) {
    return !options->skip_metrics && !options->metrics_at_end;
}

bool online_is_milestone(uint64_t n_forgotten) {
    for (size_t i = 0; i < N_MILESTONES; i++)
        if (milestones[i] == n_forgotten)
            return true;
    return false;
}

uint64_t online_rows_to_milestone(uint64_t n_forgotten) {
    for (size_t i = 0; i < N_MILESTONES; i++)
        if (milestones[i] > n_forgotten)
            return milestones[i] - n_forgotten;
    return UINT64_MAX;
}

/* A set with these rows of another one. */
static efface_status copy_rows(const efface_data *data, const uint64_t *ids, size_t n,
                               efface_data **out, efface_error *error) {
    const uint32_t n_columns = efface_data_n_columns(data);
    float *const values = malloc(n * n_columns * sizeof *values);
    efface_data *copy = NULL;
    if (values == NULL)
        return bench_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        size_t position = 0;
        efface_data_find(data, ids[i], &position);
        efface_data_values(data, position, values + i * n_columns);
    }
    efface_status status = efface_data_create(n_columns, &copy, error);
    if (status == EFFACE_OK)
        status =
            efface_data_add(copy, &(efface_rows){.n_rows = n, .values = values, .ids = ids}, error);
    if (status == EFFACE_OK) {
        *out = copy;
        copy = NULL;
    }
    efface_data_free(copy);
    free(values);
    return status;
}

/* A set with 10,000 rows of another one, drawn at random. */
static efface_status draw_rows(const efface_data *data, bench_random random, efface_data **out,
                               efface_error *error) {
    const size_t n = efface_data_n_rows(data);
    uint64_t *const ids = malloc(n * sizeof *ids);
    if (ids == NULL)
        return bench_fail_memory(error);
    for (size_t i = 0; i < n; i++)
        ids[i] = efface_data_row(data, i).id;
    bench_shuffle(&random, ids, n);
    const efface_status status = copy_rows(data, ids, SILHOUETTE_ROWS, out, error);
    free(ids);
    return status;
}

/* The silhouette of the rows, or of a sample of them: another one for each replicate and mark. */
static efface_status silhouette(const online_options *options, const efface_model *model,
                                const efface_data *data, const online_result *result,
                                uint64_t after, double *value, efface_error *error) {
    if (efface_data_n_rows(data) <= SILHOUETTE_ROWS)
        return efface_kmeans_silhouette(model, data, NULL, 0, value, error);
    const uint64_t stream = (uint64_t)result->replicate << 32 | after;
    efface_data *sample = NULL;
    efface_status status =
        draw_rows(data, bench_random_start(options->params.common.seed, stream), &sample, error);
    if (status == EFFACE_OK)
        status = efface_kmeans_silhouette(model, sample, NULL, 0, value, error);
    efface_data_free(sample);
    return status;
}

efface_status online_mark_quality(const online_options *options, const online_run *run,
                                  efface_error *error) {
    const efface_data *const data = run->data;
    const efface_model *const model = run->model;
    online_result *const result = run->result;
    const uint64_t after = run->n_forgotten;
    online_mark *const m = &result->marks[result->n_marks++];
    *m = (online_mark){.after = (double)after, .loss = NAN, .silhouette = NAN, .nmi = NAN};
    if (efface_data_n_rows(data) == 0)
        return EFFACE_OK;
    efface_status status = efface_kmeans_loss(model, data, &m->loss, error);
    if (status != EFFACE_OK || options->skip_metrics)
        return status;
    /* A silhouette may not exist, as of rows that are all in one cluster, nor NMI: that is no
     * failure of the run. */
    double value = 0.0;
    status = silhouette(options, model, data, result, after, &value, error);
    if (status == EFFACE_OK)
        m->silhouette = value;
    if (status == EFFACE_E_MEMORY)
        return status;
    if (bench_has_labels(options->common.data, options->common.labels) &&
        bench_nmi(model, data, &value, error) == EFFACE_OK)
        m->nmi = value;
    return EFFACE_OK;
}
