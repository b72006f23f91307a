/*
 * What the paper prints: rows, partitions, and k-means++ (Algorithm 7).
 */
#include "paper/as_printed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool there) {
    if (there)
        return;
    fputs("efface-as-printed: out of memory\n", stderr);
    exit(1);
}

void *printed_room(size_t n, size_t size) {
    /* Panels begin where a line of the cache does. */
    const size_t n_bytes = (n * size / 64 + 1) * 64;
    void *const room = aligned_alloc(64, n_bytes);
    require(room != NULL);
    return memset(room, 0, n_bytes);
}

/* ---------------------------------------------------------------- rows */

printed_rows *printed_rows_new(uint32_t d, int32_t middle) {
    printed_rows *const rows = printed_room(1, sizeof *rows);
    rows->d = d;
    rows->middle = middle;
    return rows;
}

void printed_rows_free(printed_rows *rows) {
    if (rows == NULL)
        return;
    free(rows->ids);
    free(rows->panels);
    free(rows);
}

static float *place_of(const printed_rows *rows, size_t position, uint32_t column) {
    return rows->panels + (position / EF_PANEL * rows->d + column) * EF_PANEL + position % EF_PANEL;
}

double printed_coordinate(const printed_rows *rows, size_t position, uint32_t column) {
    return *place_of(rows, position, column);
}

static void grow(printed_rows *rows) {
    const size_t room = rows->room != 0 ? 2 * rows->room : 4 * EF_PANEL;
    uint64_t *const ids = printed_room(room, sizeof *ids);
    float *const panels = printed_room(room * rows->d, sizeof *panels);
    if (rows->n != 0) {
        memcpy(ids, rows->ids, rows->n * sizeof *ids);
        memcpy(panels, rows->panels, rows->room * rows->d * sizeof *panels);
    }
    free(rows->ids);
    free(rows->panels);
    rows->ids = ids;
    rows->panels = panels;
    rows->room = room;
}

void printed_rows_add(printed_rows *rows, uint64_t id, const int32_t *point) {
    int64_t square = 0;
    if (rows->n == rows->room)
        grow(rows);
    for (uint32_t j = 0; j < rows->d; j++) {
        const int64_t away = point[j] - rows->middle;
        *place_of(rows, rows->n, j) = (float)point[j];
        square += away * away;
        rows->square_sum += (double)point[j] * point[j];
    }
    rows->ids[rows->n++] = id;
    rows->most_square = square > rows->most_square ? square : rows->most_square;
}

void printed_rows_remove(printed_rows *rows, size_t position) {
    const size_t last = --rows->n;
    rows->ids[position] = rows->ids[last];
    for (uint32_t j = 0; j < rows->d; j++) {
        const double x = printed_coordinate(rows, position, j);
        rows->square_sum -= x * x;
        *place_of(rows, position, j) = *place_of(rows, last, j);
        *place_of(rows, last, j) = 0.0F;
    }
}

/* Kernels map values to the grid on the way; these are on it, but for its middle. */
typedef struct identity {
    ef_map map;
    float *low, *step;
} identity;

static identity identity_of(uint32_t d, int32_t middle) {
    identity id = {.low = printed_room(d, sizeof(float)), .step = printed_room(d, sizeof(float))};
    for (uint32_t j = 0; j < d; j++) {
        id.low[j] = (float)middle;
        id.step[j] = 1.0F;
    }
    id.map = (ef_map){d, id.low, id.step};
    return id;
}

static void identity_free(identity *id) {
    free(id->low);
    free(id->step);
}

/* ---------------------------------------------------------------- partitions */

void printed_partition_init(printed_partition *pi, const printed_rows *rows, uint32_t k) {
    pi->k = k;
    pi->labels = printed_room(rows->n + EF_PANEL, sizeof *pi->labels);
    pi->counts = printed_room(k, sizeof *pi->counts);
    pi->sums = printed_room((size_t)k * rows->d, sizeof *pi->sums);
    for (size_t i = 0; i < rows->n; i++)
        pi->labels[i] = k; /* none yet */
}

void printed_partition_free(printed_partition *pi) {
    free(pi->labels);
    free(pi->counts);
    free(pi->sums);
}

static double distance_to(const printed_rows *rows, size_t i, const double *centroid) {
    const float *const row = place_of(rows, i, 0);
    double sum = 0.0;
    for (uint32_t j = 0; j < rows->d; j++) {
        const double x = (double)row[(size_t)j * EF_PANEL] - centroid[j];
        sum += x * x;
    }
    return sum;
}

/* Centroids as the kernels know them, points of the grid; and those outside of it, where a correction
 * throws them that is not divided. */
