/* Metrics against scikit-learn's values, and the Gaussian set. The tables come from
 * metrics_golden.py; the formulas for labels and rows are the same on both sides. */
#include "data/set/rows.h"
#include "model/report_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t mix(uint32_t i, uint32_t salt) {
    uint32_t h = i * 0x9E3779B1u + salt * 0x85EBCA77u + 0x165667B1u;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 12;
    h *= 0x297A2D39u;
    h ^= h >> 15;
    return h;
}

static void assert_near(const char *name, double value, double golden, double tolerance) {
    if (!(fabs(value - golden) <= tolerance))
        fail_msg("%s: %.17g instead of %.17g", name, value, golden);
}

/* ---------------------------------------------------------------- NMI and ARI */

typedef enum label_kind { INDEX, BLOCK, HASH, NOISY } label_kind;

typedef struct labelling {
    label_kind kind;
    uint32_t salt, modulus, scale, offset;
} labelling;

typedef struct agreement_case {
    const char *name;
    uint32_t n;
    labelling a, b;
    double nmi, ari;
} agreement_case;

/* clang-format off */
static const agreement_case agreement_cases[] = {
    {"one row", 1, {INDEX, 0, 1, 1u, 5u},
     {INDEX, 0, 1, 1u, 9u}, 1.0, 1.0},
    {"one cluster in both", 50, {INDEX, 0, 1, 1u, 0u},
     {INDEX, 0, 1, 1u, 4000000000u}, 1.0, 1.0},
    {"one cluster in a", 50, {INDEX, 0, 1, 1u, 0u},
     {HASH, 1, 4, 1u, 0u}, 0.0, 0.0},
    {"one cluster in b", 50, {HASH, 1, 4, 1u, 0u},
     {INDEX, 0, 1, 1u, 0u}, 0.0, 0.0},
    {"two rows", 2, {INDEX, 0, 2, 1u, 0u},
     {INDEX, 0, 1, 1u, 0u}, 0.0, 0.0},
    {"singletons in both", 64, {INDEX, 0, 64, 1u, 0u},
     {INDEX, 0, 64, 67108859u, 3u}, 1.0, 1.0},
    {"singletons against one", 64, {INDEX, 0, 64, 1u, 0u},
     {INDEX, 0, 1, 1u, 0u}, 0.0, 0.0},
    {"singletons against three", 60, {INDEX, 0, 60, 1u, 0u},
     {HASH, 2, 3, 1u, 0u}, 0.4180587893293535, 0.0},
    {"the same, renamed", 1000, {HASH, 3, 9, 1u, 0u},
     {HASH, 3, 9, 400000000u, 77u}, 1.0, 1.0},
    {"unrelated", 1000, {HASH, 4, 7, 1u, 0u},
     {HASH, 5, 5, 1u, 0u}, 0.005897125879595967, -0.0006415964755840423},
    {"independent exactly", 400, {INDEX, 0, 4, 1u, 0u},
     {BLOCK, 0, 100, 1u, 0u}, 0.0, -0.007575757575757576},
    {"related", 2000, {HASH, 6, 10, 1u, 0u},
     {NOISY, 6, 10, 1u, 0u}, 0.589192704335107, 0.5872071383819351},
    {"related and sparse", 2000, {HASH, 6, 10, 429496729u, 1u},
     {NOISY, 6, 10, 429496729u, 4u}, 0.589192704335107, 0.5872071383819351},
    {"finer", 3000, {HASH, 7, 6, 1u, 0u},
     {HASH, 7, 24, 1u, 0u}, 0.7209588895311163, 0.35603488198655175},
    {"blocks", 997, {BLOCK, 0, 100, 1u, 0u},
     {BLOCK, 0, 70, 1u, 0u}, 0.7980476336097165, 0.6066659748612396},
    {"large", 100000, {HASH, 8, 50, 1u, 0u},
     {NOISY, 8, 50, 85000000u, 0u}, 0.6185944067772984, 0.564316926381223},
    {"many small clusters", 5000, {HASH, 9, 4000, 1000003u, 0u},
     {NOISY, 9, 4000, 1u, 0u}, 0.962367508800894, 0.5394454517671106},
};
/* clang-format on */

static uint32_t label(const labelling *l, uint32_t i) {
    uint32_t part;
    if (l->kind == INDEX)
        part = i % l->modulus;
    else if (l->kind == BLOCK)
        part = i / l->modulus;
    else if (l->kind == HASH || mix(i, l->salt + 200) % 4 != 0)
        part = mix(i, l->salt) % l->modulus;
    else
        part = mix(i, l->salt + 100) % l->modulus;
    return part * l->scale + l->offset;
}

