/* The oracle, but for trees and the encoding. Sections named in comments are those of
 * docs/definition/numerics.md. */
#include "oracle/oracle.h"
#include "oracle/oracle_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRID 8388608 /* 2^23 steps */

typedef oracle_i128 i128;
typedef oracle_u128 u128;

void *oracle_make(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (p == NULL) {
        fputs("oracle: out of memory\n", stderr);
        exit(2);
    }
    return p;
}

uint64_t oracle_id(const oracle_rows *rows, size_t i) {
    return rows->ids != NULL ? rows->ids[i] : (uint64_t)i;
}

int64_t oracle_weight(const oracle_rows *rows, size_t i) {
    return rows->weights != NULL ? rows->weights[i] : 1;
}

/* Section 1: minus zero becomes zero; so it does in given bounds. */
static float value_of(float x) {
    return x == 0.0f ? 0.0f : x;
}

static double power_of_two(int e) {
    double p = 1.0;
    for (; e > 0; e--)
        p *= 2.0;
    for (; e < 0; e++)
        p /= 2.0;
    return p;
}

/* Rounds x >= 0 to the nearest integer, halves up (which is away from zero). */
static int64_t round_positive(double x) {
    const int64_t below = (int64_t)x;
    return x - (double)below >= 0.5 ? below + 1 : below;
}

/* round(a / b) for b > 0, halves away from zero. */
static i128 round_quotient(i128 a, i128 b) {
    return a >= 0 ? (2 * a + b) / (2 * b) : -((-2 * a + b) / (2 * b));
}

/* ------------------------------------------------------------------ section 3: the tape */

void oracle_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (uint32_t round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c[0];
        const uint64_t b = UINT64_C(0xCD9E8D57) * c[2];
        const uint32_t key0 = key[0] + round * UINT32_C(0x9E3779B9);
        const uint32_t key1 = key[1] + round * UINT32_C(0xBB67AE85);
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key0, (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ c[3] ^ key1, (uint32_t)a};
        memcpy(c, next, sizeof c);
    }
    memcpy(out, c, sizeof c);
}

uint64_t oracle_tape(uint64_t seed, uint32_t purpose, uint32_t sub, uint64_t index, uint32_t step) {
    const uint32_t counter[4] = {(uint32_t)(index & 0xFFFFFFFFu), (uint32_t)(index >> 32), step,
                                 purpose + 256u * sub};
    const uint32_t key[2] = {(uint32_t)(seed & 0xFFFFFFFFu), (uint32_t)(seed >> 32)};
    uint32_t word[4];
    oracle_philox(counter, key, word);
    return ((uint64_t)word[1] << 32) + word[0];
}

/* The definition's logarithm, restated: a changed operation in src/base/random/tape.c must not go
 * unnoticed because both sides changed. 2 artanh(s) is cut after s^21; log 2 has two parts. */
double oracle_log(double x) {
    int e;
    double m = frexp(x, &e);
    if (m < 0x1.6a09e667f3bcdp-1) { /* the square root of 1/2 */
        m = m * 2.0;
        e = e - 1;
    }
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double series = 1.0 / 21.0;
    for (int odd = 19; odd >= 3; odd -= 2)
        series = series * z + 1.0 / odd;
    const double log_m = 2.0 * s + (2.0 * s) * (z * series);
    return e * 0x1.62e42feep-1 + (e * 0x1.a39ef35793c76p-33 + log_m);
}

double oracle_exponential(uint64_t r) {
    const double v = ((double)(r / 4096) + 0.5) * 0x1p-52;
    return -oracle_log(1.0 - v);
}

/* ------------------------------------------------------------------ section 2: the grid */

static int32_t smallest_exponent(double largest) {
    int32_t e = -100;
    while (largest > power_of_two(e))
        e++;
    return e;
}

static float step_for(float low, float high) {
    const float spread = high - low;
    if (spread < 0x1p-100f)
        return 0.0f;
    float step = 0x1p23f / spread;
    while (spread * step > 0x1p23f)
        step = nextafterf(step, 0.0f);
    return step;
}

/* Rounds with halves to even. */
static int64_t round_even(double x) {
    const double size = fabs(x);
    int64_t n = (int64_t)size;
    const double rest = size - (double)n;
    if (rest > 0.5 || (rest == 0.5 && n % 2 == 1))
        n++;
    return x < 0.0 ? -n : n;
}

static double largest_whole(double x) {
    return fabs(x) < 0x1p52 ? (double)(int64_t)x - ((double)(int64_t)x > x ? 1.0 : 0.0) : x;
}

