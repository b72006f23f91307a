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
#include "data/set/rows.h"

#define SIGMA 0x1.c9f25c5bfedd9p-1 /* sqrt(0.8) */
#define BATCH_FLOATS 65536u

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
static void make_row(const gaussian_set *set, size_t row, double *centre, float *values,
                     int64_t *label) {
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

static efface_status make_rows(const gaussian_set *set, size_t n_rows, efface_data *data,
                               efface_error *error) {
    const uint32_t d = set->n_columns;
    const size_t batch_rows = BATCH_FLOATS / d; /* at least 2 */
    float *const values = ef_alloc(batch_rows * d, sizeof *values);
    int64_t *const labels = ef_alloc(batch_rows, sizeof *labels);
    double *const centre = ef_alloc(d, sizeof *centre);
    efface_status status = values != NULL && labels != NULL && centre != NULL
                               ? ef_data_reserve(data, n_rows, error)
                               : ef_fail_memory(error);
    for (size_t first = 0; status == EFFACE_OK && first < n_rows; first += batch_rows) {
        const size_t batch = n_rows - first < batch_rows ? n_rows - first : batch_rows;
        for (size_t i = 0; i < batch; i++)
            make_row(set, first + i, centre, values + i * d, labels + i);
        const efface_rows rows = {.n_rows = batch, .values = values, .labels = labels};
        status = efface_data_add(data, &rows, error);
    }
    ef_free(centre);
    ef_free(labels);
    ef_free(values);
    return status;
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
    efface_data *data = NULL;
    efface_status status = efface_data_create(n_columns, &data, error);
    if (status == EFFACE_OK) /* n_columns is between 1 and EFFACE_MAX_COLUMNS */
        status = make_rows(&set, n_rows, data, error);
    if (status == EFFACE_OK)
        *out = data;
    else
        efface_data_free(data);
    return status;
}