static uint32_t *make_labels(const labelling *l, uint32_t n) {
    uint32_t *const labels = test_malloc(n * sizeof *labels);
    for (uint32_t i = 0; i < n; i++)
        labels[i] = label(l, i);
    return labels;
}

static void nmi_and_ari_are_those_of_scikit_learn(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof agreement_cases / sizeof agreement_cases[0]; t++) {
        const agreement_case *const c = &agreement_cases[t];
        uint32_t *const a = make_labels(&c->a, c->n);
        uint32_t *const b = make_labels(&c->b, c->n);
        double nmi = -2.0, ari = -2.0;
        assert_int_equal(efface_nmi(c->n, a, b, &nmi, NULL), EFFACE_OK);
        assert_int_equal(efface_ari(c->n, a, b, &ari, NULL), EFFACE_OK);
        assert_near(c->name, nmi, c->nmi, 1e-12);
        assert_near(c->name, ari, c->ari, 1e-12);

        /* Both are symmetric. */
        assert_int_equal(efface_nmi(c->n, b, a, &nmi, NULL), EFFACE_OK);
        assert_int_equal(efface_ari(c->n, b, a, &ari, NULL), EFFACE_OK);
        assert_near(c->name, nmi, c->nmi, 1e-12);
        assert_near(c->name, ari, c->ari, 1e-12);
        test_free(a);
        test_free(b);
    }
}

static void same_partition_is_one_exactly(void **state) {
    (void)state;
    const labelling plain = {HASH, 11, 23, 1, 0}, renamed = {HASH, 11, 23, 186737708u, 5};
    for (uint32_t n = 1; n < 3000; n = n * 3 / 2 + 1) {
        uint32_t *const a = make_labels(&plain, n);
        uint32_t *const b = make_labels(&renamed, n);
        double nmi = 0.0, ari = 0.0;
        assert_int_equal(efface_nmi(n, a, b, &nmi, NULL), EFFACE_OK);
        assert_int_equal(efface_ari(n, a, b, &ari, NULL), EFFACE_OK);
        assert_true(nmi == 1.0 && ari == 1.0);
        test_free(a);
        test_free(b);
    }
}

static void no_labels_are_an_error(void **state) {
    (void)state;
    const uint32_t none = 0;
    double value = 42.0;
    efface_error error;
    assert_int_equal(efface_nmi(0, &none, &none, &value, &error), EFFACE_E_ARGUMENT);
    assert_int_equal(error.status, EFFACE_E_ARGUMENT);
    assert_int_equal(efface_ari(0, &none, &none, &value, NULL), EFFACE_E_ARGUMENT);
    assert_true(value == 42.0);
}

/* ---------------------------------------------------------------- silhouette */

typedef struct silhouette_case {
    const char *name;
    uint32_t n, d, n_clusters, spread, singles;
    int minmax;
    size_t max_rows;
    double score;
} silhouette_case;

/* clang-format off */
static const silhouette_case silhouette_cases[] = {
    {"two rows, two clusters and a twin", 3, 1, 2, 1, 0, 0, 0, 0.6666666666666666},
    {"apart", 400, 3, 4, 900, 0, 0, 0, 0.9762680229671775},
    {"overlapping", 601, 5, 6, 9000, 0, 0, 0, 0.7062473289821052},
    {"mixed up", 333, 17, 3, 60000, 0, 0, 0, 0.20992521406356723},
    {"one point a cluster", 100, 4, 5, 1, 0, 0, 0, 1.0},
    {"with singletons", 250, 2, 3, 3000, 40, 0, 0, -0.6115511150410982},
    {"minmax", 500, 7, 5, 5000, 0, 1, 0, 0.8754821267890756},
    {"minmax with singletons", 129, 16, 4, 7000, 9, 1, 0, -0.08482115629619602},
    {"wide", 64, 300, 3, 5000, 0, 0, 0, 0.8998351558367439},
    {"a sample", 600, 5, 6, 9000, 0, 0, 200, 0.7041912288997159},
    {"a small sample", 600, 5, 3, 2000, 0, 0, 17, 0.9633248362257497},
    {"a sample, minmax", 1000, 3, 4, 4000, 30, 1, 333, -0.31187803005690395},
};
/* clang-format on */

