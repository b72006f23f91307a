/*
 * Random cases for tests that compare the library with the oracle: small sets of rows and
 * parameters, all from one number. They lean towards what goes wrong: ties, duplicates, clusters
 * without rows, values at half a grid step, rare clusters far out, weights near the limit, columns
 * that cross a block of a kernel. For tests, which include this file.
 */
#ifndef EF_TESTS_CASES_H
#define EF_TESTS_CASES_H

#include "law/case_rows.h"
#include "oracle/oracle.h"

#include <string.h>

typedef struct trial {
    oracle_rows rows; /* points into the next three; ids and weights may be NULL */
    float *values;
    uint64_t *ids;
    int64_t *weights;
    float *low, *high;
    uint32_t *depth_clusters; /* as a parameter of a tree */
    const char *kind;
    int is_large; /* and its parameters are made for that */
    efface_kmeans_params params;
} trial;

#define STANDARD_SALT UINT64_C(0x57A4DA2D)

/* One case in five has the scale standard instead. Draws nothing: others stay what they were. */
static void choose_standard(efface_kmeans_params *p) {
    if (mix(rng_state + STANDARD_SALT) % 5 != 0)
        return;
    p->scale = EFFACE_SCALE_STANDARD;
    p->bound = 0.0;
    p->column_min = p->column_max = NULL;
}

static void choose_range(trial *t) {
    efface_kmeans_params *p = &t->params;
    const uint32_t d = t->rows.d;
    double largest = 0.0;
    for (size_t i = 0; i < t->rows.n * d; i++) {
        const double x = t->values[i] < 0.0f ? -(double)t->values[i] : (double)t->values[i];
        largest = x > largest ? x : largest;
    }
    p->scale = one_in(2) ? EFFACE_SCALE_NONE : EFFACE_SCALE_MINMAX;
    if (p->scale == EFFACE_SCALE_NONE && one_in(2)) {
        const double wider = largest * (1.0 + 100.0 * unit());
        p->bound = one_in(3) ? largest : wider > 0x1p126 ? 0x1p126 : wider;
        if (one_in(4) && largest <= 1.0)
            p->bound = 1.0;
    }
    if (p->scale == EFFACE_SCALE_NONE || one_in(2))
        return;
    for (uint32_t j = 0; j < d; j++) {
        float low = t->rows.n > 0 ? t->values[j] : 0.0f, high = low;
        for (size_t i = 0; i < t->rows.n; i++) {
            const float x = t->values[i * d + j];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        if (one_in(3) && low > -0x1p100f)
            low -= one_in(2) ? 1.0f : 0x1p-60f;
        if (one_in(3) && high < 0x1p100f)
            high += one_in(2) ? 3.0f * unit() : 0x1p100f;
        t->low[j] = low; /* either zero */
        t->high[j] = high;
    }
    p->column_min = t->low;
    p->column_max = t->high;
}

static void choose_bounds(trial *t) {
    choose_range(t);
    choose_standard(&t->params);
}

/* The lattice of pyramid has no automatic width, and is mostly not used; rate, passes and starts
 * are drawn for the other methods too, which must not look at them. */
static void choose_sample(efface_kmeans_params *p) {
    static const double epsilons[] = {0.0, 0.0, 0.0, 0.0, 0.0, 1e-12, 0x1p-10, 0.25};
    static const double rates[] = {0.0, 1.0, 0.5, 0.3, 0.1, 1.0 / 64.0, 1e-9};
    static const uint32_t passes[] = {1, 1, 1, 1, 2, 3};
    p->pyramid.rate = rates[below(7)];
    p->pyramid.passes = passes[below(6)];
    p->pyramid.starts = one_in(3) ? 1 : 1 + (uint32_t)below(5);
    if (p->method == EFFACE_METHOD_PYRAMID)
        p->epsilon = epsilons[below(8)];
}

static void choose_parameters(trial *t) {
    static const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                            EFFACE_METHOD_PYRAMID};
    static const uint32_t iterations[] = {0, 1, 2, 10, 10, 10};
    static const uint32_t threads[] = {1, 2, 3, 7};
    static const double gammas[] = {0.0, 0.2, 0.5, 1.0, 1.0, 1e-9, 0.5 / 65536.0};
    static const double epsilons[] = {0.0, 0.0, 0x1p-23, 1e-12, 1.0, 4.0, 1e30, 1.5 * 0x1p-23};
    efface_kmeans_params *p = &t->params;
    const size_t n = t->rows.n;
    efface_kmeans_params_init(p);
    p->method = methods[below(3)];
    uint64_t k = one_in(3) ? 1 + below(n + 6) : one_in(3) ? n + below(3) : 1 + below(8);
    k = k < 1 ? 1 : k;
    while (k < n && (double)k * (double)k * (double)n * t->rows.d > 1e7)
        k = (k + 1) / 2;
    p->n_clusters =
        one_in(200) && n * n * n * t->rows.d < 10000000 ? EFFACE_MAX_CLUSTERS : (uint32_t)k;
    p->iterations = one_in(8) ? 1 + (uint32_t)below(30) : iterations[below(6)];
    p->common.seed = one_in(20) ? 0 : one_in(20) ? UINT64_MAX : next();
    p->empty = one_in(2) ? EFFACE_EMPTY_RESEED : EFFACE_EMPTY_KEEP;
    p->quantized.gamma = one_in(3) ? (double)unit() : gammas[below(7)];
    p->epsilon = one_in(3) ? (double)spread_out(0.0f, -23, 24) : epsilons[below(8)];
    p->common.n_threads = threads[below(4)];
    choose_sample(p);
    choose_bounds(t);
}

