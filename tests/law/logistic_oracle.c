/*
 * The canonical bytes of the family `logistic`, computed plainly from
 * docs/definition/logistic.md: each sum is one loop over the rows, in 128 bits, and each solution
 * is by the formulas of the definition, element by element.
 *
 *     "EFFACELO" | u32 format | u32 columns | u64 rows | u64 weight | i32 exponent of each column |
 *     u32 classes | for each class, ascending: i64 label, u64 rows | moments of all, diagonal |
 *     moments of the sample, full | for each run: u32 points, and each of them:
 *     u32 lattice | u32 level | whole numbers, short and signed | 128-bit loss |
 *     of a level: 128-bit slopes and, but on the finest lattice, 128-bit curvatures of pairs j <= l
 */
#include "law/logistic_oracle.h"

#include "base/numbers/elementary.h"
#include "base/numbers/wide.h"
#include "base/random/tape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const no_memory = "out of memory\n";

static void *room_for(size_t count, size_t size) {
    void *const p = calloc(count + 1, size);
    if (p == NULL) {
        fputs(no_memory, stderr);
        exit(2);
    }
    return p;
}

/* ---------------------------------------------------------------- bytes */

typedef struct written {
    unsigned char *bytes;
    size_t n, capacity;
} written;

static void put(written *w, uint64_t value, int n_bytes) {
    if (w->n + 16 > w->capacity) {
        w->capacity = 2 * w->capacity + 64;
        w->bytes = realloc(w->bytes, w->capacity);
        if (w->bytes == NULL) {
            fputs(no_memory, stderr);
            exit(2);
        }
    }
    for (int i = 0; i < n_bytes; i++)
        w->bytes[w->n++] = (unsigned char)(value >> (8 * i));
}

static void put_wide(written *w, ef_i128 value) {
    put(w, (uint64_t)value, 8);
    put(w, (uint64_t)((ef_u128)value >> 64), 8);
}

static void put_short(written *w, int64_t value) {
    uint64_t rest = value < 0 ? 2 * (uint64_t) - (value + 1) + 1 : 2 * (uint64_t)value;
    for (; rest >= 128; rest >>= 7)
        put(w, (rest & 127) | 128, 1);
    put(w, rest, 1);
}

/* ---------------------------------------------------------------- the rows */

/* Rows that take part, and what all runs share. */
typedef struct world {
    const efface_logistic_params *params;
    size_t n, p; /* rows and terms */
    int *exponents;
    int64_t *x; /* n * p */
    int64_t *weights, *labels;
    uint64_t *ids;
    int64_t *classes;
    size_t n_classes;
    bool *in_sample;
    bool *left_out; /* terms */
    double *penalties;
    double *l, *scales; /* the factor of the whitening */
    double *phases;     /* 3 p */
    double widths[3];
} world;

static int exponent_of(const law_rows *rows, uint32_t column, double bound) {
    double most = bound;
    for (size_t i = 0; i < rows->n && bound == 0.0; i++)
        if (fabs((double)rows->values[i * rows->d + column]) > most)
            most = fabs((double)rows->values[i * rows->d + column]);
    int exponent = -100;
    while (ldexp(1.0, exponent) < most)
        exponent++;
    return exponent;
}

