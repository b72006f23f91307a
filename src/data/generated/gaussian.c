/*
 * The benchmark set of Gaussian clusters, made from the tape so that it has the same bits
 * everywhere and any row can be made by itself.
 *
 * The definition. Operations are on doubles, each rounded to nearest, in the order written; r is
 * tape(seed, EF_TAPE_GAUSSIAN, sub, index, step) and v(r) is ef_tape_unit(r).
 *
 * Centre c, column j:  m = v(r) with index 2^64 - 1 - c, step j, sub 0. Rows never have such an
 *                      index, as there are fewer than 2^40 of them.
 * Row i is the (i mod rows_per_cluster)-th of cluster c = floor(i / rows_per_cluster); its id is i
 * and its label c. Columns 2p and 2p + 1 share one draw of two standard normal numbers,
 *
 *     (y, z) = ef_tape_normals(seed, EF_TAPE_GAUSSIAN, i, 2p)        (base/normals.h)
 *
 * and the row's values are
 *
 *     x = m + sigma y    in column 2p        sigma = sqrt(0.8)
 *     x = m + sigma z    in column 2p + 1    (dropped if there is no such column)
 *
 * rounded to float32.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/normals.h"
#include "base/random/tape.h"
#include "data/generated/generated.h"

#define SIGMA 0x1.c9f25c5bfedd9p-1 /* sqrt(0.8) */

static void make_centre(uint64_t seed, uint64_t cluster, uint32_t n_columns, double *centre) {
    for (uint32_t j = 0; j < n_columns; j++)
        centre[j] = ef_tape_unit(ef_tape(seed, EF_TAPE_GAUSSIAN, 0, UINT64_MAX - cluster, j));
}

typedef struct gaussian_set {
    uint32_t n_columns;
    size_t rows_per_cluster;
    uint64_t seed;
} gaussian_set;

/* The centre is that of the rows before, but for the first row of a cluster. */
static void make_row(const void *context, size_t row, double *centre, float *values,
                     int64_t *label) {
    const gaussian_set *const set = context;
    const size_t cluster = row / set->rows_per_cluster;
    if (row % set->rows_per_cluster == 0)
        make_centre(set->seed, cluster, set->n_columns, centre);
    for (uint32_t j = 0; j < set->n_columns; j += 2) {
        const ef_normal_pair normals = ef_tape_normals(set->seed, EF_TAPE_GAUSSIAN, row, j);
        values[j] = (float)(centre[j] + SIGMA * normals.first);
        if (j + 1 < set->n_columns)
            values[j + 1] = (float)(centre[j + 1] + SIGMA * normals.second);
    }
    *label = (int64_t)cluster;
}

efface_status efface_data_make_gaussian(uint32_t n_clusters, uint32_t n_columns,
                                        size_t rows_per_cluster, uint64_t seed, efface_data **out,
                                        efface_error *error) {
    size_t n_rows;
    if (out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "out must not be NULL");
    if (n_clusters > EFFACE_MAX_CLUSTERS)
        return ef_fail(error, EFFACE_E_LIMIT, "%u clusters are more than the limit of %u",
                       n_clusters, EFFACE_MAX_CLUSTERS);
    if (!ef_mul_size(n_clusters, rows_per_cluster, &n_rows) ||
        (uint64_t)n_rows >= (uint64_t)EFFACE_MAX_WEIGHT)
        return ef_fail(error, EFFACE_E_LIMIT,
                       "%u clusters of %zu rows each are more rows than a set can hold (%lld)",
                       n_clusters, rows_per_cluster, (long long)EFFACE_MAX_WEIGHT - 1);
    const gaussian_set set = {n_columns, rows_per_cluster, seed};
    return ef_data_generate(n_columns, n_rows, make_row, &set, out, error);
}
