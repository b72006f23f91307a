/*
 * What the paper prints: Q-k-means (Algorithm 4, of which Algorithm 1 is the short form) and its
 * deletion (Algorithm 5).
 */
#include "paper/as_printed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t size_of(const printed_quantized *q) {
    return (size_t)q->k * q->d;
}

/* Q(x) = epsilon (theta + the nearest j), a coordinate. */
static double quantize(const printed_quantized *q, double x, uint32_t theta) {
    return theta + q->params.epsilon * round((x - theta) / q->params.epsilon);
}

/* The gamma-correction of one centroid c of a cluster of `size` rows; `before` is c'. */
static void correct(const printed_quantized *q, double size, double n, const double *before,
                    double *c) {
    const double least = q->params.gamma * n / q->k;
    const double by = q->params.reading == PRINTED_PROGRAM ? least : 1.0;
    for (uint32_t j = 0; j < q->d && size < least; j++)
        c[j] = (size * c[j] + (least - size) * before[j]) / by;
}

static printed_iteration *next_iteration(printed_quantized *q) {
    printed_iteration *const saved = &q->saved[q->n_saved++];
    saved->c = printed_room(size_of(q), sizeof *saved->c);
    saved->lattice = printed_room(size_of(q), sizeof *saved->lattice);
    saved->theta = printed_room(q->d, sizeof *saved->theta);
    saved->sizes = printed_room(q->k, sizeof *saved->sizes);
    return saved;
}

static void drop_iterations(printed_quantized *q) {
    for (uint32_t t = 0; t < q->n_saved; t++) {
        free(q->saved[t].c);
        free(q->saved[t].lattice);
        free(q->saved[t].theta);
        free(q->saved[t].sizes);
    }
    q->n_saved = q->n_accepted = 0;
}

/* One iteration up to `save`: from the partition pi by the centroids `before`, which becomes pi'.
 * `c` becomes the corrected means. */
static printed_iteration *iterate(printed_quantized *q, const printed_rows *rows,
                                  printed_partition *pi, const double *before, printed_dice dice,
                                  double *c) {
    const bool program = q->params.reading == PRINTED_PROGRAM;
    printed_iteration *const saved = next_iteration(q);
    for (uint32_t a = 0; a < q->k; a++) {
        const double size = (double)pi->counts[a];
        double *const own = c + (size_t)a * q->d;
        for (uint32_t j = 0; j < q->d; j++)
            own[j] = size > 0.0 ? (double)pi->sums[(size_t)a * q->d + j] / size
                                : before[(size_t)a * q->d + j];
        if (program)
            memcpy(saved->c + (size_t)a * q->d, own, q->d * sizeof *own);
        correct(q, size, (double)rows->n, before + (size_t)a * q->d, own);
        saved->sizes[a] = size;
    }
    if (!program)
        memcpy(saved->c, c, size_of(q) * sizeof *c);
    for (uint32_t j = 0; j < q->d; j++)
        saved->theta[j] = (uint32_t)dice.pick(dice.state, q->params.epsilon, NULL);
    for (size_t i = 0; i < size_of(q); i++)
        saved->lattice[i] = quantize(q, c[i], saved->theta[i % q->d]);
    printed_divide(pi, rows, saved->lattice);
    for (uint32_t a = 0; !program && a < q->k; a++)
        saved->sizes[a] = (double)pi->counts[a]; /* |pi'| */
    return saved;
}

/* Algorithm 4. */
static void train(printed_quantized *q, const printed_rows *rows, printed_dice dice) {
    const bool program = q->params.reading == PRINTED_PROGRAM;
    double *const c = printed_room((size_t)q->params.k * q->d, sizeof *c);
    printed_partition pi;
    drop_iterations(q);
    q->k = printed_seed(rows, q->params.k, dice, q->seeds, q->seed_ids);
    memcpy(q->model, q->seeds, size_of(q) * sizeof *c);
    printed_partition_init(&pi, rows, q->k);
    printed_divide(&pi, rows, q->seeds);
    double loss = printed_loss(&pi, rows, q->seeds);
    for (uint32_t t = 0; t < q->params.iterations && q->k != 0; t++) {
        const printed_iteration *const saved = iterate(q, rows, &pi, q->model, dice, c);
        const double next = printed_loss(&pi, rows, saved->lattice);
        const bool accepted = next < loss || (program && t == 0);
        if (accepted || !program) /* where it ends, the text returns the mean */
            memcpy(q->model, accepted ? saved->lattice : c, size_of(q) * sizeof *c);
        if (!accepted)
            break;
        loss = next;
        q->n_accepted++;
    }
    printed_partition_free(&pi);
    free(c);
}