/* The library's exponential, restated as its logarithm is above. */
static double oracle_exp(double x) {
    static const double q[] = {0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,
                               0x1.11111111100bep-7,  0x1.6c16c16c162c3p-10, 0x1.a01a01abf85abp-13,
                               0x1.a01a01a6e1e2ap-16, 0x1.71de01fdbf9cap-19, 0x1.27e4db46cddd1p-22,
                               0x1.af4e554377204p-26, 0x1.1f7340dbc337ep-29};
    const double k = (double)round_even(x * 0x1.71547652b82fep+0);
    const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    double sum = q[10];
    for (int i = 9; i >= 0; i--)
        sum = sum * r + q[i];
    return (1.0 + (r + r * r * sum)) * power_of_two((int)k);
}

/* Sums of a column: what its unit follows from. */
static void sum_column(oracle_model *m, const oracle_rows *rows, uint32_t j) {
    double largest = 0.0;
    for (size_t i = 0; i < rows->n; i++)
        largest = fmax(largest, fabs((double)rows->values[i * m->d + j]));
    m->exponents[j] = smallest_exponent(largest);
    for (size_t i = 0; i < rows->n; i++) {
        const double x = (double)rows->values[i * m->d + j];
        const int64_t q = round_even(x * power_of_two(23 - m->exponents[j]));
        m->sums[j] += oracle_weight(rows, i) * q;
        m->squares[j] += (i128)oracle_weight(rows, i) * (q * q);
    }
}

/* The nearest double: by way of a long double, whose rounding could come before that of the double,
 * it would not always be. */
static double double_of(i128 x) {
    int shift = 0, lost = 0;
    for (; x >> shift >= (i128)1 << 60; shift++)
        lost = lost || (x >> shift & 1) != 0;
    return (double)((int64_t)(x >> shift) * 2 + lost) * power_of_two(shift - 1);
}

/* The centre of a column, and how many of its units there are in 1. */
static double place_column(oracle_model *m, uint32_t j) {
    const double grid = power_of_two(m->exponents[j] - 23), weight = (double)m->total_weight;
    const i128 spread = m->total_weight * m->squares[j] - (i128)m->sums[j] * m->sums[j];
    if (spread == 0) {
        m->low[j] =
            m->total_weight > 0 ? (float)((double)(m->sums[j] / m->total_weight) * grid) : 0.0f;
        return 0.0;
    }
    const uint64_t seed = m->params.common.seed;
    const double of_unit = ((double)(oracle_tape(seed, 20, 0, j, 0) / 4096) + 0.5) * 0x1p-52;
    const double of_centre = ((double)(oracle_tape(seed, 20, 0, j, 1) / 4096) + 0.5) * 0x1p-52;
    const double steps = oracle_log(double_of(spread) / (weight * weight)) * 0x1.71547652b82fep+1;
    const double i = largest_whole(steps + of_unit);
    const double unit = oracle_exp(((i + 0.5) - of_unit) * 0x1.62e42fefa39efp-3) * grid;
    const double mean = (double)m->sums[j] / weight * grid, pitch = 4.0 * unit;
    const double number = largest_whole((mean / pitch - of_centre) + 0.5);
    const double centre = (number + of_centre) * pitch;
    m->low[j] = fabs(centre) < 0x1p-100 ? 0.0f : (float)centre;
    return unit < 0x1p-100 ? 0.0 : 1.0 / unit;
}

static void make_standard_grid(oracle_model *m, const oracle_rows *rows) {
    const efface_kmeans_params *p = &m->params;
    m->has_spreads = p->column_min == NULL;
    for (uint32_t j = 0; j < m->d && !m->has_spreads; j++) {
        m->low[j] = p->column_min[j];
        m->step[j] = p->column_max[j];
    }
    if (!m->has_spreads) {
        m->exponent = smallest_exponent(p->bound);
        return;
    }
    double *units = oracle_make(m->d, sizeof *units);
    m->exponents = oracle_make(m->d, sizeof *m->exponents);
    m->sums = oracle_make(m->d, sizeof *m->sums);
    m->squares = oracle_make(m->d, sizeof *m->squares);
    for (uint32_t j = 0; j < m->d; j++) {
        sum_column(m, rows, j);
        units[j] = place_column(m, j);
    }
    int fits = 0;
    for (m->exponent = 0; !fits; m->exponent += !fits) {
        fits = 1;
        for (uint32_t j = 0; j < m->d; j++)
            m->step[j] = (float)(units[j] * power_of_two(23 - m->exponent));
        for (size_t i = 0; i < rows->n * m->d; i++) {
            const float moved = value_of(rows->values[i]) - m->low[i % m->d];
            const float image = moved * m->step[i % m->d];
            fits = fits && fabs((double)image) <= GRID;
        }
    }
    free(units);
}