static int compare_labels(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void take_rows(world *w, const law_rows *rows) {
    w->p = (size_t)rows->d + 1;
    w->exponents = room_for(rows->d, sizeof *w->exponents);
    w->x = room_for(rows->n * w->p, sizeof *w->x);
    w->weights = room_for(rows->n, sizeof *w->weights);
    w->labels = room_for(rows->n, sizeof *w->labels);
    w->classes = room_for(rows->n, sizeof *w->classes);
    w->ids = room_for(rows->n, sizeof *w->ids);
    for (uint32_t j = 0; j < rows->d; j++)
        w->exponents[j] = exponent_of(rows, j, w->params->bound);
    for (size_t i = 0; i < rows->n; i++) {
        int64_t *const x = w->x + w->n * w->p;
        if (rows->labels[i] == EFFACE_NO_LABEL)
            continue;
        x[0] = w->params->intercept ? 1 << 23 : 0;
        for (uint32_t j = 0; j < rows->d; j++)
            x[j + 1] = (int64_t)nearbyint(
                ldexp((double)rows->values[i * rows->d + j], 23 - w->exponents[j]));
        w->weights[w->n] = rows->weights[i];
        w->labels[w->n] = w->classes[w->n] = rows->labels[i];
        w->ids[w->n++] = rows->ids[i];
    }
    qsort(w->classes, w->n, sizeof *w->classes, compare_labels);
    for (size_t i = 0; i < w->n; i++)
        if (i == 0 || w->classes[i] != w->classes[i - 1])
            w->classes[w->n_classes++] = w->classes[i];
}

static ef_i128 product_sum(const world *w, size_t j, size_t l, bool of_sample) {
    ef_i128 sum = 0;
    for (size_t i = 0; i < w->n; i++)
        if (!of_sample || w->in_sample[i])
            sum += (ef_i128)w->weights[i] * w->x[i * w->p + j] * w->x[i * w->p + l];
    return sum;
}

static void put_moments(written *out, const world *w, bool of_sample) {
    uint64_t n = 0, weight = 0;
    for (size_t i = 0; i < w->n; i++) {
        n += !of_sample || w->in_sample[i];
        weight += !of_sample || w->in_sample[i] ? (uint64_t)w->weights[i] : 0;
    }
    put(out, n, 8);
    put(out, weight, 8);
    for (size_t j = 0; j < w->p; j++) {
        int64_t sum = 0;
        for (size_t i = 0; i < w->n; i++)
            if (!of_sample || w->in_sample[i])
                sum += w->weights[i] * w->x[i * w->p + j];
        put(out, (uint64_t)sum, 8);
    }
    for (size_t j = 0; j < w->p; j++)
        for (size_t l = j; l < (of_sample ? w->p : j + 1); l++)
            put_wide(out, product_sum(w, j, l, of_sample));
}

/* ---------------------------------------------------------------- algebra */

/* The factor of a symmetric matrix of which the elements below the diagonal are given, replaced by
 * it; `dropped` may say beforehand that a column is left out. */
static void factor(double *a, size_t n, double *scales, bool *dropped) {
    double *const least = room_for(n, sizeof *least);
    for (size_t i = 0; i < n; i++) {
        const double diagonal = a[i * n + i];
        int exponent = 0;
        dropped[i] = !(diagonal >= 0x1p-1022 && diagonal <= 0x1.fffffffffffffp1023);
        (void)frexp(dropped[i] ? 1.0 : diagonal, &exponent);
        scales[i] = dropped[i] ? 0.0 : ldexp(1.0, -((exponent - (exponent & 1)) / 2));
        for (size_t j = 0; j <= i; j++)
            a[i * n + j] = dropped[i] || dropped[j] ? 0.0 : a[i * n + j] * scales[i] * scales[j];
        least[i] = 0x1p-40 * a[i * n + i];
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double left = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                left -= a[i * n + k] * a[j * n + k];
            if (j < i)
                a[i * n + j] = dropped[j] ? 0.0 : left / a[j * n + j];
            else if (!dropped[i] && left > least[i])
                a[i * n + i] = sqrt(left);
            else
                dropped[i] = true;
        }
        if (dropped[i]) {
            scales[i] = 0.0;
            for (size_t k = 0; k < i; k++)
                a[i * n + k] = 0.0;
            a[i * n + i] = 1.0;
        }
    }
    free(least);
}