/* Clusters seldom lose all their rows before the run stops. They do where values have so few grid
 * steps that rounded centroids meet: rare ones among zeros for lloyd, small integers and a lattice
 * of their size for quantized, either for pyramid. The means of a few seeds' rows are the first to
 * meet, so level 1 is where clusters are empty: for pyramid in its sample, or, with one iteration
 * or a coarse lattice, where the sample is left. Rows outside of it can then win a race. */
static void let_centroids_meet(trial *t) {
    efface_kmeans_params *p = &t->params;
    const int lloyd = t->rows.d > 20;
    t->kind = lloyd ? "rare ones" : "small integers";
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = lloyd ? (float)one_in(9) : (float)below(8);
    p->method = one_in(2) ? EFFACE_METHOD_PYRAMID
                : lloyd   ? EFFACE_METHOD_LLOYD
                          : EFFACE_METHOD_QUANTIZED;
    p->n_clusters = 3 + (uint32_t)below(8);
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
    p->epsilon = (double)(3 + below(4)) * 0x1p-23;
    p->quantized.gamma = one_in(3) ? p->quantized.gamma : 0.0;
    p->iterations = 10;
    p->empty = one_in(4) ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
    t->rows.weights = one_in(4) ? t->rows.weights : NULL;
    if (p->method != EFFACE_METHOD_PYRAMID)
        return;
    p->n_clusters = 3 + (uint32_t)below(3);
    p->iterations = one_in(3) ? 10 : 1 + (uint32_t)below(2);
    p->pyramid.rate = one_in(3) ? 1.0 : one_in(2) ? 0.25 : 0.125;
    p->epsilon = p->pyramid.rate == 1.0 ? 0.0 : (double)(6 + below(8)) * 0x1p-23;
}

/* Two heavy rows c + v and c - v, which become the seeds, and rows c + w between them whose squared
 * distances, some 2^44, differ by 4 w.v: by 0 or by 4. What w has in one column it has swapped and
 * negated in the next, so that w.v is 0; the first column, where v is 1, is one step off or not. */
static void let_rows_tie(trial *t) {
    efface_kmeans_params *p = &t->params;
    const uint32_t d = t->rows.d;
    int64_t *c = make(d + 1, sizeof *c), *v = make(d + 1, sizeof *v);
    t->kind = "ties to the last bit";
    for (uint32_t j = 0; j < d; j++) {
        c[j] = (int64_t)below(1u << 22) - (1 << 21);
        v[j] = j == 0 ? 1 : (int64_t)below(1u << 22) - (1 << 21);
    }
    for (size_t i = 0; i < t->rows.n; i++) {
        float *row = t->values + i * d;
        t->weights[i] = i < 2 ? 1 << 30 : 1;
        for (uint32_t j = 0; j < d; j++)
            row[j] = (float)(c[j] + (i == 0 ? v[j] : i == 1 ? -v[j] : 0));
        if (i < 2)
            continue;
        row[0] += (float)below(3) - 1.0f;
        for (uint32_t j = 1; j + 1 < d; j += 2) {
            const int64_t side = (int64_t)below(3) - 1;
            row[j] += (float)(side * v[j + 1]);
            row[j + 1] -= (float)(side * v[j]);
        }
    }
    free(c);
    free(v);
    t->rows.weights = t->weights;
    p->n_clusters = 2;
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
}