static void make_grid(oracle_model *m, const oracle_rows *rows) {
    const efface_kmeans_params *p = &m->params;
    if (p->scale == EFFACE_SCALE_STANDARD) {
        make_standard_grid(m, rows);
        return;
    }
    if (p->scale == EFFACE_SCALE_NONE) {
        double largest = 0.0;
        for (size_t i = 0; i < rows->n * rows->d; i++)
            if (fabs((double)rows->values[i]) > largest)
                largest = fabs((double)rows->values[i]);
        m->exponent = smallest_exponent(p->bound > 0.0 ? p->bound : largest);
        for (uint32_t j = 0; j < m->d; j++)
            m->step[j] = (float)power_of_two(23 - m->exponent);
        return;
    }
    for (uint32_t j = 0; j < m->d; j++) {
        for (size_t i = 0; i < rows->n; i++) {
            const float x = value_of(rows->values[i * m->d + j]);
            m->low[j] = i == 0 || x < m->low[j] ? x : m->low[j];
            m->high[j] = i == 0 || x > m->high[j] ? x : m->high[j];
        }
        if (p->column_min != NULL)
            m->low[j] = value_of(p->column_min[j]);
        if (p->column_max != NULL)
            m->high[j] = value_of(p->column_max[j]);
        m->step[j] = step_for(m->low[j], m->high[j]);
    }
}

/* The grid coordinate of a value: the product as float32, then rounded with halves to even. */
static int32_t snap(const oracle_model *m, uint32_t j, float x) {
    const float moved = value_of(x) - m->low[j];
    const float product = moved * m->step[j];
    const double size = fabs((double)product);
    assert(size <= GRID);
    int32_t g = (int32_t)size;
    const double rest = size - g;
    if (rest > 0.5 || (rest == 0.5 && g % 2 == 1))
        g++;
    return product < 0.0f ? -g : g;
}

static int32_t *snap_all(const oracle_model *m, size_t n, const float *values) {
    int32_t *grid = oracle_make(n * m->d, sizeof *grid);
    for (size_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m->d; j++)
            grid[i * m->d + j] = snap(m, j, values[i * m->d + j]);
    return grid;
}

static int64_t distance(uint32_t d, const int32_t *a, const int32_t *b) {
    int64_t sum = 0;
    for (uint32_t j = 0; j < d; j++) {
        const int64_t difference = (int64_t)a[j] - b[j];
        sum += difference * difference;
    }
    return sum;
}

static uint32_t nearest(const oracle_model *m, const int32_t *centroids, const int32_t *g) {
    uint32_t best = 0;
    for (uint32_t c = 1; c < m->n_clusters; c++)
        if (distance(m->d, g, centroids + (size_t)c * m->d) <
            distance(m->d, g, centroids + (size_t)best * m->d))
            best = c;
    return best;
}

/* ------------------------------------------------------------------ sections 4 and 6: races */

/* Lets row i run; `won` says whether the race has a best row yet. */
static void run(const oracle_rows *rows, size_t i, double key, int *won, oracle_win *best) {
    const uint64_t id = oracle_id(rows, i);
    if (*won && (key > best->key || (key == best->key && id > best->id)))
        return;
    *won = 1;
    best->row = i;
    best->id = id;
    best->key = key;
}

static double race_key(uint64_t r, int64_t w, int64_t u) {
    return oracle_exponential(r) / ((double)w * (double)u);
}

/* Section 4: u of each row in round l. */
static void measure(const oracle_model *m, const int32_t *grid, uint32_t l, int64_t *u) {
    for (size_t i = 0; i < m->n; i++) {
        u[i] = 1;
        for (uint32_t s = 0; s < l; s++) {
            const int64_t away = distance(m->d, grid + i * m->d, grid + m->seeds[s].row * m->d);
            u[i] = s == 0 || away < u[i] ? away : u[i];
        }
    }
}

/* The race of a slot of round l; 0 if nobody can win. */
static int race(const oracle_model *m, const oracle_rows *rows, const int64_t *u, uint32_t l,
                uint32_t slot, oracle_win *best) {
    int won = 0;
    best->cluster = l;
    for (size_t i = 0; i < m->n; i++) {
        const uint64_t r = oracle_tape(m->params.common.seed, 1, slot, oracle_id(rows, i), l);
        if (u[i] > 0)
            run(rows, i, race_key(r, oracle_weight(rows, i), u[i]), &won, best);
    }
    return won;
}

