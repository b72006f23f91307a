/*
 * The library against the oracle: thousands of random small sets, every one fitted by both and
 * compared as canonical bytes, then labels and losses.
 *
 *     EFFACE_TEST_CASES=100000   how many cases (default 3,000)
 *     EFFACE_TEST_SEED=0x...     only the case with this seed, as a failure prints it
 *
 * The cases lean towards what goes wrong: ties, duplicates, clusters without rows, values at half a
 * grid step, weights near the limit, columns that cross a block of a kernel. The test counts how
 * often the rare paths of the definition were taken and fails if one was not.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "efface/efface.h"
#include "oracle/difference.h"
#include "oracle/oracle.h"

#define FIRST_SEED UINT64_C(0x5EED0000)
#define DEFAULT_CASES 3000ul

/* ------------------------------------------------------------------ random cases */

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t rng_state;

static uint64_t next(void) {
    rng_state += UINT64_C(0x9E3779B97F4A7C15);
    return mix(rng_state);
}

static uint64_t below(uint64_t limit) {
    return next() % limit;
}

static int one_in(uint64_t n) {
    return below(n) == 0;
}

static float unit(void) {
    return (float)(next() >> 40) * 0x1p-24f;
}

/* x 2^e, by steps that neither overflow nor lose a normal number's bits. */
static float scaled(float x, int e) {
    for (; e > 0; e--)
        x *= 2.0f;
    for (; e < 0; e++)
        x *= 0.5f;
    return x;
}

typedef struct trial {
    oracle_rows rows; /* points into the next three; ids and weights may be NULL */
    float *values;
    uint64_t *ids;
    int64_t *weights;
    float *low, *high;
    const char *kind;
    efface_kmeans_params params;
} trial;

static void *make(size_t count, size_t size) {
    void *p = calloc(count + 1, size);
    assert_non_null(p);
    return p;
}

static float sign(float x) {
    return one_in(2) ? x : -x;
}

static float blob_value(size_t row, uint32_t column) {
    return (float)(mix(row % 4 * 1000 + column) % 10) + 0.125f * unit();
}

/* A value of a kind that needs no more than its place. */
static float plain_value(uint64_t kind, size_t row, uint32_t column) {
    switch (kind) {
    case 0: return unit();
    case 1: return 200.0f * unit() - 100.0f;
    case 2: return blob_value(row, column);
    case 3: return (float)below(4) - 1.0f;                            /* ties without end */
    case 4: return sign(scaled(1.0f + unit(), (int)below(26) + 100)); /* below 2^126 */
    case 5: return one_in(3) ? 0x1p126f : sign(scaled(unit(), 126));
    case 6: return sign((float)below(200000) * 0x1p-149f); /* about 1e-40 */
    case 7: return sign(scaled(1.0f + unit(), (int)below(270) - 145));
    case 8: return one_in(6) ? 1.0f : sign(0.0f);
    case 9: return row < 2 ? sign(1e6f * unit()) : unit();           /* others fall on few steps */
    case 10: return sign(((float)below(8388608) + 0.5f) * 0x1p-23f); /* half a step at e = 0 */
    default: return 1.0f - (float)below(2000) * 0x1p-24f; /* distances far below the norms */
    }
}

static const char *const kind_names[] = {"unit",  "wide",     "blobs",        "integers",
                                         "huge",  "largest",  "tiny",         "mixed",
                                         "zeros", "outliers", "halves",       "far from zero",
                                         "equal", "line",     "few distinct", "midpoints"};

/* Fills row i with the middle between two rows before it, at times one grid step aside: the
 * nearest of two seeds is then decided by the last bit. */
static void fill_midpoint(trial *t, size_t i) {
    const uint32_t d = t->rows.d;
    const float *a = t->values + below(i) * d, *b = t->values + below(i) * d;
    for (uint32_t j = 0; j < d; j++)
        t->values[i * d + j] = 0.5f * a[j] + 0.5f * b[j];
    if (one_in(2))
        t->values[i * d + below(d)] += sign(0x1p-22f);
}

