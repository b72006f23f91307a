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
    int64_t *const counts = calloc(k * jury->n_starts, sizeof *counts);
    int64_t *const sums = calloc(k * d * jury->n_starts, sizeof *sums);
    ef_i128 squares = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t position = jury->positions[i];
        assert_true(position < data->n_rows && !seen[position]);
        seen[position] = true;
        assert_true((model->guard.codes[position] & EF_IN_JURY) != 0);
        assert_int_equal((model->guard.codes[position] & EF_IN_SAMPLE) != 0, i < jury->n_sample);
        const int64_t weight = ef_data_weight(data, position);
        for (uint32_t r = 0; r < jury->n_starts; r++) {
            const size_t cluster = r * k + ef_guard_label(&jury->guards[r], i);
            counts[cluster] += weight;
            for (uint32_t j = 0; j < d; j++) {
                const int64_t g =
                    ef_snap(ef_data_value(data, position, j), map->low[j], map->step[j]);
                sums[cluster * d + j] += weight * g;
                squares += r == 0 ? (ef_i128)weight * g * g : 0;
            }
        }
    }
    assert_true(squares == jury->square_sum);
    assert_memory_equal(counts, jury->counts, k * jury->n_starts * sizeof *counts);
    assert_memory_equal(sums, jury->sums, k * d * jury->n_starts * sizeof *sums);
    free(seen);
    free(counts);
    free(sums);
}

#endif