static void race_among_equals(const oracle_model *m, const oracle_rows *rows, uint32_t l,
                              oracle_win *best) {
    int won = 0;
    for (size_t i = 0; i < m->n; i++) {
        int chosen = 0;
        for (uint32_t s = 0; s < l; s++)
            chosen = chosen || m->seeds[s].row == i;
        const uint64_t r = oracle_tape(m->params.common.seed, 1, 0, oracle_id(rows, i), l);
        if (!chosen)
            run(rows, i, oracle_exponential(r), &won, best);
    }
    assert(won);
}

static uint32_t automatic_candidates(uint32_t k) {
    static const uint32_t powers_of_e[] = {3,      8,       21,      55,     149,   404,
                                           1097,   2981,    8104,    22027,  59875, 162755,
                                           442414, 1202605, 3269018, 8886111};
    uint32_t c = 2;
    for (size_t m = 0; m < 16; m++)
        c += k >= powers_of_e[m];
    return c;
}

/* Round l >= 1 of greedy seeding, in which somebody can win: every slot is run and measured. */
static void try_candidates(oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                           const int64_t *u, uint32_t l) {
    oracle_slot *slots = m->slots + (size_t)(l - 1) * m->n_slots, *best = slots;
    for (uint32_t s = 0; s < m->n_slots; s++) {
        oracle_slot *slot = &slots[s];
        race(m, rows, u, l, s, &slot->win);
        const int32_t *point = grid + slot->win.row * m->d;
        slot->point = oracle_make(m->d, sizeof *slot->point);
        memcpy(slot->point, point, m->d * sizeof *slot->point);
        for (size_t i = 0; i < m->n; i++) {
            const int64_t away = distance(m->d, grid + i * m->d, point);
            slot->potential += (i128)oracle_weight(rows, i) * (away < u[i] ? away : u[i]);
        }
        if (slot->potential < best->potential)
            best = slot;
    }
    m->seeds[l] = best->win;
    m->n_rounds = l;
}

static void choose_seeds(oracle_model *m, const oracle_rows *rows, const int32_t *grid) {
    int64_t *u = oracle_make(m->n, sizeof *u);
    m->n_slots =
        m->params.candidates == 0 ? automatic_candidates(m->n_clusters) : m->params.candidates;
    m->slots = oracle_make((size_t)m->n_clusters * m->n_slots, sizeof *m->slots);
    for (uint32_t l = 0; l < m->n_clusters; l++) {
        measure(m, grid, l, u);
        if (!race(m, rows, u, l, 0, &m->seeds[l]))
            race_among_equals(m, rows, l, &m->seeds[l]);
        else if (l > 0 && m->n_slots > 1)
            try_candidates(m, rows, grid, u, l);
    }
    free(u);
}

/* The row that cluster c of the level after t starts again at; 0 if there is none. */
static int reseed(const oracle_model *m, const oracle_rows *rows, const int32_t *grid, uint32_t t,
                  uint32_t c, oracle_win *best) {
    const oracle_level *level = &m->levels[t];
    int won = 0;
    for (size_t i = 0; i < m->n; i++) {
        const int64_t u =
            distance(m->d, grid + i * m->d, level->centroids + (size_t)level->labels[i] * m->d);
        int taken = 0;
        for (uint32_t before = 0; before < level->n_reseeded; before++)
            taken = taken || level->reseeded[before].row == i;
        const uint64_t r = oracle_tape(m->params.common.seed, 2, c, oracle_id(rows, i), t + 1);
        if (u > 0 && !taken)
            run(rows, i, race_key(r, oracle_weight(rows, i), u), &won, best);
    }
    best->cluster = c;
    return won;
}

/* Records the rows that empty clusters of level t start again at. */
static void reseed_all(const oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                       uint32_t t) {
    oracle_level *level = &m->levels[t];
    oracle_win win = {0};
    for (uint32_t c = 0; c < m->n_clusters; c++)
        if (level->counts[c] == 0 && m->params.empty == EFFACE_EMPTY_RESEED &&
            reseed(m, rows, grid, t, c, &win))
            level->reseeded[level->n_reseeded++] = win;
}

/* ------------------------------------------------------------------ sections 5 and 6: levels */

static void make_partition(const oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                           oracle_level *level) {
    level->has_partition = 1;
    level->labels = oracle_make(m->n, sizeof *level->labels);
    level->counts = oracle_make(m->n_clusters, sizeof *level->counts);
    level->sums = oracle_make((size_t)m->n_clusters * m->d, sizeof *level->sums);
    level->reseeded = oracle_make(m->n_clusters, sizeof *level->reseeded);
    level->loss = 0;
    for (size_t i = 0; i < m->n; i++) {
        const int32_t *g = grid + i * m->d;
        const uint32_t c = nearest(m, level->centroids, g);
        const int64_t w = oracle_weight(rows, i);
        level->labels[i] = c;
        level->counts[c] += w;
        for (uint32_t j = 0; j < m->d; j++)
            level->sums[(size_t)c * m->d + j] += w * g[j];
        /* What the formula of section 5 comes to, said more plainly. */
        level->loss += (i128)w * distance(m->d, g, level->centroids + (size_t)c * m->d);
    }
}

