/*
 * Sets on which k-means is hard, for tests and benchmarks, made from the tape so that they have the
 * same bits everywhere: what a uniform sample misses, what plain k-means++ gets wrong, what a grid
 * is too coarse for.
 *
 * The definition. Operations are on doubles, each rounded to nearest, in the order written; values
 * are rounded to float32 at the end. n rows, K clusters; row i has the id i. v(row i, what) is made
 * of the tape (src/base/random/tape.h; purpose 5, sub, index i, step j for column j), where sub is
 * 2^16 (1 + skew) + what, so that no set shares a number with another one, nor with gaussian.c.
 * v(cluster c, what) has the index 2^64 - 1 - c instead, which no row has.
 *
 * Scales. Group g = 0, 1, 2, 3 is at the scale 100^g. The clusters of group g are g, g + 4, g + 8,
 * ..., those below K. Of the rows, group 0 has what the others leave, which is nine tenths; group 1
 * floor(9 n / 100), group 2 floor(9 n / 1000), group 3 floor(n / 1000), but at least one each
 * as far as there are rows (n > g) and none if the group has no cluster (g >= K). Rows come group
 * by group, and take turns between the clusters of their group. Column j is
 *
 *     scale (m + s / 100)    m = 2 v(cluster, 0) - 1, s = 2 v(row, 0) - 1
 *
 * A cluster is as wide as the group before it is far out.
 *
 * Tails. Row i belongs to cluster i mod K. Even columns are clusters in the unit cube:
 *
 *     m + s / 10             m = v(cluster, 0), s = 2 v(row, 0) - 1
 *
 * Odd columns are 0 where v(row, 1) < 1/2, and 1 / v(row, 0) elsewhere: a tail so heavy that it has
 * no mean.
 *
 * Duplicates. Row i is a copy of point p = floor(16 K (v v) v), v = v(row, 0) in column 0: with
 * 1,000 points a tenth of the rows is the first of them, and the last is one row in 3,000. Point p
 * belongs to cluster c = p mod K. Point 0 is all zeros. Other points have in column j
 *
 *     m + s                  m = 0 if v(cluster, 0) < 1/2, else floor(100 v(cluster, 1))
 *                            s = floor(3 v(point p, 2)) - 1, drawn as if p were a row
 */
#include "bench_skewed.h"

#include <stdio.h>
#include <stdlib.h>

#define N_GROUPS 4u
#define POINTS_PER_CLUSTER 16u
#define BATCH 256u

typedef struct skewed_set {
    bench_skew skew;
    uint32_t n_clusters, n_columns;
    uint64_t seed;
    size_t ends[N_GROUPS]; /* of each group, the row after its last */
} skewed_set;

