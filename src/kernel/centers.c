/* Centroids made ready for the nearest-centroid search. */
#include "kernel/centers.h"

#include "base/memory/memory.h"

#include <math.h>
#include <string.h>

/* Larger weights of folded centroids might overflow float32. */
#define MAX_WEIGHT 0x1p100

/* Folding is worth it while the error is small beside the squared distance of centroids: else the
 * filter would leave too much to the integers. */
#define MAX_ERROR (1.0 / 32.0)

static double size_of(double x) {
    return x < 0.0 ? -x : x;
}

static double larger_of(double a, double b) {
    return a > b ? a : b;
}

/* The square root, or up to 2^-24 of it more (but for rounding). No libm: Newton's steps stay
 * above the root, and begin within twice of it. */
static double root_above(double square) {
    const int exponent = ef_exponent((float)square);
    double root = ef_power_of_two((exponent + (exponent > 0)) / 2);
    for (int step = 0; step < 4; step++)
        root = 0.5 * (root + square / root);
    return root;
}

/* 1.05 (l + b + 2) u of centers.h. */
static double rounding_unit(uint32_t n_columns) {
    const double n_blocks = (double)((n_columns + EF_BLOCK - 1) / EF_BLOCK);
    const double block = n_columns < EF_BLOCK ? (double)n_columns : EF_BLOCK;
    return 1.05 * (block + n_blocks + 2.0) * 0x1p-24;
}

/* The mean of a column of the centroids, on the grid. */
static int64_t mean_of(const int32_t *column, uint32_t n_clusters, uint32_t n_columns) {
    int64_t sum = 0;
    for (uint32_t c = 0; c < n_clusters; c++)
        sum += column[(size_t)c * n_columns];
    return sum / n_clusters;
}

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
        .bias = ef_alloc((size_t)n_clusters + n_columns, sizeof *centers->bias),
        .tile = tile,
    };
    if (centers->tiles == NULL || centers->bias == NULL) {
        ef_centers_free(centers);
        return false;
    }
    const uint32_t n_tiles = (n_clusters + tile - 1) / tile;
    centers->narrow = n_clusters / n_tiles;
    centers->n_wider = n_clusters % n_tiles * (centers->narrow + 1);
    centers->origin = centers->bias + n_clusters;
    for (uint32_t j = 0; j < n_columns; j++)
        centers->origin[j] = (float)mean_of(grid + j, n_clusters, n_columns);
    int64_t largest = 0;
    for (uint32_t first = 0; first < n_clusters;) {
        const uint32_t width = ef_centers_tile(centers, first);
        float *const values = centers->tiles + (size_t)first * n_columns;
        for (uint32_t i = 0; i < width; i++) {
            const int32_t *const center = grid + (size_t)(first + i) * n_columns;
            int64_t square = 0;
            for (uint32_t j = 0; j < n_columns; j++) {
                const int64_t v = center[j] - (int64_t)centers->origin[j];
                values[(size_t)j * width + i] = (float)(-2 * v);
                square += v * v;
            }
            centers->bias[first + i] = (float)square;
            largest = square > largest ? square : largest;
        }
        first += width;
    }
    const double unit = rounding_unit(n_columns), root = root_above((double)largest);
    centers->error_norm = (float)(2.0 * unit * root);
    centers->error_bias = (float)(unit * (double)largest);
    return true;
}

/* What is known of a folded centroid; V and a are those of centers.h. */
typedef struct folding {
    double bias;  /* a */
    double norm1; /* the sum of |V_j| */
    double norm2; /* |V|^2 */
} folding;