static int32_t round_to_lattice(const oracle_model *m, uint32_t j, uint32_t t, i128 num, i128 den) {
    const uint64_t r = oracle_tape(m->params.common.seed, 3, 0, j, t);
    const i128 theta = (i128)(((u128)r * m->eps) >> 64);
    const i128 point = theta + m->eps * round_quotient(num - theta * den, m->eps * den);
    return (int32_t)(point > GRID ? GRID : point < -GRID ? -GRID : point);
}

static int32_t *next_centroids(const oracle_model *m, const int32_t *grid, uint32_t t) {
    const oracle_level *level = &m->levels[t];
    const i128 part = (i128)65536 * m->n_clusters;   /* 2^16 k' */
    const i128 least = (i128)m->q * m->total_weight; /* 0 for lloyd and pyramid */
    int32_t *next = oracle_make((size_t)m->n_clusters * m->d, sizeof *next);
    for (uint32_t c = 0; c < m->n_clusters; c++) {
        const int64_t n_c = level->counts[c];
        const int32_t *again = NULL;
        for (uint32_t i = 0; i < level->n_reseeded; i++)
            if (level->reseeded[i].cluster == c)
                again = grid + level->reseeded[i].row * m->d;
        for (uint32_t j = 0; j < m->d; j++) {
            const size_t at = (size_t)c * m->d + j;
            const i128 sum = level->sums[at], old = level->centroids[at];
            i128 num = sum, den = n_c;
            if (n_c == 0) {
                num = again != NULL ? again[j] : old;
                den = 1;
            } else if (n_c * part < least) {
                num = part * sum + (least - part * n_c) * old;
                den = least;
            }
            next[at] = m->params.method == EFFACE_METHOD_QUANTIZED
                           ? round_to_lattice(m, j, t + 1, num, den)
                           : (int32_t)round_quotient(num, den);
        }
    }
    return next;
}

static size_t size_of_centroids(const oracle_model *m) {
    return (size_t)m->n_clusters * m->d * sizeof(int32_t);
}

static int32_t *seed_centroids(const oracle_model *m, const int32_t *grid) {
    int32_t *centroids = oracle_make((size_t)m->n_clusters * m->d, sizeof *centroids);
    for (uint32_t l = 0; l < m->n_clusters; l++)
        memcpy(centroids + (size_t)l * m->d, grid + m->seeds[l].row * m->d,
               m->d * sizeof *centroids);
    return centroids;
}

static oracle_level *add_level(oracle_model *m, int32_t *centroids) {
    oracle_level *levels = oracle_make(m->n_levels + 1, sizeof *levels);
    if (m->n_levels > 0)
        memcpy(levels, m->levels, m->n_levels * sizeof *levels);
    free(m->levels);
    m->levels = levels;
    m->model_level = m->n_levels++;
    levels[m->model_level].centroids = centroids;
    return &levels[m->model_level];
}

/* Section 5 from C[0] on, with `limit` in the place of T; pyramid's passes are lloyd's. */
static void make_levels(oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                        int32_t *centroids, uint32_t limit) {
    const int lloyd = m->params.method != EFFACE_METHOD_QUANTIZED;
    for (uint32_t t = 0;; t++) {
        oracle_level *level = add_level(m, centroids);
        if (lloyd && t == limit)
            return;
        make_partition(m, rows, grid, level);
        if (!lloyd && t > 0 && level->loss >= m->levels[t - 1].loss) {
            m->model_level = t - 1;
            return;
        }
        if (t == limit)
            return;
        reseed_all(m, rows, grid, t);
        centroids = next_centroids(m, grid, t);
        if (memcmp(centroids, level->centroids, size_of_centroids(m)) == 0) {
            free(centroids);
            return;
        }
    }
}

/* Section 6, "Lattice width". */
static uint32_t lattice_width(const oracle_model *m) {
    if (m->params.epsilon > 0.0) {
        const double width = m->params.epsilon * 8388608.0;
        const int64_t eps = width >= GRID ? GRID : round_positive(width);
        return (uint32_t)(eps < 1 ? 1 : eps);
    }
    const double n = (double)m->n, k = m->n_clusters, d = m->d;
    int r = -23;
    for (; r < 0; r++) {
        double power = 1.0;
        const int exponent = 2 * (r + 3) + 1;
        for (int i = 0; i < abs(exponent); i++)
            power = power * 10.0;
        if (exponent > 0 ? n * n * power > k * k * d * d * d : n * n > k * k * d * d * d * power)
            break;
    }
    return 1u << (23 + r);
}