/* So many rows for a cluster that an automatic sample pays: 1,024 and more. */
static void let_rows_crowd(trial *t) {
    t->params.method = EFFACE_METHOD_PYRAMID;
    t->params.n_clusters = 1;
    t->params.pyramid.rate = 0.0;
    t->params.epsilon = one_in(2) ? 0.0 : t->params.epsilon;
}

/* Some hundreds of rows in few clusters, and a small sample of them: most rows that come or go do
 * not move its size, and many are of the jury or of nobody. Rows at the corners of a square have
 * two pairs of clusters that are as good as each other, so that the jury is soon of another mind.
 */
static void let_rows_gather(trial *t) {
    efface_kmeans_params *p = &t->params;
    p->method = EFFACE_METHOD_PYRAMID;
    p->n_clusters = 1 + (uint32_t)below(4);
    p->pyramid.rate = scaled(1.0f, -2 - (int)below(4));
    p->pyramid.starts = 2 + (uint32_t)below(7);
    p->iterations = one_in(3) ? 10 : 1;
    if (one_in(3))
        return;
    const int square = t->rows.d == 2;
    const uint64_t range = 4 + below(40);
    t->kind = square ? "square" : "gathered";
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = (float)(below(range) + (square ? 50 * below(2) : 0));
    p->n_clusters = square ? 2 : p->n_clusters;
    p->pyramid.starts = square ? 4 + (uint32_t)below(6) : p->pyramid.starts;
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
    p->column_min = p->column_max = NULL;
    p->epsilon = one_in(4) ? (double)(1 + below(6)) * 0x1p-23 : 0.0;
}

/* Clusters for the nodes of one depth, with the same limit on the oracle's work as for k. */
static uint32_t choose_depth_clusters(const trial *t) {
    const size_t n = t->rows.n;
    const uint64_t k = t->params.n_clusters;
    uint64_t asked = one_in(3) ? 1 + below(8) : one_in(2) ? 1 + below(k) : k + below(k + 2);
    while (asked < n && (double)asked * (double)asked * (double)n * t->rows.d > 1e7)
        asked = (asked + 1) / 2;
    return asked > EFFACE_MAX_CLUSTERS ? EFFACE_MAX_CLUSTERS : (uint32_t)asked;
}

/* Turns a case into one of a tree, mostly with the case's method at its leaves, for which it may
 * have been made. There are at most 1,000 leaves, but for the case of a height at which an
 * automatic width is held back by the limit of leaves: that takes 323 rows. */
static void let_rows_branch(trial *t) {
    static const efface_method methods[] = {EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                            EFFACE_METHOD_LLOYD, EFFACE_METHOD_QUANTIZED,
                                            EFFACE_METHOD_PYRAMID};
    static const uint32_t heights[] = {0, 1, 1, 1, 1, 2, 2, 3};
    static const uint32_t widths[] = {0, 0, 1, 2, 2, 3, 4, 5, 8, 10, 31, 64};
    efface_kmeans_params *p = &t->params;
    p->tree.leaf_method = one_in(4) ? methods[below(5)] : p->method;
    p->tree.node_method = methods[below(5)];
    p->method = EFFACE_METHOD_TREE;
    p->tree.height = heights[below(8)];
    p->tree.width = widths[below(p->tree.height < 2 ? 12 : p->tree.height == 2 ? 11 : 10)];
    if (t->rows.n >= 323 && one_in(4)) {
        p->tree.height = 7;
        p->tree.width = 0;
    } else if (one_in(30)) {
        p->tree.height = 8;
        p->tree.width = 1 + (uint32_t)below(2);
    }
    p->tree.weigh_centroids = one_in(2);
    if (one_in(2))
        return;
    for (uint32_t l = 0; l < p->tree.height; l++)
        t->depth_clusters[l] = choose_depth_clusters(t);
    p->tree.depth_clusters = t->depth_clusters;
}

#define SKEWED_SALT UINT64_C(0x5CA1E5)
#define GATHER_SALT UINT64_C(0x6A7E12)