static void fill_values(trial *t) {
    const size_t n = t->rows.n;
    const uint32_t d = t->rows.d;
    const uint64_t kind = below(16), base = below(12);
    t->kind = kind_names[kind];
    for (size_t i = 0; i < n; i++) {
        float *row = t->values + i * d;
        const float along = one_in(2) ? (float)below(9) : 9.0f * unit();
        const int equal = i > 0 && (kind == 12 || (kind == 14 && (i >= 5 || one_in(2))));
        const size_t from = kind == 12 ? 0 : (size_t)below(1 + (i < 5 ? i : 5));
        if (kind == 15 && i > 4) {
            fill_midpoint(t, i);
            continue;
        }
        for (uint32_t j = 0; j < d; j++) {
            if (equal)
                row[j] = t->values[from * d + j];
            else if (kind == 13)
                row[j] = along * ((float)(mix(j) % 7) - 3.0f) + 1.0f;
            else if (kind == 15)
                row[j] = 2.0f * unit() - 1.0f;
            else
                row[j] = plain_value(kind < 12 ? kind : base, i, j);
        }
    }
    if (one_in(4)) {
        const uint32_t column = (uint32_t)below(d);
        const float x = plain_value(base, 5, column);
        for (size_t i = 0; i < n; i++)
            t->values[i * d + column] = x;
    }
    if (one_in(4) && n > 0)
        for (size_t copies = below(n); copies > 0; copies--)
            memmove(t->values + below(n) * d, t->values + (copies - 1) * d, d * sizeof(float));
}

static void fill_ids_and_weights(trial *t) {
    const size_t n = t->rows.n;
    const uint64_t salt = next(), id_kind = below(5), weight_kind = below(6);
    const int64_t room = EFFACE_MAX_WEIGHT - 1;
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        t->ids[i] = id_kind == 1   ? UINT64_MAX - i
                    : id_kind == 2 ? (uint64_t)i << 32
                    : id_kind == 3 ? 1000 - i
                                   : mix(salt + i); /* mix is one to one */
        t->weights[i] = weight_kind == 1   ? 1 + (int64_t)below(5)
                        : weight_kind == 2 ? 1 + (int64_t)below((uint64_t)room / n)
                        : weight_kind == 3 ? 1 + (int64_t)(below(3) * 999)
                                           : 1;
        total += t->weights[i];
    }
    if (weight_kind == 4 && n > 0)
        t->weights[below(n)] += room - total; /* all the weight there can be, on one row */
    t->rows.ids = id_kind == 0 ? NULL : t->ids;
    t->rows.weights = weight_kind == 0 ? NULL : t->weights;
}