/* The sum of products as the library adds it: eight lanes, and these as a tree. */
static double dot(const double *a, const double *b, size_t n) {
    double lanes[8] = {0};
    for (size_t i = 0; i < (n + 7) / 8 * 8; i++)
        lanes[i % 8] += i < n ? a[i] * b[i] : 0.0;
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* S L^-T u, in place. */
static void solve_upper(const double *l, const double *scales, const bool *dropped, size_t n,
                        double *u) {
    for (size_t i = n; i-- > 0;) {
        if (dropped[i])
            continue;
        u[i] = u[i] / l[i * n + i];
        for (size_t j = 0; j < i; j++)
            u[j] += -u[i] * l[i * n + j];
        u[i] *= scales[i];
    }
}

static void solve(const double *l, const double *scales, const bool *dropped, size_t n, double *b) {
    for (size_t i = 0; i < n; i++)
        b[i] = dropped[i] ? 0.0 : (b[i] * scales[i] - dot(l + i * n, b, i)) / l[i * n + i];
    solve_upper(l, scales, dropped, n, b);
}

/* ---------------------------------------------------------------- the lattice */

static int nearest_power(uint64_t n) {
    int k = 0;
    while ((ef_u128)n * n >= (ef_u128)1 << (2 * k + 1))
        k++;
    return k;
}

static double next_power(ef_i128 squares) {
    int k = 0, shift = 0;
    uint64_t leading;
    for (; squares >> shift > UINT64_MAX; shift++) {
    }
    leading = (uint64_t)(squares >> shift);
    while (leading >> k > 1)
        k++;
    k += (ef_u128)leading * leading >= (ef_u128)1 << (2 * k + 1);
    return ldexp(1.0, k + shift);
}

static int floored(double x) {
    return (int)floor(x);
}

static void draw_sample(world *w) {
    const int rate = nearest_power(w->n != 0 ? w->n : 1) - nearest_power(w->p) -
                     nearest_power(w->params->sample);
    w->in_sample = room_for(w->n, sizeof *w->in_sample);
    for (size_t i = 0; i < w->n; i++) {
        const uint64_t bits = ef_tape(w->params->common.seed, 15, 0, w->ids[i], 0);
        w->in_sample[i] = rate <= 0 || bits >> (64 - rate) == 0;
    }
}

static void make_lattice(world *w) {
    const size_t p = w->p;
    const int n_bits = nearest_power(w->n), p_bits = nearest_power(p);
    const int s_bits = nearest_power(w->params->sample);
    const int rate = n_bits - p_bits - s_bits > 0 ? n_bits - p_bits - s_bits : 0;
    const double start = w->params->loss == EFFACE_LOSS_LOGISTIC ? 0.25 : 1.0;
    const int dear = floored((n_bits - p_bits) / 2.0) - 3;
    int fine = 4 + p_bits - (int)ceil(n_bits / 2.0);
    fine = fine > 0 ? fine : 0;
    fine = fine < dear ? fine : dear;
    w->widths[2] = w->params->width > 0.0 ? w->params->width : ldexp(1.0, fine);
    w->widths[1] = fmax(w->widths[2], ldexp(1.0, floored((n_bits - p_bits) / 2.0) - 2));
    w->widths[0] = fmax(w->widths[2], ldexp(1.0, floored((n_bits - p_bits) / 2.0)));
    for (size_t stage = 0; stage < 3; stage++)
        w->widths[stage] = sqrt((double)w->params->weight_unit) * w->widths[stage];
    w->penalties = room_for(p, sizeof *w->penalties);
    w->phases = room_for(3 * p, sizeof *w->phases);
    w->l = room_for(p * p, sizeof *w->l);
    w->scales = room_for(p, sizeof *w->scales);
    w->left_out = room_for(p, sizeof *w->left_out);
    for (size_t j = 0; j < p; j++) {
        const ef_i128 squares = product_sum(w, j, j, false);
        if (j != 0)
            w->penalties[j] = w->params->alpha * (double)w->params->weight_unit *
                              ldexp(1.0, -2 * w->exponents[j - 1]);
        for (uint32_t stage = 0; stage < 3; stage++)
            w->phases[stage * p + j] =
                ef_tape_unit(ef_tape(w->params->common.seed, 16, 0, j, stage)) - 0.5;
        for (size_t l = 0; l <= j && squares != 0; l++)
            if (product_sum(w, l, l, false) != 0)
                w->l[j * p + l] = ef_i128_to_double(product_sum(w, l, j, true)) *
                                  (0.75 * start * 0x1p-46 * ldexp(1.0, rate));
        if (squares != 0)
            w->l[j * p + j] =
                w->l[j * p + j] + 0.25 * start * 0x1p-46 * next_power(squares) + w->penalties[j];
    }
    factor(w->l, p, w->scales, w->left_out);
}

/* ---------------------------------------------------------------- sums at a point */

typedef struct point {
    int stage;
    int64_t *k;
    double *u, *b;
    ef_i128 loss, total, *slopes, *curvatures;
} point;

static void row_part(efface_loss kind, double z, bool positive, int64_t *loss, int64_t *slope,
                     double *q) {
    const double limited = fmin(fmax(z, -0x1p20), 0x1p20), t = positive ? limited : -limited;
    if (kind == EFFACE_LOSS_LOGISTIC) {
        const double u = ef_exp(-fabs(t)), sum = 1.0 + u;
        *loss = (int64_t)floor((ef_log(sum) + fmax(-t, 0.0)) * 0x1p30 + 0.5);
        *slope = (int64_t)floor((t >= 0.0 ? u : 1.0) / sum * 0x1p30 + 0.5);
        *q = 4.0 * u / (sum * sum);
    } else {
        const double miss = fmax(1.0 - t, 0.0);
        *loss = (int64_t)floor(miss * miss * 0x1p20 + 0.5);
        *slope = (int64_t)floor(miss * 0x1p21 + 0.5);
        *q = miss > 0.0 ? 1.0 : 0.0;
    }
    if (positive)
        *slope = -*slope;
}

static ef_i128 penalty_of(const world *w, const double *b) {
    double sum = 0.0;
    for (size_t j = 0; j < w->p; j++)
        sum += w->penalties[j] * b[j] * b[j];
    const double units =
        fmin(0.5 * sum * (w->params->loss == EFFACE_LOSS_LOGISTIC ? 0x1p30 : 0x1p20), 0x1p120);
    return (ef_i128)(units < 0x1p51 ? nearbyint(units) : units);
}

static void sum_up(const world *w, int64_t label, point *at) {
    const size_t p = w->p;
    at->slopes = room_for(p, sizeof *at->slopes);
    at->curvatures = room_for(p * (p + 1) / 2, sizeof *at->curvatures);
    at->loss = 0;
    for (size_t i = 0; i < w->n; i++) {
        const int64_t *const x = w->x + i * p;
        int64_t loss, slope;
        double z = 0.0, q;
        for (size_t j = 0; j < p; j++)
            z += at->b[j] * 0x1p-23 * (double)x[j];
        row_part(w->params->loss, z, w->labels[i] == label, &loss, &slope, &q);
        at->loss += (ef_i128)w->weights[i] * loss;
        ef_i128 *to = at->curvatures;
        for (size_t j = 0; j < p; j++) {
            const ef_i128 bent = (ef_i128)w->weights[i] * (int64_t)nearbyint(q * (double)x[j]);
            at->slopes[j] += (ef_i128)w->weights[i] * slope * x[j];
            for (size_t l = j; l < p; l++)
                *to++ += bent * x[l];
        }
    }
    at->total = at->loss + penalty_of(w, at->b);
}

/* A point with its place, without sums. */
static point make_point(const world *w, int stage, const int64_t *k) {
    const size_t p = w->p;
    point at = {.stage = stage};
    at.k = room_for(p, sizeof *at.k);
    at.u = room_for(p, sizeof *at.u);
    at.b = room_for(p, sizeof *at.b);
    for (size_t j = 0; j < p; j++) {
        at.k[j] = k[j];
        at.u[j] = at.b[j] =
            w->left_out[j] ? 0.0
                           : w->widths[stage] * ((double)k[j] + w->phases[(size_t)stage * p + j]);
    }
    solve_upper(w->l, w->scales, w->left_out, p, at.b);
    return at;
}

static void free_point(point *at) {
    free(at->k);
    free(at->u);
    free(at->b);
    free(at->slopes);
    free(at->curvatures);
    *at = (point){0};
}

static void put_point(written *out, const world *w, const point *at, bool is_level) {
    put(out, (uint64_t)at->stage, 4);
    put(out, is_level, 4);
    for (size_t j = 0; j < w->p; j++)
        put_short(out, at->k[j]);
    put_wide(out, at->loss);
    for (size_t j = 0; is_level && j < w->p; j++)
        put_wide(out, at->slopes[j]);
    for (size_t j = 0; is_level && at->stage < 2 && j < w->p * (w->p + 1) / 2; j++)
        put_wide(out, at->curvatures[j]);
}

/* ---------------------------------------------------------------- a run */

/* The Newton step from a level with such curvatures, in the coordinates u. Returns what it promises
 * to take off the penalised loss. */
static double find_delta(const world *w, const point *at, const ef_i128 *pair, double *delta) {
    const size_t p = w->p;
    const bool logistic = w->params->loss == EFFACE_LOSS_LOGISTIC;
    const double of_slopes = 0x1p-23 * (logistic ? 0x1p-30 : 0x1p-20);
    const double of_pairs = 0x1p-46 * (logistic ? 0.25 : 2.0);
    double *const a = room_for(p * p, sizeof *a), *const scales = room_for(p, sizeof *scales),
                  *const y = room_for(p, sizeof *y), *const g = room_for(p, sizeof *g);
    bool *const dropped = room_for(p, sizeof *dropped);
    for (size_t j = 0; j < p; j++)
        for (size_t l = j; l < p; l++, pair++)
            if (!w->left_out[j] && !w->left_out[l])
                a[l * p + j] =
                    ef_i128_to_double(*pair) * of_pairs + (l == j ? w->penalties[j] : 0.0);
    factor(a, p, scales, dropped);
    for (size_t j = 0; j < p; j++)
        g[j] = y[j] = -(ef_i128_to_double(at->slopes[j]) * of_slopes + w->penalties[j] * at->b[j]);
    solve(a, scales, dropped, p, y);
    const double gain = 0.5 * dot(g, y, p);
    for (size_t j = 0; j < p; j++)
        delta[j] = 0.0;
    for (size_t i = 0; i < p; i++) {
        if (w->left_out[i])
            continue;
        const double scaled = y[i] / w->scales[i];
        for (size_t j = 0; j <= i; j++)
            delta[j] += scaled * w->l[i * p + j];
    }
    free(a);
    free(scales);
    free(y);
    free(g);
    free(dropped);
    return gain;
}

/* The whole numbers of the nearest point; false if they are too large. */
static bool nearest(const world *w, const point *at, int stage, const double *delta, double part,
                    int64_t *k) {
    for (size_t j = 0; j < w->p; j++) {
        const double target =
            (at->u[j] + part * delta[j]) / w->widths[stage] - w->phases[(size_t)stage * w->p + j];
        if (!w->left_out[j] && !(fabs(target) < 0x1p50 - 1.0))
            return false;
        k[j] = w->left_out[j] ? 0 : (int64_t)nearbyint(target);
    }
    return true;
}

static bool is_within(const world *w, const point *at) {
    for (size_t j = 0; j < w->p; j++)
        if (!(fabs(at->b[j]) < 0x1p20))
            return false;
    return true;
}

/* Tries the points of a lattice along a step; true if one is better, which is then the level. */
static bool try_stage(written *out, const world *w, int64_t label, int stage, const double *delta,
                      point *level, uint32_t *n_points) {
    int64_t *const k = room_for(w->p, sizeof *k), *const before = room_for(w->p, sizeof *before);
    bool any = false, better = false, back = false;
    for (int i = 0; i <= 10 && !better && !back; i++) {
        if (!nearest(w, level, stage, delta, ldexp(1.0, -i), k))
            continue;
        back = stage == level->stage && memcmp(k, level->k, w->p * sizeof *k) == 0;
        if (back || (any && memcmp(k, before, w->p * sizeof *k) == 0))
            continue;
        point next = make_point(w, stage, k);
        if (is_within(w, &next)) {
            sum_up(w, label, &next);
            better = next.total < level->total;
            put_point(out, w, &next, better);
            ++*n_points;
            any = true;
            memcpy(before, k, w->p * sizeof *k);
        }
        if (better) {
            free_point(level);
            *level = next;
        } else {
            free_point(&next);
        }
    }
    free(k);
    free(before);
    return better;
}

static void put_run(written *out, const world *w, int64_t label) {
    int64_t *const zero = room_for(w->p, sizeof *zero);
    double *const delta = room_for(w->p, sizeof *delta);
    ef_i128 *const bends = room_for(w->p * (w->p + 1) / 2, sizeof *bends);
    const size_t begin = out->n;
    uint32_t n_points = 1, n_steps = 0;
    point level = make_point(w, 0, zero);
    put(out, 0, 4);
    sum_up(w, label, &level);
    put_point(out, w, &level, true);
    for (int stage = 0; stage < 3;) {
        if (n_steps >= w->params->steps)
            break;
        if (level.stage < 2)
            memcpy(bends, level.curvatures, w->p * (w->p + 1) / 2 * sizeof *bends);
        const double gain = find_delta(w, &level, bends, delta);
        const double limit = (double)w->p * w->widths[stage] * w->widths[stage] * (1.0 / 24.0);
        const bool is_worth = gain > limit || (stage == 2 && level.stage != 2);
        if (is_worth && try_stage(out, w, label, stage, delta, &level, &n_points))
            n_steps++;
        else
            stage++;
    }
    for (int i = 0; i < 4; i++)
        out->bytes[begin + (size_t)i] = (unsigned char)(n_points >> (8 * i));
    free_point(&level);
    free(zero);
    free(delta);
    free(bends);
}

/* ---------------------------------------------------------------- the whole */

static void free_world(world *w) {
    free(w->exponents);
    free(w->x);
    free(w->weights);
    free(w->labels);
    free(w->ids);
    free(w->classes);
    free(w->in_sample);
    free(w->left_out);
    free(w->penalties);
    free(w->l);
    free(w->scales);
    free(w->phases);
}

unsigned char *logistic_oracle(const law_rows *rows, const law_params *params, size_t *n_bytes) {
    world w = {.params = logistic_of(params)};
    written out = {0};
    uint64_t weight = 0;
    take_rows(&w, rows);
    draw_sample(&w);
    for (size_t i = 0; i < rows->n; i++)
        weight += (uint64_t)rows->weights[i];
    for (const char *at = "EFFACELO"; *at != '\0'; at++)
        put(&out, (unsigned char)*at, 1);
    put(&out, 1, 4);
    put(&out, rows->d, 4);
    put(&out, rows->n, 8);
    put(&out, weight, 8);
    for (uint32_t j = 0; j < rows->d; j++)
        put(&out, (uint32_t)w.exponents[j], 4);
    put(&out, w.n_classes, 4);
    for (size_t c = 0; c < w.n_classes; c++) {
        uint64_t n = 0;
        for (size_t i = 0; i < w.n; i++)
            n += w.labels[i] == w.classes[c];
        put(&out, (uint64_t)w.classes[c], 8);
        put(&out, n, 8);
    }
    put_moments(&out, &w, false);
    put_moments(&out, &w, true);
    if (w.n_classes >= 2)
        make_lattice(&w);
    for (size_t c = w.n_classes == 2 ? 1 : 0; w.n_classes >= 2 && c < w.n_classes; c++)
        put_run(&out, &w, w.classes[c]);
    free_world(&w);
    *n_bytes = out.n;
    return out.bytes;
}