typedef struct outlook {
    uint32_t *near, *far, n_near, n_far;
    int32_t *grid; /* of those that are near */
} outlook;

static double length_of(const double *centroid, const printed_rows *rows, double *most) {
    double sum = 0.0;
    *most = 0.0;
    for (uint32_t j = 0; j < rows->d; j++) {
        const double x = centroid[j] - rows->middle;
        sum += x * x;
        *most = fmax(*most, fabs(x));
    }
    return sqrt(sum);
}

static outlook look_at(const double *centroids, uint32_t k, const printed_rows *rows) {
    const uint32_t d = rows->d;
    outlook o = {.near = printed_room(k, sizeof *o.near), .far = printed_room(k, sizeof *o.far)};
    double shortest = INFINITY, most;
    o.grid = printed_room((size_t)k * d, sizeof *o.grid);
    for (uint32_t c = 0; c < k; c++) {
        const double *const centroid = centroids + (size_t)c * d;
        const double length = length_of(centroid, rows, &most);
        for (uint32_t j = 0; j < d && most <= EF_GRID_MAX; j++)
            o.grid[(size_t)o.n_near * d + j] = (int32_t)round(centroid[j]) - rows->middle;
        if (most <= EF_GRID_MAX) {
            o.near[o.n_near++] = c;
            shortest = fmin(shortest, length);
        }
    }
    /* One that is so far out that every row is nearer to another has no rows. */
    const double reach = shortest + 2.001 * sqrt((double)rows->most_square);
    for (uint32_t c = 0; c < k; c++)
        if (length_of(centroids + (size_t)c * d, rows, &most) <= reach && most > EF_GRID_MAX)
            o.far[o.n_far++] = c;
    return o;
}

static void outlook_free(outlook *o) {
    free(o->near);
    free(o->far);
    free(o->grid);
}

/* The nearest of those that are far, if it is nearer than the nearest of the others. */
static void try_far(const outlook *o, const printed_rows *rows, const double *centroids, size_t i,
                    uint32_t *nearest) {
    double least =
        o->n_near != 0 ? distance_to(rows, i, centroids + *nearest * (size_t)rows->d) : INFINITY;
    for (uint32_t f = 0; f < o->n_far; f++) {
        const double away = distance_to(rows, i, centroids + o->far[f] * (size_t)rows->d);
        if (away < least) {
            least = away;
            *nearest = o->far[f];
        }
    }
}

static void take_in(printed_partition *pi, const ef_kernels *kernels, const ef_map *map,
                    const printed_rows *rows, size_t first, size_t n, const uint32_t *nearest) {
    for (size_t i = 0; i < n; i++) {
        uint32_t *const label = pi->labels + first + i;
        if (*label == nearest[i])
            continue;
        pi->n_moved++;
        pi->counts[nearest[i]]++;
        if (*label != pi->k)
            pi->counts[*label]--;
        kernels->move_row(map, place_of(rows, first + i, 0), 1,
                          pi->sums + nearest[i] * (size_t)rows->d,
                          *label != pi->k ? pi->sums + *label * (size_t)rows->d : NULL);
        *label = nearest[i];
    }
}

void printed_divide(printed_partition *pi, const printed_rows *rows, const double *centroids) {
    const ef_kernels *const kernels = ef_kernels_get();
    float *const room = printed_room(ef_assign_room(pi->k, rows->d), sizeof *room);
    uint32_t nearest[EF_RUN * EF_PANEL] = {0};
    identity id = identity_of(rows->d, rows->middle), whole = identity_of(rows->d, 0);
    outlook o = look_at(centroids, pi->k, rows);
    ef_centers centers;
    if (o.n_near != 0) {
        require(ef_centers_init(&centers, o.grid, o.n_near, rows->d, kernels->tile));
        require(ef_centers_fold(&centers, &id.map, rows->most_square));
    }
    pi->n_moved = 0;
    for (size_t first = 0, n; first < rows->n; first += n) {
        n = rows->n - first < EF_RUN * EF_PANEL ? rows->n - first : EF_RUN * EF_PANEL;
        if (o.n_near != 0)
            kernels->assign(&centers, &id.map, place_of(rows, first, 0), n, pi->labels + first,
                            room, nearest, NULL, NULL, NULL);
        for (size_t i = 0; i < n && o.n_near < pi->k; i++) {
            nearest[i] = o.n_near != 0 ? o.near[nearest[i]] : 0;
            try_far(&o, rows, centroids, first + i, &nearest[i]);
        }
        take_in(pi, kernels, &whole.map, rows, first, n, nearest);
    }
    if (o.n_near != 0)
        ef_centers_free(&centers);
    outlook_free(&o);
    identity_free(&id);
    identity_free(&whole);
    free(room);
}

