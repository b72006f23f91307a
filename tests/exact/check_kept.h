/* What a model of pyramid keeps of its rows beside its state: a partition and the jury. For tests,
 * which include this file after cmocka.h. */
#ifndef EF_TESTS_CHECK_KEPT_H
#define EF_TESTS_CHECK_KEPT_H

#include "model/kmeans/model.h"

#include <stdlib.h>
#include <string.h>

/* The label of a row and its marks. */
static inline uint32_t kept_of(const efface_kmeans *model, size_t position) {
    return ef_guard_label(&model->guard, position) |
           (uint32_t)(model->guard.codes[position] & EF_MARKS) << 24;
}

static inline bool same_kept(const efface_kmeans *a, const efface_kmeans *b) {
    for (size_t i = 0; i < (size_t)a->n_rows; i++)
        if (kept_of(a, i) != kept_of(b, i))
            return false;
    return true;
}

/* The sums of a partition of rows at these positions. */
static inline void check_sums(const efface_kmeans *model, const efface_data *data,
                              const ef_guard *guard, const uint32_t *positions, size_t n,
                              const int64_t *counts, const int64_t *sums) {
    const ef_map *const map = &model->domain.map;
    const size_t k = model->plan.n_clusters, d = map->n_columns;
    int64_t *const own = calloc(k * (d + 1), sizeof *own);
    for (size_t i = 0; i < n; i++) {
        const size_t cluster = ef_guard_label(guard, i);
        const int64_t weight = ef_data_weight(data, positions[i]);
        own[cluster] += weight;
        for (uint32_t j = 0; j < d; j++)
            own[k + cluster * d + j] +=
                weight * ef_snap(ef_data_value(data, positions[i], j), map->low[j], map->step[j]);
    }
    assert_memory_equal(own, counts, k * sizeof *own);
    assert_memory_equal(own + k, sums, k * d * sizeof *own);
    free(own);
}

/* The jury has the rows that are marked, those of the sample first, and sums of them. */
static inline void check_jury(const efface_kmeans *model, const efface_data *data) {
    const ef_jury *const jury = &model->jury;
    const ef_map *const map = &model->domain.map;
    const size_t k = model->plan.n_clusters, d = map->n_columns;
    if (jury->n_starts == 0)
        return;
    size_t n = 0;
    for (size_t i = 0; i < data->n_rows; i++)
        n += (model->guard.codes[i] & EF_IN_JURY) != 0;
    assert_int_equal(jury->n_rows, n);
    assert_int_equal(jury->n_starts, model->plan.starts);
    bool *const seen = calloc(data->n_rows, sizeof *seen);
    ef_i128 squares = 0, sample_squares = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t position = jury->positions[i];
        assert_true(position < data->n_rows && !seen[position]);
        seen[position] = true;
        assert_true((model->guard.codes[position] & EF_IN_JURY) != 0);
        assert_int_equal((model->guard.codes[position] & EF_IN_SAMPLE) != 0, i < jury->n_sample);
        for (uint32_t j = 0; j < d; j++) {
            const ef_i128 g = ef_snap(ef_data_value(data, position, j), map->low[j], map->step[j]);
            squares += ef_data_weight(data, position) * g * g;
            sample_squares += i < jury->n_sample ? ef_data_weight(data, position) * g * g : 0;
        }
    }
    assert_true(squares == jury->square_sum && sample_squares == jury->sample_square_sum);
    for (uint32_t r = 0; r < jury->n_starts; r++)
        check_sums(model, data, &jury->guards[r], jury->positions, n, jury->counts + r * k,
                   jury->sums + r * k * d);
    free(seen);
}

#endif