/* A set of rows and their labels, by position. */
typedef struct labelled_set {
    efface_data *data;
    uint32_t *labels;
} labelled_set;

/* Makes the rows of a case; the row at position p is row (p * stride) mod n, so that any stride
 * without a common divisor with n gives the same set in another order. */
static labelled_set make_set(const silhouette_case *c, uint32_t stride) {
    labelled_set set = {NULL, test_malloc(c->n * sizeof(uint32_t))};
    assert_int_equal(efface_data_create(c->d, &set.data, NULL), EFFACE_OK);
    float *const values = test_malloc(c->d * sizeof *values);
    for (uint32_t p = 0; p < c->n; p++) {
        const uint32_t i = (uint32_t)((uint64_t)p * stride % c->n);
        const uint32_t cluster = mix(i, 903) % c->n_clusters;
        for (uint32_t j = 0; j < c->d; j++)
            values[j] =
                (float)(mix(cluster * 1000 + j, 904) % 50000 + mix(i * 1000 + j, 905) % c->spread);
        const uint64_t id = (uint64_t)mix(i, 901) << 32 | mix(i, 902);
        const efface_rows rows = {.n_rows = 1, .values = values, .ids = &id};
        assert_int_equal(efface_data_add(set.data, &rows, NULL), EFFACE_OK);
        set.labels[p] = i >= c->n - c->singles ? 1000000 + i : cluster;
    }
    test_free(values);
    return set;
}

static void free_set(labelled_set *set) {
    efface_data_free(set->data);
    test_free(set->labels);
}

