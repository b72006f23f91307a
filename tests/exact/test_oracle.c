/*
 * The library against the oracle: thousands of random small sets, every one fitted by both and
 * compared as canonical bytes, then labels and losses.
 *
 *     EFFACE_TEST_CASES=100000   how many cases (default 3,000)
 *     EFFACE_TEST_SEED=0x...     only the case with this seed, as a failure prints it
 *
 * The cases (oracle/cases.h) are made to be difficult. The test counts how often the rare paths of
 * the definition were taken and fails if one was not.
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
#include "oracle/cases.h"
#include "oracle/difference.h"
#include "oracle/oracle.h"

#define FIRST_SEED UINT64_C(0x5EED0000)
#define DEFAULT_CASES 3000ul

/* ------------------------------------------------------------------ one case */

/* How often the rarer paths of the definition were taken. */
static struct coverage {
    unsigned long duplicate_seed, reseeded_lloyd, reseeded_quantized, reseeded_twice, no_row_left,
        kept_empty, held_back, witness, stable, used_up, flat_column, fewer_rows, no_rows;
} seen;

/* The same for pyramid. */
static struct pyramid_coverage {
    unsigned long smaller, all_rows, automatic, lowered, stable_sample, used_up_sample, lattice,
        two_passes, stable, used_up, reseeded_sample, reseeded_leaving, reseeded_lattice,
        reseeded_full;
} pyramid;

static void count_pyramid(const oracle_model *m) {
    uint32_t first_full = 0, n_passes = 0;
    while (m->levels[first_full].sampled)
        first_full++;
    for (uint32_t t = 0; t < m->n_levels; t++) {
        const oracle_level *level = &m->levels[t];
        n_passes += t >= first_full && level->has_partition;
        pyramid.reseeded_sample += t + 1 < first_full && level->n_reseeded > 0;
        pyramid.reseeded_leaving += t + 1 == first_full && level->n_reseeded > 0;
        pyramid.reseeded_lattice += t + 1 == first_full && level->n_reseeded > 0 && m->eps > 0;
        pyramid.reseeded_full += t >= first_full && level->n_reseeded > 0;
    }
    pyramid.smaller += m->n_in_sample < m->n;
    pyramid.all_rows += m->sample_exponent == 0;
    pyramid.automatic += m->params.rate == 0.0 && m->sample_exponent > 0;
    pyramid.lowered += m->sample_exponent < m->asked_exponent;
    pyramid.stable_sample += first_full < m->limit;
    pyramid.used_up_sample += first_full == m->limit;
    pyramid.lattice += m->eps > 0;
    pyramid.two_passes += n_passes >= 2;
    pyramid.stable += m->levels[m->model_level].has_partition != 0;
    pyramid.used_up += !m->levels[m->model_level].has_partition;
}

static void count_paths(const oracle_model *m) {
    const size_t d = m->d;
    const efface_method method = m->params.method;
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
        /* Whether C[t + 1] was made from it. */
        const int went_on = method == EFFACE_METHOD_PYRAMID ? level->has_partition
                                                            : t < m->limit && t <= m->model_level;
        if (went_on && m->params.empty == EFFACE_EMPTY_KEEP)
            seen.kept_empty += empty;
        else if (went_on)
            seen.no_row_left += empty - level->n_reseeded;
        seen.reseeded_lloyd += method == EFFACE_METHOD_LLOYD && level->n_reseeded > 0;
        seen.reseeded_quantized += method == EFFACE_METHOD_QUANTIZED && level->n_reseeded > 0;
        seen.reseeded_twice += level->n_reseeded > 1;
    }
    if (method == EFFACE_METHOD_PYRAMID) {
        if (m->n > 0)
            count_pyramid(m);
        return;
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
    if (efface_kmeans_labels(o->model, o->data, o->labels, &error) != EFFACE_OK) {
        snprintf(text, capacity, "labels: %s", error.message);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = n;
        const uint64_t id = t->rows.ids != NULL ? t->rows.ids[i] : i;
        if (efface_data_find(o->data, id, &at) != EFFACE_OK ||
            o->labels[at] != o->oracle_labels[i]) {
            snprintf(text, capacity, "row %zu has another label as a row of the set", i);
            return 1;
        }
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
    static const char *const method_names[] = {"lloyd", "quantized", "pyramid"};
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
                    "gamma %g, rate %g, passes %u, threads %u\n",
                    seed, t.rows.n, t.rows.d, t.kind, t.rows.ids != NULL ? "given" : "default",
                    t.rows.weights != NULL ? "given" : "1", t.params.n_clusters,
                    method_names[t.params.method], t.params.iterations,
                    t.params.scale == EFFACE_SCALE_NONE ? "none" : "minmax", t.params.bound,
                    t.params.column_min != NULL,
                    t.params.empty == EFFACE_EMPTY_RESEED ? "reseed" : "keep", t.params.epsilon,
                    t.params.gamma, t.params.rate, t.params.passes, t.params.n_threads);
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
    print_message(
        "pyramid: samples of all rows %lu, of some %lu (automatic %lu, lowered %lu), stable in the "
        "sample %lu, limit reached %lu, lattices %lu, two passes %lu, stable in a full level %lu, "
        "passes used up %lu, reseeded in the sample %lu, leaving it %lu (onto a lattice %lu), in a "
        "full level %lu\n",
        pyramid.all_rows, pyramid.smaller, pyramid.automatic, pyramid.lowered,
        pyramid.stable_sample, pyramid.used_up_sample, pyramid.lattice, pyramid.two_passes,
        pyramid.stable, pyramid.used_up, pyramid.reseeded_sample, pyramid.reseeded_leaving,
        pyramid.reseeded_lattice, pyramid.reseeded_full);
    if (n_cases < DEFAULT_CASES)
        return;
    assert_true(seen.duplicate_seed > 0 && seen.no_row_left > 0 && seen.kept_empty > 0);
    assert_true(seen.reseeded_lloyd > 0 && seen.reseeded_quantized > 0 && seen.reseeded_twice > 0);
    assert_true(seen.held_back > 0 && seen.witness > 0 && seen.stable > 0 && seen.used_up > 0);
    assert_true(seen.flat_column > 0 && seen.fewer_rows > 0 && seen.no_rows > 0);
    assert_true(pyramid.all_rows > 0 && pyramid.smaller > 0 && pyramid.automatic > 0);
    assert_true(pyramid.lowered > 0 && pyramid.lattice > 0 && pyramid.two_passes > 0);
    assert_true(pyramid.stable_sample > 0 && pyramid.used_up_sample > 0);
    assert_true(pyramid.stable > 0 && pyramid.used_up > 0);
    assert_true(pyramid.reseeded_sample > 0 && pyramid.reseeded_leaving > 0);
    assert_true(pyramid.reseeded_lattice > 0 && pyramid.reseeded_full > 0);
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