/* Folds column j, relative to the mean of the centroids or to zero. */
static void fold_column(ef_centers *centers, uint32_t j, double low, double step, bool to_zero,
                        folding folded[EF_MOST_TILE]) {
    const uint32_t k = centers->n_clusters;
    const int32_t *const column = centers->grid + j;
    const int64_t origin = to_zero ? 0 : (int64_t)centers->origin[j];
    centers->folded_origin[j] = (float)(low + (double)origin);
    for (uint32_t c = 0; c < k; c++) {
        const int64_t center = column[(size_t)c * centers->n_columns];
        const double v = (double)(center - origin), weight = -2.0 * v * step;
        if (!(size_of(weight) < MAX_WEIGHT))
            centers->folds = false;
        centers->folded[(size_t)j * k + c] = centers->folds ? (float)weight : 0.0F;
        folded[c].bias += (double)(center * center - origin * origin) + 2.0 * v * low;
        folded[c].norm1 += size_of(v);
        folded[c].norm2 += v * v;
    }
}

static bool fold(ef_centers *centers, const ef_map *map, int64_t most_square, bool to_zero) {
    const uint32_t k = centers->n_clusters, d = centers->n_columns;
    if (k > centers->tile)
        return true;
    centers->folded = ef_alloc((size_t)k * (d + 1) + d, sizeof *centers->folded);
    if (centers->folded == NULL)
        return false;
    centers->folded_bias = centers->folded + (size_t)k * d;
    centers->folded_origin = centers->folded_bias + k;
    centers->folds = true;
    folding folded[EF_MOST_TILE] = {{0}}, most = {0};
    double low2 = 0.0;
    for (uint32_t j = 0; j < d; j++) {
        const double step = (double)map->step[j], low = (double)map->low[j] * step;
        fold_column(centers, j, low, step, to_zero, folded);
        low2 += low * low;
    }
    for (uint32_t c = 0; c < k; c++) {
        centers->folded_bias[c] = (float)folded[c].bias;
        most.bias = larger_of(most.bias, size_of(folded[c].bias));
        most.norm1 = larger_of(most.norm1, folded[c].norm1);
        most.norm2 = larger_of(most.norm2, folded[c].norm2);
    }
    const double norm =
        root_above((double)most_square) + 1.51 * root_above((double)d) + root_above(low2);
    const double terms = most.bias + 2.0 * norm * root_above(most.norm2);
    const double error = (rounding_unit(d) + 1.05 * 0x1p-24) * terms + 3.02 * most.norm1;
    centers->folded_slack = (float)(2.0 * error);
    /* |v| <= |q| + |m|, and |m| is at most the largest |C|. */
    centers->folded_norm = (float)(1.6 * root_above((double)d) +
                                   4.0 * 0x1p-24 * (2.0 * norm + 0x1p23 * root_above((double)d)));
    centers->folded_norm_factor = (float)(1.0 + 2.0 * ((double)d + 8.0) * 0x1p-24 + 0x1p-22);
    centers->folds = centers->folds && error <= MAX_ERROR * most.norm2;
    return true;
}

bool ef_centers_fold(ef_centers *centers, const ef_map *map, int64_t most_square) {
    return fold(centers, map, most_square, false);
}

bool ef_centers_fold_to_zero(ef_centers *centers, const ef_map *map, int64_t most_square) {
    return fold(centers, map, most_square, true);
}

/* With fewer, to round a row takes longer than it spares. */
#define LEAST_ROUNDED 64

/* Writes b, the rounded column j of a cluster. */
static void put_rounded(int8_t *tiles, ef_rounding_form form, size_t n_tiles, uint32_t cluster,
                        uint32_t j, int32_t b) {
    const size_t bytes = EF_ROUNDED_ROWS * EF_ROUNDED_BYTES;
    const size_t row = cluster % EF_ROUNDED_ROWS * EF_ROUNDED_BYTES;
    const size_t of_cluster = cluster / EF_ROUNDED_ROWS * n_tiles;
    const size_t at = form == EF_WORDS ? 2 * (size_t)j : j;
    int8_t *const to = tiles + (of_cluster + at / EF_ROUNDED_BYTES) * (size_t)form * bytes + row +
                       at % EF_ROUNDED_BYTES;
    if (form == EF_WORDS) {
        const int16_t word = (int16_t)b;
        memcpy(to, &word, sizeof word);
    } else {
        const int32_t low = ((b + 64) & 127) - 64, high = (b - low) / 128;
        to[0] = (int8_t)low;
        to[bytes] = (int8_t)high;
        to[2 * bytes] = (int8_t)(low + high);
    }
}