/* ------------------------------------------------------------------ section 7: pyramid */

efface_kmeans_params oracle_with_grid(const oracle_model *m) {
    efface_kmeans_params params = m->params;
    params.bound = power_of_two(m->exponent);
    params.column_min = m->low;
    params.column_max = m->params.scale == EFFACE_SCALE_STANDARD ? m->step : m->high;
    return params;
}

oracle_model *oracle_fit_part(const oracle_rows *rows, const unsigned char *wanted,
                              const int64_t *own, const efface_kmeans_params *params) {
    float *values = oracle_make(rows->n * rows->d, sizeof *values);
    uint64_t *ids = oracle_make(rows->n, sizeof *ids);
    int64_t *weights = oracle_make(rows->n, sizeof *weights);
    oracle_rows part = {0, rows->d, values, ids, weights};
    for (size_t i = 0; i < rows->n; i++)
        if (wanted[i]) {
            memcpy(values + part.n * part.d, rows->values + i * part.d, part.d * sizeof *values);
            ids[part.n] = oracle_id(rows, i);
            weights[part.n] = own != NULL ? own[i] : oracle_weight(rows, i);
            part.n++;
        }
    oracle_model *model = part.n > 0 ? oracle_fit(&part, params) : NULL;
    free(values);
    free(ids);
    free(weights);
    return model;
}

/* e(x): the smallest integer e with x <= 2^e. */
static uint32_t ceiling_of_log(u128 x) {
    uint32_t e = 0;
    while (((u128)1 << e) < x)
        e++;
    return e;
}

/* m; 0 if no sample pays. */
static uint64_t wanted_rows(const oracle_model *m) {
    const uint64_t n = m->n, k = m->n_clusters;
    if (m->params.pyramid.rate > 0.0) {
        uint32_t j = 0;
        while (j < 40 && m->params.pyramid.rate <= power_of_two(-(int)j - 1))
            j++;
        const uint64_t rows = (UINT64_C(1) << ceiling_of_log(n)) >> j;
        const uint64_t most = rows > k ? rows : k;
        return most < n ? most : n;
    }
    uint64_t part = 1;
    while (2 * part <= n)
        part *= 2;
    if (part / 16 < 48 * k)
        return 0;
    part /= 32;
    return part < 48 * k ? 48 * k : part > 75 * k ? 75 * k : part;
}

/* Section 7, "Pilot": seeds of all rows, and what lies around them. */
static void make_pilot(oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                       uint32_t *base) {
    efface_kmeans_params params = m->params;
    m->params.candidates = 1;
    choose_seeds(m, rows, grid);
    m->params.candidates = params.candidates;
    const int32_t *points = m->pilot_points = seed_centroids(m, grid);
    int64_t *u = oracle_make(m->n, sizeof *u);
    m->pilot_labels = oracle_make(m->n, sizeof *m->pilot_labels);
    m->pilot_counts = oracle_make(m->n_clusters, sizeof *m->pilot_counts);
    for (size_t i = 0; i < m->n; i++) {
        const uint32_t c = nearest(m, points, grid + i * m->d);
        u[i] = distance(m->d, grid + i * m->d, points + (size_t)c * m->d);
        m->pilot_labels[i] = c;
        m->pilot_counts[c] += oracle_weight(rows, i);
        if (u[i] > 0)
            m->spread += (i128)1 << ceiling_of_log((u128)oracle_weight(rows, i) * (u128)u[i]);
    }
    for (size_t i = 0; i < m->n; i++) {
        const i128 w = oracle_weight(rows, i);
        base[i] = ceiling_of_log(m->n_clusters) +
                  ceiling_of_log((u128)m->pilot_counts[m->pilot_labels[i]]) -
                  ceiling_of_log((u128)w);
        const uint32_t far = ceiling_of_log((u128)m->spread) - ceiling_of_log((u128)(w * u[i]));
        if (u[i] > 0 && far < base[i])
            base[i] = far;
    }
    free(u);
}

static uint32_t need_of(const oracle_model *m, uint64_t id, uint32_t base) {
    const uint64_t r = oracle_tape(m->params.common.seed, 6, 0, id, 0);
    uint32_t zeros = 0;
    while (zeros < 64 && (r >> (63 - zeros)) == 0)
        zeros++;
    return base > zeros ? base - zeros : 0;
}

/* Gives the rows with a need up to `shift` their weights, the others 0, cut down to what sums can
 * hold. Returns what they add up to before that. */
