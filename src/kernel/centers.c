/* Centroids made ready for the nearest-centroid search. */
#include "kernel/centers.h"

#include "base/checked.h"

#include <math.h>

bool ef_centers_init(ef_centers *centers, const int32_t *grid, uint32_t n_clusters,
                     uint32_t n_columns, uint32_t tile) {
    size_t n_values;
    if (!ef_mul_size(n_clusters, n_columns, &n_values))
        return false;
    *centers = (ef_centers){
        .n_clusters = n_clusters,
        .n_columns = n_columns,
        .grid = grid,
        .tiles = ef_alloc(n_values, sizeof *centers->tiles),
        .bias = ef_alloc(n_clusters, sizeof *centers->bias),
        .tile = tile,
    };
    if (centers->tiles == NULL || centers->bias == NULL) {
        ef_centers_free(centers);
        return false;
    }
    int64_t largest = 0;
    for (uint32_t first = 0; first < n_clusters;) {
        const uint32_t width = ef_centers_tile(centers, first);
        float *const values = centers->tiles + (size_t)first * n_columns;
        for (uint32_t i = 0; i < width; i++) {
            const int32_t *const center = grid + (size_t)(first + i) * n_columns;
            int64_t square = 0;
            for (uint32_t j = 0; j < n_columns; j++) {
                values[(size_t)j * width + i] = (float)(-2 * center[j]);
                square += (int64_t)center[j] * center[j];
            }
            centers->bias[first + i] = (float)square;
            largest = square > largest ? square : largest;
        }
        first += width;
    }
    /* See the head of centers.h. |C| <= (1 + |C|^2 / s) s / 2 for any s > 0, with equality at
     * s = |C|: a few steps of Newton's square root stay above it and need no libm. */
    const double n_blocks = (double)((n_columns + EF_BLOCK - 1) / EF_BLOCK);
    const double block = n_columns < EF_BLOCK ? (double)n_columns : EF_BLOCK;
    const double unit = 1.05 * (block + n_blocks + 2.0) * 0x1p-24;
    double root = 1.0;
    while (root * root < (double)largest)
        root *= 2.0;
    for (int step = 0; step < 6; step++)
        root = 0.5 * (root + (double)largest / root);
    centers->error_norm = (float)(2.0 * unit * root);
    centers->error_bias = (float)(unit * (double)largest);
    return true;
}

void ef_centers_free(ef_centers *centers) {
    free(centers->tiles);
    free(centers->bias);
    centers->tiles = NULL;
    centers->bias = NULL;
}

int64_t ef_centers_sqdist(const ef_centers *centers, uint32_t cluster, const float *panel,
                          unsigned row) {
    const uint32_t d = centers->n_columns;
    const int32_t *const center = centers->grid + (size_t)cluster * d;
    int64_t distance = 0;
    for (uint32_t j = 0; j < d; j++) {
        const int64_t difference = (int64_t)panel[(size_t)j * EF_PANEL + row] - center[j];
        distance += difference * difference;
    }
    return distance;
}

float ef_margin(int64_t least, int64_t second) {
    if (second <= least)
        return 0.0F;
    return (float)(0.9999 * (double)(second - least) /
                   (sqrt((double)second) + sqrt((double)least)));
}

void ef_centers_survey(const ef_centers *centers, const float *panel, unsigned row,
                       ef_survey *found) {
    int64_t least = INT64_MAX, second = INT64_MAX, third = INT64_MAX;
    for (uint32_t c = 0; c < centers->n_clusters; c++) {
        const int64_t distance = ef_centers_sqdist(centers, c, panel, row);
        if (distance < least) {
            third = second;
            second = least;
            least = distance;
            found->second[row] = c != 0 ? found->nearest[row] : 0;
            found->nearest[row] = c;
        } else if (distance < second) {
            third = second;
            second = distance;
            found->second[row] = c;
        } else if (distance < third) {
            third = distance;
        }
    }
    found->gap[row] = (float)(0.9999 * (double)(second - least));
    found->margin[row] = ef_margin(least, second);
    found->beyond[row] = ef_margin(least, third);
}