static void make_trial(uint64_t seed, trial *t) {
    static const uint32_t candidates[] = {1, 2, 0, 5};
    static const uint32_t wide[] = {63, 64, 65, 100, 128, 130};
    memset(t, 0, sizeof *t);
    rng_state = mix(seed);
    int meet = one_in(6), tie = !meet && one_in(16), crowd = !meet && !tie && one_in(40);
    const int gather = !crowd && mix(seed + GATHER_SALT) % 10 == 0; /* draws nothing, too */
    size_t n = one_in(30) ? 0 : one_in(25) ? below(301) : one_in(3) ? below(12) : below(81);
    uint32_t d = (uint32_t)(one_in(8) ? wide[below(6)] : 1 + below(one_in(3) ? 3 : 40));
    if (meet) {
        n = 40 + below(41);
        d = (uint32_t)(one_in(2) ? 24 + below(42) : 3 + below(10));
    }
    if (crowd) { /* a walk begins with most of them */
        n = 1000 + below(600);
        d = 1 + (uint32_t)below(3);
    }
    t->is_large = crowd || gather;
    if (gather) {
        meet = tie = 0;
        n = 100 + below(200);
        d = 1 + (uint32_t)below(3);
    }
    t->values = make(n * d, sizeof *t->values);
    t->ids = make(n, sizeof *t->ids);
    t->weights = make(n, sizeof *t->weights);
    t->low = make(d, sizeof *t->low);
    t->high = make(d, sizeof *t->high);
    t->depth_clusters = make(8, sizeof *t->depth_clusters);
    t->rows = (oracle_rows){.n = n, .d = d, .values = t->values};
    law_rows rows = {.n = n, .d = d, .values = t->values, .ids = t->ids, .weights = t->weights};
    fill_values(&rows);
    if (mix(seed + SKEWED_SALT) % 12 == 0) /* draws nothing: other cases stay what they were */
        fill_skewed(&rows, mix(seed));
    const given_parts has = fill_ids_and_weights(&rows);
    t->kind = rows.kind;
    t->rows.ids = has.ids ? t->ids : NULL;
    t->rows.weights = has.weights ? t->weights : NULL;
    choose_parameters(t);
    if (meet)
        let_centroids_meet(t);
    if (tie)
        let_rows_tie(t);
    if (crowd)
        let_rows_crowd(t);
    if (gather)
        let_rows_gather(t);
    /* Clusters go empty where seeds are chosen badly. */
    t->params.candidates = meet && !one_in(4) ? 1 : candidates[below(4)];
}

/* The same rows, as a case of a tree. */
static inline void make_tree_trial(uint64_t seed, trial *t) {
    make_trial(seed, t);
    let_rows_branch(t);
}

/* Lloyd, or the starts of pyramid, with many clusters and many levels, so that margins tell which
 * rows to look at: rows all over a cube, which the columns show again and again, some at the same
 * place. */
static inline void make_trial_of_many(uint64_t seed, trial *t) {
    memset(t, 0, sizeof *t);
    rng_state = mix(seed);
    const size_t n = 700 + below(900);
    const uint32_t d = 26 + (uint32_t)below(50);
    efface_kmeans_params *p = &t->params;
    t->kind = "a cube";
    t->values = make(n * d, sizeof *t->values);
    t->ids = make(n, sizeof *t->ids);
    t->weights = make(n, sizeof *t->weights);
    t->low = make(d, sizeof *t->low);
    t->high = make(d, sizeof *t->high);
    for (size_t i = 0; i < n; i++) {
        const float at[3] = {unit(), unit(), unit()};
        const size_t same = i != 0 && one_in(10) ? below(i) : i;
        for (uint32_t j = 0; j < d; j++)
            t->values[i * d + j] = same != i ? t->values[same * d + j] : at[j % 3] + 0.1f * unit();
        t->ids[i] = i;
        t->weights[i] = 1 + (int64_t)below(3);
    }
    t->rows = (oracle_rows){.n = n, .d = d, .values = t->values};
    t->rows.weights = one_in(2) ? t->weights : NULL;
    efface_kmeans_params_init(p);
    p->method = seed % 2 == 0 ? EFFACE_METHOD_LLOYD : EFFACE_METHOD_PYRAMID;
    p->pyramid.rate = 0.1 + 0.4 * unit();
    p->pyramid.starts = 7;
    p->n_clusters = 40 + (uint32_t)below(30);
    p->iterations = one_in(2) ? 0 : 16 + (uint32_t)below(30);
    p->candidates = one_in(2) ? 1 : 0;
    p->common.seed = next();
    p->common.n_threads = 1 + (uint32_t)below(3);
    choose_bounds(t);
}

static void free_trial(trial *t) {
    free(t->values);
    free(t->ids);
    free(t->weights);
    free(t->low);
    free(t->high);
    free(t->depth_clusters);
}

#endif