static void choose_bounds(trial *t) {
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

static void choose_parameters(trial *t) {
    static const uint32_t iterations[] = {0, 1, 2, 10, 10, 10};
    static const uint32_t threads[] = {1, 2, 3, 7};
    static const double gammas[] = {0.0, 0.2, 0.5, 1.0, 1.0, 1e-9, 0.5 / 65536.0};
    static const double epsilons[] = {0.0, 0.0, 0x1p-23, 1e-12, 1.0, 4.0, 1e30, 1.5 * 0x1p-23};
    efface_kmeans_params *p = &t->params;
    const size_t n = t->rows.n;
    efface_kmeans_params_init(p);
    p->method = one_in(2) ? EFFACE_METHOD_LLOYD : EFFACE_METHOD_QUANTIZED;
    uint64_t k = one_in(3) ? 1 + below(n + 6) : one_in(3) ? n + below(3) : 1 + below(8);
    k = k < 1 ? 1 : k;
    while (k < n && (double)k * (double)k * (double)n * t->rows.d > 1e7)
        k = (k + 1) / 2;
    p->n_clusters =
        one_in(200) && n * n * n * t->rows.d < 10000000 ? EFFACE_MAX_CLUSTERS : (uint32_t)k;
    p->iterations = one_in(8) ? 1 + (uint32_t)below(30) : iterations[below(6)];
    p->seed = one_in(20) ? 0 : one_in(20) ? UINT64_MAX : next();
    p->empty = one_in(2) ? EFFACE_EMPTY_RESEED : EFFACE_EMPTY_KEEP;
    p->gamma = one_in(3) ? (double)unit() : gammas[below(7)];
    p->epsilon = one_in(3) ? (double)scaled(unit(), -(int)below(24)) : epsilons[below(8)];
    p->n_threads = threads[below(4)];
    choose_bounds(t);
}

/* Clusters seldom lose all their rows before the run stops. They do where values have so few grid
 * steps that rounded centroids meet: rare ones among zeros for lloyd, small integers and a lattice
 * of their size for quantized. */
static void let_centroids_meet(trial *t) {
    efface_kmeans_params *p = &t->params;
    const int lloyd = t->rows.d > 20;
    t->kind = lloyd ? "rare ones" : "small integers";
    for (size_t i = 0; i < t->rows.n * t->rows.d; i++)
        t->values[i] = lloyd ? (float)one_in(9) : (float)below(8);
    p->method = lloyd ? EFFACE_METHOD_LLOYD : EFFACE_METHOD_QUANTIZED;
    p->n_clusters = 3 + (uint32_t)below(8);
    p->scale = EFFACE_SCALE_NONE;
    p->bound = 0x1p23;
    p->epsilon = (double)(3 + below(4)) * 0x1p-23;
    p->gamma = one_in(3) ? p->gamma : 0.0;
    p->iterations = 10;
    p->empty = one_in(4) ? EFFACE_EMPTY_KEEP : EFFACE_EMPTY_RESEED;
    t->rows.weights = one_in(4) ? t->rows.weights : NULL;
}

static void make_trial(uint64_t seed, trial *t) {
    static const uint32_t wide[] = {63, 64, 65, 100, 128, 130};
    memset(t, 0, sizeof *t);
    rng_state = mix(seed);
    const int meet = one_in(8);
    size_t n = one_in(30) ? 0 : one_in(25) ? below(301) : one_in(3) ? below(12) : below(81);
    uint32_t d = (uint32_t)(one_in(8) ? wide[below(6)] : 1 + below(one_in(3) ? 3 : 40));
    if (meet) {
        n = 40 + below(41);
        d = (uint32_t)(one_in(2) ? 24 + below(42) : 3 + below(10));
    }
    t->values = make(n * d, sizeof *t->values);
    t->ids = make(n, sizeof *t->ids);
    t->weights = make(n, sizeof *t->weights);
    t->low = make(d, sizeof *t->low);
    t->high = make(d, sizeof *t->high);
    t->rows = (oracle_rows){.n = n, .d = d, .values = t->values};
    fill_values(t);
    fill_ids_and_weights(t);
    choose_parameters(t);
    if (meet)
        let_centroids_meet(t);
}

static void free_trial(trial *t) {
    free(t->values);
    free(t->ids);
    free(t->weights);
    free(t->low);
    free(t->high);
}

/* ------------------------------------------------------------------ one case */

/* How often the rarer paths of the definition were taken. */
static struct coverage {
    unsigned long duplicate_seed, reseeded_lloyd, reseeded_quantized, reseeded_twice, no_row_left,
        kept_empty, held_back, witness, stable, used_up, flat_column, fewer_rows, no_rows;
} seen;

static void count_paths(const oracle_model *m) {
    const size_t d = m->d;
    seen.no_rows += m->n == 0;
    seen.fewer_rows += m->n < m->params.n_clusters;
    for (size_t j = 0; j < d; j++)
        seen.flat_column += m->params.scale == EFFACE_SCALE_MINMAX && m->step[j] == 0.0f;
    for (uint32_t a = 0; a < m->n_clusters; a++)
        for (uint32_t b = 0; b < a; b++)
            seen.duplicate_seed +=
                memcmp(m->levels[0].centroids + a * d, m->levels[0].centroids + b * d, d * 4) == 0;
    for (uint32_t t = 0; t < m->n_levels; t++) {
        const oracle_level *level = &m->levels[t];
        unsigned long empty = 0;
        for (uint32_t c = 0; level->has_partition && c < m->n_clusters; c++) {
            empty += level->counts[c] == 0;
            seen.held_back += level->counts[c] > 0 && (double)level->counts[c] * m->n_clusters <
                                                          m->q * 0x1p-16 * (double)m->total_weight;
        }
        const int went_on = t < m->limit && t <= m->model_level; /* made C[t + 1] from it */
        if (went_on && m->params.empty == EFFACE_EMPTY_KEEP)
            seen.kept_empty += empty;
        else if (went_on)
            seen.no_row_left += empty - level->n_reseeded;
        if (m->params.method == EFFACE_METHOD_LLOYD)
            seen.reseeded_lloyd += level->n_reseeded > 0;
        else
            seen.reseeded_quantized += level->n_reseeded > 0;
        seen.reseeded_twice += level->n_reseeded > 1;
    }
    seen.witness += m->n_levels > m->model_level + 1;
    seen.used_up += m->model_level == m->limit;
    seen.stable += m->n > 0 && m->n_levels == m->model_level + 1 && m->model_level < m->limit;
}

/* Adds the rows to a set in several calls; in another order if they have ids of their own. */
static efface_status add_rows(const trial *t, efface_data *data, efface_error *error) {
    const size_t n = t->rows.n;
    const uint32_t d = t->rows.d;
    float *values = make(n * d, sizeof *values);
    uint64_t *ids = make(n, sizeof *ids);
    int64_t *weights = make(n, sizeof *weights);
    size_t *order = make(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const size_t other = t->rows.ids != NULL ? (size_t)below(i + 1) : i;
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(values + i * d, t->values + order[i] * d, d * sizeof *values);
        ids[i] = t->ids[order[i]];
        weights[i] = t->weights[order[i]];
    }
    efface_status status = EFFACE_OK;
    for (size_t at = 0, some; at < n && status == EFFACE_OK; at += some) {
        some = 1 + (size_t)below(n - at);
        const efface_rows part = {.n_rows = some,
                                  .values = values + at * d,
                                  .ids = t->rows.ids != NULL ? ids + at : NULL,
                                  .weights = t->rows.weights != NULL ? weights + at : NULL};
        status = efface_data_add(data, &part, error);
    }
    free(values);
    free(ids);
    free(weights);
    free(order);
    return status;
}

typedef struct outcome {
    efface_data *data;
    efface_kmeans *model;
    oracle_model *oracle;
    unsigned char *bytes, *oracle_bytes;
    uint32_t *labels, *oracle_labels;
} outcome;

static int compare_bytes(outcome *o, char *text, size_t capacity) {
    efface_error error = {0};
    difference d = {0};
    if (efface_kmeans_encode(o->model, &o->bytes, &d.n_a, &error) != EFFACE_OK) {
        snprintf(text, capacity, "encode: %s", error.message);
        return 1;
    }
    o->oracle_bytes = oracle_encode(o->oracle, &d.n_b);
    d.a = o->bytes;
    d.b = o->oracle_bytes;
    if (!find_difference(&d))
        return 0;
    snprintf(text, capacity, "%s", d.text);
    return 1;
}

static int compare_labels_and_loss(const trial *t, outcome *o, char *text, size_t capacity) {
    const size_t n = t->rows.n;
    efface_error error = {0};
    o->labels = make(n, sizeof *o->labels);
    o->oracle_labels = make(n, sizeof *o->oracle_labels);
    const efface_status status =
        efface_kmeans_predict(o->model, n, t->values, 0, o->labels, &error);
    if (n == 0) { /* no centroids */
        snprintf(text, capacity, "predict without centroids: %s", efface_status_name(status));
        return status != EFFACE_E_ARGUMENT;
    }
    if (status != EFFACE_OK) {
        snprintf(text, capacity, "predict: %s", error.message);
        return 1;
    }
    oracle_predict(o->oracle, n, t->values, o->oracle_labels);
    for (size_t i = 0; i < n; i++)
        if (o->labels[i] != o->oracle_labels[i]) {
            snprintf(text, capacity, "label of row %zu: library %u, oracle %u", i, o->labels[i],
                     o->oracle_labels[i]);
            return 1;
        }
    double loss = -1.0;
    if (efface_kmeans_loss(o->model, o->data, &loss, &error) != EFFACE_OK) {
        snprintf(text, capacity, "loss: %s", error.message);
        return 1;
    }
    const double expected = oracle_loss_in_units(o->oracle, &t->rows);
    snprintf(text, capacity, "loss: library %a, oracle %a", loss, expected);
    return loss != expected;
}

/* Runs the case with a seed; returns 1 and says what differs if the two disagree. */
static int run_case(uint64_t seed, char *text, size_t capacity) {
    trial t;
    outcome o = {0};
    efface_error error = {0};
    int failed = 1;
    make_trial(seed, &t);
    if (efface_data_create(t.rows.d, &o.data, &error) != EFFACE_OK ||
        add_rows(&t, o.data, &error) != EFFACE_OK ||
        efface_kmeans_fit(o.data, &t.params, &o.model, &error) != EFFACE_OK) {
        snprintf(text, capacity, "the library refuses: %s", error.message);
    } else {
        o.oracle = oracle_fit(&t.rows, &t.params);
        count_paths(o.oracle);
        failed =
            compare_bytes(&o, text, capacity) || compare_labels_and_loss(&t, &o, text, capacity);
    }
    if (failed)
        print_error("case 0x%" PRIx64 ": n %zu, d %u, values %s, ids %s, weights %s, k %u, %s, "
                    "iterations %u, scale %s, bound %g, given columns %d, empty %s, epsilon %g, "
                    "gamma %g, threads %u\n",
                    seed, t.rows.n, t.rows.d, t.kind, t.rows.ids != NULL ? "given" : "default",
                    t.rows.weights != NULL ? "given" : "1", t.params.n_clusters,
                    t.params.method == EFFACE_METHOD_LLOYD ? "lloyd" : "quantized",
                    t.params.iterations, t.params.scale == EFFACE_SCALE_NONE ? "none" : "minmax",
                    t.params.bound, t.params.column_min != NULL,
                    t.params.empty == EFFACE_EMPTY_RESEED ? "reseed" : "keep", t.params.epsilon,
                    t.params.gamma, t.params.n_threads);
    efface_bytes_free(o.bytes);
    efface_kmeans_free(o.model);
    efface_data_free(o.data);
    oracle_free(o.oracle);
    free(o.oracle_bytes);
    free(o.labels);
    free(o.oracle_labels);
    free_trial(&t);
    return failed;
}

/* ------------------------------------------------------------------ tests */

static void library_equals_oracle(void **state) {
    (void)state;
    const char *only = getenv("EFFACE_TEST_SEED"), *count = getenv("EFFACE_TEST_CASES");
    const unsigned long n_cases = count != NULL ? strtoul(count, NULL, 10) : DEFAULT_CASES;
    char text[600];
    if (only != NULL) {
        if (run_case(strtoull(only, NULL, 0), text, sizeof text))
            fail_msg("%s", text);
        return;
    }
    for (unsigned long i = 0; i < n_cases; i++)
        if (run_case(FIRST_SEED + i, text, sizeof text))
            fail_msg("EFFACE_TEST_SEED=0x%" PRIx64 ": %s", FIRST_SEED + i, text);
    print_message(
        "seeds at one place %lu, reseeded %lu + %lu (several %lu), no row left %lu, kept empty "
        "%lu, held back %lu, witnesses %lu, stable %lu, used up %lu, flat columns %lu\n",
        seen.duplicate_seed, seen.reseeded_lloyd, seen.reseeded_quantized, seen.reseeded_twice,
        seen.no_row_left, seen.kept_empty, seen.held_back, seen.witness, seen.stable, seen.used_up,
        seen.flat_column);
    if (n_cases < DEFAULT_CASES)
        return;
    assert_true(seen.duplicate_seed > 0 && seen.no_row_left > 0 && seen.kept_empty > 0);
    assert_true(seen.reseeded_lloyd > 0 && seen.reseeded_quantized > 0 && seen.reseeded_twice > 0);
    assert_true(seen.held_back > 0 && seen.witness > 0 && seen.stable > 0 && seen.used_up > 0);
    assert_true(seen.flat_column > 0 && seen.fewer_rows > 0 && seen.no_rows > 0);
}

/* The known answers of the Random123 distribution. */
static void philox_has_its_known_answers(void **state) {
    (void)state;
    static const uint32_t known[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1}};
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        oracle_philox(known[i], known[i] + 4, out);
        assert_memory_equal(out, known[i] + 6, sizeof out);
    }
}

/* -log(1 - v) at both ends and in the middle: within a few units in the last place. */
static void exponential_is_a_logarithm(void **state) {
    (void)state;
    static const struct {
        uint64_t r;
        double e;
    } known[] = {
        {0, 0x1p-53},                                        /* v = 2^-53 */
        {UINT64_MAX, 36.736800569677101399},                 /* 1 - v = 2^-53 */
        {UINT64_C(0x8000000000000000), 0.69314718055994552}, /* v = 1/2 + 2^-53 */
        {UINT64_C(0xF000000000000000), 2.7725887222397828}   /* v = 15/16 + 2^-53 */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double error = oracle_exponential(known[i].r) / known[i].e - 1.0;
        assert_true(error < 0x1p-49 && error > -0x1p-49);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_has_its_known_answers),
        cmocka_unit_test(exponential_is_a_logarithm),
        cmocka_unit_test(library_equals_oracle),
    };
    return cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
}