static efface_model *fit(const efface_data *data, int minmax, uint32_t n_clusters,
                         uint32_t n_threads) {
    efface_kmeans_params params;
    efface_kmeans_params_init(&params);
    params.method = EFFACE_METHOD_LLOYD;
    params.candidates = 1;
    params.n_clusters = n_clusters;
    params.iterations = 3;
    params.common.seed = 5;
    params.scale = minmax ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE;
    params.common.n_threads = n_threads;
    efface_model *model = NULL;
    efface_error error;
    if (efface_kmeans_fit(data, &params, &model, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    return model;
}

static double silhouette(const efface_model *model, const efface_data *data, const uint32_t *labels,
                         size_t max_rows) {
    double score = -2.0;
    efface_error error;
    if (efface_kmeans_silhouette(model, data, labels, max_rows, &score, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    return score;
}

static void silhouette_is_that_of_scikit_learn(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof silhouette_cases / sizeof silhouette_cases[0]; t++) {
        const silhouette_case *const c = &silhouette_cases[t];
        labelled_set set = make_set(c, 1);
        efface_model *const model = fit(set.data, c->minmax, 2, 1);
        assert_near(c->name, silhouette(model, set.data, set.labels, c->max_rows), c->score,
                    1e-5 * fabs(c->score));
        efface_model_free(model);
        free_set(&set);
    }
}

static void silhouette_knows_neither_order_nor_threads(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof silhouette_cases / sizeof silhouette_cases[0]; t++) {
        const silhouette_case *const c = &silhouette_cases[t];
        const uint32_t strides[] = {1, c->n - 1, 7, 499};
        double first = 0.0;
        for (unsigned s = 0; s < 4; s++) {
            if (c->n <= 7 && s >= 2)
                continue;
            labelled_set set = make_set(c, c->n % strides[s] == 0 ? 1 : strides[s]);
            efface_model *const model = fit(set.data, c->minmax, 2, 1 + s);
            const double score = silhouette(model, set.data, set.labels, c->max_rows);
            if (s == 0)
                first = score;
            assert_memory_equal(&score, &first, sizeof score);
            efface_model_free(model);
            free_set(&set);
        }
    }
}

static void silhouette_takes_labels_from_the_model(void **state) {
    (void)state;
    const silhouette_case c = {"", 700, 6, 5, 20000, 0, 1, 0, 0.0};
    labelled_set set = make_set(&c, 1);
    efface_model *const model = fit(set.data, c.minmax, c.n_clusters, 2);
    for (uint32_t i = 0; i < c.n; i++) {
        float row[6];
        efface_data_values(set.data, i, row);
        assert_int_equal(predict_labels(model, 1, row, 0, &set.labels[i], NULL), EFFACE_OK);
    }
    const size_t samples[] = {0, 699, 100};
    for (unsigned s = 0; s < 3; s++) {
        const double given = silhouette(model, set.data, set.labels, samples[s]);
        const double asked = silhouette(model, set.data, NULL, samples[s]);
        assert_memory_equal(&given, &asked, sizeof given);
        assert_true(asked > 0.2 && asked < 1.0);
    }
    efface_model_free(model);
    free_set(&set);
}

/* Rows far outside the bounds of the fit: the model's scale is another, the silhouette the same. */
static void silhouette_of_rows_outside_the_bounds(void **state) {
    (void)state;
    const silhouette_case *const c = &silhouette_cases[2];
    labelled_set set = make_set(c, 1);
    efface_data *unit = NULL;
    assert_int_equal(efface_data_create(c->d, &unit, NULL), EFFACE_OK);
    const float corners[10] = {0, 0, 0, 0, 0, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
    assert_int_equal(c->d, 5);
    const efface_rows rows = {.n_rows = 2, .values = corners};
    assert_int_equal(efface_data_add(unit, &rows, NULL), EFFACE_OK);
    for (int minmax = 0; minmax < 2; minmax++) {
        efface_model *const model = fit(unit, minmax, 2, 1);
        assert_near("outside", silhouette(model, set.data, set.labels, 0), c->score, 1e-5);
        efface_model_free(model);
    }

    /* As far out as it gets nothing overflows: two clusters at opposite ends. */
    enum { COLUMNS = 8 };
    float end[4 * COLUMNS];
    for (unsigned i = 0; i < 4 * COLUMNS; i++)
        end[i] = i < 2 * COLUMNS ? 0x1p126F : -0x1p126F;
    const uint32_t labels[4] = {7, 7, 9, 9};
    efface_data *ends = NULL;
    assert_int_equal(efface_data_create(COLUMNS, &ends, NULL), EFFACE_OK);
    const efface_rows end_rows = {.n_rows = 4, .values = end};
    assert_int_equal(efface_data_add(ends, &end_rows, NULL), EFFACE_OK);
    const float zeros[COLUMNS] = {0};
    efface_data *tiny = NULL;
    assert_int_equal(efface_data_create(COLUMNS, &tiny, NULL), EFFACE_OK);
    const efface_rows tiny_rows = {.n_rows = 1, .values = zeros};
    assert_int_equal(efface_data_add(tiny, &tiny_rows, NULL), EFFACE_OK);
    efface_model *const model = fit(tiny, 0, 1, 1);
    assert_true(silhouette(model, ends, labels, 0) == 1.0);
    efface_model_free(model);
    efface_data_free(tiny);
    efface_data_free(ends);
    efface_data_free(unit);
    free_set(&set);
}

static void silhouette_of_singletons_and_twins_is_zero(void **state) {
    (void)state;
    const silhouette_case c = {"", 40, 3, 4, 5000, 40, 0, 0, 0.0};
    labelled_set set = make_set(&c, 1);
    efface_model *const model = fit(set.data, 0, 4, 1);
    assert_true(silhouette(model, set.data, set.labels, 0) == 0.0);

    /* Two clusters on one and the same point. */
    efface_data *twins = NULL;
    const float values[12] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    const uint32_t labels[4] = {0, 0, UINT32_MAX, UINT32_MAX};
    assert_int_equal(efface_data_create(3, &twins, NULL), EFFACE_OK);
    const efface_rows rows = {.n_rows = 4, .values = values};
    assert_int_equal(efface_data_add(twins, &rows, NULL), EFFACE_OK);
    assert_true(silhouette(model, twins, labels, 0) == 0.0);
    efface_data_free(twins);
    efface_model_free(model);
    free_set(&set);
}

static void silhouette_refuses_what_has_none(void **state) {
    (void)state;
    const silhouette_case c = {"", 40, 3, 1, 5000, 0, 0, 0, 0.0};
    labelled_set set = make_set(&c, 1);
    efface_model *const model = fit(set.data, 0, 1, 1);
    double score = 42.0;
    efface_error error;
    /* One cluster, given or the model's; one row; another number of columns; no rows. */
    assert_int_equal(efface_kmeans_silhouette(model, set.data, set.labels, 0, &score, &error),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_kmeans_silhouette(model, set.data, NULL, 0, &score, &error),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(efface_kmeans_silhouette(model, set.data, set.labels, 1, &score, &error),
                     EFFACE_E_ARGUMENT);
    efface_data *other = NULL;
    assert_int_equal(efface_data_create(2, &other, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_silhouette(model, other, NULL, 0, &score, &error),
                     EFFACE_E_ARGUMENT);
    efface_data_free(other);
    assert_int_equal(efface_data_create(3, &other, NULL), EFFACE_OK);
    assert_int_equal(efface_kmeans_silhouette(model, other, NULL, 0, &score, &error),
                     EFFACE_E_ARGUMENT);
    assert_int_equal(error.status, EFFACE_E_ARGUMENT);
    assert_true(score == 42.0);
    efface_data_free(other);
    efface_model_free(model);
    free_set(&set);
}

/* ---------------------------------------------------------------- the Gaussian set */

/* Rows of the first of the cases below. */
typedef struct gaussian_row {
    size_t position;
    double values[5];
} gaussian_row;

typedef struct gaussian_case {
    uint32_t n_clusters, n_columns;
    size_t n_each;
    uint64_t seed, hash;
} gaussian_case;

/* clang-format off */
static const gaussian_row gaussian_rows[] = {
    {0, {0.766221166, 0.860287607, 0.354969472, 0.0704043284, 1.46723485}},
    {1, {0.937880814, -0.114403024, 1.1520015, 0.0646276847, 0.00114409067}},
    {39, {0.835288584, 0.443994075, 0.913831711, 2.2982707, 0.856952071}},
    {40, {-0.985540748, -0.343916267, 0.575457036, -0.962003827, -0.184492633}},
    {79, {1.33036125, 1.98771667, -0.432908386, -0.0139558818, 1.87628031}},
    {80, {1.53911459, 2.40639925, 0.892142892, 1.54480124, 0.241909504}},
    {119, {0.0101092719, -0.599272072, 0.257046819, -0.0242366642, -0.309219927}},
};

static const gaussian_case gaussian_cases[] = {
    {3, 5, 40, 20190711u, UINT64_C(0x292D6C1DFB375B43)},
    {1, 1, 1, 0u, UINT64_C(0x0B79A766F57BE4EC)},
    {5, 25, 2000, 1u, UINT64_C(0xD5F24FC06A03CCB6)},
    {2, 32767, 3, 18446744073709551615u, UINT64_C(0xDBA2CDEAC95DEDC3)},
};
/* clang-format on */

static efface_data *make_gaussian(uint32_t n_clusters, uint32_t n_columns, size_t n_each,
                                  uint64_t seed) {
    efface_data *data = NULL;
    efface_error error;
    if (efface_data_make_gaussian(n_clusters, n_columns, n_each, seed, &data, &error) != EFFACE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(efface_data_n_rows(data), n_clusters * n_each);
    assert_int_equal(efface_data_n_columns(data), n_columns);
    return data;
}

/* FNV-1a over the values' bits, low byte first, row by row. */
static uint64_t checksum(const efface_data *data) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < efface_data_n_rows(data); i++)
        for (uint32_t j = 0; j < efface_data_n_columns(data); j++) {
            const float value = ef_data_value(data, i, j);
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            for (unsigned shift = 0; shift < 32; shift += 8)
                hash = (hash ^ (bits >> shift & 0xFF)) * UINT64_C(0x100000001B3);
        }
    return hash;
}

static efface_data *make_gaussian_case(const gaussian_case *c) {
    return make_gaussian(c->n_clusters, c->n_columns, c->n_each, c->seed);
}

static void gaussian_is_what_its_definition_says(void **state) {
    (void)state;
    efface_data *const data = make_gaussian_case(&gaussian_cases[0]);
    for (size_t t = 0; t < sizeof gaussian_rows / sizeof gaussian_rows[0]; t++) {
        const size_t position = gaussian_rows[t].position;
        for (unsigned j = 0; j < 5; j++)
            assert_near("gaussian", (double)ef_data_value(data, position, j),
                        gaussian_rows[t].values[j], 1e-6);
    }
    for (size_t i = 0; i < 120; i++) {
        const efface_row row = efface_data_row(data, i);
        assert_int_equal(row.id, i);
        assert_int_equal(row.label, i / 40);
        assert_int_equal(row.weight, 1);
        assert_true(row.owner == EFFACE_NO_OWNER);
    }
    efface_data_free(data);
}

static void gaussian_has_its_bits(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof gaussian_cases / sizeof gaussian_cases[0]; t++) {
        efface_data *const data = make_gaussian_case(&gaussian_cases[t]);
        const uint64_t hash = checksum(data);
        if (hash != gaussian_cases[t].hash)
            fail_msg("case %zu: checksum 0x%016llX", t, (unsigned long long)hash);
        efface_data_free(data);
    }
}

/* A further column does not change the others. */
static void gaussian_columns_stand_by_themselves(void **state) {
    (void)state;
    efface_data *const narrow = make_gaussian(2, 3, 50, 8);
    efface_data *const wide = make_gaussian(2, 8, 50, 8);
    for (size_t i = 0; i < 100; i++)
        for (uint32_t j = 0; j < 3; j++)
            assert_true(ef_data_value(narrow, i, j) == ef_data_value(wide, i, j));
    efface_data_free(narrow);
    efface_data_free(wide);
}

/* Means, variances, and correlations of neighbouring columns, within six standard errors. */
static void gaussian_has_its_moments(void **state) {
    (void)state;
    enum { CLUSTERS = 4, COLUMNS = 7, EACH = 20000 };
    efface_data *const data = make_gaussian(CLUSTERS, COLUMNS, EACH, 3);
    for (size_t c = 0; c < CLUSTERS; c++) {
        double mean[COLUMNS] = {0}, variance[COLUMNS] = {0}, product[COLUMNS] = {0};
        for (size_t i = 0; i < EACH; i++)
            for (unsigned j = 0; j < COLUMNS; j++)
                mean[j] += (double)ef_data_value(data, c * EACH + i, j) / EACH;
        for (size_t i = 0; i < EACH; i++) {
            float x[COLUMNS];
            efface_data_values(data, c * EACH + i, x);
            for (unsigned j = 0; j < COLUMNS; j++) {
                const unsigned next = (j + 1) % COLUMNS;
                const double y = (double)x[j] - mean[j];
                variance[j] += y * y / EACH;
                product[j] += y * ((double)x[next] - mean[next]) / EACH;
            }
        }
        for (unsigned j = 0; j < COLUMNS; j++) {
            const double error = 0.8 / sqrt((double)EACH);
            assert_true(mean[j] > -6 * sqrt(0.8 / EACH) && mean[j] < 1 + 6 * sqrt(0.8 / EACH));
            assert_near("variance", variance[j], 0.8, 6 * sqrt(2.0) * error);
            assert_near("covariance", product[j], 0.0, 6 * error);
        }
    }
    efface_data_free(data);
}

static void gaussian_refuses_what_it_cannot_hold(void **state) {
    (void)state;
    efface_data *data = NULL;
    efface_error error;
    assert_int_equal(efface_data_make_gaussian(2, 0, 5, 1, &data, &error), EFFACE_E_LIMIT);
    assert_int_equal(efface_data_make_gaussian(2, EFFACE_MAX_COLUMNS + 1, 5, 1, &data, &error),
                     EFFACE_E_LIMIT);
    assert_int_equal(efface_data_make_gaussian(EFFACE_MAX_CLUSTERS + 1, 1, 1, 1, &data, &error),
                     EFFACE_E_LIMIT);
    assert_int_equal(efface_data_make_gaussian(2, 3, SIZE_MAX, 1, &data, &error), EFFACE_E_LIMIT);
    assert_int_equal(efface_data_make_gaussian(1, 3, (size_t)1 << 40, 1, &data, &error),
                     EFFACE_E_LIMIT);
    assert_int_equal(error.status, EFFACE_E_LIMIT);
    assert_null(data);

    data = make_gaussian(0, 3, 10, 1);
    efface_data_free(data);
    data = make_gaussian(3, 3, 0, 1);
    efface_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nmi_and_ari_are_those_of_scikit_learn),
        cmocka_unit_test(same_partition_is_one_exactly),
        cmocka_unit_test(no_labels_are_an_error),
        cmocka_unit_test(silhouette_is_that_of_scikit_learn),
        cmocka_unit_test(silhouette_knows_neither_order_nor_threads),
        cmocka_unit_test(silhouette_takes_labels_from_the_model),
        cmocka_unit_test(silhouette_of_rows_outside_the_bounds),
        cmocka_unit_test(silhouette_of_singletons_and_twins_is_zero),
        cmocka_unit_test(silhouette_refuses_what_has_none),
        cmocka_unit_test(gaussian_is_what_its_definition_says),
        cmocka_unit_test(gaussian_has_its_bits),
        cmocka_unit_test(gaussian_columns_stand_by_themselves),
        cmocka_unit_test(gaussian_has_its_moments),
        cmocka_unit_test(gaussian_refuses_what_it_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
