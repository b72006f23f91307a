/* The oracle. Sections named in comments are those of docs/numerics.md. */
#include "oracle/oracle.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRID 8388608 /* 2^23 steps */

typedef oracle_i128 i128;
__extension__ typedef unsigned __int128 u128;

static void *make(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    if (p == NULL) {
        fputs("oracle: out of memory\n", stderr);
        exit(2);
    }
    return p;
}

static uint64_t id_of(const oracle_rows *rows, size_t i) {
    return rows->ids != NULL ? rows->ids[i] : (uint64_t)i;
}

static int64_t weight_of(const oracle_rows *rows, size_t i) {
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

static uint64_t tape(uint64_t seed, uint32_t purpose, uint32_t sub, uint64_t index, uint32_t step) {
    const uint32_t counter[4] = {(uint32_t)(index & 0xFFFFFFFFu), (uint32_t)(index >> 32), step,
                                 purpose + 256u * sub};
    const uint32_t key[2] = {(uint32_t)(seed & 0xFFFFFFFFu), (uint32_t)(seed >> 32)};
    uint32_t word[4];
    oracle_philox(counter, key, word);
    return ((uint64_t)word[1] << 32) + word[0];
}

/* The definition's logarithm, restated: a changed operation in src/base/tape.c must not go
 * unnoticed because both sides changed. 2 artanh(s) is cut after s^21; log 2 has two parts. */
static double natural_log(double x) {
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
    return -natural_log(1.0 - v);
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

static void make_grid(oracle_model *m, const oracle_rows *rows) {
    const efface_kmeans_params *p = &m->params;
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
    int32_t *grid = make(n * m->d, sizeof *grid);
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

/* ------------------------------------------------------------------ section 7: the sample */

static int takes_part(const oracle_model *m, uint64_t id, uint32_t j) {
    return j == 0 || tape(m->params.seed, 6, 0, id, 0) < UINT64_C(1) << (64 - j);
}

static uint32_t asked_exponent(const oracle_model *m) {
    const u128 n = m->n, rows = 150 * (u128)m->n_clusters;
    u128 largest = 2 * rows * rows; /* of n^2 at the exponent j; stays below 2^83 */
    uint32_t j = 0;
    if (m->params.rate > 0.0)
        while (j < 40 && m->params.rate <= power_of_two(-(int)j - 1))
            j++;
    else
        for (; j < 40 && n * n > largest; j++)
            largest *= 4;
    return j;
}

static void choose_sample(oracle_model *m, const oracle_rows *rows) {
    m->asked_exponent = asked_exponent(m);
    for (uint32_t j = m->asked_exponent;; j--) {
        m->sample_exponent = j;
        m->n_in_sample = 0;
        for (size_t i = 0; i < m->n; i++) {
            m->in_sample[i] = (unsigned char)takes_part(m, id_of(rows, i), j);
            m->n_in_sample += m->in_sample[i];
        }
        if (m->n_in_sample >= m->n_clusters)
            return;
    }
}

/* ------------------------------------------------------------------ sections 4 and 6: races */

/* Lets row i run; `won` says whether the race has a best row yet. */
static void run(const oracle_rows *rows, size_t i, double key, int *won, oracle_win *best) {
    const uint64_t id = id_of(rows, i);
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

static void choose_seeds(oracle_model *m, const oracle_rows *rows, const int32_t *grid) {
    for (uint32_t l = 0; l < m->n_clusters; l++) {
        oracle_win *seed = &m->seeds[l];
        int won = 0;
        seed->cluster = l;
        for (size_t i = 0; i < m->n; i++) {
            if (!m->in_sample[i])
                continue;
            int64_t u = 1;
            for (uint32_t s = 0; s < l; s++) {
                const int64_t away = distance(m->d, grid + i * m->d, grid + m->seeds[s].row * m->d);
                u = s == 0 || away < u ? away : u;
            }
            const uint64_t r = tape(m->params.seed, 1, 0, id_of(rows, i), l);
            if (u > 0)
                run(rows, i, race_key(r, weight_of(rows, i), u), &won, seed);
        }
        if (won)
            continue;
        for (size_t i = 0; i < m->n; i++) {
            int chosen = 0;
            for (uint32_t s = 0; s < l; s++)
                chosen = chosen || m->seeds[s].row == i;
            const uint64_t r = tape(m->params.seed, 1, 0, id_of(rows, i), l);
            if (m->in_sample[i] && !chosen)
                run(rows, i, oracle_exponential(r), &won, seed);
        }
        assert(won);
    }
}

/* The row that cluster c of the level after t starts again at; 0 if there is none. */
static int reseed(const oracle_model *m, const oracle_rows *rows, const int32_t *grid, uint32_t t,
                  uint32_t c, oracle_win *best) {
    const oracle_level *level = &m->levels[t];
    int won = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (level->sampled && !m->in_sample[i])
            continue;
        const int64_t u =
            distance(m->d, grid + i * m->d, level->centroids + (size_t)level->labels[i] * m->d);
        int taken = 0;
        for (uint32_t before = 0; before < level->n_reseeded; before++)
            taken = taken || level->reseeded[before].row == i;
        const uint64_t r = tape(m->params.seed, 2, c, id_of(rows, i), t + 1);
        if (u > 0 && !taken)
            run(rows, i, race_key(r, weight_of(rows, i), u), &won, best);
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

/* ------------------------------------------------------------------ sections 5 to 7: levels */

static void make_partition(const oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                           oracle_level *level) {
    level->has_partition = 1;
    level->labels = make(m->n, sizeof *level->labels);
    level->counts = make(m->n_clusters, sizeof *level->counts);
    level->sums = make((size_t)m->n_clusters * m->d, sizeof *level->sums);
    level->reseeded = make(m->n_clusters, sizeof *level->reseeded);
    level->loss = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (level->sampled && !m->in_sample[i])
            continue;
        const int32_t *g = grid + i * m->d;
        const uint32_t c = nearest(m, level->centroids, g);
        const int64_t w = weight_of(rows, i);
        level->labels[i] = c;
        level->counts[c] += w;
        for (uint32_t j = 0; j < m->d; j++)
            level->sums[(size_t)c * m->d + j] += w * g[j];
        /* What the formula of section 5 comes to, said more plainly. */
        level->loss += (i128)w * distance(m->d, g, level->centroids + (size_t)c * m->d);
    }
}

static int32_t round_to_lattice(const oracle_model *m, uint32_t j, uint32_t t, i128 num, i128 den) {
    const uint64_t r = tape(m->params.seed, 3, 0, j, t);
    const i128 theta = (i128)(((u128)r * m->eps) >> 64);
    const i128 point = theta + m->eps * round_quotient(num - theta * den, m->eps * den);
    return (int32_t)(point > GRID ? GRID : point < -GRID ? -GRID : point);
}

static int32_t *next_centroids(const oracle_model *m, const int32_t *grid, uint32_t t,
                               int on_lattice) {
    const oracle_level *level = &m->levels[t];
    const i128 part = (i128)65536 * m->n_clusters;   /* 2^16 k' */
    const i128 least = (i128)m->q * m->total_weight; /* 0 for lloyd and pyramid */
    int32_t *next = make((size_t)m->n_clusters * m->d, sizeof *next);
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
            next[at] = on_lattice ? round_to_lattice(m, j, t + 1, num, den)
                                  : (int32_t)round_quotient(num, den);
        }
    }
    return next;
}

static int same_centroids(const oracle_model *m, const int32_t *a, const int32_t *b) {
    return memcmp(a, b, (size_t)m->n_clusters * m->d * sizeof *a) == 0;
}

static int32_t *seed_centroids(const oracle_model *m, const int32_t *grid) {
    int32_t *centroids = make((size_t)m->n_clusters * m->d, sizeof *centroids);
    for (uint32_t l = 0; l < m->n_clusters; l++)
        memcpy(centroids + (size_t)l * m->d, grid + m->seeds[l].row * m->d,
               m->d * sizeof *centroids);
    return centroids;
}

static oracle_level *add_level(oracle_model *m, int32_t *centroids) {
    oracle_level *level = &m->levels[m->n_levels];
    level->centroids = centroids;
    m->model_level = m->n_levels;
    m->n_levels++;
    return level;
}

/* Section 5, for lloyd and quantized. */
static void make_levels(oracle_model *m, const oracle_rows *rows, const int32_t *grid) {
    const int lloyd = m->params.method == EFFACE_METHOD_LLOYD;
    int32_t *centroids = seed_centroids(m, grid);
    for (uint32_t t = 0;; t++) {
        oracle_level *level = add_level(m, centroids);
        if (lloyd && t == m->limit)
            return;
        make_partition(m, rows, grid, level);
        if (!lloyd && t > 0 && level->loss >= m->levels[t - 1].loss) {
            m->model_level = t - 1;
            return;
        }
        if (t == m->limit)
            return;
        reseed_all(m, rows, grid, t);
        centroids = next_centroids(m, grid, t, !lloyd);
        if (same_centroids(m, centroids, level->centroids)) {
            free(centroids);
            return;
        }
    }
}

/* Section 7. */
static void make_pyramid(oracle_model *m, const oracle_rows *rows, const int32_t *grid) {
    int32_t *centroids = seed_centroids(m, grid);
    uint32_t t = 0;
    for (int sampled = 1; sampled; t++) {
        oracle_level *level = add_level(m, centroids);
        level->sampled = 1;
        make_partition(m, rows, grid, level);
        reseed_all(m, rows, grid, t);
        centroids = next_centroids(m, grid, t, 0);
        sampled = t + 1 < m->limit && !same_centroids(m, centroids, level->centroids);
        if (!sampled && m->params.epsilon > 0.0) {
            free(centroids);
            centroids = next_centroids(m, grid, t, 1);
        }
    }
    for (uint32_t n_full = 0;; n_full++, t++) {
        oracle_level *level = add_level(m, centroids);
        if (n_full == m->params.passes)
            return;
        make_partition(m, rows, grid, level);
        reseed_all(m, rows, grid, t);
        centroids = next_centroids(m, grid, t, 0);
        if (same_centroids(m, centroids, level->centroids)) {
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

/* Sum of w |g|^2, over all rows or over those of the sample. */
static i128 sum_of_squares(const oracle_model *m, const oracle_rows *rows, const int32_t *grid,
                           int sampled) {
    i128 sum = 0;
    for (size_t i = 0; i < m->n; i++)
        for (uint32_t j = 0; j < m->d; j++)
            if (!sampled || m->in_sample[i])
                sum +=
                    (i128)weight_of(rows, i) * ((int64_t)grid[i * m->d + j] * grid[i * m->d + j]);
    return sum;
}

oracle_model *oracle_fit(const oracle_rows *rows, const efface_kmeans_params *params) {
    const int pyramid = params->method == EFFACE_METHOD_PYRAMID;
    oracle_model *m = make(1, sizeof *m);
    m->params = *params;
    m->n = rows->n;
    m->d = rows->d;
    m->limit = params->iterations == 0 ? 1000 : params->iterations;
    m->n_clusters = rows->n < params->n_clusters ? (uint32_t)rows->n : params->n_clusters;
    m->low = make(m->d, sizeof *m->low);
    m->high = make(m->d, sizeof *m->high);
    m->step = make(m->d, sizeof *m->step);
    m->seeds = make(m->n_clusters, sizeof *m->seeds);
    m->levels = make((size_t)m->limit + 1 + (pyramid ? params->passes : 0), sizeof *m->levels);
    if (params->method == EFFACE_METHOD_QUANTIZED)
        m->q = (uint32_t)round_positive(params->gamma * 65536.0);
    if (params->method == EFFACE_METHOD_QUANTIZED || (pyramid && params->epsilon > 0.0))
        m->eps = lattice_width(m);
    m->in_sample = make(m->n, sizeof *m->in_sample);
    memset(m->in_sample, 1, m->n);
    m->n_in_sample = m->n;
    if (pyramid)
        choose_sample(m, rows);
    make_grid(m, rows);
    int32_t *grid = snap_all(m, m->n, rows->values);
    for (size_t i = 0; i < m->n; i++)
        m->total_weight += weight_of(rows, i);
    m->sum_of_squares = sum_of_squares(m, rows, grid, 0);
    m->sample_sum_of_squares = sum_of_squares(m, rows, grid, 1);
    if (m->n > 0) {
        choose_seeds(m, rows, grid);
        if (pyramid)
            make_pyramid(m, rows, grid);
        else
            make_levels(m, rows, grid);
    }
    free(grid);
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
    free(m->levels);
    free(m->seeds);
    free(m->in_sample);
    free(m->low);
    free(m->high);
    free(m->step);
    free(m);
}

void oracle_predict(const oracle_model *m, size_t n, const float *values, uint32_t *labels) {
    int32_t *grid = snap_all(m, n, values);
    for (size_t i = 0; i < n; i++)
        labels[i] = nearest(m, m->levels[m->model_level].centroids, grid + i * m->d);
    free(grid);
}

oracle_i128 oracle_loss(const oracle_model *m, const oracle_rows *rows) {
    int32_t *grid = snap_all(m, rows->n, rows->values);
    const int32_t *centroids = m->levels[m->model_level].centroids;
    i128 loss = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const int32_t *g = grid + i * m->d;
        const uint32_t c = nearest(m, centroids, g);
        loss += (i128)weight_of(rows, i) * distance(m->d, g, centroids + (size_t)c * m->d);
    }
    free(grid);
    return loss;
}

double oracle_loss_in_units(const oracle_model *m, const oracle_rows *rows) {
    return (double)oracle_loss(m, rows) * power_of_two(2 * (m->exponent - 23));
}

/* ------------------------------------------------------------------ docs/format.md */

typedef struct writer {
    unsigned char *bytes; /* NULL while sizes are counted */
    size_t n;
} writer;

static void put(writer *w, u128 number, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++, w->n++)
        if (w->bytes != NULL)
            w->bytes[w->n] = (unsigned char)(number >> (8 * i) & 0xFF);
}

static void put_float(writer *w, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put(w, bits, 4);
}

static void put_win(writer *w, const oracle_win *win) {
    uint64_t bits;
    memcpy(&bits, &win->key, sizeof bits);
    put(w, win->id, 8);
    put(w, bits, 8);
}

static void write_level(const oracle_model *m, const oracle_level *level, writer *w) {
    const size_t n_coordinates = (size_t)m->n_clusters * m->d;
    if (m->params.method == EFFACE_METHOD_PYRAMID)
        put(w, level->sampled ? 1 : 0, 4);
    for (size_t i = 0; i < n_coordinates; i++)
        put(w, (u128)level->centroids[i], 4);
    put(w, level->has_partition ? 1 : 0, 4);
    if (!level->has_partition)
        return;
    for (uint32_t c = 0; c < m->n_clusters; c++)
        put(w, (u128)level->counts[c], 8);
    for (size_t i = 0; i < n_coordinates; i++)
        put(w, (u128)level->sums[i], 8);
    put(w, level->n_reseeded, 4);
    for (uint32_t i = 0; i < level->n_reseeded; i++) {
        put(w, level->reseeded[i].cluster, 4);
        put_win(w, &level->reseeded[i]);
    }
}

static void write_all(const oracle_model *m, writer *w) {
    const efface_method method = m->params.method;
    for (const char *c = "EFFACEKM"; *c != '\0'; c++)
        put(w, (unsigned char)*c, 1);
    put(w, 1, 4);
    put(w, method == EFFACE_METHOD_LLOYD ? 0 : method == EFFACE_METHOD_QUANTIZED ? 1 : 2, 4);
    put(w, m->d, 4);
    put(w, m->params.n_clusters, 4);
    put(w, m->limit, 4);
    put(w, m->params.scale == EFFACE_SCALE_MINMAX ? 1 : 0, 4);
    put(w, m->params.empty == EFFACE_EMPTY_KEEP ? 1 : 0, 4);
    put(w, (u128)m->exponent, 4);
    put(w, m->eps, 4);
    put(w, m->q, 4);
    put(w, m->n_clusters, 4);
    put(w, m->n_levels, 4);
    put(w, m->model_level, 4);
    put(w, m->n, 8);
    put(w, (u128)m->total_weight, 8);
    put(w, (u128)m->sum_of_squares, 16);
    if (method == EFFACE_METHOD_PYRAMID) {
        put(w, m->sample_exponent, 4);
        put(w, m->params.passes, 4);
        put(w, (u128)m->sample_sum_of_squares, 16);
    }
    for (uint32_t j = 0; m->params.scale == EFFACE_SCALE_MINMAX && j < m->d; j++) {
        put_float(w, m->low[j]);
        put_float(w, m->high[j]);
    }
    for (uint32_t l = 0; l < m->n_clusters; l++)
        put_win(w, &m->seeds[l]);
    for (uint32_t t = 0; t < m->n_levels; t++)
        write_level(m, &m->levels[t], w);
}

unsigned char *oracle_encode(const oracle_model *m, size_t *n_bytes) {
    writer w = {NULL, 0};
    write_all(m, &w);
    w.bytes = make(w.n, 1);
    w.n = 0;
    write_all(m, &w);
    *n_bytes = w.n;
    return w.bytes;
}