printed_quantized *printed_quantized_train(const printed_rows *rows,
                                           const printed_quantized_params *params,
                                           printed_dice dice) {
    printed_quantized *const q = printed_room(1, sizeof *q);
    const size_t size = (size_t)params->k * rows->d;
    *q = (printed_quantized){.params = *params, .d = rows->d};
    q->seeds = printed_room(size, sizeof *q->seeds);
    q->model = printed_room(size, sizeof *q->model);
    q->seed_ids = printed_room(params->k, sizeof *q->seed_ids);
    q->saved = printed_room(params->iterations, sizeof *q->saved);
    train(q, rows, dice);
    return q;
}

void printed_quantized_free(printed_quantized *q) {
    drop_iterations(q);
    free(q->seeds);
    free(q->model);
    free(q->seed_ids);
    free(q->saved);
    free(q);
}

/* p in c_0: by its values; in the program by its number. */
static bool is_seed(const printed_quantized *q, const double *p, uint64_t id) {
    for (uint32_t a = 0; a < q->k; a++)
        if (q->params.reading == PRINTED_PROGRAM
                ? q->seed_ids[a] == id
                : memcmp(q->seeds + (size_t)a * q->d, p, q->d * sizeof *p) == 0)
            return true;
    return false;
}

/* argmin_k |p - c_k| */
static uint32_t nearest_to(const printed_quantized *q, const double *p, const double *c) {
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t a = 0; a < q->k; a++) {
        double away = 0.0;
        for (uint32_t j = 0; j < q->d; j++) {
            const double x = p[j] - c[(size_t)a * q->d + j];
            away += x * x;
        }
        if (away < least) {
            least = away;
            best = a;
        }
    }
    return best;
}

/* Takes p out of the metadata of iteration t; false if that moves a lattice point. `moved` is room
 * for a point. */
static bool take_out(printed_quantized *q, uint32_t t, double n, const double *p, double *moved) {
    const printed_iteration *const saved = &q->saved[t];
    const bool program = q->params.reading == PRINTED_PROGRAM;
    const uint32_t a = nearest_to(q, p, saved->c);
    const size_t first = (size_t)a * q->d;
    const double *const before = (t != 0 ? saved[-1].lattice : q->seeds) + first;
    const double least = q->params.gamma * n / q->k;
    double size = saved->sizes[a];
    memcpy(moved, saved->c + first, q->d * sizeof *moved);
    if (program) { /* corrected first; what p is a part of is then gamma n / k */
        correct(q, size, n, before, moved);
        size = size < least ? least : size;
    }
    for (uint32_t j = 0; j < q->d; j++)
        moved[j] -= p[j] / size;
    if (!program)
        correct(q, size, n, before, moved);
    for (uint32_t j = 0; j < q->d; j++)
        if (quantize(q, moved[j], saved->theta[j]) != saved->lattice[first + j])
            return false;
    memcpy(saved->c + first, moved, q->d * sizeof *moved);
    saved->sizes[a]--;
    return true;
}

/* Algorithm 5. */
bool printed_quantized_delete(printed_quantized *q, printed_rows *rows, size_t position,
                              printed_dice dice) {
    const bool program = q->params.reading == PRINTED_PROGRAM;
    const uint32_t n_iterations = program ? q->n_accepted : q->n_saved;
    double *const p = printed_room(q->d, sizeof *p), *const moved = printed_room(q->d, sizeof *p);
    for (uint32_t j = 0; j < q->d; j++)
        p[j] = printed_coordinate(rows, position, j);
    bool stands = !is_seed(q, p, rows->ids[position]);
    for (uint32_t t = 0; t < n_iterations && stands; t++)
        stands = take_out(q, t, (double)rows->n, p, moved);
    printed_rows_remove(rows, position);
    if (!stands)
        train(q, rows, dice);
    else if (n_iterations != 0) /* return c-hat */
        memcpy(q->model, q->saved[n_iterations - 1].lattice, size_of(q) * sizeof *p);
    free(p);
    free(moved);
    return !stands;
}