double printed_loss(const printed_partition *pi, const printed_rows *rows,
                    const double *centroids) {
    double loss = rows->square_sum;
    for (uint32_t c = 0; c < pi->k; c++)
        for (size_t j = (size_t)c * rows->d; pi->counts[c] != 0 && j < (c + (size_t)1) * rows->d;
             j++)
            loss +=
                centroids[j] * ((double)pi->counts[c] * centroids[j] - 2.0 * (double)pi->sums[j]);
    return loss;
}

/* ---------------------------------------------------------------- k-means++ */

/* u_j = min(u_j, |eta - D_j|^2) for a point eta. */
static void meet(const printed_rows *rows, const ef_map *map, const float *point, float *least) {
    const ef_kernels *const kernels = ef_kernels_get();
    for (size_t first = 0; first < rows->n; first += EF_PANEL) {
        float away[EF_PANEL];
        const float *const panel = place_of(rows, first, 0);
        kernels->sqdist(map, panel, point, panel, away);
        for (size_t i = 0; i < EF_PANEL && first + i < rows->n; i++)
            least[first + i] = away[i] < least[first + i] ? away[i] : least[first + i];
    }
}

/* Draws a row with a chance in proportion to u, and meets it. Returns its position. */
static size_t draw_row(const printed_rows *rows, const ef_map *map, printed_dice dice, bool first,
                       float *least, double *centroid) {
    float *const point = printed_room(rows->d, sizeof *point);
    bool any = false;
    for (size_t i = 0; i < rows->n && !first && !any; i++)
        any = least[i] > 0.0F;
    const size_t position = dice.pick(dice.state, rows->n, any ? least : NULL);
    for (uint32_t j = 0; j < rows->d; j++)
        centroid[j] = point[j] = (float)printed_coordinate(rows, position, j);
    meet(rows, map, point, least);
    free(point);
    return position;
}

static float *no_distances(const printed_rows *rows) {
    float *const least = printed_room(rows->n, sizeof *least);
    for (size_t i = 0; i < rows->n; i++)
        least[i] = INFINITY;
    return least;
}

uint32_t printed_seed(const printed_rows *rows, uint32_t k, printed_dice dice, double *centroids,
                      uint64_t *ids) {
    const uint32_t n_seeds = k < rows->n ? k : (uint32_t)rows->n;
    float *const least = no_distances(rows);
    identity id = identity_of(rows->d, 0);
    for (uint32_t l = 0; l < n_seeds; l++) {
        const size_t i =
            draw_row(rows, &id.map, dice, l == 0, least, centroids + (size_t)l * rows->d);
        if (ids != NULL)
            ids[l] = rows->ids[i];
    }
    identity_free(&id);
    free(least);
    return n_seeds;
}

/* Centroids are means on the grid; one without rows starts again at a row (B.1). */
static void take_means(const printed_partition *pi, const printed_rows *rows, printed_dice dice,
                       double *centroids) {
    const size_t d = rows->d;
    float *const point = printed_room(d, sizeof *point);
    float *least = NULL;
    identity id = identity_of(rows->d, 0);
    for (uint32_t c = 0; c < pi->k; c++)
        for (size_t j = c * d; pi->counts[c] != 0 && j < (c + 1) * d; j++)
            centroids[j] = round((double)pi->sums[j] / (double)pi->counts[c]);
    for (uint32_t c = 0; c < pi->k; c++) {
        if (pi->counts[c] != 0)
            continue;
        if (least == NULL) {
            least = no_distances(rows);
            for (uint32_t other = 0; other < pi->k; other++) {
                for (size_t j = 0; j < d; j++)
                    point[j] = (float)centroids[other * d + j];
                if (pi->counts[other] != 0)
                    meet(rows, &id.map, point, least);
            }
        }
        draw_row(rows, &id.map, dice, false, least, centroids + c * d);
    }
    identity_free(&id);
    free(point);
    free(least);
}

uint32_t printed_kmeans(const printed_rows *rows, uint32_t k, uint32_t iterations,
                        printed_dice dice, double *centroids) {
    printed_partition pi;
    const uint32_t n_centroids = printed_seed(rows, k, dice, centroids, NULL);
    printed_partition_init(&pi, rows, n_centroids);
    for (uint32_t t = 0; t < iterations && n_centroids != 0; t++) {
        printed_divide(&pi, rows, centroids);
        if (pi.n_moved == 0)
            break; /* nothing would change */
        take_means(&pi, rows, dice, centroids);
    }
    printed_partition_free(&pi);
    return n_centroids;
}