static i128 weigh(const oracle_model *m, const oracle_rows *rows, const uint32_t *base,
                  uint32_t shift, int64_t *weights) {
    i128 total = 0;
    for (size_t i = 0; i < m->n; i++)
        if (need_of(m, oracle_id(rows, i), base[i]) <= shift)
            total += (i128)oracle_weight(rows, i) << (base[i] > shift ? base[i] - shift : 0);
    uint32_t cut = 0;
    while (total >= (i128)1 << 40 && total >> cut >= (i128)1 << 39)
        cut++;
    for (size_t i = 0; i < m->n; i++) {
        weights[i] = 0;
        if (need_of(m, oracle_id(rows, i), base[i]) > shift)
            continue;
        const i128 whole = (i128)oracle_weight(rows, i) << (base[i] > shift ? base[i] - shift : 0);
        weights[i] = whole >> cut > 0 ? (int64_t)(whole >> cut) : 1;
    }
    return total;
}

/* The weights of the rows of the sample and of the jury; 0 for the others. */
static void choose_sample(oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                          int64_t *sample, int64_t *jury) {
    uint32_t *base = oracle_make(m->n, sizeof *base);
    make_pilot(m, rows, grid, base);
    while (m->n_in_sample < m->wanted) {
        m->n_within = m->n_in_sample;
        m->n_in_sample = 0;
        for (size_t i = 0; i < m->n; i++)
            m->n_in_sample += need_of(m, oracle_id(rows, i), base[i]) <= m->shift;
        m->shift++;
    }
    m->shift--;
    weigh(m, rows, base, m->shift, sample);
    m->jury_weight = weigh(m, rows, base, m->shift + 1, jury);
    free(base);
}

/* The loss of a start over the jury. */
static i128 judge(const oracle_model *m, const oracle_model *start, const int32_t *grid,
                  const int64_t *jury) {
    const int32_t *a = oracle_centroids(start);
    i128 loss = 0;
    for (size_t i = 0; i < m->n; i++) {
        const int32_t *g = grid + i * m->d;
        loss += (i128)jury[i] * distance(m->d, g, a + (size_t)nearest(m, a, g) * m->d);
    }
    return loss;
}

static void run_starts(oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                       const int64_t *sample, const int64_t *jury) {
    efface_kmeans_params params = oracle_with_grid(m);
    unsigned char *in_sample = oracle_make(m->n, sizeof *in_sample);
    for (size_t i = 0; i < m->n; i++)
        in_sample[i] = sample[i] > 0;
    params.method = EFFACE_METHOD_LLOYD;
    m->n_starts = m->params.pyramid.starts;
    m->starts = oracle_make(m->n_starts, sizeof(oracle_model *));
    m->losses = oracle_make(m->n_starts, sizeof *m->losses);
    for (uint32_t r = 0; r < m->n_starts; r++) {
        params.common.seed = oracle_tape(m->params.common.seed, 8, 0, r, 0);
        m->starts[r] = oracle_fit_part(rows, in_sample, sample, &params);
        assert(m->starts[r]->n_clusters == m->n_clusters);
        m->losses[r] = judge(m, m->starts[r], grid, jury);
        if (m->losses[r] < m->losses[m->chosen])
            m->chosen = r;
    }
    free(in_sample);
}

static void make_pyramid(oracle_model *m, const oracle_rows *rows, const int32_t *grid) {
    int64_t *sample = oracle_make(m->n, sizeof *sample), *jury = oracle_make(m->n, sizeof *jury);
    choose_sample(m, rows, grid, sample, jury);
    run_starts(m, rows, grid, sample, jury);
    const oracle_model *start = m->starts[m->chosen];
    int32_t *centroids = oracle_make((size_t)m->n_clusters * m->d, sizeof *centroids);
    memcpy(centroids, start->levels[start->model_level].centroids, size_of_centroids(m));
    for (uint32_t c = 0; m->eps > 0 && c < m->n_clusters; c++)
        for (uint32_t j = 0; j < m->d; j++) {
            int32_t *at = &centroids[(size_t)c * m->d + j];
            *at = round_to_lattice(m, j, 0, *at, 1);
        }
    make_levels(m, rows, grid, centroids, m->params.pyramid.passes);
    free(sample);
    free(jury);
}

/* ------------------------------------------------------------------ a model */