/* Philox4x32-10, as the library has it. */
static double draw(const skewed_set *set, uint64_t index, uint32_t what, uint32_t column) {
    const uint32_t sub = ((1u + (uint32_t)set->skew) << 16) + what;
    uint32_t c[] = {(uint32_t)index, (uint32_t)(index >> 32), column, 5u + (sub << 8)};
    uint32_t k0 = (uint32_t)set->seed, k1 = (uint32_t)(set->seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = UINT64_C(0xD2511F53) * c[0], p1 = UINT64_C(0xCD9E8D57) * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const uint64_t bits = c[0] | (uint64_t)c[1] << 32;
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

static double draw_of_cluster(const skewed_set *set, uint32_t cluster, uint32_t what,
                              uint32_t column) {
    return draw(set, UINT64_MAX - cluster, what, column);
}

/* ---------------------------------------------------------------- scales */

static void size_groups(skewed_set *set, size_t n_rows) {
    const size_t shares[N_GROUPS] = {0, n_rows / 100 * 9 + n_rows % 100 * 9 / 100,
                                     n_rows / 1000 * 9 + n_rows % 1000 * 9 / 1000, n_rows / 1000};
    size_t end = n_rows;
    for (uint32_t g = N_GROUPS - 1; g > 0; g--) {
        set->ends[g] = end;
        if (n_rows > g && set->n_clusters > g)
            end -= shares[g] != 0 ? shares[g] : 1;
    }
    set->ends[0] = end;
}

static void make_scales_row(const skewed_set *set, size_t row, float *values, int64_t *label) {
    uint32_t group = 0;
    double scale = 1.0;
    while (row >= set->ends[group]) {
        group++;
        scale *= 100.0;
    }
    const uint32_t n_clusters = (set->n_clusters - group + N_GROUPS - 1) / N_GROUPS;
    const size_t place = group == 0 ? row : row - set->ends[group - 1];
    const uint32_t cluster = group + N_GROUPS * (uint32_t)(place % n_clusters);
    for (uint32_t j = 0; j < set->n_columns; j++) {
        const double middle = 2.0 * draw_of_cluster(set, cluster, 0, j) - 1.0;
        const double side = 2.0 * draw(set, row, 0, j) - 1.0;
        values[j] = (float)(scale * (middle + side / 100.0));
    }
    *label = (int64_t)cluster;
}

/* ---------------------------------------------------------------- tails */

static void make_tails_row(const skewed_set *set, size_t row, float *values, int64_t *label) {
    const uint32_t cluster = (uint32_t)(row % set->n_clusters);
    for (uint32_t j = 0; j < set->n_columns; j++) {
        const double v = draw(set, row, 0, j);
        if (j % 2 == 0)
            values[j] = (float)(draw_of_cluster(set, cluster, 0, j) + (2.0 * v - 1.0) / 10.0);
        else
            values[j] = draw(set, row, 1, j) < 0.5 ? 0.0F : (float)(1.0 / v);
    }
    *label = (int64_t)cluster;
}

/* ---------------------------------------------------------------- duplicates */

static void make_duplicates_row(const skewed_set *set, size_t row, float *values, int64_t *label) {
    const double v = draw(set, row, 0, 0);
    const double n_points = (double)POINTS_PER_CLUSTER * (double)set->n_clusters;
    const uint64_t point = (uint64_t)(n_points * (v * v * v));
    const uint32_t cluster = (uint32_t)(point % set->n_clusters);
    for (uint32_t j = 0; j < set->n_columns; j++) {
        const uint64_t middle = draw_of_cluster(set, cluster, 0, j) < 0.5
                                    ? 0
                                    : (uint64_t)(100.0 * draw_of_cluster(set, cluster, 1, j));
        const uint64_t side = (uint64_t)(3.0 * draw(set, point, 2, j));
        values[j] = point == 0 ? 0.0F : (float)middle + (float)side - 1.0F;
    }
    *label = (int64_t)cluster;
}

/* ---------------------------------------------------------------- all of them */

static efface_status fail(efface_error *error, efface_status status, const char *message) {
    if (error != NULL) {
        *error = (efface_error){.status = status};
        (void)snprintf(error->message, sizeof error->message, "%s", message);
    }
    return status;
}

typedef void row_maker(const skewed_set *set, size_t row, float *values, int64_t *label);

efface_status bench_make_skewed(bench_skew skew, uint32_t n_clusters, uint32_t n_columns,
                                size_t n_rows, uint64_t seed, efface_data **out,
                                efface_error *error) {
    static row_maker *const makers[] = {make_scales_row, make_tails_row, make_duplicates_row};
    skewed_set set = {.skew = skew, .n_clusters = n_clusters, .n_columns = n_columns, .seed = seed};
    efface_data *data = NULL;
    if (n_clusters == 0)
        return fail(error, EFFACE_E_ARGUMENT, "there must be at least one cluster");
    int64_t labels[BATCH];
    size_groups(&set, n_rows);
    efface_status status = efface_data_create(n_columns, &data, error);
    float *const values = malloc(sizeof *values * BATCH * n_columns + 1);
    if (status == EFFACE_OK && values == NULL)
        status = fail(error, EFFACE_E_MEMORY, "out of memory");
    for (size_t first = 0; status == EFFACE_OK && first < n_rows; first += BATCH) {
        const size_t n = n_rows - first < BATCH ? n_rows - first : BATCH;
        for (size_t i = 0; i < n; i++)
            makers[skew](&set, first + i, values + i * n_columns, labels + i);
        const efface_rows rows = {.n_rows = n, .values = values, .labels = labels};
        status = efface_data_add(data, &rows, error);
    }
    free(values);
    if (status == EFFACE_OK)
        *out = data;
    else
        efface_data_free(data);
    return status;
}