bool ef_centers_round(ef_centers *centers, ef_rounding_form form) {
    const uint32_t k = centers->n_clusters, d = centers->n_columns;
    if (form == EF_NOT_ROUNDED || k < LEAST_ROUNDED || d < ef_rounded_columns(form))
        return true;
    const size_t n_tiles = ef_rounded_tiles(d, form);
    const size_t n_rows = (k + EF_ROUNDED_ROWS - 1) / EF_ROUNDED_ROWS * EF_ROUNDED_ROWS;
    int8_t *const tiles = ef_alloc_aligned(n_rows, n_tiles * (size_t)form * EF_ROUNDED_BYTES);
    if (tiles == NULL)
        return false;
    memset(tiles, 0, n_rows * n_tiles * (size_t)form * EF_ROUNDED_BYTES);
    double norm2 = 1.0, most = 1.0, left2 = 0.0;
    for (uint32_t c = 0; c < k; c++) {
        double square = 0.0;
        for (uint32_t j = 0; j < d; j++) {
            const double v = (double)centers->grid[(size_t)c * d + j] - (double)centers->origin[j];
            square += v * v;
            most = larger_of(most, size_of(v));
        }
        norm2 = larger_of(norm2, square);
    }
    const double norm = root_above(norm2) * (1.0 + 0x1p-20);
    const double limit = form == EF_WORDS ? EF_MOST_WORD : EF_MOST_LIMBS;
    const double scale = EF_MOST_ROUNDED / larger_of(norm, EF_MOST_ROUNDED / limit * most);
    for (uint32_t c = 0; c < k; c++) {
        double square = 0.0;
        for (uint32_t j = 0; j < d; j++) {
            const double v = (double)centers->grid[(size_t)c * d + j] - (double)centers->origin[j];
            const int32_t b = (int32_t)(v * scale + (v < 0.0 ? -0.5 : 0.5));
            const double left = v * scale - (double)b;
            put_rounded(tiles, form, n_tiles, c, j, b);
            square += left * left;
        }
        left2 = larger_of(left2, square);
    }
    const double left = root_above(left2) * (1.0 + 0x1p-20) / scale;
    centers->rounded = tiles;
    centers->rounded_step = (float)(2.0 / scale);
    centers->rounded_part = (float)(2.004 * left + 0x1p-20 * (norm + left));
    centers->rounded_rest = (float)(2.004 * norm);
    centers->rounded_bias = (float)(0x1p-21 * norm * norm);
    return true;
}

void ef_centers_free(ef_centers *centers) {
    ef_free(centers->rounded);
    centers->rounded = NULL;
    ef_free(centers->tiles);
    ef_free(centers->bias);
    ef_free(centers->folded);
    centers->folded = NULL;
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
    found->least[row] = (float)((double)least * (1.0 - 0x1p-22));
    found->most[row] = (float)((double)least * (1.0 + 0x1p-22));
    found->gap[row] = (float)(0.9999 * (double)(second - least));
    found->margin[row] = ef_margin(least, second);
    found->beyond[row] = ef_margin(least, third);
}

double ef_farthest(const int32_t *from, const int32_t *to, uint32_t k, uint32_t d) {
    int64_t first = 0, second = 0;
    for (uint32_t c = 0; c < k; c++) {
        const int64_t square = ef_grid_sqdist(from + (size_t)c * d, to + (size_t)c * d, d);
        if (square > first) {
            second = first;
            first = square;
        } else if (square > second) {
            second = square;
        }
    }
    return (sqrt((double)first) + sqrt((double)second)) * (1.0 + 0x1p-48);
}