static void make_model(oracle_model *m, const oracle_rows *rows) {
    int32_t *grid = snap_all(m, m->n, rows->values);
    m->limit = m->params.iterations == 0 ? 1000 : m->params.iterations;
    m->n_clusters = m->n < m->params.n_clusters ? (uint32_t)m->n : m->params.n_clusters;
    m->seeds = oracle_make(m->n_clusters, sizeof *m->seeds);
    if (m->params.method == EFFACE_METHOD_PYRAMID)
        m->wanted = wanted_rows(m);
    if (m->params.method == EFFACE_METHOD_PYRAMID && m->wanted == 0)
        m->params.method = EFFACE_METHOD_LLOYD;
    const efface_method method = m->params.method;
    for (size_t i = 0; i < m->n; i++)
        for (uint32_t j = 0; j < m->d; j++) {
            const int64_t g = grid[i * m->d + j];
            m->sum_of_squares += (i128)oracle_weight(rows, i) * (g * g);
        }
    if (method == EFFACE_METHOD_QUANTIZED)
        m->q = (uint32_t)round_positive(m->params.quantized.gamma * 65536.0);
    if (method == EFFACE_METHOD_QUANTIZED ||
        (method == EFFACE_METHOD_PYRAMID && m->params.epsilon > 0.0))
        m->eps = lattice_width(m);
    if (method == EFFACE_METHOD_PYRAMID) {
        make_pyramid(m, rows, grid);
    } else if (m->n > 0) {
        choose_seeds(m, rows, grid);
        make_levels(m, rows, grid, seed_centroids(m, grid), m->limit);
    }
    free(grid);
}

oracle_model *oracle_fit(const oracle_rows *rows, const efface_kmeans_params *params) {
    oracle_model *m = oracle_make(1, sizeof *m);
    m->params = *params;
    if (params->method == EFFACE_METHOD_TREE && params->tree.height == 0)
        m->params.method = params->tree.leaf_method;
    m->n = rows->n;
    m->d = rows->d;
    for (size_t i = 0; i < m->n; i++)
        m->total_weight += oracle_weight(rows, i);
    m->low = oracle_make(m->d, sizeof *m->low);
    m->high = oracle_make(m->d, sizeof *m->high);
    m->step = oracle_make(m->d, sizeof *m->step);
    make_grid(m, rows);
    if (m->params.method == EFFACE_METHOD_TREE)
        oracle_grow_tree(m, rows);
    else
        make_model(m, rows);
    return m;
}

void oracle_free(oracle_model *m) {
    if (m == NULL)
        return;
    for (uint32_t t = 0; t < m->n_levels; t++) {
        free(m->levels[t].centroids);
        free(m->levels[t].labels);
        free(m->levels[t].counts);
        free(m->levels[t].sums);
        free(m->levels[t].reseeded);
    }
    for (uint32_t r = 0; r < m->n_starts; r++)
        oracle_free(m->starts[r]);
    free(m->losses);
    free(m->pilot_labels);
    free(m->pilot_counts);
    free(m->pilot_points);
    oracle_free_tree(m->tree);
    free(m->starts);
    free(m->levels);
    free(m->seeds);
    for (size_t i = 0; i < (size_t)m->n_rounds * m->n_slots; i++)
        free(m->slots[i].point);
    free(m->slots);
    free(m->low);
    free(m->high);
    free(m->step);
    free(m->exponents);
    free(m->sums);
    free(m->squares);
    free(m);
}

const int32_t *oracle_centroids(const oracle_model *m) {
    const oracle_model *from = m->tree != NULL ? m->tree->nodes[0][0] : m;
    return from->levels[from->model_level].centroids;
}

void oracle_predict(const oracle_model *m, size_t n, const float *values, uint32_t *labels) {
    int32_t *grid = snap_all(m, n, values);
    for (size_t i = 0; i < n; i++)
        labels[i] = nearest(m, oracle_centroids(m), grid + i * m->d);
    free(grid);
}

void oracle_divide(const oracle_model *m, size_t n, const float *values, uint32_t *labels) {
    const oracle_model *const from = m->tree != NULL ? m->tree->nodes[0][0] : m;
    const uint32_t last = from->model_level;
    const uint32_t t = from->levels[last].has_partition ? last : last - 1;
    int32_t *grid = snap_all(m, n, values);
    for (size_t i = 0; i < n; i++)
        labels[i] = nearest(m, from->levels[t].centroids, grid + i * m->d);
    free(grid);
}

oracle_i128 oracle_loss(const oracle_model *m, const oracle_rows *rows) {
    int32_t *grid = snap_all(m, rows->n, rows->values);
    const int32_t *centroids = oracle_centroids(m);
    i128 loss = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const int32_t *g = grid + i * m->d;
        const uint32_t c = nearest(m, centroids, g);
        loss += (i128)oracle_weight(rows, i) * distance(m->d, g, centroids + (size_t)c * m->d);
    }
    free(grid);
    return loss;
}

double oracle_loss_in_units(const oracle_model *m, const oracle_rows *rows) {
    return (double)oracle_loss(m, rows) * power_of_two(2 * (m->exponent - 23));
}
